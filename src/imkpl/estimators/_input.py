"""Samples of every kind: how they are read, which of them are equal, and how they are shown.

A kernel bank says in one word what it reads (`BaseKernelBank.reads`). There is one class for each
word, and one for Dask collections; whoever needs to know what samples are asks `kind_of`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from imkpl._checks import quote, shorten
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._partitions import (
    group_rows,
    group_sharded_rows,
    is_partitioned,
    refuse_partitions,
    row_index,
)
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.base import check_magnitude, take_samples
from imkpl.kernels.columns import (
    ArrayColumns,
    ColumnSource,
    ParquetColumns,
    SparseColumns,
    as_columns,
    check_width,
)
from imkpl.kernels.sharded import MAX_EXACT, Found, RowBlocks, ShardedSamples
from imkpl.kernels.words import Documents
from imkpl.series import SeriesSet, read_series
from imkpl.tables import Table, as_cells, as_frame, read_table, refuse_dates

# What `fit` learns about the form of its input.
INPUT_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "n_channels_in_", "_n_stacked")
# How numpy and scikit-learn put it when they meet a missing cell or text among numbers.
NOT_NUMBERS = re.compile(r"Input X contains NaN|could not convert string|NAType")
# How numpy puts it when something else than rows of numbers is made an array.
NOT_A_TABLE = re.compile(r"setting an array element|float\(\) argument|Cannot cast|inhomogeneous")
# Up to this number of cells, the time of checks counts more than that of the prediction.
FEW_CELLS = 2**16
TABLE_HINT = 'IMKPL(kernels="per_column") reads tables with categories and missing cells.'


class SampleKind(ABC):
    """One kind of samples."""

    word: ClassVar[str]
    # What a cell holds where there is nothing.
    absent: ClassVar[Any] = None
    # Whether a cell can be changed without changing what other kernels read.
    has_free_cells: ClassVar[bool] = True
    # Whether samples are rows with a cell in every column.
    has_columns: ClassVar[bool] = False
    # Whether cells are shown as they were before a pipeline.
    is_restored: ClassVar[bool] = False

    @abstractmethod
    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        """Samples and labels for `fit`; what is learned about their form is set on `reader`."""

    def read_new(self, model: Any, X: Any) -> Any:
        """New samples, checked against what a fitted model has seen."""
        refuse_partitions(X, "This method")
        if not self.has_columns or not is_records(X):
            return self._read_new(model, X)
        with warnings.catch_warnings():
            # The names are those of the dicts.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self._read_new(model, order_records(X, model, self.absent))

    @abstractmethod
    def _read_new(self, model: Any, X: Any) -> Any: ...

    def group(self, X: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        """The first of equal samples of a class among `rows`, sorted, and every row's group."""
        everyone = np.arange(rows.size)
        return everyone, everyone

    def take(self, bank: BaseKernelBank, X: Any, rows: IntArray) -> Any:
        """The listed samples, in the form in which kernels compare with them."""
        return bank._take(X, rows)

    def subset(self, bank: BaseKernelBank, X: Any, rows: IntArray) -> Any:
        """The listed samples in memory, in the form in which kernels are learned from them."""
        return bank._subset(X, rows)

    def map_blocks(
        self, X: Any, rows: IntArray, step: int, function: Callable[..., Any], *per_row: IntArray
    ) -> list[Found]:
        """A function of the listed samples, `step` of them at a time."""
        starts = range(0, rows.size, step)
        blocks = [np.arange(start, min(start + step, rows.size)) for start in starts]
        return [
            (block, function(take_samples(X, rows[block]), *(values[block] for values in per_row)))
            for block in blocks
        ]

    def cells(self, bank: BaseKernelBank, samples: Any, row: int) -> list[Any] | None:
        """What each kernel reads in one sample, or None where that is not a single value."""
        return None

    def values(self, samples: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
        """One sample as plain values by the names of its columns; empty if it has no columns."""
        return {}

    def vocabularies(self, bank: BaseKernelBank) -> Sequence[Any] | None:
        """The categories that each kernel knows, None for those of numbers."""
        return None

    def ranges(self, samples: Any, columns: IntArray) -> FloatArray | None:
        """The least and the largest number of columns; NaN for columns of something else."""
        return None

    def show_ranges(self, ranges: FloatArray | None) -> FloatArray | None:
        """Ranges in the units of what `cells` shows."""
        return ranges

    def keys(self, X: Any) -> list[bytes] | None:
        """One key per sample, equal for equal samples; None where equality means nothing."""
        return None


class Vectors(SampleKind):
    """Rows of a numeric 2-D array."""

    word = "vectors"
    has_columns = True
    # Products of matrices round differently in another order of memory.
    order: ClassVar[str | None] = "C"

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        with explained_conversion(X):
            samples, labels = validate_data(
                reader, densify(X), y, dtype=np.float64, order=self.order, ensure_min_samples=2
            )
        return samples, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        values = read_quickly(model, X)
        if values is not None:
            return values
        with explained_conversion(X):
            return validate_data(model, densify(X), dtype=np.float64, order=self.order, reset=False)

    def group(self, X: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            return super().group(X, rows, labels)
        return group_rows(X, rows, labels)

    def cells(self, bank: BaseKernelBank, samples: Any, row: int) -> list[Any] | None:
        columns = bank.kernel_columns
        if columns is None or not (isinstance(samples, np.ndarray) and samples.ndim == 2):
            return None
        return [float(samples[row, column]) for column in columns]

    def values(self, samples: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, samples[row].tolist(), strict=True))

    def ranges(self, samples: Any, columns: IntArray) -> FloatArray | None:
        if isinstance(samples, ShardedSamples):
            return samples.ranges[columns]
        return find_ranges(np.asarray(samples[:, columns]))

    def keys(self, X: Any) -> list[bytes] | None:
        if not isinstance(X, np.ndarray):
            return None
        # Adding zero turns -0 into 0.
        return [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]


class Columns(Vectors):
    """The same, but kernels read a block of columns at a time, so that X may stay on disk."""

    word = "columns"
    order = None

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        source = open_source(X)
        if not isinstance(source, ColumnSource):
            return super().read_training(reader, source, y)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(source, labels)
        set_input(reader, source.shape[1], source.feature_names)
        return source, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        source = open_source(X)
        if not isinstance(source, ColumnSource):
            return super()._read_new(model, source)
        check_width(source, model.n_features_in_)
        return source


class TableRows(SampleKind):
    """Rows of a table with numbers, categories and missing cells."""

    word = "tables"
    has_columns = True

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        if not _has_columns(X):
            cells, labels = validate_data(
                reader, as_cells(X), y, dtype=None, ensure_all_finite=False, ensure_min_samples=2
            )
            return read_table(cells), labels
        labels = validate_data(reader, y=y)
        # The checks of arrays would turn a frame into one array of objects.
        validate_data(reader, X, y, skip_check_array=True)
        check_consistent_length(X, labels)
        table = read_table(X)
        if len(table) < 2:
            raise ValueError(
                "X has 1 row, expected at least 2 to learn from. Check how X was selected."
            )
        return table, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        if _has_columns(X):
            validate_data(model, X, reset=False, skip_check_array=True)
            return read_table(X)
        cells = as_cells(X)
        return read_table(
            validate_data(model, cells, reset=False, dtype=None, ensure_all_finite=False)
        )

    def group(self, X: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        # Missing cells are equal, but NaN are not; a table has no infinite numbers.
        cells = np.where(np.isnan(X.values), np.inf, X.values)
        return group_rows(cells, rows, labels)

    def cells(self, bank: Any, samples: Any, row: int) -> list[Any] | None:
        # Means of such kernels read several cells.
        show: Any = getattr(bank, "_display_values", None)
        return None if show is None else list(show(samples, row))

    def values(self, samples: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, samples.display_values(row), strict=True))

    def vocabularies(self, bank: Any) -> Sequence[Any] | None:
        return bank.kernels.vocabularies  # type: ignore[no-any-return]

    def ranges(self, samples: Any, columns: IntArray) -> FloatArray | None:
        is_number = [samples.columns[column].categories is None for column in columns]
        return find_ranges(np.where(is_number, samples.values[:, columns], np.nan))

    def keys(self, X: Any) -> list[bytes] | None:
        # Tables number their categories as they come, so cells are compared as they were given.
        return [json.dumps(X.display_values(row)).encode() for row in range(len(X))]


class WordCounts(SampleKind):
    """Counts of words in documents, as sparse rows."""

    word = "words"
    has_columns = True
    absent = 0.0
    # One word more is a longer document.
    has_free_cells = False

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        with explained_conversion(X):
            counts, labels = validate_data(
                reader, densify(X), y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
            )
        return Documents.read(counts), labels

    def _read_new(self, model: Any, X: Any) -> Any:
        with explained_conversion(X):
            counts = validate_data(
                model, densify(X), accept_sparse="csr", dtype=np.float64, reset=False
            )
        return Documents.read(counts)

    def group(self, X: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        keys = self.keys(X[rows]) or []
        lines = [f"{label:09d}{key.hex()}" for label, key in zip(labels, keys, strict=True)]
        return group_rows(np.array(lines))

    def cells(self, bank: BaseKernelBank, samples: Any, row: int) -> list[Any] | None:
        columns = bank.kernel_columns
        return None if columns is None else samples.counts[[row]].toarray()[0, columns].tolist()

    def values(self, samples: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
        counts = samples.counts[[row]].toarray()[0].tolist()
        return {name: count for name, count in zip(names, counts, strict=True) if count}

    def keys(self, X: Any) -> list[bytes] | None:
        counts = X.counts
        return [
            hashlib.blake2b(
                counts.indices[start:end].astype("<i8").tobytes()
                + counts.data[start:end].astype("<f8").tobytes(),
                digest_size=16,
            ).digest()
            for start, end in pairwise(counts.indptr)
        ]


class Series(SampleKind):
    """Time series."""

    word = "series"

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        series, labels = read_series(X), column_or_1d(y, warn=True)
        check_consistent_length(series, labels)
        set_input(reader, series.n_channels, series.channel_names)
        reader.n_channels_in_ = series.n_channels
        return series, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        series, expected = read_series(X), model.n_channels_in_
        if series.n_channels != expected:
            raise ValueError(
                f"The series have {series.n_channels} channels, but {type(model).__name__} was "
                f"fitted to {expected}. Pass the channels of the training part, in their order."
            )
        names = getattr(model, "feature_names_in_", None)
        if names is not None and series.channel_names not in (None, tuple(names)):
            raise ValueError(
                f"The channels are named {', '.join(series.channel_names or ())}, expected "
                f"{', '.join(names)} as in the training part. Reorder them."
            )
        return series

    def group(self, X: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        lines = [
            f"{label:09d}{one.shape[1]:09d}"
            f"{hashlib.blake2b(one.tobytes(), digest_size=16).hexdigest()}"
            for one, label in zip(_comparable(X[rows]), labels, strict=True)
        ]
        return group_rows(np.array(lines))

    def values(self, samples: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, samples[row].tolist(), strict=True))

    def keys(self, X: Any) -> list[bytes] | None:
        return [one.astype("<f8").tobytes() for one in _comparable(X)]


class Similarities(SampleKind):
    """Kernel values with all training samples, instead of samples."""

    word = "similarities"

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        shape = np.shape(X)
        if len(shape) not in (2, 3) or shape[0] != shape[1] or 0 in shape:
            raise ValueError(
                f"The training similarities have shape {shape}, expected (n_train, n_train) or "
                "(n_train, n_train, n_kernels). Fit on similarities between training samples; the "
                "kernels belong on the last axis (numpy.moveaxis(K, 0, -1))."
            )
        stack, labels = validate_data(reader, X, y, dtype="numeric", allow_nd=True)
        reader._n_stacked = _count_stacked(shape)
        return stack, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        shape, n_train, n_stacked = np.shape(X), model.n_features_in_, model._n_stacked
        is_stack = len(shape) in (2, 3) and shape[1] == n_train
        if not is_stack or _count_stacked(shape) != n_stacked:
            raise ValueError(
                f"The similarities have shape {shape}, expected (n_samples, {n_train}, "
                f"{n_stacked}): those of new samples to all training samples, in all kernels. Pass "
                "K[numpy.ix_(new, train)], with the kernels on the last axis."
            )
        return validate_data(model, X, dtype="numeric", allow_nd=True, reset=False)


class Anything(SampleKind):
    """Whatever a user's kernels compare: strings, graphs, or objects of any type."""

    word = "anything"

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        samples, labels = _as_sequence(X), column_or_1d(y, warn=True)
        check_consistent_length(samples, labels)
        return samples, labels

    def _read_new(self, model: Any, X: Any) -> Any:
        return _as_sequence(X)


class Partitions(Vectors):
    """Rows of numbers in a Dask collection or a file, which stay where they are."""

    word = "partitions"

    def read_training(self, reader: Any, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        labels, tall = column_or_1d(y, warn=True), find_tall(X)
        if tall is not None:
            samples: ShardedSamples = read_rows(tall)
            names = tall.feature_names
        else:
            from imkpl.scale.dask import read_dask

            samples, names = read_dask(X), getattr(X, "columns", None)
        check_consistent_length(samples, labels)
        is_named = names is not None and all(isinstance(name, str) for name in names)
        set_input(reader, samples.shape[1], names if is_named else None)
        return samples, labels

    def group(
        self, X: ShardedSamples, rows: IntArray, labels: IntArray
    ) -> tuple[IntArray, IntArray]:
        return group_sharded_rows(X[rows], labels)

    def map_blocks(
        self,
        X: ShardedSamples,
        rows: IntArray,
        step: int,
        function: Callable[..., Any],
        *per_row: IntArray,
    ) -> list[Found]:
        return X[rows].map(InBlocks(function, step), per_row=per_row)


@dataclass(frozen=True, eq=False)
class InBlocks:
    """A function of a part of the samples, computed `step` of them at a time."""

    function: Callable[..., Any]
    step: int

    @property
    def __name__(self) -> str:
        """The name of the function, under which Dask lists its tasks."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, samples: Any, *per_row: Any) -> Any:
        """One row of the result per sample, dense or CSR."""
        cuts = [slice(start, start + self.step) for start in range(0, len(samples), self.step)]
        found = [self.function(samples[cut], *(values[cut] for values in per_row)) for cut in cuts]
        return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)


KINDS = {
    kind.word: kind
    for kind in (
        Vectors(),
        Columns(),
        TableRows(),
        WordCounts(),
        Series(),
        Similarities(),
        Anything(),
    )
}


def kind_of(bank: BaseKernelBank, X: Any = None) -> SampleKind:
    """The kind of samples that a bank reads; X may be a Dask collection or a file of them."""
    if bank.reads == "columns" and find_tall(X) is not None:
        return Partitions()
    if not is_partitioned(X):
        return KINDS[bank.reads]
    if bank.reads not in ("vectors", "columns"):
        raise ValueError(
            f"The kernels of {type(bank).__name__} do not read rows of numbers, but Dask "
            "collections hold such rows, expected an array or a list for these kernels. Pass "
            "X.compute(), or use kernels='per_feature_gaussian'."
        )
    return Partitions()


def row_labels(X: Any, n_samples: int) -> Any:
    """What the user calls the samples: the index of a data frame, else their numbers."""
    frame: Any = as_frame(row_index(X) if is_partitioned(X) else X)
    if frame is None:
        frame = nw.from_native(X, pass_through=True, series_only=True)
    known = isinstance(frame, nw.DataFrame | nw.Series)
    index = nw.maybe_get_index(frame) if known else None
    if index is not None and index.nlevels > 1 and len(index) != n_samples:
        index = index.get_level_values(0).unique()
    if index is None or len(index) != n_samples:
        return np.arange(n_samples)
    labels = list(index)
    if all(type(label) is int for label in labels):
        return np.array(labels)
    return np.array([str(label) for label in labels], dtype=object)


def is_records(X: Any) -> bool:
    """Whether samples are given as dicts."""
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(row, Mapping) for row in X)


def order_records(X: Sequence[Mapping[str, Any]], model: Any, absent: Any) -> list[list[Any]]:
    """Dicts as rows with the columns in the order of the training part."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"X is a list of dicts, but {type(model).__name__} was fitted to columns without "
            f"names, expected rows of {model.n_features_in_} values. Fit it to a data frame to "
            "pass dicts."
        )
    known = set(names)
    for place, row in enumerate(X):
        unknown = [name for name in row if name not in known]
        if unknown:
            raise ValueError(
                f"Row {place} has a value for {quote(unknown[0])}, which is no column of the "
                f"training part, expected {shorten(', '.join(map(str, names)))}. Leave it out, or "
                "correct the name."
            )
    return [[row.get(name, absent) for name in names] for row in X]


def read_quickly(model: Any, X: Any) -> FloatArray | None:
    """The numbers of few samples with nothing to check any more, else None.

    scikit-learn's checks take longer than the prediction of a few rows. What they would refuse,
    warn of or convert is left to them.
    """
    names = getattr(model, "feature_names_in_", None)
    if type(X).__module__.split(".")[0] in ("pandas", "polars") and names is not None:
        is_frame = hasattr(X, "to_numpy") and hasattr(X, "columns")
        if not is_frame or math.prod(X.shape) > FEW_CELLS or list(X.columns) != names.tolist():
            return None
        if any(str(one).startswith("Sparse") for one in X.dtypes):
            return None
        X, names = X.to_numpy(), None
    if type(X) is not np.ndarray or names is not None or X.dtype != np.float64:
        return None
    is_table = X.ndim == 2 and 0 < X.size <= FEW_CELLS and X.shape[1] == model.n_features_in_
    return np.ascontiguousarray(X) if is_table and np.isfinite(X).all() else None


def find_ranges(values: FloatArray) -> FloatArray:
    """The least and the largest number of every column; NaN is left out."""
    return np.stack([np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)], axis=1)


def largest_copy() -> float:
    """The size in bytes up to which data on disk is copied to memory."""
    return float(get_config()["working_memory"]) * 2**20


def open_source(X: Any) -> Any:
    """A source for data that is too large to copy; small sparse data become an array."""
    if not sp.issparse(X):
        source = as_columns(X, largest_copy())
        return X if source is None else source
    return X.toarray() if 8.0 * np.prod(X.shape) <= largest_copy() else SparseColumns(X)


def find_tall(X: Any) -> ArrayColumns | ParquetColumns | None:
    """A source whose rows are read a block at a time, because they are many and in order."""
    source = None if sp.issparse(X) else as_columns(X, largest_copy())
    if not isinstance(source, ArrayColumns | ParquetColumns):
        return None
    is_tall = len(source) > max(MAX_EXACT, source.shape[1])
    return source if is_tall and bool(np.all(np.diff(source.rows) > 0)) else None


def read_rows(tall: ArrayColumns | ParquetColumns) -> RowBlocks:
    """The rows of a source, after one pass over them."""
    samples = RowBlocks(tall.rows, None, None, tall).summarized()
    check_magnitude(float(np.abs(samples.ranges).max()))
    return samples


def densify(X: Any) -> Any:
    """A small pandas data frame without sparse columns; anything else as it is."""
    types: Any = getattr(getattr(X, "dtypes", None), "items", dict)()
    sparse = {name: kind.subtype for name, kind in types if type(kind).__name__ == "SparseDtype"}
    if not sparse:
        return X
    size = 8.0 * X.shape[0] * X.shape[1]
    if size > largest_copy():
        raise ValueError(
            f"X has {len(sparse)} sparse columns and would take {size / 2**30:.1f} GiB as an "
            "array, expected a sparse matrix. Pass scipy.sparse.csr_array(X.sparse.to_coo())."
        )
    return X.astype(sparse)


def set_input(reader: Any, n_features: int, names: Any) -> None:
    """Set what scikit-learn's checks set for arrays and data frames."""
    reader.n_features_in_ = n_features
    vars(reader).pop("feature_names_in_", None)
    if names is not None:
        reader.feature_names_in_ = np.array(list(names), dtype=object)


@contextmanager
def explained_conversion(X: Any) -> Iterator[None]:
    """Explain what cannot be read as numbers, and which kernels read it."""
    frame = as_frame(X)
    if frame is not None and not frame.columns:
        raise ValueError("X has no columns, expected at least one. Check how X was selected.")
    if frame is not None:
        refuse_dates(frame)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked cells, expected none. Fill them with "
            f"X.filled(value), or leave out these samples. {TABLE_HINT}"
        )
    try:
        # Sums over huge numbers overflow where scikit-learn looks for infinite ones.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        if NOT_NUMBERS.search(str(error)) is not None:
            raise type(error)(f"{shorten(str(error), 1000)}\n{TABLE_HINT}") from error
        if NOT_A_TABLE.search(str(error)) is None:
            raise
        raise type(error)(
            f"X is of type {type(X).__name__} and cannot be read as numbers, expected an array of "
            "shape (n_samples, n_features), a data frame, or a list of rows of equal length. "
            # scikit-learn's checks look for the words of the conversion.
            f"Convert it first ({shorten(str(error), 500)})."
        ) from error


def _has_columns(X: Any) -> bool:
    return isinstance(X, Table) or as_frame(X) is not None


def _count_stacked(shape: tuple[int, ...]) -> int:
    return shape[2] if len(shape) == 3 else 1


def _comparable(series: SeriesSet) -> SeriesSet:
    """Equal series with equal bytes: adding zero turns -0 into 0, and of the many NaN one stays."""
    values = np.where(np.isnan(series.values), np.nan, series.values + 0.0)
    return SeriesSet(values, series.starts)


def _as_sequence(X: Any) -> Any:
    """X itself, but the values of a series: its index must not decide what X[i] is."""
    series = nw.from_native(X, pass_through=True, series_only=True)
    samples = series.to_numpy() if isinstance(series, nw.Series) else X
    if len(samples) == 0:
        raise ValueError("X has no samples, expected at least one. Check how X was selected.")
    return samples
