"""What stays fixed during a fit: samples, labels, kernels and the weights of the terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.model.neighbors import Neighborhoods, find_neighborhoods
from imkpl.model.separation import BaseSeparation

# From so many kernel values in a combined kernel, several seconds of work, they are computed in
# single precision.
MANY_VALUES = 2**32


@dataclass(frozen=True, eq=False)
class Problem:
    """One fit of the model.

    Parameters
    ----------
    X : samples
        The training part, in the form that the bank reads.
    labels : int array of shape (n_samples,)
        Class of each sample, counted from 0.
    sample_weight : array of shape (n_samples,)
        How much each sample counts in every sum over samples.
    bank : BaseKernelBank
        The base kernels. Each has the same value K_l(x, x) for all samples: 1, or its scale when
        the kernels are divided by their variance.
    kernel_indices : int array of shape (n_kernels,)
        Where these kernels stand in the bank that the fit began with.
    separation_loss : BaseSeparation
        What stands in the place of J_ls, with its regulariser.
    discrimination, separation, interpretability : float
        The weights lambda, mu and tau of J_dis, J_ls and J_ip.
    sparsity : int
        At most so many samples in a prototype.
    code_sparsity : int
        At most so many prototypes in a code.
    dtype : float64 or float32
        Precision of kernels and margins, set by `in_suitable_precision`.
    """

    X: Any
    labels: IntArray
    sample_weight: FloatArray
    bank: BaseKernelBank
    kernel_indices: IntArray
    separation_loss: BaseSeparation
    discrimination: float
    separation: float
    interpretability: float
    sparsity: int
    code_sparsity: int
    dtype: DTypeLike = np.float64

    @cached_property
    def diagonals(self) -> FloatArray:
        """K_l(x, x) of every kernel, the same for all samples."""
        first = self.bank.subset(self.X, np.array([0]))
        return np.array(self.bank.diagonal(first)[0])

    @cached_property
    def members(self) -> list[IntArray]:
        """The samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(int(self.labels.max()) + 1)]

    def scale(self, weights: FloatArray) -> float:
        """The diagonal of the combined kernel: one over its variance for variance-scaled kernels.

        Reconstruction, discrimination and interpretability are measured on the unit-diagonal
        kernel and multiplied by this number, so that each term stays linear in the weights.
        """
        return float(self.diagonals @ weights)

    def combine(self, weights: FloatArray) -> FloatArray:
        """The combined kernel of the training part, scaled to a unit diagonal."""
        combined = self.bank.combine(weights / self.scale(weights), self.X)
        return combined.astype(np.float64, copy=False)

    def mix(self, mixed: Sequence[tuple[FloatArray, float]]) -> FloatArray:
        """The kernel of a state, made as the weight steps made it: equal to the last bit."""
        kernel = self.combine(mixed[0][0])
        for weights, share in mixed[1:]:
            kernel = share * self.combine(weights) + (1 - share) * kernel
        return kernel

    def find_neighborhoods(
        self, n_same: int, n_other: int, samples: IntArray | None = None
    ) -> Neighborhoods:
        """Nearest samples under equal weights for the kernels of unit diagonal."""
        kernel = self.combine(1 / self.diagonals)
        return find_neighborhoods(kernel, self.labels, n_same, n_other, samples)

    def in_suitable_precision(self) -> Problem:
        """The problem in single precision, if combining all of its kernels takes long."""
        if self.labels.size**2 * self.bank.n_kernels < 2 * MANY_VALUES:
            return self
        return replace(self, bank=self.bank.in_single_precision(), dtype=np.float32)

    def select(self, indices: IntArray) -> Problem:
        """The problem with the listed kernels only."""
        return replace(
            self,
            bank=self.bank.select(indices),
            kernel_indices=self.kernel_indices[indices],
            separation_loss=self.separation_loss.select(indices),
        )
