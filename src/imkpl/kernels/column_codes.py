"""What is learned about the columns of a table, and tables as arrays of numbers by it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.bandwidth import invert_roots, root_mean_squared_difference
from imkpl.kernels.checks import check_sample_weight
from imkpl.tables import Table

# One over the width of a Gaussian kernel on codes 0, 1, ...: exp(-1000) is 0 beside any number.
OVERLAP_RATE = 1000.0**0.5
# Halves of a sum of weights are equal up to this part of it.
TIE = 1e-12

# The categories of a column, None among them where cells were missing.
Vocabulary = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class ColumnKernels:
    """The kernels of an adapted `PerColumn`, one entry per kernel.

    Parameters
    ----------
    columns : int array of shape (n_kernels,)
        The column that each kernel reads.
    is_mark : bool array of shape (n_kernels,)
        Whether the kernel compares only if the cell is missing.
    rates : array of shape (n_kernels,)
        One over the width of a Gaussian kernel; 0 for the constant kernel.
    fills : array of shape (n_kernels,)
        The number that stands for a missing one.
    vocabularies : tuple of tuple or None
        The categories seen in training; None for kernels on numbers and marks.
    labels : tuple of str
        Names of the kernels.
    """

    columns: IntArray
    is_mark: BoolArray
    rates: FloatArray
    fills: FloatArray
    vocabularies: tuple[Vocabulary | None, ...]
    labels: tuple[str, ...]

    def at(self, indices: IntArray) -> ColumnKernels:
        """The listed kernels in that order."""
        return ColumnKernels(
            self.columns[indices],
            self.is_mark[indices],
            self.rates[indices],
            self.fills[indices],
            tuple(self.vocabularies[i] for i in indices),
            tuple(self.labels[i] for i in indices),
        )

    def relearned(self, fresh: ColumnKernels) -> ColumnKernels:
        """These kernels with what was learned anew about all columns."""
        kinds = zip(fresh.columns.tolist(), fresh.is_mark.tolist(), strict=True)
        places = {kind: place for place, kind in enumerate(kinds)}
        own = list(zip(self.columns.tolist(), self.is_mark.tolist(), strict=True))
        # A mark that is not there takes the place of its column, which is set right below.
        found = fresh.at(np.array([places.get(k, places[k[0], False]) for k in own], np.intp))
        rates = np.where([kind in places for kind in own], found.rates, 0.0)
        vocabularies = zip(found.vocabularies, self.is_mark.tolist(), strict=True)
        return replace(
            self,
            rates=rates,
            fills=found.fills,
            vocabularies=tuple(None if is_mark else words for words, is_mark in vocabularies),
        )

    def on_columns(self, columns: Sequence[int]) -> ColumnKernels:
        """The same kernels for tables that were cut down to the listed columns."""
        places = {column: place for place, column in enumerate(columns)}
        return replace(self, columns=np.array([places[c] for c in self.columns.tolist()], np.intp))

    def encode(self, *tables: Table) -> tuple[FloatArray, ...]:
        """Tables as arrays of numbers in which kernel l is a Gaussian kernel on column l.

        Categories that were not seen in training get codes of their own, the same in all tables.
        """
        encoded = tuple(np.empty((len(table), self.columns.size)) for table in tables)
        for kernel, column in enumerate(self.columns.tolist()):
            vocabulary = self.vocabularies[kernel]
            if vocabulary is not None:
                codes = _encode_categories(tables, column, vocabulary)
                for array, values in zip(encoded, codes, strict=True):
                    array[:, kernel] = values
                continue
            for array, table in zip(encoded, tables, strict=True):
                values, is_missing = table.values[:, column], np.isnan(table.values[:, column])
                if self.is_mark[kernel]:
                    array[:, kernel] = is_missing
                else:
                    _require_numbers(table, column)
                    array[:, kernel] = np.where(is_missing, self.fills[kernel], values)
        return encoded


def learn_columns(
    table: Table, sample_weight: ArrayLike | None, is_category: BoolArray, working_memory: float
) -> ColumnKernels:
    """One kernel per column, and one more for every column with missing cells."""
    shares = check_sample_weight(sample_weight, len(table))
    used = np.flatnonzero(shares)
    is_missing = np.isnan(table.values[used])
    n_columns = table.shape[1]
    roots, fills = np.zeros(n_columns), np.zeros(n_columns)
    vocabularies: list[Vocabulary | None] = [None] * n_columns
    whole = np.flatnonzero(~is_category & ~is_missing.any(axis=0))
    # All at once and with the weights as given, as PerFeatureGaussian does: to the last bit.
    roots[whole] = root_mean_squared_difference(
        table.values[:, whole], sample_weight, working_memory=working_memory
    )
    table, shares = table[used], shares[used]
    for column in range(n_columns):
        if is_category[column]:
            categories = vocabularies[column] = _list_categories(table, column)
            # One category is constant, and another one at prediction time is not penalised.
            roots[column] = 1.0 / OVERLAP_RATE if len(categories) > 1 else 0.0
            continue
        _require_numbers(table, column)
        seen = np.flatnonzero(~is_missing[:, column])
        values = table.values[seen, column]
        if seen.size:
            fills[column] = weighted_median(values, shares[seen])
        if 0 < seen.size < len(table):
            roots[column] = root_mean_squared_difference(values[:, np.newaxis], shares[seen])[0]
    marked = np.flatnonzero(is_missing.any(axis=0))
    varies = ~is_missing[:, marked].all(axis=0)
    return ColumnKernels(
        np.concatenate([np.arange(n_columns), marked]),
        np.repeat([False, True], [n_columns, marked.size]),
        np.concatenate([invert_roots(roots), np.where(varies, OVERLAP_RATE, 0.0)]),
        np.concatenate([fills, np.zeros(marked.size)]),
        (*vocabularies, *[None] * marked.size),
        (*table.names, *(mark_name(table.names[column]) for column in marked)),
    )


def mark_name(name: str) -> str:
    """The name of the kernel that compares only if a cell is missing."""
    return f"{name} is missing"


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The median of a sample in which each value counts as often as its weight says.

    Examples
    --------
    >>> weighted_median(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    3.0
    >>> weighted_median(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    1.5
    """
    order = np.argsort(values, kind="stable")
    heaps = np.cumsum(weights[order])
    half, tie = 0.5 * heaps[-1], TIE * heaps[-1]
    low, high = np.searchsorted(heaps, [half - tie, half + tie])
    lower, upper = values[order[low]], values[order[min(high, order.size - 1)]]
    return float(lower if lower == upper else 0.5 * lower + 0.5 * upper)


