"""Kernel k-means within a class: where prototypes start."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from imkpl._typing import FloatArray, IntArray

MAX_ROUNDS = 50


def cluster_means(kernel: FloatArray, n_clusters: int, random: RandomState) -> FloatArray:
    """The means of clusters of samples in feature space."""
    seeds = draw_spread(kernel, n_clusters, random)
    owners = np.argmax(kernel[:, seeds] - 0.5 * np.diagonal(kernel)[seeds], axis=1)
    owners[seeds] = np.arange(seeds.size)
    for _ in range(MAX_ROUNDS):
        means = _means(owners)
        # ||phi_i - mean_j||^2 up to what does not depend on j.
        distances = np.einsum("js,st,jt->j", means, kernel, means) - 2 * kernel @ means.T
        new = np.argmin(distances, axis=1)
        if np.array_equal(new, owners):
            break
        # Clusters that lost all their samples are gone: those left are numbered anew.
        owners = np.unique(new, return_inverse=True)[1]
    return _means(owners)


def draw_spread(kernel: FloatArray, n_drawn: int, random: RandomState) -> IntArray:
    """Samples far from each other, drawn as in k-means++."""
    diagonal = np.diagonal(kernel)
    drawn = [int(random.randint(kernel.shape[0]))]
    nearest = np.full(kernel.shape[0], np.inf)
    while len(drawn) < n_drawn:
        last = drawn[-1]
        nearest = np.minimum(nearest, diagonal + diagonal[last] - 2 * kernel[:, last])
        # Distances of equal samples are rounding errors.
        nearest[nearest < 1e-10] = 0.0
        if nearest.max() == 0:
            break
        drawn.append(int(random.choice(nearest.size, p=nearest / nearest.sum())))
    return np.array(drawn)


def _means(owners: IntArray) -> FloatArray:
    members = np.equal.outer(np.arange(owners.max() + 1), owners).astype(np.float64)
    return np.asarray(members / members.sum(axis=1, keepdims=True))
