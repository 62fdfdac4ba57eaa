"""How many prototypes the data need, by folds of the training samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from imkpl._progress import announce
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.cover import cover
from imkpl.model.kernel_choice import prepare_choice
from imkpl.model.problem import Problem
from imkpl.model.updates import update_codes
from imkpl.model.voters import count_votes, learn_voters
from imkpl.model.votes import sum_votes

# Prototypes per class that are tried: the first three, and further ones until they do not help. The
# more prototypes, the more they must gain: so many standard errors for each of a class.
PER_CLASS = (1, 3, 10, 30, 100, 300)
ALWAYS_TRIED, NOTABLE = 3, 0.05
# Who announces how far the choice has come.
SOURCE = "prototypes"


def choose_size(problem: Problem, n_kernels: int) -> int:
    """The smallest number of prototypes that is as good as the best, with so many kernels."""
    n_classes = len(problem.members)
    most = problem.labels.size // 2
    if most <= n_classes:
        return n_classes
    sizes = [n_classes * m for m in PER_CLASS if n_classes * m < most]
    if len(sizes) < len(PER_CLASS):
        sizes.append(most)
    parts = list(split(problem))
    total, folds = len(parts) + len(sizes), list[Fold]()
    for is_left in parts:
        announce(SOURCE, f"weighing kernels, fold {len(folds) + 1}", len(folds), total)
        folds.append(Fold.of(problem, n_kernels, is_left))
    weight = np.concatenate([fold.weight for fold in folds])
    scores: list[FloatArray] = []  # of every size, (2, n_left): log chances and hits
    leader = 0
    for place, size in enumerate(sizes):
        announce(SOURCE, f"trying {size} prototypes in folds", len(folds) + place, total)
        scores.append(np.hstack([fold.score(size) for fold in folds]))
        log_chances, hits = np.array(scores).swapaxes(0, 1)
        means, errors = means_and_errors(log_chances, weight)
        if means[place] > means[leader] + NOTABLE * size / n_classes * errors[leader]:
            leader = place
        elif place >= ALWAYS_TRIED - 1:
            break
    announce(SOURCE, "number of prototypes chosen", total, total)
    return sizes[first_as_good(log_chances, hits, weight)]


# A difference in the mean logarithm of chances that is never worth more prototypes.
NEGLIGIBLE = 0.01


def first_as_good(log_chances: FloatArray, hits: FloatArray, weight: FloatArray) -> int:
    """The first row within one standard error of the best, or that errs no more than the best."""
    means, errors = means_and_errors(log_chances, weight)
    best = int(np.argmax(means))
    is_near = means >= means[best] - max(errors[best], NEGLIGIBLE)
    return int(np.argmax(is_near | (hits @ weight >= hits[best] @ weight)))


def means_and_errors(scores: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of every row, and its standard error; a weight of two is two samples."""
    shares, n_samples = weight / weight.sum(), max(weight.sum(), weight.size)
    means = scores @ shares
    return means, np.sqrt((scores - means[:, None]) ** 2 @ shares / n_samples)


# Folds for few and for many samples: the fewer there are, the more must be left to learn from.
MANY_SAMPLES, MORE_FOLDS, FEWER_FOLDS = 200, 5, 3
# The number of left-out samples that are enough: with more, later folds are left out.
ENOUGH = 1000


def split(problem: Problem) -> Iterator[BoolArray]:
    """Which samples are left out, fold by fold; every class keeps a sample to learn from."""
    n_samples = problem.labels.size
    n_folds = MORE_FOLDS if n_samples < MANY_SAMPLES else FEWER_FOLDS
    fold = np.full(n_samples, -1)
    for samples in problem.members:
        if samples.size > 1:
            # The same for every class, so that their names do not matter.
            order = np.random.default_rng(0).permutation(samples)
            fold[order] = np.arange(samples.size) % n_folds
    n_left = 0
    for number in range(n_folds):
        is_left = fold == number
        if n_left >= ENOUGH or not is_left.any():
            return
        n_left += int(np.count_nonzero(is_left))
        yield is_left


# A sample that is left out counts as predicted with at least this chance, so that none decides.
LEAST_CHANCE = 0.01
# Steps of L-BFGS in a fold; a whole fit takes more.
FOLD_STEPS = 15, 10


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
        # Where a sample stands for two or more, leaving one out leaves the others.
        counts = problem.multiplicity
        left, learned = np.flatnonzero(is_left), np.flatnonzero(~is_left | (counts >= 2))
        part = problem.take(learned)
        rest = 1 - is_left[learned] / np.maximum(counts[learned], 2.0)
        part = replace(part, sample_weight=part.sample_weight * rest)
        part, weights = prepare_choice(part, part.average())(n_kernels)
        places = np.searchsorted(problem.kernel_indices, part.kernel_indices)
        kernel = problem.select(places).combine(weights)
        return cls(
            problem=part,
            weights=weights,
            kernel=kernel[np.ix_(learned, learned)],
            left=kernel[np.ix_(left, learned)],
            labels=problem.labels[left],
            weight=problem.sample_weight[left],
        )

    def score(self, size: int) -> FloatArray:
        """For every left-out sample the log of the chance of its class, and whether it is right."""
        problem, state = cover(self.problem, self.weights, size, self.kernel)
        state = learn_voters(problem, update_codes(problem, state), *FOLD_STEPS)
        logs = count_votes(problem, state).logs((state.prototypes @ self.left.T).T)
        chances, *_ = sum_votes(logs, problem.prototype_classes(state))
        own = chances[np.arange(self.labels.size), self.labels]
        return np.array([np.log(np.maximum(own, LEAST_CHANCE)), own >= chances.max(axis=1)])
