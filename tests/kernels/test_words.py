"""Kernels of words: against the formula, sparse all the way, and lengths that stay."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import Averaged, PerWord
from imkpl.kernels.forms import Form
from imkpl.kernels.table import Documents, WordKernels
from reference.kernels import word_stack

RNG = np.random.default_rng(3)
COUNTS = RNG.poisson(0.4, (14, 9)) * RNG.integers(1, 5, (14, 9))
COUNTS[4] = 0  # an empty document
COUNTS[:, 6] = 0  # a word that does not occur
NEW = RNG.poisson(0.4, (5, 9))
X, Y = Documents.read(COUNTS), Documents.read(sp.csc_array(NEW))


def dense(rows, others):
    others = rows if others is None else others
    return word_stack(*(part.toarray() for part in (rows, others)), COUNTS)


@pytest.fixture
def kernels():
    return PerWord().on(X)


def test_laws_of_banks():
    check_bank(PerWord(), sp.csr_array(COUNTS), sp.csr_array(NEW), dense)


def test_laws_of_averages_of_words():
    used, groups = [0, 1, 2, 3, 5], {"first": [0, 1], "others": [2, 3, 5]}
    shares = np.array([[0.5, 0.5, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 1 / 3]])

    def averaged(rows, others):
        return dense(rows, others)[:, :, used] @ shares.T

    bank = Averaged(PerWord(), groups)
    found = check_bank(bank, sp.csr_array(COUNTS), sp.csr_array(NEW), averaged)
    assert found.has_unit_norms
    assert found.default_sparsity is None


def test_norms_are_one_on_average_over_the_training_part():
    weight = RNG.uniform(0, 2, 14)
    kernels, shares = PerWord().on(X, weight), weight / weight.sum()
    occurs = np.ones(9)
    occurs[6] = 0.001 / 1.001
    assert_allclose(kernels.mean_diagonal(shares), occurs)
    assert_allclose(shares @ kernels.diagonal(), occurs)
    assert kernels.has_unit_norms
    assert not kernels.has_unit_diagonal


def test_negative_weights_of_words_keep_their_sign():
    values = PerWord().on(sp.csr_array([[1.0, -2.0], [-1.0, 0.0]])).evaluate(0)
    assert values[0, 1] < 0 < values[0, 0]


def test_many_words_are_never_dense():
    wide = sp.random_array((50, 500_000), density=1e-5, format="csr", random_state=0)
    # Dense, they would take 200 MB.
    kernels = PerWord().on(wide)
    assert kernels.combine(np.ones(kernels.n_kernels)).shape == (50, 50)
    assert kernels.mean_diagonal(np.full(50, 1 / 50)).max() <= 1 + 1e-12


def test_mixes_of_documents_are_documents(kernels):
    mixes = RNG.random((2, 14))
    mixes /= mixes.sum(axis=1, keepdims=True)
    joined, everyone = kernels.with_mixes(sp.csr_array(mixes)), np.arange(14)
    full = dense(X.counts, None)
    for mix in range(2):
        found = joined.pairs(everyone, np.full(14, 14 + mix))
        assert_allclose(found, np.einsum("ijl,j->il", full, mixes[mix]), atol=1e-12)


def test_documents_are_read_in_the_form_of_the_training_part():
    frame = pd.DataFrame(COUNTS[:, :2], columns=["to", "be"])
    documents, form = WordKernels.read(frame, Form())
    assert list(form.names) == ["to", "be"]
    assert_array_equal(documents.counts.toarray(), COUNTS[:, :2])
    # What a dict does not name does not occur.
    new, _ = WordKernels.read([{"be": 3}, {}], form)
    assert_array_equal(new.counts.toarray(), [[0, 3], [0, 0]])
    _, form = WordKernels.read(sp.csr_array(COUNTS), Form())
    with pytest.raises(ValueError, match="X has 3 features, but IMKPL is expecting 9"):
        WordKernels.read(sp.csr_array(NEW[:, :3]), form)


def test_what_is_shown_of_a_document(kernels):
    names = [f"word {i}" for i in range(9)]
    expected = {name: count for name, count in zip(names, COUNTS[0], strict=True) if count}
    assert kernels.values(0, names) == expected
    some = kernels.select([5, 0])
    assert some.cells(0) == some.narrowed().cells(0) == COUNTS[0, [5, 0]].tolist()
    assert kernels.vocabularies() is None
    assert kernels.ranges() is None
