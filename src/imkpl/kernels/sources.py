"""Data that is larger than memory: read from where it is, a block at a time.

A `ColumnSource` stands in for a 2-D array: ``source[rows]`` is a view that reads nothing,
``source[rows, columns]`` reads that part. `BlockSamples` are many samples in blocks of rows, on
other machines or in a file: functions go to them, results come back.
"""

from __future__ import annotations

import copy
import hashlib
import mmap
import pathlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from imkpl._checks import import_extra
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.forms import (
    Groups,
    check_magnitude,
    find_distances,
    largest_copy,
    mark_columns,
    order_keys,
    rank_keys,
    rank_rows,
)

if TYPE_CHECKING:
    from imkpl.kernels.base import Kernels

# Places of some samples among those asked for, and the result of a function of them.
Found: TypeAlias = tuple[IntArray, Any]

# Up to this number of distinct samples, a fit learns from all of them unless it is told not to.
MAX_EXACT = 10_000
# Columns of a file that lie no further apart than this are read in one piece.
LARGEST_GAP = 32
# Values of a block of whole rows.
BLOCK_VALUES = 2**22


class ColumnSource(ABC):
    """Samples whose features are read a block of columns at a time; a view shows some `rows`."""

    ndim = 2
    dtype = np.dtype(np.float64)
    is_read_in_parts = True

    def __init__(
        self, n_samples: int, n_features: int, feature_names: list[str] | None = None
    ) -> None:
        self._size = (n_samples, n_features)
        self.feature_names = feature_names
        self._rows: IntArray | None = None

    @abstractmethod
    def _read(self, columns: IntArray) -> Any:
        """All samples of the listed columns, as an array of numbers."""

    @property
    def rows(self) -> IntArray:
        """The samples in view, as rows of the whole."""
        return np.arange(self._size[0]) if self._rows is None else self._rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples in view, and of features."""
        return (self._size[0] if self._rows is None else self._rows.size), self._size[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            view = copy.copy(self)
            view._rows = np.atleast_1d(self.rows[key])
            return view
        rows, columns = key
        chosen = np.atleast_1d(np.arange(self._size[1])[columns])
        values = np.asarray(self._read(chosen), dtype=np.float64)
        is_everyone = self._rows is None and isinstance(rows, slice) and rows == slice(None)
        values = values if is_everyone else values[np.atleast_1d(self.rows[rows])]
        return self._check_finite(values, chosen)

    def _check_finite(self, values: Any, columns: IntArray) -> Any:
        """The values of these columns, or an error that names a column with other values."""
        # A sum is finite if its terms are, unless they are huge.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            first = int(columns[np.flatnonzero(~np.isfinite(values).all(axis=0))[0]])
            name = repr(self.feature_names[first]) if self.feature_names else str(first)
            raise ValueError(
                f"Column {name} contains NaN or infinity, expected finite numbers. "
                "Impute missing values, or leave the column out."
            )
        return values


class ArrayColumns(ColumnSource):
    """Columns of anything with a shape that can be sliced: a memmap, an HDF5 or Zarr data set.

    Parameters
    ----------
    array : array of shape (n_samples, n_features)
        The data.

    Examples
    --------
    >>> ArrayColumns(np.arange(6.0).reshape(2, 3))[:, [2, 0]]
    array([[2., 0.],
           [5., 3.]])
    """

    def __init__(self, array: Any) -> None:
        shape = tuple(getattr(array, "shape", ()))
        kind = np.dtype(getattr(array, "dtype", object)).kind
        if len(shape) != 2 or kind not in "biuf":
            raise ValueError(
                f"The data has shape {shape} and type {getattr(array, 'dtype', None)}, expected "
                "a 2-D array of numbers (n_samples, n_features). Pass the data set itself, not "
                "the file or group that holds it."
            )
        super().__init__(shape[0], shape[1])
        self.array = array

    def _read(self, columns: IntArray) -> Any:
        if isinstance(self.array, np.ndarray):
            values = np.array(self.array[:, as_slice(columns)])
            _forget_mapped(self.array)
            return values
        # Files are read in pieces: picking single columns out of chunks is slow or not possible.
        wanted, places = np.unique(columns, return_inverse=True)
        breaks = np.flatnonzero(np.diff(wanted) > LARGEST_GAP) + 1
        pieces = [
            np.asarray(self.array[:, int(run[0]) : int(run[-1]) + 1])[:, run - run[0]]
            for run in np.split(wanted, breaks)
        ]
        return np.concatenate(pieces, axis=1)[:, places]

    def row_blocks(self, wanted: IntArray) -> Iterator[tuple[int, Any]]:
        """The first row and the values of every block that has some of the sorted rows."""
        step = max(1, BLOCK_VALUES // max(1, self._size[1]))
        for start in (np.unique(wanted // step) * step).tolist():
            block = np.ascontiguousarray(self.array[start : start + step], dtype=np.float64)
            yield start, self._check_finite(block, np.arange(self._size[1]))
            _forget_mapped(self.array)


def as_slice(columns: IntArray) -> IntArray | slice:
    """Columns that follow each other as a slice: reading it is ten times as fast."""
    if columns.size and np.array_equal(columns, np.arange(columns[0], columns[0] + columns.size)):
        return slice(int(columns[0]), int(columns[0]) + columns.size)
    return columns


def _forget_mapped(array: Any) -> None:
    """Let go of the pages of a read-only memory map, which count as memory of this process."""
    is_read_only = isinstance(array, np.memmap) and array.mode == "r"
    if is_read_only and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)


class SparseColumns(ColumnSource):
    """Columns of a sparse matrix; what is not stored is zero."""

    def __init__(self, matrix: Any) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1])
        self.matrix = sp.csc_array(matrix)

    def _read(self, columns: IntArray) -> Any:
        return self.matrix[:, columns].toarray()


class ParquetColumns(ColumnSource):
    """Numeric columns of a Parquet file (needs pyarrow).

    Parameters
    ----------
    path : str or path
        The file.
    columns : sequence of str, optional
        Which columns are features; all by default.

    Notes
    -----
    A file of more rows than columns, and of more than 10 000 rows, is read a block of rows at a
    time, otherwise a block of columns at a time.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]}).to_parquet(file.name)
    ...     ParquetColumns(file.name, columns=["a"]).shape
    (2, 1)
    """

    def __init__(self, path: Any, columns: Any = None) -> None:
        parquet = import_extra("pyarrow.parquet", "parquet", "Parquet files are read by")
        self.path = pathlib.Path(path)
        self._file = parquet.ParquetFile(self.path)
        stored = self._file.schema_arrow.names
        names = list(stored if columns is None else columns)
        missing = sorted(set(names) - set(stored))
        if missing:
            raise ValueError(
                f"{self.path.name} has no column {missing[0]!r}, expected the names of columns of "
                f"that file. Its first are {stored[:5]}."
            )
        super().__init__(self._file.metadata.num_rows, len(names), names)

    def _read(self, columns: IntArray) -> Any:
        names = [self.feature_names[i] for i in columns] if self.feature_names else []
        return _stack_columns(self._file.read(columns=sorted(set(names))), names)

    def row_blocks(self, wanted: IntArray) -> Iterator[tuple[int, Any]]:
        """The first row and the values of every block that has some of the sorted rows."""
        names, start = self.feature_names or [], 0
        step = max(1, BLOCK_VALUES // max(1, len(names)))
        for batch in self._file.iter_batches(step, columns=names):
            if start > wanted.max(initial=-1):
                return
            stop = start + len(batch)
            if np.searchsorted(wanted, start) < np.searchsorted(wanted, stop):
                yield start, self._check_finite(_stack_columns(batch, names), np.arange(len(names)))
            start = stop

    def split(self, target: str) -> tuple[ParquetColumns, Any]:
        """All columns but `target` as features, and that one as an array of labels."""
        others = [name for name in self.feature_names or [] if name != target]
        # Raises if there is no such column.
        labels = ParquetColumns(self.path, [target])._file.read(columns=[target]).column(target)
        return ParquetColumns(self.path, others), labels.to_numpy()


def _stack_columns(part: Any, names: Sequence[str]) -> FloatArray:
    """Columns of a part of a Parquet file as rows of numbers; missing cells become NaN."""
    return np.column_stack([np.asarray(part.column(name), dtype=np.float64) for name in names])


def as_source(X: Any) -> ColumnSource | None:
    """A source for data that should not be copied to memory, None for data that can be."""
    if isinstance(X, ColumnSource):
        return X
    if isinstance(X, str | pathlib.Path) and str(X).endswith(".parquet"):
        return ParquetColumns(X)
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) != 2:
        return None
    if isinstance(X, np.memmap):
        return ArrayColumns(X) if 8.0 * shape[0] * shape[1] > largest_copy() else None
    is_file = type(X).__module__.split(".")[0] in ("h5py", "zarr")
    return ArrayColumns(X) if is_file else None


def open_source(X: Any) -> Any:
    """A source for data that is too large to copy; small sparse data become an array."""
    if not sp.issparse(X):
        source = as_source(X)
        return X if source is None else source
    return X.toarray() if 8.0 * np.prod(X.shape) <= largest_copy() else SparseColumns(X)


def has_row_blocks(source: ColumnSource) -> bool:
    """Whether rows are read a block at a time, because they are many and in order."""
    can_be = isinstance(source, ArrayColumns | ParquetColumns)
    has_many_rows = len(source) > max(MAX_EXACT, source.shape[1])
    return can_be and has_many_rows and bool(np.all(np.diff(source.rows) > 0))


@dataclass(frozen=True, eq=False)
class BlockSamples(ABC):
    """Rows of numbers that are never in one place; ``X[indices]`` brings some as an array."""

    rows: IntArray  # rows in view
    all_digests: Any  # (n_rows, 2): 128 bits per row, equal for equal rows only
    all_ranges: Any  # (n_features, 2): minimum and maximum

    is_read_in_parts: ClassVar[bool] = True
    # Whether samples are on other machines, so that some of them must stand for all.
    is_remote: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples in view and number of features."""
        return int(self.rows.size), int(self.all_ranges.shape[0])

    @property
    def ranges(self) -> FloatArray:
        """The least and the largest number of every column, of shape (n_features, 2)."""
        return np.asarray(self.all_ranges)

    @abstractmethod
    def distribute(self, kernels: Kernels) -> Kernels:
        """The same kernels, computed by the same machines."""

    def view(self, indices: Any) -> Self:
        """The listed samples in that order, where they are."""
        return replace(self, rows=self.rows[indices])

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """``function(block, *common, *per_row)`` of every part, computed where the part lies."""

    def __getitem__(self, indices: Any) -> FloatArray:
        wanted, places = np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
        found = self.view(wanted).map(np.asarray)
        return np.asarray(join_rows(found, (wanted.size, self.shape[1]))[places])

    def __len__(self) -> int:
        return self.shape[0]

    def find_equal(self, labels: IntArray) -> Groups:
        """Groups of equal samples, by their digests, in the order of samples in memory."""
        groups = rank_keys([labels, *self.all_digests[self.rows].T])
        first = np.unique(groups, return_index=True)[1]
        distinct = self.view(first)

        def fetch(rows: IntArray, columns: IntArray) -> FloatArray:
            found = distinct.view(rows).map(_columns_of, columns)
            return join_rows(found, (rows.size, columns.size))

        varying = np.flatnonzero(self.ranges[:, 0] < self.ranges[:, 1])
        ranks = rank_rows(labels[first], varying, fetch)
        used = join_ranges([found for _, found in distinct.map(_find_ranges)])
        totals = np.sum([found for _, found in distinct.map(_sum_distances, used)], axis=0)
        found = distinct.map(_find_order_keys, used, mark_columns(totals))
        keys = join_rows(found, (first.size, 3))
        sizes = np.bincount(labels)[labels[first]]
        order = np.lexsort([ranks, sizes, *keys.T[::-1]])
        return first[order], np.argsort(order)[groups]

    def root_mean_squared_difference(self, shares: FloatArray) -> FloatArray:
        """The function of that name in three passes: largest value, mean, and variance."""
        present = np.flatnonzero(shares)
        samples, shares = self.view(present), shares[present]
        # Relative to one of the samples, a constant feature is exactly zero.
        origin = samples[[0]][0]
        largest = np.max([values for _, values in samples.map(_find_largest, origin)], axis=0)
        scale = np.where(largest > 0, largest, 1.0)

        def sum_moments(mean: FloatArray) -> FloatArray:
            found = samples.map(_sum_moments, origin, scale, mean, per_row=(shares,))
            return sum_long(np.array([sums for _, sums in found]), axis=0)

        mean, _ = sum_moments(np.zeros(origin.size))
        # The second pass corrects the rounding of the mean.
        rest, squares = sum_moments(mean)
        variance = np.maximum(squares - rest**2, 0)
        return np.where(largest > 0, largest * np.sqrt(2.0 * variance), 0.0)


