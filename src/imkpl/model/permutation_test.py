"""Permutation test: which kernels tell the classes apart better than chance?

A permuted kernel has its samples in another order: what it says is right for no sample, and all
that it achieves is chance. All kernels are permuted in the same way, so that permuted kernels
depend on each other as kernels do. There are two statistics: the sum of squares between classes,
which finds kernels that separate on their own, and the mean margin between neighbours, which finds
those that separate together with others.

Of very many kernels, the permutations of some stand for those of all, and only candidates, which
might pass, are permuted besides.
"""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.optimize import isotonic_regression

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import iterate_blocks
from imkpl.model.neighbors import (
    Neighborhoods,
    count_others,
    find_neighborhoods,
    rank_typical,
    space_evenly,
)
from imkpl.model.problem import Problem
from imkpl.model.separation import mean_margins

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

    def warn(self, targets: str = "classes") -> None:
        """Say so where no kernel is more than chance."""
        if not self.has_structure:
            warnings.warn(
                f"No kernel tells the {targets} apart better than shuffled copies of the kernels "
                "do: what is learned from these samples may be chance. Check that the rows of X "
                "and y belong together; if they do, there may be too few samples, or other "
                "features are needed.",
                stacklevel=2,
            )


def run_permutation_test(problem: Problem, average: FloatArray) -> KernelEvidence:
    """The evidence of every kernel: by neighbours in the average of all, and of those that pass."""
    problem, average = _unfold(problem, average)
    test = PermutationTest(problem, average)
    n_same = problem.settings.n_neighbors
    find_near = partial(
        find_neighborhoods,
        labels=problem.labels,
        n_same=n_same,
        n_other=count_others(n_same, len(problem.members)),
        samples=test.compared,
        persons=problem.persons,
    )
    # A kernel without meaning has the same part in the choice of neighbours when permuted.
    near = [find_near(average, order=order) for order in test.orders]
    test.add_margins(near, without=np.empty(0, np.intp))
    found = test.find_evidence()
    passing = found.passing
    if 0 < passing.size < problem.kernels.n_kernels:
        # Those that pass have a part in this average, and permuted they have not.
        test.add_margins([find_near(problem.select(passing).average())], without=passing)
        found = test.find_evidence()
    return found


# Equal rows are permuted one by one, up to about this number of rows in all, which bounds the time.
MOST_UNFOLDED = 4000


def _unfold(problem: Problem, average: FloatArray) -> tuple[Problem, FloatArray]:
    """Every sample as often as given: permuted as one, equal rows would make chance look good."""
    counts = problem.multiplicity / max(1.0, problem.multiplicity.sum() / MOST_UNFOLDED)
    copies = np.maximum(counts.round(), 1).astype(np.intp)
    if copies.max() == 1:
        return problem, average
    ranked = rank_typical(average)
    everyone = np.random.default_rng(0).permutation(np.repeat(ranked, copies[ranked]))
    unfolded = problem.take(everyone)
    weight = unfolded.sample_weight / copies[everyone]
    return replace(unfolded, sample_weight=weight), average[np.ix_(everyone, everyone)]


# A variance below this part of the diagonal is round-off.
CONSTANT = 1e-9
# Permutations of every kernel: as many as give this number of permuted kernels, within bounds.
PERMUTED_KERNELS = 20_000
MOST_PERMUTATIONS, FEWEST_PERMUTATIONS = 10, 5
# The most if samples are of persons: kernels that hardly vary within a person have wider
# distributions of chance than others, and each must be compared with its own.
MOST_OF_PERSONS = 40
# The most samples, evenly spaced, whose neighbours are compared: their margins are exact enough.
MOST_COMPARED = 2000
# The most samples on which the concentration of a kernel is measured, as it takes all their pairs.
CONCENTRATION_SAMPLES = 64
# Of more kernels than this, only this number is permuted, and of the others the candidates: those
# whose estimate without permutations, plus this number of standard deviations, would pass.
MOST_PERMUTED = 6000
ESTIMATE_MARGIN = 1.0


