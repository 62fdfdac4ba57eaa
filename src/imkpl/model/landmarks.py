"""Landmarks: a few samples of every class that stand for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.blocks import count_samples, iterate_blocks, take_samples

# Candidates drawn at a time: as many as there are landmarks already, within these limits.
FEWEST_DRAWN, MOST_DRAWN = 16, 1024
# A squared distance below this is rounding: nothing is left to stand for.
NO_DISTANCE = 1e-12
# No two vectors of unit norm are farther apart than this, squared and halved.
LARGEST_DISTANCE = 2.0


def share_landmarks(n_landmarks: int, sizes: IntArray, totals: FloatArray) -> IntArray:
    """How many landmarks each class gets.

    Half of them are shared alike, the rest in proportion to the weight of the classes. What a small
    class cannot take goes to the others.

    Parameters
    ----------
    n_landmarks : int
        How many landmarks there are to share, two per class or more.
    sizes : int array of shape (n_classes,)
        How many samples each class has.
    totals : array of shape (n_classes,)
        The weight of each class.

    Returns
    -------
    int array of shape (n_classes,)
        Numbers of landmarks, at least one and no more than the class has samples. Rounded down, so
        that the order of the classes does not matter; their sum is `n_landmarks` at most.

    Examples
    --------
    >>> share_landmarks(20, np.array([3, 100, 100]), np.array([3.0, 100.0, 300.0]))
    array([ 3,  5, 11])
    """
    shares = np.minimum(sizes, n_landmarks / (2 * sizes.size))
    for _ in sizes:
        has_room = shares < sizes
        rest = n_landmarks - shares.sum()
        if rest <= 0 or not has_room.any():
            break
        shares[has_room] += rest * totals[has_room] / totals[has_room].sum()
        shares = np.minimum(shares, sizes)
    # A sum that falls short of a whole number by rounding is that number.
    return np.maximum(1, np.floor(shares + 1e-6)).astype(np.intp)


def choose_landmarks(
    bank: BaseKernelBank,
    X: Any,
    labels: IntArray,
    sample_weight: FloatArray,
    n_landmarks: int,
    *,
    seed: int,
    working_memory: float,
) -> tuple[IntArray, FloatArray]:
    """Samples that are spread over every class, and carry its weight.

    Parameters
    ----------
    bank : BaseKernelBank
        Kernels of unit diagonal, with all parameters known; their average says what is near.
    X : samples
        All samples.
    labels : int array of shape (n_samples,)
        Their classes, counted from 0.
    sample_weight : array of shape (n_samples,)
        Their weights, positive.
    n_landmarks : int
        At most so many are chosen, two per class or more.
    seed : int
        Seed of the draws. Every class starts from it anew, so that the order of classes does not
        matter.
    working_memory : float
        Memory for blocks of similarities, in MiB. Results do not depend on it.

    Returns
    -------
    indices : int array of shape (n_chosen,)
        The landmarks, ascending.
    weights : array of shape (n_chosen,)
        The weight of every class, shared among its landmarks by `share_weight`.
    """
    classes = [np.flatnonzero(labels == q) for q in range(int(labels.max()) + 1)]
    sizes = np.array([members.size for members in classes])
    totals = np.array([sample_weight[members].sum() for members in classes])
    shares = share_landmarks(n_landmarks, sizes, totals)
    indices, weights = [], []
    for members, n_chosen in zip(classes, shares, strict=True):
        own = sample_weight[members]
        generator = np.random.default_rng(seed)
        chosen = spread_over_class(
            bank, X, members, own, int(n_chosen), generator, working_memory=working_memory
        )
        indices.append(members[chosen])
        weights.append(share_weight(own[chosen], float(own.sum())))
    joined = np.concatenate(indices)
    order = np.argsort(joined)
    return joined[order], np.concatenate(weights)[order]


def share_weight(own: FloatArray, total: float) -> FloatArray:
    """The weight of a class, shared alike among its landmarks, but none gets less than its own.

    ``max(own, level)``, with the level at which the sum is right: a sample that stands for a
    thousand equal ones keeps their weight.

    Parameters
    ----------
    own : array of shape (n_landmarks,)
        The weights of the landmarks as samples.
    total : float
        The weight of all samples of the class.

    Returns
    -------
    array of shape (n_landmarks,)
        Weights that sum to the total.

    Examples
    --------
    >>> share_weight(np.array([1.0, 5.0, 1.0]), 11.0)
    array([3., 5., 3.])
    """
    # The level if the k heaviest keep their own weight, for k = 0, 1, ...: it falls as long as they
    # lie above it, and rises after that.
    heaviest = np.sort(own)[::-1]
    kept = np.concatenate(([0.0], np.cumsum(heaviest)[:-1]))
    level = np.min((total - kept) / np.arange(own.size, 0, -1))
    return np.asarray(np.maximum(own, level))


def spread_over_class(
    bank: BaseKernelBank,
    X: Any,
    members: IntArray,
    sample_weight: FloatArray,
    n_chosen: int,
    generator: np.random.Generator,
    *,
    working_memory: float,
) -> IntArray:
    """Landmarks of one class by D^2 sampling.

    Each landmark is drawn with a probability proportional to the weight of a sample times its
    squared distance to the nearest landmark before it, as in k-means++. Candidates are drawn many
    at a time from the distances at hand; one is taken with the probability by which its distance
    has shrunk since, which gives the same distribution as drawing one by one. So the class is gone
    through once per batch, and every similarity to a landmark is computed once.

    Parameters
    ----------
    bank : BaseKernelBank
        Kernels of unit diagonal.
    X : samples
        All samples.
    members : int array of shape (n_members,)
        Those of the class.
    sample_weight : array of shape (n_members,)
        Their weights.
    n_chosen : int
        How many landmarks.
    generator : Generator
        Source of the draws.
    working_memory : float
        Memory for blocks of similarities, in MiB.

    Returns
    -------
    int array
        Places of the landmarks in `members`, in the order of choice. Fewer than `n_chosen` only if
        the kernels cannot tell the other members from them.
    """
    if n_chosen >= members.size:
        return np.arange(members.size)
    average = np.full(bank.n_kernels, 1 / bank.n_kernels)
    # Half the squared distance of every member to the nearest landmark.
    distances = np.full(members.size, LARGEST_DISTANCE)
    chosen = np.empty(0, dtype=np.intp)
    while True:
        n_drawn = min(max(FEWEST_DRAWN, chosen.size), MOST_DRAWN)
        drawn = _draw(sample_weight * distances, n_drawn, generator)
        similarities = bank.combine(average, bank.subset(X, members[drawn]))
        is_taken = _thin(drawn, distances[drawn], similarities, generator.random(n_drawn))
        new = drawn[is_taken][: n_chosen - chosen.size]
        chosen = np.concatenate([chosen, new])
        if chosen.size == n_chosen:
            return chosen
        landmarks = bank.take(X, members[new])
        row_bytes = 8 * new.size + 4 * float(getattr(X, "nbytes", 0)) / count_samples(X)
        for block in iterate_blocks(members.size, row_bytes, working_memory):
            similarities = bank.combine(average, take_samples(X, members[block]), landmarks)
            nearest = 1 - similarities.max(axis=1)
            distances[block] = np.minimum(distances[block], nearest)
        distances[chosen] = 0.0
        distances[distances < NO_DISTANCE] = 0.0
        if not distances.any():
            return chosen


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
