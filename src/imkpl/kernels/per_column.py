"""One kernel per column of a table with categories and missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import BaseKernelBank, Report
from imkpl.kernels.checks import check_indices
from imkpl.kernels.column_codes import ColumnKernels, learn_columns, mark_name
from imkpl.kernels.per_feature import FeatureKernels, PerFeatureGaussian
from imkpl.tables import Cell, Table, read_table


@dataclass(frozen=True, eq=False)
class PerColumn(BaseKernelBank):
    """A kernel on each column of a table, so that a kernel's weight is a column's weight.

    Columns of numbers get the Gaussian kernel of `PerFeatureGaussian`. Columns of categories get
    the overlap kernel, 1 for two equal categories and 0 for others. What is read as which is said
    at :func:`imkpl.tables.read_table`.

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
    working_memory : float
        Memory for copies of the data, in MiB. Results do not depend on it.
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
    precision. All kernels are then those of one `PerFeatureGaussian`, and `tabulate` gives just
    that.

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
    working_memory: float = 256
    tolerance: float | None = 1e-6
    dtype: DTypeLike = np.float64
    kernels: ColumnKernels | None = None

    def __post_init__(self) -> None:
        listed = self.categorical
        is_list = listed is None or (not isinstance(listed, str) and np.ndim(listed) == 1)
        if not is_list or not all(_is_key(key) for key in self._keys):
            raise ValueError(
                f"PerColumn(categorical={listed!r}) must be a list of names or places of columns, "
                "such as ['code', 3]. Leave it out to compare numbers as numbers."
            )
        # Checks the settings that are passed on to it.
        PerFeatureGaussian(
            working_memory=self.working_memory, tolerance=self.tolerance, dtype=self.dtype
        )

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return int(self._table.columns.size)

    @property
    def requires_vector_input(self) -> bool:
        """Never: samples are rows of tables."""
        return False

    @property
    def reads_tables(self) -> bool:
        """Always: samples are rows of tables."""
        return True

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: both kernels are 1 for equal cells."""
        return True

    @property
    def columns(self) -> IntArray:
        """The sorted columns that the kernels read."""
        return np.unique(self._table.columns)

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
            self._check_width(table)
            is_category = np.array([column.categories is not None for column in table.columns])
            is_value = ~known.is_mark
            is_category[known.columns[is_value]] = [
                words is not None
                for words, is_used in zip(known.vocabularies, is_value, strict=True)
                if is_used
            ]
        fresh = learn_columns(table, sample_weight, is_category, self.working_memory)
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

    def take(self, X: Any, indices: ArrayLike) -> Table:
        """The listed rows."""
        return read_table(X)[np.asarray(indices, dtype=np.intp)]

    def subset(self, X: Any, indices: ArrayLike) -> Table:
        """The table cut down to the listed rows."""
        return self.take(X, indices)

    def tabulate(
        self, X: Any, report: Report | None = None
    ) -> tuple[PerFeatureGaussian, FloatArray]:
        """Numbers in the place of cells, and the Gaussian kernels that read them."""
        return self._bank, self._encode(X)[0]

    def in_single_precision(self) -> Self:
        """The same kernels, combined in single precision."""
        return replace(self, dtype=np.float32)

    def within_memory(self, working_memory: float) -> Self:
        """The same kernels, with copies of the data of a limited size."""
        return replace(self, working_memory=min(self.working_memory, working_memory))

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading all columns."""
        return replace(self, kernels=self._table.at(check_indices(indices, self.n_kernels)))

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading tables that were cut down to the listed columns."""
        kept = np.asarray(columns, dtype=np.intp).tolist()
        missing = np.setdiff1d(self.columns, kept)
        if missing.size:
            raise ValueError(
                f"on_columns() lacks column {missing[0]}, which a kernel reads. Keep all of the "
                "bank's `columns`, or select() the other kernels first."
            )
        return replace(self, kernels=self._table.on_columns(kept))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The column's name, and "`name` is missing" for the kernels that compare just that."""
        table = self._table
        if feature_names is None:
            return list(table.labels)
        names = [str(feature_names[column]) for column in table.columns]
        marks = table.is_mark.tolist()
        return [mark_name(n) if is_mark else n for n, is_mark in zip(names, marks, strict=True)]

    def display_values(self, X: Table, row: int) -> list[Cell]:
        """What each kernel reads in a row, as plain Python objects.

        Parameters
        ----------
        X : Table
            With the columns that the kernels read.
        row : int
            Which row.

        Returns
        -------
        list of str, bool, int, float or None
            The cell, None where it is missing; for the kernels "`name` is missing" whether it is.
        """
        cells, table = X.display_values(row), self._table
        kinds = zip(table.columns.tolist(), table.is_mark.tolist(), strict=True)
        return [cells[column] is None if is_mark else cells[column] for column, is_mark in kinds]

    @property
    def _keys(self) -> tuple[Any, ...]:
        return () if self.categorical is None else tuple(self.categorical)

    @property
    def _table(self) -> ColumnKernels:
        if self.kernels is None:
            raise ValueError(
                "The kernels of this PerColumn are not known yet, because they depend on the "
                "training part. Call adapt(X) first and use the bank that it returns."
            )
        return self.kernels

    @property
    def _bank(self) -> PerFeatureGaussian:
        """The kernels on encoded tables: kernel l reads column l."""
        rates = self._table.rates
        return PerFeatureGaussian(
            working_memory=self.working_memory,
            tolerance=self.tolerance,
            dtype=self.dtype,
            kernels=FeatureKernels(np.arange(rates.size), np.ones(rates.size), rates),
        )

    def _encode(self, X: Any, Y: Any = None) -> tuple[FloatArray, ...]:
        tables = [read_table(samples) for samples in (X, Y) if samples is not None]
        for table in tables:
            self._check_width(table)
        return self._table.encode(*tables)

    def _check_width(self, table: Table) -> None:
        n_needed = int(self._table.columns.max(initial=-1)) + 1
        if table.shape[1] < n_needed:
            raise ValueError(
                f"The table has {table.shape[1]} columns, but a kernel reads column "
                f"{n_needed - 1}. Pass a table with the columns of the training part."
            )

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


def _is_key(key: Any) -> bool:
    return isinstance(key, str | int | np.integer) and not isinstance(key, bool)
