"""Non-negative quadratic pursuit, compiled: many problems that share one matrix."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.solvers._checks import (
    as_float_arrays,
    check_count,
    check_linear,
    check_quadratic,
    check_solution,
    check_stops,
    default_max_steps,
    per_problem,
    tolerances,
)
from imkpl.solvers._nqp_loops import _pursue_alone, _pursue_batch
from imkpl.solvers.result import BatchResult


def solve_nqp_batch(
    H: ArrayLike,
    C: ArrayLike,
    sparsity: int,
    *,
    scale: ArrayLike = 1.0,
    constant: ArrayLike = 0.0,
    residual_tol: ArrayLike | None = None,
    min_decrease: float = 0.0,
    max_steps: int | None = None,
    n_jobs: int | None = None,
) -> BatchResult:
    """The pursuit of :func:`solve_nqp` for every row of C, compiled and in parallel.

    Problem i minimises ``1/2 x'(scale_i * H)x + C_i'x`` subject to ``x >= 0`` and at most
    ``sparsity`` non-zero entries. The result does not depend on the number of threads, bit by bit.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric and positive semi-definite; shared by all problems.
    C : array of shape (n_problems, n)
        The linear part of one problem per row.
    sparsity : int
        At most so many entries of each solution are non-zero; may exceed n.
    scale, constant, residual_tol : float or array of shape (n_problems,)
        As in :func:`solve_nqp`; an array holds one value per problem.
    min_decrease : float
        As in :func:`solve_nqp`.
    max_steps : int, optional
        As in :func:`solve_nqp`.
    n_jobs : int, optional
        At most so many threads; None and -1 mean all of them.

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
    H, C = as_float_arrays(H, C)
    check_quadratic(H)
    n = H.shape[0]
    check_linear(C, n, "C", ndim=2)
    n_problems = C.shape[0]
    sparsity = check_count(sparsity, "sparsity")
    check_stops(scale, constant, min_decrease)
    limit = default_max_steps(sparsity, n) if max_steps is None else max_steps
    limit = check_count(limit, "max_steps")
    n_jobs = -1 if n_jobs is None or n_jobs == -1 else check_count(n_jobs, "n_jobs (or -1)")

    width = min(sparsity, n)
    x = np.empty((n_problems, width), H.dtype)
    active = np.empty((n_problems, width), np.int64)
    n_active, n_steps = np.zeros(n_problems, np.int64), np.zeros(n_problems, np.int64)
    value, status = np.zeros(n_problems), np.zeros(n_problems, np.int8)
    scales = per_problem(scale, n_problems, "scale")
    constants = per_problem(constant, n_problems, "constant")
    enough = -np.inf if residual_tol is None else residual_tol
    enoughs = per_problem(enough, n_problems, "residual_tol")
    if n_problems:
        with limited_threads(n_jobs) as n_threads:
            _pursue_batch(
                _frozen(H),
                _frozen(scales),
                _frozen(C),
                sparsity,
                _frozen(constants),
                _frozen(enoughs),
                float(min_decrease),
                limit,
                *tolerances(H.dtype),
                min(n_threads, n_problems),
                x,
                active,
                n_active,
                value,
                n_steps,
                status,
            )
    solutions = _as_csr(x, active, n_active, n)
    check_solution(solutions.data, value)
    return BatchResult(solutions, value, n_steps, status)


def pursue(
    H: FloatArray,
    c: FloatArray,
    sparsity: int,
    *,
    scale: float = 1.0,
    constant: float = 0.0,
    residual_tol: float = -np.inf,
    min_decrease: float = 0.0,
) -> tuple[IntArray, FloatArray, float]:
    """The compiled pursuit of one problem, without any check of its input.

    For inner loops that call it many times on arrays known to be sound: the same problem and the
    same algorithm as :func:`solve_nqp`. Nothing is validated.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semi-definite and finite; never copied if C-contiguous.
    c : array of shape (n,)
        The linear part, of the same floating type as H (float32 or float64).
    sparsity : int
        At most so many non-zero entries, at least 1.
    scale, constant, residual_tol, min_decrease : float
        As in :func:`solve_nqp`.

    Returns
    -------
    indices : int array
        Where the solution is positive, in order of entry.
    values : array
        The solution at these indices.
    value : float
        The objective.

    Examples
    --------
    >>> import numpy as np
    >>> indices, values, value = pursue(np.eye(3), np.array([-1.0, -4.0, 2.0]), 2, scale=2.0)
    >>> indices, values, value
    (array([1, 0]), array([2. , 0.5]), -4.25)
    """
    indices, values, value, _, _ = _pursue_alone(
        _frozen(H),
        float(scale),
        _frozen(c),
        sparsity,
        float(constant),
        float(residual_tol),
        float(min_decrease),
        default_max_steps(sparsity, c.size),
        *tolerances(H.dtype),
    )
    return indices, values, value


def _frozen(array: FloatArray) -> FloatArray:
    """A contiguous read-only view, so that each loop is compiled for one kind of array only."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _as_csr(x: FloatArray, active: IntArray, n_active: IntArray, n: int) -> sp.csr_array:
    """Padded rows as a CSR array with ascending column indices."""
    is_filled = np.arange(x.shape[1]) < n_active[:, None]
    indptr = np.concatenate(([0], np.cumsum(n_active)))
    csr = sp.csr_array((x[is_filled], active[is_filled], indptr), shape=(x.shape[0], n))
    csr.sort_indices()
    return csr
