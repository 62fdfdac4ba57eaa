"""Kernel matrices that the user computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import BaseKernelBank
from imkpl.kernels.checks import check_indices, check_pairs

# Relative to the largest entry of a kernel.
_TOLERANCE = 1e-8
# Entries of all kernels that are read at a time; strided reads stay in the cache.
_BLOCK_ENTRIES = 2**15


@dataclass(frozen=True, eq=False)
class Precomputed(BaseKernelBank):
    """A bank over a stack of kernel matrices of shape (n_samples, n_train, n_kernels).

    Samples come first, so that scikit-learn's split of a pairwise input,
    ``X[np.ix_(rows, columns)]``, keeps the kernels together. A 2-D array is one kernel. The
    stack is never copied; single precision stays, sums are in double precision.

    As `X` the bank takes the stack; as `Y` an array of column numbers, or None for all columns.

    Parameters
    ----------
    kernels : array of shape (n_kernels,), optional
        Which kernels of the stack are used; all, set by `adapt`, when None.

    Examples
    --------
    >>> K = np.ones((3, 3, 2))
    >>> bank = Precomputed().adapt(K)
    >>> bank.combine([0.25, 0.5], K, bank.take(K, [0]))
    array([[0.75],
           [0.75],
           [0.75]])
    """

    kernels: IntArray | None = None

    @property
    def n_kernels(self) -> int:
        """The number of kernels; known after `adapt`."""
        return int(self._indices.size)

    @property
    def requires_vector_input(self) -> bool:
        """Never: the input is a stack of matrices."""
        return False

    @property
    def reads_similarities(self) -> bool:
        """Always: the input is a stack of matrices."""
        return True

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: `adapt` refuses other stacks."""
        return True

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Precomputed:
        """The bank of the kernels in a training stack, which is checked."""
        stack = _as_stack(X)
        used = np.arange(stack.shape[2]) if self.kernels is None else np.asarray(self.kernels)
        check_indices(used, stack.shape[2])
        _check_training_stack(stack, used)
        return replace(self, kernels=used)

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """One matrix of the stack, in double precision."""
        return self.select([index]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l``; kernels of zero weight are never read."""
        weights = self._check_weights(weights)
        stack = self._read(X)
        columns = slice(None) if Y is None else np.asarray(Y, dtype=np.intp)
        total = np.zeros(self._shape(X, Y))
        step = max(1, _BLOCK_ENTRIES // max(1, stack[0:1].size))
        for start in range(0, stack.shape[0], step):
            rows = slice(start, start + step)
            for index in np.flatnonzero(weights):
                matrix = stack[rows, :, self._indices[index]]
                total[rows] += np.multiply(matrix[:, columns], weights[index], dtype=np.float64)
        return total

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l, M>`` for every l: the adjoint of `combine`."""
        stack = self._read(X)
        matrix = self._check_matrix(M, X, Y)
        columns = slice(None) if Y is None else np.asarray(Y, dtype=np.intp)
        products = np.zeros(self.n_kernels)
        for row, values in zip(matrix, stack, strict=True):
            products += row @ values[columns][:, self._indices].astype(np.float64)
        return products

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The listed entries of every matrix."""
        rows, columns = check_pairs(rows, columns)
        values = self._read(X)[rows[:, np.newaxis], columns[:, np.newaxis], self._indices]
        return values.astype(dtype, copy=False)

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading the whole stack."""
        return replace(self, kernels=self._indices[check_indices(indices, self.n_kernels)])

    def take(self, X: Any, indices: ArrayLike) -> IntArray:
        """The listed samples as column numbers, the form that `Y` accepts."""
        return np.array(indices, dtype=np.intp)

    def subset(self, X: Any, indices: ArrayLike) -> FloatArray:
        """The stack cut down to the listed samples, rows and columns."""
        chosen = np.asarray(indices, dtype=np.intp)
        return np.asarray(X)[np.ix_(chosen, chosen)]

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names of the kernels, numbered by their place in the stack by default."""
        if feature_names is None:
            return [f"kernel {index}" for index in self._indices]
        return [str(feature_names[index]) for index in self._indices]

    @property
    def _indices(self) -> IntArray:
        if self.kernels is None:
            raise ValueError(
                "The number of precomputed kernels is not known yet. Call adapt(K) with the "
                "training stack first and use the bank that it returns."
            )
        return self.kernels

    def _read(self, X: Any) -> FloatArray:
        stack = _as_stack(X)
        largest = int(self._indices.max(initial=-1))
        if stack.shape[2] <= largest:
            raise ValueError(
                f"The stack has {stack.shape[2]} kernels, but kernel {largest} is used. Pass the "
                "same kernels as in training, along the last axis."
            )
        return stack

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        n_rows, n_columns = np.shape(X)[:2]
        return int(n_rows), int(n_columns if Y is None else np.size(Y))


def normalize_stack(K: ArrayLike) -> FloatArray:
    """A copy of the kernels with ones on their diagonals, ``K_ij / sqrt(K_ii K_jj)``.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples, n_kernels) or (n_samples, n_samples)
        Kernel matrices with positive diagonals.

    Returns
    -------
    array of the same shape
        Cosines in feature space, exactly 1 on the diagonals.

    Examples
    --------
    >>> normalize_stack([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    stack = _as_stack(K)
    _check_square(stack)
    norms = np.einsum("iil->il", stack).astype(np.float64)
    bad = np.flatnonzero(~np.all(norms > 0, axis=0))
    if bad.size:
        raise ValueError(
            f"Kernel {bad[0]} has diagonal entries that are not positive, so it has no cosines. "
            "Remove the samples or the kernel, or use Normalized on a bank."
        )
    roots = np.sqrt(norms)
    normalized = np.array(stack, dtype=np.result_type(stack.dtype, np.float32))
    for kernel, root in enumerate(roots.T):
        normalized[:, :, kernel] /= np.outer(root, root)
    everyone = np.arange(stack.shape[0])
    normalized[everyone, everyone] = 1.0
    return normalized.reshape(np.shape(K))


def _as_stack(X: Any) -> FloatArray:
    stack = np.asarray(X)
    if stack.ndim not in (2, 3) or stack.dtype.kind not in "biuf":
        raise ValueError(
            f"The precomputed kernels have shape {stack.shape} and type {stack.dtype}, expected "
            "numbers of shape (n_samples, n_train, n_kernels), or (n_samples, n_train) for one "
            "kernel. Join matrices with numpy.stack(matrices, axis=-1)."
        )
    return stack[:, :, np.newaxis] if stack.ndim == 2 else stack


def _check_square(stack: FloatArray) -> None:
    if stack.shape[0] != stack.shape[1]:
        raise ValueError(
            f"The training kernels have shape {stack.shape}, expected as many rows as columns. "
            "Fit on similarities between training samples; rows of new samples are for predict. "
            "The kernels belong on the last axis (numpy.moveaxis(K, 0, -1))."
        )


def _check_training_stack(stack: FloatArray, used: IntArray) -> None:
    _check_square(stack)
    # Single precision cannot do better than its own rounding.
    precision = float(np.finfo(np.result_type(stack.dtype, np.float32)).eps)
    tolerance = max(_TOLERANCE, 8 * precision)
    largest, gap = np.zeros(used.size), np.zeros(used.size)
    for i in range(stack.shape[0]):
        row, column = stack[i][:, used], stack[:, i][:, used]
        _refuse(
            used[~np.all(np.isfinite(row), axis=0)],
            "contains NaN or infinite values, expected finite numbers",
            "Fill them in or leave the kernel out.",
        )
        largest = np.maximum(largest, np.abs(row).max(axis=0, initial=0.0))
        difference = np.abs(row.astype(np.float64) - column)
        gap = np.maximum(gap, np.where(np.isnan(difference), 0, difference).max(axis=0, initial=0))
    _refuse(
        used[gap > tolerance * largest],
        "is not symmetric, expected K[i, j] = K[j, i]",
        "Take (K + K.swapaxes(0, 1)) / 2.",
    )
    diagonals = np.einsum("iil->il", stack)[:, used].astype(np.float64)
    _refuse(
        used[np.any(np.abs(diagonals - 1.0) > tolerance, axis=0)],
        "does not have ones on its diagonal, expected K[i, i] = 1",
        "Normalise it with imkpl.kernels.normalize_stack.",
    )


def _refuse(kernels: IntArray, problem: str, remedy: str) -> None:
    if kernels.size:
        raise ValueError(f"Precomputed kernel {kernels[0]} {problem}. {remedy}")
