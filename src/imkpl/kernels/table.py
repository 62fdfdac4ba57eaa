"""One kernel per column of a table with categories and missing cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    KernelTable,
    check_indices,
    check_sample_weight,
    find_columns,
    require_columns,
)
from imkpl.kernels.per_feature import (
    FeatureKernels,
    PerFeatureGaussian,
    invert_roots,
    root_mean_squared_difference,
)
from imkpl.tables import Cell, Table, read_table

# One over the width of a Gaussian kernel on codes 0, 1, ...: exp(-1000) is 0 beside any number.
OVERLAP_RATE = 1000.0**0.5
# Halves of a sum of weights are equal up to this part of it.
TIE = 1e-12

# The categories of a column, None among them where cells were missing.
Vocabulary = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class ColumnKernels(KernelTable):
    """The kernels of an adapted `PerColumn`, one entry per kernel."""

    columns: IntArray  # the column that each kernel reads
    is_mark: BoolArray  # whether the kernel compares only if the cell is missing
    rates: FloatArray  # one over the width of a Gaussian kernel; 0 for the constant kernel
    fills: FloatArray  # the number that stands for a missing one
    vocabularies: tuple[Vocabulary | None, ...]  # categories in training; None for numbers, marks
    labels: tuple[str, ...]  # names of the kernels

    def relearned(self, fresh: ColumnKernels) -> ColumnKernels:
        """These kernels with what was learned again about all columns."""
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


@dataclass(frozen=True, eq=False)
class PerColumn(BaseKernelBank):
    """A kernel on each column of a table, so that a kernel's weight is a column's weight.

    Columns of numbers get the Gaussian kernel of `PerFeatureGaussian`. Columns of categories get
    the overlap kernel, 1 for two equal categories and 0 for others. Which columns are which:
    :func:`imkpl.tables.read_table`.

    Missing cells follow one rule, in the training part and for new samples:

    * A missing number is taken for the weighted median of its column in the training part. The
      bandwidth of the column is learned from the numbers that are there.
    * A missing category is a category of its own.
    * Every column with missing cells in the training part gets one more kernel, "`name` is
      missing": 1 for two cells that are both missing or both there, 0 otherwise. So that a cell is
      missing can be a reason.
    * In a column without missing cells in training, a new missing number is the median, and a new
      missing category is like one that was not seen.

    A category that was not seen in training is like no training sample: its similarity is 0. A
    column that is constant in the training part, also one without any cell, gets the constant
    kernel 1: it cannot separate anything, and a new value at prediction time is not penalised.

    Parameters
    ----------
    categorical : sequence of str and int, optional
        Columns of numbers to compare as categories, such as codes: by name, or by place.
    tolerance : float, optional
        As for `PerFeatureGaussian`.
    dtype : float64 or float32
        As for `PerFeatureGaussian`.
    kernels : ColumnKernels, optional
        Set by `adapt`.

    Notes
    -----
    Categories are numbered, and the overlap kernel is computed as a Gaussian kernel so narrow that
    it vanishes between different numbers: it is below 1e-260 there, and below 1e-25 in single
    precision. All kernels are then those of one `PerFeatureGaussian`, which a fit uses.

    Examples
    --------
    >>> X = [[1.0, "a"], [3.0, "b"], [None, "a"], [5.0, None]]
    >>> bank = PerColumn().adapt(X)
    >>> bank.kernel_names()
    ['x0', 'x1', 'x0 is missing', 'x1 is missing']
    >>> bank.evaluate(1, X).round()
    array([[1., 0., 1., 0.],
           [0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """

    categorical: Sequence[str | int] | None = None
    tolerance: float | None = 1e-6
    dtype: DTypeLike = np.float64
    kernels: ColumnKernels | None = None

    reads = "tables"
    _has_unit_diagonal = True

    def __post_init__(self) -> None:
        listed = self.categorical
        is_list = listed is None or (not isinstance(listed, str) and np.ndim(listed) == 1)
        if not is_list or not all(_is_key(key) for key in self._keys):
            raise ValueError(
                f"PerColumn(categorical={listed!r}) must be a list of names or places of columns, "
                "such as ['code', 3]. Leave it out to compare numbers as numbers."
            )
        # Checks the settings that are passed on to it.
        PerFeatureGaussian(tolerance=self.tolerance, dtype=self.dtype)

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return int(self._table.columns.size)

    @property
    def kernel_columns(self) -> IntArray:
        """The column that each kernel reads."""
        return self._table.columns

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> PerColumn:
        """The bank with medians, categories and bandwidths of the training part."""
        table = read_table(X)
        known = self.kernels
        if known is None:
            is_category = self._find_categorical(table)
        else:
            require_columns(known.columns, table.shape[1])
            is_category = np.array([column.categories is not None for column in table.columns])
            is_value = ~known.is_mark
            is_category[known.columns[is_value]] = [
                words is not None
                for words, is_used in zip(known.vocabularies, is_value, strict=True)
                if is_used
            ]
        fresh = learn_columns(table, sample_weight, is_category)
        return replace(self, kernels=fresh if known is None else known.relearned(fresh))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        return self.select([index]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``; kernels of zero weight are never evaluated."""
        weights = self._check_weights(weights)
        used = np.flatnonzero(weights)
        smaller = self.select(used)
        return smaller._bank.combine(weights[used], *smaller._encode(X, Y))

    def _compare_new(self, weights: FloatArray, X: Any, Y: Any) -> FloatArray:
        return self._bank._compare_new(weights, *self._encode(X, Y))

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l: the adjoint of `combine`."""
        return self._bank.contract(M, *self._encode(X, Y))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only."""
        return self._bank.pairs(self._encode(X)[0], rows, columns, dtype)

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l."""
        return self._bank.contract_pairs(values, self._encode(X)[0], rows, columns)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples."""
        return self._bank.contract_rows(rows, row_weights, self._encode(X)[0], mixes)

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading all columns."""
        return replace(self, kernels=self._table.at(check_indices(indices, self.n_kernels)))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The column's name, and "`name` is missing" for the kernels that compare just that."""
        table = self._table
        if feature_names is None:
            return list(table.labels)
        names = [str(feature_names[column]) for column in table.columns]
        marks = table.is_mark.tolist()
        return [mark_name(n) if is_mark else n for n, is_mark in zip(names, marks, strict=True)]

    @property
    def _columns(self) -> IntArray:
        return np.unique(self._table.columns)

    def _on_columns(self, columns: ArrayLike) -> Self:
        places = find_columns(self._table.columns, columns)
        return replace(self, kernels=replace(self._table, columns=places))

    def _take(self, X: Any, indices: ArrayLike) -> Table:
        return read_table(X)[np.asarray(indices, dtype=np.intp)]

    _subset = _take

    def _tabulate(self, X: Any) -> tuple[PerFeatureGaussian, FloatArray]:
        return self._bank, self._encode(X)[0]

    def _in_single_precision(self) -> Self:
        return replace(self, dtype=np.float32)

    def _display_values(self, X: Table, row: int) -> list[Cell]:
        """What each kernel reads in a row: the cell, or whether it is missing."""
        cells, table = X.display_values(row), self._table
        kinds = zip(table.columns.tolist(), table.is_mark.tolist(), strict=True)
        return [cells[column] is None if is_mark else cells[column] for column, is_mark in kinds]

    @property
    def _table(self) -> ColumnKernels:
        return self._require_adapted(self.kernels)

    @property
    def _keys(self) -> tuple[Any, ...]:
        return () if self.categorical is None else tuple(self.categorical)

    @property
    def _bank(self) -> PerFeatureGaussian:
        """The kernels on encoded tables: kernel l reads column l."""
        rates = self._table.rates
        return PerFeatureGaussian(
            tolerance=self.tolerance,
            dtype=self.dtype,
            kernels=FeatureKernels(np.arange(rates.size), np.ones(rates.size), rates),
        )

    def _encode(self, X: Any, Y: Any = None) -> tuple[FloatArray, ...]:
        tables = [read_table(samples) for samples in (X, Y) if samples is not None]
        for table in tables:
            require_columns(self._table.columns, table.shape[1])
        return self._table.encode(*tables)

    def _find_categorical(self, table: Table) -> BoolArray:
        """Which columns are compared as categories."""
        is_category = np.array([column.categories is not None for column in table.columns])
        for key in self._keys:
            place = table.names.index(key) if key in table.names else key
            if isinstance(place, str) or not 0 <= place < len(table.columns):
                raise ValueError(
                    f"PerColumn(categorical=...) lists {key!r}, expected names of columns or "
                    f"places from 0 to {len(table.columns) - 1}. The columns are "
                    f"{', '.join(table.names[:10])}{', ...' if len(table.names) > 10 else ''}."
                )
            is_category[place] = True
        return is_category


def learn_columns(
    table: Table, sample_weight: ArrayLike | None, is_category: BoolArray
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
    roots[whole] = root_mean_squared_difference(table.values[:, whole], sample_weight)
    table, shares = table[used], shares[used]
    for column in range(n_columns):
        if is_category[column]:
            codes = np.unique(table.values[:, column])
            categories = tuple(table.columns[column].show(code) for code in codes)
            vocabularies[column] = categories
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
    first = next((category for category in vocabulary if category is not None), None)
    if is_text and is_number and first is not None:
        raise ValueError(
            f"Column {table.names[column]!r} holds numbers such as {float(distinct[0]):g}, but "
            f"text such as {first!r} in the training part. Pass text, for "
            "example with astype(str), in fit and in predict."
        )


def _is_key(key: Any) -> bool:
    return isinstance(key, str | int | np.integer) and not isinstance(key, bool)
