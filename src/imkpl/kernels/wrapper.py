"""What every bank around another bank passes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from imkpl._typing import IntArray
from imkpl.kernels.base import BaseKernelBank


class BaseWrapper(BaseKernelBank):
    """A bank whose kernels read the same samples, in the same form, as those of `bank`."""

    bank: BaseKernelBank

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return self.bank.n_kernels

    @property
    def requires_vector_input(self) -> bool:
        """Whether the wrapped bank needs rows of a numeric 2-D array."""
        return self.bank.requires_vector_input

    @property
    def reads_similarities(self) -> bool:
        """Whether the wrapped bank reads kernel values instead of samples."""
        return self.bank.reads_similarities

    @property
    def reads_series(self) -> bool:
        """Whether the wrapped bank reads time series."""
        return self.bank.reads_series

    @property
    def reads_tables(self) -> bool:
        """Whether the wrapped bank reads rows of tables."""
        return self.bank.reads_tables

    @property
    def columns(self) -> IntArray | None:
        """The sorted input columns that the kernels read; None when they read everything."""
        return self.bank.columns

    @property
    def columns_suffice(self) -> bool:
        """Whether the wrapped bank reads X by columns alone."""
        return self.bank.columns_suffice

    @property
    def kernel_columns(self) -> IntArray | None:
        """The one input column that each kernel reads; None when kernels read several."""
        return self.bank.kernel_columns

    def take(self, X: Any, indices: ArrayLike) -> Any:
        """The listed samples of X in the form that `Y` accepts."""
        return self.bank.take(X, indices)

    def subset(self, X: Any, indices: ArrayLike) -> Any:
        """The data cut down to the listed samples, in the form that `X` accepts."""
        return self.bank.subset(X, indices)

    def in_single_precision(self) -> Self:
        """The wrapper of the same kernels, combined in single precision."""
        return self._around(self.bank.in_single_precision())

    def within_memory(self, working_memory: float) -> Self:
        """The wrapper of the same kernels, with blocks of data of a limited size."""
        return self._around(self.bank.within_memory(working_memory))

    def plain(self) -> BaseKernelBank:
        """The wrapper of the same kernels, without what serves a fit only."""
        return self._around(self.bank.plain())

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names that the wrapped bank gives."""
        return self.bank.kernel_names(feature_names)

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        return self.bank._shape(X, Y)

    def _around(self, bank: BaseKernelBank) -> Self:
        # Every wrapper is a data class, which type checkers cannot know here.
        changed: Self = replace(self, bank=bank)  # type: ignore[type-var]
        return changed
