import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from imkpl.solvers import Status, minimize_on_simplex, minimize_ridge_on_simplex

laws = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
sizes = st.integers(1, 12)


def vector(seed, n):
    return np.random.default_rng(seed).normal(size=n)


def is_on_simplex(b):
    return (b >= 0).all() and np.isclose(b.sum(), 1.0, rtol=1e-12)


def solve_generically(value_and_gradient, n):
    return minimize(
        value_and_gradient,
        np.full(n, 1 / n),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )


def quadratic(seed, n, n_rows):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n_rows, n)), rng.normal(size=n_rows)
    return lambda x: (0.5 * np.sum((A @ x - b) ** 2), A.T @ (A @ x - b))


@laws
@given(seeds, sizes, st.sampled_from([1e-6, 1.0, 1e6]), st.floats(-1e3, 1e3))
def test_a_ridge_of_one_is_the_nearest_point(seed, n, factor, shift):
    v = factor * vector(seed, n)
    b = minimize_ridge_on_simplex(-v, 1.0)
    assert is_on_simplex(b)
    # b is nearest if and only if (v - b)'(p - b) <= 0 at every vertex p.
    slack = (v - b) - (v - b) @ b
    assert slack.max() <= 1e-9 * max(factor, 1.0)
    np.testing.assert_allclose(minimize_ridge_on_simplex(-b, 1.0), b, atol=1e-15)
    np.testing.assert_allclose(minimize_ridge_on_simplex(-v - shift, 1.0), b, atol=1e-8)


@laws
@given(seeds, sizes)
def test_a_vanishing_ridge_is_the_linear_programme(seed, n):
    e = vector(seed, n)
    generic = linprog(e, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=(0, None))
    for rho in (0.0, 1e-12):
        np.testing.assert_allclose(minimize_ridge_on_simplex(e, rho), generic.x, atol=1e-9)


def test_first_of_tied_costs_is_the_vertex():
    np.testing.assert_array_equal(minimize_ridge_on_simplex([2.0, 1.0, 1.0], 0), [0, 1, 0])


@laws
@given(seeds, st.integers(2, 10), st.floats(0.05, 20))
def test_ridge_minimum_equals_generic_solver(seed, n, rho):
    e = vector(seed, n)
    b = minimize_ridge_on_simplex(e, rho)
    assert is_on_simplex(b)

    def f(b):
        return e @ b + rho / 2 * b @ b, e + rho * b

    generic = solve_generically(f, n)
    assert f(b)[0] <= generic.fun + 1e-9
    np.testing.assert_allclose(b, generic.x, atol=1e-4)


@laws
@given(seeds, st.integers(1, 10), st.integers(1, 20))
def test_convex_minimum_equals_generic_solver(seed, n, n_rows):
    f = quadratic(seed, n, n_rows)
    result = minimize_on_simplex(f, np.full(n, 1 / n), max_iter=5000)
    assert is_on_simplex(result.x)
    assert result.status in {Status.STATIONARY, Status.SMALL_DECREASE}
    generic = solve_generically(f, n)
    assert result.value == pytest.approx(generic.fun, rel=1e-5, abs=1e-6)
    np.testing.assert_array_equal(result.active, np.flatnonzero(result.x))


@laws
@given(seeds, sizes, st.integers(1, 20))
def test_convex_minimum_is_never_above_the_start(seed, n, max_iter):
    f = quadratic(seed, n, n)
    start = np.random.default_rng(seed).dirichlet(np.ones(n))
    result = minimize_on_simplex(f, start, max_iter=max_iter)
    assert result.value <= f(start)[0]
    assert result.value == f(result.x)[0]
    assert result.n_steps <= max_iter


@laws
@given(seeds, st.sampled_from([1e-10, 1e10]))
def test_scaling_the_function_changes_nothing(seed, factor):
    f = quadratic(seed, 6, 8)
    start = np.full(6, 1 / 6)
    one = minimize_on_simplex(f, start)
    two = minimize_on_simplex(lambda x: tuple(factor * part for part in f(x)), start)
    np.testing.assert_allclose(one.x, two.x, atol=1e-4)
    assert one.status == two.status


def test_linear_function_ends_at_the_vertex():
    e = np.array([0.3, -0.1, 0.4])
    result = minimize_on_simplex(lambda x: (e @ x, e), np.full(3, 1 / 3))
    np.testing.assert_allclose(result.x, [0, 1, 0], atol=1e-12)
    assert result.status == Status.STATIONARY


def test_start_at_the_minimum_takes_no_step():
    result = minimize_on_simplex(lambda x: (0.0, np.zeros(3)), [1.0, 0.0, 0.0])
    assert result.n_steps == 0
    assert result.status == Status.STATIONARY


def test_too_few_iterations_are_reported():
    result = minimize_on_simplex(quadratic(0, 8, 20), np.full(8, 1 / 8), max_iter=1)
    assert result.status == Status.MAX_STEPS


def test_inputs_stay_untouched():
    v = vector(0, 8)[::2]
    v.flags.writeable = False
    before = v.copy()
    start = minimize_ridge_on_simplex(v, 1.0)
    start.flags.writeable = False
    minimize_on_simplex(quadratic(0, 4, 4), start)
    np.testing.assert_array_equal(v, before)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: minimize_ridge_on_simplex([], 1.0), "non-empty vector"),
        (lambda: minimize_ridge_on_simplex([np.nan], 1.0), "finite numbers"),
        (lambda: minimize_ridge_on_simplex(np.ones((2, 2)), 1.0), "e has shape"),
        (lambda: minimize_ridge_on_simplex([1.0], -1.0), "rho is -1.0"),
        (lambda: minimize_on_simplex(quadratic(0, 2, 2), [0.7, 0.7]), "not on the simplex"),
        (lambda: minimize_on_simplex(lambda x: (np.nan, x), [1.0]), "not finite"),
        (lambda: minimize_on_simplex(quadratic(0, 1, 1), [1.0], max_iter=0), "max_iter is 0"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_function_whose_gradient_never_agrees_with_its_values_ends_the_search():
    """Doubling the Lipschitz constant ends where it overflows."""
    calls = []

    def contradict(x):
        calls.append(x)
        return float(len(calls)), 1e300 * np.array([1.0, -1.0]) * (-1) ** len(calls)

    result = minimize_on_simplex(contradict, np.array([0.5, 0.5]))
    assert len(calls) < 1000
    assert result.value == 1.0