@dataclass(frozen=True, eq=False)
class RowBlocks(BlockSamples):
    """Rows on this machine, read a block at a time; no digests and ranges until `summarized`."""

    source: Any  # has `rows`, `shape` and `row_blocks`, as `ArrayColumns`

    is_remote: ClassVar[bool] = False

    @classmethod
    def of(cls, source: Any) -> RowBlocks:
        """The rows of a source that are in its view; nothing is read yet."""
        return cls(source.rows, None, None, source)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.rows.size), self.source.shape[1]

    @property
    def ranges(self) -> FloatArray:
        if self.all_ranges is not None:
            return np.asarray(self.all_ranges)
        return join_ranges([ranges for _, ranges in self.map(_find_ranges)])

    def summarized(self) -> Self:
        """The same with digests and ranges, after one pass over the samples in view."""
        digests, ranges = np.zeros((int(self.rows.max()) + 1, 2), dtype=np.uint64), []
        for places, (found, own, _) in self.map(summarize):
            digests[self.rows[places]] = found
            ranges.append(own)
        joined = join_ranges(ranges)
        check_magnitude(float(np.abs(joined).max()))
        return replace(self, all_digests=digests, all_ranges=joined)

    def distribute(self, kernels: Kernels) -> Kernels:
        return kernels

    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        order = np.argsort(self.rows, kind="stable")
        rows = self.rows[order]
        found: list[Found] = []
        for start, block in self.source.row_blocks(rows):
            first, last = np.searchsorted(rows, [start, start + len(block)])
            places, local = order[first:last], rows[first:last] - start
            # A whole block needs no copy.
            part = block if local.size == len(block) and local[0] == 0 else block[local]
            values = [values[places] for values in per_row]
            found.append((places, function(part, *common, *values)))
        return found


