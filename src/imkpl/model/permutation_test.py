"""Permutation test: which kernels tell the classes apart better than chance?

A permuted kernel has its samples in another order: what it says is right for no sample, and all
that it achieves is chance. All kernels are permuted in the same way, so that permuted kernels
depend on each other as kernels do. There are two statistics: the sum of squares between classes,
which finds kernels that separate on their own, and the mean margin between neighbours, which finds
those that separate together with others.

Of very many kernels, the permutations of some stand for those of all, and only candidates, which
might pass, are permuted besides.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import iterate_blocks
from imkpl.model.neighbors import Neighborhoods, count_others, find_neighborhoods
from imkpl.model.problem import Problem
from imkpl.model.separation import margin_pair_weights, weigh_margins

# A kernel passes if it is three times as likely to be useful as to be chance.
LEAST_EVIDENCE = 0.75


@dataclass(frozen=True, eq=False)
class KernelEvidence:
    """How sure it is that kernels are more than chance."""

    shares: FloatArray  # for every kernel, 0 to 1
    has_structure: bool  # whether some kernel certainly is

    @property
    def passing(self) -> IntArray:
        """The kernels that are much more likely to be useful than to be chance."""
        return np.flatnonzero(self.has_structure & (self.shares >= LEAST_EVIDENCE))

    def warn(self) -> None:
        """Say so where no kernel is more than chance."""
        if not self.has_structure:
            warnings.warn(
                "No kernel tells the classes apart better than shuffled copies of the kernels do: "
                "what is learned from these samples may be chance. Check that the rows of X and y "
                "belong together; if they do, there may be too few samples, or other features are "
                "needed.",
                stacklevel=2,
            )


def run_permutation_test(problem: Problem, average: FloatArray) -> KernelEvidence:
    """The evidence of every kernel of a problem; `average` is their average kernel.

    Neighbours in the average of many kernels may say little, as most of it can be noise. So the
    other kernels are compared again by neighbours in the average of those that pass.
    """
    problem, average = _unfold(problem, average)
    permuted = PermutedKernels.of(problem, average)
    scores = KernelScores(permuted)
    # A kernel without meaning has the same part in the choice of neighbours when permuted.
    scores.add_margins([permuted.neighborhoods(average, order) for order in permuted.orders])
    found = scores.find_evidence()
    passing = found.passing
    if 0 < passing.size < problem.kernels.n_kernels:
        # Those that pass have a part in this average, and permuted they have not.
        near = permuted.neighborhoods(problem.select(passing).average())
        scores.add_margins([near], without=passing)
        found = scores.find_evidence()
    return found


# Equal rows are permuted one by one, up to about this number of rows in all, which bounds the time.
MOST_UNFOLDED = 4000


def _unfold(problem: Problem, average: FloatArray) -> tuple[Problem, FloatArray]:
    """Every sample as often as it was given, in random order: equal rows are several samples.

    Permuted as one, a row given forty times would make permuted kernels as good as others.
    """
    counts = problem.multiplicity / max(1.0, problem.multiplicity.sum() / MOST_UNFOLDED)
    copies = np.maximum(counts.round(), 1).astype(np.intp)
    if copies.max() == 1:
        return problem, average
    ranked = _rank(average)
    everyone = np.random.default_rng(0).permutation(np.repeat(ranked, copies[ranked]))
    unfolded = problem.take(everyone)
    weight = unfolded.sample_weight / copies[everyone]
    return replace(unfolded, sample_weight=weight), average[np.ix_(everyone, everyone)]


def _rank(average: FloatArray) -> IntArray:
    """From the most typical sample to the least, so that the names of classes do not matter."""
    return np.argsort(-average.sum(axis=1), kind="stable")


# Without structure, some kernel would pass in this share of all data sets.
LEVEL = 0.05


def weigh_evidence(p_values: FloatArray) -> KernelEvidence:
    """Evidence from p-values: one minus the local false discovery rate.

    The density of the p-values is Grenander's estimate, all kernels being noise otherwise. The sum
    of the rates of kernels that pass is the number that chance would give.
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values.size * np.diff(p_values[order], prepend=0.0)
    rates = np.empty(p_values.size)
    rates[order] = np.minimum(isotonic_regression(steps).x, 1.0)
    # Simes' test: rates of data without structure fall below a level with that probability.
    return KernelEvidence(1 - rates, bool(rates.min(initial=1.0) <= LEVEL))


