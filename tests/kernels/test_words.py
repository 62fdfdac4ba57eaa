"""Kernels of words: against the formula, sparse all the way, and lengths that stay."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from contracts.bank import check_bank
from imkpl.kernels import Averaged, Normalized, PerWord, VarianceNormalized
from imkpl.kernels.words import Documents
from reference.kernels import feature_space_variance, word_stack

RNG = np.random.default_rng(3)
COUNTS = RNG.poisson(0.4, (14, 9)) * RNG.integers(1, 5, (14, 9))
COUNTS[4] = 0  # an empty document
COUNTS[:, 6] = 0  # a word that does not occur
NEW = RNG.poisson(0.4, (5, 9))
X, Y = Documents.read(COUNTS), Documents.read(sp.csc_array(NEW))


def dense(rows, others):
    others = rows if others is None else others
    return word_stack(rows.counts.toarray(), others.counts.toarray(), COUNTS)


@pytest.fixture
def bank():
    return PerWord().adapt(X)


def test_laws_of_banks(bank):
    check_bank(bank, X, Y, dense)


def test_laws_of_banks_around_it(bank):
    scaled = VarianceNormalized(PerWord()).adapt(X)
    factors = scaled.scales
    check_bank(scaled, X, Y, lambda a, b: dense(a, b) * factors)
    groups = Averaged(PerWord(), {"first": [0, 1], "others": [2, 3, 5]}).adapt(X)
    shares = groups.shares.toarray()
    used = [0, 1, 2, 3, 5]
    check_bank(groups, X, Y, lambda a, b: dense(a, b)[:, :, used] @ shares.T)
    assert groups._has_unit_norms
    assert groups._default_sparsity is None


def test_arrays_and_sparse_matrices_are_documents(bank):
    weights = np.arange(9.0)
    for form in (np.asarray, sp.csr_matrix, sp.coo_array, sp.csc_array):
        assert_array_equal(bank.combine(weights, form(COUNTS)), bank.combine(weights, X))


def test_a_word_that_both_lack_is_no_likeness(bank):
    lacks = np.flatnonzero(COUNTS[:, 0] == 0)
    assert_allclose(bank.evaluate(0, X)[lacks], 0.001 / 1.001)


def test_no_document_has_the_norm_zero(bank):
    assert bank._squared_norms(np.ones(9), X).min() > 0


def test_norms_are_one_on_average_over_the_training_part():
    weight = RNG.uniform(0, 2, 14)
    bank = PerWord().adapt(X, weight)
    shares = weight / weight.sum()
    occurs = np.ones(9)
    occurs[6] = 0.001 / 1.001
    assert_allclose(bank._mean_diagonal(shares, X), occurs)
    assert_allclose(shares @ bank._diagonal(X), occurs)
    weights = RNG.random(9)
    assert_allclose(bank._squared_norms(weights, X), np.diagonal(bank.combine(weights, X)))


def test_variances_are_those_of_the_formula():
    scaled = VarianceNormalized(PerWord()).adapt(X)
    variances = feature_space_variance(dense(X, None))
    variances[6] = np.inf
    assert_allclose(scaled.scales, 1 / variances, atol=1e-12)


def test_documents_keep_their_lengths_without_some_words(bank):
    some = bank.select([1, 3, 4])
    assert_array_equal(some._columns, [1, 3, 4])
    narrow, weights = some._on_columns([1, 3, 4]), np.array([0.2, 0.3, 0.5])
    assert_array_equal(
        narrow.combine(weights, X[:, [1, 3, 4]], Y[:, [1, 3, 4]]), some.combine(weights, X, Y)
    )


def test_an_adapted_bank_learns_again_about_the_words_that_it_has(bank):
    again = bank.select([5, 0]).adapt(Y)
    fresh = PerWord().adapt(Y)
    assert_allclose(again.kernels.rates, fresh.kernels.rates[[5, 0]])


def test_negative_weights_of_words_keep_their_sign():
    hashed = sp.csr_array([[1.0, -2.0], [-1.0, 0.0]])
    values = PerWord().adapt(hashed).evaluate(0, hashed)
    assert values[0, 1] < 0 < values[0, 0]


def test_little_memory_gives_the_same(bank):
    M, weights = RNG.standard_normal((14, 14)), RNG.random(9)
    rows = sp.csr_array(RNG.standard_normal((6, 14)))

    def everything():
        return (
            bank.combine(weights, X),
            bank.contract(M, X),
            bank.contract_rows(rows, np.ones(6), X),
            bank.pairs(X, [0, 3, 5], [1, 1, 2]),
        )

    expected = everything()
    with config_context(working_memory=1e-6):
        for found, value in zip(everything(), expected, strict=True):
            assert_allclose(found, value, rtol=1e-12, atol=1e-14)


def test_many_words_are_never_dense():
    wide = sp.random_array((50, 500_000), density=1e-5, format="csr", random_state=0)
    bank = PerWord().adapt(wide)
    documents = Documents.read(wide)
    # Dense, they would take 200 MB.
    assert bank.combine(np.ones(bank.n_kernels), documents).shape == (50, 50)
    assert bank._mean_diagonal(np.full(50, 1 / 50), documents).max() <= 1 + 1e-12


def test_samples_without_a_word_of_a_kernel_are_refused(bank):
    with pytest.raises(ValueError, match="samples have 8 words, but a kernel reads word 8"):
        bank.combine(np.ones(9), X[:, np.arange(8)])


def test_names_are_those_of_the_columns(bank):
    names = [f"word {i}" for i in range(9)]
    assert bank.select([2, 0]).kernel_names(names) == ["word 2", "word 0"]
    assert bank.select([2]).kernel_names() == ["x2"]


def test_normalized_has_no_part_in_it():
    assert not PerWord().adapt(X)._has_unit_diagonal
    assert Normalized(PerWord()).adapt(X)._has_unit_diagonal
    assert repr(X) == "Documents(14 documents, 9 words)"


def test_mixes_of_documents_are_documents(bank):
    mixes = RNG.random((2, 14))
    mixes /= mixes.sum(axis=1, keepdims=True)
    joined = bank._with_mixes(X, sp.csr_array(mixes))
    everyone = np.arange(14)
    for mix in range(2):
        found = bank.pairs(joined, everyone, np.full(14, 14 + mix))
        assert_allclose(found, np.einsum("ijl,j->il", dense(X, None), mixes[mix]), atol=1e-12)


def test_documents_without_any_word_are_read(bank):
    nothing = sp.csr_array((2, 9))
    assert_allclose(bank.combine(np.ones(9), nothing, X), 9 * 0.001 / 1.001)
