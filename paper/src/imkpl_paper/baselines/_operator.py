"""The kernels of the training samples, seen through two operations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank


@dataclass(frozen=True, eq=False)
class KernelOperator:
    """Base kernels between training samples as a linear operator and its adjoint.

    The methods see the kernels through `combine` and `inner`, and DKMLD through `times` as well.
    Nothing of size n_kernels x n_samples x n_samples is built.

    Parameters
    ----------
    bank : BaseKernelBank
        Kernels of unit diagonal.
    samples : samples
        The training part, in the form that the bank reads.
    n_samples : int
        Their number.
    indices : int array of shape (n_kernels,)
        The places of these kernels among all that the method started with.
    n_all : int
        The number of kernels that it started with.
    """

    bank: BaseKernelBank
    samples: Any
    n_samples: int
    indices: IntArray
    n_all: int

    @classmethod
    def over(cls, bank: BaseKernelBank, samples: Any, n_samples: int) -> KernelOperator:
        """The operator of all kernels of a bank."""
        return cls(bank, samples, n_samples, np.arange(bank.n_kernels), bank.n_kernels)

    @property
    def n_kernels(self) -> int:
        """The number of kernels that are left."""
        return int(self.indices.size)

    def uniform(self) -> FloatArray:
        """Equal weights that sum to one."""
        return np.full(self.n_kernels, 1.0 / self.n_kernels)

    def combine(self, weights: FloatArray) -> FloatArray:
        """``sum_l weights_l K_l``."""
        return np.asarray(self.bank.combine(weights, self.samples), dtype=np.float64)

    def inner(self, M: FloatArray) -> FloatArray:
        """``<K_l, M>`` for every l."""
        return self.bank.contract(M, self.samples)

    def times(self, V: FloatArray) -> FloatArray:
        """``K_l V`` for every l; V has few columns."""
        products = np.empty((self.n_kernels, *V.shape))
        for index in range(self.n_kernels):
            products[index] = self.bank.evaluate(index, self.samples) @ V
        return products

    def select(self, places: IntArray) -> KernelOperator:
        """The operator of some of the kernels."""
        return replace(self, bank=self.bank.select(places), indices=self.indices[places])

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights of the kernels that are left as weights of all."""
        full = np.zeros(self.n_all)
        full[self.indices] = weights
        return full


def keep_largest(
    operator: KernelOperator, weights: FloatArray, max_kernels: int | None
) -> tuple[KernelOperator, FloatArray]:
    """Leave out all but the largest weights, for good, if there are too many."""
    if max_kernels is None or np.count_nonzero(weights) <= max_kernels:
        return operator, weights
    kept = np.sort(np.argsort(-weights, kind="stable")[:max_kernels])
    return operator.select(kept), weights[kept] / weights[kept].sum()
