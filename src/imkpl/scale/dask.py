"""A bank of kernels whose long sums are computed on a Dask cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank, GlobalAlignment
from imkpl.kernels.base import (
    BaseWrapper,
    check_indices,
    check_pairs,
    check_rows,
    take_samples,
)
from imkpl.kernels.precomputed import PackedKernels, Tabulated
from imkpl.scale.cluster import DaskCluster, find_client, find_worker, make_tasks
from imkpl.series import SeriesSet


@dataclass(frozen=True, eq=False)
class DaskBank(BaseWrapper):
    """The kernels of another bank, combined and contracted by the workers of a Dask cluster.

    Kernels of vectors are contracted a block of kernels per task, which gets the columns that its
    block reads. They are combined by blocks of kernels too where there are more kernels than
    samples, else by blocks of samples; kernels of time series by blocks of pairs of series. How
    many blocks there are does not depend on the cluster, and neither do results. They equal those
    of the wrapped bank to the last bit, but for the rounding of sums over blocks of kernels. What a
    task needs travels with it, so that it can be run again when a worker is lost. Inside a task of
    a worker the wrapped bank computes.

    Parameters
    ----------
    bank : BaseKernelBank
        The kernels.
    client : distributed.Client, optional
        Who computes; the client in use when None.
    n_blocks : int
        Into so many blocks sums are cut at most.
    least_values : float
        Fewer kernel values than this are computed here, because sending them takes longer. An
        alignment of two series counts as many values as pairs of time steps.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> bank = DaskBank(PerFeatureGaussian()).adapt(X)
    >>> bool(np.isclose(bank.combine([1.0, 0.0], X)[0, 1], np.exp(-2.0)))
    True
    """

    bank: BaseKernelBank
    client: Any = field(default=None, compare=False)
    n_blocks: int = 16
    least_values: float = 2**24

    def __post_init__(self) -> None:
        if not isinstance(self.bank, BaseKernelBank):
            raise ValueError(
                f"DaskBank(bank={self.bank!r}) got a {type(self.bank).__name__}, expected a bank "
                "from imkpl.kernels, such as PerFeatureGaussian(). Use resolve_bank() for a name."
            )
        if not self.n_blocks >= 1:
            raise ValueError(
                f"DaskBank(n_blocks={self.n_blocks}) must be at least 1. Leave it out for 16."
            )

    @property
    def _has_unit_diagonal(self) -> bool:
        """Whether the wrapped kernels have unit diagonals."""
        return self.bank._has_unit_diagonal

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> DaskBank:
        """The wrapper of the adapted bank."""
        return replace(self, bank=self.bank.adapt(X, sample_weight))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        chosen = int(check_indices([index], self.n_kernels)[0])
        return self.select([chosen]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``, a block of kernels, of samples or of pairs per task."""
        factors = self._check_weights(weights)
        used, shape = np.flatnonzero(factors), self._shape(X, Y)
        cluster = self._cluster(used.size * shape[0] * shape[1] * _cost(X))
        if cluster is None or used.size == 0:
            return self.bank.combine(factors, X, Y)
        is_square = Y is None
        reads_everything = is_square and self.bank._columns is None
        if self.reads != "series" and (used.size > max(shape) or reads_everything):
            pieces, shared = self._cut(used, X, Y)
            pieces = [(factors[block], *piece) for block, *piece in pieces]
            tasks = make_tasks(_combine_block, pieces, *shared)
            return np.asarray(cluster.compute([_add_pairwise(tasks)])[0])
        live, (X, Y) = self._narrow(used, X, Y)
        if not is_square:
            blocks = _rows_of(X, shape[0], self.n_blocks)
            return np.concatenate(cluster.map(_combine_rows, blocks, live, factors[used], Y))
        function = _combine_pairs_of_band if self.reads == "series" else _combine_band
        bands = self._bands(shape[0])
        return _join_bands(bands, cluster.map(function, bands, live, factors[used], X))

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l, a block of kernels or of pairs per task."""
        matrix = self._check_matrix(M, X, Y)
        cluster = self._cluster(self.n_kernels * matrix.size * _cost(X))
        if cluster is None:
            return self.bank.contract(matrix, X, Y)
        if self.reads != "series":
            return np.concatenate(self._each_block(cluster, _contract_block, X, Y, matrix))
        if Y is None:
            pieces = [
                (first, last, matrix[first:last, :last], matrix[:last, first:last])
                for first, last in self._bands(len(matrix))
            ]
            found = cluster.map(_contract_band, pieces, self.bank, X)
            found.append(np.diagonal(matrix) @ self.bank._diagonal(X))
        else:
            blocks = _rows_of(X, len(matrix), self.n_blocks)
            cuts = np.array_split(matrix, len(blocks))
            pairs = [(rows, cut) for (rows,), cut in zip(blocks, cuts, strict=True)]
            found = cluster.map(_contract_cross, pairs, self.bank, Y)
        return np.asarray(np.sum(found, axis=0))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs, a block of kernels per task."""
        left, right = check_pairs(rows, columns)
        cluster = self._cluster(self.n_kernels * left.size * _cost(X))
        if cluster is None:
            return self.bank.pairs(X, left, right, dtype)
        return np.hstack(self._each_block(cluster, _pairs_of_block, X, None, left, right, dtype))

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])``, a block of kernels per task."""
        left, right = check_pairs(rows, columns)
        cluster = self._cluster(self.n_kernels * left.size * _cost(X))
        if cluster is None:
            return self.bank.contract_pairs(values, X, left, right)
        sums = self._each_block(cluster, _sum_pairs_of_block, X, None, values, left, right)
        return np.concatenate(sums)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, a block of kernels per task."""
        rows, factors, mixes = check_rows(rows, row_weights, self._shape(X, None)[0], mixes)
        cluster = self._cluster(self.n_kernels * rows.nnz * 16)
        if cluster is None:
            return self.bank.contract_rows(rows, factors, X, mixes)
        sums = self._each_block(cluster, _contract_rows_of_block, X, None, rows, factors, mixes)
        return np.concatenate(sums)

    def _diagonal(self, X: Any) -> FloatArray:
        """``K_l(x, x)`` for every sample and kernel."""
        return self.bank._diagonal(X)

    def _tabulate(self, X: Any) -> tuple[BaseKernelBank, Any]:
        """The table of the wrapped bank; that of series is computed by blocks of pairs."""
        n_samples = self._shape(X, None)[0]
        cluster = self._cluster(self.n_kernels * n_samples**2 / 2 * _cost(X))
        if cluster is None or not (self.reads == "series" and self._has_unit_diagonal):
            table, samples = self.bank._tabulate(X)
            # A table of series is read, not computed.
            return (table if self.reads == "series" else replace(self, bank=table)), samples
        dtype = self.bank.table_dtype if isinstance(self.bank, GlobalAlignment) else "float64"
        found = cluster.map(_tabulate_band, self._bands(n_samples), self.bank, X, dtype)
        packed = PackedKernels(np.concatenate(found, axis=1), n_samples)
        size = packed.values.size
        announce("kernels", f"100 % of {size}", size, size)
        return Tabulated(np.arange(self.n_kernels), tuple(self.kernel_names())), packed

    def select(self, indices: ArrayLike) -> Self:
        """The wrapper of the listed kernels, in that order."""
        return replace(self, bank=self.bank.select(indices))

    def _on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        return replace(self, bank=self.bank._on_columns(columns))

    def _plain(self) -> BaseKernelBank:
        """The wrapped bank."""
        return self.bank._plain()

    def _cluster(self, n_values: float) -> DaskCluster | None:
        """The cluster, unless there are too few values or this is one of its workers."""
        if n_values < self.least_values or find_worker() is not None:
            return None
        return DaskCluster(find_client(self.client))

    def __getstate__(self) -> dict[str, Any]:
        # A client belongs to its process; elsewhere the one in use there takes its place.
        return {**vars(self), "client": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return replace(self, bank=copy.deepcopy(self.bank, memo))

    def _narrow(self, kernels: IntArray, X: Any, Y: Any) -> tuple[BaseKernelBank, tuple[Any, Any]]:
        """The listed kernels, and samples cut down to the columns that they read."""
        bank = self.bank.select(kernels)
        columns = bank._columns
        if columns is None:
            return bank, (X, Y)
        right = None if Y is None else Y[:, columns]
        return bank._on_columns(columns), (X[:, columns], right)

    def _cut(self, kernels: IntArray, X: Any, Y: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """Blocks of kernels with a bank and samples for each, and samples that all of them read."""
        blocks = np.array_split(kernels, min(self.n_blocks, kernels.size))
        if self.bank._columns is None:
            return [(block, self.bank.select(block)) for block in blocks], (X, Y)
        cuts = [(block, *self._narrow(block, X, Y)) for block in blocks]
        return [(block, bank, *samples) for block, bank, samples in cuts], ()

    def _each_block(
        self, cluster: DaskCluster, function: Callable[..., Any], X: Any, Y: Any, *common: Any
    ) -> list[Any]:
        """A function of every block of kernels."""
        pieces, shared = self._cut(np.arange(self.n_kernels), X, Y)
        return cluster.map(function, [tuple(piece) for _, *piece in pieces], *shared, *common)

    def _bands(self, n_samples: int) -> list[tuple[int, int]]:
        """Rows of the part below the diagonal, about as many pairs in each band."""
        ends = n_samples * np.sqrt(np.arange(1, self.n_blocks + 1) / self.n_blocks)
        bounds = np.unique(np.concatenate(([0], ends.round().astype(np.intp)))).tolist()
        return list(pairwise(bounds))


def _cost(X: Any) -> float:
    """How many kernel values of numbers one kernel value takes as long as; alignments take long."""
    return float(np.mean(X.lengths)) ** 2 if isinstance(X, SeriesSet) else 1.0


def _add_pairwise(tasks: list[Any]) -> Any:
    """The sum of the results of tasks, itself a task; always in the same order."""
    while len(tasks) > 1:
        tasks = make_tasks(_add, list(zip(tasks[::2], tasks[1::2], strict=False))) + (
            tasks[-1:] if len(tasks) % 2 else []
        )
    return tasks[0]


def _add(left: FloatArray, right: FloatArray) -> FloatArray:
    return left + right


def _combine_block(weights: FloatArray, bank: BaseKernelBank, X: Any, Y: Any) -> FloatArray:
    return bank.combine(weights, X, Y)


def _contract_block(bank: BaseKernelBank, X: Any, Y: Any, matrix: FloatArray) -> FloatArray:
    return bank.contract(matrix, X, Y)


def _pairs_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, rows: IntArray, columns: IntArray, dtype: DTypeLike
) -> FloatArray:
    return bank.pairs(X, rows, columns, dtype)


def _sum_pairs_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, values: FloatArray, rows: IntArray, columns: IntArray
) -> FloatArray:
    return bank.contract_pairs(values, X, rows, columns)


