"""The readout: logistic regression over the prototypes on top of what the classes explain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from imkpl.model import predictor as module
from imkpl.model.predictor import Readout, fit_logistic, fit_readout
from model.problems import seeds

laws = settings(max_examples=25, deadline=None, derandomize=True)


def make_data(rng, n_samples=60, n_prototypes=6, n_classes=3):
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
    _, features, _, labels = make_data(rng, n_samples=200)
    weight = rng.uniform(0.5, 2.0, 200)
    slopes = fit_logistic(features, np.zeros((200, 3)), labels, weight, ridge=0.5, tol=1e-12)
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(features, labels, sample_weight=weight)
    assert_allclose(slopes.T, peer.coef_, atol=2e-3)


@laws
@given(seeds, st.floats(0.01, 10.0))
def test_logistic_slopes_minimise_the_loss(seed, ridge):
    rng = np.random.default_rng(seed)
    offset, features, _, labels = make_data(rng)
    weight = rng.uniform(0.5, 2.0, labels.size)
    slopes = fit_logistic(features, offset, labels, weight, ridge=ridge)
    assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-8)
    best = slow_logistic_loss(features, offset, labels, weight, slopes, ridge)
    for _ in range(5):
        moved = slopes + 0.05 * rng.standard_normal(slopes.shape)
        assert slow_logistic_loss(features, offset, labels, weight, moved, ridge) > best


def test_the_regulariser_is_the_norm_of_the_discriminant_in_the_combined_space(rng, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_VARIANCE", 0.0)
    explained, similarities, gram, labels = make_data(rng, n_prototypes=4)
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
    explained, similarities, gram, labels = make_data(rng)
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
    explained, similarities, gram, labels = make_data(rng)
    readout = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    assert_allclose(readout.logits(np.zeros((1, 3)), np.zeros((1, 6))), 0.0)


def test_the_readout_starts_from_what_the_classes_explain(rng, monkeypatch):
    monkeypatch.setattr(module, "RIDGE_TIMES_SAMPLES", 1e9)
    explained, similarities, gram, labels = make_data(rng)
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
    explained, similarities, gram, labels = make_data(rng)
    order = rng.permutation(3)
    plain = fit_readout(explained, similarities, gram, labels, np.ones(60), 3.0)
    renamed = fit_readout(
        explained[:, order], similarities, gram, np.argsort(order)[labels], np.ones(60), 3.0
    )
    assert_allclose(
        renamed.logits(explained[:, order], similarities),
        plain.logits(explained, similarities)[:, order],
        atol=1e-3,
    )
