"""Non-negative quadratic pursuit of one problem, to be read beside Algorithm 2 of the paper."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from imkpl._typing import BoolArray, FloatArray
from imkpl.solvers._checks import (
    as_float_arrays,
    check_count,
    check_linear,
    check_quadratic,
    check_solution,
    check_stops,
    default_max_steps,
    tolerances,
)
from imkpl.solvers.result import SolverResult, Status


# What overflows is refused at the end.
@np.errstate(over="ignore", invalid="ignore")
def solve_nqp(
    H: ArrayLike,
    c: ArrayLike,
    sparsity: int,
    *,
    scale: float = 1.0,
    constant: float = 0.0,
    residual_tol: float | None = None,
    min_decrease: float = 0.0,
    max_steps: int | None = None,
) -> SolverResult:
    """Greedy minimum of a quadratic over the sparse non-negative vectors.

    Minimises ``f(x) = 1/2 x'(scale * H)x + c'x`` subject to ``x >= 0`` and at most ``sparsity``
    non-zero entries (the paper's non-negative quadratic pursuit, corrected). Each step lets the
    index with the most negative gradient enter (the lowest one on ties), solves exactly on the
    active set, and, as in Lawson and Hanson's method, walks back to the nearest zero crossing and
    drops that index for as long as the exact solution has an entry that is not positive. The
    objective falls with every step, so no active set comes back.

    A column that depends linearly on the active ones, or is zero, is passed over until the active
    set loses a member; one that cannot lower f because of round-off, until the set changes.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric and positive semi-definite.
    c : array of shape (n,)
        The linear part.
    sparsity : int
        At most so many entries of the solution are non-zero; may exceed n.
    scale : float
        A positive factor of H, which is never multiplied out.
    constant : float
        What is added to f to make it a residual. With ``H = 2 U'KU`` and ``c = -2 U'k(x)`` and the
        constant ``k(x, x)``, the sum is the squared distance of x to its reconstruction (Eq. 7).
    residual_tol : float, optional
        Stop as soon as ``constant + f(x) <= residual_tol``.
    min_decrease : float
        Stop after a step that lowered f by at most ``min_decrease * |f|``; that step is kept.
    max_steps : int, optional
        At most so many steps; the default only guards against endless round-off.

    Returns
    -------
    SolverResult
        ``x, active, value, n_steps, status``; ``active`` is in order of entry and ``value`` is
        f(x) without the constant. Two float32 arrays give a float32 solution, all else float64.

    See Also
    --------
    solve_nqp_batch : The same pursuit, compiled, for many ``c`` at once.

    Examples
    --------
    The unconstrained minimum of ``1/2 ||x||² - a'x`` is a itself; the pursuit keeps its largest
    positive entries:

    >>> import numpy as np
    >>> result = solve_nqp(np.eye(4), [-3.0, 1.0, -2.0, -1.0], sparsity=2)
    >>> result.x
    array([3., 0., 2., 0.])
    >>> result.active, result.value
    (array([0, 2]), -6.5)
    >>> result.status.message
    'the budget of non-zero entries is used up'
    """
    H, c = as_float_arrays(H, c)
    check_quadratic(H)
    n = H.shape[0]
    check_linear(c, n, "c", ndim=1)
    sparsity = check_count(sparsity, "sparsity")
    check_stops(scale, constant, min_decrease)
    limit = default_max_steps(sparsity, n) if max_steps is None else max_steps
    limit = check_count(limit, "max_steps")
    enough = -np.inf if residual_tol is None else float(residual_tol)

    # f = scale * (1/2 x'Hx + (c / scale)'x): the pursuit only ever sees H itself.
    c = (c / scale).astype(c.dtype)
    gradient_tol, dependence_tol = tolerances(H.dtype)
    threshold = -gradient_tol * float(np.abs(c).max())

    active: list[int] = []
    x, value, n_steps = np.zeros(0, H.dtype), 0.0, 0
    L, y = np.zeros((0, 0), H.dtype), np.zeros(0, H.dtype)
    is_dependent, is_useless = np.zeros(n, bool), np.zeros(n, bool)
    status = Status.RESIDUAL if constant <= enough else None

    while status is None:
        gradient = c + x @ H[active]
        j = _steepest(gradient, threshold, active, is_dependent | is_useless)
        if j is None:
            helps = (gradient < threshold) & is_dependent
            status = Status.DEPENDENT if helps.any() else Status.STATIONARY
        elif n_steps == limit:
            status = Status.MAX_STEPS
        elif (grown := _grow_factor(H, c, active, j, L, y, dependence_tol)) is None:
            is_dependent[j] = True
        else:
            entered = [*active, j]
            new = _solve_on_active(H, c, entered, np.append(x, x.dtype.type(0)), *grown)
            new_value = -0.5 * float(new[3] @ new[3])
            if grown[1][-1] <= 0 or not new_value < value:
                # A negative gradient promises a fall; what falls short of it is round-off.
                is_useless[j] = True
                continue
            active, x, L, y = new
            decrease, value = value - new_value, new_value
            n_steps += 1
            is_useless[:] = False
            if len(active) < len(entered):
                is_dependent[:] = False
            if constant + scale * value <= enough:
                status = Status.RESIDUAL
            elif len(active) == sparsity:
                status = Status.SPARSITY
            elif decrease <= min_decrease * abs(value):
                status = Status.SMALL_DECREASE

    dense = np.zeros(n, H.dtype)
    dense[active] = x
    check_solution(dense, value)
    return SolverResult(dense, np.array(active, dtype=np.intp), scale * value, n_steps, status)


def _steepest(
    gradient: FloatArray, threshold: float, active: list[int], is_skipped: BoolArray
) -> int | None:
    """The index with the most negative gradient that may enter, or None."""
    candidates = np.where(is_skipped, np.inf, gradient)
    candidates[active] = np.inf
    j = int(np.argmin(candidates))
    return j if candidates[j] < threshold else None


def _grow_factor(
    H: FloatArray,
    c: FloatArray,
    active: list[int],
    j: int,
    L: FloatArray,
    y: FloatArray,
    dependence_tol: float,
) -> tuple[FloatArray, FloatArray] | None:
    """One more row of ``LL' = H_II`` and one more entry of ``Ly = -c_I``; None if dependent."""
    k = len(active)
    v = solve_triangular(L, H[active, j], lower=True, check_finite=False) if k else y
    schur = H[j, j] - v @ v
    if schur <= dependence_tol * H[j, j]:
        return None
    grown = np.zeros((k + 1, k + 1), H.dtype)
    grown[:k, :k] = L
    grown[k, :k] = v
    grown[k, k] = np.sqrt(schur)
    return grown, np.append(y, (-c[j] - v @ y) / grown[k, k])


def _solve_on_active(
    H: FloatArray, c: FloatArray, active: list[int], x: FloatArray, L: FloatArray, y: FloatArray
) -> tuple[list[int], FloatArray, FloatArray, FloatArray]:
    """Exact minimum on the active set, which loses each index that would turn negative.

    At the returned point f is ``-1/2 ||y||²``, since ``H_II x = -c_I``.
    """
    while True:
        z = solve_triangular(L, y, lower=True, trans="T", check_finite=False)
        crossing = z <= 0
        if not crossing.any():
            return active, z, L, y
        # The nearest zero on the way from x to z; f is convex, so it has fallen there too.
        ratio = np.full(z.size, np.inf)
        ratio[crossing] = x[crossing] / np.maximum(x - z, np.finfo(z.dtype).tiny)[crossing]
        p = int(np.argmin(ratio))
        x = np.delete(np.maximum(x + z.dtype.type(ratio[p]) * (z - x), 0), p)
        active = [*active[:p], *active[p + 1 :]]
        L, y = _refactor(H, c, active, L[:p, :p], y[:p])


def _refactor(
    H: FloatArray, c: FloatArray, active: list[int], L: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Factor and forward solution on a smaller set, whose first rows are known."""
    for k in range(len(y), len(active)):
        # Schur complements only grow when a column leaves, so no column is dependent now.
        grown = _grow_factor(H, c, active[:k], active[k], L, y, -np.inf)
        assert grown is not None
        L, y = grown
    return L, y
