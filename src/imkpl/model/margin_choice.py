"""Few kernels whose margins between neighbours are large: the minimum of the separation loss.

The nearest neighbours of a document are hardly nearer than others, as no two are alike. Its class
as a whole is: words are weighed by margins between class means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.neighbors import Neighborhoods, Pairs, space_evenly
from imkpl.model.problem import Problem
from imkpl.model.separation import (
    LinearSeparation,
    MarginSeparation,
    apply_margins,
    compute_margins,
    margin_gram,
    margin_pair_weights,
    mean_margins,
    weigh_margins,
)
from imkpl.solvers.nqp import pursue

# From a limit on the number of kernels to the problem with the chosen ones, and their weights.
Choose = Callable[[int | None], tuple[Problem, FloatArray]]

# The most kernels among which the pursuit chooses, because its matrix has as many rows and columns:
# those that separate best on their own.
MAX_CANDIDATES = 2000
# The most entries of the table of margins, 1 GB in double precision; beyond it, some samples stand
# for all. (Fewer neighbours per sample would be worse: with 101 classes and 31 instead of 109
# other-class neighbours, accuracy fell from 51 to 34 %.)
MAX_MARGINS = 2**27


def choose_compared(problem: Problem, n_other: int) -> IntArray:
    """The samples whose margins are computed, as many as memory permits."""
    n_candidates = min(problem.kernels.n_kernels, MAX_CANDIDATES)
    return space_evenly(problem.labels.size, MAX_MARGINS // (n_other * n_candidates))


# After the pursuit all other kernels are compared with the candidates. It is repeated as long as
# one of them promises more, at most this many times.
SCREENING_ROUNDS = 5
# If the best weights lower the loss by less than this part, as with features of few values,
# neighbourhoods do not tell which kernels are useful.
LEAST_GAIN = 0.05
# Without a limit on kernels, the fewest are kept that reach the gain of all kernels minus these
# shares of it: the first with many samples per kernel, the second with many kernels per sample,
# where much of the gain is chance.
SHORTFALLS = (0.005, 0.03)


class MarginStart:
    """Choose kernels by non-negative quadratic pursuit on the squared hinge of the margins.

    With the scale of the weights free, ``sum_p a_p max(0, 1 - margins_p . v)^2 + ridge ||v||^2`` is
    a non-negative quadratic problem whose sparsity is the number of kernels; on the simplex the
    same loss has the target margin ``1 / sum(v)``. What does not depend on that number is computed
    once. The kernels are variance-scaled, the neighbourhoods those of the average kernel.
    """

    def __init__(self, problem: Problem, neighborhoods: Neighborhoods) -> None:
        self.problem, self.neighborhoods = problem, neighborhoods
        self.pair_weights = margin_pair_weights(neighborhoods, problem.sample_weight)
        self.alone = mean_margins(problem.kernels, neighborhoods, problem.sample_weight)
        n_kernels, (least, most) = problem.kernels.n_kernels, SHORTFALLS
        share = n_kernels / (n_kernels + problem.sample_weight.sum())
        self.shortfall = float(least + (most - least) * share)
        # The weight of the separation loss; 1 if it is 0, so that a ridge remains.
        self.ridge = (problem.settings.separation or 1.0) * MARGIN_RIDGE
        self.candidates = largest(self.alone, MAX_CANDIDATES)
        self.choice = self._choice_among(self.candidates)

    def __call__(self, max_kernels: int | None) -> tuple[Problem, FloatArray]:
        """Choose kernels; returns the problem with these kernels, and their weights."""
        problem, candidates, choice = self.problem, self.candidates, self.choice
        free, missing = choice.choose(max_kernels, self.shortfall)
        n_sufficient = max_kernels or max(1, int(np.count_nonzero(free)))
        is_complete = candidates.size == problem.kernels.n_kernels
        for _ in range(0 if is_complete else SCREENING_ROUNDS):
            better = self._find_better(candidates, free, missing)
            if better is None:
                break
            candidates, choice = better, self._choice_among(better)
            free, missing = choice.choose(n_sufficient, self.shortfall)
        if 1 - self.pair_weights @ missing**2 / self.pair_weights.sum() < LEAST_GAIN:
            return self._weigh_equally(max_kernels)
        if problem.is_required is not None:
            # What is required has a weight, of the others what helps beside it.
            order = candidates[np.argsort(-free, kind="stable")[: np.count_nonzero(free)]]
            candidates = choose_kernels(problem.is_required, order, max_kernels)
            choice = self._choice_among(candidates)
            free, _ = choice.choose(candidates.size, self.shortfall)
            free = free if free.any() else np.ones(candidates.size)
            free = problem.select(candidates).keep_least(free)
        live = np.flatnonzero(free)
        chosen = problem.select(candidates[live])
        margins = np.ascontiguousarray(choice.margins[:, live])
        target = float(1 / free.sum())
        loss = MarginSeparation(margins, self.pair_weights, target, self.ridge / target**2)
        return replace(chosen, separation_loss=loss), free[live] * target

    def _choice_among(self, candidates: IntArray) -> MarginChoice:
        kernels = self.problem.kernels.select(candidates)
        margins = compute_margins(kernels, self.neighborhoods, self.problem.dtype)
        return MarginChoice(margins, self.pair_weights)

    def _find_better(
        self, candidates: IntArray, free: FloatArray, missing: FloatArray
    ) -> IntArray | None:
        """The chosen kernels and those with the steepest slopes; None if no other is steeper."""
        pull = self.pair_weights * missing
        slopes = weigh_margins(self.problem.kernels, self.neighborhoods, pull)
        is_seen = np.zeros(slopes.size, dtype=bool)
        is_seen[candidates] = True
        promised = max(0.0, float(slopes[candidates[free == 0]].max(initial=0.0)))
        if slopes[~is_seen].max() <= promised * (1 + 1e-6):
            return None
        slopes[candidates[free > 0]] = np.inf
        return largest(slopes, candidates.size)

    def _weigh_equally(self, max_kernels: int | None) -> tuple[Problem, FloatArray]:
        """Equal weights, for neighbourhoods that do not tell which kernels separate."""
        order = np.argsort(-self.alone, kind="stable")
        chosen: IntArray = np.sort(order[:max_kernels])
        if self.problem.is_required is not None:
            chosen = choose_kernels(self.problem.is_required, order, max_kernels)
        loss = LinearSeparation(np.zeros(chosen.size), self.ridge)
        weights = np.full(chosen.size, 1 / chosen.size)
        return replace(self.problem.select(chosen), separation_loss=loss), weights


# Ridge added to the sum of squared hinges over all samples, for variance-scaled kernels. It spreads
# the weight over more kernels if there are few samples.
MARGIN_RIDGE = 120.0
# Rounds of majorising the hinge while choosing kernels; further ones hardly change the choice.
HINGE_ROUNDS = 3


class MarginChoice:
    """Chooses few non-negative weights for which most margins exceed one."""

    def __init__(self, margins: FloatArray, pair_weights: FloatArray) -> None:
        self.margins, self.pair_weights = margins, pair_weights
        # The matrix of the quadratic that touches the squared hinge from above.
        self.curvature = margin_gram(margins, pair_weights)
        self.curvature[np.diag_indices_from(self.curvature)] += MARGIN_RIDGE

    def choose(self, max_kernels: int | None, shortfall: float) -> tuple[FloatArray, FloatArray]:
        """Weights of free scale, few of them positive, and how far each margin stays below one."""
        # Every round replaces the squared hinge by a quadratic above it that touches it at the
        # current weights; its matrix is the same in all rounds.
        margins, n_kernels = self.margins, self.margins.shape[1]
        limit, weights = max_kernels, np.zeros(n_kernels)
        for _ in range(HINGE_ROUNDS):
            aims = np.maximum(1.0, apply_margins(margins, weights))
            pull = apply_margins(margins.T, self.pair_weights * aims)
            if limit is None:
                limit = _sufficient_size(self.curvature, -pull, 1 - shortfall)
            indices, values, _ = pursue(self.curvature, -pull, min(limit, n_kernels))
            weights = np.zeros(n_kernels)
            weights[indices] = values
        return weights, np.maximum(0.0, 1 - apply_margins(margins, weights))


def _sufficient_size(H: FloatArray, c: FloatArray, share: float) -> int:
    """The smallest sparsity that reaches this share of the unlimited decrease."""
    enough = share * pursue(H, c, c.size)[2]
    size = max(1, pursue(H, c, c.size, residual_tol=enough)[0].size)
    # A pursuit of this sparsity ends earlier if on the way more had entered than have stayed.
    while pursue(H, c, size)[2] > enough:
        size += 1
    return size


def largest(values: FloatArray, n_kept: int) -> IntArray:
    """Sorted indices of the largest values; of equal values the first."""
    return np.sort(np.argsort(-values, kind="stable")[:n_kept])


def choose_kernels(is_required: BoolArray, order: IntArray, limit: int | None) -> IntArray:
    """What is required, and the first of the others in an order, as far as the limit allows."""
    others = order[~is_required[order]]
    room = None if limit is None else max(0, limit - int(is_required.sum()))
    return np.union1d(np.flatnonzero(is_required), others[:room])


def choose_by_means(problem: Problem) -> Choose:
    """Choose kernels by the margins of samples between the means of their class and of others."""
    choose = MarginStart(*compare_with_means(problem))

    def start(max_kernels: int | None) -> tuple[Problem, FloatArray]:
        chosen, weights = choose(max_kernels)
        places = problem.find_kernels(chosen)
        return replace(chosen, kernels=problem.kernels.select(places)), weights

    return start


def compare_with_means(problem: Problem) -> tuple[Problem, Neighborhoods]:
    """The problem with class means as further samples, which are the neighbours of all samples.

    The mean of a sample's own class is that of the other samples in it:
    ``(total * mean - weight * sample) / (total - weight)``.
    """
    labels, weight = problem.labels, problem.sample_weight
    n_samples, n_classes = labels.size, len(problem.members)
    totals = np.bincount(labels, weight)
    shares = sp.csr_array((weight / totals[labels], (labels, np.arange(n_samples))))
    joined = replace(problem, kernels=problem.kernels.with_mixes(shares))
    listed = choose_compared(problem, n_classes - 1)
    rest = totals[labels[listed]] - weight[listed]
    # The only sample of its class is compared with itself.
    own = np.where(rest > 0, weight[listed] / np.where(rest > 0, rest, 1.0), 0.0)
    columns = np.column_stack([n_samples + labels[listed], listed]).ravel()
    parts = np.column_stack([1 + own, -own]).ravel()
    same = Pairs(np.repeat(listed, 2), columns, n_samples, parts)
    rows, classes = np.nonzero(np.arange(n_classes) != labels[listed, None])
    parts = np.full(rows.size, 1 / (n_classes - 1))
    return joined, Neighborhoods(same, Pairs(listed[rows], n_samples + classes, n_samples, parts))
