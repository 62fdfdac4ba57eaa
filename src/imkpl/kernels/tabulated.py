"""Kernels that are computed once and read often: half of every matrix in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import BaseKernelBank
from imkpl.kernels.checks import check_indices, check_pairs, check_sample_indices

# Values in double precision at a time where a table in single precision is summed.
SUM_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class PackedKernels:
    """Kernels of unit diagonal between the same samples: the part below the diagonal, row by row.

    Parameters
    ----------
    values : array of shape (n_kernels, n_samples * (n_samples - 1) / 2)
        K_l(i, j) for j < i is ``values[l, i * (i - 1) / 2 + j]``.
    n_samples : int
        The number of samples.
    """

    values: FloatArray
    n_samples: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n_samples, n_samples, n_kernels), as if it were a stack of matrices."""
        return self.n_samples, self.n_samples, int(self.values.shape[0])

    def __len__(self) -> int:
        return self.n_samples


@dataclass(frozen=True, eq=False)
class Tabulated(BaseKernelBank):
    """A bank over `PackedKernels`, made by `BaseKernelBank.tabulate` for the length of a fit.

    As `X` it takes the packed kernels; as `Y` sample numbers, or None for all samples.

    Parameters
    ----------
    kernels : int array of shape (n_kernels,)
        Which kernels of the table are used.
    names : tuple of str
        Names of all kernels of the table.
    """

    kernels: IntArray
    names: tuple[str, ...]

    @property
    def n_kernels(self) -> int:
        """The number of kernels."""
        return int(self.kernels.size)

    @property
    def requires_vector_input(self) -> bool:
        """Never: the input is a table of kernels."""
        return False

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: the table has no diagonals, because they are 1."""
        return True

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
        rows, columns = check_pairs(rows, columns)
        check_sample_indices(rows, columns, X.n_samples)
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        places = find_places(rows[differ], columns[differ])
        for place, kernel in enumerate(self.kernels):
            out[differ, place] = X.values[kernel, places]
        return out

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading the whole table."""
        return replace(self, kernels=self.kernels[check_indices(indices, self.n_kernels)])

    def take(self, X: Any, indices: ArrayLike) -> IntArray:
        """The listed samples as numbers, the form that `Y` accepts."""
        return np.array(indices, dtype=np.intp)

    def subset(self, X: PackedKernels, indices: ArrayLike) -> PackedKernels:
        """The table cut down to the listed samples."""
        chosen = np.asarray(indices, dtype=np.intp)
        rows, columns = np.tril_indices(chosen.size, -1)
        left, right = chosen[rows], chosen[columns]
        values = X.values[:, find_places(left, right)]
        # The same sample listed twice is at distance 0 from itself.
        values[:, left == right] = 1.0
        return PackedKernels(values, int(chosen.size))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names that the tabulated bank gave."""
        return [self.names[kernel] for kernel in self.kernels]

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
    """Where pairs of different samples stand in a packed matrix.

    Examples
    --------
    >>> find_places(np.array([1, 2, 0]), np.array([0, 0, 3]))
    array([0, 1, 3])
    """
    larger, smaller = np.maximum(rows, columns), np.minimum(rows, columns)
    places = larger * (larger - 1) // 2 + smaller
    return np.where(rows == columns, 0, places)


def pack(matrix: FloatArray) -> FloatArray:
    """The entries below the diagonal, row by row."""
    return np.concatenate([np.empty(0), *(row[:i] for i, row in enumerate(matrix))])


def unpack(packed: FloatArray, n_samples: int, diagonal: float = 1.0) -> FloatArray:
    """The symmetric matrix of packed entries.

    Examples
    --------
    >>> unpack(np.array([0.5]), 2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    matrix = np.empty((n_samples, n_samples))
    for i in range(n_samples):
        row = packed[i * (i - 1) // 2 : i * (i + 1) // 2]
        matrix[i, :i] = row
        matrix[:i, i] = row
        matrix[i, i] = diagonal
    return matrix
