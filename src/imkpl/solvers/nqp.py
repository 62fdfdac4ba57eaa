"""Non-negative quadratic pursuit (Algorithm 2 of the paper).

:func:`solve_nqp` is the algorithm in NumPy, to be read beside the paper. :func:`solve_nqp_batch`
and `pursue` run the same steps in the compiled loops of ``_nqp_loops.py``.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from imkpl._checks import require
from imkpl._threads import Loops
from imkpl._typing import FloatArray, IntArray

loops = Loops("imkpl.solvers._nqp_loops")

# Up to this number of problems are solved in NumPy, some milliseconds: nothing is compiled.
FEW_PROBLEMS = 16
# Every active entry can leave and return several times; only round-off could make a pursuit longer.
STEPS_PER_ENTRY = 10
# Relative round-off of a gradient, and of a Schur complement.
TOLERANCES = {
    np.dtype(np.float32): (1e-6, 100 * float(np.finfo(np.float32).eps)),
    np.dtype(np.float64): (1e-12, 100 * float(np.finfo(np.float64).eps)),
}


class Status(IntEnum):
    """Why a solver stopped.

    Members equal their integer codes, so an array of codes can be compared with a member.

    Examples
    --------
    >>> Status(1) == Status.STATIONARY == 1
    True
    """

    SPARSITY = 0  # The budget of non-zero entries is used up.
    STATIONARY = 1  # No feasible direction lowers the objective beyond round-off.
    SMALL_DECREASE = 2  # The last step lowered the objective by too little to go on.
    RESIDUAL = 3  # The objective is at most residual_tol.
    DEPENDENT = 4  # Only columns that depend linearly on the active ones could still help.
    MAX_STEPS = 5  # The maximum number of steps was reached.


@dataclass(frozen=True)
class SolverResult:
    """The solution of one problem.

    Parameters
    ----------
    x : array of shape (n,)
        The solution, dense.
    active : int array
        Indices of the positive entries: in order of entry for a pursuit, ascending otherwise.
    value : float
        The objective at ``x``.
    n_steps : int
        Number of accepted steps.
    status : Status
        Why the solver stopped.

    Examples
    --------
    >>> result = solve_nqp([[1.0, 0.0], [0.0, 1.0]], [-3.0, 1.0], sparsity=1)
    >>> result.x, result.value, result.status.name
    (array([3., 0.]), -4.5, 'SPARSITY')
    """

    x: FloatArray
    active: IntArray
    value: float
    n_steps: int
    status: Status


@dataclass(frozen=True)
class BatchResult:
    """The solutions of many problems that share one matrix.

    Parameters
    ----------
    x : CSR array of shape (n_problems, n)
        One solution per row, with sorted column indices.
    value : array of shape (n_problems,)
        The objective of each problem at its solution.
    n_steps : int array of shape (n_problems,)
        Number of steps of each problem.
    status : int8 array of shape (n_problems,)
        Codes of :class:`Status`; ``status == Status.SPARSITY`` is a mask.

    Examples
    --------
    >>> batch = solve_nqp_batch([[1.0, 0.0], [0.0, 1.0]], [[-3.0, 1.0], [0.0, -1.0]], sparsity=1)
    >>> batch.active
    [array([0]), array([1])]
    """

    x: sp.csr_array
    value: FloatArray
    n_steps: IntArray
    status: IntArray

    @property
    def active(self) -> list[IntArray]:
        """Sorted indices of the positive entries, one array per problem."""
        return list(np.split(self.x.indices, self.x.indptr[1:-1])) if self.x.shape[0] else []


def solve_nqp(
    H: ArrayLike, c: ArrayLike, sparsity: int, *, scale: float = 1.0, residual_tol: float = -np.inf
) -> SolverResult:
    """Minimise a quadratic greedily over sparse non-negative vectors.

    Minimises ``f(x) = 1/2 x'(scale * H)x + c'x`` subject to ``x >= 0`` and at most ``sparsity``
    non-zero entries (the paper's non-negative quadratic pursuit, corrected). In each step the index
    with the most negative gradient enters (the lowest one on ties) and f is minimised exactly on
    the active set. While that solution has an entry that is not positive, the step goes back to the
    nearest zero crossing and drops that index, as in the method of Lawson and Hanson. The objective
    falls with every step, so no active set occurs twice.

    A column that is zero or depends linearly on the active ones is skipped until the active set
    loses a member. A column that cannot lower f because of round-off is skipped until the set
    changes.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric and positive semi-definite.
    c : array of shape (n,)
        The linear part.
    sparsity : int
        Maximum number of non-zero entries; may exceed n.
    scale : float
        A positive factor of H, which is never multiplied out.
    residual_tol : float
        Stop as soon as ``f(x) <= residual_tol``; by default never. With ``H = 2 U'KU`` and
        ``c = -2 U'k(x)``, f is the squared distance of x to its reconstruction (Eq. 7) less
        ``k(x, x)``.

    Returns
    -------
    SolverResult
        ``x, active, value, n_steps, status``; ``active`` is in order of entry. The solution is
        float32 if H and c are, otherwise float64.

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
    """
    H, c = _check_problem(H, c, "c", sparsity, scale)
    active, x, value, n_steps, status = _pursue_one(
        H, c, int(sparsity), float(scale), float(residual_tol)
    )
    dense = np.zeros(c.size, H.dtype)
    dense[active] = x
    _check_solution(dense, value)
    return SolverResult(dense, np.array(active, dtype=np.intp), value, n_steps, status)


# An overflow is reported at the end, by _check_solution.
@np.errstate(over="ignore", invalid="ignore")
def _pursue_one(
    H: FloatArray, c: FloatArray, sparsity: int, scale: float, residual_tol: float
) -> tuple[list[int], FloatArray, float, int, Status]:
    """The pursuit of `solve_nqp`: indices in order of entry, their values, and how it went."""
    # f = scale * (1/2 x'Hx + (c / scale)'x): the pursuit only ever sees H itself.
    c = (c / scale).astype(c.dtype)
    gradient_tol, dependence_tol = TOLERANCES[H.dtype]
    threshold = -gradient_tol * float(np.abs(c).max())
    max_steps = STEPS_PER_ENTRY * (min(sparsity, c.size) + 2)

    active: list[int] = []
    x, value, n_steps = np.zeros(0, H.dtype), 0.0, 0
    L, y = np.zeros((0, 0), H.dtype), np.zeros(0, H.dtype)
    is_dependent, is_useless = np.zeros(c.size, bool), np.zeros(c.size, bool)
    status = Status.RESIDUAL if residual_tol >= 0 else None

    while status is None:
        gradient = c + x @ H[active]
        candidates = np.where(is_dependent | is_useless, np.inf, gradient)
        candidates[active] = np.inf
        j = int(np.argmin(candidates))
        if not candidates[j] < threshold:
            helps = (gradient < threshold) & is_dependent
            status = Status.DEPENDENT if helps.any() else Status.STATIONARY
        elif n_steps == max_steps:
            status = Status.MAX_STEPS
        elif (grown := _grow_factor(H, c, active, j, L, y, dependence_tol)) is None:
            is_dependent[j] = True
        else:
            entered = [*active, j]
            new = _solve_on_active(H, c, entered, np.append(x, x.dtype.type(0)), *grown)
            # H_II x = -c_I, so that f = -1/2 ||y||² at the minimum.
            new_value = -0.5 * float(new[3] @ new[3])
            if grown[1][-1] <= 0 or not new_value < value:
                # A negative gradient promises a decrease, so only round-off can prevent it.
                is_useless[j] = True
                continue
            active, x, L, y = new
            value, n_steps = new_value, n_steps + 1
            is_useless[:] = False
            if len(active) < len(entered):
                is_dependent[:] = False
            if scale * value <= residual_tol:
                status = Status.RESIDUAL
            elif len(active) == sparsity:
                status = Status.SPARSITY

    return active, x, scale * value, n_steps, status


def solve_nqp_batch(
    H: ArrayLike, C: ArrayLike, sparsity: int, *, scale: float = 1.0, residual_tol: float = -np.inf
) -> BatchResult:
    """Run the pursuit of :func:`solve_nqp` for every row of C, compiled and in parallel.

    Problem i minimises ``1/2 x'(scale * H)x + C_i'x`` subject to ``x >= 0`` and at most
    ``sparsity`` non-zero entries. The result is the same for any number of threads, bit for bit.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric and positive semi-definite; shared by all problems.
    C : array of shape (n_problems, n)
        The linear part of one problem per row.
    sparsity : int
        Maximum number of non-zero entries per solution; may exceed n.
    scale, residual_tol : float
        As in :func:`solve_nqp`, for all problems.

    Returns
    -------
    BatchResult
        ``x`` as a CSR array of shape (n_problems, n), and ``value, n_steps, status`` per problem.

    Examples
    --------
    Every row is the solution of its own problem:

    >>> import numpy as np
    >>> H, C = np.eye(3) + 1.0, np.array([[-3.0, 1.0, -1.0], [1.0, 2.0, 3.0]])
    >>> batch = solve_nqp_batch(H, C, sparsity=2)
    >>> batch.x.toarray()
    array([[1.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    >>> batch.status == 1  # Status.STATIONARY
    array([ True,  True])
    """
    H, C = _check_problem(H, C, "C", sparsity, scale)
    found = pursue_batch(H, C, sparsity, scale=scale, residual_tol=residual_tol)
    _check_solution(found.x.data, found.value)
    return found


def pursue_batch(
    H: FloatArray, C: FloatArray, sparsity: int, *, scale: float, residual_tol: float = -np.inf
) -> BatchResult:
    """`solve_nqp_batch` for arrays of floats that are known to be valid."""
    rows = _pursue_rows(H, C, int(sparsity), scale, residual_tol, few=FEW_PROBLEMS)
    x, active, n_active, value, n_steps, status = rows
    is_filled = np.arange(x.shape[1]) < n_active[:, None]
    indptr = np.concatenate(([0], np.cumsum(n_active)))
    solutions = sp.csr_array((x[is_filled], active[is_filled], indptr), shape=C.shape)
    solutions.sort_indices()
    return BatchResult(solutions, value, n_steps, status)


def pursue(
    H: FloatArray,
    c: FloatArray,
    sparsity: int,
    *,
    scale: float = 1.0,
    residual_tol: float = -np.inf,
) -> tuple[IntArray, FloatArray, float]:
    """Indices in order of entry, their values and f, compiled, for arrays known to be valid."""
    rows = _pursue_rows(H, c[np.newaxis], int(sparsity), scale, residual_tol, few=0)
    (x,), (active,), (k,), (value,), _, _ = rows
    return active[:k], x[:k], float(value)


def _pursue_rows(
    H: FloatArray, C: FloatArray, sparsity: int, scale: float, residual_tol: float, *, few: int
) -> tuple[Any, ...]:
    """Padded values and indices, and their number, values, numbers of steps and statuses."""
    dtype, n_problems, width = np.result_type(H, C), len(C), min(sparsity, C.shape[1])
    factor, enough = float(scale), float(residual_tol)
    x, active = np.empty((n_problems, width), dtype), np.empty((n_problems, width), np.int64)
    n_active, n_steps = np.zeros(n_problems, np.int64), np.zeros(n_problems, np.int64)
    value, status = np.zeros(n_problems), np.zeros(n_problems, np.int8)
    found = x, active, n_active, value, n_steps, status
    # So few problems are solved without compiled loops, the same to rounding.
    if n_problems <= few:
        for i in range(n_problems):
            indices, values, value[i], n_steps[i], status[i] = _pursue_one(
                H, C[i], sparsity, factor, enough
            )
            n_active[i] = k = len(indices)
            active[i, :k], x[i, :k] = indices, values
        return found
    # Contiguous read-only views, so that each loop is compiled for one kind of array only.
    given = [np.ascontiguousarray(array, dtype=dtype).view(np.ndarray) for array in (H, C)]
    for view in given:
        view.flags.writeable = False
    limits = (sparsity, STEPS_PER_ENTRY * (width + 2), *TOLERANCES[dtype])
    loops._pursue_batch(*given, factor, enough, limits, *found)
    return found


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
    """Exact minimum on the active set, which loses each index that would turn negative."""
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
        L, y = L[:p, :p], y[:p]
        for k in range(p, len(active)):
            # Schur complements only grow when a column leaves, so no column is dependent now.
            grown = _grow_factor(H, c, active[:k], active[k], L, y, -np.inf)
            assert grown is not None
            L, y = grown


def _check_problem(
    H: ArrayLike, c: ArrayLike, name: str, sparsity: int, scale: float
) -> tuple[FloatArray, FloatArray]:
    """H, and "c" or the rows "C", as float32 if both are, else float64; raise unless valid."""
    H, c = np.asarray(H), np.asarray(c)
    require(
        np.isrealobj(H) and np.isrealobj(c),
        "H and c must be real, but one is complex; pass their real parts.",
    )
    dtype = np.float32 if H.dtype == c.dtype == np.float32 else np.float64
    H, c = H.astype(dtype, copy=False), c.astype(dtype, copy=False)
    require(
        H.ndim == 2 and H.shape[0] == H.shape[1] and H.size,
        f"H has shape {H.shape}, but a square matrix (n, n) with n >= 1 was expected; "
        "pass the Gram matrix of the columns.",
    )
    shape = "(n,)" if name == "c" else "(n_problems, n)"
    require(
        c.ndim == (1 if name == "c" else 2) and c.shape[-1] == len(H),
        f"{name} has shape {c.shape}, but {shape} with n = {len(H)} was expected; "
        "it needs one entry per column of H.",
    )
    for array, what in ((H, "H"), (c, name)):
        problem = f"{what} contains NaN or infinite entries; remove or impute them first."
        require(np.isfinite(array).all(), problem)
    tolerance = float(np.sqrt(np.finfo(dtype).eps)) * float(np.abs(H).max())
    require(
        np.allclose(H, H.T, rtol=0, atol=tolerance),
        "H is not symmetric, but a symmetric matrix was expected; use (H + H.T)/2.",
    )
    require(
        np.diagonal(H).min() >= -tolerance,
        "H has a negative diagonal entry, so it is not positive semi-definite and the "
        "problem has no minimum; pass a Gram or kernel matrix.",
    )
    require(
        np.ndim(scale) == 0 and 0 < scale < np.inf,
        "scale must be a positive, finite number, because scale * H has to stay positive "
        "semi-definite.",
    )
    check_count(sparsity, "sparsity")
    return H, c


def _check_solution(x: FloatArray, value: ArrayLike) -> None:
    require(
        np.isfinite(x).all() and np.isfinite(value).all(),
        "The solution overflows: c is too large for the entries of H. Divide c by its largest "
        "entry, solve, and multiply the solution by it.",
    )


def check_count(value: Any, name: str) -> int:
    """The value as an int; raise unless it is a positive integer."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(
        is_whole and value >= 1,
        f"{name} is {value!r}, but a positive integer was expected; use at least 1.",
    )
    return int(value)
