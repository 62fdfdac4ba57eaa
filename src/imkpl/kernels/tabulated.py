"""Expensive kernels, evaluated once for a whole fit and read from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import Kernels, check_indices, check_pairs
from imkpl.kernels.forms import Form

# Values in double precision at a time where a table in single precision is summed.
SUM_VALUES = 2**18


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabulated(Kernels):
    """Kernels of unit diagonal between the same samples: the part below the diagonal, row by row.

    K_l(i, j) for j < i is ``values[kernels[l], i * (i - 1) / 2 + j]``.
    """

    # (n_kernels of the table, n_samples * (n_samples - 1) / 2)
    values: FloatArray  # type: ignore[assignment]
    n_samples: int
    kernels: IntArray  # which kernels of the table are used
    names: tuple[str, ...]  # of all kernels of the table
    most_kernels: int | None = None
    rows: IntArray | None = None  # the samples in the rows; all when None
    columns: IntArray | None = None  # the samples in the columns; None for square kernels

    input_kind: ClassVar[str] = "anything"
    has_unit_diagonal = True

    @property
    def n_kernels(self) -> int:
        return int(self.kernels.size)

    @property
    def shape(self) -> tuple[int, int]:
        n_rows = self.n_samples if self.rows is None else self.rows.size
        return n_rows, n_rows if self.columns is None else self.columns.size

    @property
    def is_square(self) -> bool:
        return self.columns is None

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        return [self.names[kernel] for kernel in self.kernels]

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights = self.check_weights(weights)
        total = np.zeros(self.values.shape[1])
        for index in np.flatnonzero(weights):
            row = self.values[self.kernels[index]]
            for start in range(0, row.size, SUM_VALUES):
                part = slice(start, start + SUM_VALUES)
                total[part] += np.multiply(row[part], weights[index], dtype=np.float64)
        K = unpack(total, self.n_samples, diagonal=float(weights.sum()))
        return K if self.is_square else K[self._corner]

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix = self.check_matrix(M)
        if not self.is_square:
            # A sample may be listed more than once.
            n_samples, (rows, columns) = self.n_samples, self._corner
            places = (rows * n_samples + columns).ravel()
            whole = np.bincount(places, matrix.ravel(), minlength=n_samples**2)
            matrix = whole.astype(np.float64).reshape(n_samples, n_samples)
        # K is symmetric with ones on its diagonal: <K, M> = trace M + sum_{j<i} K_ij (M + M')_ij.
        packed, products = pack(matrix + matrix.T), np.zeros(self.n_kernels)
        for start in range(0, packed.size, SUM_VALUES):
            part = slice(start, start + SUM_VALUES)
            for place, kernel in enumerate(self.kernels):
                products[place] += packed[part] @ self.values[kernel, part].astype(np.float64)
        return np.asarray(np.trace(matrix) + products)

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.n_samples)
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        places = find_places(rows[differ], columns[differ])
        for place, kernel in enumerate(self.kernels):
            out[differ, place] = self.values[kernel, places]
        return out

    def select(self, indices: ArrayLike) -> Self:
        return replace(self, kernels=self.kernels[check_indices(indices, self.n_kernels)])

    def take(self, rows: ArrayLike) -> Self:
        chosen = np.asarray(rows, dtype=np.intp)
        left, right = (chosen[places] for places in np.tril_indices(chosen.size, -1))
        values = self.values[:, find_places(left, right)]
        # The same sample listed twice is at distance 0 from itself.
        values[:, left == right] = 1.0
        return replace(self, values=values, n_samples=int(chosen.size))

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        left = None if rows is None else np.asarray(rows, dtype=np.intp)
        return replace(self, rows=left, columns=np.asarray(columns, dtype=np.intp))

    def cross(self, samples: Any) -> NoReturn:
        raise ValueError(
            "Kernels that were tabulated hold no samples, so that others cannot be compared with "
            "them. Use cross() of the kernels before tabulated()."
        )

    @classmethod
    def read(cls, X: Any, form: Form) -> NoReturn:
        raise ValueError(
            "Kernels that were tabulated hold no samples, and read none. Use read() of the kernels "
            "before tabulated()."
        )

    @property
    def _corner(self) -> Any:
        """Rows and columns of the whole matrix."""
        everyone = np.arange(self.n_samples)
        places = (everyone if some is None else some for some in (self.rows, self.columns))
        return np.ix_(*places)


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
