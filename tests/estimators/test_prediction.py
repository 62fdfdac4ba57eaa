"""Prediction reads support samples and live kernels, and nothing else."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from imkpl import IMKPL, ISKPL
from imkpl.kernels import FunctionKernel, Gaussian

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

METHODS = ["predict", "predict_proba", "decision_function", "reconstruction_error", "novelty"]


def outputs(model, X):
    return [getattr(model, method)(X) for method in METHODS] + [model.transform(X).toarray()]


def assert_same(left, right):
    for a, b in zip(left, right, strict=True):
        assert_array_equal(a, b)


def test_features_of_zero_weight_may_be_anything(wine):
    model = IMKPL(**SMALL, max_kernels=3).fit(wine.X, wine.y)
    changed = wine.new.copy()
    changed[:, model.kernel_weights_ == 0] = 1e300
    assert_same(outputs(model, wine.new), outputs(model, changed))
    changed[:, model.kernel_weights_ > 0] += 1.0
    assert np.any(model.decision_function(changed) != model.decision_function(wine.new))


def test_kernels_of_zero_weight_are_not_evaluated(wine):
    calls = []

    def noise(X, Y):
        calls.append(len(X))
        phases = 1e3 * (X[:, [0]] - Y[:, 0])
        return np.cos(phases)

    kernels = [Gaussian(), FunctionKernel(noise)]
    model = IMKPL(kernels, **SMALL, max_kernels=1).fit(wine.X, wine.y)
    assert_array_equal(model.kernel_weights_, [1.0, 0.0])
    assert calls
    calls.clear()
    model.predict(wine.new)
    assert not calls


def test_pickle_holds_support_samples_and_live_features_only():
    X, y = make_classification(
        400, 600, n_informative=5, n_redundant=0, n_repeated=0, shuffle=False, random_state=0
    )
    model = IMKPL(sparsity=5, n_prototypes=15, contrast=False, max_kernels=5).fit(X, y)
    stored = pickle.dumps(model)
    assert len(stored) < 0.03 * X.nbytes
    live = np.flatnonzero(model.kernel_weights_)
    # The range of a feature is kept, to say where a new value lies outside of it.
    first = X[:, live[0]]
    outside = np.setdiff1d(np.arange(len(X)), [*model.support_, first.argmin(), first.argmax()])
    assert X[model.support_[0], live[0]].tobytes() in stored
    assert not any(X[i, live[0]].tobytes() in stored for i in outside)
    dead = np.flatnonzero(model.kernel_weights_ == 0)
    assert not any(X[model.support_[0], j].tobytes() in stored for j in dead)


def test_singleton_prototypes_rebuild_their_sample_and_nothing_rebuilds_outliers(wine):
    model = ISKPL(sparsity=1, n_prototypes=20, contrast=False).fit(wine.X, wine.y)
    assert np.all(np.diff(model.prototypes_.indptr) == 1)
    assert_allclose(model.reconstruction_error(wine.X[model.support_]), 0.0, atol=1e-9)
    ordinary = model.reconstruction_error(wine.new)
    outliers = wine.new + 50 * wine.X.std(axis=0)
    assert_allclose(model.reconstruction_error(outliers), 1.0, atol=1e-6)
    assert ordinary.max() < 0.9
    assert ordinary.min() > 0.0


def test_outlier_that_resembles_nothing_is_judged_by_strengths_alone(wine):
    model = IMKPL(**SMALL).fit(wine.X, wine.y)
    far = wine.new[:2] + 1e6
    expected = model._predictor.votes.scores(np.zeros((2, 9)))
    assert_allclose(model.decision_function(far), expected, atol=1e-9)
    proba = model.predict_proba(far)
    assert_allclose(proba[0], proba[1], atol=1e-9)
    assert proba.max() < 0.6
    by_share = IMKPL(sparsity=3, decision="share").fit(wine.X, wine.y)
    assert_allclose(by_share.predict_proba(far), 1 / 3, atol=1e-9)


def test_confident_predictions_are_more_often_right(iris):
    X, new = iris.X[:, :2], iris.new[:, :2]
    model = IMKPL(sparsity=5, n_prototypes=15, contrast=False).fit(X, iris.y)
    confidence = model.predict_proba(new).max(axis=1)
    is_right = model.predict(new) == iris.new_y
    assert not is_right.all()
    assert confidence[is_right].mean() > confidence[~is_right].mean()
    # The calibration is of the right order: mean confidence is near the accuracy.
    assert abs(confidence.mean() - is_right.mean()) < 0.2


def test_probabilities_do_not_change_who_wins(wine):
    model = IMKPL(**SMALL).fit(wine.X, wine.y)
    scores, winners = model.decision_function(wine.new), model.predict(wine.new)
    proba = model.predict_proba(wine.new)
    assert_array_equal(np.argsort(proba, axis=1), np.argsort(scores, axis=1))
    assert_array_equal(model.classes_[np.argmax(proba, axis=1)], winners)
    # A softmax of the scores: differences of logarithms are theirs, times one factor.
    logs = np.log(proba)
    assert_allclose(
        logs - logs[:, [0]], model.temperature_ * (scores - scores[:, [0]]), rtol=1e-6, atol=1e-9
    )


@pytest.mark.threads
@pytest.mark.parametrize("name", ["IMKPL", "ISKPL"])
@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_do_not_depend_on_threads_or_repetition(name, n_jobs, wine):
    kind = {"IMKPL": IMKPL, "ISKPL": ISKPL}[name]
    chosen = SMALL | {"contrast": True, "random_state": 0}
    first, second = (kind(**chosen, n_jobs=n).fit(wine.X, wine.y) for n in (None, n_jobs))
    assert_same(outputs(first, wine.new), outputs(second, wine.new))
    assert_array_equal(first.prototypes_.toarray(), second.prototypes_.toarray())
    assert_array_equal(first.codes_.toarray(), second.codes_.toarray())
    assert_array_equal(first.history_["total"], second.history_["total"])
