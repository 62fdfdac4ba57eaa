"""What a fit leaves behind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from contracts.estimator import check_prototype_estimator
from imkpl import IMKPL, ISKPL
from imkpl.kernels import Gaussian, PerFeatureGaussian
from imkpl.kernels.base import WIDTHS
from reference.kernels import gaussian_stack

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

MODELS = [
    IMKPL(sparsity=3),
    IMKPL(sparsity=4, max_kernels=3, n_prototypes=8, code_sparsity=3, contrast=True),
    IMKPL(**SMALL, learning_code_sparsity=3, code_sparsity=2),
    IMKPL(sparsity=3, weight_rule="lp", n_prototypes=6, contrast=True),
    IMKPL(sparsity=3, weight_rule="lp", max_kernels=1, decision="share"),
    IMKPL(sparsity=3, weight_rule="large_margin", n_prototypes=6, contrast=True),
    IMKPL.as_published(sparsity=3, weight_rule="large_margin", solver="landmarks", n_landmarks=24),
    IMKPL(sparsity=3, decision="share"),
    IMKPL(sparsity=3, decision="share", n_prototypes=7, learning_code_sparsity=3),
    IMKPL(**SMALL, interpretability=0.0, learning_code_sparsity=2),
    ISKPL(sparsity=3, contrast=True),
    IMKPL(sparsity=3, solver="landmarks", n_landmarks=24, contrast=True),
    IMKPL(**SMALL, solver="landmarks", n_landmarks=24, learning_code_sparsity=3),
    ISKPL(sparsity=3, solver="landmarks", n_landmarks=24, decision="share"),
    ISKPL(sparsity=5, contrast=False, interpretability=0.1, discrimination=0.0),
]


def gaussian_twin(model, train, scales=WIDTHS):
    """The combined kernel from the formula: delta is twice the variance of the training part."""
    predictor = model._predictor
    kernels, weights, _ = predictor.kernels.flattened(predictor.weights)
    columns, widths = kernels.kernel_columns, kernels.rates**-2.0
    factors = widths / (2 * train.var(axis=0)[columns])
    assert np.isclose(factors[:, None], scales).any(axis=1).all()
    assert_allclose(np.bincount(columns, weights, train.shape[1]), model.kernel_weights_)

    def combined(A, B):
        return gaussian_stack(A, B, columns, widths) @ weights

    return combined


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_laws_on_three_classes(model, wine):
    model = clone(model).fit(wine.X, wine.y)
    check_prototype_estimator(model, wine.X, wine.y, wine.new, gaussian_twin(model, wine.X))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_laws_on_two_classes(model, two_blobs, rng):
    X, y = two_blobs
    model = clone(model).set_params(n_prototypes=None).fit(X, y)
    new = rng.normal(2.0, 3.0, (20, 4))
    check_prototype_estimator(model, X, y, new, gaussian_twin(model, X))


def test_laws_with_several_widths(wine):
    bank = PerFeatureGaussian(scales=(0.3, 1.0, 3.0))
    model = IMKPL(bank, **SMALL | {"contrast": True}, max_kernels=6).fit(wine.X, wine.y)
    twin = gaussian_twin(model, wine.X, scales=(0.3, 1.0, 3.0))
    check_prototype_estimator(model, wine.X, wine.y, wine.new, twin)
    # A feature is one thing wherever a person looks.
    assert model._predictor.kernels.flattened(model._predictor.weights)[1].size > 6
    assert np.count_nonzero(model.kernel_weights_) <= 6
    assert_array_equal(model.feature_importances_, model.kernel_weights_)
    assert model.kernel_names_ == [f"x{i}" for i in range(wine.X.shape[1])]
    n_samples, n_features = 4, np.count_nonzero(model.kernel_weights_)
    assert len(model.explain(wine.new[:n_samples]).feature_names) == n_features


def test_spread_class_gets_more_prototypes_than_compact_class(rng):
    X = np.concatenate([rng.normal(0, 0.05, (40, 2)), rng.uniform(2, 8, (40, 2))])
    y = np.repeat(["compact", "spread"], 40)
    model = ISKPL(n_prototypes=12, contrast=False).fit(X, y)
    owners = list(model.prototype_classes_)
    assert owners.count("spread") >= 3 * owners.count("compact") >= 3


@pytest.mark.parametrize("kernels", ["linear", [Gaussian(), "linear"]], ids=["name", "list"])
def test_feature_importances_need_one_feature_per_kernel(kernels, wine):
    model = IMKPL(kernels, **SMALL).fit(wine.X, wine.y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match=r"every kernel reads one feature.*kernel_weights_"):
        _ = model.feature_importances_


def test_refit_forgets_the_first_fit(wine, two_blobs):
    X, y = two_blobs
    once = IMKPL(**SMALL).fit(X, y)
    twice = IMKPL(**SMALL).fit(wine.X, wine.y).fit(X, y)
    assert set(vars(once)) == set(vars(twice))
    assert_array_equal(twice.classes_, [0, 1])
    assert twice.n_features_in_ == 4
    assert_array_equal(once.predict_proba(X), twice.predict_proba(X))


def test_one_kernel_makes_both_models_equal(wine):
    X, new = wine.X[:, [6]], wine.new[:, [6]]
    options = {"sparsity": 3, "decision": "share", "tol": 1e-9, "max_iter": 50}
    several, single = IMKPL(**options).fit(X, wine.y), ISKPL(**options).fit(X, wine.y)
    assert_array_equal(several.kernel_weights_, [1.0])
    assert_allclose(several.prototypes_.toarray(), single.prototypes_.toarray(), atol=1e-8)
    assert_allclose(several.predict_proba(new), single.predict_proba(new), atol=1e-8)


@pytest.mark.parametrize("model", [IMKPL(**SMALL), ISKPL(**SMALL)], ids=repr)
def test_too_few_rounds_give_a_warning(model, wine):
    model = clone(model).set_params(max_iter=2, tol=0.0)
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_iter=2 rounds.*Raise max_iter"):
        model.fit(wine.X, wine.y)
    assert model.n_iter_ == 2


def test_without_a_number_prototypes_are_few(two_blobs):
    X, y = two_blobs
    for kind in (IMKPL, ISKPL):
        assert kind().fit(X, y).prototypes_.shape[0] <= 6
        assert kind(n_prototypes=20, contrast=False).fit(X, y).prototypes_.shape[0] == 20


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
def test_prototypes_that_no_sample_uses_are_not_kept(stacks):
    K, _ = stacks
    # Precomputed samples cannot be merged: the second of two equals needs no prototype.
    twice = np.tile(np.arange(20), 2)
    labels = np.tile(np.repeat([0, 1], 10), 2)
    model = ISKPL("precomputed", n_prototypes=40, decision="share").fit(
        K[np.ix_(twice, twice)], labels
    )
    assert np.all(model.codes_.sum(axis=0) > 0)
    assert model.prototypes_.shape[0] <= 20
