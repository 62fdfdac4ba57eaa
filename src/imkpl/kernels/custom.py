"""Kernels of one's own, as a bank: functions of whole samples, names, and matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.alignment import WEIGHED, GlobalAlignment
from imkpl.kernels.base import (
    BaseKernel,
    BaseKernelBank,
    SampleKernels,
    check_pairs,
    check_vectors,
    count_samples,
)
from imkpl.kernels.forms import Form, check_magnitude, validate
from imkpl.kernels.per_feature import (
    PerFeatureGaussian,
    VectorInput,
    root_mean_squared_difference,
    squared_distances,
)
from imkpl.kernels.sources import Found, as_slice
from imkpl.kernels.table import PerColumn, PerWord
from imkpl.series import VIEWS

# scikit-learn's pairwise kernels that are positive semi-definite ("sigmoid" and "additive_chi2"
# are not). True: k(x, x) = 1 for every x, by construction.
PAIRWISE_NAMES: Mapping[str, bool] = {
    "chi2": True,
    "cosine": False,
    "laplacian": True,
    "linear": False,
    "poly": False,
    "polynomial": False,
    "rbf": True,
}

# Entries of all kernels that are read at a time; strided reads stay in the cache.
BLOCK_ENTRIES = 2**15

# Asymmetry beyond rounding, relative to the largest entry.
SYMMETRY_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Gaussian(BaseKernel):
    """``k(x, y) = exp(-||x - y||**2 / bandwidth)``.

    Parameters
    ----------
    bandwidth : float, optional
        The squared width. When None, `adapt` sets it to the mean squared distance over all
        ordered pairs of training samples, infinity if there is none.

    Examples
    --------
    >>> kernel = Gaussian().adapt(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> round(kernel.bandwidth, 9)
    12.5
    >>> bool(np.isclose(kernel([[0.0, 0.0]], [[3.0, 4.0]])[0, 0], np.exp(-2.0)))
    True
    """

    bandwidth: float | None = None

    has_unit_diagonal = True

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise ValueError(
                f"Gaussian(bandwidth={self.bandwidth}) must be positive. Leave it out to learn it "
                "from the training part."
            )

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Gaussian:
        """The kernel with the mean squared distance of X as bandwidth, unless one was given."""
        if self.bandwidth is not None:
            return self
        spread = float(np.sum(root_mean_squared_difference(X, sample_weight) ** 2))
        return Gaussian(spread if spread > 0 else np.inf)

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        if self.bandwidth is None:
            raise ValueError(
                "The bandwidth of this Gaussian is not known yet. Call adapt(X) with the training "
                "part and use the kernel that it returns, or give a bandwidth."
            )
        left = np.asarray(check_vectors(X), dtype=np.float64)
        right = left if Y is None else np.asarray(check_vectors(Y, "Y"), dtype=np.float64)
        if self.bandwidth == np.inf:
            return np.ones((left.shape[0], right.shape[0]))
        for array, name in ((left, "X"), (right, "Y")):
            check_magnitude(float(np.abs(array).max(initial=0.0)), name)
        distances = squared_distances(left, right, self.bandwidth)
        if Y is None:
            np.fill_diagonal(distances, 0.0)
        # An infinite quotient is a kernel value of 0.
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-distances / self.bandwidth))


@dataclass(frozen=True)
class FunctionKernel(BaseKernel):
    """A user's function as a kernel; what it returns is checked.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` gives the matrix (n_samples_X, n_samples_Y); with `pairwise`,
        ``function(x, y)`` gives one number.
    name : str, optional
        The name shown to people; the function's own by default.
    pairwise : bool
        The function compares one pair of samples at a time.
    vector_input : bool
        The samples are rows of a numeric 2-D array; False for strings, graphs, time series.

    Examples
    --------
    >>> kernel = FunctionKernel(lambda X, Y: X @ Y.T, name="dot")
    >>> kernel(np.array([[1.0, 2.0]]))
    array([[5.]])
    >>> overlap = FunctionKernel(lambda x, y: len(set(x) & set(y)), pairwise=True,
    ...                          vector_input=False)
    >>> overlap(["ab", "bc"])
    array([[2., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]
    name: str | None = None
    pairwise: bool = field(default=False, kw_only=True)
    vector_input: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(
                f"FunctionKernel(function={self.function!r}) must be callable. Pass a function of "
                "(X, Y) that returns a matrix, or of one pair with pairwise=True."
            )

    @property
    def label(self) -> str:
        return self.name or str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        others = X if Y is None else Y
        if not self.pairwise:
            values = np.asarray(self.function(X, others), dtype=np.float64)
            return _check_output(values, X, Y, self.label)
        values = np.empty((count_samples(X), count_samples(others)))
        for i, j in np.ndindex(values.shape):
            # Of a pair in both orders the function is asked once.
            if Y is not None or j <= i:
                values[i, j] = self.function(X[i], others[j])
        values = values if Y is not None else np.where(np.tri(len(values)), values, values.T)
        return _check_output(values, X, Y, self.label)


@dataclass(frozen=True)
class NamedKernel(BaseKernel):
    """One of scikit-learn's pairwise kernels, by its name.

    Parameters
    ----------
    name : str
        "chi2", "cosine", "laplacian", "linear", "poly", "polynomial" or "rbf".
    params : mapping of str to float
        The kernel's parameters, such as ``{"gamma": 0.1}``.

    Examples
    --------
    >>> NamedKernel("linear")(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    name: str
    params: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.name not in PAIRWISE_NAMES:
            raise ValueError(
                f"NamedKernel({self.name!r}) is not a known kernel. Choose one of "
                f"{', '.join(PAIRWISE_NAMES)}, or wrap a function in FunctionKernel."
            )

    @property
    def has_unit_diagonal(self) -> bool:  # type: ignore[override]
        return PAIRWISE_NAMES[self.name]

    @property
    def label(self) -> str:
        settings = ", ".join(f"{key}={value:g}" for key, value in self.params.items())
        return f"{self.name} ({settings})" if settings else self.name

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        from sklearn.metrics.pairwise import pairwise_kernels

        # What overflows is infinite or not a number, which the check of the output tells.
        with np.errstate(all="ignore"):
            values = pairwise_kernels(X, Y, metric=self.name, **self.params)
        return _check_output(np.asarray(values, dtype=np.float64), X, Y, self.label)


def _check_output(values: FloatArray, X: Any, Y: Any, name: str) -> FloatArray:
    shape = count_samples(X), count_samples(X if Y is None else Y)
    if values.shape != shape:
        raise ValueError(
            f"Kernel {name!r} returned shape {values.shape}, expected {shape}: one row per sample "
            "of X, one column per sample of Y. Use pairwise=True for a function of one pair."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"Kernel {name!r} returned NaN or infinite values, expected finite numbers. Check the "
            "samples for missing values and the function for overflow or division by zero."
        )
    if Y is not None:
        return values
    # Halves, because the sum of two huge numbers may overflow.
    gap = 2.0 * np.abs(0.5 * values - 0.5 * values.T).max(initial=0.0)
    if gap > SYMMETRY_TOLERANCE * np.abs(values).max(initial=0.0):
        raise ValueError(
            f"Kernel {name!r} is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}. Return "
            "the mean of both, and check that the function does not treat X and Y differently."
        )
    return 0.5 * values + 0.5 * values.T


@dataclass(frozen=True)
class KernelStack(BaseKernelBank):
    """A bank of the listed kernels, each evaluated on whole samples, one at a time.

    Parameters
    ----------
    kernels : sequence of BaseKernel, str or callable
        The base kernels: objects, names of scikit-learn's pairwise kernels, functions of (X, Y).

    Examples
    --------
    >>> bank = KernelStack(["linear", lambda X, Y: np.ones((len(X), len(Y)))])
    >>> bank.on([[1.0], [3.0]]).combine([1.0, 2.0])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    kernels: Sequence[Any]

    def __post_init__(self) -> None:
        kernels = tuple(as_kernel(kernel) for kernel in self.kernels)
        if not kernels:
            raise ValueError(
                "KernelStack([]) has no kernels, expected at least one. List kernels such as "
                "[Gaussian(), 'linear']."
            )
        object.__setattr__(self, "kernels", kernels)

    @property
    def kind(self) -> type[FunctionKernels]:
        """Kernels on rows of a numeric 2-D array where any kernel needs them, else on anything."""
        is_numeric = any(kernel.vector_input for kernel in self.kernels)
        return VectorFunctionKernels if is_numeric else FunctionKernels

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> FunctionKernels:
        kind = self.kind
        samples = check_vectors(X) if kind is VectorFunctionKernels else _as_sequence(X)
        kernels = tuple(kernel.adapt(samples, sample_weight) for kernel in self.kernels)
        labels = [kernel.label for kernel in kernels]
        names = tuple(
            label if labels.count(label) == 1 else f"{label} {labels[: i + 1].count(label)}"
            for i, label in enumerate(labels)
        )
        return kind(samples=samples, kernels=kernels, names=names)


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionKernels(SampleKernels):
    """Kernels of whole samples of any type, each a function of two lists of them."""

    kernels: tuple[BaseKernel, ...]
    names: tuple[str, ...]  # those that several kernels share are numbered

    input_kind: ClassVar[str] = "anything"
    per_kernel = ("kernels", "names")

    @property
    def has_unit_diagonal(self) -> bool:  # type: ignore[override]
        return all(kernel.has_unit_diagonal for kernel in self.kernels)

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        return list(self.names)

    def evaluate(self, index: int) -> FloatArray:
        values = self.kernels[index](self.samples, self.others)
        # Matrix products may round K_ij and K_ji differently.
        return (values + values.T) / 2 if self.is_square else values

    def diagonal(self) -> FloatArray:
        if self.has_unit_diagonal:
            return super().diagonal()
        return np.column_stack([kernel.diagonal(self.samples) for kernel in self.kernels])

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Any, Form]:
        return _as_sequence(X), form


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorFunctionKernels(VectorInput, FunctionKernels):
    """Kernels of rows of numbers, each a function of two arrays of them."""

    def check(self, form: Form) -> None:
        super().check(form)
        shape = self.samples.shape
        is_right = len(shape) == 2 and shape[1] == form.n_features
        require(is_right, f"the samples have the shape {shape}, expected {form.n_features} columns")


def _as_sequence(X: Any) -> Any:
    """X itself, but the values of a series: its index must not decide what X[i] is."""
    samples = X.to_numpy() if hasattr(X, "to_numpy") else X
    if len(samples) == 0:
        raise ValueError("X has no samples, expected at least one. Check how X was selected.")
    return samples


@dataclass(frozen=True, eq=False, kw_only=True)
class StackKernels(SampleKernels):
    """Kernels of a stack, of which a sample is a row: its similarities to all training samples."""

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
        left = self.take(np.arange(self.places.size) if rows is None else rows)
        return replace(left, others=self.take(columns).places)

    def cross(self, samples: Any) -> Self:
        """The kernels between new samples, given by similarities to all training samples."""
        stack = _as_stack(samples)
        return replace(self, samples=stack, places=np.arange(len(stack)), others=self.places)

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
    stack is never copied, and sums are in double precision.

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
    """Refuse kernels that are not finite and symmetric, or do not have ones on their diagonals."""
    _check_square(stack.shape)
    # Single precision cannot do better than its own rounding.
    precision = float(np.finfo(np.result_type(stack.dtype, np.float32)).eps)
    tolerance = max(SYMMETRY_TOLERANCE, 8 * precision)
    largest, gap = np.zeros(stack.shape[2]), np.zeros(stack.shape[2])
    is_finite = np.ones(stack.shape[2], dtype=bool)
    # Row by row, because a stack may be large.
    for i, row in enumerate(stack):
        is_finite &= np.isfinite(row).all(axis=0)
        largest = np.fmax(largest, np.abs(row).max(axis=0))
        gap = np.fmax(gap, np.abs(row.astype(np.float64) - stack[:, i]).max(axis=0))
    diagonals = np.einsum("iil->il", stack).astype(np.float64)
    has_ones = np.all(np.abs(diagonals - 1.0) <= tolerance, axis=0)
    for is_right, problem in (
        (is_finite, "contains NaN or infinity, expected finite numbers. Fill or leave it out"),
        (gap <= tolerance * largest, "is not symmetric, expected K = K.T. Use (K + K.T) / 2"),
        (
            has_ones,
            "does not have ones on its diagonal, expected K[i, i] = 1. Divide it by the norms: "
            "d = numpy.sqrt(numpy.diagonal(K)); K / d / d[:, None]",
        ),
    ):
        if not np.all(is_right):
            raise ValueError(f"Precomputed kernel {np.argmin(is_right)} {problem}.")


# The banks that have a name of their own.
BANK_NAMES: Mapping[str, Callable[[], BaseKernelBank]] = {
    "per_feature_gaussian": PerFeatureGaussian,
    "per_column": PerColumn,
    "per_word": PerWord,
    "precomputed": Precomputed,
    "global_alignment": GlobalAlignment,
    "per_view": partial(GlobalAlignment, scales=(0.2, 1.0, 5.0), views=VIEWS, groups=WEIGHED),
}


def as_kernel(kernel: BaseKernel | str | Callable[[Any, Any], Any]) -> BaseKernel:
    """A kernel from a kernel, a name of scikit-learn's, or a function of (X, Y)."""
    match kernel:
        case BaseKernel():
            return kernel
        case str():
            return NamedKernel(kernel)
        case _ if callable(kernel):
            return FunctionKernel(kernel)
    raise ValueError(
        f"{kernel!r} is not a kernel. Expected an object from imkpl.kernels such as Gaussian(), a "
        "name such as 'rbf', or a function of (X, Y) that returns a matrix."
    )


def resolve_bank(kernels: Any) -> BaseKernelBank:
    """The kernel bank that a user's choice stands for.

    Parameters
    ----------
    kernels : str, BaseKernelBank, BaseKernel, callable, or list of kernels, callables and names
        "per_feature_gaussian", "per_column" for tables with categories or missing cells,
        "per_word" for counts of words, "global_alignment" for time series, "per_view" for several
        views of all channels, "precomputed", the name of one of scikit-learn's pairwise kernels, a
        bank, or one or several kernels.

    Returns
    -------
    BaseKernelBank
        A bank, not bound to samples yet.

    """
    match kernels:
        case BaseKernelBank():
            return kernels
        case str() if kernels in BANK_NAMES:
            return BANK_NAMES[kernels]()
        case list() | tuple():
            return KernelStack(tuple(kernels))
        case _ if callable(kernels) or (isinstance(kernels, str) and kernels in PAIRWISE_NAMES):
            return KernelStack((kernels,))
    names = ", ".join(repr(name) for name in (*BANK_NAMES, *PAIRWISE_NAMES))
    raise ValueError(
        f"kernels={kernels!r} is not known. Expected one of the names {names}; a bank or a kernel "
        "from imkpl.kernels; a function of (X, Y) that returns a matrix; or a list of kernels, "
        "names and functions."
    )
