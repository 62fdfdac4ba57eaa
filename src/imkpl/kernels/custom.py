"""Kernels of whole samples, alone and as a bank: Gaussian, by name, or a user's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._typing import FloatArray
from imkpl.kernels.alignment import WEIGHED, GlobalAlignment
from imkpl.kernels.base import (
    BaseKernel,
    BaseKernelBank,
    SampleKernels,
    check_magnitude,
    check_vectors,
    count_samples,
)
from imkpl.kernels.forms import Form
from imkpl.kernels.per_feature import (
    PerFeatureGaussian,
    VectorInput,
    root_mean_squared_difference,
    squared_distances,
)
from imkpl.kernels.precomputed import Precomputed
from imkpl.kernels.table import PerColumn
from imkpl.kernels.views import VIEWS
from imkpl.kernels.words import PerWord

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

# Asymmetry beyond rounding, relative to the largest entry.
SYMMETRY_TOLERANCE = 1e-8
# The banks that have a name of their own.
BANK_NAMES: Mapping[str, Callable[[], BaseKernelBank]] = {
    "per_feature_gaussian": PerFeatureGaussian,
    "per_column": PerColumn,
    "per_word": PerWord,
    "precomputed": Precomputed,
    "global_alignment": GlobalAlignment,
    "per_view": partial(GlobalAlignment, scales=(0.2, 1.0, 5.0), views=VIEWS, groups=WEIGHED),
}


@dataclass(frozen=True)
class Gaussian(BaseKernel):
    """``k(x, y) = exp(-||x - y||**2 / bandwidth)``.

    Parameters
    ----------
    bandwidth : float, optional
        The squared width. When None, `adapt` sets it to the mean squared distance over all
        ordered pairs of training samples; samples without any spread get the constant kernel 1
        (an infinite bandwidth).

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
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"X has {left.shape[1]} columns and Y has {right.shape[1]}, expected the same "
                "number. Pass samples with the columns of the training part."
            )
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
    unit_diagonal : bool
        A promise that k(x, x) = 1 for every x.
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
    unit_diagonal: bool = field(default=False, kw_only=True)
    vector_input: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(
                f"FunctionKernel(function={self.function!r}) must be callable. Pass a function of "
                "(X, Y) that returns a matrix, or of one pair with pairwise=True."
            )

    @property
    def has_unit_diagonal(self) -> bool:  # type: ignore[override]
        return self.unit_diagonal

    @property
    def label(self) -> str:
        return self.name or str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        if self.pairwise:
            values = self._evaluate_pairs(X, Y)
        else:
            values = np.asarray(self.function(X, X if Y is None else Y), dtype=np.float64)
        return _check_output(values, X, Y, self.label)

    def _evaluate_pairs(self, X: Any, Y: Any) -> FloatArray:
        n_rows = count_samples(X)
        if Y is not None:
            others = [Y[j] for j in range(count_samples(Y))]
            rows = [[self.function(X[i], y) for y in others] for i in range(n_rows)]
            return np.array(rows, dtype=np.float64)
        values = np.empty((n_rows, n_rows))
        for i in range(n_rows):
            for j in range(i + 1):
                values[i, j] = values[j, i] = self.function(X[i], X[j])
        return values


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
    series = nw.from_native(X, pass_through=True, series_only=True)
    samples = series.to_numpy() if isinstance(series, nw.Series) else X
    if len(samples) == 0:
        raise ValueError("X has no samples, expected at least one. Check how X was selected.")
    return samples


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

    Examples
    --------
    >>> resolve_bank("precomputed")
    Precomputed()
    >>> resolve_bank(["linear", "rbf"]).on([[1.0], [2.0]]).kernel_names()
    ['linear', 'rbf']
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
