"""Checks of input, each with a sentence that says what was wrong."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.columns import ColumnSource
from imkpl.kernels.sharded import ShardedSamples


def check_vectors(X: Any, name: str = "X") -> FloatArray:
    """X as a 2-D array of numbers, not copied, or an error that says what was wrong."""
    # Of samples on other machines a bank asks for no more than their number here.
    if isinstance(X, ColumnSource | ShardedSamples):
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


def check_weights(weights: ArrayLike, n_kernels: int) -> FloatArray:
    """One weight per kernel, or an error that says what was wrong."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_kernels,):
        raise ValueError(
            f"weights have shape {array.shape}, expected ({n_kernels},): one number per "
            "kernel. Select kernels first with select(), or pass zeros for those left out."
        )
    return array


def check_matrix(M: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """A matrix between two sets of samples, or an error that says what was wrong."""
    array = np.asarray(M, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(
            f"M has shape {array.shape}, expected {shape}: one row per sample of "
            "X and one column per sample of Y. Pass the matrix that belongs to these samples."
        )
    return array


def check_pairs(rows: ArrayLike, columns: ArrayLike) -> tuple[IntArray, IntArray]:
    """Two index arrays of one length, or an error that says what was wrong."""
    left = np.ascontiguousarray(rows, dtype=np.intp)
    right = np.ascontiguousarray(columns, dtype=np.intp)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"rows have shape {left.shape} and columns {right.shape}, expected two lists of one "
            "length. Pass the first and the second sample of every pair."
        )
    return left, right


def check_sample_indices(rows: IntArray, columns: IntArray, n_samples: int) -> None:
    """Refuse pairs that point outside the samples; compiled loops do not check bounds."""
    smallest = min(rows.min(initial=0), columns.min(initial=0))
    largest = max(rows.max(initial=-1), columns.max(initial=-1))
    if smallest < 0 or largest >= n_samples:
        raise ValueError(
            f"Pairs point to samples {smallest} to {largest}, but X has {n_samples} samples. "
            "Indices count from 0 to n_samples - 1."
        )


def check_pair_values(values: ArrayLike, n_pairs: int) -> FloatArray:
    """One number per pair, or an error that says what was wrong."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (n_pairs,):
        raise ValueError(
            f"values have shape {array.shape}, expected ({n_pairs},): one number per pair. Pass "
            "as many values as there are rows and columns."
        )
    return array


def check_rows(
    rows: Any, row_weights: ArrayLike, n_samples: int, mixes: Any = None
) -> tuple[sp.csr_array, FloatArray, sp.csr_array | None]:
    """Sparse rows over the samples with their weights, or an error that says what was wrong."""
    mixes = None if mixes is None else _check_csr(mixes, n_samples, "mixes")
    n_mixes = 0 if mixes is None else int(mixes.shape[0])
    checked = _check_csr(rows, n_samples + n_mixes, "rows")
    factors = np.ascontiguousarray(row_weights, dtype=np.float64)
    if factors.shape != (checked.shape[0],):
        raise ValueError(
            f"row_weights have shape {factors.shape}, expected ({checked.shape[0]},): one number "
            "per row. Pass ones to count all rows alike."
        )
    return checked, factors, mixes


def join_mixes(rows: sp.csr_array, mixes: sp.csr_array | None) -> sp.csr_array:
    """Rows over the samples alone, with the mixes written out."""
    if mixes is None:
        return rows
    n_samples = mixes.shape[1]
    return sp.csr_array(rows[:, :n_samples] + rows[:, n_samples:] @ mixes)


def _check_csr(array: Any, n_columns: int, name: str) -> sp.csr_array:
    shape = np.shape(array)
    if len(shape) != 2 or shape[1] != n_columns:
        raise ValueError(
            f"{name} have shape {shape}, expected {n_columns} columns: one per sample of X, and "
            "in rows one more per mix. Pass a sparse array that belongs to these samples."
        )
    checked = sp.csr_array(array, dtype=np.float64)
    smallest, largest = checked.indices.min(initial=0), checked.indices.max(initial=-1)
    if smallest < 0 or largest >= n_columns:
        raise ValueError(
            f"{name} point to columns {smallest} to {largest}, but there are {n_columns}. Build "
            "the sparse array with indices from 0 to n_columns - 1."
        )
    return checked


def check_indices(indices: ArrayLike, n_kernels: int) -> IntArray:
    """Kernel indices as an array of int, or an error that says what was wrong.

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
