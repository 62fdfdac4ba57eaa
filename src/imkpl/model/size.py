"""How many prototypes the data need, and whether they need contrasts, by folds of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from imkpl._progress import announce
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.calibration import find_temperature
from imkpl.model.cover import cover
from imkpl.model.kernel_choice import prepare_choice
from imkpl.model.problem import Problem
from imkpl.model.updates import update_codes
from imkpl.model.voters import count_votes, learn_voters

# Prototypes per class that are tried, until more do not help. The more prototypes, the more they
# must gain: so many standard errors for each of a class.
PER_CLASS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
NOTABLE = 0.05
# Ridges on prototypes minus contrasts that are tried: classes that overlap need a large one.
RIDGES = (1.0, 0.2, 0.03)
# The most coefficients of contrasts, prototypes times samples, with which further sizes are tried:
# beyond, prototypes vote without contrasts, at a tenth of the cost.
MOST_COEFFICIENTS = 2**17
# Who announces how far the choice has come.
SOURCE = "prototypes"


class Size(NamedTuple):
    """The number of prototypes, and the ridge on them minus contrasts; 0 without contrasts."""

    n_prototypes: int
    ridge: float


def choose_size(
    problem: Problem, n_kernels: int, ranked: IntArray, n_prototypes: int | None, seed: int
) -> Size:
    """Whether prototypes have contrasts, and the fewest that are as good as the best.

    Contrasts are learned, and their ridge is found, where one prototype a class gains by them.
    `ranked` are the samples in an order that does not depend on that of rows or columns.
    """
    ridges = {None: (0.0, *RIDGES), True: RIDGES, False: (0.0,)}[problem.settings.contrast]
    if not problem.settings.has_votes:
        ridges = (0.0,)
    n_classes, most = len(problem.members), problem.labels.size // 2
    sizes = [n_classes]
    if n_prototypes is None and most > n_classes:
        sizes = [n_classes * m for m in PER_CLASS if n_classes * m < most]
        sizes += [most] * (len(sizes) < len(PER_CLASS))
    parts = list(split(problem, ranked, seed)) if len(sizes) + len(ridges) > 2 else []
    if not parts:
        return Size(n_prototypes or n_classes, ridges[0])
    total, folds = len(parts) + len(sizes), list[Fold]()
    for is_left in parts:
        announce(SOURCE, f"weighing kernels, fold {len(folds) + 1}", len(folds), total)
        folds.append(Fold.of(problem, n_kernels, is_left))
    weight = np.concatenate([fold.weight for fold in folds])
    tried: list[Size] = []
    scores: list[FloatArray] = []  # log chances of left-out samples, for every size
    for place, size in enumerate(sizes):
        if place and size * problem.labels.size > MOST_COEFFICIENTS and ridges[0] > 0:
            if problem.settings.contrast:
                break
            ridges = (0.0,)
        announce(SOURCE, f"trying {size} prototypes in folds", len(folds) + place, total)
        found = [judge(folds, size, ridge) for ridge in ridges]
        chosen = int(np.argmax(np.array(found) @ weight))
        ridges = ridges[chosen : chosen + 1]
        tried.append(Size(n_prototypes or size, *ridges))
        scores.append(found[chosen])
        means, errors = means_and_errors(np.array(scores), weight)
        leader = int(np.argmax(means))
        gain = means[place] - means[:place].max(initial=-np.inf)
        if place and not gain > NOTABLE * size / n_classes * errors[leader]:
            break
    announce(SOURCE, "number of prototypes chosen", total, total)
    return tried[first_as_good(scores, weight)]


# A difference in the mean logarithm of chances that is never worth more prototypes.
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


def judge(folds: list[Fold], size: int, ridge: float) -> FloatArray:
    """The logarithm of the chance of its class, for every left-out sample."""
    scores = np.concatenate([fold.predict(size, ridge) for fold in folds])
    labels = np.concatenate([fold.labels for fold in folds])
    weight = np.concatenate([fold.weight for fold in folds])
    logs = log_softmax(find_temperature(scores, labels, weight) * scores, axis=1)
    return np.asarray(np.maximum(logs[np.arange(labels.size), labels], np.log(LEAST_CHANCE)))


# Folds for few and for many samples, and how often they are drawn: the fewer samples there are, the
# more must be left to learn from, and the more depends on the draw.
MANY_SAMPLES, MORE_FOLDS, FEWER_FOLDS, DRAWS = 200, 5, 3, 2
# The number of left-out samples that are enough: with more, later folds are left out.
ENOUGH = 1000


def split(problem: Problem, ranked: IntArray, seed: int = 0) -> Iterator[BoolArray]:
    """Which samples are left out, fold by fold; every class keeps a sample to learn from."""
    n_samples = problem.labels.size
    n_folds = MORE_FOLDS if n_samples < MANY_SAMPLES else FEWER_FOLDS
    n_left = 0
    for draw in range(DRAWS):
        fold = np.full(n_samples, -1)
        for label, samples in enumerate(problem.members):
            if samples.size > 1:
                # The same for every class, so that their names do not matter.
                order = ranked[problem.labels[ranked] == label]
                order = np.random.default_rng([seed, draw]).permutation(order)
                fold[order] = np.arange(samples.size) % n_folds
        for number in range(n_folds):
            is_left = fold == number
            if n_left < ENOUGH and is_left.any():
                n_left += int(np.count_nonzero(is_left))
                yield is_left


# Steps of L-BFGS in a fold, and the smallest decrease; a whole fit takes more.
FOLD_STEPS, FOLD_DECREASE = (20, 15, 20), 1e-3


@dataclass(frozen=True, eq=False)
class Fold:
    """A part of the samples to learn from, and the others to score."""

    problem: Problem
    weights: FloatArray  # of the kernels
    kernel: FloatArray  # (n_learned, n_learned)
    left: FloatArray  # (n_left, n_learned) kernel values of the samples that are scored
    labels: IntArray  # their classes
    weight: FloatArray  # and weights

    @classmethod
    def of(cls, problem: Problem, n_kernels: int, is_left: BoolArray) -> Fold:
        """Kernel weights learned without the samples that are left out."""
        left, learned = np.flatnonzero(is_left), np.flatnonzero(~is_left)
        part = problem.take(learned)
        part, weights = prepare_choice(part, part.average())(n_kernels)
        places = problem.find_kernels(part.kernel_indices)
        kernel = problem.select(places).combine(weights)
        return cls(
            problem=part,
            weights=weights,
            kernel=kernel[np.ix_(learned, learned)],
            left=kernel[np.ix_(left, learned)],
            labels=problem.labels[left],
            weight=problem.sample_weight[left],
        )

    def predict(self, size: int, ridge: float) -> FloatArray:
        """Class scores of the left-out samples."""
        problem = replace(self.problem, ridge=ridge)
        start = update_codes(problem, cover(problem, self.weights, size, self.kernel))
        state = learn_voters(problem, start, FOLD_STEPS, FOLD_DECREASE)
        return count_votes(problem, state).scores((state.mixes @ self.left.T).T)
