"""Kernels that are read, not computed: a user's matrices, and expensive ones in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    Found,
    Kernels,
    SampleKernels,
    check_pairs,
)
from imkpl.kernels.forms import Form, validate
from imkpl.kernels.sources import as_slice

# Relative to the largest entry of a kernel.
TOLERANCE = 1e-8
# Entries of all kernels that are read at a time; strided reads stay in the cache.
BLOCK_ENTRIES = 2**15


@dataclass(frozen=True, eq=False, kw_only=True)
class StackKernels(SampleKernels):
    """Kernels of a stack: a sample is a row of it, its similarities to all training samples.

    `samples` is the stack (n_samples, n_train, n_stacked), never copied, and None where only new
    samples are to be compared; `others` are columns of it.
    """

    places: IntArray  # the row of the stack of each sample, of training samples also the column
    kernels: IntArray  # which kernels of the stack are used

    input_kind: ClassVar[str] = "similarities"
    per_kernel = ("kernels",)
    sample_type: ClassVar[Any] = type(None)
    # Other training stacks are refused.
    has_unit_diagonal = True

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.places.size), int(self._columns.size)

    @property
    def sample_bytes(self) -> float:  # type: ignore[override]
        return 0.0 if self.samples is None else super().sample_bytes

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        if feature_names is None:
            return [f"kernel {index}" for index in self.kernels]
        return [str(feature_names[index]) for index in self.kernels]

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights, stack = self.check_weights(weights), self._stack
        columns, total = as_slice(self._columns), np.zeros(self.shape)
        step = max(1, BLOCK_ENTRIES // max(1, stack[0:1].size))
        for start in range(0, len(total), step):
            part = slice(start, start + step)
            rows = as_slice(self.places[part])
            for index in np.flatnonzero(weights):
                matrix = stack[rows, :, self.kernels[index]]
                total[part] += np.multiply(matrix[:, columns], weights[index], dtype=np.float64)
        return total

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix, stack, columns = self.check_matrix(M), self._stack, as_slice(self._columns)
        products = np.zeros(self.n_kernels)
        for row, place in zip(matrix, self.places, strict=True):
            products += row @ stack[place, columns][:, self.kernels].astype(np.float64)
        return products

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.shape[0])
        left, right = self.places[rows], self.places[columns]
        values = self._stack[left[:, np.newaxis], right[:, np.newaxis], self.kernels]
        return np.asarray(values, dtype=dtype)

    def take(self, rows: ArrayLike) -> Self:
        return replace(self, places=self.places[np.asarray(rows, dtype=np.intp)], others=None)

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        left = self.places if rows is None else self.places[np.asarray(rows, dtype=np.intp)]
        return replace(self, places=left, others=self.places[np.asarray(columns, dtype=np.intp)])

    def cross(self, samples: Any) -> Self:
        """The kernels between new samples, given by similarities to all training samples."""
        stack, largest = _as_stack(samples), int(self.kernels.max(initial=-1))
        if stack.shape[2] <= largest:
            raise ValueError(
                f"The stack has {stack.shape[2]} kernels, but kernel {largest} is used. Pass the "
                "same kernels as in training, along the last axis."
            )
        return replace(self, samples=stack, places=np.arange(len(stack)), others=self.places)

    def moved_to(self, samples: Any) -> Self:
        stack = _as_stack(samples)
        return replace(self, samples=stack, places=np.arange(len(stack)), others=None)

    def narrowed(self) -> Self:
        """The same kernels without similarities of training samples: `cross` needs none."""
        return replace(self, samples=None)

    def check(self, form: Form) -> None:
        super().check(form)
        known = ((self.places, form.n_features, "sample"), (self.kernels, form.n_stacked, "kernel"))
        for used, n_known, word in known:
            last = used.max(initial=-1)
            require(last < (n_known or 0), f"{word} {last} is not among the {n_known} of the stack")

    def map_samples(
        self, function: Callable[..., Any], rows: IntArray, step: int, *per_row: IntArray
    ) -> list[Found]:
        return super().map_samples(function, self.places[rows], step, *per_row)

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Any, Form]:
        shape, n_train = np.shape(X), form.n_features
        is_stack, n_stacked = len(shape) in (2, 3), shape[2] if len(shape) == 3 else 1
        if n_train is None:
            _check_square(shape)
        elif not is_stack or shape[1] != n_train or n_stacked != form.n_stacked:
            raise ValueError(
                f"The similarities have shape {shape}, expected (n_samples, {n_train}, "
                f"{form.n_stacked}): those of new samples to all training samples, in all kernels. "
                "Pass K[numpy.ix_(new, train)], with the kernels on the last axis."
            )
        stack, form = validate(X, form, dtype="numeric", allow_nd=True)
        return stack, replace(form, n_stacked=n_stacked)

    @property
    def _columns(self) -> IntArray:
        return self.places if self.others is None else self.others

    @property
    def _stack(self) -> FloatArray:
        if self.samples is None:
            raise ValueError(
                "The similarities of training samples with each other were not kept. Use cross() "
                "to compare new samples with them."
            )
        return np.asarray(self.samples)


@dataclass(frozen=True)
class Precomputed(BaseKernelBank):
    """A bank over a stack of kernel matrices of shape (n_samples, n_train, n_kernels).

    Samples come first, so that scikit-learn's split of a pairwise input,
    ``X[np.ix_(rows, columns)]``, keeps the kernels together. A 2-D array is one kernel. The
    stack is never copied; single precision stays, sums are in double precision.

    Examples
    --------
    >>> K = np.stack([np.eye(3), np.ones((3, 3))], axis=-1)
    >>> kernels = Precomputed().on(K)
    >>> kernels.combine([0.25, 0.5])
    array([[0.75, 0.5 , 0.5 ],
           [0.5 , 0.75, 0.5 ],
           [0.5 , 0.5 , 0.75]])

    New samples come with their similarities to all training samples:

    >>> kernels.take([0]).cross(np.full((1, 3, 2), 0.2)).combine([0.25, 0.5])
    array([[0.15]])
    """

    kind = StackKernels

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> StackKernels:
        stack = _as_stack(X)
        _check_training_stack(stack)
        n_samples, _, n_kernels = stack.shape
        return StackKernels(
            samples=stack, places=np.arange(n_samples), kernels=np.arange(n_kernels)
        )

    def on_rows(
        self, X: Any, rows: IntArray, sample_weight: ArrayLike | None = None
    ) -> StackKernels:
        return self.on(X).take(rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabulated(Kernels):
    """Kernels of unit diagonal between the same samples: the part below the diagonal, row by row.

    K_l(i, j) for j < i is ``table[kernels[l], i * (i - 1) / 2 + j]``.
    """

    table: FloatArray  # (n_kernels of the table, n_samples * (n_samples - 1) / 2)
    n_samples: int
    kernels: IntArray  # which kernels of the table are used
    names: tuple[str, ...]  # of all kernels of the table
    most_kernels: int | None = None
    rows: IntArray | None = None  # the samples in the rows; all when None
    columns: IntArray | None = None  # the samples in the columns; None for square kernels

    input_kind: ClassVar[str] = "anything"
    per_kernel = ("kernels",)
    has_unit_diagonal = True

    @property
    def shape(self) -> tuple[int, int]:
        n_rows = self.n_samples if self.rows is None else self.rows.size
        return n_rows, n_rows if self.columns is None else self.columns.size

    @property
    def is_square(self) -> bool:
        return self.columns is None

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        return [self.names[kernel] for kernel in self.kernels]

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights = self.check_weights(weights)
        total = np.zeros(self.table.shape[1])
        for index in np.flatnonzero(weights):
            total += weights[index] * self.table[self.kernels[index]]
        K = unpack(total, self.n_samples, diagonal=float(weights.sum()))
        return K if self.is_square else K[self._corner]

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix = self.check_matrix(M)
        if not self.is_square:
            # A sample may be listed more than once.
            n_samples, (rows, columns) = self.n_samples, self._corner
            places = (rows * n_samples + columns).ravel()
            whole = np.bincount(places, matrix.ravel(), minlength=n_samples**2)
            matrix = whole.astype(np.float64).reshape(n_samples, n_samples)
        # K is symmetric with ones on its diagonal: <K, M> = trace M + sum_{j<i} K_ij (M + M')_ij.
        packed = pack(matrix + matrix.T)
        products = [packed @ self.table[kernel] for kernel in self.kernels]
        return np.asarray(np.trace(matrix) + np.array(products, dtype=np.float64))

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.n_samples)
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        places = find_places(rows[differ], columns[differ])
        for place, kernel in enumerate(self.kernels):
            out[differ, place] = self.table[kernel, places]
        return out

    def take(self, rows: ArrayLike) -> Self:
        chosen = np.asarray(rows, dtype=np.intp)
        left, right = (chosen[places] for places in np.tril_indices(chosen.size, -1))
        values = self.table[:, find_places(left, right)]
        # The same sample listed twice is at distance 0 from itself.
        values[:, left == right] = 1.0
        return replace(self, table=values, n_samples=int(chosen.size))

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        left = None if rows is None else np.asarray(rows, dtype=np.intp)
        return replace(self, rows=left, columns=np.asarray(columns, dtype=np.intp))

    def cross(self, samples: Any) -> NoReturn:
        raise ValueError(
            "Kernels that were tabulated hold no samples, so that others cannot be compared with "
            "them. Use cross() of the kernels before tabulated()."
        )

    @classmethod
    def read(cls, X: Any, form: Form) -> NoReturn:
        raise ValueError(
            "Kernels that were tabulated hold no samples, and read none. Use read() of the kernels "
            "before tabulated()."
        )

    @property
    def _corner(self) -> Any:
        """Rows and columns of the whole matrix."""
        everyone = np.arange(self.n_samples)
        places = (everyone if some is None else some for some in (self.rows, self.columns))
        return np.ix_(*places)


def find_places(rows: IntArray, columns: IntArray) -> IntArray:
    """Where pairs of different samples stand in a packed matrix."""
    larger, smaller = np.maximum(rows, columns), np.minimum(rows, columns)
    places = larger * (larger - 1) // 2 + smaller
    return np.where(rows == columns, 0, places)


def pack(matrix: FloatArray) -> FloatArray:
    """The entries below the diagonal, row by row."""
    return np.concatenate([np.empty(0), *(row[:i] for i, row in enumerate(matrix))])


def unpack(packed: FloatArray, n_samples: int, diagonal: float = 1.0) -> FloatArray:
    """The symmetric matrix of packed entries."""
    matrix = np.empty((n_samples, n_samples))
    for i in range(n_samples):
        row = packed[i * (i - 1) // 2 : i * (i + 1) // 2]
        matrix[i, :i] = row
        matrix[:i, i] = row
        matrix[i, i] = diagonal
    return matrix


def normalize_stack(K: ArrayLike) -> FloatArray:
    """A copy of the kernels with ones on their diagonals, ``K_ij / sqrt(K_ii K_jj)``.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples, n_kernels) or (n_samples, n_samples)
        Kernel matrices with positive diagonals.

    Returns
    -------
    array of the same shape
        Cosines in feature space, exactly 1 on the diagonals.

    Examples
    --------
    >>> normalize_stack([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    stack = _as_stack(K)
    _check_square(stack.shape)
    norms = np.einsum("iil->il", stack).astype(np.float64)
    bad = np.flatnonzero(~np.all(norms > 0, axis=0))
    if bad.size:
        raise ValueError(
            f"Kernel {bad[0]} has diagonal entries that are not positive, so it has no cosines. "
            "Remove the samples or the kernel, or use Normalized on a bank."
        )
    roots = np.sqrt(norms)
    normalized = np.array(stack, dtype=np.result_type(stack.dtype, np.float32))
    for kernel, root in enumerate(roots.T):
        normalized[:, :, kernel] /= np.outer(root, root)
    everyone = np.arange(stack.shape[0])
    normalized[everyone, everyone] = 1.0
    return normalized.reshape(np.shape(K))


def _as_stack(X: Any) -> FloatArray:
    stack = np.asarray(X)
    if stack.ndim not in (2, 3) or stack.dtype.kind not in "biuf":
        raise ValueError(
            f"The precomputed kernels have shape {stack.shape} and type {stack.dtype}, expected "
            "numbers of shape (n_samples, n_train, n_kernels), or (n_samples, n_train) for one "
            "kernel. Join matrices with numpy.stack(matrices, axis=-1)."
        )
    return stack[:, :, np.newaxis] if stack.ndim == 2 else stack


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3) or shape[0] != shape[1] or 0 in shape:
        raise ValueError(
            f"The training similarities have shape {shape}, expected (n_train, n_train) or "
            "(n_train, n_train, n_kernels). Fit on similarities between training samples; the "
            "kernels belong on the last axis (numpy.moveaxis(K, 0, -1))."
        )


def _check_training_stack(stack: FloatArray) -> None:
    _check_square(stack.shape)
    # Single precision cannot do better than its own rounding.
    precision = float(np.finfo(np.result_type(stack.dtype, np.float32)).eps)
    tolerance = max(TOLERANCE, 8 * precision)
    largest, gap = np.zeros(stack.shape[2]), np.zeros(stack.shape[2])
    for i, row in enumerate(stack):
        _refuse(
            ~np.all(np.isfinite(row), axis=0),
            "contains NaN or infinite values, expected finite numbers",
            "Fill them in or leave the kernel out.",
        )
        largest = np.maximum(largest, np.abs(row).max(axis=0, initial=0.0))
        difference = np.abs(row.astype(np.float64) - stack[:, i])
        gap = np.maximum(gap, np.where(np.isnan(difference), 0, difference).max(axis=0, initial=0))
    _refuse(
        gap > tolerance * largest,
        "is not symmetric, expected K[i, j] = K[j, i]",
        "Take (K + K.swapaxes(0, 1)) / 2.",
    )
    diagonals = np.einsum("iil->il", stack).astype(np.float64)
    _refuse(
        np.any(np.abs(diagonals - 1.0) > tolerance, axis=0),
        "does not have ones on its diagonal, expected K[i, i] = 1",
        "Normalise it with imkpl.kernels.normalize_stack.",
    )


def _refuse(is_bad: Any, problem: str, remedy: str) -> None:
    if np.any(is_bad):
        raise ValueError(f"Precomputed kernel {np.flatnonzero(is_bad)[0]} {problem}. {remedy}")
