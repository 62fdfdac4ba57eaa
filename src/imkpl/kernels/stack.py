"""A bank from any list of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray
from imkpl.kernels.base import BaseKernelBank
from imkpl.kernels.checks import check_indices
from imkpl.kernels.custom import FunctionKernel, NamedKernel
from imkpl.kernels.kernel import BaseKernel


def as_kernel(kernel: BaseKernel | str | Callable[[Any, Any], Any]) -> BaseKernel:
    """A kernel from a kernel, a name of scikit-learn's, or a function of (X, Y).

    Examples
    --------
    >>> as_kernel("linear")
    NamedKernel(name='linear', params={})
    """
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
    >>> bank.combine([1.0, 2.0], np.array([[1.0], [3.0]]))
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
    def _kernels(self) -> tuple[BaseKernel, ...]:
        return tuple(self.kernels)

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return len(self._kernels)

    @property
    def requires_vector_input(self) -> bool:
        """Whether any kernel needs rows of a numeric 2-D array."""
        return any(kernel.requires_vector_input for kernel in self._kernels)

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether every kernel has a unit diagonal by construction."""
        return all(kernel.has_unit_diagonal for kernel in self._kernels)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> KernelStack:
        """The stack of the adapted kernels."""
        return KernelStack(tuple(kernel.adapt(X, sample_weight) for kernel in self._kernels))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        values = self._kernels[index](X, Y)
        # Matrix products may round K_ij and K_ji differently.
        return (values + values.T) / 2 if Y is None else values

    def diagonal(self, X: Any) -> FloatArray:
        """``K_l(x, x)`` for every sample and kernel."""
        if self.has_unit_diagonal:
            return super().diagonal(X)
        return np.column_stack([kernel.diagonal(X) for kernel in self._kernels])

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order."""
        chosen = check_indices(indices, self.n_kernels)
        return replace(self, kernels=tuple(self._kernels[i] for i in chosen))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The kernels' own names; a repeated name is numbered."""
        names = [kernel.label for kernel in self._kernels]
        return [
            name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
            for i, name in enumerate(names)
        ]
