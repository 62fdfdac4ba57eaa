"""Problems on the simplex ``b >= 0, sum(b) = 1``: ridge and smooth convex."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import FloatArray
from imkpl.solvers.nqp import SolverResult, Status, check_count

# Upper bound of the first Lipschitz constant, so that it can still be doubled.
_HUGE = 1e300
_EPS = float(np.finfo(np.float64).eps)
# From a point to the value and the gradient there.
Function = Callable[[FloatArray], tuple[float, FloatArray]]


def minimize_ridge_on_simplex(e: ArrayLike, rho: float) -> FloatArray:
    """Minimise ``e'b + rho/2 b'b`` on the simplex, exactly.

    The solution is ``b = max(theta - e, 0) / rho``. As rho falls to 0 it approaches the vertex of
    the paper's linear programme (exact ties share the weight evenly for every rho > 0; for rho = 0
    the first of them gets it all). As rho grows it becomes uniform. With rho = 1 and the costs -v
    it is the point of the simplex that is nearest to v.

    Parameters
    ----------
    e : array of shape (n,)
        The costs.
    rho : float
        Weight of the ridge, not negative.

    Returns
    -------
    array of shape (n,)
        The minimiser.

    Examples
    --------
    >>> minimize_ridge_on_simplex([0.0, 0.5, 3.0], rho=1.0)
    array([0.75, 0.25, 0.  ])
    """
    e = _as_vector(e, "e")
    require(
        np.isfinite(rho) and rho >= 0,
        f"rho is {rho!r}, but a non-negative number was expected; 0 is the LP.",
    )
    if rho == 0:
        b = np.zeros_like(e)
        b[np.argmin(e)] = 1
        return b
    # Shifted costs move no minimiser.
    return _fill(e - e.min(), rho) / rho


def minimize_on_simplex(
    value_and_gradient: Function, start: ArrayLike, *, max_iter: int = 500, tol: float = 1e-8
) -> SolverResult:
    """Minimise a smooth convex function on the simplex.

    Accelerated projected gradient with backtracking. A step that would raise the objective resets
    the momentum, so the result is never worse than the start. It stops when the Frank-Wolfe gap,
    ``g'x - min(g) >= f(x) - min f``, is at most ``tol`` times the larger of ``|f(x)|`` and the
    spread ``max(g) - min(g)`` of the gradient at the start, so that scaling f changes nothing.

    Parameters
    ----------
    value_and_gradient : callable
        Returns f(x) and its gradient, an array of shape (n,), for any x near the simplex.
    start : array of shape (n,)
        A point of the simplex.
    max_iter : int
        Maximum number of steps.
    tol : float
        Relative tolerance of the duality gap.

    Returns
    -------
    SolverResult
        The status is STATIONARY (gap reached), SMALL_DECREASE (no step lowers f beyond
        round-off) or MAX_STEPS.

    Examples
    --------
    The nearest point of the simplex:

    >>> import numpy as np
    >>> v = np.array([0.9, 0.7, -2.0])
    >>> result = minimize_on_simplex(lambda x: (0.5 * (x - v) @ (x - v), x - v), np.full(3, 1 / 3))
    >>> np.allclose(result.x, minimize_ridge_on_simplex(-v, 1.0))
    True
    """
    x = _as_vector(start, "start").copy()
    require(
        x.min() >= 0 and abs(x.sum() - 1) <= 1e-6,
        "start is not on the simplex, but non-negative entries that sum to one were expected; use "
        "minimize_ridge_on_simplex(-start, 1), the nearest such point.",
    )

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = value_and_gradient(x)
        gradient = np.asarray(gradient, dtype=np.float64)
        is_finite = np.isfinite(value) and np.isfinite(gradient).all()
        require(
            is_finite and gradient.shape == x.shape,
            "value_and_gradient returned a value or gradient that is not finite or not of the "
            f"shape {x.shape} of its argument; check the function near the simplex.",
        )
        return float(value), gradient

    return descend_on_simplex(evaluate, x, max_iter=check_count(max_iter, "max_iter"), tol=tol)


def descend_on_simplex(
    evaluate: Function, x: FloatArray, *, max_iter: int = 500, tol: float = 1e-8
) -> SolverResult:
    """`minimize_on_simplex` for a function and a start that are known to be valid."""
    value, gradient = evaluate(x)
    start_value, spread = value, float(np.ptp(gradient))
    # The largest decrease that the linear model promises.
    gap = float((gradient - gradient.min()) @ x)
    L = _first_lipschitz(evaluate, x, gradient)
    ahead, value_ahead, gradient_ahead = x, value, gradient
    momentum, n_steps, status = 1.0, 0, Status.MAX_STEPS

    while True:
        if gap <= tol * max(abs(value), spread):
            status = Status.STATIONARY
            break
        if n_steps == max_iter:
            break
        L, new, new_value, new_gradient = _backtrack(
            evaluate, ahead, value_ahead, gradient_ahead, L
        )
        n_steps += 1
        new_gap = float((new_gradient - new_gradient.min()) @ new)
        # Near an inner minimum f is flat up to round-off long before the gap is closed.
        is_level = new_value <= min(start_value, value + 8 * _EPS * abs(value)) and new_gap < gap
        if not (new_value < value or is_level):
            if ahead is x:
                # Without momentum this is a descent step, so only round-off is left.
                status = Status.SMALL_DECREASE
                break
            ahead, value_ahead, gradient_ahead, momentum = x, value, gradient, 1.0
            continue
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / next_momentum * (new - x)
        x, value, gradient, gap, momentum = new, new_value, new_gradient, new_gap, next_momentum
        value_ahead, gradient_ahead = evaluate(ahead)

    return SolverResult(x, np.flatnonzero(x > 0), value, n_steps, status)


def _backtrack(
    evaluate: Function, y: FloatArray, value: float, gradient: FloatArray, L: float
) -> tuple[float, FloatArray, float, FloatArray]:
    """A projected gradient step from y with an L whose parabola lies above the function."""
    while True:
        point = y - gradient / L
        new = _fill(point.max() - point, 1.0)
        new_value, new_gradient = evaluate(new)
        step = new - y
        bend = 0.5 * L * float(step @ step)
        # f(new) - f(y) - g(y)'step <= (g(new) - g(y))'step for convex f: the second test needs
        # no difference of values, which is all round-off near the minimum.
        if (
            new_value - value <= float(gradient @ step) + bend
            or float((new_gradient - gradient) @ step) <= bend
            or bend <= _EPS**2 * L
            # An L that has overflowed cannot grow.
            or np.isinf(L)
        ):
            return L, new, new_value, new_gradient
        L *= 2


def _first_lipschitz(evaluate: Function, x: FloatArray, gradient: FloatArray) -> float:
    """How fast the gradient changes on the way to the best vertex: a lower bound of L."""
    vertex = np.zeros_like(gradient)
    vertex[np.argmin(gradient)] = 1
    length = float(np.linalg.norm(vertex - x))
    spread = float(np.ptp(gradient))
    if length == 0 or spread == 0:
        return spread or 1.0
    _, there = evaluate(vertex)
    # With an L below spread / 1000 every step ends at a vertex.
    with np.errstate(over="ignore"):
        turn = min(float(np.linalg.norm(there - gradient)), _HUGE)
    return max(turn / length, 1e-3 * spread)


def _fill(e: FloatArray, mass: float) -> FloatArray:
    """``max(theta - e, 0)`` that sum to the mass, for costs that start at 0."""
    ordered = np.sort(e)
    theta = (mass + np.cumsum(ordered)) / np.arange(1, e.size + 1)
    # Entries are positive up to the last cost that is still below its own theta.
    return np.asarray(np.maximum(theta[np.flatnonzero(theta > ordered)[-1]] - e, 0))


def _as_vector(v: ArrayLike, name: str) -> FloatArray:
    """The vector as float64; raise unless it is one-dimensional, finite and not empty."""
    v = np.asarray(v, dtype=np.float64)
    require(
        v.ndim == 1 and v.size and np.isfinite(v).all(),
        f"{name} has shape {v.shape}, but a non-empty vector of finite numbers was "
        "expected; flatten it and remove NaN and infinite entries.",
    )
    return v
