"""Which kernels a model learns from, and their first weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.normalize import ScaledKernels, divide_by_variance
from imkpl.model.margin_choice import (
    MAX_CANDIDATES,
    MAX_MARGINS,
    Choose,
    MarginStart,
    choose_by_means,
    choose_compared,
    choose_kernels,
    largest,
)
from imkpl.model.neighbors import (
    Neighborhoods,
    count_others,
    find_neighborhoods,
    rank_typical,
    space_evenly,
)
from imkpl.model.permutation_test import KernelEvidence, run_permutation_test
from imkpl.model.problem import Problem, check_varying
from imkpl.model.separation import (
    LargeMarginSeparation,
    LinearSeparation,
    compute_margins,
    local_separation_slopes,
    margin_pair_weights,
)
from imkpl.solvers.large_margin import minimize_large_margin

# Kernels are computed in single precision if they have this many values, of which the half is
# computed to combine them: several seconds of work.
MANY_VALUES = 2**33


def compare_kernels(problem: Problem) -> KernelChoice:
    """Scale the kernels of a problem and test them against permutations, before some are chosen."""
    if problem.settings.chooses_kernels:
        scaled = divide_by_variance(problem.kernels, problem.sample_weight)
        # In an order of their own, so that sums do not depend on that of columns.
        varying = order_kernels(scaled)
        varying = varying[scaled.factors[varying] > 0]
        check_varying(varying.size > 0, problem.sample_weight)
        problem = replace(problem, kernels=scaled).select(varying)
    if problem.labels.size**2 * problem.kernels.n_kernels >= MANY_VALUES:
        single = problem.kernels.in_single_precision()
        problem = replace(problem, kernels=single, dtype=np.float32)
    average = problem.average()
    # Documents are not compared by neighbours.
    has_neighbors = problem.settings.chooses_kernels and problem.kernels.default_sparsity
    if has_neighbors and problem.kernels.n_kernels <= MOST_COMPARED:
        problem = replace(problem, likeness=compare_copies(problem, rank_typical(average)))
        average = problem.average()
    return KernelChoice(problem, run_permutation_test(problem, average), average)


# Kernels of equal variance are ordered by their values on this number of pairs of samples.
ORDERING_PAIRS = 64


def order_kernels(scaled: ScaledKernels) -> IntArray:
    """Kernels by their variances, those of equal variance by what they say of some samples."""
    factors, marks = scaled.factors, np.zeros(scaled.n_kernels)
    _, places, counts = np.unique(factors, return_inverse=True, return_counts=True)
    tied = np.flatnonzero((counts[places] > 1) & (factors > 0))
    if tied.size:
        source = np.random.default_rng(0)
        rows, columns = source.integers(scaled.shape[0], size=(2, ORDERING_PAIRS))
        values = scaled.kernels.select(tied).pairs(rows, columns)
        marks[tied] = (values * source.random(ORDERING_PAIRS)[:, np.newaxis]).sum(axis=0)
    return np.lexsort([marks, factors])


# At most this number of kernels are compared with each other, on all pairs of this number of
# samples. This power of a correlation counts copies, and hardly anything else.
MOST_COMPARED, COMPARED_SAMPLES, COPY_POWER = 2000, 48, 6


def compare_copies(problem: Problem, ranked: IntArray) -> FloatArray:
    """How far kernels are copies of each other: a power of the correlations of their values."""
    some = ranked[space_evenly(ranked.size, COMPARED_SAMPLES)]
    left, right = np.tril_indices(some.size, -1)
    values = problem.kernels.pairs(some[left], some[right]).astype(np.float64)
    values -= values.mean(axis=0)
    norms = np.sqrt((values**2).sum(axis=0))
    values /= np.where(norms > 0, norms, 1.0)
    powers = np.abs(values.T @ values) ** COPY_POWER
    np.fill_diagonal(powers, 1.0)
    return np.asarray(powers)


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """Chooses kernels by margins, among those that pass the permutation test if they are enough."""

    problem: Problem  # with all kernels that vary
    evidence: KernelEvidence
    average: FloatArray  # of all kernels

    @property
    def ranked(self) -> IntArray:
        """The samples from the most typical to the least."""
        return rank_typical(self.average)

    def choose(
        self, max_kernels: int | None, most: int | None = None
    ) -> tuple[Problem, FloatArray]:
        """The problem with the chosen kernels, and their weights; `most` is a limit by default."""
        has_enough = self._has_enough_passing(max_kernels)
        found = (self._among_passing if has_enough else self._among_all)(max_kernels)
        is_too_large = max_kernels is None and most is not None and found[1].size > most
        if is_too_large and self.problem.settings.chooses_kernels:
            return self.choose(most)
        return found

    def among(self, kernels: IntArray) -> KernelChoice:
        """The same among some of the kernels."""
        problem = self.problem.select(kernels)
        evidence = replace(self.evidence, shares=self.evidence.shares[kernels])
        return KernelChoice(problem, evidence, problem.average())

    def pool(self, max_kernels: int | None) -> Problem:
        """The kernels among which is chosen again; of very many those with most evidence."""
        if self._has_enough_passing(max_kernels):
            return self._passing
        has_few = self.problem.kernels.n_kernels <= MAX_CANDIDATES
        if has_few or not self.problem.settings.chooses_kernels:
            return self.problem
        return self._complete(largest(self.evidence.shares, MAX_CANDIDATES))

    def _has_enough_passing(self, max_kernels: int | None) -> bool:
        n_passing, n_kernels = self.evidence.passing.size, self.problem.kernels.n_kernels
        return self.problem.settings.chooses_kernels and (max_kernels or 1) <= n_passing < n_kernels

    @cached_property
    def _passing(self) -> Problem:
        return self._complete(self.evidence.passing)

    def _complete(self, kernels: IntArray) -> Problem:
        """The problem with these kernels, and with those that are required."""
        if self.problem.is_required is not None:
            kernels = choose_kernels(self.problem.is_required, kernels, None)
        return self.problem.select(kernels)

    @cached_property
    def _among_all(self) -> Choose:
        return prepare_choice(self.problem, self.average)

    @cached_property
    def _among_passing(self) -> Choose:
        return prepare_choice(self._passing, self._passing.average())


def prepare_choice(problem: Problem, average: FloatArray) -> Choose:
    """What chooses among the kernels of a problem, by its weight rule."""
    settings, labels = problem.settings, problem.labels
    if not settings.learns_weights:
        return partial(weigh_equally, problem)
    n_same, n_other = settings.n_neighbors, count_others(settings.n_neighbors, len(problem.members))
    find_near = partial(find_neighborhoods, average, labels, persons=problem.persons)
    if settings.weight_rule == "lp":
        return partial(start_as_printed, problem, find_near(n_same, n_same))
    if settings.weight_rule == "large_margin":
        n_compared = MAX_MARGINS // (n_same * problem.kernels.n_kernels)
        some = space_evenly(labels.size, max(1, n_compared))
        return partial(start_by_large_margin, problem, find_near(n_same, n_same, some))
    if problem.kernels.default_sparsity is None:
        return choose_by_means(problem)
    compared = choose_compared(problem, n_other)
    return MarginStart(problem, find_near(n_same, n_other, compared))


def widen(problem: Problem, widths: Sequence[float]) -> Problem:
    """Every kernel that has a bandwidth in several widths, which share its place."""
    kernels, is_required = problem.kernels, problem.is_required
    counts = np.where(kernels.has_bandwidths, len(widths), 1)
    owners = np.repeat(np.arange(counts.size), counts)
    factors = np.concatenate([widths if has else [1.0] for has in kernels.has_bandwidths])
    wide = replace(
        problem.select(owners),
        kernels=kernels.select(owners).stretched(factors),
        widths=factors,
        is_required=None if is_required is None else is_required[owners] & (factors == widths[0]),
    )
    if not isinstance(wide.kernels, ScaledKernels):
        return wide
    scaled = divide_by_variance(wide.kernels.kernels, problem.sample_weight)
    return replace(wide, kernels=scaled).select(np.flatnonzero(scaled.factors > 0))


def start_as_printed(
    problem: Problem, neighborhoods: Neighborhoods, max_kernels: int | None = None
) -> tuple[Problem, FloatArray]:
    """The paper's start: equal weights, and J_ls as printed; a limit has no effect."""
    slopes = local_separation_slopes(problem.kernels, neighborhoods, problem.sample_weight)
    return weigh_equally(replace(problem, separation_loss=LinearSeparation(slopes)))


