"""Kernels between training samples: combined, weighted on the simplex, and used for k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState

from imkpl.kernels import Kernels
from imkpl.solvers import minimize_on_simplex
from imkpl_paper._imkpl import FloatArray, IntArray

MAX_ROUNDS = 50
MAX_WEIGHT_STEPS = 200
# Relative duality gap at which the kernel weights are taken as optimal.
WEIGHT_TOL = 1e-2


@dataclass(frozen=True, eq=False)
class Weighting:
    """The kernels that remain and their weights, with a ridge that keeps more than one of them."""

    kernels: Kernels  # of unit diagonal, between the training samples
    weights: FloatArray  # sum to one
    indices: IntArray  # places of these kernels among all that a method starts with
    n_all: int
    ridge: float = 0.0  # relative to the spread of the errors of single kernels
    # The factor on the squared weights, `ridge * n_kernels * std_l <K_l, errors>` with the errors
    # of the first weight step: fixed from then on, so that there is one objective.
    rho: float | None = None

    @classmethod
    def equal(cls, kernels: Kernels, ridge: float = 0.0) -> Weighting:
        """All kernels with the same weight."""
        n_kernels = kernels.n_kernels
        return cls(kernels, uniform(n_kernels), np.arange(n_kernels), n_kernels, ridge)

    @property
    def cost(self) -> float:
        """``rho ||b||^2``."""
        return (self.rho or 0.0) * float(self.weights @ self.weights)

    @property
    def all_weights(self) -> FloatArray:
        """The weights of all kernels, zero for those that do not remain."""
        full = np.zeros(self.n_all)
        full[self.indices] = self.weights
        return full

    def combine(self) -> FloatArray:
        """``sum_l weights_l K_l``."""
        return combine(self.kernels, self.weights)

    def keep_largest(self, max_kernels: int | None) -> Weighting:
        """Drop all but the largest weights if there are more than `max_kernels`."""
        if max_kernels is None or np.count_nonzero(self.weights) <= max_kernels:
            return self
        kept = np.sort(np.argsort(-self.weights, kind="stable")[:max_kernels])
        weights = self.weights[kept] / self.weights[kept].sum()
        kernels, indices = self.kernels.select(kept), self.indices[kept]
        return replace(self, kernels=kernels, weights=weights, indices=indices, rho=None)


def uniform(n_kernels: int) -> FloatArray:
    """Equal weights that sum to one."""
    return np.full(n_kernels, 1.0 / n_kernels)


def combine(kernels: Kernels, weights: FloatArray) -> FloatArray:
    """``sum_l weights_l K_l`` in double precision."""
    return np.asarray(kernels.combine(weights), dtype=np.float64)


def default_ridge(ridge: float | None, n_kernels: int) -> float:
    """The given ridge, or one that leaves a part of the kernels at zero."""
    if ridge is not None:
        return ridge
    return 0.3 if n_kernels <= 1000 else 0.03


def learn_weights(
    weighting: Weighting,
    errors: FloatArray,
    gradient_matrix: Callable[[FloatArray], FloatArray],
    max_kernels: int | None = None,
) -> Weighting:
    """Weights that minimise ``<K, errors> + Q(K) + rho ||b||^2`` with ``K = sum_l b_l K_l``.

    Q is a convex quadratic with ``Q(0) = 0`` up to a constant, given by its gradient in K. Without
    the ridge, the smoothest kernel alone would minimise the errors. If too many weights are
    positive, the kernels with the largest are kept for good and the problem is solved once more
    for them, with a ridge of their own.
    """
    kernels = weighting.kernels
    costs = kernels.contract(errors)
    constant = gradient_matrix(np.zeros(kernels.shape))
    slopes_at_zero = kernels.contract(constant) if constant.any() else np.zeros_like(costs)
    rho = weighting.rho
    if rho is None:
        rho = float(weighting.ridge * kernels.n_kernels * costs.std())

    def value_and_gradient(b: FloatArray) -> tuple[float, FloatArray]:
        slopes = kernels.contract(gradient_matrix(combine(kernels, b)))
        value = b @ (costs + (slopes_at_zero + slopes) / 2 + rho * b)
        return float(value), costs + slopes + 2 * rho * b

    weights = minimize_on_simplex(
        value_and_gradient, weighting.weights, max_iter=MAX_WEIGHT_STEPS, tol=WEIGHT_TOL
    ).x
    learned = replace(weighting, weights=weights, rho=rho)
    smaller = learned.keep_largest(max_kernels)
    return learned if smaller is learned else learn_weights(smaller, errors, gradient_matrix)


def cluster_means(kernel: FloatArray, n_clusters: int, random: RandomState) -> FloatArray:
    """Kernel k-means: the means of clusters in feature space, as mixes of samples."""
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
        # Clusters that lost all their samples disappear; the others are renumbered.
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
