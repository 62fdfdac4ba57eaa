"""Codes, and the predictor that uses them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import predictor as module
from imkpl.model.predictor import (
    FORBIDDEN,
    Compared,
    Encoder,
    Predictor,
    encode_labelled,
    squared_residuals,
)
from imkpl.model.updates import update_codes
from imkpl.model.votes import Votes
from model.problems import laws, make_case, seeds, sparse_rows

# Codes


def make_vectors(seed, n_samples=8, n_prototypes=6, n_dimensions=4, n_classes=3, sparsity=2):
    """Unit vectors that stand for samples and prototypes, and the encoder of the prototypes."""
    rng = np.random.default_rng(seed)
    samples = rng.uniform(-0.2, 1.0, (n_samples, n_dimensions))
    atoms = rng.uniform(-0.2, 1.0, (n_prototypes, n_dimensions))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    shares = rng.uniform(0, 1, (n_prototypes, n_classes))
    return samples, atoms, Encoder(atoms @ atoms.T, shares, sparsity)


def distances(samples, atoms, codes):
    return np.sum((samples - codes @ atoms) ** 2, axis=1)


def test_a_prototype_belongs_to_the_class_that_holds_most_of_it():
    encoder = Encoder(np.eye(3), np.array([[0.1, 0.9], [2.0, 1.0], [0.5, 0.5]]), 1)
    assert encoder.classes.tolist() == [1, 0, 0]


def test_a_sample_unlike_all_prototypes_has_an_empty_code():
    encoder = Encoder(np.eye(2), np.eye(2), 2)
    assert encoder.encode(np.array([[0.0, 0.0], [-0.3, -0.1]])).nnz == 0


@laws
@given(seeds)
def test_forbidden_prototypes_are_never_chosen(seed):
    samples, atoms, encoder = make_vectors(seed, sparsity=6)
    similarities = samples @ atoms.T
    is_forbidden = np.random.default_rng(seed).random(similarities.shape) < 0.4
    similarities[is_forbidden] = FORBIDDEN
    assert not encoder.encode(similarities).toarray()[is_forbidden].any()


@laws
@given(seeds)
def test_shares_sum_to_one_and_are_equal_for_an_empty_code(seed):
    rng = np.random.default_rng(seed)
    _, _, encoder = make_vectors(seed)
    codes = sparse_rows(rng, 7, 6, 3)
    dense = codes.toarray()
    found = encoder.shares(codes)
    assert_allclose(found.sum(axis=1), 1.0)
    for row, share in zip(dense, found, strict=True):
        amounts = [sum(row[t] * encoder.class_shares[t, q] for t in range(6)) for q in range(3)]
        expected = [a / sum(amounts) for a in amounts] if row.any() else [1 / 3] * 3
        assert_allclose(share, expected)


@laws
@given(seeds)
def test_residuals_are_squared_distances(seed):
    samples, atoms, encoder = make_vectors(seed)
    codes = sparse_rows(np.random.default_rng(seed), 8, 6, 3)
    found = squared_residuals(codes, samples @ atoms.T, encoder.gram)
    assert found.shape == (8,)
    assert_allclose(found, distances(samples, atoms, codes.toarray()), atol=1e-12)


@pytest.mark.parametrize("code_sparsity", [1, 3])
def test_labelled_codes_are_those_of_the_update(code_sparsity):
    case = make_case(seed=3, n_samples=30, n_prototypes=6, code_sparsity=code_sparsity)
    problem, state = case.problem, case.state
    expected = update_codes(problem, state).codes.toarray()
    support = np.unique(state.prototypes.indices)
    mixes = state.prototypes[:, support]
    found = encode_labelled(
        state.kernel[:, support],
        problem.labels,
        mixes,
        problem.labels[support],
        mixes @ state.kernel[np.ix_(support, support)] @ mixes.T,
        discrimination=problem.settings.discrimination,
        sparsity=problem.settings.code_sparsity,
    )
    assert_allclose(found.toarray(), expected, atol=1e-10)


# The predictor


def make_predictor(decision, seed=0, n_support=9, n_prototypes=5):
    """A predictor that reads columns 1, 2 and 4 of six, and what it compares by the definition."""
    rng = np.random.default_rng(seed)
    weights = np.array([0.2, 0.5, 0.3])
    kernels = PerFeatureGaussian().on(rng.standard_normal((n_support, 6))).select([1, 2, 4])
    mixes = sparse_rows(rng, n_prototypes, n_support, 3, at_least=1).toarray()
    K = kernels.combine(weights)
    mixes /= np.sqrt(np.einsum("is,st,it->i", mixes, K, mixes))[:, None]
    shares = mixes @ np.eye(3)[np.arange(n_support) % 3]
    encoder = Encoder(mixes @ K @ mixes.T, shares, 2)
    votes = Votes(np.array([0, 0, 1, 1, 2]), rng.uniform(0, 0.1, n_prototypes), 12.0)
    is_vote = decision == "votes"
    contrasts = is_vote * sparse_rows(rng, n_prototypes, n_support, 4)
    predictor = Predictor(
        kernels=kernels.narrowed(),
        weights=weights,
        rows=np.arange(n_support),
        mixes=sp.csr_array(mixes),
        contrasts=sp.csr_array(contrasts),
        encoder=encoder,
        votes=votes if is_vote else None,
    )
    new = rng.standard_normal((11, 6))
    kernel = kernels.cross(new).combine(weights)
    similarities = kernel @ mixes.T
    resemblances = similarities - kernel @ contrasts.toarray().T
    return predictor, new, Compared(similarities, resemblances, 1 - kernel.max(axis=1))


@pytest.mark.parametrize("n_rows", [1, 5, 11])
@pytest.mark.parametrize("decision", ["votes", "share"])
def test_blocks_do_not_matter(monkeypatch, decision, n_rows):
    predictor, X, _ = make_predictor(decision)
    whole = predictor.encode(X)
    monkeypatch.setattr(module, "BLOCK_ROWS", n_rows)
    parts = predictor.encode(X)
    assert_allclose(parts.codes.toarray(), whole.codes.toarray(), atol=1e-14)
    assert_allclose(parts.scores, whole.scores, atol=1e-14)
    assert_allclose(parts.errors, whole.errors, atol=1e-14)
    assert parts.codes.shape == (11, 5)
    assert_array_equal(predictor.decide(X), parts.scores)


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_samples_are_compared_in_the_columns_of_the_kernels_only(decision):
    predictor, X, expected = make_predictor(decision)
    assert predictor.kernels.input_columns.tolist() == [1, 2, 4]
    unread = X.copy()
    unread[:, [0, 3, 5]] = np.nan
    for samples in (X, unread):
        found = predictor.compare(samples)
        assert_allclose(found.similarities, expected.similarities, atol=1e-12)
        assert_allclose(found.resemblances, expected.resemblances, atol=1e-12)


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_resemblances_vote_and_similarities_make_the_codes(decision):
    predictor, X, (similarities, resemblances, _) = make_predictor(decision)
    found, codes = predictor.encode(X), predictor.encoder.encode(similarities)
    assert_allclose(found.codes.toarray(), codes.toarray(), atol=1e-10)
    is_vote = decision == "votes"
    expected = predictor.votes.scores(resemblances) if is_vote else predictor.encoder.shares(codes)
    assert_allclose(found.scores, expected, atol=1e-10)
    errors = squared_residuals(codes, similarities, predictor.encoder.gram)
    assert_allclose(found.errors, errors, atol=1e-10)
    # A prototype itself is rebuilt without error, and what is unlike all of them not at all.
    for known, error in ((predictor.encoder.gram, 0.0), (np.zeros((2, 5)), 1.0)):
        assert_allclose(
            predictor.encode_compared(Compared(known, known, known[:, 0])).errors, error, atol=1e-10
        )
