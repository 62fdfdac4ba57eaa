"""Votes: each prototype votes for its own class, with weight exp(t similarity).

The vote of prototype j is ``exp(t (s_j + b_j))``: s_j is the similarity of the sample to the
prototype, a sum over kernels; b_j >= 0 is the bonus of the prototype; t is the sharpness. While
learning, the probability of a class is its share of all votes; a fitted model has a temperature of
its own, which does not change who wins. The score of a class is the smooth maximum over its
prototypes, ``1/t log sum_j exp(t (s_j + b_j))``, minus that of the runner-up: how far it is
ahead, in units of similarity. Prototypes are learned for this decision: ``J_vote`` is the
cross-entropy of these probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from imkpl._checks import check_nonnegative, require
from imkpl._typing import FloatArray, IntArray

# The weight of J_vote beside the reconstruction, both per sample and relative to the variance.
VOTE_WEIGHT = 5.0
# The weight of half the squared error of values, in standard deviations, beside a cross-entropy.
VALUE_WEIGHT = 3.0
# Ridge on the mean square of the logarithms of strength, t b_j, per sample.
STRENGTH_RIDGE = 0.01
# Logarithms of the least and the largest sharpness. Similarities lie between 0 and 1.
LOG_SHARPNESS = (0.0, 6.0)
# To which the logarithm of the sharpness is found.
PRECISION = 0.02


@dataclass(frozen=True, eq=False)
class Votes:
    """A decision by votes."""

    classes: IntArray  # (n_prototypes,) the class that each prototype votes for
    bonuses: FloatArray  # (n_prototypes,) from 0; exp(sharpness * bonus) is the strength
    sharpness: float

    def ahead(self, head_starts: FloatArray) -> Votes:
        """The votes with a constant added to the score of every class."""
        return replace(self, bonuses=self.bonuses + head_starts[self.classes])

    def logs(self, similarities: FloatArray) -> FloatArray:
        """The logarithm of every vote."""
        return np.asarray(self.sharpness * (similarities + self.bonuses))

    def scores(self, similarities: FloatArray) -> FloatArray:
        """Class scores: how far ahead of the runner-up, which has the score 0."""
        _, totals, _ = sum_votes(self.logs(similarities), self.classes)
        runner_up = np.partition(totals, -2, axis=1)[:, -2:-1]
        return np.asarray((totals - runner_up) / self.sharpness)

    def grade(self, similarities: FloatArray) -> FloatArray:
        """What the answer is read from: the class scores."""
        return self.scores(similarities)

    def sides(self, similarities: FloatArray) -> IntArray:
        """The class that each prototype votes for, for every sample."""
        sides: IntArray = np.tile(self.classes, (len(similarities), 1))
        return sides

    def parts(self, similarities: FloatArray) -> FloatArray:
        """The share of every prototype in the votes for its class."""
        return sum_votes(self.logs(similarities), self.classes)[2]

    def check(self, n_prototypes: int, n_classes: int) -> None:
        """Raise a ValueError unless every class has prototypes, also if votes are from a file."""
        shapes = {self.classes.shape, self.bonuses.shape}
        require(shapes == {(n_prototypes,)}, f"there are not votes of {n_prototypes} prototypes")
        check_nonnegative(self.bonuses, "bonuses")
        require(self.sharpness > 0, f"the sharpness is {self.sharpness}, expected more than 0")
        steps = np.diff(self.classes, prepend=0, append=n_classes - 1)
        is_sorted = np.isin(steps, (0, 1)).all() and steps[-1] == 0
        require(is_sorted, f"prototypes are not sorted by {n_classes} classes")


@dataclass(frozen=True, eq=False)
class ValueVotes(Votes):
    """Votes for values: their mean; classes are two sides, prototypes above it and below."""

    levels: FloatArray  # (n_prototypes,) the value that each prototype votes for
    places: FloatArray | None = None  # the value of every class, if classes are predicted

    def shares(self, similarities: FloatArray) -> FloatArray:
        """The share of every prototype in all votes."""
        return np.asarray(softmax(self.logs(similarities), axis=1))

    def estimate(self, similarities: FloatArray) -> FloatArray:
        """The mean of the prototypes' values."""
        return np.asarray(self.shares(similarities) @ self.levels)

    def sides(self, similarities: FloatArray) -> IntArray:
        """Whether each prototype's value is above the estimate, 1, or below, 0; some are either."""
        lowest, highest = self.levels.min(), self.levels.max()
        is_above = self.levels > self.estimate(similarities)[:, np.newaxis]
        is_above = (is_above | (self.levels == highest)) & (self.levels > lowest)
        return np.asarray(is_above, dtype=np.intp)

    def parts(self, similarities: FloatArray) -> FloatArray:
        """The share of every prototype in the votes for its side."""
        logs, sides = self.logs(similarities), self.sides(similarities)
        return np.asarray(np.exp(logs - np.take_along_axis(_sum_sides(logs, sides), sides, 1)))

    def scores(self, similarities: FloatArray) -> FloatArray:
        """How far the lower and the upper side are ahead of the other, which has the score 0."""
        totals = _sum_sides(self.logs(similarities), self.sides(similarities))
        return np.asarray((totals - totals.min(axis=1, keepdims=True)) / self.sharpness)

    def grade(self, similarities: FloatArray) -> FloatArray:
        """The estimate as a column; for ordered classes how much nearer each is than the next."""
        estimates = self.estimate(similarities)[:, np.newaxis]
        if self.places is None:
            return estimates
        near = -((estimates - self.places) ** 2)
        return np.asarray(near - np.partition(near, -2, axis=1)[:, -2:-1])

    def ends(self, similarities: FloatArray) -> FloatArray:
        """The mean values of the lower and of the upper side, by the votes for them."""
        parts, sides = self.parts(similarities) * self.levels, self.sides(similarities)
        return np.column_stack([np.sum(parts * (sides == side), axis=1) for side in (0, 1)])

    def check(self, n_prototypes: int, n_classes: int) -> None:
        """Raise a ValueError unless every prototype has a value, also if votes are from a file."""
        super().check(n_prototypes, n_classes)
        is_right = self.levels.shape == (n_prototypes,) and np.ptp(self.levels) > 0
        require(is_right, f"there are not values of {n_prototypes} prototypes")


