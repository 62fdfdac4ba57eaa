"""How many prototypes the data need, whether with contrasts and several widths, by folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from imkpl._progress import announce
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import WIDTHS
from imkpl.model.calibration import find_temperature
from imkpl.model.cover import cover
from imkpl.model.kernel_choice import KernelChoice, prepare_choice, widen
from imkpl.model.neighbors import space_evenly
from imkpl.model.problem import Problem
from imkpl.model.updates import update_codes
from imkpl.model.voters import count_votes, learn_voters
from imkpl.model.votes import ValueVotes

# Numbers of prototypes per class to try, until more do not help. Every further prototype of a
# class must gain this many standard errors.
PER_CLASS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
NOTABLE = 0.05
# Ridges on prototypes minus contrasts that are tried: classes that overlap need a large one.
RIDGES = (0.03, 0.2, 1.0)
# The most coefficients of contrasts, prototypes times samples, with which further sizes are tried:
# beyond, prototypes vote without contrasts, at a tenth of the cost.
MOST_COEFFICIENTS = 2**16
# The most kernel values, over all pairs of samples, with which several widths are tried.
MOST_VALUES = 2**30
# Who announces how far the choice has come.
SOURCE = "prototypes"


Widths = tuple[float, ...]


class Size(NamedTuple):
    """What folds choose about a model."""

    n_prototypes: int
    ridge: float  # on prototypes minus contrasts; 0 without contrasts
    widths: Widths  # of the kernels of a feature


def choose_size(
    problem: Problem, n_kernels: int, ranked: IntArray, n_prototypes: int | None, seed: int
) -> Size:
    """Whether prototypes have contrasts and features other widths, and how many there are.

    `ranked` are the samples in an order that does not depend on that of rows or columns.
    """
    n_classes, most = len(problem.members), problem.labels.size // 2
    ridges, (widths, *others) = list_ridges(problem), list_widths(problem)
    has_sizes = n_prototypes is None and most > n_classes
    has_ridges = len(ridges) > 1
    parts = list(split(problem, ranked, seed)) if has_sizes or has_ridges else []
    if not parts:
        return Size(n_prototypes or n_classes, ridges[0], widths)
    learn = partial(Fold.of, problem, n_kernels)
    announce(SOURCE, "weighing kernels in folds", 0, len(PER_CLASS))
    folds = [learn(is_left, widths) for is_left in parts[: halve(parts)]]
    ridge = choose_ridge(folds, n_prototypes or n_classes, ridges) if has_ridges else ridges[0]
    scores = None
    for other in others if ridge > 0 else ():
        scores = judge_roughly(folds, ridge) if scores is None else scores
        changed = [fold.in_widths(other) for fold in folds]
        found = judge_roughly(changed, ridge)
        if is_better(found, scores, weigh(folds)):
            folds, scores, widths = changed, found, other
    if not has_sizes:
        return Size(n_prototypes or n_classes, ridge, widths)
    sizes = [n_classes * m for m in PER_CLASS if n_classes * m < most]
    sizes += [most] * (len(sizes) < len(PER_CLASS))
    rest = (learn(is_left, widths) for is_left in parts[halve(parts) :])
    return choose_number(folds, rest, [Size(size, ridge, widths) for size in sizes], problem)


def find_residuals(
    problem: Problem, n_kernels: int, ranked: IntArray, size: Size, seed: int
) -> FloatArray:
    """How far values of left-out samples are above what models of the others say, in order."""
    parts = split(problem, ranked, seed)
    folds = [Fold.of(problem, n_kernels, is_left, size.widths) for is_left in parts]
    if not folds:
        return np.empty(0)
    found = [fold.predict(size.n_prototypes, size.ridge) for fold in folds]
    residuals = np.concatenate([f.targets - one for f, one in zip(folds, found, strict=True)])
    weight = np.concatenate([fold.weight for fold in folds])
    if np.ptp(weight) == 0:
        return np.sort(residuals)
    middles = (np.arange(residuals.size) + 0.5) / residuals.size
    found_at = np.quantile(residuals, middles, weights=weight, method="inverted_cdf")
    return np.asarray(found_at)


def prefer_located(
    choice: KernelChoice, is_located: BoolArray | None, max_kernels: int | None, most: int | None
) -> KernelChoice:
    """Kernels that say where in a sample it is decided, unless all do clearly better in folds."""
    problem, required = choice.problem, choice.problem.is_required
    if is_located is None or not (problem.settings.has_votes and problem.settings.chooses_kernels):
        return choice
    places = is_located[problem.kernel_indices]
    if places.all() or not places.any() or (required is not None and required[~places].any()):
        return choice
    parts, near = list(split(problem, choice.ranked)), choice.among(np.flatnonzero(places))
    scores = []
    for one in (choice, near):
        n_kernels, pool = one.choose(max_kernels, most)[1].size, one.pool(max_kernels)
        folds = [Fold.of(pool, n_kernels, is_left) for is_left in parts[: halve(parts)]]
        scores.append(judge_roughly(folds, RIDGES[1]))
    return choice if is_better(scores[0], scores[1], weigh(folds)) else near


def halve(folds: Sequence[Any]) -> int:
    """How many folds tell of which kind prototypes and kernels are, and which sizes to give up."""
    return -(-len(folds) // 2)


def list_ridges(problem: Problem) -> tuple[float, ...]:
    """The ridges that are tried."""
    contrast = problem.settings.contrast if problem.settings.has_votes else False
    return {None: (0.0, *RIDGES), True: RIDGES, False: (0.0,)}[contrast]


def choose_ridge(folds: list[Fold], n_prototypes: int, ridges: tuple[float, ...]) -> float:
    """The ridge with which folds predict best; none, without contrasts, if clearly better."""
    weight, best = weigh(folds), 0.0
    known: FloatArray = np.empty(0)
    for ridge in (ridge for ridge in ridges if ridge > 0):
        scores = judge_roughly(folds, ridge)
        if best > 0 and (scores - known) @ weight < 0:
            break
        best, known = ridge, scores
    if 0.0 in ridges:
        alone = judge(folds, [fold.predict(n_prototypes, 0.0) for fold in folds])
        if is_better(alone, known, weight):
            return 0.0
    return best


def is_better(found: FloatArray, known: FloatArray, weight: FloatArray) -> bool:
    """Whether the first is better by more than a standard error of the difference."""
    gains, errors = means_and_errors(np.array([found - known]), weight)
    return bool(gains[0] > max(errors[0], NEGLIGIBLE))


def choose_number(
    folds: list[Fold], rest: Iterable[Fold], sizes: list[Size], problem: Problem
) -> Size:
    """The first of the sizes that is as good as the best; they grow until more do not help."""
    n_classes, n_samples = len(problem.members), problem.labels.size
    first, found, scores = list[float](), list[list[FloatArray]](), list[FloatArray]()
    for place, size in enumerate(sizes):
        if place and size.n_prototypes * n_samples > MOST_COEFFICIENTS and size.ridge > 0:
            if problem.settings.contrast:
                break
            size = sizes[place] = size._replace(ridge=0.0)
        announce(SOURCE, f"trying {size.n_prototypes} prototypes in folds", place, len(PER_CLASS))
        found.append([fold.predict(size.n_prototypes, size.ridge) for fold in folds])
        first.append(float(judge(folds, found[place]) @ weigh(folds)))
        if place == 0:
            continue
        if first[place] <= max(first[:place]):
            break
        rest = list(rest)
        for known in range(len(scores), place + 1):
            more = [fold.predict(sizes[known].n_prototypes, sizes[known].ridge) for fold in rest]
            scores.append(judge([*folds, *rest], found[known] + more))
        weight = weigh([*folds, *rest])
        means, errors = means_and_errors(np.array(scores), weight)
        gain = means[place] - means[:place].max()
        if not gain > NOTABLE * size.n_prototypes / n_classes * errors[np.argmax(means)]:
            break
    announce(SOURCE, "number of prototypes chosen", len(PER_CLASS), len(PER_CLASS))
    return sizes[first_as_good(scores, weight)] if scores else sizes[0]


def list_widths(problem: Problem) -> list[Widths]:
    """The widths to begin with, and others that may be better."""
    widths = problem.kernels.widths
    if widths is not None:
        return [widths]
    n_values = problem.labels.size**2 * problem.kernels.n_kernels * len(WIDTHS)
    is_possible = problem.settings.chooses_kernels and n_values <= MOST_VALUES
    return [(1.0,), WIDTHS[1:2], WIDTHS] if is_possible else [(1.0,)]


# A difference in the mean logarithm of chances that is never worth more prototypes or widths.
NEGLIGIBLE = 0.01


def first_as_good(scores: list[FloatArray], weight: FloatArray) -> int:
    """The first that is worse than the best by at most one standard error of the difference."""
    table = np.array(scores)
    best = int(np.argmax(table @ weight))
    means, errors = means_and_errors(table[best] - table, weight)
    return int(np.argmax(means <= np.maximum(errors, NEGLIGIBLE)))


def means_and_errors(scores: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of every row, and its standard error; a weight of two is two samples."""
    shares, n_samples = weight / weight.sum(), max(weight.sum(), weight.size)
    means = scores @ shares
    return means, np.sqrt((scores - means[:, None]) ** 2 @ shares / n_samples)