def in_steps(function: Callable[..., Any], step: int, samples: Any, *per_row: Any) -> Any:
    """A function of samples, `step` of them at a time: one row of the result per sample."""
    cuts = [slice(start, start + step) for start in range(0, len(samples), step)]
    found = [function(samples[cut], *(values[cut] for values in per_row)) for cut in cuts]
    return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)


def map_in_order(samples: Any, function: Callable[[Any], Any], step: int) -> list[Any]:
    """A function of all samples, `step` of them at a time, or a block of a file at a time."""
    if isinstance(samples, BlockSamples):
        return [found for _, found in samples.map(function)]
    return [function(samples[start : start + step]) for start in range(0, len(samples), step)]


def summarize(block: FloatArray) -> tuple[Any, FloatArray, IntArray]:
    """Digests of the rows, minimum and maximum of every column, and columns that are not finite."""
    # Adding zero turns -0 into 0.
    lines = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in block + 0.0)
    digests = np.frombuffer(lines, dtype=np.uint64).reshape(-1, 2)
    return digests, _find_ranges(block), np.flatnonzero(~np.isfinite(block).all(axis=0))


def join_ranges(ranges: Sequence[FloatArray]) -> FloatArray:
    """The ranges of all parts together, of shape (n_features, 2)."""
    return np.stack([np.min(ranges, axis=0)[0], np.max(ranges, axis=0)[1]], axis=1)


