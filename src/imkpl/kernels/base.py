"""What a kernel, a bank of kernels and kernels on given samples promise.

A bank holds parameters and is what users write. ``bank.on(X)`` learns from the training part what
depends on it, such as bandwidths, and gives `Kernels`: the bank bound to its samples. Everything
above this folder works with `Kernels` alone and never asks what samples are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import find_places, require
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.forms import Form, Groups, find_ranges
from imkpl.kernels.sources import Found, as_slice, in_steps

# Maximum number of samples in a prototype, unless the user or the kernels say otherwise.
USUAL_SPARSITY = 10
# Widths of the kernels of a feature, as factors on its bandwidth, where folds find that one is not
# enough: from its whole spread to about a sixth of it.
WIDTHS = (1.0, 0.3, 0.1, 0.03)
# Copies of the data take at most this many MiB at a time.
LARGEST_COPY = 256.0
# Rows evaluated at a time by `pairs`: fixed, so that results are too.
PAIR_ROWS = 256


class BaseKernel(ABC):
    """A similarity k(x, y) = <phi(x), phi(y)> between two samples, lifted to matrices.

    Examples
    --------
    A kernel of one's own needs `__call__`, here for one column:

    >>> class Laplace(BaseKernel):
    ...     def __call__(self, X, Y=None):
    ...         return np.exp(-abs(np.subtract.outer(X[:, 0], (X if Y is None else Y)[:, 0])))
    >>> Laplace()(np.array([[0.0], [np.log(2)]])).round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> Laplace().label
    'laplace'
    """

    # Whether samples are rows of a numeric 2-D array; otherwise they may be anything.
    vector_input: bool = True
    # Whether k(x, x) = 1 for every x by construction.
    has_unit_diagonal: bool = False

    @property
    def label(self) -> str:
        """The name shown to people."""
        return type(self).__name__.lower()

    @abstractmethod
    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""

    def diagonal(self, X: Any) -> FloatArray:
        """The squared norms k(x, x) of the samples in feature space, one per sample."""
        n_samples = count_samples(X)
        if self.has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples,))
        singles = (take_samples(X, np.array([i])) for i in range(n_samples))
        return np.array([self(x, x)[0, 0] for x in singles], dtype=np.float64)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernel:
        """The kernel with all parameters known; an integer weight counts as copies."""
        return self


class BaseKernelBank(ABC):
    """Parameters of many base kernels K_l, never data; `on` binds them to samples.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> PerFeatureGaussian().on(np.eye(2)).kernel_names(["width", "height"])
    ['width', 'height']
    """

    @property
    @abstractmethod
    def kind(self) -> type[Kernels]:
        """The class of the kernels that `on` returns: it reads samples and knows equal ones."""

    @abstractmethod
    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> Kernels:
        """Learn from the training part X, and bind the kernels to its samples."""

    def on_rows(self, X: Any, rows: IntArray, sample_weight: ArrayLike | None = None) -> Kernels:
        """`on` some of the samples; those that come in blocks stay where they are."""
        in_blocks = hasattr(X, "distribute")
        return self.on(X.view(rows) if in_blocks else take_samples(X, rows), sample_weight)

    def by_channel(self, n_channels: int) -> BaseKernelBank | None:
        """A bank by which channels are weighed, a kernel for each; None when they are not."""
        return None

    def weighed(self, weights: FloatArray) -> BaseKernelBank:
        """The bank with these weights of its channels."""
        raise ValueError(f"The kernels of {type(self).__name__} have no weights inside.")


class Kernels(ABC):
    """Base kernels K_l between given samples, used as one linear operator and its adjoint.

    ``combine(a) = sum_l a_l K_l`` and ``contract(M)_l = <K_l, M>`` satisfy
    ``<combine(a), M> = a . contract(M)``. The matrices are square and symmetric, of samples with
    themselves, unless `between` or `cross` made them. Every method returns new objects.

    New kernels need `per_kernel`, `shape`, `kernel_names`, `take`, `between`, `cross`, `read`, and
    `evaluate` or `combine`, each of which follows from the other. The rest follows from `evaluate`,
    one kernel at a time. Override what can be done faster.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> kernels = PerFeatureGaussian().on(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]))
    >>> kernels.n_kernels, kernels.shape
    (2, (3, 3))
    >>> a, M = np.array([0.3, 0.7]), np.ones((3, 3))
    >>> bool(np.isclose(np.sum(kernels.combine(a) * M), a @ kernels.contract(M)))
    True
    """

    # What samples are, in one word: "vectors" (rows of numbers), "columns" (the same, read by
    # columns alone, so that they may stay on disk), "tables", "words", "series", "similarities"
    # (kernel values with all training samples) or "anything".
    input_kind: ClassVar[str] = "vectors"
    # The fields with one entry per kernel.
    per_kernel: ClassVar[tuple[str, ...]] = ()
    # What a cell holds where there is nothing.
    absent: ClassVar[Any] = None
    # Whether a cell can be changed without changing what other kernels read.
    has_free_cells: ClassVar[bool] = True
    # Whether K_l(x, x) = 1 for every x and l by construction, and on average over the training
    # part; kernels with one of these are not rescaled.
    has_unit_diagonal: bool = False
    has_unit_norms: bool = False
    # Whether every kernel reads one cell, without which the others still say something.
    reads_cells: bool = False
    # How many kernels a model keeps at most unless the user says so; None for any number.
    most_kernels: int | None = None
    # Which kernels say where in a sample it is decided, where only some do.
    is_located: BoolArray | None = None
    # How many samples a prototype is made of unless the user says so; None for any number.
    default_sparsity: int | None = USUAL_SPARSITY
    # How many values of a sample `take` brings into memory; 0 for samples that are there.
    n_far_values: int = 0
    # What a copy of a sample takes in memory.
    sample_bytes: float = 0.0
    # The widths in which a feature can be compared, as factors on its bandwidth; None for one, or
    # for all of `WIDTHS`, as folds find.
    widths: tuple[float, ...] | None = (1.0,)
    # The cost of a kernel value, relative to kernels of numbers; alignments are expensive.
    value_cost: float = 1.0

    # What kernels are

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(getattr(self, self.per_kernel[0]))

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of samples in the rows and in the columns of the matrices."""

    @property
    def is_square(self) -> bool:
        """Whether these are kernels of samples with themselves."""
        return getattr(self, "others", None) is None

    @abstractmethod
    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """One name per kernel, by the names of the input columns if these are given."""

    @property
    def kernel_columns(self) -> IntArray | None:
        """The one input column that each kernel reads; None when kernels read several."""
        return None

    @property
    def input_columns(self) -> IntArray | None:
        """The sorted input columns that the kernels read; None when they read everything."""
        return None

    # The operator and its adjoint

    def evaluate(self, index: int) -> FloatArray:
        """The matrix of one base kernel; exactly symmetric if the kernels are square."""
        return self.select([index]).combine([1.0])

    def combine(self, weights: ArrayLike) -> FloatArray:
        """``sum_l weights_l K_l``; kernels of zero weight are never evaluated."""
        weights = self.check_weights(weights)
        total = np.zeros(self.shape)
        for index in np.flatnonzero(weights):
            total += weights[index] * self.evaluate(int(index))
        return total

    def combine_few(self, weights: FloatArray) -> FloatArray:
        """`combine` for few samples, without compiled loops; the same to 1e-12."""
        return self.combine(weights)

    def contract(self, M: ArrayLike) -> FloatArray:
        """``<K_l, M>`` for every l: the adjoint of `combine`. M need not be symmetric."""
        matrix = self.check_matrix(M)
        products = [np.vdot(self.evaluate(i), matrix) for i in range(self.n_kernels)]
        return np.array(products, dtype=np.float64)

    def contract_rows(self, rows: Any, row_weights: ArrayLike, mixes: Any = None) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples.

        It is ``contract(rows' diag(row_weights) rows)``, of square kernels and sparse rows. Factors
        of shape (n_rows, n_sums) give several sums per kernel. Rows may share `mixes` of samples,
        of shape (n_mixes, n_samples): the last n_mixes columns of `rows` then count these,
        ``r = rows[:, :n_samples] + rows[:, n_samples:] @ mixes``.
        """
        rows, factors, mixes = check_rows(rows, row_weights, self.shape[0], mixes)
        if factors.ndim == 2:
            parts = [(np.flatnonzero(one), one) for one in factors.T]
            return np.stack(
                [self.contract_rows(rows[used], one[used], mixes) for used, one in parts], axis=1
            )
        whole = join_mixes(rows, mixes)
        return self.contract((whole.T @ (whole * factors[:, np.newaxis])).toarray())

    def contract_pairs(self, values: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l, of square kernels."""
        rows, columns = check_pairs(rows, columns, self.shape[0], values)
        factors = np.asarray(values, dtype=np.float64)
        products = np.zeros(self.n_kernels)
        # Neighbouring pairs share their rows, which `pairs` evaluates together.
        order = np.argsort(rows, kind="stable")
        for block in iterate_blocks(order.size, 8 * self.n_kernels):
            chosen = order[block]
            products += factors[chosen] @ self.pairs(rows[chosen], columns[chosen])
        return products

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` of the listed pairs, of shape (n_pairs, n_kernels)."""
        # Cut out of the matrices of the samples that occur in some pairs.
        rows, columns = check_pairs(rows, columns, self.shape[0])
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        order = np.argsort(rows, kind="stable")
        left, row_positions = np.unique(rows[order], return_inverse=True)
        for start in range(0, left.size, PAIR_ROWS):
            chosen = (row_positions >= start) & (row_positions < start + PAIR_ROWS)
            right, column_positions = np.unique(columns[order[chosen]], return_inverse=True)
            block = self.between(left[start : start + PAIR_ROWS], right)
            for index in range(self.n_kernels):
                values = block.evaluate(index)
                out[order[chosen], index] = values[row_positions[chosen] - start, column_positions]
        return out

    def diagonal(self) -> FloatArray:
        """``K_l(x, x)`` of the samples in the rows; a read-only broadcast where all are 1."""
        n_samples = self.shape[0]
        if self.has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples, self.n_kernels))
        return self.pairs(np.arange(n_samples), np.arange(n_samples))

    def mean_diagonal(self, shares: FloatArray) -> FloatArray:
        """``K_l(x, x)`` of every kernel on average; `shares` of the samples sum to one."""
        if self.has_unit_diagonal:
            return np.ones(self.n_kernels)
        return np.asarray(shares @ self.diagonal())

    def compare_mixes(self, mixes: Any) -> FloatArray:
        """``sum_j mixes_mj K_l(x, y_j)``, of shape (n_rows, n_mixes, n_kernels)."""
        singles = (self.select([kernel]) for kernel in range(self.n_kernels))
        values = [(mixes @ one.combine_few(np.ones(1)).T).T for one in singles]
        return np.stack(values, axis=2)

    # The same kernels on other samples, and some of the kernels

    def select(self, indices: ArrayLike) -> Self:
        """The listed kernels, in that order, on the same samples."""
        chosen, selected = np.atleast_1d(find_places(indices, self.n_kernels)), {}
        for name in self.per_kernel:
            entries = getattr(self, name)
            is_array = isinstance(entries, np.ndarray)
            selected[name] = entries[chosen] if is_array else tuple(entries[i] for i in chosen)
        return replace(self, **selected)  # type: ignore[type-var]

    @abstractmethod
    def take(self, rows: ArrayLike) -> Kernels:
        """The square kernels among the listed samples, in that order."""

    @abstractmethod
    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Kernels:
        """The kernels between the listed samples, all when None, and others of these samples."""

    @abstractmethod
    def cross(self, samples: Any) -> Kernels:
        """The kernels between other samples, as `read` returns them, and these."""

    def moved_to(self, samples: Any) -> Kernels:
        """The same kernels among other samples, as `read` returns them."""
        return replace(self.cross(samples), others=None)  # type: ignore[type-var]

    def with_mixes(self, mixes: Any) -> Kernels:
        """The samples and mixes of them, for kernels that are linear in the samples."""
        raise ValueError(
            f"{type(self).__name__} are not linear in the samples. Use contract_rows()."
        )

    def narrowed(self) -> Kernels:
        """The same kernels without input columns that none of them reads, to be kept."""
        return self

    def rounded(self) -> Kernels:
        """Nearly the same kernels, of numbers in widths, rounded: no unit changes a search."""
        return self

    def tabulated(self) -> Kernels:
        """The same square kernels, expensive ones evaluated once for a whole fit."""
        return self

    def as_table(self, values: FloatArray) -> Kernels:
        """The same square kernels, read from values below the diagonals, row by row."""
        raise NotImplementedError

    def local(self) -> Kernels:
        """The same kernels without a cluster, to be kept and used anywhere."""
        return self

    @property
    def has_bandwidths(self) -> BoolArray:
        """Which kernels `stretched` can change."""
        return np.zeros(self.n_kernels, dtype=bool)

    def stretched(self, factors: FloatArray) -> Kernels:
        """The same kernels with their bandwidths times a factor each, 1 where they have none."""
        return self

    def flattened(self, weights: FloatArray) -> tuple[Kernels, FloatArray, IntArray]:
        """The kernels that these are made of, their weights, and which of these each belongs to."""
        return self, weights, np.arange(weights.size)

    def in_single_precision(self) -> Kernels:
        """The same kernels, with a `combine` that is faster and right to 1e-6 where possible."""
        return self

    def share_out(self, weights: FloatArray, n_features: int) -> FloatArray | None:
        """Weights of kernels as weights of features or channels; None where kernels mix them."""
        if self.kernel_columns is None:
            return None
        return np.bincount(self.kernel_columns, weights, n_features).astype(np.float64)

    def map_samples(
        self, function: Callable[..., Any], rows: IntArray, step: int, *per_row: IntArray
    ) -> list[Found]:
        """A function of the listed samples, `step` of them at a time, with their places."""
        raise NotImplementedError

    @property
    def gaps(self) -> BoolArray | None:
        """Which kernels, (n_rows, n_kernels), have no cell to read; None if all have one."""
        return None

    def expecting(self, expected: FloatArray) -> Kernels:
        """The same kernels, with these values, (n_columns, n_kernels), where there are `gaps`."""
        return self

    # Samples: how they are read, which of them are equal, how they are shown

    @classmethod
    @abstractmethod
    def read(cls, X: Any, form: Form) -> tuple[Any, Form]:
        """Samples as these kernels compare them, and their form, which is learned or checked."""

    @classmethod
    def find_equal(cls, samples: Any, rows: IntArray, labels: IntArray) -> Groups:
        """The first of equal samples of a class among `rows`, sorted, and every row's group."""
        everyone = np.arange(rows.size)
        return everyone, everyone

    def sample(self, row: int) -> Any:
        """One sample as it is, of those in the rows."""
        raise NotImplementedError

    def cells(self, row: int) -> list[Any] | None:
        """What each kernel reads in one sample, or None where that is not a single value."""
        return None

    def rule(self, index: int) -> dict[str, Any] | None:
        """How one kernel compares two cells, in numbers; None if only Python can."""
        return None

    def aligned(self, weights: FloatArray) -> tuple[Any, FloatArray] | None:
        """Kernels that align series step by step, with the weights that these give them."""
        return None

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        """One sample as plain values by the names of its columns; empty if it has no columns."""
        return {}

    def vocabularies(self) -> Sequence[Any] | None:
        """The categories that each kernel knows, None for those of numbers."""
        return None

    def numbers(self) -> FloatArray | None:
        """The numbers in `input_columns`, a row per sample; NaN for other cells."""
        return None

    def ranges(self) -> FloatArray | None:
        """The least and the largest number of each of `input_columns`; NaN for others."""
        numbers = self.numbers()
        return None if numbers is None else find_ranges(numbers)

    def keys(self, samples: Any = None) -> list[bytes] | None:
        """One key per sample, equal for equal ones; None where equality means nothing."""
        return None

    def check(self, form: Form) -> None:
        """Raise a ValueError unless the fields, which may be from a file, fit each other."""
        require(self.is_square, "there are kernels between different samples")
        for name in self.per_kernel:
            entries = getattr(self, name)
            is_right = len(entries) == self.n_kernels and getattr(entries, "ndim", 1) == 1
            require(is_right, f"the {name} are not one for each of {self.n_kernels} kernels")

    def check_weights(self, weights: ArrayLike) -> FloatArray:
        """One number per kernel, or an error that says what was wrong."""
        array = np.asarray(weights, dtype=np.float64)
        if array.shape != (self.n_kernels,):
            raise ValueError(
                f"weights have shape {array.shape}, expected ({self.n_kernels},): one number per "
                "kernel. Select kernels first with select(), or pass zeros for those left out."
            )
        return array

    def check_matrix(self, M: ArrayLike) -> FloatArray:
        """A matrix of the shape of the kernels, or an error that says what was wrong."""
        array = np.asarray(M, dtype=np.float64)
        if array.shape != self.shape:
            raise ValueError(
                f"M has shape {array.shape}, expected {self.shape}: one row and one column per "
                "sample. Pass the matrix that belongs to these samples."
            )
        return array


@dataclass(frozen=True, eq=False)
class SampleKernels(Kernels):
    """Kernels that hold their samples: those of the rows, and those of the columns."""

    samples: Any
    others: Any = None  # the same samples when None

    # The type of samples that a model keeps.
    sample_type: ClassVar[Any] = FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.samples), len(self.samples if self.others is None else self.others)

    @property
    def sample_bytes(self) -> float:  # type: ignore[override]
        return float(getattr(self.samples, "nbytes", 0)) / max(1, len(self.samples))

    def sample(self, row: int) -> Any:
        return self.samples[row]

    @property
    def n_far_values(self) -> int:  # type: ignore[override]
        return int(self.samples.shape[1]) if hasattr(self.samples, "distribute") else 0

    def take(self, rows: ArrayLike) -> Any:
        taken = replace(self, samples=take_samples(self.samples, rows), others=None)
        # Samples that come in blocks are gathered; the machines that had them still compute.
        return self.samples.distribute(taken) if hasattr(self.samples, "distribute") else taken

    def between(self, rows: ArrayLike | None, columns: ArrayLike) -> Self:
        left = self.samples if rows is None else take_samples(self.samples, rows)
        return replace(self, samples=left, others=take_samples(self.samples, columns))

    def cross(self, samples: Any) -> Self:
        return replace(self, samples=samples, others=self.samples)

    def map_samples(
        self, function: Callable[..., Any], rows: IntArray, step: int, *per_row: IntArray
    ) -> list[Found]:
        found: list[Found] = []
        if hasattr(self.samples, "distribute"):
            found = self.samples.view(rows).map(partial(in_steps, function, step), per_row=per_row)
            return found
        for start in range(0, rows.size, step):
            places = np.arange(start, min(start + step, rows.size))
            samples = take_samples(self.samples, rows[places])
            found.append((places, function(samples, *(values[places] for values in per_row))))
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnwiseKernels(SampleKernels):
    """Kernels that each read one column of samples, which are indexed like arrays."""

    columns: IntArray  # the column of the samples that each kernel reads
    rates: FloatArray  # the factor on its numbers; 0 where they do not vary or do not occur
    inputs: IntArray | None = None  # the input columns that the samples have; all when None

    per_kernel: ClassVar[tuple[str, ...]] = ("columns", "rates")
    # What a column is called in messages.
    column_word: ClassVar[str] = "column"

    @property
    def kernel_columns(self) -> IntArray:
        return self.columns if self.inputs is None else self.inputs[self.columns]

    @property
    def input_columns(self) -> IntArray:
        return np.unique(self.kernel_columns)

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        columns = self.kernel_columns.tolist()
        return [f"x{c}" if feature_names is None else str(feature_names[c]) for c in columns]

    def cross(self, samples: Any) -> Self:
        needed = self.columns if self.inputs is None else self.inputs
        require_columns(needed, samples.shape[1], self.column_word)
        return super().cross(samples if self.inputs is None else samples[:, as_slice(self.inputs)])

    def narrowed(self) -> Self:
        used, places = np.unique(self.columns, return_inverse=True)
        return replace(
            self,
            samples=self.samples[:, used],
            others=None if self.others is None else self.others[:, used],
            columns=places,
            inputs=used if self.inputs is None else self.inputs[used],
        )

    def check(self, form: Form) -> None:
        super().check(form)
        shape = self.samples.shape
        require(len(shape) == 2, f"the samples have the shape {shape}, expected two axes")
        check_columns(self.columns, self.inputs, shape[1], form)
        require((self.rates >= 0).all(), "a kernel has a rate below 0")


def inside(name: str, field: str = "kernels") -> Any:
    """An attribute or a method of the kernels inside."""
    return property(attrgetter(f"{field}.{name}"))


def passed_to(method: str, name: str) -> Any:
    """A method of the kernels inside, whose result goes through a method of those around."""

    def call_inside(self: WrappedKernels, *arguments: Any, **options: Any) -> Any:
        return getattr(self, method)(getattr(self.kernels, name)(*arguments, **options))

    return call_inside


@dataclass(frozen=True, eq=False)
class WrappedKernels(Kernels):
    """Kernels made of others on the same samples."""

    kernels: Kernels

    input_kind: ClassVar[Any] = inside("input_kind")
    absent: ClassVar[Any] = inside("absent")
    has_free_cells: ClassVar[Any] = inside("has_free_cells")
    n_kernels = inside("n_kernels")
    shape = inside("shape")
    is_square = inside("is_square")
    kernel_columns = inside("kernel_columns")
    input_columns = inside("input_columns")
    most_kernels = inside("most_kernels")
    is_located = inside("is_located")
    n_far_values = inside("n_far_values")
    sample_bytes = inside("sample_bytes")
    value_cost = inside("value_cost")
    widths = inside("widths")
    has_bandwidths = inside("has_bandwidths")
    default_sparsity = inside("default_sparsity")

    kernel_names = inside("kernel_names")
    map_samples = inside("map_samples")
    read = inside("read")
    reads_cells = inside("reads_cells")
    gaps = inside("gaps")
    values = inside("values")
    numbers = inside("numbers")
    ranges = inside("ranges")
    keys = inside("keys")
    sample = inside("sample")
    check = inside("check")

    take = passed_to("around", "take")
    between = passed_to("around", "between")
    cross = passed_to("around", "cross")
    moved_to = passed_to("around", "moved_to")
    with_mixes = passed_to("around", "with_mixes")
    narrowed = passed_to("around", "narrowed")
    rounded = passed_to("around", "rounded")
    tabulated = passed_to("around", "tabulated")
    local = passed_to("around", "local")
    in_single_precision = passed_to("around", "in_single_precision")
    stretched = passed_to("around", "stretched")
    expecting = passed_to("around", "expecting")

    def around(self, kernels: Kernels) -> Self:
        """The same around other kernels."""
        return replace(self, kernels=kernels)

    def select(self, indices: ArrayLike) -> Self:
        return replace(super().select(indices), kernels=self.kernels.select(indices))


def count_samples(X: Any) -> int:
    """The number of samples of an array or a sequence."""
    shape = getattr(X, "shape", None)
    return int(len(X) if shape is None else shape[0])


def take_samples(X: Any, indices: ArrayLike) -> Any:
    """The listed samples of an array (or anything with a shape), or of a sequence."""
    if getattr(X, "shape", None) is None:
        return [X[int(i)] for i in np.asarray(indices)]
    return X[np.asarray(indices, dtype=np.intp)]


def block_rows(n_bytes_per_row: float, budget: float) -> int:
    """The number of rows that fit into a memory budget in MiB, at least one."""
    return max(1, int(budget * 2**20 / max(n_bytes_per_row, 1.0)))


def iterate_blocks(
    n_rows: int, n_bytes_per_row: float, budget: float | None = None
) -> Iterator[slice]:
    """Slices of rows, each within a memory budget in MiB: by default scikit-learn's."""
    if budget is None:
        from sklearn import get_config

        budget = min(LARGEST_COPY, get_config()["working_memory"])
    step = block_rows(n_bytes_per_row, budget)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def check_vectors(X: Any, name: str = "X") -> FloatArray:
    """X as a 2-D array of numbers, not copied, or an error that says what was wrong."""
    # Samples that stay where they are have a shape, and are read in parts.
    if getattr(X, "is_read_in_parts", False):
        return cast(FloatArray, X)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has {array.ndim} dimensions and type {array.dtype}, expected a dense 2-D "
            "array of numbers (n_samples, n_features). Use toarray() on a sparse matrix, "
            "reshape(-1, 1) on a single feature."
        )
    return array


def check_sample_weight(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Sample weights that sum to one, uniform by default."""
    if sample_weight is None:
        return np.full(n_samples, 1.0 / max(n_samples, 1))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,) or np.any(weights < 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"sample_weight has shape {weights.shape} and sum {weights.sum()}, expected "
            f"{n_samples} non-negative numbers with a positive sum. Leave it out to weigh all "
            "samples alike."
        )
    return np.asarray(weights / weights.sum())


def check_pairs(
    rows: ArrayLike, columns: ArrayLike, n_samples: int, values: ArrayLike | None = None
) -> tuple[IntArray, IntArray]:
    """Two lists of samples, of one length; where pairs have values, as many of these."""
    # Compiled loops do not check bounds, but an index of an array does.
    left, right = (find_places(part, n_samples) for part in (rows, columns))
    shapes = [left.shape, right.shape, *([] if values is None else [np.shape(values)])]
    if left.ndim != 1 or len(set(shapes)) > 1:
        raise ValueError(
            f"rows, columns and values of pairs have shapes {', '.join(map(str, shapes))}, "
            "expected lists of one length. Pass the two samples of every pair, and its value."
        )
    return left, right


def check_rows(
    rows: Any, row_weights: ArrayLike, n_samples: int, mixes: Any = None
) -> tuple[sp.csr_array, FloatArray, sp.csr_array | None]:
    """Sparse rows over the samples with their weights, or an error that says what was wrong."""

    def as_rows(array: Any, name: str, n_columns: int) -> sp.csr_array:
        shape = np.shape(array)
        if len(shape) != 2 or shape[1] != n_columns:
            raise ValueError(
                f"{name} have shape {shape}, expected {n_columns} columns: one per sample of X, "
                "and in rows one more per mix. Pass a sparse array that belongs to these samples."
            )
        checked = sp.csr_array(array, dtype=np.float64)
        # Compiled loops do not check bounds.
        checked.check_format(full_check=True)
        return checked

    mixes = None if mixes is None else as_rows(mixes, "mixes", n_samples)
    rows = as_rows(rows, "rows", n_samples + (0 if mixes is None else mixes.shape[0]))
    factors = np.ascontiguousarray(row_weights, dtype=np.float64)
    if factors.ndim not in (1, 2) or len(factors) != rows.shape[0]:
        raise ValueError(
            f"row_weights have shape {factors.shape}, expected ({rows.shape[0]},): one number per "
            "row. Pass ones to count all rows alike."
        )
    return rows, factors, mixes


def join_mixes(rows: sp.csr_array, mixes: sp.csr_array | None) -> sp.csr_array:
    """Rows over the samples alone, with the mixes written out."""
    if mixes is None:
        return rows
    n_samples = mixes.shape[1]
    return sp.csr_array(rows[:, :n_samples] + rows[:, n_samples:] @ mixes)


def check_columns(columns: IntArray, inputs: IntArray | None, n_columns: int, form: Form) -> None:
    """Raise unless samples have the columns that kernels read, and these are columns of a form."""
    last = n_columns - 1 if inputs is None else int(inputs.max(initial=-1))
    require(columns.max(initial=-1) < n_columns, "a kernel reads a column that samples do not have")
    require(
        inputs is None or inputs.size == n_columns, "samples have not as many columns as are listed"
    )
    require(last < (form.n_features or 0), f"column {last} is not among those of the input")


def require_columns(needed: IntArray, n_found: int, word: str = "column") -> None:
    """Refuse samples without a column that a kernel reads."""
    last = int(needed.max(initial=-1))
    if n_found <= last:
        raise ValueError(
            f"The samples have {n_found} {word}s, but a kernel reads {word} {last}. Pass samples "
            f"with the {word}s of the training part."
        )
