"""Data that is wider than memory: features are read from where they are, a block at a time.

A `ColumnSource` stands in for a 2-D array of samples. ``source[rows]`` is a view of some samples
that reads nothing, ``source[rows, columns]`` reads that part as an array of float64. Banks that
read a few columns at a time, such as `PerFeatureGaussian`, need no more than this.
"""

from __future__ import annotations

import copy
import mmap
import pathlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._typing import IntArray
from imkpl.kernels.forms import largest_copy

# Up to this number of distinct samples, a fit learns from all of them unless it is told not to.
MAX_EXACT = 10_000
# Columns of a file that lie no further apart than this are read in one piece.
LARGEST_GAP = 32
# Maximum number of bytes of a memory map that are in memory at a time.
MAPPED_BYTES = 2**26
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
        Where the data is.

    Examples
    --------
    >>> source = ArrayColumns(np.arange(6.0).reshape(2, 3))
    >>> source[:, [2, 0]]
    array([[2., 0.],
           [5., 3.]])
    >>> source[np.array([1])].shape
    (1, 3)
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
        if isinstance(self.array, np.memmap):
            return _read_mapped(self.array, columns)
        if isinstance(self.array, np.ndarray):
            return self.array[:, columns]
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
            if isinstance(self.array, np.memmap):
                _forget_mapped(self.array)


def as_slice(columns: IntArray) -> IntArray | slice:
    """Columns that follow each other as a slice: reading it is ten times as fast."""
    if columns.size and np.array_equal(columns, np.arange(columns[0], columns[0] + columns.size)):
        return slice(int(columns[0]), int(columns[0]) + columns.size)
    return columns


def _read_mapped(array: np.memmap[Any, Any], columns: IntArray) -> Any:
    """Columns of a memory map, without leaving more of it in memory than `MAPPED_BYTES`.

    What is read of a map counts as memory of this process, and with a row often its whole length is
    mapped. So rows are read a few at a time and let go of. Only of maps that cannot be written to:
    others may hold changes that are nowhere else.
    """
    if array.mode != "r":
        return array[:, columns]
    values = np.empty((array.shape[0], columns.size), dtype=array.dtype)
    chosen = as_slice(columns)
    # In column order the rows of a few columns lie together.
    step = array.shape[0]
    if array.strides[0] > array.strides[1]:
        step = max(1, MAPPED_BYTES // array.strides[0])
    for start in range(0, array.shape[0], step):
        values[start : start + step] = array[start : start + step, chosen]
        _forget_mapped(array)
    return values


def _forget_mapped(array: np.memmap[Any, Any]) -> None:
    """Let go of the pages of a memory map that cannot be written to."""
    if array.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


class SparseColumns(ColumnSource):
    """Columns of a sparse matrix; what is not stored is zero.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_samples, n_features)
        Kept in compressed columns.

    Examples
    --------
    >>> SparseColumns(sp.eye_array(3))[:, [1]].ravel()
    array([0., 1., 0.])
    """

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
    `fit` and `predict` of :class:`imkpl.IMKPL` read a file of more rows than columns, and of more
    than 10 000 rows, a block of rows at a time, otherwise a block of columns at a time. Neither
    holds the whole file in memory.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/samples.parquet"
    ...     pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "name": ["x", "y"]}).to_parquet(path)
    ...     ParquetColumns(path, columns=["a", "b"])[:, [1]]
    array([[3.],
           [4.]])
    """

    def __init__(self, path: Any, columns: Any = None) -> None:
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise ModuleNotFoundError(
                "Parquet files are read by pyarrow, which is not installed. Install it with "
                "pip install 'imkpl[parquet]'."
            ) from error
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(
                f"There is no file {str(path)!r}, expected a Parquet file with one column per "
                "feature. Check the path."
            )
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
        table = self._file.read(columns=sorted(set(names)))
        return np.column_stack([table.column(name).to_numpy() for name in names])

    def row_blocks(self, wanted: IntArray) -> Iterator[tuple[int, Any]]:
        """The first row and the values of every block that has some of the sorted rows."""
        names, metadata = self.feature_names or [], self._file.metadata
        step, start = max(1, BLOCK_VALUES // max(1, len(names))), 0
        everyone = np.arange(len(names))
        for group in range(metadata.num_row_groups):
            end = start + metadata.row_group(group).num_rows
            if np.searchsorted(wanted, start) < np.searchsorted(wanted, end):
                for batch in self._file.iter_batches(step, row_groups=[group], columns=names):
                    if np.searchsorted(wanted, start) < np.searchsorted(wanted, start + len(batch)):
                        yield start, self._check_finite(_as_rows(batch, names), everyone)
                    start += len(batch)
            start = end

    def split(self, target: str) -> tuple[ParquetColumns, Any]:
        """All columns but `target` as features, and that one as an array of labels."""
        others = [name for name in self.feature_names or [] if name != target]
        features = ParquetColumns(self.path, others)
        features._rows = self._rows
        ParquetColumns(self.path, [target])  # raises if there is no such column
        labels = self._file.read(columns=[target]).column(target).to_numpy()
        return features, labels if self._rows is None else labels[self._rows]


def _as_rows(batch: Any, names: Sequence[str]) -> Any:
    """A batch of a Parquet file as rows of numbers; missing cells become NaN."""
    rows = np.empty((len(batch), len(names)))
    for place, name in enumerate(names):
        rows[:, place] = batch.column(name).to_numpy(zero_copy_only=False)
    return rows


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
