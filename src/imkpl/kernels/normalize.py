"""Kernels made of others: rescaled, averaged in groups, or in a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import find_places, require
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    Kernels,
    WrappedKernels,
    check_pairs,
    check_sample_weight,
    inside,
    passed_to,
)
from imkpl.kernels.forms import Form

# A sample whose squared norm is below it has none.
SMALLEST_SQUARE = 1e-290
# A kernel whose variance is below this part of its mean diagonal counts as constant.
SMALLEST_VARIANCE = 1e-3


@dataclass(frozen=True)
class BaseWrapper(BaseKernelBank):
    """A bank around another one, which reads the same samples."""

    bank: BaseKernelBank

    @property
    def kind(self) -> type[Kernels]:
        return self.bank.kind

    @abstractmethod
    def around(self, kernels: Kernels) -> Kernels:
        """The kernels inside, changed."""

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> Kernels:
        return self.around(self.bank.on(X, sample_weight))

    def on_rows(self, X: Any, rows: IntArray, sample_weight: ArrayLike | None = None) -> Kernels:
        return self.around(self.bank.on_rows(X, rows, sample_weight))

    def by_channel(self, n_channels: int) -> BaseKernelBank | None:
        each = self.bank.by_channel(n_channels)
        return None if each is None else replace(self, bank=each)

    def weighed(self, weights: FloatArray) -> Self:
        return replace(self, bank=self.bank.weighed(weights))


def normalized(kernels: Kernels) -> Kernels:
    """Kernels divided by the norms of their samples, or as they are if these are 1 on average."""
    has_norms = kernels.has_unit_diagonal or kernels.has_unit_norms
    return kernels if has_norms else NormalizedKernels(kernels)


@dataclass(frozen=True, eq=False)
class NormalizedKernels(WrappedKernels):
    """Kernels divided by the norms of their samples, ``K(x, y) / sqrt(K(x, x) K(y, y))``.

    Samples of zero norm are one point of feature space: they get similarity 1 to each other, 0 to
    every other sample. Inverse norms have the shape (n_samples, n_kernels), and are 0 for them.
    """

    others_inverse: FloatArray | None = None  # of the samples in the columns, if not square

    has_unit_diagonal = True

    @cached_property
    def inverse(self) -> FloatArray:
        """Inverse norms of the samples in the rows."""
        diagonal = self.kernels.diagonal()
        if np.any(diagonal < 0):
            raise ValueError(
                f"A kernel has K(x, x) = {diagonal.min():.3g} for some sample, expected 0 or more: "
                "it is not an inner product. Use a positive semi-definite kernel."
            )
        # Smaller squares have lost digits, and the product of two such inverses would be infinite.
        is_zero = diagonal < SMALLEST_SQUARE
        return np.where(is_zero, 0.0, 1.0 / np.sqrt(np.where(is_zero, 1.0, diagonal)))

    def evaluate(self, index: int) -> FloatArray:
        left = self.inverse[:, index]
        right = left if self.others_inverse is None else self.others_inverse[:, index]
        values = self.kernels.evaluate(index) * np.outer(left, right)
        values += np.outer(left == 0, right == 0)
        if self.is_square:
            np.fill_diagonal(values, 1.0)
        return values

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.shape[0])
        left, right = self.inverse[rows], self.inverse[columns]
        values = self.kernels.pairs(rows, columns) * (left * right)
        values += (left == 0) & (right == 0)
        values[rows == columns] = 1.0
        return values.astype(dtype, copy=False)

    def select(self, indices: ArrayLike) -> Self:
        selected, others = super().select(indices), self.others_inverse
        if others is None:
            return selected
        return replace(selected, others_inverse=others[:, np.atleast_1d(indices)])

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        others = self.inverse[np.asarray(columns, dtype=np.intp)]
        return replace(self, kernels=self.kernels.between(rows, columns), others_inverse=others)

    def cross(self, samples: Any) -> Self:
        return replace(self, kernels=self.kernels.cross(samples), others_inverse=self.inverse)

    def check(self, form: Form) -> None:
        super().check(form)
        require(self.others_inverse is None, "there are norms of other samples")


@dataclass(frozen=True, eq=False)
class GappedKernels(WrappedKernels):
    """Kernels between new samples and others; a sample without a cell is as similar as expected."""

    expected: FloatArray  # (n_others, n_kernels)

    cells = inside("cells")

    @cached_property
    def gaps(self) -> BoolArray:
        found = self.kernels.gaps
        return np.zeros((self.shape[0], self.n_kernels), bool) if found is None else found

    def evaluate(self, index: int) -> FloatArray:
        values = self.kernels.select([index]).combine_few(np.ones(1))
        return np.where(self.gaps[:, [index]], self.expected[:, index], values)

    def combine(self, weights: ArrayLike) -> FloatArray:
        return self.combine_few(self.check_weights(weights))

    def combine_few(self, weights: FloatArray) -> FloatArray:
        total, rows = self.kernels.combine_few(weights), self.gaps.any(axis=1)
        if rows.any():
            parts = (weights[i] * self.evaluate(i)[rows] for i in range(self.n_kernels))
            total[rows] = sum(parts)
        return total

    def select(self, indices: ArrayLike) -> Self:
        chosen = np.atleast_1d(find_places(indices, self.n_kernels))
        return replace(self, kernels=self.kernels.select(chosen), expected=self.expected[:, chosen])


class LinearKernels(WrappedKernels):
    """Linear combinations of other kernels."""

    @abstractmethod
    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights of these kernels as weights of those inside."""

    @abstractmethod
    def gather(self, products: FloatArray) -> FloatArray:
        """Products with the kernels inside as products with these: the adjoint of `spread`."""

    contract = passed_to("gather", "contract")
    contract_rows = passed_to("gather", "contract_rows")
    contract_pairs = passed_to("gather", "contract_pairs")
    mean_diagonal = passed_to("gather", "mean_diagonal")

    def combine(self, weights: ArrayLike) -> FloatArray:
        return self.kernels.combine(self.spread(self.check_weights(weights)))

    def combine_few(self, weights: FloatArray) -> FloatArray:
        return self.kernels.combine_few(self.spread(weights))

    def diagonal(self) -> FloatArray:
        if self.has_unit_diagonal:
            return super().diagonal()
        return self.gather(self.kernels.diagonal().T).T


