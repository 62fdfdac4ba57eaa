"""Bad quadratic problems are refused with a sentence."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imkpl._typing import FloatArray


def as_float_arrays(H: ArrayLike, c: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both arrays in one floating type: float32 if both are float32, else float64."""
    H, c = np.asarray(H), np.asarray(c)
    if np.iscomplexobj(H) or np.iscomplexobj(c):
        raise ValueError("H and c must be real, but one is complex; pass their real parts.")
    dtype = np.float32 if H.dtype == c.dtype == np.float32 else np.float64
    return H.astype(dtype, copy=False), c.astype(dtype, copy=False)


def check_quadratic(H: FloatArray) -> None:
    """Raise unless H is square, finite, symmetric and has a non-negative diagonal.

    Symmetry and finiteness are read off ``H v`` and ``H' v`` for one fixed vector v, which costs
    two products instead of a transposed copy.
    """
    if H.ndim != 2 or H.shape[0] != H.shape[1] or H.shape[0] == 0:
        raise ValueError(
            f"H has shape {H.shape}, but a square matrix (n, n) with n >= 1 was expected; "
            "pass the Gram matrix of the columns."
        )
    n = H.shape[0]
    v = np.random.default_rng(0).uniform(0.5, 1.5, size=(n,)).astype(H.dtype)
    with np.errstate(all="ignore"):
        right, left = H @ v, v @ H
        gap = np.max(np.abs(right - left))
    if not np.isfinite(gap) and not np.isfinite(H).all():
        raise ValueError("H contains NaN or infinite entries; remove or impute them first.")
    largest = max(float(H.max()), -float(H.min()))
    tolerance = float(np.sqrt(np.finfo(H.dtype).eps)) * largest
    if gap > tolerance * np.sqrt(n):
        raise ValueError(
            "H is not symmetric, but a symmetric matrix was expected; use (H + H.T)/2."
        )
    if np.diagonal(H).min() < -tolerance:
        raise ValueError(
            "H has a negative diagonal entry, so it is not positive semi-definite and the "
            "problem has no minimum; pass a Gram or kernel matrix."
        )


def check_linear(c: FloatArray, n: int, name: str, ndim: int) -> None:
    """Raise unless c has so many axes and its last axis n finite entries."""
    if c.ndim != ndim or c.shape[-1] != n:
        shape = "(n,)" if ndim == 1 else "(n_problems, n)"
        raise ValueError(
            f"{name} has shape {c.shape}, but {shape} with n = {n} was expected; "
            "it needs one entry per column of H."
        )
    if not np.isfinite(c).all():
        raise ValueError(f"{name} contains NaN or infinite entries; remove or impute them first.")


def check_solution(x: FloatArray, value: ArrayLike) -> None:
    """Raise unless a solution and its value are finite."""
    if not (np.isfinite(x).all() and np.isfinite(value).all()):
        raise ValueError(
            "The solution overflows: c is too large for the entries of H. Divide c by its largest "
            "entry, solve, and multiply the solution by it."
        )


def check_count(value: Any, name: str) -> int:
    """The value as an int; raise unless it is a positive integer."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(
            f"{name} is {value!r}, but a positive integer was expected; use at least 1."
        )
    return int(value)


def check_stops(scale: ArrayLike, constant: ArrayLike, min_decrease: float) -> None:
    """Raise unless scale > 0, the constant is finite and min_decrease >= 0."""
    scale, constant = np.asarray(scale), np.asarray(constant)
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError(
            "scale must be positive and finite, because scale * H has to stay positive "
            "semi-definite; leave out problems whose scale is 0."
        )
    if not np.isfinite(constant).all():
        raise ValueError("constant must be finite; it is added to the objective as it is.")
    if not min_decrease >= 0:
        raise ValueError(
            f"min_decrease is {min_decrease!r}, but a non-negative fraction was expected; "
            "use 0 to stop only when nothing falls any more."
        )


def default_max_steps(sparsity: int, n: int) -> int:
    """Each active entry may leave and come back several times before the guard stops it."""
    return 10 * min(sparsity, n) + 20


def tolerances(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Relative round-off of a gradient, and of a Schur complement, in this type."""
    return (1e-6 if dtype == np.float32 else 1e-12), 100 * float(np.finfo(dtype).eps)


def per_problem(value: ArrayLike, n_problems: int, name: str) -> NDArray[np.float64]:
    """The value as one float64 per problem; raise unless it is a number or has that length."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in {(), (n_problems,)}:
        raise ValueError(
            f"{name} has shape {array.shape}, but a number or one value for each of the "
            f"{n_problems} problems (rows of C) was expected."
        )
    return np.ascontiguousarray(np.broadcast_to(array, (n_problems,)))
