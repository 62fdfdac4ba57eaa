import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from baselines.problems import make_operator
from imkpl_paper.baselines._simplex_qp import (
    Weighting,
    default_ridge,
    learn_weights,
    minimize_quadratic_on_simplex,
)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 6))
def test_the_minimum_is_that_of_a_general_solver(seed, n, rank):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, rank))
    H, linear = root @ root.T, rng.standard_normal(n)

    def value(b):
        return linear @ b + b @ H @ b / 2

    start = np.full(n, 1 / n)
    found = minimize_quadratic_on_simplex(linear, lambda b: H @ b, start, max_iter=5000, tol=1e-13)
    reference = minimize(
        value,
        start,
        jac=lambda b: linear + H @ b,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.min() >= 0
    assert_allclose(found.sum(), 1.0)
    assert value(found) <= reference.fun + 1e-6
    assert value(found) <= value(start) + 1e-12


def test_a_linear_cost_alone_takes_the_best_entry():
    found = minimize_quadratic_on_simplex(
        np.array([0.3, 0.1, 0.2]), lambda b: np.zeros(3), np.full(3, 1 / 3)
    )
    assert_allclose(found, [0, 1, 0])


def test_the_weights_minimise_the_objective_in_the_combined_kernel(rng):
    operator, stack = make_operator(rng, n_kernels=4)
    A, R = rng.standard_normal((2, 12)), rng.standard_normal((12, 12))
    errors = R @ R.T
    start = Weighting(operator, operator.uniform(), ridge=0.2)
    # Q = ||A K||^2 has the derivative 2 A'A K.
    result = learn_weights(start, errors, lambda K: 2 * A.T @ A @ K)
    costs = np.array([np.vdot(K, errors) for K in stack])
    rho = 0.2 * 4 * costs.std()
    assert_allclose(result.rho, rho)

    def value(b):
        combined = np.einsum("l,lij->ij", b, stack)
        return costs @ b + ((A @ combined) ** 2).sum() + rho * b @ b

    reference = minimize(
        value,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
    )
    assert_allclose(value(result.weights), reference.fun, rtol=1e-4)
    assert_allclose(result.cost, rho * result.weights @ result.weights)


def test_the_ridge_stays_what_it_was_in_the_first_step(rng):
    operator, _ = make_operator(rng)
    start = Weighting(operator, operator.uniform(), ridge=0.2, rho=3.0)
    assert learn_weights(start, np.eye(12), np.zeros_like).rho == 3.0


def test_more_ridge_gives_more_kernels_and_none_gives_one(rng):
    operator, _ = make_operator(rng, n_samples=20, n_kernels=15)
    R = rng.standard_normal((20, 20))

    def count(ridge):
        start = Weighting(operator, operator.uniform(), ridge)
        return np.count_nonzero(learn_weights(start, R @ R.T, np.zeros_like).weights)

    counts = [count(ridge) for ridge in (0.0, 0.05, 0.3, 10.0)]
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[-1] == 15


@pytest.mark.parametrize("max_kernels", [1, 3])
def test_max_kernels_keeps_the_largest_and_solves_for_them_again(rng, max_kernels):
    operator, _ = make_operator(rng, n_samples=20, n_kernels=15)
    R = rng.standard_normal((20, 20))
    errors = R @ R.T
    start = Weighting(operator, operator.uniform(), ridge=0.3)
    free = learn_weights(start, errors, np.zeros_like)
    kept = learn_weights(start, errors, np.zeros_like, max_kernels)
    largest = np.sort(np.argsort(-free.weights)[:max_kernels])
    assert list(kept.operator.indices) == list(largest)
    again = Weighting(operator.select(largest), np.full(max_kernels, 1 / max_kernels), 0.3)
    expected = learn_weights(again, errors, np.zeros_like).weights
    assert_allclose(kept.weights, expected, atol=1e-3)


def test_the_default_ridge_depends_on_the_number_of_kernels():
    assert default_ridge(None, 1000) == 0.3
    assert default_ridge(None, 1001) == 0.03
    assert default_ridge(0.5, 5748) == 0.5