@dataclass(frozen=True, eq=False)
class ScaledKernels(LinearKernels):
    """Kernels, each multiplied by a factor."""

    factors: FloatArray

    per_kernel = ("factors",)

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        values = self.kernels.pairs(rows, columns, dtype)
        values *= self.factors.astype(values.dtype)
        return values

    def spread(self, weights: FloatArray) -> FloatArray:
        return weights * self.factors

    def gather(self, products: FloatArray) -> FloatArray:
        return np.asarray((self.factors * products.T).T)


def divide_by_variance(
    kernels: Kernels, sample_weight: ArrayLike | None = None, max_samples: int = 1000
) -> ScaledKernels:
    """Square kernels divided by their variances on some samples; nearly constant ones times 0."""
    shares = check_sample_weight(sample_weight, kernels.shape[0])
    # Samples of weight zero must not use up places among the max_samples.
    chosen, some = np.flatnonzero(shares), kernels
    if chosen.size > max_samples:
        chosen = chosen[np.linspace(0, chosen.size - 1, max_samples).round().astype(np.intp)]
    if chosen.size < shares.size:
        some, shares = kernels.take(chosen), shares[chosen] / shares[chosen].sum()
    norms = some.mean_diagonal(shares)
    variances = norms - some.contract_rows(shares[np.newaxis], [1.0])
    is_constant = variances <= SMALLEST_VARIANCE * norms
    return ScaledKernels(
        kernels, np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, variances))
    )


