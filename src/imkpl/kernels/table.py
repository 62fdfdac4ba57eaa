"""One kernel per column of a table with categories and missing cells, or per word of documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    ColumnwiseKernels,
    check_pairs,
    check_rows,
    check_sample_weight,
    inside,
    iterate_blocks,
)
from imkpl.kernels.forms import (
    Form,
    Groups,
    group_keys,
    group_rows,
    order_groups,
    ordered_records,
    validate,
    validate_numbers,
)
from imkpl.kernels.per_feature import (
    FeatureKernels,
    GaussianKernels,
    invert_roots,
    root_mean_squared_difference,
)
from imkpl.tables import Table, as_cells, as_frame, read_table

# One over the width of a Gaussian kernel on codes 0, 1, ...: exp(-1000) is 0 beside any number, and
# all kernels of a table are then those of one `PerFeatureGaussian`.
OVERLAP_RATE = 1000.0**0.5
# How far a missing or unknown category is from the steps of an order.
FAR_STEP = 10_000
# Halves of a sum of weights are equal up to this part of it.
TIE = 1e-12

# The similarity of two documents of which one lacks the word, before kernels are scaled. Above 0,
# so that no document and no mix of documents has the norm 0.
ABSENT = 1e-3
FLOOR = ABSENT / (1 + ABSENT)

# The categories of a column, None among them where cells were missing.
Vocabulary = tuple[Hashable, ...]


def encoded_before(name: str) -> Any:
    """A method that returns kernels on samples which were encoded before."""

    def call(self: TableKernels, *arguments: Any) -> TableKernels:
        changed: TableKernels = getattr(super(TableKernels, self), name)(*arguments)
        vars(changed)["features"] = getattr(self.features, name)(*arguments)
        return changed

    return call


@dataclass(frozen=True, eq=False, kw_only=True)
class TableKernels(GaussianKernels):
    """Kernels on columns of tables, computed as Gaussian kernels on columns of numbers."""

    is_mark: BoolArray  # whether a kernel compares only if the cell is missing
    fills: FloatArray  # the number that stands for a missing one; NaN if none was in training
    categories: tuple[Vocabulary | None, ...]  # those in training; None for numbers, marks

    input_kind: ClassVar[str] = "tables"
    per_kernel = ("columns", "is_mark", "rates", "fills", "categories")
    sample_type: ClassVar[Any] = Table
    widths = None

    evaluate = inside("evaluate", "features")
    combine = inside("combine", "features")
    combine_few = inside("combine_few", "features")
    contract = inside("contract", "features")
    contract_rows = inside("contract_rows", "features")
    contract_pairs = inside("contract_pairs", "features")
    pairs = inside("pairs", "features")
    gaps = inside("gaps", "features")

    @cached_property
    def features(self) -> FeatureKernels:
        """The same kernels on the encoded tables: kernel l reads column l."""
        tables = (self.samples,) if self.is_square else (self.samples, self.others)
        return FeatureKernels(
            *self.encode(*tables),
            columns=np.arange(self.n_kernels),
            rates=self.rates,
            precision=self.precision,
        )

    def encode(self, *tables: Table) -> tuple[FloatArray, ...]:
        """Tables as numbers, kernel l reading column l; new categories get codes of their own."""
        encoded = tuple(np.empty((len(table), self.n_kernels)) for table in tables)
        for kernel, column in enumerate(self.columns.tolist()):
            vocabulary = self.categories[kernel]
            if vocabulary is not None:
                # Beyond the steps of an order there is nothing near.
                beyond = FAR_STEP if self.is_ordered[kernel] else 0
                codes = _encode_categories(tables, column, vocabulary, beyond)
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

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The column's name, and "`name` is missing" for the kernels that compare just that."""
        columns, names = self.kernel_columns, feature_names
        if names is None:
            columns, names = self.columns, self.samples.names
        kinds = zip(columns.tolist(), self.is_mark.tolist(), strict=True)
        return [f"{names[c]} is missing" if is_mark else str(names[c]) for c, is_mark in kinds]

    def rounded(self) -> TableKernels:
        changed = replace(self)
        vars(changed)["features"] = self.features.rounded()
        return changed

    select = encoded_before("select")
    take = encoded_before("take")
    between = encoded_before("between")
    stretched = encoded_before("stretched")
    in_single_precision = encoded_before("in_single_precision")

    @property
    def is_ordered(self) -> BoolArray:
        """Which kernels compare categories by their order."""
        has_words = np.array([words is not None for words in self.categories])
        return np.asarray(has_words & (self.rates > 0) & (self.rates != OVERLAP_RATE))

    @property
    def has_bandwidths(self) -> BoolArray:
        return np.array([words is None for words in self.categories]) & ~self.is_mark

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Table, Form]:
        least = 2 if form.n_features is None else 1
        rows, form = ordered_records(X, form, None)
        if not isinstance(rows, Table) and as_frame(rows) is None:
            options = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": least}
            cells, form = validate(as_cells(rows), form, **options)
            return read_table(cells), form
        # The checks of arrays would turn a frame into one array of objects.
        _, form = validate(rows, form, skip_check_array=True)
        table = read_table(rows)
        if len(table) < least:
            raise ValueError(
                "X has 1 row, expected at least 2 to learn from. Check how X was selected."
            )
        return table, form

    @classmethod
    def find_equal(cls, samples: Table, rows: IntArray, labels: IntArray) -> Groups:
        # Missing cells are equal, but NaN are not; a table has no infinite numbers.
        cells = np.where(np.isnan(samples.values), np.inf, samples.values)
        return order_groups(samples.values, rows, group_rows(cells, rows, labels), labels)

    def cells(self, row: int) -> list[Any] | None:
        """What each kernel reads in a row: the cell, or whether it is missing."""
        cells = self.samples.display_values(row)
        kinds = zip(self.columns.tolist(), self.is_mark.tolist(), strict=True)
        return [cells[column] is None if is_mark else cells[column] for column, is_mark in kinds]

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, self.samples.display_values(row), strict=True))

    def vocabularies(self) -> Sequence[Vocabulary | None]:
        return self.categories

    def numbers(self) -> FloatArray:
        used = self.samples[:, np.unique(self.columns)]
        is_number = [column.categories is None for column in used.columns]
        return np.where(is_number, used.values, np.nan)

    def keys(self, samples: Table | None = None) -> list[bytes]:
        table = self.samples if samples is None else samples
        # Tables number their categories as they come, so cells are compared as they were given.
        return [json.dumps(table.display_values(row)).encode() for row in range(len(table))]

    def rule(self, index: int) -> dict[str, Any]:
        found = {"kind": "number", "rate": float(self.rates[index])}
        if self.is_mark[index]:
            return {**found, "kind": "missing"}
        if self.categories[index] is not None:
            order = {"order": self.categories[index]} if self.is_ordered[index] else {}
            return {**found, "kind": "category", **order}
        fill = float(self.fills[index])
        return found if np.isnan(fill) else {**found, "fill": fill}

    def check(self, form: Form) -> None:
        super().check(form)
        for column, values in zip(self.samples.columns, self.samples.values.T, strict=True):
            codes = values[~np.isnan(values)]
            known = codes if column.categories is None else np.arange(len(column.categories))
            require(
                np.isfinite(codes).all() and np.isin(codes, known).all(),
                f"the table has numbers that stand for no category of {column.name!r}",
            )


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
      missing": 1 for two cells that are both missing or both there, 0 otherwise.
    * In a column without missing cells in the training part, a missing cell of a new sample says
      nothing: it is as similar to a training sample as the training samples are on average.

    A category that was not seen in training is like no training sample: its similarity is 0. A
    column that is constant in the training part, also one without any cell, gets the constant
    kernel 1.

    Examples
    --------
    >>> X = [[1.0, "a"], [3.0, "b"], [None, "a"], [5.0, None]]
    >>> kernels = PerColumn().on(X)
    >>> kernels.kernel_names()
    ['x0', 'x1', 'x0 is missing', 'x1 is missing']
    >>> kernels.evaluate(1).round()
    array([[1., 0., 1., 0.],
           [0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """

    kind = TableKernels

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> TableKernels:
        samples = read_table(X)
        shares = check_sample_weight(sample_weight, len(samples))
        used = np.flatnonzero(shares)
        is_category = np.array([column.categories is not None for column in samples.columns])
        is_missing = np.isnan(samples.values[used])
        n_columns = samples.shape[1]
        roots, fills = np.zeros(n_columns), np.full(n_columns, np.nan)
        vocabularies: list[Vocabulary | None] = [None] * n_columns
        whole = np.flatnonzero(~is_category & ~is_missing.any(axis=0))
        # All at once and with the weights as given, as PerFeatureGaussian does: to the last bit.
        roots[whole] = root_mean_squared_difference(samples.values[:, whole], sample_weight)
        table, shares = samples[used], shares[used]
        for column in range(n_columns):
            if is_category[column]:
                codes = np.unique(table.values[:, column])
                categories = tuple(table.columns[column].show(code) for code in codes)
                vocabularies[column] = categories
                if table.columns[column].is_ordered:
                    words, steps = table.columns[column].categories or (), codes[~np.isnan(codes)]
                    has_gap = (None,) if steps.size < codes.size else ()
                    vocabularies[column] = (*words, *has_gap)
                    seen = np.flatnonzero(~is_missing[:, column])
                    values = table.values[seen, column, np.newaxis]
                    roots[column] = root_mean_squared_difference(values, shares[seen])[0]
                    continue
                # One category is constant, and another one at prediction time is not penalised.
                roots[column] = 1.0 / OVERLAP_RATE if len(categories) > 1 else 0.0
                continue
            seen = np.flatnonzero(~is_missing[:, column])
            values = table.values[seen, column]
            if seen.size < len(table):
                fills[column] = weighted_median(values, shares[seen]) if seen.size else 0.0
            if 0 < seen.size < len(table):
                roots[column] = root_mean_squared_difference(values[:, np.newaxis], shares[seen])[0]
        marked = np.flatnonzero(is_missing.any(axis=0))
        varies = ~is_missing[:, marked].all(axis=0)
        return TableKernels(
            samples=samples,
            columns=np.concatenate([np.arange(n_columns), marked]),
            is_mark=np.repeat([False, True], [n_columns, marked.size]),
            rates=np.concatenate([invert_roots(roots), np.where(varies, OVERLAP_RATE, 0.0)]),
            fills=np.concatenate([fills, np.zeros(marked.size)]),
            categories=(*vocabularies, *[None] * marked.size),
        )


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The median of a sample in which each value counts as often as its weight says."""
    order = np.argsort(values, kind="stable")
    heaps = np.cumsum(weights[order])
    half, tie = 0.5 * heaps[-1], TIE * heaps[-1]
    low, high = np.searchsorted(heaps, [half - tie, half + tie])
    lower, upper = values[order[low]], values[order[min(high, order.size - 1)]]
    return float(lower if lower == upper else 0.5 * lower + 0.5 * upper)


def _encode_categories(
    tables: tuple[Table, ...], column: int, vocabulary: Vocabulary, beyond: int = 0
) -> list[FloatArray]:
    places: dict[Hashable, int] = {
        category: place + beyond * (category is None) for place, category in enumerate(vocabulary)
    }
    encoded: list[FloatArray] = []
    for table in tables:
        # The distinct numbers of the column, NaN as the last of them.
        distinct, group = np.unique(table.values[:, column], return_inverse=True)
        _require_categories(table, column, vocabulary)
        shown = [table.columns[column].show(number) for number in distinct]
        codes = [
            # Where no cell was missing in training, a missing one says nothing.
            np.nan
            if category is None and None not in places
            else places.setdefault(category, len(places) * (1 + beyond))
            for category in shown
        ]
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


def _require_categories(table: Table, column: int, vocabulary: Vocabulary) -> None:
    """Raise where numbers stand in a column that was text in training: '3' is not 3."""
    words = [category for category in vocabulary if category is not None]
    is_text = bool(words) and all(isinstance(word, str) for word in words)
    numbers = table.values[:, column]
    numbers = numbers[~np.isnan(numbers)]
    if is_text and table.columns[column].categories is None and numbers.size:
        raise ValueError(
            f"Column {table.names[column]!r} holds numbers such as {numbers.min():g}, but text "
            f"such as {words[0]!r} in the training part. Pass text, for example with astype(str), "
            "in fit and in predict."
        )


# Counts of words


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of words, indexed like arrays; documents keep the lengths that they had at first."""

    counts: sp.csr_array  # (n_documents, n_words)
    lengths: FloatArray  # (n_documents,): the norm of the damped counts of all words

    ndim = 2

    @classmethod
    def read(cls, X: Any) -> Documents:
        """Documents from a sparse matrix or an array; documents are returned unchanged."""
        if isinstance(X, Documents):
            return X
        counts = sp.csr_array(X, dtype=np.float64, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        squares = np.bincount(_rows_of(counts), damp(counts.data) ** 2, counts.shape[0])
        return cls(counts, np.sqrt(squares))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of documents and of words."""
        return int(self.counts.shape[0]), int(self.counts.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Documents:
        rows, columns = key if isinstance(key, tuple) else (key, ...)
        counts = sp.csr_array(self.counts[rows])
        if columns is not ...:
            counts = sp.csr_array(counts[:, columns])
        return Documents(counts, self.lengths[rows])

    def values(self, columns: IntArray, rates: FloatArray) -> sp.csr_array:
        """Damped counts of some words in documents of unit length, times a factor per word."""
        counts = sp.csr_array(self.counts[:, columns])
        inverse = 1.0 / np.where(self.lengths > 0, self.lengths, 1.0)
        data = damp(counts.data) * inverse[_rows_of(counts)] * rates[counts.indices]
        return sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)

    def keys(self) -> list[bytes]:
        """One key per document, equal for equal documents."""
        indices, data = self.counts.indices.astype("<i8"), self.counts.data.astype("<f8")
        parts = (
            indices[start:end].tobytes() + data[start:end].tobytes()
            for start, end in pairwise(self.counts.indptr)
        )
        return [hashlib.blake2b(part, digest_size=16).digest() for part in parts]


def damp(counts: FloatArray) -> FloatArray:
    """``log(1 + count)``: a word that is repeated ten times does not say ten times as much."""
    return np.asarray(np.sign(counts) * np.log1p(np.abs(counts)))


@dataclass(frozen=True, eq=False, kw_only=True)
class WordKernels(ColumnwiseKernels):
    """Kernels on words of documents."""

    input_kind: ClassVar[str] = "words"
    sample_type: ClassVar[Any] = Documents
    column_word: ClassVar[str] = "word"
    absent: ClassVar[Any] = 0.0
    # One word more is a longer document.
    has_free_cells: ClassVar[bool] = False
    has_unit_norms = True
    default_sparsity = None

    @cached_property
    def left(self) -> sp.csr_array:
        """What the kernels multiply: one row per document, one column per kernel."""
        return self.samples.values(self.columns, self.rates)

    @cached_property
    def right(self) -> sp.csr_array:
        """The same for the documents of the columns."""
        return self.left if self.is_square else self.others.values(self.columns, self.rates)

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights = self.check_weights(weights)
        used = np.flatnonzero(weights)
        left = self.left[:, used]
        right = left if self.is_square else self.right[:, used]
        turned = sp.csr_array((right * weights[used]).T)
        total = np.empty(self.shape)
        for block in iterate_blocks(self.shape[0], 24 * self.shape[1]):
            total[block] = (left[block] @ turned).toarray()
        total += FLOOR * weights.sum()
        return (total + total.T) / 2 if self.is_square else total

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix = self.check_matrix(M)
        products = np.full(self.n_kernels, FLOOR * matrix.sum())
        for block in iterate_blocks(self.shape[0], 16 * self.n_kernels):
            products += self.left[block].multiply(matrix[block] @ self.right).sum(axis=0)
        return np.asarray(products)

    def contract_rows(self, rows: Any, row_weights: ArrayLike, mixes: Any = None) -> FloatArray:
        values = self.left
        rows, factors, mixes = check_rows(rows, row_weights, values.shape[0], mixes)
        sizes = rows.sum(axis=1)
        if mixes is not None:
            sizes = rows @ np.concatenate([np.ones(values.shape[0]), mixes.sum(axis=1)])
            values = sp.csr_array(sp.vstack([values, mixes @ values]))
        products = np.zeros((self.n_kernels, *factors.shape[1:])) + FLOOR * (sizes**2 @ factors)
        for block in iterate_blocks(rows.shape[0], 48 * self.n_kernels):
            sums = rows[block] @ values
            products += sums.multiply(sums).T @ factors[block]
        return np.asarray(products)

    def contract_pairs(self, values: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        words, n_samples = self.left, self.shape[0]
        rows, columns = check_pairs(rows, columns, n_samples, values)
        factors = np.asarray(values, dtype=np.float64)
        sums = sp.csr_array((factors, (rows, columns)), shape=(n_samples, n_samples)) @ words
        return np.asarray(words.multiply(sums).sum(axis=0) + FLOOR * factors.sum())

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        values = self.left
        rows, columns = check_pairs(rows, columns, values.shape[0])
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        for block in iterate_blocks(rows.size, 24 * self.n_kernels):
            out[block] = values[rows[block]].multiply(values[columns[block]]).toarray() + FLOOR
        return out

    def mean_diagonal(self, shares: FloatArray) -> FloatArray:
        return np.asarray(self.left.multiply(self.left).T @ shares + FLOOR * shares.sum())

    def compare_mixes(self, mixes: Any) -> FloatArray:
        mixed = sp.csr_array(mixes @ self.right).toarray()
        products = self.left.toarray()[:, np.newaxis, :] * mixed
        return np.asarray(products + FLOOR * np.asarray(mixes.sum(axis=1))[:, np.newaxis])

    def with_mixes(self, mixes: Any) -> Self:
        documents = self.samples
        everything = np.arange(documents.shape[1])
        mixed = sp.csr_array(mixes @ documents.values(everything, np.ones(everything.size)))
        # Damped, these counts in documents of unit length are what was mixed.
        mixed.data = np.sign(mixed.data) * np.expm1(np.abs(mixed.data))
        counts = sp.csr_array(sp.vstack([documents.counts, mixed]))
        lengths = np.append(documents.lengths, np.ones(mixed.shape[0]))
        return replace(self, samples=Documents(counts, lengths))

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Documents, Form]:
        counts, form = validate_numbers(*ordered_records(X, form, cls.absent), accept_sparse="csr")
        return Documents.read(counts), form

    @classmethod
    def find_equal(cls, samples: Documents, rows: IntArray, labels: IntArray) -> Groups:
        keys = samples[rows].keys()
        return group_keys([key.hex() for key in keys], labels)

    def cells(self, row: int) -> list[Any] | None:
        return self.samples.counts[[row]].toarray()[0, self.columns].tolist()  # type: ignore[no-any-return]

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        counts = self.samples.counts[[row]].toarray()[0].tolist()
        return {name: count for name, count in zip(names, counts, strict=True) if count}

    def keys(self, samples: Documents | None = None) -> list[bytes]:
        return (self.samples if samples is None else samples).keys()

    def check(self, form: Form) -> None:
        super().check(form)
        lengths = self.samples.lengths
        is_right = lengths.shape == (len(self.samples),) and not (lengths < 0).any()
        require(is_right, "there is not one length of at least 0 for each document")


@dataclass(frozen=True, eq=False)
class PerWord(BaseKernelBank):
    """A kernel on each word of documents, so that a kernel's weight is a word's weight.

    ``K_l(x, y) = z_l(x) z_l(y) / mean(z_l ** 2)``, where ``z(x)`` is ``log(1 + counts)`` of the
    document scaled to unit length. Two documents are not similar because both lack a word, as
    they would be for a Gaussian kernel. The mean square is that of the training part and weighs
    words like an inverse document frequency.

    The bank reads sparse matrices, which are never made dense, and arrays: counts of words, or
    tf-idf weights, and whatever else is mostly 0 where 0 means that something is not there.
    ``K_l(x, x)`` is 1 on average over the training part, not for every document.

    Examples
    --------
    >>> X = sp.csr_array([[3, 0, 1], [1, 0, 0], [0, 2, 2]])
    >>> kernels = PerWord().on(X)
    >>> kernels.evaluate(1).round(2)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 3.]])
    """

    kind = WordKernels

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> WordKernels:
        documents = Documents.read(X)
        shares = check_sample_weight(sample_weight, len(documents))
        columns = np.arange(documents.shape[1])
        values = documents.values(columns, np.ones(columns.size))
        squares = values.multiply(values).T @ shares
        is_used = squares > 0
        squares = (1 + ABSENT) * np.where(is_used, squares, 1.0)
        rates = np.where(is_used, 1.0 / np.sqrt(squares), 0.0)
        return WordKernels(samples=documents, columns=columns, rates=rates)


def _rows_of(matrix: sp.csr_array) -> IntArray:
    """The row of every stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
