"""Shuffled twins: which kernels tell the classes apart better than chance?

A twin is a kernel whose samples were put into another order: what it says about samples is right
for no sample, and all that it achieves is chance. All kernels are shuffled in the same way, so that
twins depend on each other as kernels do. Every kernel and every twin is judged twice: by how much
more alike samples of a class are than any two samples, which finds kernels that separate on their
own, and by the margins between neighbours, which finds those that separate together with others.

Of very many kernels, the twins of some stand for those of all, and twins of their own are made only
for kernels that might pass.
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

# Number of twins of every kernel: as many as give this number in all, within bounds.
TWINS = 20_000
MOST_SHUFFLES, FEWEST_SHUFFLES = 10, 5
# Maximum number of kernels that all have twins; and how far the score of another kernel may lie
# above the guess that is made of it without its twins, in standard deviations of chance.
MOST_TWINNED = 6000
UNSURE = 1.0
# Maximum number of samples, evenly spaced, whose neighbours are compared, and of those on which
# the spread of kernel values is measured.
MOST_COMPARED = 2000
# Equal rows are shuffled one by one, up to about this number of rows in all.
MOST_UNFOLDED = 4000
BLOCK = 64
# A variance below this part of the diagonal counts as none.
CONSTANT = 1e-9
# A kernel passes if it is three times as likely to be useful as to be chance.
LEAST_EVIDENCE = 0.75
# Without structure, some kernel would pass in this share of all data sets.
LEVEL = 0.05


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
    other kernels are judged again by neighbours in the average of those that pass.
    """
    problem, average = _unfold(problem, average)
    twins = Twins.of(problem, average)
    comparison = Comparison(twins)
    # A kernel without meaning has the same part in the choice of neighbours as its twin.
    comparison.look([twins.neighborhoods(average, order) for order in twins.orders])
    found = comparison.judge()
    passing = found.passing
    if 0 < passing.size < problem.kernels.n_kernels:
        # Those that pass have a part in this average, and their twins have not.
        near = twins.neighborhoods(problem.select(passing).average())
        comparison.look([near], without=passing)
        found = comparison.judge()
    return found


