"""Checks of input, each with a sentence that says what was wrong."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.columns import ColumnSource


def check_vectors(X: Any, name: str = "X") -> FloatArray:
    """X as a 2-D array of numbers, not copied, or an error that says what was wrong.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The samples; a `ColumnSource` is taken for an array.
    name : str
        What to call it in the error.

    Returns
    -------
    array of shape (n_samples, n_features)
        The same numbers.
    """
    if isinstance(X, ColumnSource):
        return cast(FloatArray, X)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has {array.ndim} dimensions and type {array.dtype}, expected a dense 2-D "
            "array of numbers (n_samples, n_features). Use toarray() on a sparse matrix, "
            "reshape(-1, 1) on a single feature."
        )
    return array


def check_sample_weight(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Sample weights that sum to one, uniform by default.

    Parameters
    ----------
    sample_weight : array of shape (n_samples,), optional
        Non-negative weights.
    n_samples : int
        How many are expected.

    Returns
    -------
    array of shape (n_samples,)
        The shares.

    Examples
    --------
    >>> check_sample_weight([1, 3], 2)
    array([0.25, 0.75])
    """
    if sample_weight is None:
        return np.full(n_samples, 1.0 / max(n_samples, 1))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,) or np.any(weights < 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"sample_weight has shape {weights.shape} and sum {weights.sum()}, expected "
            f"{n_samples} non-negative numbers with a positive sum. Leave it out to weigh all "
            "samples alike."
        )
    return np.asarray(weights / weights.sum())


def check_pairs(rows: ArrayLike, columns: ArrayLike) -> tuple[IntArray, IntArray]:
    """Two index arrays of one length, or an error that says what was wrong.

    Parameters
    ----------
    rows, columns : array of shape (n_pairs,)
        The two samples of each pair.

    Returns
    -------
    rows, columns : array of shape (n_pairs,)
        Contiguous arrays of int.
    """
    left = np.ascontiguousarray(rows, dtype=np.intp)
    right = np.ascontiguousarray(columns, dtype=np.intp)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"rows have shape {left.shape} and columns {right.shape}, expected two lists of one "
            "length. Pass the first and the second sample of every pair."
        )
    return left, right


def check_indices(indices: ArrayLike, n_kernels: int) -> IntArray:
    """Kernel indices as an array of int, or an error that says what was wrong.

    Parameters
    ----------
    indices : array of shape (n_selected,)
        Which kernels; a mask of booleans is refused.
    n_kernels : int
        The number of kernels to choose from.

    Returns
    -------
    array of shape (n_selected,)
        Each between 0 and n_kernels - 1.

    Examples
    --------
    >>> check_indices([2, 0], 3)
    array([2, 0])
    """
    array = np.atleast_1d(np.asarray(indices))
    chosen = array.astype(np.intp)
    if array.dtype == bool or np.any(chosen != array):
        raise ValueError(
            f"kernel indices have type {array.dtype}, expected integers. Turn a mask into indices "
            "with numpy.flatnonzero."
        )
    if np.any((chosen < 0) | (chosen >= n_kernels)):
        raise ValueError(
            f"kernel indices run from {chosen.min()} to {chosen.max()}, expected 0 to "
            f"{n_kernels - 1}. Choose among the kernels that the bank has."
        )
    return chosen
