"""Codes, the readout of class logits, and the predictor that uses both."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import predictor as module
from imkpl.model.predictor import (
    FORBIDDEN,
    Encoder,
    Predictor,
    Readout,
    encode_labelled,
    fit_logistic,
    fit_readout,
    squared_residuals,
)
from imkpl.model.updates import update_codes
from imkpl.solvers import solve_nqp
from model.problems import make_case, seeds, sparse_rows

laws = settings(max_examples=25, deadline=None, derandomize=True)

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
        discrimination=problem.discrimination,
        sparsity=problem.code_sparsity,
    )
    assert_allclose(found.toarray(), expected, atol=1e-10)


# The readout


def make_scores(rng, n_samples=60, n_prototypes=6, n_classes=3):
    labels = rng.integers(0, n_classes, n_samples)
    labels[:n_classes] = np.arange(n_classes)
    X = rng.standard_normal((n_samples, 2)) + labels[:, None]
    kernel = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
    chosen = rng.choice(n_samples, n_prototypes, replace=False)
    explained = rng.dirichlet(np.ones(n_classes), n_samples) * 0.8
    return explained, kernel[:, chosen], kernel[np.ix_(chosen, chosen)], labels


def slow_logistic_loss(features, offset, labels, weight, slopes, ridge):
    total = 0.0
    for row, start, label, share in zip(features, offset, labels, weight, strict=True):
        logits = start + row @ slopes
        total += share * (np.log(np.exp(logits).sum()) - logits[label])
    return total + ridge / 2 * np.sum(slopes**2)


def test_without_an_offset_it_is_scikit_learns_logistic_regression(rng):
    _, features, _, labels = make_scores(rng, n_samples=200)
    weight = rng.uniform(0.5, 2.0, 200)
    slopes = fit_logistic(features, np.zeros((200, 3)), labels, weight, ridge=0.5, tol=1e-12)
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(features, labels, sample_weight=weight)
    assert_allclose(slopes.T, peer.coef_, atol=2e-3)


@laws
@given(seeds, st.floats(0.01, 10.0))
def test_logistic_slopes_minimise_the_loss(seed, ridge):
    rng = np.random.default_rng(seed)
    offset, features, _, labels = make_scores(rng)
    weight = rng.uniform(0.5, 2.0, labels.size)
    slopes = fit_logistic(features, offset, labels, weight, ridge=ridge)
    assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-8)
    best = slow_logistic_loss(features, offset, labels, weight, slopes, ridge)
    for _ in range(5):
        moved = slopes + 0.05 * rng.standard_normal(slopes.shape)
        assert slow_logistic_loss(features, offset, labels, weight, moved, ridge) > best


def test_the_regulariser_is_the_norm_of_the_discriminant_in_the_combined_space(rng, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_VARIANCE", 0.0)
    explained, similarities, gram, labels = make_scores(rng, n_prototypes=4)
    weight, ridge = np.ones(60), module.RIDGE_TIMES_SAMPLES / 60

    def loss(parameters):
        mixing = 2.0 * np.eye(3) + parameters[:9].reshape(3, 3)
        coefficients = parameters[9:].reshape(4, 3)
        logits = explained @ mixing + similarities @ coefficients
        right = log_softmax(logits, axis=1)[np.arange(60), labels]
        norms = np.trace(coefficients.T @ gram @ coefficients) + np.sum(parameters[:9] ** 2)
        return -right.sum() + ridge / 2 * norms

    found = fit_readout(explained, similarities, gram, labels, weight, temperature=2.0)
    direct = minimize(loss, np.zeros(9 + 12), method="BFGS", options={"gtol": 1e-7})
    at_found = np.concatenate([(found.mixing - 2 * np.eye(3)).ravel(), found.coefficients.ravel()])
    assert loss(at_found) == pytest.approx(direct.fun, rel=1e-6)
    slow = Readout(2 * np.eye(3) + direct.x[:9].reshape(3, 3), direct.x[9:].reshape(4, 3))
    logits = [readout.logits(explained, similarities) for readout in (found, slow)]
    assert_allclose(*logits, atol=0.01)


def test_a_copy_of_a_prototype_changes_nothing(rng):
    explained, similarities, gram, labels = make_scores(rng)
    twice = np.array([0, 0, 1, 2, 3, 4, 5])
    once = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    copied = fit_readout(
        explained, similarities[:, twice], gram[np.ix_(twice, twice)], labels, np.ones(60), 3.0
    )
    assert_allclose(
        copied.logits(explained, similarities[:, twice]),
        once.logits(explained, similarities),
        atol=1e-3,
    )


def test_a_sample_unlike_anything_has_equal_logits(rng):
    explained, similarities, gram, labels = make_scores(rng)
    readout = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    assert_allclose(readout.logits(np.zeros((1, 3)), np.zeros((1, 6))), 0.0)


def test_the_readout_starts_from_what_the_classes_explain(rng, monkeypatch):
    monkeypatch.setattr(module, "RIDGE_TIMES_SAMPLES", 1e9)
    explained, similarities, gram, labels = make_scores(rng)
    readout = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    assert_allclose(readout.logits(explained, similarities), 3.0 * explained, atol=1e-5)


def test_without_samples_nothing_is_corrected():
    none = np.empty((0, 2))
    readout = fit_readout(none, none, np.eye(2), np.empty(0, dtype=int), np.empty(0), 1.0)
    explained = np.array([[0.3, 0.5]])
    assert_allclose(readout.logits(explained, np.ones((1, 2))), explained)


def test_it_corrects_a_class_that_explains_too_much(rng):
    # Class 0 explains a little more of everything; only the difference of the two tells.
    labels = np.repeat([0, 1], 100)
    explained = rng.uniform(0.2, 0.3, (200, 2))
    explained[:, 0] += 0.2 + 0.1 * (labels == 0)
    similarities = rng.uniform(0.0, 0.1, (200, 3)) + 0.5
    readout = fit_readout(explained, similarities, np.eye(3), labels, np.ones(200), 5.0)
    assert np.mean(np.argmax(explained, axis=1) == labels) == 0.5
    right = np.argmax(readout.logits(explained, similarities), axis=1) == labels
    assert right.mean() > 0.8


@laws
@given(seeds)
def test_renaming_classes_renames_the_logits(seed):
    rng = np.random.default_rng(seed)
    explained, similarities, gram, labels = make_scores(rng)
    order = rng.permutation(3)
    before = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    renamed = fit_readout(
        explained[:, order], similarities, gram, np.argsort(order)[labels], np.ones(60), 3.0
    )
    assert_allclose(
        renamed.logits(explained[:, order], similarities),
        before.logits(explained, similarities)[:, order],
        atol=1e-3,
    )


# The predictor


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