# A sample that is left out counts as predicted with at least this chance, so that none decides.
LEAST_CHANCE = 0.01


def judge(folds: list[Fold], found: list[FloatArray]) -> FloatArray:
    """The logarithm of the chance of its class for every left-out sample, or its mean by person."""
    scores, targets = np.concatenate(found), np.concatenate([fold.targets for fold in folds])
    weight = np.concatenate([fold.weight for fold in folds])
    if scores.ndim == 1:
        # Of values, the logarithm of their density if errors are normal.
        squares = (scores - targets) ** 2
        variance = float(np.average(squares, weights=weight)) or 1.0
        logs = np.maximum(-0.5 * squares / variance, np.log(LEAST_CHANCE))
        chances = logs - 0.5 * np.log(variance)
    else:
        logs = log_softmax(find_temperature(scores, targets, weight) * scores, axis=1)
        chances = np.maximum(logs[np.arange(targets.size), targets], np.log(LEAST_CHANCE))
    ends = np.cumsum([fold.targets.size for fold in folds])[:-1]
    parts = zip(folds, np.split(chances, ends), strict=True)
    return np.concatenate([fold.average_persons(part, fold.weight) for fold, part in parts])


def judge_roughly(folds: list[Fold], ridge: float) -> FloatArray:
    """The same of prototypes minus contrasts that are made of all samples, one for every class."""
    return judge(folds, [fold.predict_roughly(ridge) for fold in folds])