def _contract_rows_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, rows: Any, factors: FloatArray, mixes: Any
) -> FloatArray:
    return bank.contract_rows(rows, factors, X, mixes)


def _rows_of(X: Any, n_samples: int, n_blocks: int) -> list[tuple[Any]]:
    """Samples cut into blocks."""
    blocks = np.array_split(np.arange(n_samples), min(n_blocks, n_samples))
    return [(take_samples(X, block),) for block in blocks]


def _combine_rows(X: Any, bank: BaseKernelBank, weights: FloatArray, Y: Any) -> FloatArray:
    return bank.combine(weights, X, Y)


def _contract_cross(X: Any, matrix: FloatArray, bank: BaseKernelBank, Y: Any) -> FloatArray:
    return bank.contract(matrix, X, Y)


def _list_band(first: int, last: int) -> tuple[IntArray, IntArray]:
    """The pairs of some rows with all samples before them, row after row."""
    counts = np.arange(first, last)
    rows = np.repeat(counts, counts)
    return rows, np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)


def _combine_band(
    first: int, last: int, bank: BaseKernelBank, weights: FloatArray, X: Any
) -> FloatArray:
    """Some rows of a combined kernel, up to the diagonal."""
    block = bank.combine(weights, X[first:last], X[:last])
    if block.dtype == np.float64:
        return block
    # In single precision values depend on the centre of all others.
    return bank.combine(weights, X[first:last], X)[:, :last]


