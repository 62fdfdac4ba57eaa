from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.predictor import FORBIDDEN, Encoder, squared_residuals
from imkpl.solvers import solve_nqp
from model.problems import seeds, sparse_rows

laws = settings(max_examples=25, deadline=None, derandomize=True)


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


@laws
@given(seeds, st.integers(1, 4))
def test_scores_are_one_minus_the_squared_distance(seed, sparsity):
    samples, atoms, encoder = make_vectors(seed, sparsity=sparsity)
    similarities = samples @ atoms.T
    scores = encoder.score_classes(similarities)
    for label in range(3):
        codes = encoder.encode_within(similarities, np.full(len(samples), label))
        part = codes.toarray()
        assert codes.has_canonical_format
        assert part.min() >= 0
        assert not part[:, encoder.classes != label].any()
        assert np.count_nonzero(part, axis=1).max() <= sparsity
        assert_allclose(scores[:, label], 1 - distances(samples, atoms, part), atol=1e-10)
        # At a stationary point it is a sum over prototypes.
        assert_allclose(scores[:, label], np.sum(part * similarities, axis=1), atol=1e-10)


@laws
@given(seeds)
def test_one_prototype_codes_are_the_best_of_their_class(seed):
    samples, atoms, encoder = make_vectors(seed, sparsity=1)
    similarities = samples @ atoms.T
    scores = encoder.score_classes(similarities)
    for i, label in np.ndindex(scores.shape):
        own = np.flatnonzero(encoder.classes == label)
        assert scores[i, label] == pytest.approx(
            max([0.0, *(max(0.0, s) ** 2 for s in similarities[i, own])])
        )


@laws
@given(seeds)
def test_codes_without_a_limit_are_the_nearest_mixes(seed):
    samples, atoms, encoder = make_vectors(seed, n_dimensions=7, sparsity=6)
    codes = encoder.encode(samples @ atoms.T).toarray()
    found = distances(samples, atoms, codes)
    for i, x in enumerate(samples):
        best = 1.0
        for size in range(1, 7):
            for chosen in combinations(range(6), size):
                amounts = np.linalg.lstsq(atoms[list(chosen)].T, x, rcond=None)[0]
                if (amounts >= 0).all():
                    best = min(best, np.sum((x - amounts @ atoms[list(chosen)]) ** 2))
        assert found[i] == pytest.approx(best, abs=1e-9)


@laws
@given(seeds, st.integers(1, 3))
def test_codes_in_which_all_compete_are_a_pursuit(seed, sparsity):
    samples, atoms, encoder = make_vectors(seed, sparsity=sparsity)
    similarities = samples @ atoms.T
    expected = [solve_nqp(2 * encoder.gram, -2 * s, sparsity).x for s in similarities]
    assert_allclose(encoder.encode(similarities).toarray(), expected, atol=1e-10)


def test_a_class_without_prototypes_scores_zero():
    gram = np.eye(2)
    encoder = Encoder(gram, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), 2)
    similarities = np.array([[0.6, 0.5]])
    assert_allclose(encoder.score_classes(similarities), [[0.36, 0.0, 0.25]])
    assert encoder.encode_within(similarities, np.array([1])).nnz == 0


@laws
@given(seeds)
def test_forbidden_prototypes_are_never_chosen(seed):
    samples, atoms, encoder = make_vectors(seed, sparsity=6)
    similarities = samples @ atoms.T
    is_forbidden = np.random.default_rng(seed).random(similarities.shape) < 0.4
    similarities[is_forbidden] = FORBIDDEN
    for label in range(3):
        codes = encoder.encode_within(similarities, np.full(len(samples), label))
        assert not codes.toarray()[is_forbidden].any()
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


def test_shares_of_nothing_are_equal():
    encoder = Encoder(np.eye(2), np.eye(2), 1)
    assert_array_equal(encoder.shares(sp.csr_array((3, 2))), np.full((3, 2), 0.5))


@laws
@given(seeds)
def test_each_sample_is_coded_within_its_own_class(seed):
    samples, atoms, encoder = make_vectors(seed, sparsity=3)
    similarities = samples @ atoms.T
    labels = np.random.default_rng(seed).integers(0, 3, len(samples))
    found = encoder.encode_within(similarities, labels).toarray()
    for i, label in enumerate(labels):
        own = np.flatnonzero(encoder.classes == label)
        expected = np.zeros(len(atoms))
        if own.size:
            H = 2 * encoder.gram[np.ix_(own, own)]
            expected[own] = solve_nqp(H, -2 * similarities[i, own], 3).x
        assert_allclose(found[i], expected, atol=1e-10)


@laws
@given(seeds)
def test_what_the_classes_explain_adds_up_to_one_minus_the_squared_distance(seed):
    samples, atoms, encoder = make_vectors(seed, sparsity=4)
    similarities = samples @ atoms.T
    codes = encoder.encode(similarities)
    found = encoder.explained(codes, similarities)
    dense = codes.toarray()
    for i, label in np.ndindex(found.shape):
        own = np.flatnonzero(encoder.classes == label)
        assert found[i, label] == pytest.approx(sum(dense[i, t] * similarities[i, t] for t in own))
    assert_allclose(found.sum(axis=1), 1 - distances(samples, atoms, dense), atol=1e-10)


@laws
@given(seeds)
def test_residuals_are_squared_distances(seed):
    samples, atoms, encoder = make_vectors(seed)
    codes = sparse_rows(np.random.default_rng(seed), 8, 6, 3)
    found = squared_residuals(codes, samples @ atoms.T, encoder.gram)
    assert found.shape == (8,)
    assert_allclose(found, distances(samples, atoms, codes.toarray()), atol=1e-12)


def test_a_sample_that_is_a_prototype_has_no_residual_below_zero():
    _, atoms, encoder = make_vectors(0)
    found = squared_residuals(sp.csr_array(np.eye(6)), atoms @ atoms.T, encoder.gram)
    assert found.min() >= 0
    assert_allclose(found, 0.0, atol=1e-14)
