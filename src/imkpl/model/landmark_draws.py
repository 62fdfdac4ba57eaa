"""The landmarks of a class while they are being drawn, from samples here or on other machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.base import count_samples, iterate_blocks, take_samples
from imkpl.kernels.sharded import ShardedSamples, join_rows

# Candidates drawn at a time: as many as there are landmarks already, within these limits.
FEWEST_DRAWN, MOST_DRAWN = 16, 1024
# A squared distance below this is rounding: nothing is left to stand for.
NO_DISTANCE = 1e-12
# No two vectors of unit norm are farther apart than this, squared and halved.
LARGEST_DISTANCE = 2.0
# Memory for similarities of a part of the samples to landmarks, in MiB.
PART_MEMORY = 64.0


class ClassDraw:
    """Landmarks of one class by D^2 sampling.

    Each landmark is drawn with a probability proportional to the weight of a sample times its
    squared distance to the nearest landmark before it, as in k-means++. Candidates are drawn many
    at a time from the distances at hand; one is taken with the probability by which its distance
    has shrunk since, which gives the same distribution as drawing one by one. So the class is gone
    through once per batch, and every similarity to a landmark is computed once.

    `chosen` lists the landmarks so far, as places in `members` in the order of choice. At the end
    they are fewer than `n_chosen` only if the kernels cannot tell the other members from them.

    Parameters
    ----------
    members : int array of shape (n_members,)
        The samples of the class.
    sample_weight : array of shape (n_members,)
        Their weights.
    n_chosen : int
        How many landmarks.
    generator : Generator
        Source of the draws.
    """

    def __init__(
        self,
        members: IntArray,
        sample_weight: FloatArray,
        n_chosen: int,
        generator: np.random.Generator,
    ) -> None:
        self.members, self.sample_weight, self.n_chosen = members, sample_weight, n_chosen
        self.generator = generator
        self._is_complete = n_chosen >= members.size
        self.chosen = np.arange(members.size if self._is_complete else 0)
        # Half the squared distance of every member to the nearest landmark.
        self.distances = np.full(members.size, LARGEST_DISTANCE)

    def is_complete(self) -> bool:
        """Whether there is nothing left to draw."""
        return self._is_complete

    def draw(self) -> IntArray:
        """Candidates, by weight times distance."""
        n_drawn = min(max(FEWEST_DRAWN, self.chosen.size), MOST_DRAWN)
        return _draw(self.sample_weight * self.distances, n_drawn, self.generator)

    def take(self, drawn: IntArray, similarities: FloatArray) -> IntArray:
        """Make landmarks of some of the candidates."""
        chances = self.generator.random(drawn.size)
        is_taken = _thin(drawn, self.distances[drawn], similarities, chances)
        new = drawn[is_taken][: self.n_chosen - self.chosen.size]
        self.chosen = np.concatenate([self.chosen, new])
        self._is_complete = self.chosen.size == self.n_chosen
        return np.asarray(new)

    def approach(self, nearest: FloatArray) -> None:
        """Account for new landmarks; without distances left to any, the draw is complete."""
        self.distances = np.minimum(self.distances, nearest)
        self.distances[self.chosen] = 0.0
        self.distances[self.distances < NO_DISTANCE] = 0.0
        self._is_complete = not self.distances.any()


def draw_alone(bank: BaseKernelBank, X: Any, draw: ClassDraw, working_memory: float) -> None:
    """Draw the landmarks of one class from samples in memory."""
    average = np.full(bank.n_kernels, 1 / bank.n_kernels)
    members = draw.members
    while not draw.is_complete():
        drawn = draw.draw()
        new = draw.take(drawn, bank.combine(average, bank._subset(X, members[drawn])))
        if draw.is_complete():
            return
        landmarks, nearest = bank._take(X, members[new]), np.empty(members.size)
        row_bytes = 8 * new.size + 4 * float(getattr(X, "nbytes", 0)) / count_samples(X)
        for block in iterate_blocks(members.size, row_bytes, working_memory):
            similarities = bank.combine(average, take_samples(X, members[block]), landmarks)
            nearest[block] = 1 - similarities.max(axis=1)
        draw.approach(nearest)


def draw_together(
    bank: BaseKernelBank, X: ShardedSamples, labels: IntArray, draws: list[ClassDraw]
) -> None:
    """Draw the landmarks of all classes at a time, so that every part is asked once per batch.

    Each class has its own source of draws, and gets the landmarks that it would get alone.
    """
    average, local = np.full(bank.n_kernels, 1 / bank.n_kernels), bank._plain()
    while True:
        drawn = {q: draw.draw() for q, draw in enumerate(draws) if not draw.is_complete()}
        if not drawn:
            return
        rows = X.gather(np.concatenate([draws[q].members[places] for q, places in drawn.items()]))
        ends = np.cumsum([places.size for places in drawn.values()])
        landmarks: dict[int, FloatArray] = {}
        for (q, places), own in zip(drawn.items(), np.split(rows, ends[:-1]), strict=True):
            new = draws[q].take(places, bank.combine(average, own))
            if not draws[q].is_complete():
                # The first of equal places: a landmark is one of the rows at hand.
                landmarks[q] = own[[int(np.flatnonzero(places == place)[0]) for place in new]]
        if not landmarks:
            return
        members = np.concatenate([draws[q].members for q in landmarks])
        found = X[members].map(
            nearest_landmarks, local, average, landmarks, per_row=(labels[members],)
        )
        nearest = join_rows(found, members.shape)
        for q, own in zip(landmarks, _split(nearest, draws, landmarks), strict=True):
            draws[q].approach(own)


def nearest_landmarks(
    block: FloatArray,
    bank: BaseKernelBank,
    average: FloatArray,
    landmarks: dict[int, FloatArray],
    labels: IntArray,
) -> FloatArray:
    """How far samples are from the nearest new landmark of their class."""
    nearest = np.empty(labels.size)
    for q in np.unique(labels):
        own, others = np.flatnonzero(labels == q), landmarks[int(q)]
        row_bytes = 8 * others.shape[0] + 32 * block.shape[1]
        for some in iterate_blocks(own.size, row_bytes, PART_MEMORY):
            rows = own[some]
            nearest[rows] = 1 - bank.combine(average, block[rows], others).max(axis=1)
    return nearest


def _split(values: FloatArray, draws: list[ClassDraw], classes: Iterable[int]) -> list[FloatArray]:
    """Values of the members of some classes, class by class."""
    ends = np.cumsum([draws[q].members.size for q in classes])
    return np.split(values, ends[:-1])


def _draw(shares: FloatArray, n_drawn: int, generator: np.random.Generator) -> IntArray:
    """Places drawn in proportion to their shares, the same one more than once perhaps."""
    steps = np.cumsum(shares)
    drawn = np.searchsorted(steps, generator.random(n_drawn) * steps[-1], side="right")
    # Rounding may lead behind the last place that has a share.
    return np.asarray(np.minimum(drawn, np.flatnonzero(shares)[-1]))


def _thin(
    drawn: IntArray, distances: FloatArray, similarities: FloatArray, chances: FloatArray
) -> BoolArray:
    """Which of the candidates are taken: one after the other, by how much their distance is left.

    `distances` are those to the landmarks before the draw, `similarities` those among candidates.
    """
    left = distances.copy()
    is_taken = np.zeros(drawn.size, dtype=bool)
    for i in range(drawn.size):
        if chances[i] * distances[i] < left[i]:
            is_taken[i] = True
            np.minimum(left, 1 - similarities[i], out=left)
            left[(left < NO_DISTANCE) | (drawn == drawn[i])] = 0.0
    return is_taken