def weigh(folds: list[Fold]) -> FloatArray:
    """The weights of the left-out samples, or persons."""
    return np.concatenate([fold.average_persons(fold.weight) for fold in folds])


# Folds for few and for many samples, and how often they are drawn: the fewer samples there are, the
# more must be left to learn from, and the more depends on the draw.
MANY_SAMPLES, MORE_FOLDS, FEWER_FOLDS, DRAWS = 200, 5, 3, 2
# The number of left-out samples that are enough: with more, later folds are left out.
ENOUGH = 1000


def split(problem: Problem, ranked: IntArray, seed: int = 0) -> Iterator[BoolArray]:
    """Which samples are left out, fold by fold; every class keeps a sample to learn from."""
    labels, n_classes = problem.labels, len(problem.members)
    persons = np.arange(labels.size) if problem.persons is None else problem.persons
    # Of every person the first sample, whose class is that of the person.
    heads = ranked[np.sort(np.unique(persons[ranked], return_index=True)[1])]
    n_folds = MORE_FOLDS if heads.size < MANY_SAMPLES else FEWER_FOLDS
    n_left = 0
    for draw in range(DRAWS):
        fold = np.full(int(persons.max()) + 1, -1)
        for label in range(n_classes):
            order = heads[labels[heads] == label]
            if order.size > 1:
                # The same for every class, so that their names do not matter.
                order = np.random.default_rng([seed, draw]).permutation(order)
                fold[persons[order]] = np.arange(order.size) % n_folds
        for number in range(n_folds):
            is_left = fold[persons] == number
            is_complete = np.unique(labels[~is_left]).size == n_classes
            if n_left < ENOUGH and is_left.any() and is_complete:
                n_left += int(np.count_nonzero(is_left))
                yield is_left


# Steps of L-BFGS in a fold, and the smallest decrease; a whole fit takes more. With fewer steps,
# contrasts of many classes are not yet better than votes alone.
FOLD_STEPS, FOLD_DECREASE = (40, 0, 30), 1e-3
# Without a limit on their samples, prototypes minus contrasts are functions of this number of
# features (Nystrom), found in this number of steps.
ROUGH_FEATURES, ROUGH_STEPS, ROUGH_DECREASE = 150, 60, 1e-4