# A smaller C keeps no kernel, and with a larger one all margins are reached that can be.
PRICES = (1e-9, 1e6)


def start_by_large_margin(
    problem: Problem, neighborhoods: Neighborhoods, max_kernels: int | None = None
) -> tuple[Problem, FloatArray]:
    """The kernels of a large-margin linear programme; all alike if none reaches a margin."""
    margins = 2 * compute_margins(problem.kernels, neighborhoods, problem.dtype)
    pair_weights = margin_pair_weights(neighborhoods, problem.sample_weight)
    pair_weights /= pair_weights.sum()
    price = float(np.clip(problem.settings.separation, *PRICES))
    found = minimize_large_margin(margins, price * pair_weights)
    best = found / found.sum() if found.any() else np.full(found.size, 1 / found.size)
    is_kept = best > 0 if problem.is_required is None else (best > 0) | problem.is_required
    loss = LargeMarginSeparation(margins, pair_weights, price, best)
    problem = replace(problem, separation_loss=loss).select(np.flatnonzero(is_kept))
    return problem, problem.keep_least(best[is_kept])


def weigh_equally(problem: Problem, max_kernels: int | None = None) -> tuple[Problem, FloatArray]:
    """Equal weights for all kernels; a limit has no effect."""
    n_kernels = problem.kernels.n_kernels
    return problem, np.full(n_kernels, 1 / n_kernels)