def _sum_sides(logs: FloatArray, sides: IntArray) -> FloatArray:
    """The logarithms of the votes for the lower and for the upper side."""
    listed = [logsumexp(np.where(sides == side, logs, -np.inf), axis=1) for side in (0, 1)]
    return np.column_stack(listed)


def sum_votes(logs: FloatArray, classes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Class probabilities, logarithms of the classes' votes, and each vote's share of its class."""
    rows, starts = logs.T, np.searchsorted(classes, np.arange(classes[-1] + 1))
    if starts.size == classes.size:
        totals, votes = rows, np.ones_like(rows)
    else:
        largest = np.maximum.reduceat(rows, starts, axis=0)
        votes = np.exp(rows - largest[classes])
        sums = np.add.reduceat(votes, starts, axis=0)
        votes /= sums[classes]
        totals = largest + np.log(sums)
    chances = np.exp(totals - totals.max(axis=0))
    chances /= chances.sum(axis=0)
    return chances.T, totals.T, votes.T


def vote_loss(
    logs: FloatArray, classes: IntArray, labels: IntArray, sample_weight: FloatArray
) -> tuple[float, FloatArray]:
    """The cross-entropy of the votes, and its slope in the logarithm of every vote."""
    chances, totals, parts = sum_votes(logs, classes)
    everyone, highest = np.arange(labels.size), totals.max(axis=1)
    norm = highest + np.log(np.exp(totals - highest[:, None]).sum(axis=1))
    loss = float(sample_weight @ (norm - totals[everyone, labels]))
    chances[everyone, labels] -= 1
    chances *= sample_weight[:, None]
    return loss, (chances.T[classes] * parts.T).T


def value_loss(
    logs: FloatArray, levels: FloatArray, values: FloatArray, sample_weight: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """The squared error of the mean values, its slopes in the votes' logarithms and in levels."""
    shares = softmax(logs, axis=1)
    found = shares @ levels
    pulls = VALUE_WEIGHT * sample_weight * (found - values)
    slopes = shares * (levels - found[:, np.newaxis]) * pulls[:, np.newaxis]
    return float(0.5 * pulls @ (found - values)), slopes, shares.T @ pulls


def find_sharpness(
    left_out: FloatArray, classes: IntArray, labels: IntArray, sample_weight: FloatArray
) -> float:
    """The sharpness at which equally strong prototypes predict best the samples not in them."""
    if labels.size == 0:
        return float(np.exp(np.mean(LOG_SHARPNESS)))

    def loss(log_sharpness: float) -> float:
        return vote_loss(np.exp(log_sharpness) * left_out, classes, labels, sample_weight)[0]

    options = {"xatol": PRECISION}
    found = minimize_scalar(loss, bounds=LOG_SHARPNESS, method="bounded", options=options)
    return float(np.exp(found.x))