def tail_probabilities(scores: FloatArray, null: FloatArray) -> FloatArray:
    """The share of null scores of at least these; beyond the largest, an exponential tail."""
    null = np.sort(null)
    n_top = min(null.size - 1, int(np.ceil(np.sqrt(null.size))))
    threshold = null[-n_top - 1]
    excess = float(np.mean(null[-n_top:] - threshold))
    counts = null.size - np.searchsorted(null, scores, side="left")
    beyond = np.maximum(scores - threshold, 0.0)
    tail = n_top * np.exp(-beyond / excess) if excess > 0 else np.where(beyond > 0, 0, n_top)
    return np.where(scores > threshold, tail, counts) / null.size


# A variance below this part of the diagonal is round-off.
CONSTANT = 1e-9
# Permutations of every kernel: as many as give this number of permuted kernels, within bounds.
PERMUTED_KERNELS = 20_000
MOST_PERMUTATIONS, FEWEST_PERMUTATIONS = 10, 5
# The most samples, evenly spaced, whose neighbours are compared: their margins are exact enough.
MOST_COMPARED = 2000
# The most samples on which the concentration of a kernel is measured, as it takes all their pairs.
CONCENTRATION_SAMPLES = 64


@dataclass(frozen=True, eq=False)
class PermutedKernels:
    """Kernels and their permutations.

    Statistics of all have a row for the kernels and one for each permutation.
    """

    problem: Problem
    orders: IntArray  # (n_permutations, n_samples)
    samples: IntArray  # those whose neighbours are compared
    variance: FloatArray  # of every kernel, infinite where it is 0
    concentration: FloatArray
    between: FloatArray  # the score of every kernel by its sum of squares between classes

    @classmethod
    def of(cls, problem: Problem, average: FloatArray) -> PermutedKernels:
        """Permutations of all kernels of a problem."""
        n_permutations = int(
            np.clip(
                PERMUTED_KERNELS // problem.kernels.n_kernels,
                FEWEST_PERMUTATIONS,
                MOST_PERMUTATIONS,
            )
        )
        ranked = _rank(average)
        source, orders = np.random.default_rng(0), np.empty((n_permutations, ranked.size), np.intp)
        for order in orders:
            order[ranked] = source.permutation(ranked)
        squares, means = _sum_squares(problem, np.arange(ranked.size)[np.newaxis])
        variance = problem.diagonals - means[0]
        variance[variance <= CONSTANT * problem.diagonals] = np.inf
        concentration = _concentration(problem, _spaced(ranked, CONCENTRATION_SAMPLES))
        return cls(
            problem,
            orders,
            np.sort(_spaced(ranked, MOST_COMPARED)),
            variance,
            concentration,
            _score_between(problem, squares, variance, concentration)[0],
        )

    def select(self, kernels: IntArray) -> PermutedKernels:
        """Some of the kernels and their permutations."""
        return replace(
            self,
            problem=self.problem.select(kernels),
            variance=self.variance[kernels],
            concentration=self.concentration[kernels],
            between=self.between[kernels],
        )

    def neighborhoods(self, kernel: FloatArray, order: IntArray | None = None) -> Neighborhoods:
        """Neighbours in a kernel, or in a kernel together with its permutation."""
        labels = self.problem.labels
        n_same = self.problem.settings.n_neighbors
        n_other = count_others(n_same, int(labels.max()) + 1)
        return find_neighborhoods(kernel, labels, n_same, n_other, self.samples, order)

    def between_of_all(self) -> FloatArray:
        """Scores by the sum of squares between classes."""
        squares, _ = _sum_squares(self.problem, self.orders)
        null = _score_between(self.problem, squares, self.variance, self.concentration)
        return np.vstack([self.between, null])

    def margins_of_all(self, near: Sequence[Neighborhoods]) -> FloatArray:
        """Mean margins between neighbours: one choice of them for every permutation, or for all."""
        real = np.mean([self.margins(one) for one in near], axis=0)
        pairs = zip(itertools.cycle(near), self.orders, strict=False)
        return np.vstack([real, *(self.margins(*pair) for pair in pairs)])

    def margins(self, near: Neighborhoods, order: IntArray | None = None) -> FloatArray:
        """Mean margins, of permuted kernels if an order is given, relative to the spread."""
        problem = self.problem
        weights = margin_pair_weights(near, problem.sample_weight)
        near = near if order is None else near.renumbered(order)
        found = weigh_margins(problem.kernels, near, weights / weights.sum())
        return np.asarray(found / (self.variance * np.sqrt(self.concentration)))


