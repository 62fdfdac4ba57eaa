"""One kernel per word of documents: what both contain is a likeness, what both lack is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    KernelTable,
    check_indices,
    check_pair_values,
    check_pairs,
    check_rows,
    check_sample_weight,
    find_columns,
    iterate_blocks,
    require_columns,
)

# The similarity of two documents of which one lacks the word, before kernels are scaled. Above 0,
# so that no document and no mix of documents has the norm 0.
ABSENT = 1e-3
FLOOR = ABSENT / (1 + ABSENT)


@dataclass(frozen=True, eq=False, repr=False)
class Documents:
    """Counts of words, sparse, with the length of every document over all words.

    Documents are indexed like arrays by rows and columns. A document keeps its length when words
    are left out, so that a word counts as much as it did among all of them.
    """

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

    def __repr__(self) -> str:
        return f"Documents({self.shape[0]} documents, {self.shape[1]} words)"

    def values(self, columns: IntArray, rates: FloatArray) -> sp.csr_array:
        """Damped counts of some words in documents of unit length, times a factor per word."""
        counts = sp.csr_array(self.counts[:, columns])
        inverse = 1.0 / np.where(self.lengths > 0, self.lengths, 1.0)
        data = damp(counts.data) * inverse[_rows_of(counts)] * rates[counts.indices]
        return sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def damp(counts: FloatArray) -> FloatArray:
    """``log(1 + count)``: a word that is repeated ten times does not say ten times as much."""
    return np.asarray(np.sign(counts) * np.log1p(np.abs(counts)))


@dataclass(frozen=True, eq=False)
class WordKernels(KernelTable):
    """The kernels of an adapted `PerWord`, one entry per kernel."""

    columns: IntArray  # the word that each kernel reads
    rates: FloatArray  # its factor; 0 for words that do not occur


@dataclass(frozen=True, eq=False)
class PerWord(BaseKernelBank):
    """A kernel on each word of documents, so that a kernel's weight is a word's weight.

    ``K_l(x, y) = z_l(x) z_l(y) / mean(z_l ** 2)``, where ``z(x)`` is ``log(1 + counts)`` of the
    document scaled to unit length. That two documents both lack a word is no likeness, as it would
    be to a Gaussian kernel. The mean square is that of the training part and weighs words like an
    inverse document frequency.

    The bank reads sparse matrices, which are never made dense, and arrays: counts of words, or
    tf-idf weights, and whatever else is mostly 0 where 0 means that something is not there.

    Parameters
    ----------
    kernels : WordKernels, optional
        Set by `adapt`.

    Notes
    -----
    ``K_l(x, x)`` is 1 on average over the training part, not for every document. 0.001 is added
    to all values before they are scaled to that, so that a document without any of the words that a
    model keeps has a norm as well.

    Examples
    --------
    >>> X = sp.csr_array([[3, 0, 1], [1, 0, 0], [0, 2, 2]])
    >>> bank = PerWord().adapt(X)
    >>> bank.evaluate(1, X).round(2)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 3.]])
    >>> round(float(np.diagonal(bank.evaluate(0, X)).mean()), 6)
    1.0
    """

    kernels: WordKernels | None = None

    reads = "words"
    _has_unit_norms = True
    _default_sparsity = None

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return int(self._table.columns.size)

    @property
    def kernel_columns(self) -> IntArray:
        """The word that each kernel reads."""
        return self._table.columns

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> PerWord:
        """The bank with the mean square of every word in the training part."""
        documents = Documents.read(X)
        shares = check_sample_weight(sample_weight, len(documents))
        known = self.kernels
        columns = np.arange(documents.shape[1]) if known is None else known.columns
        values = self._values(documents, WordKernels(columns, np.ones(columns.size)))
        squares = values.multiply(values).T @ shares
        is_used = squares > 0
        squares = (1 + ABSENT) * np.where(is_used, squares, 1.0)
        rates = np.where(is_used, 1.0 / np.sqrt(squares), 0.0)
        return replace(self, kernels=WordKernels(columns, rates))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        return self.select([index]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``; kernels of zero weight are never evaluated."""
        weights = self._check_weights(weights)
        used = np.flatnonzero(weights)
        table = self._table.at(used)
        left = self._values(X, table)
        right = left if Y is None else self._values(Y, table)
        turned = sp.csr_array((right * weights[used]).T)
        total = np.empty((left.shape[0], right.shape[0]))
        for block in iterate_blocks(left.shape[0], 24 * right.shape[0]):
            total[block] = (left[block] @ turned).toarray()
        total += FLOOR * weights.sum()
        return (total + total.T) / 2 if Y is None else total

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l: the adjoint of `combine`."""
        matrix, left = self._check_matrix(M, X, Y), self._values(X)
        right = left if Y is None else self._values(Y)
        products = np.full(self.n_kernels, FLOOR * matrix.sum())
        for block in iterate_blocks(left.shape[0], 16 * self.n_kernels):
            products += left[block].multiply(matrix[block] @ right).sum(axis=0)
        return np.asarray(products)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples."""
        values = self._values(X)
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

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l."""
        words = self._values(X)
        n_samples = words.shape[0]
        rows, columns = check_pairs(rows, columns, n_samples)
        factors = check_pair_values(values, rows.size)
        sums = sp.csr_array((factors, (rows, columns)), shape=(n_samples, n_samples)) @ words
        return np.asarray(words.multiply(sums).sum(axis=0) + FLOOR * factors.sum())

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only."""
        values = self._values(X)
        rows, columns = check_pairs(rows, columns, values.shape[0])
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        for block in iterate_blocks(rows.size, 24 * self.n_kernels):
            out[block] = values[rows[block]].multiply(values[columns[block]]).toarray() + FLOOR
        return out

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading all words."""
        return replace(self, kernels=self._table.at(check_indices(indices, self.n_kernels)))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The words, by the names of their columns."""
        columns = self._table.columns.tolist()
        return [f"x{c}" if feature_names is None else str(feature_names[c]) for c in columns]

    @property
    def _columns(self) -> IntArray:
        return np.unique(self._table.columns)

    def _on_columns(self, columns: ArrayLike) -> Self:
        places = find_columns(self._table.columns, columns)
        return replace(self, kernels=replace(self._table, columns=places))

    def _squared_norms(self, weights: ArrayLike, X: Any) -> FloatArray:
        values, weights = self._values(X), self._check_weights(weights)
        return np.asarray(values.multiply(values) @ weights + FLOOR * weights.sum())

    def _mean_diagonal(self, shares: FloatArray, X: Any) -> FloatArray:
        values = self._values(X)
        return np.asarray(values.multiply(values).T @ shares + FLOOR * shares.sum())

    def _take(self, X: Any, indices: ArrayLike) -> Documents:
        return Documents.read(X)[np.asarray(indices, dtype=np.intp)]

    _subset = _take

    def _compare_mixes(self, X: Any, Y: Any, mixes: Any) -> FloatArray:
        mixed = sp.csr_array(mixes @ self._values(Y)).toarray()
        products = self._values(X).toarray()[:, np.newaxis, :] * mixed
        return np.asarray(products + FLOOR * np.asarray(mixes.sum(axis=1))[:, np.newaxis])

    def _with_mixes(self, X: Any, mixes: Any) -> Documents:
        documents = Documents.read(X)
        everything = np.arange(documents.shape[1])
        mixed = sp.csr_array(mixes @ documents.values(everything, np.ones(everything.size)))
        # Damped, these counts in documents of unit length are what was mixed.
        mixed.data = np.sign(mixed.data) * np.expm1(np.abs(mixed.data))
        counts = sp.csr_array(sp.vstack([documents.counts, mixed]))
        return Documents(counts, np.append(documents.lengths, np.ones(mixed.shape[0])))

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        n_rows = X.shape[0]
        return n_rows, n_rows if Y is None else Y.shape[0]

    @property
    def _table(self) -> WordKernels:
        return self._require_adapted(self.kernels)

    def _values(self, X: Any, table: WordKernels | None = None) -> sp.csr_array:
        """What the kernels multiply: one row per document, one column per kernel."""
        documents, table = Documents.read(X), self._table if table is None else table
        require_columns(table.columns, documents.shape[1], "word")
        return documents.values(table.columns, table.rates)


def _rows_of(matrix: sp.csr_array) -> IntArray:
    """The row of every stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
