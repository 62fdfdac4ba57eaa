"""The estimators inside scikit-learn's own tools."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contracts.estimator import slow_scores
from imkpl import IMKPL, ISKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.measures import discrimination_score, interpretability_score

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

FOLDS = StratifiedKFold(3)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_grid_search_over_the_weights_of_the_terms(wine):
    grid = {
        "sparsity": [2, 4],
        "discrimination": [0.0, 0.5],
        "separation": [1.0, 10.0],
        "interpretability": [0.1, 2.0],
    }
    model = IMKPL(max_kernels=4, n_prototypes=9, contrast=False)
    grids = [{name: values} for name, values in grid.items()]
    search = GridSearchCV(model, grids, cv=2).fit(wine.X, wine.y)
    assert len(search.cv_results_["params"]) == 8
    assert search.score(wine.new, wine.new_y) > 0.85
    # Every one of them changes the model.
    models = {}
    for name, (low, high) in grid.items():
        for value in (low, high):
            models[value] = clone(model).set_params(**{name: value}).fit(wine.X, wine.y)
        assert np.any(models[low].predict_proba(wine.new) != models[high].predict_proba(wine.new))


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_scorers_are_the_measures_of_the_fitted_model(kind, wine):
    model = kind(**SMALL, interpretability=0.1).fit(wine.X, wine.y)
    ip = interpretability_score(model.prototypes_, wine.y)
    assert interpretability_scorer(model, wine.new, wine.new_y) == pytest.approx(ip)
    codes = model.transform(wine.new)
    dr = discrimination_score(codes, wine.new_y, model.prototype_classes_)
    assert discrimination_scorer(model, wine.new, wine.new_y) == dr


def test_codes_are_features_for_another_classifier(wine):
    pipe = make_pipeline(StandardScaler(), IMKPL(**SMALL), LogisticRegression(C=10.0))
    assert pipe.fit(wine.X, wine.y).score(wine.new, wine.new_y) > 0.9


def test_selecting_features_in_a_pipeline(wine, rng):
    noisy = np.hstack([wine.X, rng.standard_normal((len(wine.X), 30))])
    selector = SelectFromModel(IMKPL(**SMALL, max_kernels=4))
    pipe = make_pipeline(StandardScaler(), selector, LogisticRegression())
    assert cross_val_score(pipe, noisy, wine.y, cv=FOLDS).mean() > 0.85
    assert pipe.fit(noisy, wine.y)[1].get_support(indices=True).max() < wine.X.shape[1]


@pytest.mark.parametrize("model", [IMKPL(**SMALL), ISKPL(**SMALL)], ids=repr)
def test_cross_validation_splits_precomputed_stacks(model, stacks):
    K, y = stacks
    model = clone(model).set_params(kernels="precomputed")
    by_hand, predicted = [], np.empty_like(y)
    for train, test in FOLDS.split(K, y):
        fold = clone(model).fit(K[np.ix_(train, train)], y[train])
        predicted[test] = fold.predict(K[np.ix_(test, train)])
        by_hand.append(np.mean(predicted[test] == y[test]))
    assert_array_equal(cross_val_score(model, K, y, cv=FOLDS), by_hand)
    assert_array_equal(cross_val_predict(model, K, y, cv=FOLDS), predicted)
    assert np.mean(by_hand) > 0.6


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_precomputed_stack_equals_the_kernels_it_holds(kind, wine):
    X, new = wine.X[:, :5], wine.new[:, :5]
    widths = 2 * X.var(axis=0)
    direct = kind(**SMALL).fit(X, wine.y)
    stacked = kind("precomputed", **SMALL)
    stacked.fit(np.exp(-((X[:, None] - X) ** 2) / widths), wine.y)
    cross = np.exp(-((new[:, None] - X) ** 2) / widths)
    # Searches stop where rounding has an effect.
    assert_allclose(stacked.kernel_weights_, direct.kernel_weights_, atol=1e-6)
    assert_allclose(stacked.predict_proba(cross), direct.predict_proba(new), atol=1e-4)


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_precomputed_matrix_is_one_kernel(kind, stacks):
    K, y = stacks
    model = kind("precomputed", **SMALL | {"contrast": True})
    matrix, stack = clone(model).fit(K[:, :, 0], y), clone(model).fit(K[:, :, :1], y)
    assert_array_equal(matrix.predict_proba(K[:9, :, 0]), stack.predict_proba(K[:9, :, :1]))
    assert_array_equal(matrix.predict_proba(K[:9, :, :1]), stack.predict_proba(K[:9, :, 0]))
    assert matrix.contrasts_.nnz > 0
    expected = slow_scores(matrix, K[:9, :, 0])
    assert_allclose(matrix.decision_function(K[:9, :, 0]), expected, atol=1e-8)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_sample_weight_is_routed_through_a_pipeline(kind, wine):
    weight = np.where(wine.y == 1, 5.0, 1.0)
    model = kind(**SMALL).set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, model).fit(wine.X, wine.y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(wine.X)
    direct = kind(**SMALL).fit(scaled, wine.y, sample_weight=weight)
    plain = kind(**SMALL).fit(scaled, wine.y)
    found = pipe[-1].temperature_, pipe[-1].history_["total"][-1]
    assert found == (direct.temperature_, direct.history_["total"][-1])
    assert found != (plain.temperature_, plain.history_["total"][-1])
