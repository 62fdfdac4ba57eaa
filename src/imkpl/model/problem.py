"""A fit: the problem, which stays fixed, and the state, which is learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.model.constraints import raise_least
from imkpl.model.separation import BaseSeparation
from imkpl.model.votes import STRENGTH_RIDGE, vote_loss

# Kernels are computed in single precision if a combined kernel takes this many kernel values,
# which is several seconds of work.
MANY_VALUES = 2**32


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed during a fit.

    Every kernel has the same value K_l(x, x) for all samples: 1, or its scale if the kernels are
    divided by their variance. Kernels of words have it on average.
    """

    X: Any  # the training samples, as the bank reads them
    labels: IntArray  # class of each sample, from 0
    sample_weight: FloatArray
    counts: FloatArray  # how many of the samples given each of them stands for
    bank: BaseKernelBank
    kernel_indices: IntArray  # positions of these kernels in the bank at the start of the fit
    separation_loss: BaseSeparation  # J_ls or its replacement, with its regulariser
    discrimination: float  # lambda, the weight of J_dis
    separation: float  # mu, the weight of the separation loss
    interpretability: float  # tau, the weight of J_ip
    sparsity: int  # maximum number of samples per prototype
    code_sparsity: int  # maximum number of prototypes per code
    sharpness: float = 0.0  # t, of the votes; 0 without votes
    dtype: DTypeLike = np.float64  # precision of kernels and margins, see in_suitable_precision
    # Of every kernel at the start of the fit: how sure it is that it is more than chance.
    evidence: FloatArray = field(default_factory=lambda: np.zeros(0))
    most_kernels: int | None = None  # without a limit by the user
    is_required: BoolArray | None = None  # kernels that must have a weight
    is_eligible: BoolArray | None = None  # samples that prototypes may be made of; None for all

    @cached_property
    def diagonals(self) -> FloatArray:
        """K_l(x, x) of every kernel, on average over the samples."""
        return self.bank._mean_diagonal(self.sample_weight / self.sample_weight.sum(), self.X)

    @cached_property
    def members(self) -> list[IntArray]:
        """The samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(int(self.labels.max()) + 1)]

    def scale(self, weights: FloatArray) -> float:
        """The diagonal of the combined kernel: one over its variance for variance-scaled kernels.

        Reconstruction, discrimination and interpretability are computed on the unit-diagonal
        kernel and multiplied by this number, so that each term is linear in the weights.
        """
        return float(self.diagonals @ weights)

    def combine(self, weights: FloatArray) -> FloatArray:
        """The combined kernel of the training samples, scaled to a unit diagonal."""
        combined = self.bank.combine(weights / self.scale(weights), self.X)
        return combined.astype(np.float64, copy=False)

    def average(self) -> FloatArray:
        """The average of the kernels, each scaled to a unit diagonal."""
        return self.combine(1 / self.diagonals)

    def prototype_classes(self, state: State) -> IntArray:
        """The class of every prototype, that of its first sample."""
        return np.asarray(self.labels[state.prototypes.indices[state.prototypes.indptr[:-1]]])

    def vote_term(
        self, similarities: FloatArray, log_strengths: FloatArray, classes: IntArray
    ) -> tuple[float, FloatArray]:
        """``J_vote``, and its slope in the logarithm of each vote."""
        logs = self.sharpness * similarities + log_strengths
        loss, slopes = vote_loss(logs, classes, self.labels, self.sample_weight)
        ridge = STRENGTH_RIDGE * self.sample_weight.sum() / log_strengths.size
        return loss + float(ridge * (log_strengths @ log_strengths)), slopes

    def keep_least(self, weights: FloatArray) -> FloatArray:
        """Kernel weights in which every required kernel has a share."""
        return weights if self.is_required is None else raise_least(weights, self.is_required)

    def in_suitable_precision(self) -> Problem:
        """The problem in single precision if combining its kernels takes long."""
        if self.labels.size**2 * self.bank.n_kernels < 2 * MANY_VALUES:
            return self
        return replace(self, bank=self.bank._in_single_precision(), dtype=np.float32)

    def take(self, samples: IntArray) -> Problem:
        """The problem with some of its samples."""
        return replace(
            self,
            X=self.bank._subset(self.X, samples),
            labels=self.labels[samples],
            sample_weight=self.sample_weight[samples],
            counts=self.counts[samples],
            is_eligible=None if self.is_eligible is None else self.is_eligible[samples],
        )

    def select(self, indices: IntArray) -> Problem:
        """The problem with some of its kernels."""
        return replace(
            self,
            bank=self.bank.select(indices),
            kernel_indices=self.kernel_indices[indices],
            separation_loss=self.separation_loss.select(indices),
            is_required=None if self.is_required is None else self.is_required[indices],
        )


@dataclass(frozen=True, eq=False)
class State:
    """What is learned. Updates replace states and never edit them."""

    prototypes: sp.csr_array  # U', (n_prototypes, n_samples): non-negative rows of unit norm
    codes: sp.csr_array  # Gamma', (n_samples, n_prototypes): non-negative
    weights: FloatArray  # beta, one per kernel: non-negative, sum to one
    kernel: FloatArray  # the combined kernel of these weights, with unit diagonal
    log_strengths: FloatArray  # one per prototype: how loud it votes


def check_varying(is_varying: bool) -> None:
    """Raise unless the kernels tell training samples apart."""
    if not is_varying:
        raise ValueError(
            "All kernels are constant over the training samples, expected at least one that tells "
            "samples apart. Check that X has features that vary."
        )