def _combine_pairs_of_band(
    first: int, last: int, bank: BaseKernelBank, weights: FloatArray, X: Any
) -> FloatArray:
    """The same for series: alignments of pairs below the diagonal, and norms on it."""
    rows, columns = _list_band(first, last)
    block = np.zeros((last - first, last))
    block[rows - first, columns] = bank.pairs(X, rows, columns) @ weights
    own = np.arange(first, last)
    block[own - first, own] = bank._diagonal(X)[own] @ weights
    return block


def _join_bands(bands: list[tuple[int, int]], found: list[FloatArray]) -> FloatArray:
    """A symmetric matrix from bands of its rows up to the diagonal."""
    total = np.empty((bands[-1][1], bands[-1][1]), dtype=found[0].dtype)
    for (first, last), block in zip(bands, found, strict=True):
        total[first:last, :first], total[:first, first:last] = block[:, :first], block[:, :first].T
        corner = np.tril(block[:, first:])
        total[first:last, first:last] = corner + np.tril(corner, -1).T
    return total


def _contract_band(
    first: int, last: int, below: FloatArray, beside: FloatArray, bank: BaseKernelBank, X: Any
) -> FloatArray:
    rows, columns = _list_band(first, last)
    values = below[rows - first, columns] + beside[columns, rows - first]
    return bank.contract_pairs(values, X, rows, columns)


def _tabulate_band(
    first: int, last: int, bank: BaseKernelBank, X: Any, dtype: DTypeLike
) -> FloatArray:
    return np.ascontiguousarray(bank.pairs(X, *_list_band(first, last), dtype).T)
