"""Kernels that are read, not computed: a user's matrices, and the table of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import BaseKernelBank, check_indices, check_pairs

# Relative to the largest entry of a kernel.
TOLERANCE = 1e-8
# Entries of all kernels that are read at a time; strided reads stay in the cache.
BLOCK_ENTRIES = 2**15
# Values in double precision at a time where a table in single precision is summed.
SUM_VALUES = 2**18


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
    >>> bank.combine([0.25, 0.5], K, [0])
    array([[0.75],
           [0.75],
           [0.75]])
    """

    kernels: IntArray | None = None

    reads = "similarities"
    # `adapt` refuses other stacks.
    _has_unit_diagonal = True

    @property
    def n_kernels(self) -> int:
        """The number of kernels; known after `adapt`."""
        return int(self._indices.size)

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
        step = max(1, BLOCK_ENTRIES // max(1, stack[0:1].size))
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

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names of the kernels, numbered by their place in the stack by default."""
        if feature_names is None:
            return [f"kernel {index}" for index in self._indices]
        return [str(feature_names[index]) for index in self._indices]

    def _take(self, X: Any, indices: ArrayLike) -> IntArray:
        return np.array(indices, dtype=np.intp)

    def _subset(self, X: Any, indices: ArrayLike) -> FloatArray:
        chosen = np.asarray(indices, dtype=np.intp)
        return np.asarray(X)[np.ix_(chosen, chosen)]

    @property
    def _indices(self) -> IntArray:
        return self._require_adapted(self.kernels)

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
    tolerance = max(TOLERANCE, 8 * precision)
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


@dataclass(frozen=True, eq=False)
class PackedKernels:
    """Kernels of unit diagonal between the same samples: the part below the diagonal, row by row.

    K_l(i, j) for j < i is ``values[l, i * (i - 1) / 2 + j]``.
    """

    values: FloatArray  # (n_kernels, n_samples * (n_samples - 1) / 2)
    n_samples: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n_samples, n_samples, n_kernels), as if it were a stack of matrices."""
        return self.n_samples, self.n_samples, int(self.values.shape[0])

    def __len__(self) -> int:
        return self.n_samples


@dataclass(frozen=True, eq=False)
class Tabulated(BaseKernelBank):
    """A bank over `PackedKernels`: expensive kernels, computed once for a whole fit.

    As `X` it takes the packed kernels; as `Y` sample numbers, or None for all samples.
    """

    kernels: IntArray  # which kernels of the table are used
    names: tuple[str, ...]  # of all kernels of the table

    reads = "anything"
    _has_unit_diagonal = True

    @property
    def n_kernels(self) -> int:
        """The number of kernels."""
        return int(self.kernels.size)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Tabulated:
        """The bank itself: there is nothing to learn."""
        return self

    def evaluate(self, index: int, X: PackedKernels, Y: Any = None) -> FloatArray:
        """One matrix of the table, in double precision."""
        return self.select([index]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: PackedKernels, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l``; kernels of zero weight are never read."""
        weights = self._check_weights(weights)
        total = np.zeros(X.values.shape[1])
        for index in np.flatnonzero(weights):
            row = X.values[self.kernels[index]]
            for start in range(0, row.size, SUM_VALUES):
                part = slice(start, start + SUM_VALUES)
                total[part] += np.multiply(row[part], weights[index], dtype=np.float64)
        K = unpack(total, X.n_samples, diagonal=float(weights.sum()))
        return K if Y is None else K[:, np.asarray(Y, dtype=np.intp)]

    def contract(self, M: ArrayLike, X: PackedKernels, Y: Any = None) -> FloatArray:
        """``<K_l, M>`` for every l: the adjoint of `combine`."""
        matrix = self._check_matrix(M, X, Y)
        if Y is not None:
            whole = np.zeros((X.n_samples, X.n_samples))
            # One by one, because a sample may be listed more than once.
            for place, column in enumerate(np.asarray(Y, dtype=np.intp)):
                whole[:, column] += matrix[:, place]
            matrix = whole
        # K is symmetric with ones on its diagonal: <K, M> = trace M + sum_{j<i} K_ij (M + M')_ij.
        return np.asarray(np.trace(matrix) + self._sum(pack(matrix + matrix.T), X))

    def pairs(
        self, X: PackedKernels, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The listed entries of every matrix."""
        rows, columns = check_pairs(rows, columns, X.n_samples)
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        places = find_places(rows[differ], columns[differ])
        for place, kernel in enumerate(self.kernels):
            out[differ, place] = X.values[kernel, places]
        return out

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading the whole table."""
        return replace(self, kernels=self.kernels[check_indices(indices, self.n_kernels)])

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names that the tabulated bank gave."""
        return [self.names[kernel] for kernel in self.kernels]

    def _take(self, X: Any, indices: ArrayLike) -> IntArray:
        return np.array(indices, dtype=np.intp)

    def _subset(self, X: PackedKernels, indices: ArrayLike) -> PackedKernels:
        chosen = np.asarray(indices, dtype=np.intp)
        rows, columns = np.tril_indices(chosen.size, -1)
        left, right = chosen[rows], chosen[columns]
        values = X.values[:, find_places(left, right)]
        # The same sample listed twice is at distance 0 from itself.
        values[:, left == right] = 1.0
        return PackedKernels(values, int(chosen.size))

    def _sum(self, packed: FloatArray, X: PackedKernels) -> FloatArray:
        products = np.zeros(self.n_kernels)
        for start in range(0, packed.size, SUM_VALUES):
            part = slice(start, start + SUM_VALUES)
            for place, kernel in enumerate(self.kernels):
                products[place] += packed[part] @ X.values[kernel, part].astype(np.float64)
        return products

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        return X.n_samples, int(X.n_samples if Y is None else np.size(Y))


def find_places(rows: IntArray, columns: IntArray) -> IntArray:
    """Where pairs of different samples stand in a packed matrix."""
    larger, smaller = np.maximum(rows, columns), np.minimum(rows, columns)
    places = larger * (larger - 1) // 2 + smaller
    return np.where(rows == columns, 0, places)


def pack(matrix: FloatArray) -> FloatArray:
    """The entries below the diagonal, row by row."""
    return np.concatenate([np.empty(0), *(row[:i] for i, row in enumerate(matrix))])


def unpack(packed: FloatArray, n_samples: int, diagonal: float = 1.0) -> FloatArray:
    """The symmetric matrix of packed entries."""
    matrix = np.empty((n_samples, n_samples))
    for i in range(n_samples):
        row = packed[i * (i - 1) // 2 : i * (i + 1) // 2]
        matrix[i, :i] = row
        matrix[:i, i] = row
        matrix[i, i] = diagonal
    return matrix
