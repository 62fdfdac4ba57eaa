"""Codes, and the predictor that uses them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from imkpl import IMKPL
from imkpl.model import predictor as module
from imkpl.model.predictor import FORBIDDEN, Encoder, encode_labelled
from imkpl.model.updates import update_codes
from model.problems import laws, make_case, seeds


def make_vectors(seed, n_samples=8, n_prototypes=6, n_dimensions=4, n_classes=3, sparsity=2):
    """Unit vectors that stand for samples and prototypes, and the encoder of the prototypes."""
    rng = np.random.default_rng(seed)
    samples = rng.uniform(-0.2, 1.0, (n_samples, n_dimensions))
    atoms = rng.uniform(-0.2, 1.0, (n_prototypes, n_dimensions))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    shares = rng.uniform(0, 1, (n_prototypes, n_classes))
    return samples, atoms, Encoder(atoms @ atoms.T, shares, sparsity)


@laws
@given(seeds)
def test_codes_without_a_limit_are_the_nearest_mixes(seed):
    samples, atoms, encoder = make_vectors(seed, n_dimensions=7, sparsity=6)
    codes = encoder.encode(samples @ atoms.T).toarray()
    found = np.sum((samples - codes @ atoms) ** 2, axis=1)
    for i, x in enumerate(samples):
        best = 1.0
        for size in range(1, 7):
            for chosen in combinations(range(6), size):
                amounts = np.linalg.lstsq(atoms[list(chosen)].T, x, rcond=None)[0]
                if (amounts >= 0).all():
                    best = min(best, np.sum((x - amounts @ atoms[list(chosen)]) ** 2))
        assert found[i] == pytest.approx(best, abs=1e-9)


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


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_blocks_do_not_matter(monkeypatch, decision, two_blobs):
    X, y = two_blobs
    predictor = IMKPL(n_prototypes=5, contrast=True, decision=decision).fit(X, y).predictor_
    whole = predictor.encode(X)
    for n_rows in (1, 7, 40):
        monkeypatch.setattr(module, "BLOCK_ROWS", n_rows)
        parts = predictor.encode(X)
        assert_allclose(parts.codes.toarray(), whole.codes.toarray(), atol=1e-14)
        assert_allclose(parts.scores, whole.scores, atol=1e-14)
        assert_allclose(parts.errors, whole.errors, atol=1e-14)
        assert_array_equal(predictor.decide(X), parts.scores)
