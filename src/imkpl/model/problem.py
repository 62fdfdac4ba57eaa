"""A fit: the problem, which stays fixed, and the state, which is learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.model.separation import Separation
from imkpl.model.votes import STRENGTH_RIDGE, vote_loss


@dataclass(frozen=True)
class Settings:
    """What a user chooses about the objective and the model."""

    discrimination: float = 0.5  # lambda, the weight of J_dis
    separation: float = 100.0  # mu, the weight of the separation loss
    interpretability: float = 1.2  # tau, the weight of J_ip
    sparsity: int | None = None  # T0, of prototypes; None for what suits the kernels
    code_sparsity: int = 1  # maximum number of prototypes per code
    n_neighbors: int = 4  # k, the same-class neighbours that margins compare
    weight_rule: str = "margin"  # "lp" as printed, or "equal" for weights that are not learned
    decision: str = "votes"  # or "share", as printed
    max_kernels: int | None = None

    @property
    def learns_weights(self) -> bool:
        """Whether kernels are chosen and weighed."""
        return self.weight_rule != "equal"


# A required kernel has at least this part of an even share: enough to be seen in an explanation.
LEAST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed during a fit: kernels on samples, labels, weights and settings."""

    # K_l(x, x) is the same for all samples: 1, or one over the variance if kernels are divided by
    # it. Kernels of words have it on average.
    kernels: Kernels  # between the training samples
    labels: IntArray  # class of each sample, from 0
    sample_weight: FloatArray
    multiplicity: FloatArray  # how many given samples each stands for
    settings: Settings
    kernel_indices: IntArray  # places of these kernels among those at the start of the fit
    separation_loss: Separation  # J_ls or its replacement, with its regulariser
    is_required: BoolArray | None = None  # kernels that must have a weight
    is_eligible: BoolArray | None = None  # samples that prototypes may be made of; None for all
    sharpness: float = 0.0  # t, of the votes; 0 without votes
    dtype: DTypeLike = np.float64  # precision of kernels and margins

    @property
    def sparsity(self) -> int:
        """The maximum number of samples per prototype."""
        return self.settings.sparsity or self.kernels.default_sparsity or int(self.labels.size)

    @cached_property
    def diagonals(self) -> FloatArray:
        """K_l(x, x) of every kernel, on average over the samples."""
        return self.kernels.mean_diagonal(self.sample_weight / self.sample_weight.sum())

    @cached_property
    def members(self) -> list[IntArray]:
        """The samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(int(self.labels.max()) + 1)]

    def scale(self, weights: FloatArray) -> float:
        """The diagonal of the combined kernel; times it, terms are linear in the weights."""
        return float(self.diagonals @ weights)

    def combine(self, weights: FloatArray) -> FloatArray:
        """The combined kernel of the training samples, scaled to a unit diagonal."""
        combined = self.kernels.combine(weights / self.scale(weights))
        return combined.astype(np.float64, copy=False)

    def average(self) -> FloatArray:
        """The average of the kernels, each scaled to a unit diagonal."""
        return self.combine(1 / self.diagonals)

    def unit_weights(self, weights: FloatArray, n_kernels: int) -> FloatArray:
        """Weights of all kernels of unit diagonal at the start of the fit; they sum to one."""
        shares, found = weights * self.diagonals, np.zeros(n_kernels)
        found[self.kernel_indices] = shares / shares.sum()
        return found

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
        """Kernel weights of the same sum, in which every required kernel has a share."""
        if self.is_required is None:
            return weights
        total = weights.sum()
        least = LEAST_SHARE * total / weights.size
        raised = np.where(self.is_required, np.maximum(weights, least), weights)
        return np.asarray(raised * (total / raised.sum()))

    def take(self, samples: IntArray) -> Problem:
        """The problem with some of its samples."""
        return replace(
            self,
            kernels=self.kernels.take(samples),
            labels=self.labels[samples],
            sample_weight=self.sample_weight[samples],
            multiplicity=self.multiplicity[samples],
            is_eligible=None if self.is_eligible is None else self.is_eligible[samples],
        )

    def select(self, indices: IntArray) -> Problem:
        """The problem with some of its kernels."""
        return replace(
            self,
            kernels=self.kernels.select(indices),
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
    log_strengths: FloatArray  # one per prototype: the logarithm of the weight of its vote


def check_varying(is_varying: bool, sample_weight: FloatArray | None = None) -> None:
    """Raise unless the kernels tell training samples apart, as they are weighted."""
    if is_varying:
        return
    if sample_weight is not None and sample_weight.max() > (1 - 1e-6) * sample_weight.sum():
        raise ValueError(
            "One sample weighs more than a million times as much as all others together, expected "
            "weights that let several samples count. Reduce the largest sample_weight or "
            "class_weight."
        )
    raise ValueError(
        "All kernels are constant over the training samples, expected at least one that tells "
        "samples apart. Check that X has features that vary."
    )