def _unfold(problem: Problem, average: FloatArray) -> tuple[Problem, FloatArray]:
    """Every sample as often as it was given, in random order: equal rows are several samples.

    Shuffled as one, a row given forty times would make twins as good as kernels.
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


def weigh_evidence(chances: FloatArray) -> KernelEvidence:
    """Evidence from the probabilities that a twin is as good as each kernel.

    One minus the local false discovery rate, by Grenander's estimate of the density of the
    probabilities, all kernels being noise otherwise. Its sum over kernels that pass is the number
    that chance would give.
    """
    order = np.argsort(chances, kind="stable")
    steps = chances.size * np.diff(chances[order], prepend=0.0)
    rates = np.empty(chances.size)
    rates[order] = np.minimum(isotonic_regression(steps).x, 1.0)
    # Simes' test: rates of data without structure fall below a level with that probability.
    return KernelEvidence(1 - rates, bool(rates.min(initial=1.0) <= LEVEL))


def tail_probabilities(scores: FloatArray, twins: FloatArray) -> FloatArray:
    """The share of twins of at least these scores; beyond the best twins, an exponential tail."""
    twins = np.sort(twins)
    n_top = min(twins.size - 1, int(np.ceil(np.sqrt(twins.size))))
    threshold = twins[-n_top - 1]
    excess = float(np.mean(twins[-n_top:] - threshold))
    counts = twins.size - np.searchsorted(twins, scores, side="left")
    beyond = np.maximum(scores - threshold, 0.0)
    tail = n_top * np.exp(-beyond / excess) if excess > 0 else np.where(beyond > 0, 0, n_top)
    return np.where(scores > threshold, tail, counts) / twins.size


@dataclass(frozen=True, eq=False)
class Twins:
    """Kernels and their twins.

    What is measured of all has a row for the kernels and one for the twins of each shuffle.
    """

    problem: Problem
    orders: IntArray  # (n_shuffles, n_samples)
    samples: IntArray  # those whose neighbours are compared
    variance: FloatArray  # of every kernel, infinite where it is 0
    concentration: FloatArray
    likeness: FloatArray  # of every kernel

    @classmethod
    def of(cls, problem: Problem, average: FloatArray) -> Twins:
        """Twins of all kernels of a problem."""
        n_shuffles = int(
            np.clip(TWINS // problem.kernels.n_kernels, FEWEST_SHUFFLES, MOST_SHUFFLES)
        )
        ranked = _rank(average)
        source, orders = np.random.default_rng(0), np.empty((n_shuffles, ranked.size), np.intp)
        for order in orders:
            order[ranked] = source.permutation(ranked)
        between, means = _sum_squares(problem, np.arange(ranked.size)[np.newaxis])
        variance = problem.diagonals - means[0]
        variance[variance <= CONSTANT * problem.diagonals] = np.inf
        concentration = _concentration(problem, _spaced(ranked, BLOCK))
        return cls(
            problem,
            orders,
            np.sort(_spaced(ranked, MOST_COMPARED)),
            variance,
            concentration,
            _likeness(problem, between, variance, concentration)[0],
        )

    def select(self, kernels: IntArray) -> Twins:
        """Some of the kernels and their twins."""
        return replace(
            self,
            problem=self.problem.select(kernels),
            variance=self.variance[kernels],
            concentration=self.concentration[kernels],
            likeness=self.likeness[kernels],
        )

    def neighborhoods(self, kernel: FloatArray, order: IntArray | None = None) -> Neighborhoods:
        """Neighbours in a kernel, or in a kernel together with its twin."""
        labels = self.problem.labels
        n_same = self.problem.settings.n_neighbors
        n_other = count_others(n_same, int(labels.max()) + 1)
        return find_neighborhoods(kernel, labels, n_same, n_other, self.samples, order)

    def likeness_of_all(self) -> FloatArray:
        """How much more alike samples of a class are than any two."""
        between, _ = _sum_squares(self.problem, self.orders)
        twins = _likeness(self.problem, between, self.variance, self.concentration)
        return np.vstack([self.likeness, twins])

    def margins_of_all(self, near: Sequence[Neighborhoods]) -> FloatArray:
        """Mean margins between neighbours: one choice of them for every shuffle, or for all."""
        real = np.mean([self.margins(one) for one in near], axis=0)
        pairs = zip(itertools.cycle(near), self.orders, strict=False)
        return np.vstack([real, *(self.margins(*pair) for pair in pairs)])

    def margins(self, near: Neighborhoods, order: IntArray | None = None) -> FloatArray:
        """Mean margins of kernels, or of their twins, relative to the spread of kernel values."""
        problem = self.problem
        weights = margin_pair_weights(near, problem.sample_weight)
        near = near if order is None else near.renumbered(order)
        found = weigh_margins(problem.kernels, near, weights / weights.sum())
        return np.asarray(found / (self.variance * np.sqrt(self.concentration)))


@dataclass(frozen=True, eq=False)
class Look:
    """How margins of twins vary between some neighbours."""

    near: Sequence[Neighborhoods]
    without: IntArray  # the kernels that are not judged by these neighbours
    level: float  # the mean of all twins
    least: float  # the mean square of their differences from the mean of the kernel's twins

    def guess(self, margins: FloatArray, n_shuffles: int) -> FloatArray:
        """About the scores of kernels, without their twins."""
        scores = (margins - self.level) / np.sqrt(self.least * (1 + 1 / n_shuffles))
        scores[self.without] = -np.inf
        return np.asarray(scores)

    def score(self, kernels: IntArray, margins: FloatArray) -> FloatArray:
        """How far these kernels are beyond their twins, and every twin beyond the others."""
        twins, n = margins[1:], len(margins) - 1
        beyond = (margins[0] - twins.mean(axis=0)) / np.sqrt(1 + 1 / n)
        # Rare values make margins vary more than the spread of all values says. What varies is
        # found without the twin that is measured by it.
        apart = _apart(twins)
        squares = apart**2
        others = np.vstack([squares.mean(axis=0), (squares.sum(axis=0) - squares) / (n - 1)])
        scores = np.vstack([beyond, apart]) / np.sqrt(np.maximum(others, self.least))
        scores[:, np.isin(kernels, self.without)] = -np.inf
        return np.asarray(scores)


class Comparison:
    """Scores of kernels and twins, the best of all looks.

    They are about normal for kernels without meaning.
    """

    def __init__(self, twins: Twins) -> None:
        self.twins = twins
        self.some = _spaced(np.arange(twins.variance.size), MOST_TWINNED)
        self.guesses = twins.likeness
        self.scores = twins.select(self.some).likeness_of_all()
        self.looks: list[Look] = []

    def look(self, near: Sequence[Neighborhoods], without: ArrayLike = ()) -> None:
        """Judge by the margins between these neighbours, too; all kernels or not some of them."""
        margins = self.twins.select(self.some).margins_of_all(near)
        level, least = margins[1:].mean(), np.mean(_apart(margins[1:]) ** 2)
        look = Look(near, np.asarray(without, np.intp), float(level), float(least) or 1.0)
        self.looks.append(look)
        self.scores = np.maximum(self.scores, look.score(self.some, margins))
        if self.some.size < self.guesses.size:
            guess = look.guess(self.twins.margins(near[0]), len(self.twins.orders))
            self.guesses = np.maximum(self.guesses, guess)

    def judge(self) -> KernelEvidence:
        """Evidence from scores beside those of all twins, and beside those of the own twins."""
        pool = self.scores[1:].ravel()
        chances = tail_probabilities(self.guesses, pool)
        chances[self.some] = _chances(self.scores, pool)
        hopeful = self._find_hopeful(chances, pool)
        if hopeful.size:
            twins = self.twins.select(hopeful)
            margins = [look.score(hopeful, twins.margins_of_all(look.near)) for look in self.looks]
            scores = np.maximum.reduce([twins.likeness_of_all(), *margins])
            chances[hopeful] = _chances(scores, pool)
        return weigh_evidence(chances)

    def _find_hopeful(self, chances: FloatArray, pool: FloatArray) -> IntArray:
        """Kernels without twins that might pass.

        Those that pass are so many times as frequent as chance would have them.
        """
        factor, shares = 1 / (1 - LEAST_EVIDENCE), np.arange(1, chances.size + 1) / chances.size
        ordered = np.sort(chances)
        limit = ordered[shares >= factor * ordered].max(initial=shares[0] / factor)
        is_hopeful = tail_probabilities(self.guesses + UNSURE, pool) <= limit
        is_hopeful[self.some] = False
        return np.flatnonzero(is_hopeful)


def _apart(twins: FloatArray) -> FloatArray:
    """How far the margins of twins are from the mean of the others of the same kernel."""
    n = len(twins)
    return np.asarray((twins - twins.mean(axis=0)) * np.sqrt(n / (n - 1)))


def _chances(scores: FloatArray, pool: FloatArray) -> FloatArray:
    """The probability that a twin is as good as each kernel: any twin, and one of its own."""
    among_own = np.mean(scores[1:] >= scores[0], axis=0)
    return np.maximum(tail_probabilities(scores[0], pool), among_own)


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


def _likeness(
    problem: Problem, between: FloatArray, variance: FloatArray, concentration: FloatArray
) -> FloatArray:
    """How much more alike samples of a class are than any two, in standard deviations of chance.

    The sum of squares between classes relative to what chance gives: about a chi-squared variable,
    brought to a normal scale by the cubic root.
    """
    weight, labels = problem.sample_weight, problem.labels
    totals, total = np.bincount(labels, weight), weight.sum()
    expected = np.sum(weight**2 / totals[labels]) / total - np.sum(weight**2) / total**2
    ratio = np.maximum(between / (expected * variance), 0.0)
    part = 2 * concentration / (9 * (totals.size - 1))
    return np.asarray((np.cbrt(ratio) - 1 + part) / np.sqrt(part))
