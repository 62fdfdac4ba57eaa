"""The method as the paper prints it, and its large-margin reading."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from scipy.sparse import eye_array, hstack
from sklearn.base import clone
from sklearn.datasets import load_wine

from imkpl import IMKPL, ISKPL
from imkpl.estimators import _base
from imkpl.kernels import PerFeatureGaussian
from imkpl.model.kernel_choice import start_by_large_margin
from imkpl.model.neighbors import find_neighborhoods
from imkpl.model.separation import compute_margins
from imkpl.solvers.large_margin import minimize_large_margin
from model.problems import make_data, pose
from reference import objective as slow
from reference import published
from reference.kernels import gaussian_stack

RULES = ["lp", "large_margin"]


@pytest.mark.filterwarnings("ignore:No kernel tells")
@pytest.mark.parametrize("seed", range(6))
def test_one_round_is_that_of_the_equations(seed):
    X, y, _ = make_data(seed, n_samples=15, n_features=5)
    # One prototype is updated after the other, so their order counts, which is that of the samples.
    data = IMKPL()._read_training(X, y, sample_weight=None, eligible=None)
    X, y = X[data.rows], data.unnamed_labels
    terms = {"discrimination": 0.2, "separation": 0.3, "interpretability": 0.1}
    model = IMKPL.as_published(sparsity=2, max_iter=1, **terms).fit(X, y)
    beta, U, G, value = published.one_round(X, y.tolist(), 2, *terms.values())
    assert_allclose(model.kernel_weights_, beta)
    used = G.any(axis=0)
    assert_allclose(model.prototypes_.toarray(), U[used], atol=1e-8)
    assert_allclose(model.codes_.toarray(), G[:, used], atol=1e-8)
    assert model.history_["total"][-1] == pytest.approx(value)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(rule, seed):
    X, y, weight = make_data(seed, n_samples=40, n_features=8)
    model = IMKPL.as_published(sparsity=4, weight_rule=rule, tol=0.0).fit(X, y, weight)
    total = model.history_["total"]
    assert np.all(np.diff(total) <= 1e-9 * np.abs(total[:-1]))


@pytest.mark.parametrize("rule", RULES)
def test_all_kernels_take_part_with_unit_diagonals(rule, monkeypatch, rng):
    seen = []

    def spy(problem, weights, *args):
        seen.append((problem, weights))
        return cover(problem, weights, *args)

    cover = _base.cover
    monkeypatch.setattr(_base, "cover", spy)
    X, y, _ = make_data(1, n_samples=60, n_features=3)
    X = np.column_stack([X, rng.standard_normal((60, 200))])
    model = IMKPL.as_published(sparsity=3, weight_rule=rule).fit(X, y)
    ((problem, weights),) = seen
    assert_allclose(problem.diagonals, 1.0, rtol=1e-12)
    assert model.kernel_evidence_.shape == (203,)
    if rule == "lp":
        assert_array_equal(weights, 1 / 203)
        assert_array_equal(problem.kernel_indices, np.arange(203))
        assert np.count_nonzero(model.kernel_weights_) == 1


def test_the_parameters_are_those_of_the_print():
    model = IMKPL.as_published("per_feature_gaussian", sparsity=7, separation=0.1, n_jobs=1)
    counts = {"sparsity", "code_sparsity", "learning_code_sparsity", "n_neighbors"}
    found = model.get_params()
    assert {found[name] for name in counts} == {7}
    assert (found["separation"], found["decision"], found["n_jobs"]) == (0.1, "share", 1)
    assert type(model) is IMKPL
    assert clone(model).get_params() == found
    assert IMKPL.as_published(weight_rule="large_margin").separation == 10
    assert IMKPL.as_published(n_neighbors=5).n_neighbors == 5
    with pytest.raises(TypeError, match="n_features"):
        IMKPL.as_published(n_features=5)


def test_there_are_t0_prototypes_per_class_and_shares_decide(wine):
    for kind in (IMKPL, ISKPL):
        model = kind.as_published(sparsity=4).fit(wine.X, wine.y)
        assert model.prototypes_.shape[0] <= 12
        assert np.diff(model.prototypes_.indptr).max() <= 4
        codes = model.transform(wine.new)
        shares = codes @ model.class_shares_
        assert_array_equal(model.predict(wine.new), model.classes_[shares.argmax(axis=1)])
    assert_allclose(model.kernel_weights_, 1 / 13)


def test_codes_of_new_samples_have_no_lambda(wine):
    model = IMKPL.as_published(sparsity=4, discrimination=2.0).fit(wine.X, wine.y)
    K = gaussian_stack(wine.X, wine.X, range(13), 2 * wine.X.var(axis=0)) @ model.kernel_weights_
    cross = gaussian_stack(wine.new, wine.X, range(13), 2 * wine.X.var(axis=0))
    U = model.prototypes_.toarray()
    H, linear = 2 * U @ K @ U.T, -2 * (cross @ model.kernel_weights_) @ U.T
    expected = [published.solve_nqp(H, c, 4).x for c in linear]
    codes = model.transform(wine.new)
    assert_allclose(getattr(codes, "toarray", lambda: codes)(), expected, atol=1e-7)


def whole_programme(margins, prices):
    """The large-margin programme with all variables and slacks at once."""
    n_pairs, n_kernels = margins.shape
    cost = np.concatenate([np.ones(n_kernels), prices])
    rows = -hstack([margins, eye_array(n_pairs)]).tocsr()
    return linprog(cost, A_ub=rows, b_ub=-np.ones(n_pairs), method="highs")


@pytest.mark.parametrize(("seed", "price"), [(0, 3.0), (1, 10.0), (2, 100.0), (3, 1e6)])
def test_generated_columns_solve_the_whole_programme(seed, price):
    rng = np.random.default_rng(seed)
    margins = rng.normal(0.1, 0.4, (90, 700))
    prices = price * rng.dirichlet(np.ones(90))
    found, whole = minimize_large_margin(margins, prices), whole_programme(margins, prices)
    value = found.sum() + prices @ np.maximum(0, 1 - margins @ found)
    assert value == pytest.approx(whole.fun, rel=1e-6)
    assert_allclose(found, whole.x[:700], atol=1e-5 * found.sum())


def test_no_variable_is_worth_its_weight_at_a_low_price(rng):
    margins = rng.normal(0.1, 0.4, (30, 10))
    assert not minimize_large_margin(margins, np.full(30, 1e-3)).any()


@pytest.mark.parametrize("price", [5.0, 10.0, 200.0])
def test_the_large_margin_weights_and_their_loss_are_those_of_the_programme(price):
    X, y, weight = make_data(3, n_samples=30, n_features=12)
    problem = pose(PerFeatureGaussian().on(X), y, weight, separation=price)
    neighborhoods = find_neighborhoods(problem.average(), y, 3, 3)
    chosen, weights = start_by_large_margin(problem, neighborhoods)
    pairs = [list(zip(p.rows, p.columns, strict=True)) for p in vars(neighborhoods).values()]
    margins = np.array([slow.margins(problem.kernels.evaluate(i), *pairs) for i in range(12)]).T
    assert_allclose(compute_margins(problem.kernels, neighborhoods), margins)
    shares = np.array(slow.margin_shares(pairs[1], weight))
    whole = whole_programme(2 * margins, price * shares / shares.sum())
    beta = whole.x[:12]
    expected = np.zeros(12)
    expected[chosen.kernel_indices] = weights
    assert_allclose(expected, beta / beta.sum(), atol=1e-6)
    assert price * chosen.separation_loss.value(weights) == pytest.approx(whole.fun)


def test_equal_copies_of_a_feature_do_not_share_weight():
    X, y = load_wine(return_X_y=True)
    model = IMKPL.as_published(sparsity=4, weight_rule="large_margin").fit(np.hstack([X, X]), y)
    weights = model.kernel_weights_.reshape(2, -1)
    assert not (weights.min(axis=0) > 0).any()
    assert model.score(np.hstack([X, X]), y) > 0.9


def test_a_price_too_low_for_any_kernel_leaves_equal_weights(wine):
    model = IMKPL.as_published(sparsity=4, weight_rule="large_margin", separation=0.0)
    assert_allclose(model.fit(wine.X, wine.y).kernel_weights_, 1 / 13)
