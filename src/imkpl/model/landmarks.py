"""Landmarks: a few samples of every class that stand for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.base import count_samples, iterate_blocks, take_samples
from imkpl.kernels.sharded import ShardedSamples, join_rows

# Candidates are drawn in batches of as many as there are landmarks already, within these limits.
FEWEST_DRAWN, MOST_DRAWN = 16, 1024
# Squared distances below this are round-off.
NO_DISTANCE = 1e-12
# Half the largest squared distance of two unit vectors.
LARGEST_DISTANCE = 2.0
# Memory for the similarities of a partition to landmarks, in MiB.
PART_MEMORY = 64.0


def choose_landmarks(
    bank: BaseKernelBank,
    X: Any,
    labels: IntArray,
    sample_weight: FloatArray,
    n_landmarks: int,
    *,
    seed: int,
    working_memory: float,
    is_wanted: BoolArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Landmarks spread over every class, and their weights, which sum to that of the class.

    Those that are wanted come first, even if they are more than the class would get.
    """
    classes = [np.flatnonzero(labels == q) for q in range(int(labels.max()) + 1)]
    sizes = np.array([members.size for members in classes])
    totals = np.array([sample_weight[members].sum() for members in classes])
    shares = share_landmarks(n_landmarks, sizes, totals)
    draws = [
        ClassDraw(members, sample_weight[members], int(n_chosen), np.random.default_rng(seed))
        for members, n_chosen in zip(classes, shares, strict=True)
    ]
    if is_wanted is not None:
        for draw in draws:
            draw.begin_with(np.flatnonzero(is_wanted[draw.members]))
    if isinstance(X, ShardedSamples):
        draw_from_partitions(bank, X, labels, draws)
    else:
        for draw in draws:
            draw_in_memory(bank, X, draw, working_memory)
    joined = np.concatenate([draw.members[draw.chosen] for draw in draws])
    weights = [share_weight(d.sample_weight[d.chosen], float(d.sample_weight.sum())) for d in draws]
    order = np.argsort(joined)
    return joined[order], np.concatenate(weights)[order]


def share_landmarks(n_landmarks: int, sizes: IntArray, totals: FloatArray) -> IntArray:
    """The number of landmarks of each class.

    Half of them are divided evenly, the rest in proportion to the weights of the classes. What a
    small class cannot use goes to the others.
    """
    shares = np.minimum(sizes, n_landmarks / (2 * sizes.size))
    for _ in sizes:
        has_room = shares < sizes
        rest = n_landmarks - shares.sum()
        if rest <= 0 or not has_room.any():
            break
        shares[has_room] += rest * totals[has_room] / totals[has_room].sum()
        shares = np.minimum(shares, sizes)
    # Round-off must not lose a landmark.
    return np.maximum(1, np.floor(shares + 1e-6)).astype(np.intp)


def share_weight(own: FloatArray, total: float) -> FloatArray:
    """The weight of a class, divided evenly among its landmarks, but none gets less than its own.

    That is ``max(own, level)`` with the level that gives the right sum: a sample that stands for a
    thousand equal ones keeps their weight.
    """
    # The level if the k heaviest keep their own weight, for k = 0, 1, ...: it falls while they lie
    # above it, then rises.
    heaviest = np.sort(own)[::-1]
    kept = np.concatenate(([0.0], np.cumsum(heaviest)[:-1]))
    level = np.min((total - kept) / np.arange(own.size, 0, -1))
    return np.asarray(np.maximum(own, level))