@dataclass(frozen=True, eq=False)
class Fold:
    """A part of the samples to learn from, and the others to score."""

    problem: Problem
    weights: FloatArray  # of the kernels
    kernel: FloatArray  # (n_learned, n_learned)
    left: FloatArray  # (n_left, n_learned) kernel values of the samples that are scored
    targets: IntArray | FloatArray  # their classes, or values
    weight: FloatArray  # and weights
    persons: IntArray | None  # and whom they belong to
    whole: Problem  # the chosen kernels on all samples, in their first width
    is_left: BoolArray

    @classmethod
    def of(
        cls, problem: Problem, n_kernels: int, is_left: BoolArray, widths: Widths = (1.0,)
    ) -> Fold:
        """Kernels chosen and weighed without the samples that are left out."""
        part = problem.take(np.flatnonzero(~is_left))
        part, weights = prepare_choice(part, part.average())(n_kernels)
        whole = problem.select(problem.find_kernels(part))
        return cls.on(part, weights, whole, is_left).in_widths(widths)

    @classmethod
    def on(cls, part: Problem, weights: FloatArray, whole: Problem, is_left: BoolArray) -> Fold:
        """The combined kernel of the part that is learned from, and of the rest with it."""
        left, learned = np.flatnonzero(is_left), np.flatnonzero(~is_left)
        kernel = whole.combine(weights, part.dtype)
        return cls(
            # Without the table of margins, which nothing in a fold needs any more.
            problem=replace(part, separation_loss=whole.separation_loss),
            weights=weights,
            kernel=kernel[np.ix_(learned, learned)],
            left=kernel[np.ix_(left, learned)],
            targets=(whole.labels if whole.values is None else whole.values)[left],
            weight=whole.sample_weight[left],
            persons=None if whole.persons is None else whole.persons[left],
            whole=whole,
            is_left=is_left,
        )

    def in_widths(self, widths: Widths) -> Fold:
        """The same kernels in other widths, weighed again."""
        if widths == (1.0,):
            return self
        wide = widen(self.whole, widths)
        part = wide.take(np.flatnonzero(~self.is_left))
        part, weights = prepare_choice(part, part.average())(None)
        found = self.on(part, weights, wide.select(wide.find_kernels(part)), self.is_left)
        return replace(found, whole=self.whole)

    def average_persons(self, values: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """The mean of the left-out samples of every person; the values where all are their own."""
        if self.persons is None:
            return values
        persons = np.unique(self.persons, return_inverse=True)[1]
        weight = np.ones(values.size) if weight is None else weight
        return np.asarray(np.bincount(persons, weight * values) / np.bincount(persons, weight))

    @cached_property
    def features(self) -> tuple[FloatArray, FloatArray]:
        """Features whose inner products are nearly the kernel: of learned and of left samples."""
        some = space_evenly(self.kernel.shape[0], ROUGH_FEATURES)
        values, vectors = np.linalg.eigh(self.kernel[np.ix_(some, some)])
        is_kept = values > 1e-8 * values[-1]
        roots = vectors[:, is_kept] / np.sqrt(values[is_kept])
        return self.kernel[:, some] @ roots, self.left[:, some] @ roots

    def predict_roughly(self, ridge: float) -> FloatArray:
        """Class scores of the left-out samples: kernel logistic regression.

        Its minimum has coefficients of at least 0 on samples of the class and of at most 0 on
        others: it is the best prototype minus contrast of every class, before samples are cut.
        """
        classes, (learned, left) = np.arange(len(self.problem.members)), self.features
        levels = self.problem.first_levels(classes)
        shape = (classes.size, learned.shape[1])

        def value_and_gradient(parameters: FloatArray) -> tuple[float, FloatArray]:
            slopes, offsets = parameters[classes.size :].reshape(shape), parameters[: classes.size]
            logs = (slopes @ learned.T).T + offsets
            loss, pulls, _ = self.problem.judge(logs, classes, levels)
            gradient = pulls.T @ learned + ridge * slopes
            loss += float(0.5 * ridge * np.sum(slopes**2))
            return loss, np.concatenate([pulls.sum(axis=0), gradient.ravel()])

        found = minimize(
            value_and_gradient,
            np.zeros(classes.size + shape[0] * shape[1]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ROUGH_STEPS, "ftol": ROUGH_DECREASE},
        ).x
        scores = left @ found[classes.size :].reshape(shape).T + found[: classes.size]
        return np.asarray(scores if not levels.size else softmax(scores, axis=1) @ levels)

    def predict(self, size: int, ridge: float) -> FloatArray:
        """Class scores, or values, of the left-out samples."""
        problem = replace(self.problem, ridge=ridge)
        start = cover(problem, self.weights, size, self.kernel)
        state = update_codes(problem, start)
        state = learn_voters(problem, state, FOLD_STEPS, FOLD_DECREASE)
        votes, resemblances = count_votes(problem, state), (state.mixes @ self.left.T).T
        if isinstance(votes, ValueVotes):
            return votes.estimate(resemblances)
        return votes.scores(resemblances)
