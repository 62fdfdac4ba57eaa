"""Landmarks: a few samples of every class that stand for all of them."""

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
    """Landmarks of every class, wanted ones first, and their weights, which sum to that of it."""
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
        drawn = draw_landmarks(
            kernels,
            kernel_weights,
            own,
            stands_for,
            int(n_chosen),
            np.random.default_rng(seed),
            working_memory,
            None if is_wanted is None else np.flatnonzero(is_wanted[pool]),
        )
        chosen.append(pool[drawn])
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


def draw_landmarks(
    kernels: Kernels,
    kernel_weights: FloatArray,
    members: IntArray,
    sample_weight: FloatArray,
    n_chosen: int,
    generator: np.random.Generator,
    working_memory: float,
    first: IntArray | None = None,
) -> IntArray:
    """Landmarks of a class by D^2 sampling, as in k-means++, as indices into its members."""
    if n_chosen >= members.size:
        return np.arange(members.size)
    chosen = np.empty(0, np.intp) if first is None else first
    # Half the squared distance of every member to the nearest landmark.
    distances = np.full(members.size, LARGEST_DISTANCE)
    distances[chosen] = 0.0
    while chosen.size < n_chosen and distances.any():
        n_drawn = min(max(FEWEST_DRAWN, chosen.size), MOST_DRAWN)
        shares = sample_weight * distances
        steps = np.cumsum(shares)
        drawn = np.searchsorted(steps, generator.random(n_drawn) * steps[-1], side="right")
        # Round-off may lead beyond the last member with a share.
        drawn = np.minimum(drawn, np.flatnonzero(shares)[-1])
        similarities = kernels.take(members[drawn]).combine(kernel_weights)
        chances = generator.random(n_drawn)
        # With the chance by which distances have shrunk since: as if drawn one by one.
        is_accepted = _accept_in_turn(drawn, distances[drawn], similarities, chances)
        new = drawn[is_accepted][: n_chosen - chosen.size]
        chosen = np.concatenate([chosen, new])
        if chosen.size == n_chosen:
            break
        row_bytes = 8 * new.size + 4 * kernels.sample_bytes
        for block in iterate_blocks(members.size, row_bytes, working_memory):
            nearest = kernels.between(members[block], members[new]).combine(kernel_weights)
            distances[block] = np.minimum(distances[block], 1 - nearest.max(axis=1))
        distances[chosen] = 0.0
        distances[distances < NO_DISTANCE] = 0.0
    return chosen


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