@dataclass(frozen=True, eq=False)
class MarginStatistic:
    """Mean margins between some neighbours, in standard deviations of permuted kernels."""

    near: Sequence[Neighborhoods]
    without: IntArray  # the kernels that are not compared by these neighbours
    level: float  # the mean of all permuted kernels
    least: float  # the mean square of their differences from the mean of the same kernel

    def estimate(self, margins: FloatArray, n_permutations: int) -> FloatArray:
        """About the scores of kernels, without their permutations."""
        scores = (margins - self.level) / np.sqrt(self.least * (1 + 1 / n_permutations))
        scores[self.without] = -np.inf
        return np.asarray(scores)

    def score(self, kernels: IntArray, margins: FloatArray) -> FloatArray:
        """How far kernels are beyond their permutations, and every permutation beyond the rest."""
        null, n = margins[1:], len(margins) - 1
        beyond = (margins[0] - null.mean(axis=0)) / np.sqrt(1 + 1 / n)
        # Rare values make margins vary more than the spread of all values says. What varies is
        # found without the permutation that is measured by it.
        apart = _apart(null)
        squares = apart**2
        others = np.vstack([squares.mean(axis=0), (squares.sum(axis=0) - squares) / (n - 1)])
        scores = np.vstack([beyond, apart]) / np.sqrt(np.maximum(others, self.least))
        scores[:, np.isin(kernels, self.without)] = -np.inf
        return np.asarray(scores)


# Of more kernels than this, so many are permuted, and the others if they are candidates: if their
# estimate, made without permutations, and so many standard deviations of chance would pass.
MOST_PERMUTED = 6000
ESTIMATE_MARGIN = 1.0


class KernelScores:
    """Scores of kernels and permuted kernels, the largest of all statistics.

    They are about normal for kernels without meaning.
    """

    def __init__(self, permuted: PermutedKernels) -> None:
        self.permuted = permuted
        self.some = _spaced(np.arange(permuted.variance.size), MOST_PERMUTED)
        self.estimates = permuted.between  # of all kernels, without permutations
        self.scores = permuted.select(self.some).between_of_all()
        self.statistics: list[MarginStatistic] = []

    def add_margins(self, near: Sequence[Neighborhoods], without: ArrayLike = ()) -> None:
        """Compare by the margins between these neighbours, too; all kernels or not some of them."""
        margins = self.permuted.select(self.some).margins_of_all(near)
        level, least = margins[1:].mean(), np.mean(_apart(margins[1:]) ** 2)
        found = MarginStatistic(
            near, np.asarray(without, np.intp), float(level), float(least) or 1.0
        )
        self.statistics.append(found)
        self.scores = np.maximum(self.scores, found.score(self.some, margins))
        if self.some.size < self.estimates.size:
            n_permutations = len(self.permuted.orders)
            estimate = found.estimate(self.permuted.margins(near[0]), n_permutations)
            self.estimates = np.maximum(self.estimates, estimate)

    def find_evidence(self) -> KernelEvidence:
        """Evidence from scores beside those of all permutations, and beside those of their own."""
        null = self.scores[1:].ravel()
        p_values = tail_probabilities(self.estimates, null)
        p_values[self.some] = _find_p_values(self.scores, null)
        candidates = self._find_candidates(p_values, null)
        if candidates.size:
            permuted = self.permuted.select(candidates)
            margins = [
                one.score(candidates, permuted.margins_of_all(one.near)) for one in self.statistics
            ]
            scores = np.maximum.reduce([permuted.between_of_all(), *margins])
            p_values[candidates] = _find_p_values(scores, null)
        return weigh_evidence(p_values)

    def _find_candidates(self, p_values: FloatArray, null: FloatArray) -> IntArray:
        """Kernels without permutations that might pass.

        Those that pass are so many times as frequent as chance would have them.
        """
        factor, shares = 1 / (1 - LEAST_EVIDENCE), np.arange(1, p_values.size + 1) / p_values.size
        ordered = np.sort(p_values)
        limit = ordered[shares >= factor * ordered].max(initial=shares[0] / factor)
        is_candidate = tail_probabilities(self.estimates + ESTIMATE_MARGIN, null) <= limit
        is_candidate[self.some] = False
        return np.flatnonzero(is_candidate)