def _list_categories(table: Table, column: int) -> Vocabulary:
    """The categories in the rows of a column, in the order of their codes."""
    codes = np.unique(table.values[:, column])
    return tuple(table.columns[column].show(code) for code in codes)


def _encode_categories(
    tables: tuple[Table, ...], column: int, vocabulary: Vocabulary
) -> list[FloatArray]:
    places: dict[Hashable, int] = {category: place for place, category in enumerate(vocabulary)}
    encoded: list[FloatArray] = []
    for table in tables:
        # The distinct numbers of the column, NaN as the last of them.
        distinct, group = np.unique(table.values[:, column], return_inverse=True)
        _require_categories(table, column, distinct, vocabulary)
        shown = [table.columns[column].show(number) for number in distinct]
        codes = [places.setdefault(category, len(places)) for category in shown]
        encoded.append(np.array(codes, dtype=np.float64)[group.ravel()])
    return encoded


def _require_numbers(table: Table, column: int) -> None:
    """Raise where categories stand in a column that is compared as numbers."""
    categories = table.columns[column].categories
    if categories is not None and not np.isnan(table.values[:, column]).all():
        raise ValueError(
            f"Column {table.names[column]!r} holds categories such as {categories[0]!r}, but "
            "numbers in the training part. Pass numbers, or None for missing cells."
        )


def _require_categories(
    table: Table, column: int, distinct: FloatArray, vocabulary: Vocabulary
) -> None:
    """Raise where numbers stand in a column that was text in training: '3' is not 3."""
    is_text = all(category is None or isinstance(category, str) for category in vocabulary)
    is_number = table.columns[column].categories is None and not np.isnan(distinct).all()
    if is_text and is_number and any(category is not None for category in vocabulary):
        raise ValueError(
            f"Column {table.names[column]!r} holds numbers such as {float(distinct[0]):g}, but "
            f"text such as {_first_text(vocabulary)!r} in the training part. Pass text, for "
            "example with astype(str), in fit and in predict."
        )


def _first_text(vocabulary: Vocabulary) -> Any:
    return next(category for category in vocabulary if category is not None)