def _find_ranges(block: FloatArray) -> FloatArray:
    return np.stack([block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)])


def join_rows(found: list[Found], shape: tuple[int, ...]) -> FloatArray:
    """Results with one row per sample, in the order of the samples."""
    joined = np.empty(shape)
    for places, values in found:
        joined[places] = values
    return joined


def sum_long(terms: FloatArray, axis: int) -> FloatArray:
    """A sum in extended precision: over parts it is that over all samples, to the last bit."""
    return np.asarray(terms.sum(axis=axis, dtype=np.longdouble), dtype=np.float64)


def _find_largest(block: FloatArray, origin: FloatArray) -> FloatArray:
    return np.asarray(np.abs(block - origin).max(axis=0))


def _sum_moments(
    block: FloatArray, origin: FloatArray, scale: FloatArray, mean: FloatArray, shares: FloatArray
) -> FloatArray:
    """Weighted sums of the values and of their squares, about a mean."""
    values, weights = block - origin, shares[:, np.newaxis]
    values /= scale
    values -= mean
    total = (values * weights).sum(axis=0, dtype=np.longdouble)
    values *= values
    values *= weights
    return np.stack([total, values.sum(axis=0, dtype=np.longdouble)])


def _sum_distances(values: FloatArray, ranges: FloatArray) -> FloatArray:
    """The sum of the distances in every column."""
    return np.asarray(np.nansum(find_distances(values, ranges), axis=0))


def _find_order_keys(values: FloatArray, ranges: FloatArray, marks: FloatArray) -> FloatArray:
    """What the rows of a block are ordered by."""
    return order_keys(find_distances(values, ranges), marks)


def _columns_of(block: FloatArray, columns: IntArray) -> FloatArray:
    return np.ascontiguousarray(block[:, columns])
