"""What is known of samples: their form, by scikit-learn's checks, and which of them are equal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from imkpl._checks import LARGEST, list_some, quote, require, shorten
from imkpl._typing import FloatArray, IntArray
from imkpl.tables import Column, Table, as_frame, refuse_dates

# How numpy and scikit-learn put it when they meet a missing cell or text among numbers.
NOT_NUMBERS = re.compile(r"Input X contains NaN|could not convert string|NAType")
# How numpy puts it when something else than rows of numbers is made an array.
NOT_A_TABLE = re.compile(r"setting an array element|float\(\) argument|Cannot cast|inhomogeneous")
# Up to this number of cells, the time of checks counts more than that of the prediction.
FEW_CELLS = 2**16
# No model reads more columns; arrays of this length are made when it is asked about them.
MOST_FEATURES = 2**24
# Maximum number of values fetched to sort samples, per sample or in total; then twice as many.
VALUES_PER_SAMPLE, FEWEST_VALUES = 1, 2**16
TABLE_HINT = 'IMKPL(kernels="per_column") reads tables with categories and missing cells.'

# The first of equal samples of a class, in sorted order, and every sample's place among these.
Groups: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Form:
    """What is known about the form of the samples of a model."""

    owner: str = "IMKPL"  # the model, in messages
    n_features: int | None = None  # None for a training part, whose form is learned
    names: Any = None  # of the features or channels, an array of objects
    n_channels: int | None = None  # of series
    n_stacked: int | None = None  # of precomputed kernels

    def learn(self, n_features: int, names: Any = None, **known: Any) -> Form:
        """The form of a training part."""
        is_named = names is not None and all(isinstance(name, str) for name in names)
        found = np.array(list(names), dtype=object) if is_named else None
        return replace(self, n_features=n_features, names=found, **known)

    @property
    def attributes(self) -> dict[str, Any]:
        """What scikit-learn calls these facts, as attributes of a fitted model."""
        known = {
            "n_features_in_": self.n_features,
            "feature_names_in_": self.names,
            "n_channels_in_": self.n_channels,
        }
        return {name: value for name, value in known.items() if value is not None}

    def check(self, owner: str) -> None:
        """Raise a ValueError unless this is the form of a training part, also if from a file."""
        n_features, names = self.n_features or 0, self.names
        require(self.owner == owner, f"the form is that of {shorten(self.owner)}")
        require(1 <= n_features <= MOST_FEATURES, f"the number {n_features} is out of range")
        is_right = names is None or (
            names.shape == (n_features,) and all(isinstance(name, str) for name in names)
        )
        require(is_right, f"there is not one name for each of {n_features} features")
        require(self.n_channels in (None, n_features), "there are not as many channels as features")


def validate(X: Any, form: Form, **options: Any) -> tuple[Any, Form]:
    """X after scikit-learn's checks, and its form, which is learned or checked."""
    from sklearn.utils.validation import validate_data

    checker = _checker_class(form.owner)()
    is_known = form.n_features is not None
    if is_known:
        checker.n_features_in_ = form.n_features
    if form.names is not None:
        checker.feature_names_in_ = form.names
    found = validate_data(checker, X, reset=not is_known, **options)
    if is_known:
        return found, form
    return found, form.learn(checker.n_features_in_, getattr(checker, "feature_names_in_", None))


@cache
def _checker_class(owner: str) -> Any:
    """An estimator that has nothing but the name that scikit-learn puts into its messages."""
    from sklearn.base import BaseEstimator

    return type(owner, (BaseEstimator,), {})


def validate_numbers(X: Any, form: Form, **options: Any) -> tuple[Any, Form]:
    """Rows of numbers after scikit-learn's checks; what is no number is explained."""
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
    least = 1 if form.n_features is not None else 2
    try:
        # Sums over huge numbers overflow where scikit-learn looks for infinite ones.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate(densify(X), form, dtype=np.float64, ensure_min_samples=least, **options)
    except (TypeError, ValueError) as error:
        if NOT_NUMBERS.search(str(error)) is not None:
            raise type(error)(f"{shorten(str(error), 1000)}\n{TABLE_HINT}") from error
        if NOT_A_TABLE.search(str(error)) is None:
            raise
        raise type(error)(
            f"X is of type {type(X).__name__} and cannot be read as numbers, expected an array of "
            "shape (n_samples, n_features), a data frame, or a list of rows of equal length. "
            # scikit-learn's checks look for the words of the conversion.
            f"Convert it first ({shorten(str(error).partition('. ')[0], 500)})."
        ) from error