@dataclass(frozen=True, eq=False)
class Averaged(BaseWrapper):
    """A kernel per group of columns, the mean of all kernels that read a column of the group.

    A weight is then the weight of a group, such as a joint with its three coordinates. Every column
    is still compared on its own, with its own bandwidth.

    Parameters
    ----------
    bank : BaseKernelBank
        A bank whose kernels read one column each, such as `PerFeatureGaussian` or
        `GlobalAlignment`. All kernels of a column belong to its group; of several widths the first.
    groups : mapping from names to sequences of int
        The columns (of series: the channels) of every group. A column may be in several groups or
        in none.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 5.0]])
    >>> Averaged(PerFeatureGaussian(), {"first two": [0, 1], "last": [2]}).on(X).kernel_names()
    ['first two', 'last']
    """

    groups: Mapping[str, Sequence[int]]

    def __post_init__(self) -> None:
        if not self.groups:
            raise ValueError(
                f"Averaged(groups={self.groups!r}) has no groups, expected at least one. Leave "
                "Averaged out for one kernel per column."
            )
        # Lists, so that a bank can be saved whatever it was made with.
        lists = {str(name): list(columns) for name, columns in self.groups.items()}
        object.__setattr__(self, "groups", lists)

    def around(self, kernels: Kernels) -> AveragedKernels:
        chosen = [self._find_kernels(kernels, name) for name in self.groups]
        used = np.unique(np.concatenate(chosen))
        shares = sp.lil_array((len(chosen), used.size))
        for group, members in enumerate(chosen):
            shares[group, np.searchsorted(used, members)] = 1.0 / members.size
        return AveragedKernels(kernels.select(used), tuple(self.groups), shares.tocsr())

    def _find_kernels(self, kernels: Kernels, name: str) -> IntArray:
        """The kernels that read a column of the group."""
        read, columns = kernels.kernel_columns, self.groups[name]
        if read is None:
            raise ValueError(
                f"Averaged() got a {type(self.bank).__name__} whose kernels read several columns, "
                "expected one column each. Leave its own groups out, or pass a GlobalAlignment or "
                "PerFeatureGaussian."
            )
        wanted = np.asarray(columns)
        is_list = wanted.ndim == 1 and wanted.size > 0 and wanted.dtype.kind in "iu"
        if not is_list or not np.isin(wanted, read).all():
            raise ValueError(
                f"Group {name!r} lists the columns {columns}, expected numbers of columns from 0 "
                f"to {read.max(initial=0)}, and at least one. Correct `groups`."
            )
        return np.flatnonzero(np.isin(read, wanted))


