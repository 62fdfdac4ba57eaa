"""A fit: the problem, which stays fixed, and the state, which is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from imkpl._checks import take_fields
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.model.neighbors import space_evenly
from imkpl.model.separation import Separation
from imkpl.model.votes import STRENGTH_RIDGE, value_loss, vote_loss


@dataclass(frozen=True)
class Settings:
    """What a user chooses about the objective and the model."""

    discrimination: float = 0.5  # lambda, the weight of J_dis
    separation: float = 100.0  # mu, the weight of the separation loss
    interpretability: float = 1.2  # tau, the weight of J_ip
    sparsity: int | None = None  # T0, of prototypes; None for what suits the kernels
    code_sparsity: int = 1  # maximum number of prototypes per code
    n_neighbors: int = 4  # k, the same-class neighbours that margins compare
    # "lp" as printed, "large_margin", or "equal" for weights that are not learned
    weight_rule: str = "margin"
    decision: str = "votes"  # or "share", as printed
    contrast: bool | None = None  # whether prototypes have contrasts; None: as folds find
    max_kernels: int | None = None

    @property
    def learns_weights(self) -> bool:
        """Whether kernels are weighed."""
        return self.weight_rule != "equal"

    @property
    def chooses_kernels(self) -> bool:
        """Whether kernels are scaled and tested before some are weighed; the paper takes all."""
        return self.weight_rule == "margin"

    @property
    def has_votes(self) -> bool:
        """Whether prototypes are learned for a decision by votes."""
        return self.decision == "votes"


# The fields of a problem, and of training data, that have an entry per sample; None for some.
PER_SAMPLE = ("labels", "sample_weight", "multiplicity", "is_eligible", "persons", "values")
# Ridge on the mean square of the distances of values of prototypes from the means of their bins.
LEVEL_RIDGE = 1e-3
# The most kernels whose average is computed; that of more is hardly another.
MOST_AVERAGED = 2**15
# A required kernel has at least this part of an even share: enough to be seen in an explanation.
LEAST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed during a fit: kernels on samples, labels, weights and settings."""

    # K_l(x, x) is the same for all samples: 1, or one over the variance if kernels are divided by
    # it. Kernels of words have it on average.
    kernels: Kernels  # between the training samples
    labels: IntArray  # class of each sample, from 0; of values their bin
    sample_weight: FloatArray
    multiplicity: FloatArray  # how many given samples each stands for
    settings: Settings
    kernel_indices: IntArray  # places of these kernels among those at the start of the fit
    widths: FloatArray  # factors on their bandwidths
    separation_loss: Separation  # J_ls or its replacement, with its regulariser
    is_required: BoolArray | None = None  # kernels that must have a weight
    is_eligible: BoolArray | None = None  # samples that prototypes may be made of; None for all
    persons: IntArray | None = None  # whom samples belong to; None if all are independent
    # (n_kernels, n_kernels) 1 for copies of each other, nearly 0 for others; None if not compared
    likeness: FloatArray | None = None
    # c, on every t^2 ||Phi (u_j - v_j)||^2, prototypes minus contrasts; 0 without contrasts
    ridge: float = 0.0
    dtype: DTypeLike = np.float64  # precision of kernels and margins
    # Of mean 0 and variance 1, where the target is a value; bins of it are then the classes.
    values: FloatArray | None = None

    @property
    def sparsity(self) -> int:
        """The maximum number of samples per prototype."""
        return self.settings.sparsity or self.kernels.default_sparsity or int(self.labels.size)

    @property
    def contrast_sparsity(self) -> int:
        """The maximum number of samples per contrast: a few of every other class."""
        return max(self.sparsity, self.settings.n_neighbors * (len(self.members) - 1))

    @cached_property
    def diagonals(self) -> FloatArray:
        """K_l(x, x) of every kernel, on average over the samples."""
        return self.kernels.mean_diagonal(self.sample_weight / self.sample_weight.sum())

    @cached_property
    def members(self) -> list[IntArray]:
        """The samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(int(self.labels.max()) + 1)]

    @cached_property
    def agreement(self) -> list[IntArray] | FloatArray:
        """The samples of every class, or how far the values of all pairs of samples agree."""
        if self.values is None:
            return self.members
        return np.asarray(agree(self.values[:, np.newaxis], self.values))

    def first_levels(self, classes: IntArray) -> FloatArray:
        """The mean values of the bins of prototypes; nothing for classes."""
        if self.values is None:
            return np.empty(0)
        totals = np.bincount(self.labels, self.sample_weight)
        means = np.bincount(self.labels, self.sample_weight * self.values) / totals
        return np.asarray(means[classes])

    def scale(self, weights: FloatArray) -> float:
        """The diagonal of the combined kernel; times it, terms are linear in the weights."""
        return float(self.diagonals @ weights)

    def combine(self, weights: FloatArray, dtype: DTypeLike = np.float64) -> FloatArray:
        """The combined kernel of the training samples, scaled to a unit diagonal."""
        return self.kernels.combine(weights / self.scale(weights)).astype(dtype, copy=False)

    def average(self) -> FloatArray:
        """The average of the kernels, each scaled to a unit diagonal; copies share a place.

        Of very many kernels, some stand for all.
        """
        n_kernels = self.kernels.n_kernels
        if n_kernels > MOST_AVERAGED:
            return self.select(space_evenly(n_kernels, MOST_AVERAGED)).average()
        copies = 1.0 if self.likeness is None else self.likeness.sum(axis=1)
        return self.combine(1 / (self.diagonals * copies))

    def unit_weights(self, weights: FloatArray, n_kernels: int) -> FloatArray:
        """Weights of all kernels of unit diagonal at the start of the fit; they sum to one."""
        shares = weights * self.diagonals
        return np.asarray(np.bincount(self.kernel_indices, shares / shares.sum(), n_kernels), float)

    def prototype_classes(self, state: State) -> IntArray:
        """The class of every prototype, that of its first sample."""
        return np.asarray(self.labels[state.prototypes.indices[state.prototypes.indptr[:-1]]])

    def vote_term(
        self, mixes: sp.csr_array, resemblances: FloatArray, state: State, classes: IntArray
    ) -> tuple[float, FloatArray]:
        """``J_vote`` with its ridges, and its slope in the logarithm of each vote."""
        logs = state.sharpness * resemblances + state.log_strengths
        loss, slopes, _ = self.judge(logs, classes, state.levels)
        strengths = STRENGTH_RIDGE * self.sample_weight.sum() / classes.size
        loss += float(strengths * (state.log_strengths @ state.log_strengths))
        if self.ridge > 0:
            norms = row_products(mixes, resemblances.T).sum()
            loss += float(0.5 * self.ridge * state.sharpness**2 * norms)
        return loss, slopes

    def judge(
        self, logs: FloatArray, classes: IntArray, levels: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """The cross-entropy of votes, or half their squared error; slopes in logs, in levels."""
        if self.values is None:
            loss, slopes = vote_loss(logs, classes, self.labels, self.sample_weight)
            return loss, slopes, np.empty(0)
        loss, slopes, pulls = value_loss(logs, levels, self.values, self.sample_weight)
        apart = levels - self.first_levels(classes)
        ridge = LEVEL_RIDGE * self.sample_weight.sum()
        return loss + float(ridge * apart @ apart), slopes, pulls + 2 * ridge * apart

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
        kernels = self.kernels.take(samples)
        return replace(self, kernels=kernels, **take_fields(self, PER_SAMPLE, samples))

    def find_kernels(self, other: Problem) -> IntArray:
        """Where the kernels of another problem, some of these, are among these."""
        places = {key: place for place, key in enumerate(self._kernel_keys())}
        return np.array([places[key] for key in other._kernel_keys()], dtype=np.intp)

    def _kernel_keys(self) -> Iterator[tuple[int, float]]:
        return zip(self.kernel_indices.tolist(), self.widths.tolist(), strict=True)

    def select(self, indices: IntArray) -> Problem:
        """The problem with some of its kernels."""
        return replace(
            self,
            kernels=self.kernels.select(indices),
            separation_loss=self.separation_loss.select(indices),
            **take_fields(self, ("kernel_indices", "widths", "is_required"), indices),
            likeness=None if self.likeness is None else self.likeness[np.ix_(indices, indices)],
        )


@dataclass(frozen=True, eq=False)
class State:
    """What is learned. Updates replace states and never edit them."""

    prototypes: sp.csr_array  # U', (n_prototypes, n_samples): non-negative rows of unit norm
    codes: sp.csr_array  # Gamma', (n_samples, n_prototypes): non-negative
    weights: FloatArray  # beta, one per kernel: non-negative, sum to one
    kernel: FloatArray  # the combined kernel of these weights, with unit diagonal
    log_strengths: FloatArray  # one per prototype: the logarithm of the weight of its vote
    contrasts: (
        sp.csr_array
    )  # V', like the prototypes: what each is unlike, samples of other classes
    sharpness: float  # t, of the votes
    levels: FloatArray = field(default_factory=lambda: np.empty(0))  # the value of each prototype

    @property
    def mixes(self) -> sp.csr_array:
        """U' - V': what votes compare a sample with."""
        return sp.csr_array(self.prototypes - self.contrasts)


def agree(one: Any, other: Any) -> Any:
    """How far two targets agree: 1 for the same class, 0 for others; of values, by their distance.

    Half the paper's ``||l_i - l_s||^2`` is 1 minus this: of values, half the square of their
    difference in standard deviations, and at most 1.
    """
    if np.issubdtype(np.asarray(one).dtype, np.integer):
        return (one == other).astype(np.float64)
    return np.maximum(0.0, 1.0 - 0.5 * (one - other) ** 2)


def row_products(sparse: sp.csr_array, dense: FloatArray) -> FloatArray:
    """The inner product of each row of a sparse array with the same row of a dense one."""
    rows = np.repeat(np.arange(sparse.shape[0]), np.diff(sparse.indptr))
    products = sparse.data * dense[rows, sparse.indices]
    return np.bincount(rows, products, sparse.shape[0]).astype(np.float64)


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
