import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import predictor as module
from imkpl.model.predictor import Encoder, Predictor, Readout
from model.problems import sparse_rows


def make_predictor(decision, seed=0, n_support=9, n_prototypes=5):
    """A predictor that reads columns 1, 2 and 4 of six; its kernel matrix by the definition."""
    rng = np.random.default_rng(seed)
    columns, weights = np.array([1, 2, 4]), np.array([0.2, 0.5, 0.3])
    X = rng.standard_normal((n_support, 6))
    bank = PerFeatureGaussian().adapt(X).select(columns)
    mixes = sparse_rows(rng, n_prototypes, n_support, 3, at_least=1).toarray()
    K = bank.combine(weights, X)
    mixes /= np.sqrt(np.einsum("is,st,it->i", mixes, K, mixes))[:, None]
    shares = mixes @ np.eye(3)[np.arange(n_support) % 3]
    narrow = bank._on_columns(columns)
    encoder = Encoder(mixes @ K @ mixes.T, shares, 2)
    readout = Readout(rng.standard_normal((3, 3)), rng.standard_normal((n_prototypes, 3)))
    predictor = Predictor(
        narrow,
        weights,
        columns,
        X[:, columns],
        np.arange(n_support),
        sp.csr_array(mixes),
        encoder,
        decision,
        readout if decision == "calibrated" else None,
    )
    new = rng.standard_normal((11, 6))
    return predictor, new, bank.combine(weights, new, X) @ mixes.T


@pytest.mark.parametrize("n_rows", [1, 5, 11])
@pytest.mark.parametrize("decision", ["calibrated", "joint", "residual", "share"])
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


def test_similarities_read_the_live_columns_only():
    predictor, X, expected = make_predictor("share")
    assert_allclose(predictor.similarities(X), expected, atol=1e-12)
    X[:, [0, 3, 5]] = np.nan
    assert_allclose(predictor.similarities(X), expected, atol=1e-12)


@pytest.mark.parametrize("decision", ["calibrated", "joint", "residual", "share"])
def test_errors_are_the_squared_distance_to_what_the_code_rebuilds(decision):
    predictor, X, similarities = make_predictor(decision)
    found = predictor.encode(X)
    G = found.codes.toarray()
    gram = predictor.encoder.gram
    expected = 1 - 2 * np.sum(G * similarities, axis=1) + np.einsum("it,ts,is->i", G, gram, G)
    assert_allclose(found.errors, expected, atol=1e-10)
    assert found.errors.min() >= 0
    assert found.errors.max() <= 1


def test_by_residual_the_code_uses_the_winning_class_only():
    predictor, X, similarities = make_predictor("residual")
    found = predictor.encode(X)
    winners = np.argmax(found.scores, axis=1)
    assert np.unique(winners).size > 1
    classes = predictor.encoder.classes
    assert not found.codes.toarray()[classes != winners[:, None]].any()
    assert_allclose(found.scores, predictor.encoder.score_classes(similarities), atol=1e-10)
    assert_allclose(found.errors, 1 - found.scores.max(axis=1), atol=1e-12)


def test_jointly_the_class_wins_that_explains_most_and_the_code_is_its_own():
    predictor, X, similarities = make_predictor("joint")
    found = predictor.encode(X)
    encoder = predictor.encoder
    competing = encoder.encode(similarities)
    assert_allclose(found.scores, encoder.explained(competing, similarities), atol=1e-10)
    winners = np.argmax(found.scores, axis=1)
    assert np.unique(winners).size > 1
    own = encoder.encode_within(similarities, winners)
    assert_allclose(found.codes.toarray(), own.toarray(), atol=1e-10)


def test_by_share_all_prototypes_compete():
    predictor, X, similarities = make_predictor("share")
    found = predictor.encode(X)
    codes = predictor.encoder.encode(similarities)
    assert_allclose(found.codes.toarray(), codes.toarray(), atol=1e-10)
    assert_allclose(found.scores, predictor.encoder.shares(codes), atol=1e-10)
    assert_allclose(found.scores.sum(axis=1), 1.0)


# A readout may see another class in a prototype, whose prototypes then rebuild it.
@pytest.mark.parametrize("decision", ["joint", "residual", "share"])
def test_a_prototype_itself_is_rebuilt_without_error(decision):
    predictor, _, _ = make_predictor(decision)
    found = predictor.encode_similarities(predictor.encoder.gram)
    assert_allclose(found.errors, 0.0, atol=1e-10)
    assert found.errors.min() >= 0


@pytest.mark.parametrize("decision", ["calibrated", "joint", "residual", "share"])
def test_nothing_alike_is_an_error_of_one(decision):
    predictor, _, _ = make_predictor(decision)
    found = predictor.encode_similarities(np.zeros((2, 5)))
    assert_array_equal(found.errors, 1.0)
    assert found.codes.nnz == 0


def test_without_columns_everything_is_read():
    predictor, X, expected = make_predictor("share")
    whole = module.Predictor(
        predictor.bank,
        predictor.weights,
        None,
        predictor.samples,
        predictor.rows,
        predictor.mixes,
        predictor.encoder,
        "share",
    )
    assert_allclose(whole.similarities(X[:, [1, 2, 4]]), expected, atol=1e-12)


def test_calibrated_scores_are_sums_over_prototypes_and_kernels():
    predictor, X, similarities = make_predictor("calibrated")
    encoder, readout = predictor.encoder, predictor.readout
    codes = encoder.encode(similarities).toarray()
    cut = X[:, predictor.columns]
    expected = np.zeros((len(X), 3))
    for kernel, weight in enumerate(predictor.weights):
        per_sample = predictor.bank.evaluate(kernel, cut, predictor.samples)
        per_prototype = weight * per_sample @ predictor.mixes.toarray().T
        for i, owner in enumerate(encoder.classes):
            factor = codes[:, [i]] * readout.mixing[owner] + readout.coefficients[i]
            expected += per_prototype[:, [i]] * factor
    assert_allclose(predictor.encode(X).scores, expected, atol=1e-10)
    assert_allclose(predictor.score(similarities), expected, atol=1e-10)