class PermutationTest:
    """Scores of kernels, and a row of scores for each permutation: about normal for mere chance."""

    def __init__(self, problem: Problem, average: FloatArray) -> None:
        kernels, n_samples = problem.kernels, problem.labels.size
        ranked = rank_typical(average)
        wanted = PERMUTED_KERNELS // kernels.n_kernels
        most = MOST_PERMUTATIONS if problem.persons is None else MOST_OF_PERSONS
        n_permutations = int(np.clip(wanted, FEWEST_PERMUTATIONS, most))
        source = np.random.default_rng(0)
        self.orders = np.empty((n_permutations, n_samples), np.intp)
        for order in self.orders:
            if problem.persons is None:
                order[ranked] = source.permutation(ranked)
            else:
                order[:] = permute_persons(problem.persons, ranked, source)
        self.problem = problem
        # The samples whose neighbours are compared.
        self.compared = np.sort(ranked[space_evenly(n_samples, MOST_COMPARED)])
        chosen = ranked[space_evenly(n_samples, CONCENTRATION_SAMPLES)]
        self.concentration = _find_concentration(problem, chosen)
        as_given = np.arange(n_samples)[np.newaxis]
        between, self.variance = _score_classes(problem, as_given, self.concentration)
        self.between = self.estimates = between[0]  # of all kernels, without permutations
        # Evenly spaced among all, by what they say alone, so that their order does not matter.
        ordered = np.argsort(self.between, kind="stable")
        self.some = np.sort(ordered[space_evenly(kernels.n_kernels, MOST_PERMUTED)])
        self.scores = self._compare_classes(self.some)
        # Neighbours, the kernels that are not compared by them, and the least variance of margins.
        self.statistics: list[tuple[Sequence[Neighborhoods], IntArray, float]] = []

    def add_margins(self, near: Sequence[Neighborhoods], without: IntArray) -> None:
        """Compare by the margins between these neighbours, too; all kernels but some."""
        margins = self._compare_neighbors(self.some, near)
        scores, least = _score_margins(margins)
        scores[:, np.isin(self.some, without)] = -np.inf
        self.scores = np.maximum(self.scores, scores)
        self.statistics.append((near, without, least))
        if self.some.size < self.estimates.size:
            alone = mean_margins(self.problem.kernels, near[0], self.problem.sample_weight)
            alone /= self.variance * np.sqrt(self.concentration)
            chance = np.sqrt(least * (1 + 1 / len(self.orders)))
            estimates = (alone - float(margins[1:].mean())) / chance
            estimates[without] = -np.inf
            self.estimates = np.maximum(self.estimates, estimates)

    def find_evidence(self) -> KernelEvidence:
        """Evidence from scores beside those of all permutations, and beside those of their own."""
        null = self.scores[1:].ravel()
        p_values = tail_probabilities(self.estimates, null)
        p_values[self.some] = _find_p_values(self.scores, null)
        # Kernels that pass are more frequent than by chance, by at least this factor.
        factor, shares = 1 / (1 - LEAST_EVIDENCE), np.arange(1, p_values.size + 1) / p_values.size
        ordered = np.sort(p_values)
        limit = ordered[shares >= factor * ordered].max(initial=shares[0] / factor)
        is_candidate = tail_probabilities(self.estimates + ESTIMATE_MARGIN, null) <= limit
        is_candidate[self.some] = False
        candidates = np.flatnonzero(is_candidate)
        if candidates.size:
            scores = self._compare_classes(candidates)
            for near, without, least in self.statistics:
                found, _ = _score_margins(self._compare_neighbors(candidates, near), least)
                found[:, np.isin(candidates, without)] = -np.inf
                scores = np.maximum(scores, found)
            p_values[candidates] = _find_p_values(scores, null)
        return weigh_evidence(p_values)

    def _compare_classes(self, kernels: IntArray) -> FloatArray:
        """Scores by the sum of squares between classes."""
        some, variance = self.problem.select(kernels), self.variance[kernels]
        null, _ = _score_classes(some, self.orders, self.concentration[kernels], variance)
        return np.vstack([self.between[kernels], null])

    def _compare_neighbors(self, kernels: IntArray, near: Sequence[Neighborhoods]) -> FloatArray:
        """Mean margins relative to the spread, by neighbours for each permutation or for all."""
        some, weight = self.problem.kernels.select(kernels), self.problem.sample_weight
        spread = self.variance[kernels] * np.sqrt(self.concentration[kernels])
        real = np.mean([mean_margins(some, one, weight) / spread for one in near], axis=0)
        pairs = zip(itertools.cycle(near), self.orders, strict=False)
        null = [mean_margins(some, one, weight, order) / spread for one, order in pairs]
        return np.vstack([real, *null])


def permute_persons(persons: IntArray, ranked: IntArray, source: np.random.Generator) -> IntArray:
    """Every sample replaced by one of the person who takes the place of its own."""
    _, first, counts = np.unique(persons[ranked], return_index=True, return_counts=True)
    # Persons, and the samples of each, in an order that does not depend on that of rows.
    by_person = np.split(ranked[np.argsort(persons[ranked], kind="stable")], np.cumsum(counts)[:-1])
    listed = [by_person[person] for person in np.argsort(first)]
    order = np.empty_like(ranked)
    for place, other in zip(listed, source.permutation(len(listed)).tolist(), strict=True):
        order[place] = np.resize(listed[other], place.size)
    return order


