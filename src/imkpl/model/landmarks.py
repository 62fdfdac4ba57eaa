"""Landmarks: a few samples of every class that stand for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.sharded import ShardedSamples
from imkpl.model.landmark_draws import ClassDraw, draw_alone, draw_together


def share_landmarks(n_landmarks: int, sizes: IntArray, totals: FloatArray) -> IntArray:
    """How many landmarks each class gets.

    Half of them are shared alike, the rest in proportion to the weight of the classes. What a small
    class cannot take goes to the others.

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
    """Samples that are spread over every class, and carry its weight."""
    classes = [np.flatnonzero(labels == q) for q in range(int(labels.max()) + 1)]
    sizes = np.array([members.size for members in classes])
    totals = np.array([sample_weight[members].sum() for members in classes])
    shares = share_landmarks(n_landmarks, sizes, totals)
    draws = [
        ClassDraw(members, sample_weight[members], int(n_chosen), np.random.default_rng(seed))
        for members, n_chosen in zip(classes, shares, strict=True)
    ]
    if isinstance(X, ShardedSamples):
        draw_together(bank, X, labels, draws)
    else:
        for draw in draws:
            draw_alone(bank, X, draw, working_memory)
    joined = np.concatenate([draw.members[draw.chosen] for draw in draws])
    weights = [share_weight(d.sample_weight[d.chosen], float(d.sample_weight.sum())) for d in draws]
    order = np.argsort(joined)
    return joined[order], np.concatenate(weights)[order]


def share_weight(own: FloatArray, total: float) -> FloatArray:
    """The weight of a class, shared alike among its landmarks, but none gets less than its own.

    ``max(own, level)``, with the level at which the sum is right: a sample that stands for a
    thousand equal ones keeps their weight.

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