@dataclass(frozen=True, eq=False)
class AveragedKernels(LinearKernels):
    """Means of groups of kernels."""

    names: tuple[str, ...] | None  # of the groups; None for those of what they read
    shares: Any  # the part that every kernel has in every mean, a CSR array (n_groups, n_kernels)

    has_unit_diagonal = inside("has_unit_diagonal")
    has_unit_norms = inside("has_unit_norms")
    samples = inside("samples")
    widths = Kernels.widths
    has_bandwidths = Kernels.has_bandwidths

    @property
    def n_kernels(self) -> int:
        return int(self.shares.shape[0])

    @property
    def _first(self) -> IntArray:
        """The first kernel of every group."""
        return np.asarray(self.shares.indices[self.shares.indptr[:-1]])

    @property
    def kernel_columns(self) -> IntArray | None:
        """The column of each group; None when one has several."""
        read = self.kernels.kernel_columns
        if read is None:
            return None
        starts, ends = (
            function.reduceat(read[self.shares.indices], self.shares.indptr[:-1])
            for function in (np.minimum, np.maximum)
        )
        return starts if np.array_equal(starts, ends) else None

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        if self.names is not None:
            return list(self.names)
        names = self.kernels.kernel_names(feature_names)
        return [names[kernel] for kernel in self._first]

    def cells(self, row: int) -> list[Any] | None:
        cells = None if self.names else self.kernels.cells(row)
        return None if cells is None else [cells[kernel] for kernel in self._first]

    def vocabularies(self) -> Sequence[Any] | None:
        words = None if self.names else self.kernels.vocabularies()
        return None if words is None else [words[kernel] for kernel in self._first]

    def rule(self, index: int) -> dict[str, Any] | None:
        return None if self.names else self.kernels.rule(int(self._first[index]))

    def flattened(self, weights: FloatArray) -> tuple[Kernels, FloatArray, IntArray]:
        owners = np.empty(self.kernels.n_kernels, dtype=np.intp)
        owners[self.shares.indices] = np.repeat(
            np.arange(self.n_kernels), np.diff(self.shares.indptr)
        )
        return self.kernels, self.spread(weights), owners

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        return np.asarray(self.kernels.pairs(rows, columns) @ self.shares.T, dtype=dtype)

    def select(self, indices: ArrayLike) -> Self:
        chosen = np.atleast_1d(find_places(indices, self.n_kernels))
        shares = self.shares[chosen]
        used = np.unique(shares.indices)
        return replace(
            self,
            kernels=self.kernels.select(used),
            names=self.names and tuple(self.names[group] for group in chosen),
            shares=shares[:, used],
        )

    def aligned(self, weights: FloatArray) -> tuple[Any, FloatArray] | None:
        """The kernels inside, if they align series; a mean is its parts there."""
        return self.kernels.aligned(self.spread(weights))

    def spread(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ self.shares)

    def gather(self, products: FloatArray) -> FloatArray:
        return np.asarray(self.shares @ products)

    def check(self, form: Form) -> None:
        super().check(form)
        shape, expected = self.shares.shape, (self.n_kernels, self.kernels.n_kernels)
        require(shape == expected, f"the shares have the shape {shape}, expected {expected}")
        require(np.all(np.diff(self.shares.indptr) > 0), "a group has no kernels")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabulated(Kernels):
    """Kernels of unit diagonal between the same samples: the part below the diagonal, row by row.

    K_l(i, j) for j < i is ``table[kernels[l], i * (i - 1) / 2 + j]``.
    """

    table: FloatArray  # (n_kernels of the table, n_samples * (n_samples - 1) / 2)
    n_samples: int
    kernels: IntArray  # which kernels of the table are used
    names: tuple[str, ...]  # of all kernels of the table
    most_kernels: int | None = None
    rows: IntArray | None = None  # the samples in the rows; all when None
    columns: IntArray | None = None  # the samples in the columns; None for square kernels

    input_kind: ClassVar[str] = "anything"
    per_kernel = ("kernels",)
    has_unit_diagonal = True

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
        total = np.zeros(self.table.shape[1])
        for index in np.flatnonzero(weights):
            total += weights[index] * self.table[self.kernels[index]]
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
        packed = pack(matrix + matrix.T)
        products = [packed @ self.table[kernel] for kernel in self.kernels]
        return np.asarray(np.trace(matrix) + np.array(products, dtype=np.float64))

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.n_samples)
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        places = packed_places(rows[differ], columns[differ])
        for place, kernel in enumerate(self.kernels):
            out[differ, place] = self.table[kernel, places]
        return out

    def take(self, rows: ArrayLike) -> Self:
        chosen = np.asarray(rows, dtype=np.intp)
        left, right = (chosen[places] for places in np.tril_indices(chosen.size, -1))
        values = self.table[:, packed_places(left, right)]
        # The same sample listed twice is at distance 0 from itself.
        values[:, left == right] = 1.0
        return replace(self, table=values, n_samples=int(chosen.size))

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        left = None if rows is None else np.asarray(rows, dtype=np.intp)
        return replace(self, rows=left, columns=np.asarray(columns, dtype=np.intp))

    def cross(self, samples: Any) -> NoReturn:
        raise ValueError("A table holds no samples. Use cross() of the kernels before tabulated().")

    @classmethod
    def read(cls, X: Any, form: Form) -> NoReturn:
        raise ValueError("A table holds no samples. Use read() of the kernels before tabulated().")

    @property
    def _corner(self) -> Any:
        """Rows and columns of the whole matrix."""
        everyone = np.arange(self.n_samples)
        return np.ix_(*(everyone if some is None else some for some in (self.rows, self.columns)))


def packed_places(rows: IntArray, columns: IntArray) -> IntArray:
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
        # Twice as fast as a mask of the entries below the diagonal.
        row = packed[i * (i - 1) // 2 : i * (i + 1) // 2]
        matrix[i, :i] = row
        matrix[:i, i] = row
        matrix[i, i] = diagonal
    return matrix
