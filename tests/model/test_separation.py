import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from imkpl.model import separation as module
from imkpl.model.neighbors import find_neighborhoods
from imkpl.model.separation import (
    LinearSeparation,
    MarginSeparation,
    apply_margins,
    compute_margins,
    local_separation_slopes,
    margin_gram,
    margin_pair_weights,
    mean_margins,
    ridge_term,
    weigh_margins,
)
from model.problems import base_kernels, laws, make_case, pairs, rules, seeds
from reference import objective as slow

strengths = st.sampled_from([0.0, 0.5, 4.0])


def make_margin_loss(seed, n_kernels=5, n_pairs=30, ridge=0.4):
    rng = np.random.default_rng(seed)
    margins = rng.normal(0.3, 1.0, (n_pairs, n_kernels))
    return MarginSeparation(margins, rng.uniform(0.1, 2.0, n_pairs), 0.7, ridge)


def make_linear_loss(seed, n_kernels=5, ridge=0.4):
    return LinearSeparation(np.random.default_rng(seed).normal(size=n_kernels), ridge)


def total(loss, costs, strength, w):
    return costs @ w + strength * loss.value(w) + ridge_term(loss, w)


def solve_generically(f, n):
    return minimize(
        f,
        np.full(n, 1 / n),
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )


@laws
@given(seeds, strengths, st.sampled_from([0.0, 0.01, 3.0]))
def test_the_margin_step_never_raises_the_objective(seed, strength, ridge):
    loss = make_margin_loss(seed, ridge=ridge)
    rng = np.random.default_rng(seed)
    w, costs = rng.dirichlet(np.full(5, 0.5)), rng.normal(size=5)
    for _ in range(4):
        new = loss.minimize(costs, strength, w)
        assert new.min() >= 0
        assert new.sum() == pytest.approx(1.0)
        assert total(loss, costs, strength, new) <= total(loss, costs, strength, w) + 1e-10
        w = new


@laws
@given(seeds)
def test_margin_steps_end_at_the_minimum(seed):
    loss = make_margin_loss(seed)
    costs, w = np.random.default_rng(seed).normal(size=5), np.full(5, 0.2)
    for _ in range(60):
        w = loss.minimize(costs, 2.0, w)
    generic = solve_generically(lambda v: total(loss, costs, 2.0, v), 5)
    assert total(loss, costs, 2.0, w) == pytest.approx(generic.fun, rel=1e-5, abs=1e-5)


@laws
@given(seeds, strengths, st.sampled_from([0.05, 0.4, 5.0]))
def test_the_linear_step_is_the_minimum(seed, strength, ridge):
    loss = make_linear_loss(seed, ridge=ridge)
    costs = np.random.default_rng(seed + 1).normal(size=5)
    w = loss.minimize(costs, strength, np.full(5, 0.2))
    generic = solve_generically(lambda v: total(loss, costs, strength, v), 5)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0)
    assert total(loss, costs, strength, w) <= generic.fun + 1e-9
    assert_allclose(w, generic.x, atol=1e-4)


def test_without_a_ridge_the_linear_step_is_the_cheapest_kernel():
    loss = LinearSeparation(np.array([1.0, -1.0, 0.0]))
    costs = np.array([0.0, 3.0, 0.5])
    assert loss.minimize(costs, 1.0, np.full(3, 1 / 3)).tolist() == [0, 0, 1]
    assert loss.minimize(costs, 9.0, np.full(3, 1 / 3)).tolist() == [0, 1, 0]
    assert ridge_term(loss, np.array([1.0, 0.0, 0.0])) == 0.0


@pytest.mark.parametrize("make", [make_linear_loss, make_margin_loss])
def test_selected_losses_equal_weights_of_zero_elsewhere(make):
    loss, chosen = make(0), np.array([3, 1])
    w = np.array([0.25, 0.75])
    wide = np.zeros(5)
    wide[chosen] = w
    small = loss.select(chosen)
    assert small.value(w) == pytest.approx(loss.value(wide))
    assert ridge_term(small, w) == pytest.approx(ridge_term(loss, wide))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_the_gram_matrix_is_a_sum_over_pairs(rng, monkeypatch, dtype, rtol):
    monkeypatch.setattr(module, "PAIR_BLOCK", 7)
    margins, weights = rng.standard_normal((30, 4)).astype(dtype), rng.uniform(0.5, 2.0, 30)
    expected = sum(a * np.outer(m, m) for a, m in zip(weights, margins.astype(float), strict=True))
    found = margin_gram(margins, weights)
    assert found.dtype == np.float64
    assert_allclose(found, expected, rtol=rtol, atol=rtol)
    assert_allclose(apply_margins(margins, np.arange(4.0)), margins @ np.arange(4.0), atol=rtol * 9)


@laws
@given(seeds, st.data())
def test_margins_of_some_samples_stand_for_all(seed, data):
    case = make_case(seed, n_samples=12)
    problem, labels = case.problem, case.problem.labels
    chosen = data.draw(st.sets(st.integers(0, 11), min_size=1).map(sorted))
    average = problem.combine(1 / problem.diagonals)
    everyone = find_neighborhoods(average, labels, 2, 4)
    some = find_neighborhoods(average, labels, 2, 4, np.array(chosen))
    is_listed = np.isin(everyone.other.rows, chosen)
    table = compute_margins(problem.kernels, everyone)
    assert_allclose(compute_margins(problem.kernels, some), table[is_listed], atol=1e-12)
    weights = margin_pair_weights(some, problem.sample_weight)
    assert weights.sum() == pytest.approx(problem.sample_weight.sum())
    found = weigh_margins(problem.kernels, some, weights)
    assert_allclose(found, weights @ table[is_listed], atol=1e-10)


@laws
@given(seeds)
def test_slopes_are_the_paper_s_local_separation(seed):
    case = make_case(seed, rule="lp", n_samples=10)
    problem = case.problem
    slopes = local_separation_slopes(problem.kernels, case.neighborhoods, problem.sample_weight)
    same, other = pairs(case.neighborhoods.same), pairs(case.neighborhoods.other)
    expected = [
        slow.local_separation(K, same, other, problem.sample_weight) for K in base_kernels(problem)
    ]
    assert_allclose(slopes, expected, rtol=1e-10)
    for w in np.random.default_rng(seed).dirichlet(np.ones(slopes.size), size=2):
        K = problem.combine(w)
        assert slopes @ w == pytest.approx(
            slow.local_separation(K, same, other, problem.sample_weight)
        )


@laws
@given(seeds, rules)
def test_margins_equal_loops(seed, rule):
    case = make_case(seed, rule=rule, n_samples=10, n_classes=4)
    problem, neighborhoods = case.problem, case.neighborhoods
    same, other = pairs(neighborhoods.same), pairs(neighborhoods.other)
    expected = np.transpose([slow.margins(K, same, other) for K in base_kernels(problem)])
    found = compute_margins(problem.kernels, neighborhoods)
    assert_allclose(found, expected, atol=1e-12)
    single = compute_margins(problem.kernels, neighborhoods, np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, expected, rtol=1e-4, atol=1e-5)
    shares = margin_pair_weights(neighborhoods, problem.sample_weight)
    assert_allclose(shares, slow.margin_shares(other, problem.sample_weight))
    assert shares.sum() == pytest.approx(problem.sample_weight.sum())
    means = mean_margins(problem.kernels, neighborhoods, problem.sample_weight)
    assert_allclose(means, shares @ expected / shares.sum(), atol=1e-12)