def _apart(null: FloatArray) -> FloatArray:
    """How far the margins of permutations are from the mean of the others of the same kernel."""
    n = len(null)
    return np.asarray((null - null.mean(axis=0)) * np.sqrt(n / (n - 1)))


def _find_p_values(scores: FloatArray, null: FloatArray) -> FloatArray:
    """The larger of the p-values among all permuted kernels and among the kernel's own."""
    among_own = np.mean(scores[1:] >= scores[0], axis=0)
    return np.maximum(tail_probabilities(scores[0], null), among_own)


def _spaced(samples: IntArray, limit: int) -> IntArray:
    """All samples, or as many as are allowed, evenly spaced."""
    places = np.linspace(0, samples.size - 1, min(samples.size, limit))
    return samples[places.round().astype(np.intp)]


def _concentration(problem: Problem, chosen: IntArray) -> FloatArray:
    """How far each kernel's variance lies in few directions of feature space; 1 if in only one.

    The sum of the squares of the variances along the principal directions, over the square of
    their sum, on some samples.
    """
    among, n = problem.kernels.take(chosen), chosen.size
    rows, columns = np.tril_indices(n)
    is_apart = rows != columns
    pairs = np.arange(rows.size)
    places = np.append(rows, columns[is_apart]), np.append(pairs, pairs[is_apart])
    to_rows = sp.csr_array((np.ones(places[0].size), places), shape=(n, rows.size))
    found = np.ones(problem.kernels.n_kernels)
    for block in iterate_blocks(found.size, 16 * rows.size):
        values = among.select(np.arange(found.size)[block]).pairs(rows, columns)
        means = to_rows @ values / n
        mean, norms = means.mean(axis=0), values[~is_apart].sum(axis=0)
        # Of the double-centred kernel.
        trace = norms - n * mean
        squares = (1.0 + is_apart) @ values**2 + (n * mean) ** 2 - 2 * n * np.sum(means**2, axis=0)
        is_varying = trace > CONSTANT * norms
        np.divide(squares, trace**2, out=found[block], where=is_varying)
    return np.clip(found, 1 / n, 1.0)


def _sum_squares(problem: Problem, orders: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of squares between classes in feature space, and squared norms of the mean.

    For every kernel with its samples in each of the orders, a row for each order.
    """
    weight, labels, n_orders = problem.sample_weight, problem.labels, len(orders)
    totals = np.bincount(labels, weight)
    shares = totals / weight.sum()
    means = [sp.csr_array((weight / totals[labels], (labels, order))) for order in orders]
    # The mean of every class, and that of all samples as a mix of these.
    parts = sp.block_diag([np.vstack([np.eye(shares.size), shares])] * n_orders, format="csr")
    rows = sp.hstack([sp.csr_array((parts.shape[0], labels.size)), parts], format="csr")
    signs = np.vstack([np.append(shares, -1.0), np.append(0 * shares, 1.0)]).T
    factors = np.kron(np.eye(n_orders), signs)
    found = problem.kernels.contract_rows(rows, factors, sp.vstack(means, format="csr"))
    return found.T[::2], found.T[1::2]


def _score_between(
    problem: Problem, squares: FloatArray, variance: FloatArray, concentration: FloatArray
) -> FloatArray:
    """Sums of squares between classes in standard deviations of chance.

    Relative to what chance gives, they are about a chi-squared variable, brought to a normal scale
    by the cubic root (Wilson and Hilferty).
    """
    weight, labels = problem.sample_weight, problem.labels
    totals, total = np.bincount(labels, weight), weight.sum()
    expected = np.sum(weight**2 / totals[labels]) / total - np.sum(weight**2) / total**2
    ratio = np.maximum(squares / (expected * variance), 0.0)
    part = 2 * concentration / (9 * (totals.size - 1))
    return np.asarray((np.cbrt(ratio) - 1 + part) / np.sqrt(part))
