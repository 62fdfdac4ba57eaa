"""What stays fixed during a fit: samples, labels, kernels and the weights of the terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.model.separation import BaseSeparation


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

        Parameters
        ----------
        weights : array of shape (n_kernels,)
            Kernel weights on the simplex.

        Returns
        -------
        float
            ``sum_l weights_l K_l(x, x)``.
        """
        return float(self.diagonals @ weights)

    def combine(self, weights: FloatArray) -> FloatArray:
        """The combined kernel of the training part, scaled to a unit diagonal.

        Parameters
        ----------
        weights : array of shape (n_kernels,)
            Kernel weights on the simplex.

        Returns
        -------
        array of shape (n_samples, n_samples)
            The Gram matrix.
        """
        return self.bank.combine(weights / self.scale(weights), self.X)

    def select(self, indices: IntArray) -> Problem:
        """The problem with the listed kernels only.

        Parameters
        ----------
        indices : array of shape (n_selected,)
            Which kernels.

        Returns
        -------
        Problem
            The smaller problem.
        """
        return replace(
            self,
            bank=self.bank.select(indices),
            kernel_indices=self.kernel_indices[indices],
            separation_loss=self.separation_loss.select(indices),
        )
