"""Kernel weights by graph embedding: neighbours of one class near, of other classes apart."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl_paper.baselines._operator import KernelOperator

MAX_STEPS = 200
# The search for weights ends when a step lowers the ratio by less than this part of it.
SMALL_DECREASE = 1e-6
# Edges between samples whose codes have nothing in common.
WEAKEST_EDGE = 1e-3


def neighbor_laplacians(
    codes: FloatArray, labels: IntArray, n_neighbors: int
) -> tuple[FloatArray, FloatArray]:
    """Laplacians of the graphs of similar codes within classes and between classes."""
    lengths = np.linalg.norm(codes, axis=1, keepdims=True)
    directions = codes / np.where(lengths > 0, lengths, 1.0)
    cosines = directions @ directions.T
    is_same = np.equal.outer(labels, labels)
    is_other = ~is_same
    np.fill_diagonal(is_same, False)
    return (
        _laplacian(cosines, is_same, n_neighbors),
        _laplacian(cosines, is_other, n_neighbors),
    )


def embedding_directions(
    kernel: FloatArray, within: FloatArray, between: FloatArray, n_directions: int, reg: float
) -> FloatArray:
    """Directions in which other classes are far and the own class is near.

    The leading generalised eigenvectors of ``K L_b K`` and ``K L_w K + reg tr(K L_w K) / n I``.
    """
    n_samples = kernel.shape[0]
    spread, noise = kernel @ between @ kernel, kernel @ within @ kernel
    # The second part is for classes of equal samples, which leave no noise at all.
    size = reg * np.trace(noise) + 1e-12 * np.trace(kernel @ kernel)
    noise += size / n_samples * np.eye(n_samples)
    _, directions = eigh(spread, noise, subset_by_index=(n_samples - n_directions, n_samples - 1))
    return np.asarray(directions)


def scatter_ratio(
    weights: FloatArray, images: FloatArray, within: FloatArray, between: FloatArray
) -> tuple[float, FloatArray]:
    """``b'S_w b / b'S_b b`` and its gradient."""
    flat = images.reshape(images.shape[0], -1)
    points = (weights @ flat).reshape(images.shape[1:])
    near, far = within @ points, between @ points
    small, large = 2 * float(np.vdot(points, near)), 2 * float(np.vdot(points, far))
    if large <= 0:
        return np.inf, np.zeros(images.shape[0])
    value = small / large
    gradient = flat @ (4 * (near - value * far) / large).ravel()
    return value, gradient


def lower_ratio(
    operator: KernelOperator,
    weights: FloatArray,
    directions: FloatArray,
    within: FloatArray,
    between: FloatArray,
) -> tuple[FloatArray, float]:
    """Weights that lower the ratio of the scatters, by projected gradients with backtracking."""
    images = operator.times(directions)
    value, gradient = scatter_ratio(weights, images, within, between)
    steepest = float(np.abs(gradient).max())
    if steepest == 0 or value <= 0:
        return weights, value
    # A step that moves no weight by more than the average weight.
    step = 1 / (weights.size * steepest)
    for _ in range(MAX_STEPS):
        new = np.maximum(weights - step * gradient, 0.0)
        new_value, new_gradient = np.inf, gradient
        if new.any():
            new /= new.sum()
            new_value, new_gradient = scatter_ratio(new, images, within, between)
        if new_value < value:
            decrease = (value - new_value) / value
            weights, value, gradient, step = new, new_value, new_gradient, 2 * step
            if decrease < SMALL_DECREASE:
                break
        else:
            step /= 4
    return weights, value


def _laplacian(cosines: FloatArray, is_candidate: BoolArray, n_neighbors: int) -> FloatArray:
    """The Laplacian of the graph of the most similar candidates of every sample."""
    values = np.where(is_candidate, cosines, -np.inf)
    nearest = np.argsort(-values, axis=1, kind="stable")[:, :n_neighbors]
    edges = np.zeros_like(cosines)
    # Negative similarities count as none: a negative edge would not give a Laplacian.
    sizes = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0) + WEAKEST_EDGE
    np.put_along_axis(edges, nearest, sizes, axis=1)
    edges = np.where(is_candidate, edges, 0.0)
    edges = (edges + edges.T) / 2
    return np.asarray(np.diag(edges.sum(axis=1)) - edges)
