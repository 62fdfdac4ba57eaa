"""Kernels that come from elsewhere: a user's function, or scikit-learn's by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.kernels.blocks import count_samples
from imkpl.kernels.kernel import BaseKernel

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
_SYMMETRY_TOLERANCE = 1e-8


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
    def requires_vector_input(self) -> bool:
        """Whether the samples must be rows of a numeric 2-D array."""
        return self.vector_input

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether k(x, x) = 1 was promised."""
        return self.unit_diagonal

    @property
    def label(self) -> str:
        """The name that was given, or the function's own."""
        return self.name or str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""
        if self.pairwise:
            values = self._evaluate_pairs(X, Y)
        else:
            values = np.asarray(self.function(X, X if Y is None else Y), dtype=np.float64)
        n_columns = count_samples(X if Y is None else Y)
        return _check_output(values, (count_samples(X), n_columns), self.label, Y is None)

    def diagonal(self, X: Any) -> FloatArray:
        """k(x, x) for every sample of X."""
        if self.pairwise and not self.unit_diagonal:
            samples = (X[i] for i in range(count_samples(X)))
            return np.array([self.function(x, x) for x in samples], dtype=np.float64)
        return super().diagonal(X)

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
    def has_unit_diagonal(self) -> bool:
        """Whether k(x, x) = 1 for every x by construction."""
        return PAIRWISE_NAMES[self.name]

    @property
    def label(self) -> str:
        """The name, followed by its parameters."""
        settings = ", ".join(f"{key}={value:g}" for key, value in self.params.items())
        return f"{self.name} ({settings})" if settings else self.name

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""
        from sklearn.metrics.pairwise import pairwise_kernels

        # What overflows is infinite or not a number, which the check of the output tells.
        with np.errstate(all="ignore"):
            values = pairwise_kernels(X, Y, metric=self.name, **self.params)
        n_columns = count_samples(X if Y is None else Y)
        values = np.asarray(values, dtype=np.float64)
        return _check_output(values, (count_samples(X), n_columns), self.label, Y is None)


def _check_output(
    values: FloatArray, shape: tuple[int, int], name: str, is_symmetric: bool
) -> FloatArray:
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
    if not is_symmetric:
        return values
    # Halves, because the sum of two huge numbers may overflow.
    gap = 2.0 * np.abs(0.5 * values - 0.5 * values.T).max(initial=0.0)
    if gap > _SYMMETRY_TOLERANCE * np.abs(values).max(initial=0.0):
        raise ValueError(
            f"Kernel {name!r} is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}. Return "
            "the mean of both, and check that the function does not treat X and Y differently."
        )
    return 0.5 * values + 0.5 * values.T
