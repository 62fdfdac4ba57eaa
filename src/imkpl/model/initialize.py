"""The first kernel weights: the minimum of the separation loss alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import VarianceNormalized
from imkpl.model.constraints import choose_kernels
from imkpl.model.neighbors import Neighborhoods
from imkpl.model.problem import Problem, check_varying
from imkpl.model.separation import (
    LinearSeparation,
    MarginSeparation,
    apply_margins,
    compute_margins,
    local_separation_slopes,
    margin_gram,
    margin_pair_weights,
    mean_margins,
    weigh_margins,
)
from imkpl.model.twins import KernelEvidence
from imkpl.solvers import pursue

# From a limit on the number of kernels to the problem with the chosen ones, and their weights.
Choose = Callable[[int | None], tuple[Problem, FloatArray]]

# Maximum number of kernels among which the pursuit chooses, because its matrix has as many rows and
# columns. The first candidates are the kernels that separate best on their own. After the pursuit
# all others are compared with them, and it is repeated as long as one of them promises more, at
# most this many times.
MAX_CANDIDATES = 2000
SCREENING_ROUNDS = 5
# Maximum size of the table of margins, 1 GB in single precision; beyond it, some samples stand for
# all. (Fewer neighbours per sample would be worse: with 101 classes and 31 instead of 109
# other-class neighbours, accuracy fell from 51 to 34 %.)
MAX_MARGINS = 2**28
# Ridge added to the sum of squared hinges over all samples, for variance-scaled kernels. It spreads
# the weight over more kernels if there are few samples.
MARGIN_RIDGE = 120.0
# Without a limit on kernels, the fewest are kept that reach the gain of all kernels minus these
# shares of it: the first with many samples per kernel, the second with many kernels per sample,
# where much of the gain is chance.
SHORTFALLS = (0.005, 0.03)
# If the best weights lower the loss by less than this part, as with features of few values,
# neighbourhoods do not tell which kernels are useful.
LEAST_GAIN = 0.05
# Rounds of majorising the hinge while choosing kernels.
HINGE_ROUNDS = 3


def divide_by_variance(problem: Problem) -> Problem:
    """The problem with kernels divided by their variance, constant ones left out."""
    scaled = VarianceNormalized(problem.bank)._measure(problem.X, problem.sample_weight)
    varying = np.flatnonzero(scaled._factors)
    check_varying(varying.size > 0)
    return replace(problem, bank=scaled).select(varying)


def choose_compared(n_samples: int, n_other: int, n_kernels: int) -> IntArray | None:
    """The samples whose margins are computed; None for all, if memory permits."""
    n_compared = MAX_MARGINS // (n_other * min(n_kernels, MAX_CANDIDATES))
    if n_compared >= n_samples:
        return None
    return np.linspace(0, n_samples - 1, n_compared).round().astype(np.intp)


@dataclass(frozen=True, eq=False)
class Start:
    """Chooses kernels; without a limit, among those that pass a comparison with their twins.

    With a limit too, if enough pass, otherwise among all. Neighbours are found in the average of
    the kernels among which is chosen, so that noise that does not pass has no part in it.
    """

    problem: Problem
    found: KernelEvidence
    average: FloatArray  # of all kernels
    prepare: Callable[[Problem, FloatArray], Choose]  # from a problem and its average kernel
    has_gate: bool = True

    def __call__(self, max_kernels: int | None) -> tuple[Problem, FloatArray]:
        """The problem with the chosen kernels, and their weights."""
        is_gated = self._is_gated(max_kernels)
        found = (self._among_passing if is_gated else self._among_all)(max_kernels)
        most = self.problem.most_kernels
        if max_kernels is None and most is not None and found[1].size > most and self.has_gate:
            return self(most)
        return found

    def pool(self, max_kernels: int | None) -> Problem:
        """The kernels among which is chosen again; of very many those with most evidence."""
        if self._is_gated(max_kernels):
            return self._passing
        if not self.has_gate or self.problem.bank.n_kernels <= MAX_CANDIDATES:
            return self.problem
        return self._complete(_largest(self.found.shares, MAX_CANDIDATES))

    def choose(self, problem: Problem, max_kernels: int) -> tuple[Problem, FloatArray]:
        """Choose again, among the kernels of a part of the problem."""
        return self.prepare(problem, problem.average())(max_kernels)

    def _is_gated(self, max_kernels: int | None) -> bool:
        n_passing = self.found.passing.size
        return self.has_gate and (max_kernels or 1) <= n_passing < self.problem.bank.n_kernels

    @cached_property
    def _passing(self) -> Problem:
        return self._complete(self.found.passing)

    def _complete(self, kernels: IntArray) -> Problem:
        """The problem with these kernels, and with those that are required."""
        if self.problem.is_required is not None:
            kernels = choose_kernels(self.problem.is_required, kernels, None)
        return self.problem.select(kernels)

    @cached_property
    def _among_all(self) -> Choose:
        return self.prepare(self.problem, self.average)

    @cached_property
    def _among_passing(self) -> Choose:
        return self.prepare(self._passing, self._passing.average())


def start_average(
    problem: Problem, neighborhoods: Neighborhoods, max_kernels: int | None = None
) -> tuple[Problem, FloatArray]:
    """The paper's start: equal weights, and J_ls as printed; a limit has no effect."""
    slopes = local_separation_slopes(problem.bank, problem.X, neighborhoods, problem.sample_weight)
    n_kernels = problem.bank.n_kernels
    with_loss = replace(problem, separation_loss=LinearSeparation(slopes))
    return with_loss, np.full(n_kernels, 1 / n_kernels)