def _score_margins(margins: FloatArray, least: float | None = None) -> tuple[FloatArray, float]:
    """How many deviations of its permutations each kernel is beyond them, and each of them, too."""
    null, n = margins[1:], len(margins) - 1
    beyond = (margins[0] - null.mean(axis=0)) / np.sqrt(1 + 1 / n)
    # How far permutations are from the mean of the others of the same kernel.
    apart = (null - null.mean(axis=0)) * np.sqrt(n / (n - 1))
    squares = apart**2
    if least is None:
        least = float(np.mean(squares)) or 1.0
    # Rare values make margins vary more than the spread of all values says. What varies is found
    # without the permutation that is measured by it.
    others = np.vstack([squares.mean(axis=0), (squares.sum(axis=0) - squares) / (n - 1)])
    return np.vstack([beyond, apart]) / np.sqrt(np.maximum(others, least)), least


def _find_p_values(scores: FloatArray, null: FloatArray) -> FloatArray:
    """The larger of the p-values among all permuted kernels and among the kernel's own."""
    among_own = np.mean(scores[1:] >= scores[0], axis=0)
    return np.maximum(tail_probabilities(scores[0], null), among_own)


# Without structure, some kernel would pass in this share of all data sets.
LEVEL = 0.05


def weigh_evidence(p_values: FloatArray) -> KernelEvidence:
    """Evidence from p-values: one minus the local false discovery rate, by Grenander's estimate."""
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


def _find_concentration(problem: Problem, chosen: IntArray) -> FloatArray:
    """The sum of squared variances along principal directions over the square of their sum."""
    among, n = problem.kernels.take(chosen), chosen.size
    rows, columns = np.tril_indices(n)
    is_apart = rows != columns
    pairs = np.arange(rows.size)
    places = np.append(rows, columns[is_apart]), np.append(pairs, pairs[is_apart])
    to_rows = sp.csr_array((np.ones(places[0].size), places), shape=(n, rows.size))
    found = np.ones(problem.kernels.n_kernels)
    as_given = np.argsort(problem.kernel_indices)  # As columns follow each other in a file.
    for part in iterate_blocks(found.size, 16 * rows.size):
        values = among.select(block := as_given[part]).pairs(rows, columns)
        means = to_rows @ values / n
        mean, norms = means.mean(axis=0), values[~is_apart].sum(axis=0)
        # Of the double-centred kernel.
        trace = norms - n * mean
        squares = (1.0 + is_apart) @ values**2 + (n * mean) ** 2 - 2 * n * np.sum(means**2, axis=0)
        is_varying = trace > CONSTANT * norms
        found[block[is_varying]] = squares[is_varying] / trace[is_varying] ** 2
    return np.clip(found, 1 / n, 1.0)


def _score_classes(
    problem: Problem,
    orders: IntArray,
    concentration: FloatArray,
    variance: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Sums of squares between classes, on a normal scale (Wilson and Hilferty), and variances."""
    weight, labels, n_orders = problem.sample_weight, problem.labels, len(orders)
    totals, total = np.bincount(labels, weight), weight.sum()
    shares = totals / total
    # An order in which persons are exchanged may lack samples, also the last one.
    each, shape = weight / totals[labels], (totals.size, labels.size)
    means = [sp.csr_array((each, (labels, order)), shape=shape) for order in orders]
    # The mean of every class, and that of all samples as a mix of these.
    part = sp.coo_array(np.vstack([np.eye(shares.size), shares]))
    parts = sp.block_diag([part] * n_orders, format="csr")
    rows = sp.hstack([sp.csr_array((parts.shape[0], labels.size)), parts], format="csr")
    # For every order the sum of squares, and the squared norm of the mean of all samples.
    signs = np.vstack([np.append(shares, -1.0), np.append(0 * shares, 1.0)]).T
    factors = np.kron(np.eye(n_orders), signs)
    found = problem.kernels.contract_rows(rows, factors, sp.vstack(means, format="csr")).T
    if variance is None:
        variance = problem.diagonals - found[1]
        variance[variance <= CONSTANT * problem.diagonals] = np.inf
    expected = np.sum(weight**2 / totals[labels]) / total - np.sum(weight**2) / total**2
    ratio = np.maximum(found[::2] / (expected * variance), 0.0)
    part = 2 * concentration / (9 * (totals.size - 1))
    return (np.cbrt(ratio) - 1 + part) / np.sqrt(part), variance
