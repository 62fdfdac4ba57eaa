"""Kernels between training samples: combined, weighted on the simplex, and used for k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState

from imkpl.kernels import BaseKernelBank
from imkpl.solvers import minimize_on_simplex
from imkpl_paper._imkpl import FloatArray, IntArray

MAX_ROUNDS = 50
MAX_WEIGHT_STEPS = 200
# Relative duality gap at which the kernel weights are taken as optimal.
WEIGHT_TOL = 1e-2


@dataclass(frozen=True, eq=False)
class KernelOperator:
    """Base kernels between training samples as a linear operator and its adjoint.

    The methods see the kernels through `combine` and `inner`, and DKMLD through `times` as well.
    Nothing of size n_kernels x n_samples x n_samples is built.
    """

    bank: BaseKernelBank  # kernels of unit diagonal
    samples: Any
    n_samples: int
    indices: IntArray  # places of these kernels among the n_all that the method started with
    n_all: int

    @classmethod
    def over(cls, bank: BaseKernelBank, samples: Any, n_samples: int) -> KernelOperator:
        """The operator of all kernels of a bank."""
        return cls(bank, samples, n_samples, np.arange(bank.n_kernels), bank.n_kernels)

    @property
    def n_kernels(self) -> int:
        """Number of remaining kernels."""
        return int(self.indices.size)

    def uniform(self) -> FloatArray:
        """Equal weights that sum to one."""
        return np.full(self.n_kernels, 1.0 / self.n_kernels)

    def combine(self, weights: FloatArray) -> FloatArray:
        """``sum_l weights_l K_l``."""
        return np.asarray(self.bank.combine(weights, self.samples), dtype=np.float64)

    def inner(self, M: FloatArray) -> FloatArray:
        """``<K_l, M>`` for every l."""
        return self.bank.contract(M, self.samples)

    def times(self, V: FloatArray) -> FloatArray:
        """``K_l V`` for every l; V has few columns."""
        products = np.empty((self.n_kernels, *V.shape))
        for index in range(self.n_kernels):
            products[index] = self.bank.evaluate(index, self.samples) @ V
        return products

    def select(self, places: IntArray) -> KernelOperator:
        """The operator of some of the kernels."""
        return replace(self, bank=self.bank.select(places), indices=self.indices[places])

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights of the remaining kernels as weights of all."""
        full = np.zeros(self.n_all)
        full[self.indices] = weights
        return full

    def keep_largest(
        self, weights: FloatArray, max_kernels: int | None
    ) -> tuple[KernelOperator, FloatArray]:
        """Drop all but the largest weights if there are more than `max_kernels`."""
        if max_kernels is None or np.count_nonzero(weights) <= max_kernels:
            return self, weights
        kept = np.sort(np.argsort(-weights, kind="stable")[:max_kernels])
        return self.select(kept), weights[kept] / weights[kept].sum()


@dataclass(frozen=True, eq=False)
class Weighting:
    """The remaining kernels, their weights, and the ridge that keeps more than one of them."""

    operator: KernelOperator
    weights: FloatArray  # sum to one
    ridge: float  # relative to the spread of the errors of single kernels
    # The factor on the squared weights, `ridge * n_kernels * std_l <K_l, errors>` with the errors
    # of the first weight step: fixed from then on, so that there is one objective.
    rho: float | None = None

    @property
    def cost(self) -> float:
        """``rho ||b||^2``."""
        return (self.rho or 0.0) * float(self.weights @ self.weights)


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
    operator = weighting.operator
    costs = operator.inner(errors)
    constant = gradient_matrix(np.zeros((operator.n_samples, operator.n_samples)))
    slopes_at_zero = operator.inner(constant) if constant.any() else np.zeros_like(costs)
    rho = weighting.rho
    if rho is None:
        rho = float(weighting.ridge * operator.n_kernels * costs.std())

    def value_and_gradient(b: FloatArray) -> tuple[float, FloatArray]:
        slopes = operator.inner(gradient_matrix(operator.combine(b)))
        value = b @ (costs + (slopes_at_zero + slopes) / 2 + rho * b)
        return float(value), costs + slopes + 2 * rho * b

    weights = minimize_on_simplex(
        value_and_gradient, weighting.weights, max_iter=MAX_WEIGHT_STEPS, tol=WEIGHT_TOL
    ).x
    smaller, weights = operator.keep_largest(weights, max_kernels)
    if smaller is operator:
        return replace(weighting, weights=weights, rho=rho)
    return learn_weights(Weighting(smaller, weights, weighting.ridge), errors, gradient_matrix)


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
