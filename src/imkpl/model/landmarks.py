"""Landmarks: a few samples of every class that stand for all of them."""

from __future__ import annotations

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.kernels.base import iterate_blocks

# The most samples among which landmarks are drawn; fewer if these have many features and must be
# gathered, but four times as many as there are landmarks.
MOST_POOLED, POOLED_VALUES = 2**17, 2**27


def choose_landmarks(
    kernels: Kernels,
    labels: IntArray,
    sample_weight: FloatArray,
    n_landmarks: int,
    *,
    seed: int,
    working_memory: float,
    kernel_weights: FloatArray | None = None,
    is_wanted: BoolArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Landmarks spread over every class, and their weights, which sum to that of the class.

    Distances are those in the combined kernel, by default in the average of all. Landmarks that are
    wanted come first, even if they are more than the class would get. Where samples are very many,
    some stand for all of them.
    """
    if kernel_weights is None:
        kernel_weights = np.full(kernels.n_kernels, 1 / kernels.n_kernels)
    classes = [np.flatnonzero(labels == q) for q in range(int(labels.max()) + 1)]
    sizes = np.array([members.size for members in classes])
    totals = np.array([sample_weight[members].sum() for members in classes])
    shares = share_landmarks(n_landmarks, sizes, totals)
    n_pooled = min(MOST_POOLED, max(4 * n_landmarks, POOLED_VALUES // max(1, kernels.n_far_values)))
    limits = share_landmarks(n_pooled, sizes, totals)
    pools = [
        find_pool(members, sample_weight[members], int(limit), is_wanted)
        for members, limit in zip(classes, limits, strict=True)
    ]
    places = pools
    if kernels.n_far_values:
        kernels = kernels.take(np.concatenate(pools))
        ends = np.cumsum([pool.size for pool in pools])
        places = np.split(np.arange(ends[-1]), ends[:-1])
    chosen, weights = [], []
    for pool, own, n_chosen, total in zip(pools, places, shares, totals, strict=True):
        stands_for = share_weight(sample_weight[pool], float(total))
        draw = ClassDraw(own, stands_for, int(n_chosen), np.random.default_rng(seed))
        if is_wanted is not None:
            draw.begin_with(np.flatnonzero(is_wanted[pool]))
        draw_landmarks(kernels, kernel_weights, draw, working_memory)
        chosen.append(pool[draw.chosen])
        weights.append(share_weight(sample_weight[chosen[-1]], float(total)))
    joined = np.concatenate(chosen)
    order = np.argsort(joined)
    return joined[order], np.concatenate(weights)[order]


def find_pool(
    members: IntArray, sample_weight: FloatArray, n_pooled: int, is_wanted: BoolArray | None
) -> IntArray:
    """Samples of a class that stand for all: half by weight, half alike, evenly spaced."""
    if n_pooled >= members.size:
        return members
    half = np.arange(0.5, n_pooled // 2) / (n_pooled // 2)
    steps = np.cumsum(sample_weight)
    by_weight = np.minimum(np.searchsorted(steps, half * steps[-1]), members.size - 1)
    wanted = np.flatnonzero([] if is_wanted is None else is_wanted[members])
    alike = (half * members.size).astype(np.intp)
    return np.asarray(members[np.unique(np.concatenate([by_weight, alike, wanted]))])


def share_landmarks(n_landmarks: int, sizes: IntArray, totals: FloatArray) -> IntArray:
    """The number of landmarks of each class: half divided evenly, the rest by weight."""
    shares = np.minimum(sizes, n_landmarks / (2 * sizes.size))
    # What a small class cannot use goes to the others.
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
    """The weight of a class shared by its landmarks: ``max(own, level)``, with the right sum."""
    # The level if the k heaviest keep their own weight, for k = 0, 1, ...: it falls while they lie
    # above it, then rises.
    heaviest = np.sort(own)[::-1]
    kept = np.concatenate(([0.0], np.cumsum(heaviest)[:-1]))
    level = np.min((total - kept) / np.arange(own.size, 0, -1))
    return np.asarray(np.maximum(own, level))


# Candidates are drawn in batches of as many as there are landmarks already, within these limits.
FEWEST_DRAWN, MOST_DRAWN = 16, 1024
# Squared distances below this are round-off.
NO_DISTANCE = 1e-12
# Half the largest squared distance of two unit vectors.
LARGEST_DISTANCE = 2.0


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


def draw_landmarks(
    kernels: Kernels, weights: FloatArray, draw: ClassDraw, working_memory: float
) -> None:
    """Draw the landmarks of one class."""
    members = draw.members
    while not draw.is_complete():
        drawn = draw.draw()
        new = draw.accept(drawn, kernels.take(members[drawn]).combine(weights))
        if draw.is_complete():
            return
        landmarks, nearest = members[new], np.empty(members.size)
        row_bytes = 8 * new.size + 4 * kernels.sample_bytes
        for block in iterate_blocks(members.size, row_bytes, working_memory):
            similarities = kernels.between(members[block], landmarks).combine(weights)
            nearest[block] = 1 - similarities.max(axis=1)
        draw.update_distances(nearest)


def _accept_in_turn(
    drawn: IntArray, distances: FloatArray, similarities: FloatArray, chances: FloatArray
) -> BoolArray:
    """Which candidates are accepted, one after the other, by how much of their distance is left."""
    left = distances.copy()
    is_accepted = np.zeros(drawn.size, dtype=bool)
    for i in range(drawn.size):
        if chances[i] * distances[i] < left[i]:
            is_accepted[i] = True
            np.minimum(left, 1 - similarities[i], out=left)
            left[(left < NO_DISTANCE) | (drawn == drawn[i])] = 0.0
    return is_accepted
