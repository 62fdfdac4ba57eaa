"""Few kernels whose margins between neighbours are large: the minimum of the separation loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.model.constraints import choose_kernels
from imkpl.model.neighbors import Neighborhoods
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
from imkpl.solvers import pursue

# From a limit on the number of kernels to the problem with the chosen ones, and their weights.
Choose = Callable[[int | None], tuple[Problem, FloatArray]]

# The most kernels among which the pursuit chooses, because its matrix has as many rows and columns:
# those that separate best on their own.
MAX_CANDIDATES = 2000
# The most entries of the table of margins, 1 GB in single precision; beyond it, some samples stand
# for all. (Fewer neighbours per sample would be worse: with 101 classes and 31 instead of 109
# other-class neighbours, accuracy fell from 51 to 34 %.)
MAX_MARGINS = 2**28


def choose_compared(n_samples: int, n_other: int, n_kernels: int) -> IntArray | None:
    """The samples whose margins are computed; None for all, if memory permits."""
    n_compared = MAX_MARGINS // (n_other * min(n_kernels, MAX_CANDIDATES))
    if n_compared >= n_samples:
        return None
    return np.linspace(0, n_samples - 1, n_compared).round().astype(np.intp)


# After the pursuit all other kernels are compared with the candidates. It is repeated as long as
# one of them promises more, at most this many times.
SCREENING_ROUNDS = 5
# If the best weights lower the loss by less than this part, as with features of few values,
# neighbourhoods do not tell which kernels are useful.
LEAST_GAIN = 0.05


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
        self.candidates = largest(self.alone, MAX_CANDIDATES)
        self.choice = self._choice_among(self.candidates)

    def __call__(self, max_kernels: int | None) -> tuple[Problem, FloatArray]:
        """Choose kernels; returns the problem with these kernels, and their weights."""
        problem = self.problem
        shortfall = acceptable_shortfall(problem.kernels.n_kernels, problem.sample_weight.sum())
        candidates, choice = self.candidates, self.choice
        free = choice.choose(max_kernels, shortfall)
        n_kept = max(1, int(np.count_nonzero(free)))
        n_sufficient = n_kept if max_kernels is None else max_kernels
        for _ in range(SCREENING_ROUNDS):
            better = self._find_better(candidates, choice, free)
            if better is None:
                break
            candidates, choice = better, self._choice_among(better)
            free = choice.choose(n_sufficient, shortfall)
        if choice.gain(free) < LEAST_GAIN:
            return self._weigh_equally(max_kernels)
        if problem.is_required is not None:
            order = candidates[np.argsort(-free, kind="stable")[: np.count_nonzero(free)]]
            candidates = choose_kernels(problem.is_required, order, max_kernels)
            free = self._weigh_required(candidates, shortfall)
        live = np.flatnonzero(free)
        chosen = candidates[live]
        target = float(1 / free.sum())
        loss = MarginSeparation(
            compute_margins(problem.kernels.select(chosen), self.neighborhoods, problem.dtype),
            self.pair_weights,
            target,
            _strength(problem) * MARGIN_RIDGE / target**2,
        )
        return replace(problem.select(chosen), separation_loss=loss), free[live] * target

    def _weigh_required(self, chosen: IntArray, shortfall: float) -> FloatArray:
        """Weights of free scale: what is required has one, of the others what helps beside it."""
        free = self._choice_among(chosen).choose(chosen.size, shortfall)
        return self.problem.select(chosen).keep_least(free if free.any() else np.ones(chosen.size))

    def _choice_among(self, candidates: IntArray) -> MarginChoice:
        kernels = self.problem.kernels.select(candidates)
        margins = compute_margins(kernels, self.neighborhoods, np.float32)
        return MarginChoice(margins, self.pair_weights)

    def _find_better(
        self, candidates: IntArray, choice: MarginChoice, free: FloatArray
    ) -> IntArray | None:
        """The chosen kernels and those with the steepest slopes; None if no other is steeper."""
        problem = self.problem
        if candidates.size == problem.kernels.n_kernels:
            return None
        pull = self.pair_weights * choice.hinges(free)
        slopes = weigh_margins(problem.kernels, self.neighborhoods, pull)
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
        ridge = _strength(self.problem) * MARGIN_RIDGE
        loss = LinearSeparation(np.zeros(chosen.size), ridge)
        weights = np.full(chosen.size, 1 / chosen.size)
        return replace(self.problem.select(chosen), separation_loss=loss), weights


# Ridge added to the sum of squared hinges over all samples, for variance-scaled kernels. It spreads
# the weight over more kernels if there are few samples.
MARGIN_RIDGE = 120.0
# Rounds of majorising the hinge while choosing kernels; further ones hardly change the choice.
HINGE_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class MarginChoice:
    """Chooses few non-negative weights for which most margins exceed one."""

    margins: FloatArray  # (n_pairs, n_kernels)
    pair_weights: FloatArray

    @cached_property
    def curvature(self) -> FloatArray:
        """The matrix of the quadratic that touches the squared hinge from above."""
        H = margin_gram(self.margins, self.pair_weights)
        H[np.diag_indices_from(H)] += MARGIN_RIDGE
        return H

    def gain(self, weights: FloatArray) -> float:
        """The part of the squared hinge that the weights remove."""
        hinges = self.hinges(weights)
        return float(1 - self.pair_weights @ hinges**2 / self.pair_weights.sum())

    def hinges(self, weights: FloatArray) -> FloatArray:
        """How far each margin stays below one."""
        return np.maximum(0.0, 1 - apply_margins(self.margins, weights))

    def choose(self, max_kernels: int | None, shortfall: float) -> FloatArray:
        """Weights of free scale, few of them positive."""
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
        return weights


# Without a limit on kernels, the fewest are kept that reach the gain of all kernels minus these
# shares of it: the first with many samples per kernel, the second with many kernels per sample,
# where much of the gain is chance.
SHORTFALLS = (0.005, 0.03)


def acceptable_shortfall(n_kernels: int, n_samples: float) -> float:
    """The share of the gain of all kernels that may be given up for fewer kernels."""
    least, most = SHORTFALLS
    return float(least + (most - least) * n_kernels / (n_kernels + n_samples))


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


def _strength(problem: Problem) -> float:
    """The weight of the separation loss; 1 if it is 0, so that a ridge remains."""
    separation = problem.settings.separation
    return separation if separation > 0 else 1.0
