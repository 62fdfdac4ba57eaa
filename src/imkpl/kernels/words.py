"""One kernel per word of documents: what both contain is a likeness, what both lack is none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    ColumnwiseKernels,
    check_pairs,
    check_rows,
    check_sample_weight,
    iterate_blocks,
)
from imkpl.kernels.forms import Form, Groups, group_rows, ordered_records, validate_numbers

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
        with ordered_records(X, form, cls.absent) as rows:
            counts, form = validate_numbers(rows, form, accept_sparse="csr")
        return Documents.read(counts), form

    @classmethod
    def find_equal(cls, samples: Documents, rows: IntArray, labels: IntArray) -> Groups:
        keys = samples[rows].keys()
        lines = [f"{label:09d}{key.hex()}" for label, key in zip(labels, keys, strict=True)]
        return group_rows(np.array(lines))

    def cells(self, row: int) -> list[Any] | None:
        return self.samples.counts[[row]].toarray()[0, self.columns].tolist()  # type: ignore[no-any-return]

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        counts = self.samples.counts[[row]].toarray()[0].tolist()
        return {name: count for name, count in zip(names, counts, strict=True) if count}

    def keys(self, samples: Documents | None = None) -> list[bytes]:
        documents: Documents = self.samples if samples is None else samples
        return documents.keys()

    def check(self, form: Form) -> None:
        super().check(form)
        lengths = self.samples.lengths
        is_right = lengths.shape == (len(self.samples),) and not (lengths < 0).any()
        require(is_right, "there is not one length of at least 0 for each document")


@dataclass(frozen=True, eq=False)
class PerWord(BaseKernelBank):
    """A kernel on each word of documents, so that a kernel's weight is a word's weight.

    ``K_l(x, y) = z_l(x) z_l(y) / mean(z_l ** 2)``, where ``z(x)`` is ``log(1 + counts)`` of the
    document scaled to unit length. That two documents both lack a word is no likeness, as it would
    be to a Gaussian kernel. The mean square is that of the training part and weighs words like an
    inverse document frequency.

    The bank reads sparse matrices, which are never made dense, and arrays: counts of words, or
    tf-idf weights, and whatever else is mostly 0 where 0 means that something is not there.

    Notes
    -----
    ``K_l(x, x)`` is 1 on average over the training part, not for every document. 0.001 is added
    to all values before they are scaled to that, so that a document without any of the words that a
    model keeps has a norm as well.

    Examples
    --------
    >>> X = sp.csr_array([[3, 0, 1], [1, 0, 0], [0, 2, 2]])
    >>> kernels = PerWord().on(X)
    >>> kernels.evaluate(1).round(2)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 3.]])
    >>> round(float(np.diagonal(kernels.evaluate(0)).mean()), 6)
    1.0
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
