"""Learning from landmarks: the same model, the same attributes, other costs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification

from imkpl import IMKPL, ISKPL
from imkpl.estimators import _fitted, _kernels
from imkpl.estimators._kernels import count_landmarks, learn_kernels
from imkpl.estimators._training import Constraints, read_training
from imkpl.kernels import PerFeatureGaussian, resolve_bank
from imkpl.solvers import solve_nqp_batch
from reference.kernels import gaussian_stack

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

FEW = {
    "solver": "landmarks",
    "n_landmarks": 24,
    "sparsity": 3,
    "n_prototypes": 9,
    "contrast": False,
}
# The shares of the three classes of wine are rounded down.
N_FEW = 23


def assert_equal_models(left, right, new):
    assert_array_equal(left.kernel_weights_, right.kernel_weights_)
    assert_array_equal(left.predict_proba(new), right.predict_proba(new))
    assert_array_equal(left.transform(new).toarray(), right.transform(new).toarray())


def landmarks_of(model, X, y):
    """The landmarks that a model was learned from."""
    kernels = "per_feature_gaussian" if model.kernels == "auto" else model.kernels
    settings = {name: getattr(model, name) for name in ("solver", "n_landmarks", "random_state")}
    data = read_training(resolve_bank(kernels), X, y)
    return learn_kernels(data, model._settings, Constraints(), **settings)[0].data


@pytest.mark.parametrize("n_landmarks", [60, 1000, None])
@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_as_many_landmarks_as_samples_are_the_exact_solver(kind, n_landmarks, wine):
    exact = kind(**SMALL, solver="exact").fit(wine.X, wine.y)
    few = {"solver": "landmarks", "n_landmarks": n_landmarks}
    model = kind(**SMALL, **few).fit(wine.X, wine.y)
    assert_equal_models(model, exact, wine.new)
    for name in ("prototypes_", "codes_"):
        left, right = getattr(model, name), getattr(exact, name)
        for array in ("data", "indices", "indptr"):
            assert_array_equal(getattr(left, array), getattr(right, array))


def test_attributes_have_a_place_for_every_given_row(wine):
    model = IMKPL(**FEW).fit(wine.X, wine.y)
    exact = IMKPL(**SMALL).fit(wine.X, wine.y)
    assert set(vars(model)) == set(vars(exact))
    assert model.prototypes_.shape[1] == model.codes_.shape[0] == len(wine.y)
    assert np.all(np.diff(model.codes_.indptr) == 1)
    part = landmarks_of(model, wine.X, wine.y)
    assert part.labels.size == N_FEW
    assert set(model.support_) <= set(part.rows)
    assert_allclose(part.sample_weight.sum(), len(wine.y))


@pytest.mark.parametrize("sparsity", [1, 3])
def test_codes_of_other_samples_are_those_of_the_pursuit(sparsity, wine):
    model = IMKPL(**FEW, learning_code_sparsity=sparsity).fit(wine.X, wine.y)
    columns = np.arange(wine.X.shape[1])
    stack = gaussian_stack(wine.X, wine.X, columns, 2 * wine.X.var(axis=0))
    kernel, U = stack @ model.kernel_weights_, model.prototypes_.toarray()
    is_same = wine.y[:, None] == wine.y
    # Half the squared distance to a sample of the same class is 1 - K, to any other 1.
    apart = (1 - is_same * kernel) @ U.T
    linear = -2 * kernel @ U.T + model.discrimination * apart
    direct = solve_nqp_batch(U @ kernel @ U.T, linear, sparsity, scale=2.0).x.toarray()
    others = np.setdiff1d(np.arange(len(wine.y)), landmarks_of(model, wine.X, wine.y).rows)
    assert others.size == len(wine.y) - N_FEW
    assert_allclose(model.codes_.toarray()[others], direct[others], atol=1e-8)


def test_bandwidths_are_those_of_all_samples(wine):
    model = IMKPL(**FEW).fit(wine.X, wine.y)
    everyone = PerFeatureGaussian().on(wine.X)
    live = np.flatnonzero(model.kernel_weights_)
    assert_allclose(model._predictor.kernels.rates, everyone.rates[live])
    kernel = everyone.take(model.support_).combine(model.kernel_weights_)
    U = model.prototypes_.toarray()[:, model.support_]
    assert_allclose(np.einsum("is,st,it->i", U, kernel, U), 1.0, rtol=1e-10)


def test_accuracy_is_close_to_that_of_the_exact_solver():
    X, y = make_classification(
        5000, 10, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    train, test = slice(0, 1500), slice(1500, None)
    exact = (
        IMKPL(sparsity=5, n_prototypes=15, contrast=False)
        .fit(X[train], y[train])
        .score(X[test], y[test])
    )
    model = IMKPL(
        sparsity=5, n_prototypes=15, contrast=False, solver="landmarks", n_landmarks=300
    ).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > exact - 0.015


def test_block_sizes_do_not_matter(wine, monkeypatch):
    expected = IMKPL(**FEW).fit(wine.X, wine.y)
    monkeypatch.setattr(_fitted, "BLOCK_ROWS", 5)
    with config_context(working_memory=1e-3):
        model = IMKPL(**FEW).fit(wine.X, wine.y)
    assert_array_equal(model.support_, expected.support_)
    assert_allclose(model.codes_.toarray(), expected.codes_.toarray(), rtol=1e-10)
    assert_allclose(model.predict_proba(wine.new), expected.predict_proba(wine.new), rtol=1e-6)


def test_the_number_of_samples_decides_for_auto(wine, monkeypatch):
    auto = IMKPL(**FEW | {"solver": "auto"})
    exact = IMKPL(**SMALL, solver="exact").fit(wine.X, wine.y)
    monkeypatch.setattr(_kernels, "MAX_EXACT", 60)
    assert_equal_models(clone(auto).fit(wine.X, wine.y), exact, wine.new)
    monkeypatch.setattr(_kernels, "MAX_EXACT", 59)
    model = clone(auto).fit(wine.X, wine.y)
    assert_equal_models(model, IMKPL(**FEW).fit(wine.X, wine.y), wine.new)
    assert landmarks_of(model, wine.X, wine.y).labels.size == N_FEW


def test_the_default_number_of_landmarks_grows_with_the_classes(rng):
    X = rng.standard_normal((12_000, 1))
    many, two = (read_training(PerFeatureGaussian(), X, np.arange(12_000) % n) for n in (300, 2))
    assert count_landmarks(many, "auto", None) == 6000
    assert count_landmarks(many, "exact", None) is None
    assert count_landmarks(two, "auto", None) == 4000


def test_the_seed_decides_and_none_is_a_seed(wine):
    models = [IMKPL(**FEW, random_state=seed).fit(wine.X, wine.y) for seed in (None, 0, 1)]
    assert_equal_models(models[0], models[1], wine.new)
    assert not np.array_equal(models[0].support_, models[2].support_)


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
def test_data_of_few_distinct_rows(rng):
    y = rng.integers(0, 2, 1200)
    X = (rng.random((1200, 6)) < 0.3 + 0.4 * y[:, None]).astype(float)
    exact = IMKPL(**SMALL).fit(X, y)
    model = IMKPL(**SMALL, solver="landmarks", n_landmarks=60).fit(X, y)
    part = landmarks_of(model, X, y)
    counted = np.bincount(part.labels, part.sample_weight)
    assert_allclose(counted / counted.sum(), np.bincount(y) / 1200)
    assert part.labels.size <= 60
    assert model.score(X, y) > exact.score(X, y) - 0.06


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_a_rare_class_of_landmarks_only_is_still_found(decision, rng):
    y = np.repeat([0, 1, 2], [1500, 1500, 20])
    X = rng.standard_normal((y.size, 3)) + 4.0 * np.eye(3)[y]
    model = IMKPL(**FEW | {"n_landmarks": 150}, decision=decision).fit(X, y)
    assert np.bincount(landmarks_of(model, X, y).labels)[2] == 20
    new = rng.standard_normal((200, 3)) + np.array([0.0, 0.0, 4.0])
    assert np.mean(model.predict(new) == 2) > 0.7


def test_calibration_keeps_the_shares_of_classes(rng, monkeypatch):
    monkeypatch.setattr(_fitted, "MAX_CALIBRATION", 100)
    seen, add_other_samples = [], _fitted.add_other_samples

    def spy(bound, *arguments):
        seen.append((bound.data, add_other_samples(bound, *arguments)))
        return seen[-1][1]

    monkeypatch.setattr(_fitted, "add_other_samples", spy)
    y = np.repeat([0, 1, 2], [300, 200, 8])
    X = rng.standard_normal((y.size, 3)) + 2.0 * np.eye(3)[y]
    weight = rng.uniform(0.5, 1.5, y.size)
    IMKPL(**FEW | {"n_landmarks": 60}).fit(X, y, sample_weight=weight)
    part, samples = seen[0]
    n_landmarks = part.labels.size
    assert samples.labels.size == 100 + n_landmarks
    assert_array_equal(samples.labels[100:], part.labels)
    shares = np.bincount(samples.labels, samples.sample_weight) / samples.sample_weight.sum()
    assert_allclose(shares, np.bincount(y, weight) / weight.sum())
    # Landmarks count as the samples that they are, one of many.
    scale = samples.sample_weight.sum() / weight.sum()
    assert_allclose(samples.sample_weight[100:], weight[part.rows] * scale)


def test_precomputed_kernels_have_landmarks(wine):
    order = np.argsort(wine.y, kind="stable")
    X, y = wine.X[order], wine.y[order]
    columns, widths = np.arange(13), 2 * X.var(axis=0)
    stack, cross = (gaussian_stack(A, X, columns, widths) for A in (X, wine.new))
    model = IMKPL("precomputed", **FEW).fit(stack, y)
    assert landmarks_of(model, stack, y).labels.size == N_FEW
    assert model.codes_.shape[0] == model.prototypes_.shape[1] == len(y)
    assert model.score(cross, wine.new_y) > 0.8


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_fewer_than_two_landmarks_per_class(kind, wine):
    sentence = r"n_landmarks=5, expected at least 6, 2 for each of the 3 classes. Raise it, or"
    with pytest.raises(ValueError, match=sentence):
        kind(solver="landmarks", n_landmarks=5).fit(wine.X, wine.y)
    kind(solver="exact", n_landmarks=5, n_prototypes=3, contrast=False).fit(wine.X, wine.y)