class ClassDraw:
    """Landmarks of one class by D^2 sampling, as in k-means++.

    A sample is drawn with a probability proportional to its weight times its squared distance to
    the nearest landmark so far. Candidates are drawn in batches from the known distances and
    accepted with the probability by which their distances have shrunk since, which gives the same
    distribution as drawing one by one. So there is one pass over the class per batch, and every
    similarity to a landmark is computed once.

    `chosen` lists the landmarks so far, as indices into `members` in the order of choice. At the
    end they are fewer than `n_chosen` only if the kernels cannot tell the other members apart.
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
        self.chosen: IntArray = np.arange(members.size if self._is_complete else 0)
        # Half the squared distance of every member to the nearest landmark.
        self.distances = np.full(members.size, LARGEST_DISTANCE)

    def is_complete(self) -> bool:
        """Whether no landmark is left to draw."""
        return self._is_complete

    def begin_with(self, places: IntArray) -> None:
        """Choose these first, unless all are chosen."""
        if not self._is_complete:
            self.chosen, self.distances[places] = places, 0.0
            self._is_complete = self.n_chosen <= places.size

    def draw(self) -> IntArray:
        """Draw candidates with replacement, in proportion to weight times distance."""
        n_drawn = min(max(FEWEST_DRAWN, self.chosen.size), MOST_DRAWN)
        shares = self.sample_weight * self.distances
        steps = np.cumsum(shares)
        drawn = np.searchsorted(steps, self.generator.random(n_drawn) * steps[-1], side="right")
        # Round-off may lead beyond the last member with a share.
        return np.asarray(np.minimum(drawn, np.flatnonzero(shares)[-1]))

    def accept(self, drawn: IntArray, similarities: FloatArray) -> IntArray:
        """Accept some of the candidates, given their similarities, as landmarks."""
        chances = self.generator.random(drawn.size)
        is_accepted = _accept_in_turn(drawn, self.distances[drawn], similarities, chances)
        new = drawn[is_accepted][: self.n_chosen - self.chosen.size]
        self.chosen = np.concatenate([self.chosen, new])
        self._is_complete = self.chosen.size == self.n_chosen
        return np.asarray(new)

    def update_distances(self, nearest: FloatArray) -> None:
        """Update the distances; the draw is complete if all of them are zero."""
        self.distances = np.minimum(self.distances, nearest)
        self.distances[self.chosen] = 0.0
        self.distances[self.distances < NO_DISTANCE] = 0.0
        self._is_complete = not self.distances.any()


def draw_in_memory(bank: BaseKernelBank, X: Any, draw: ClassDraw, working_memory: float) -> None:
    """Draw the landmarks of one class from samples in memory."""
    average = np.full(bank.n_kernels, 1 / bank.n_kernels)
    members = draw.members
    while not draw.is_complete():
        drawn = draw.draw()
        new = draw.accept(drawn, bank.combine(average, bank._subset(X, members[drawn])))
        if draw.is_complete():
            return
        landmarks, nearest = bank._take(X, members[new]), np.empty(members.size)
        row_bytes = 8 * new.size + 4 * float(getattr(X, "nbytes", 0)) / count_samples(X)
        for block in iterate_blocks(members.size, row_bytes, working_memory):
            similarities = bank.combine(average, take_samples(X, members[block]), landmarks)
            nearest[block] = 1 - similarities.max(axis=1)
        draw.update_distances(nearest)


def draw_from_partitions(
    bank: BaseKernelBank, X: ShardedSamples, labels: IntArray, draws: list[ClassDraw]
) -> None:
    """Draw the landmarks of all classes together, with one pass over the partitions per batch.

    Each class has its own generator, and gets the landmarks that it would get alone.
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
            new = draws[q].accept(places, bank.combine(average, own))
            if not draws[q].is_complete():
                # A place may be drawn more than once; take its first row.
                landmarks[q] = own[[int(np.flatnonzero(places == place)[0]) for place in new]]
        if not landmarks:
            return
        members = np.concatenate([draws[q].members for q in landmarks])
        found = X[members].map(
            nearest_landmarks, local, average, landmarks, per_row=(labels[members],)
        )
        nearest = join_rows(found, members.shape)
        ends = np.cumsum([draws[q].members.size for q in landmarks])
        for q, own in zip(landmarks, np.split(nearest, ends[:-1]), strict=True):
            draws[q].update_distances(own)


def nearest_landmarks(
    block: FloatArray,
    bank: BaseKernelBank,
    average: FloatArray,
    landmarks: dict[int, FloatArray],
    labels: IntArray,
) -> FloatArray:
    """Half the squared distance of samples to the nearest new landmark of their class."""
    nearest = np.empty(labels.size)
    for q in np.unique(labels):
        own, others = np.flatnonzero(labels == q), landmarks[int(q)]
        row_bytes = 8 * others.shape[0] + 32 * block.shape[1]
        for some in iterate_blocks(own.size, row_bytes, PART_MEMORY):
            rows = own[some]
            nearest[rows] = 1 - bank.combine(average, block[rows], others).max(axis=1)
    return nearest


def _accept_in_turn(
    drawn: IntArray, distances: FloatArray, similarities: FloatArray, chances: FloatArray
) -> BoolArray:
    """Which candidates are accepted, one after the other, by how much of their distance is left.

    `distances` are those to the landmarks before the draw, `similarities` those of the candidates.
    """
    left = distances.copy()
    is_accepted = np.zeros(drawn.size, dtype=bool)
    for i in range(drawn.size):
        if chances[i] * distances[i] < left[i]:
            is_accepted[i] = True
            np.minimum(left, 1 - similarities[i], out=left)
            left[(left < NO_DISTANCE) | (drawn == drawn[i])] = 0.0
    return is_accepted