def read_few(X: Any, form: Form) -> FloatArray | None:
    """The numbers of few new samples, if scikit-learn's checks, which take longer, are no use."""
    names = form.names
    if type(X).__module__.split(".")[0] in ("pandas", "polars") and names is not None:
        is_frame = hasattr(X, "to_numpy") and hasattr(X, "columns")
        if not is_frame or math.prod(X.shape) > FEW_CELLS or list(X.columns) != names.tolist():
            return None
        if any(str(one).startswith("Sparse") for one in X.dtypes):
            return None
        X, names = X.to_numpy(), None
    if type(X) is not np.ndarray or names is not None or X.dtype != np.float64:
        return None
    is_table = X.ndim == 2 and 0 < X.size <= FEW_CELLS and X.shape[1] == form.n_features
    return np.ascontiguousarray(X) if is_table and np.isfinite(X).all() else None


def read_named(kernels: Any, X: Any, form: Form) -> Any:
    """New samples as kernels read them; of named columns those in use, in any order, are enough."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        # One sample, or columns of several.
        is_one = all(np.ndim(cells) == 0 for cells in X.values())
        rows = [tuple(X.values())] if is_one else zip(*X.values(), strict=True)
        X = [dict(zip(X, row, strict=True)) for row in rows]
    is_table = kernels.input_kind in ("columns", "tables", "vectors", "words")
    frame = as_frame(X) if is_table and form.names is not None and hasattr(X, "columns") else None
    if frame is None or frame.columns == form.names.tolist():
        return kernels.read(X, form)[0]
    used, n_features = kernels.input_columns, len(form.names)
    if used is None or kernels.input_kind == "words":
        # Samples are compared whole, or by their length, which is that of all columns.
        used = np.arange(n_features)
    names, given = form.names[used], set(frame.columns)
    lacking = [quote(str(name)) for name in names if name not in given]
    if lacking:
        unknown = [quote(name) for name in frame.columns if name not in set(form.names)]
        others = f" Columns that it does not know: {list_some(unknown)}." if unknown else ""
        raise ValueError(
            f"X lacks {list_some(lacking)}, expected the {len(names)} columns that the model "
            f"reads.{others} Correct the names; if it was not measured, add it with missing cells: "
            f"X[{lacking[0]}] = float('nan')."
        )
    known = replace(form, n_features=len(names), names=names)
    samples = kernels.read(frame.select(names.tolist()).to_native(), known)[0]
    return samples if len(names) == n_features else widen(samples, used, n_features)


def widen(samples: Any, used: IntArray, n_features: int) -> Any:
    """Samples in some of the columns, with others that nothing reads."""
    values = np.zeros((len(samples), n_features))
    values[:, used] = getattr(samples, "values", samples)
    if not isinstance(samples, Table):
        return values
    columns = dict(zip(used.tolist(), samples.columns, strict=True))
    return Table(values, tuple(columns.get(i, Column(f"x{i}")) for i in range(n_features)))


def blank_column(samples: Any, column: int) -> Any:
    """The same samples, as kernels of single cells read them, without the cells of a column."""
    values = np.array(getattr(samples, "values", samples), dtype=np.float64)
    values[:, column] = np.nan
    return replace(samples, values=values) if isinstance(samples, Table) else values


def ordered_records(X: Any, form: Form, absent: Any) -> tuple[Any, Form]:
    """X with its form; samples that are dicts as rows in the order of the training part."""
    is_list = isinstance(X, list | tuple) and bool(X)
    if form.n_features is None or not is_list or not all(isinstance(r, Mapping) for r in X):
        return X, form
    if form.names is None:
        raise ValueError(
            f"X is a list of dicts, but {form.owner} was fitted to columns without "
            f"names, expected rows of {form.n_features} values. Fit it to a data frame to "
            "pass dicts."
        )
    known = set(form.names)
    for place, row in enumerate(X):
        unknown = [name for name in row if name not in known]
        if unknown:
            raise ValueError(
                f"Row {place} has a value for {quote(unknown[0])}, which is no column of the "
                f"training part, expected {shorten(', '.join(map(str, form.names)))}. Leave it "
                "out, or correct the name."
            )
    # The names were those of the dicts.
    return [[row.get(name, absent) for name in form.names] for row in X], replace(form, names=None)


def densify(X: Any) -> Any:
    """A pandas data frame without sparse columns; anything else as it is."""
    types: Any = getattr(getattr(X, "dtypes", None), "items", dict)()
    sparse = {name: kind.subtype for name, kind in types if type(kind).__name__ == "SparseDtype"}
    return X.astype(sparse) if sparse else X


def largest_copy() -> float:
    """The size in bytes up to which data on disk is copied to memory."""
    from sklearn import get_config

    return float(get_config()["working_memory"]) * 2**20


def check_magnitude(largest: float, name: str = "X") -> None:
    """Refuse numbers whose squared differences may overflow."""
    if largest > LARGEST:
        raise ValueError(
            f"{name} has values up to {largest:.3g}, expected at most {LARGEST:.0e}: "
            "squared distances overflow. Divide the features by their standard deviations."
        )


def find_ranges(values: FloatArray) -> FloatArray:
    """The least and the largest number of every column; NaN is left out."""
    return np.stack([np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)], axis=1)


def group_rows(table: Any, rows: IntArray, labels: IntArray) -> Groups:
    """Which of the listed rows are equal and of one class."""

    def fetch(some: IntArray, columns: IntArray) -> Any:
        return table[rows[some], columns[0] : columns[-1] + 1]

    ranks = rank_rows(labels, np.arange(table.shape[1]), fetch)
    return np.unique(ranks, return_index=True)[1], ranks


def group_keys(keys: Sequence[str], labels: IntArray) -> Groups:
    """Which samples have equal keys and are of one class."""
    lines = [f"{label:09d}{key}" for label, key in zip(labels, keys, strict=True)]
    _, first, groups = np.unique(lines, return_index=True, return_inverse=True)
    return first, groups


# Distances from the middle of a column are rounded to this part of it: whole numbers have the same
# sum in any order of columns.
STEPS_OF_RANGE = 2.0**30
# The number of marks by which columns are told apart: the sum over a thousand columns is exact.
COLUMN_MARKS = 8191


def order_groups(table: FloatArray, rows: IntArray, groups: Groups, labels: IntArray) -> Groups:
    """Groups from the middle of all columns outwards, then by the sizes of their classes."""
    first, own = groups
    keys, width = np.zeros((first.size, 3)), max(1, FEWEST_VALUES // max(1, first.size))
    for start in range(0, table.shape[1], width):
        values = table[rows[first], start : start + width]
        places = find_distances(values, find_ranges(values))
        keys += order_keys(places, mark_columns(np.nansum(places, axis=0)))
    order = np.lexsort([np.bincount(labels)[labels[first]], *keys.T[::-1]])
    return first[order], np.argsort(order)[own]


def find_distances(values: FloatArray, ranges: FloatArray) -> FloatArray:
    """Distances of cells above the middle of their columns, in whole parts of the range."""
    low, high = ranges.T / 2
    parts = (values - (low + high)) / np.where(high > low, high - low, 1.0)
    return np.asarray(np.rint(STEPS_OF_RANGE * parts))


def mark_columns(totals: FloatArray) -> FloatArray:
    """A number for every column by the sum of its distances, which changes its sign with them."""
    rest = np.abs(totals) % COLUMN_MARKS
    # Cubes, because sums of marks that follow the totals would often be equal.
    return np.asarray(np.sign(totals) * (rest**3 % COLUMN_MARKS + 1))


def order_keys(distances: FloatArray, marks: FloatArray) -> FloatArray:
    """What rows are ordered by: sums of their distances, of the squares, and of marked ones."""
    # What is missing is far. Two values are equally far from their middle; marks tell them apart.
    apart = np.where(np.isnan(distances), STEPS_OF_RANGE, np.abs(distances))
    squares = np.rint(apart * apart / STEPS_OF_RANGE)
    marked = np.where(np.isnan(distances), 0.0, distances) @ marks
    return np.stack([apart.sum(axis=1), squares.sum(axis=1), marked], axis=1)


def rank_rows(
    ranks: IntArray, columns: IntArray, fetch: Callable[[IntArray, IntArray], Any]
) -> IntArray:
    """Ranks of rows by known ranks, then by columns, fetched only for rows that are still tied."""
    budget, ranks = max(VALUES_PER_SAMPLE * ranks.size, FEWEST_VALUES), rank_keys([ranks])
    while True:
        tied = np.flatnonzero(np.bincount(ranks)[ranks] > 1)
        if tied.size == 0 or columns.size == 0:
            return ranks
        some, columns = np.split(columns, [max(1, budget // tied.size)])
        within = np.zeros_like(ranks)
        within[tied] = rank_keys([ranks[tied], *fetch(tied, some).T])
        ranks, budget = rank_keys([ranks, within]), 2 * budget


def rank_keys(keys: Sequence[Any]) -> IntArray:
    """Ranks of rows by several keys, the first key first; equal rows share a rank."""
    order = np.lexsort(keys[::-1])
    is_new = np.zeros(order.size, dtype=bool)
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(order.size, dtype=np.intp)
    ranks[order] = np.cumsum(is_new)
    return ranks