def start_equal(problem: Problem, average: FloatArray) -> Choose:
    """Equal weights for all kernels, whatever separates."""
    n_kernels = problem.bank.n_kernels
    return lambda max_kernels: (problem, np.full(n_kernels, 1 / n_kernels))


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
        self.alone = mean_margins(problem.bank, problem.X, neighborhoods, problem.sample_weight)
        self.candidates = _largest(self.alone, MAX_CANDIDATES)
        self.choice = self._choice_among(self.candidates)

    def __call__(self, max_kernels: int | None) -> tuple[Problem, FloatArray]:
        """Choose kernels; returns the problem with these kernels, and their weights."""
        problem = self.problem
        shortfall = acceptable_shortfall(problem.bank.n_kernels, problem.sample_weight.sum())
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
            compute_margins(
                problem.bank.select(chosen), problem.X, self.neighborhoods, problem.dtype
            ),
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
        bank = self.problem.bank.select(candidates)
        margins = compute_margins(bank, self.problem.X, self.neighborhoods, np.float32)
        return MarginChoice(margins, self.pair_weights)

    def _find_better(
        self, candidates: IntArray, choice: MarginChoice, free: FloatArray
    ) -> IntArray | None:
        """New candidates, if a kernel outside promises more than the candidates; otherwise None.

        A kernel promises the slope of the hinge in its weight. The chosen kernels stay candidates;
        the others are replaced by those with the steepest slopes.
        """
        problem = self.problem
        if candidates.size == problem.bank.n_kernels:
            return None
        pull = self.pair_weights * choice.hinges(free)
        slopes = weigh_margins(problem.bank, problem.X, self.neighborhoods, pull)
        is_seen = np.zeros(slopes.size, dtype=bool)
        is_seen[candidates] = True
        promised = max(0.0, float(slopes[candidates[free == 0]].max(initial=0.0)))
        if slopes[~is_seen].max() <= promised * (1 + 1e-6):
            return None
        slopes[candidates[free > 0]] = np.inf
        return _largest(slopes, candidates.size)

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
        """Weights of free scale, few of them positive.

        Every round replaces the squared hinge by a quadratic above it that touches it at the
        current weights; its matrix is the same in all rounds.
        """
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


def _largest(values: FloatArray, n_kept: int) -> IntArray:
    """Sorted indices of the largest values; of equal values the first."""
    return np.sort(np.argsort(-values, kind="stable")[:n_kept])


def _strength(problem: Problem) -> float:
    """The weight of the separation loss; 1 if it is 0, so that a ridge remains."""
    return problem.separation if problem.separation > 0 else 1.0
