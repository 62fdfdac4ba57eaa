"""Kernel GLVQ: prototypes that are nearer to their class than those of other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from scipy.special import expit

from imkpl._typing import FloatArray, IntArray
from imkpl_paper.baselines import _akglvq_loops as loops

# No step moves a prototype by more than this part of its distance to the sample.
LARGEST_STEP = 0.5
# Learning has settled when the cost changes by less than `tol` over so many epochs.
PATIENCE = 5


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Prototypes in feature space with what it takes to move them in O(n_samples).

    Parameters
    ----------
    mixes : array of shape (n_prototypes, n_samples)
        The coefficients psi; rows sum to one.
    owners : int array of shape (n_prototypes,)
        Their classes.
    products : array of shape (n_prototypes, n_samples)
        ``K psi``.
    norms : array of shape (n_prototypes,)
        ``psi' K psi``.
    """

    mixes: FloatArray
    owners: IntArray
    products: FloatArray
    norms: FloatArray

    @classmethod
    def from_mixes(cls, mixes: FloatArray, owners: IntArray, kernel: FloatArray) -> Prototypes:
        """Prototypes with given coefficients."""
        products = mixes @ kernel
        return cls(mixes, owners, products, np.einsum("js,js->j", products, mixes))

    def margins(self, kernel: FloatArray, labels: IntArray) -> FloatArray:
        """The relative differences mu of the distances to the nearest own and other prototype."""
        distances = np.diagonal(kernel) - 2 * self.products + self.norms[:, np.newaxis]
        distances = np.maximum(distances, 0.0)
        is_own = np.equal.outer(self.owners, labels)
        own = np.where(is_own, distances, np.inf).min(axis=0)
        other = np.where(is_own, np.inf, distances).min(axis=0)
        total = own + other
        return np.asarray((own - other) / np.where(total > 0, total, 1.0))


def choose_slope(margins: FloatArray) -> float:
    """A slope of the sigmoid at which the margins of the start are neither flat nor saturated."""
    size = float(np.abs(margins).mean())
    return float(np.clip(2 / max(size, 1e-12), 1.0, 50.0))


def squashed_cost(margins: FloatArray, slope: float) -> float:
    """``sum_i (4 / slope) sigmoid(slope mu_i)``."""
    return float(4 / slope * expit(slope * margins).sum())


def run_epoch(
    prototypes: Prototypes,
    kernel: FloatArray,
    labels: IntArray,
    order: IntArray,
    rate: float,
    slope: float,
) -> Prototypes:
    """Move the two nearest prototypes of every sample, one sample after the other."""
    mixes, products = prototypes.mixes.copy(), prototypes.products.copy()
    norms = prototypes.norms.copy()
    loops._run_epoch_inplace(
        kernel,
        labels,
        prototypes.owners,
        mixes,
        products,
        norms,
        order,
        rate,
        slope,
        LARGEST_STEP,
    )
    return Prototypes(mixes, prototypes.owners, products, norms)


def keep_largest_coefficients(mixes: FloatArray, sparsity: int | None) -> FloatArray:
    """The largest coefficients of every prototype, scaled to sum to one."""
    if sparsity is None or sparsity >= mixes.shape[1]:
        return mixes
    kept = np.argsort(-np.abs(mixes), axis=1, kind="stable")[:, :sparsity]
    values = np.take_along_axis(mixes, kept, axis=1)
    totals = values.sum(axis=1, keepdims=True)
    # Positive and negative coefficients that cancel leave no sum to scale: then all are shifted.
    cancels = totals < 0.1 * np.abs(values).sum(axis=1, keepdims=True)
    values = np.where(
        cancels, values + (1 - totals) / sparsity, values / np.where(cancels, 1.0, totals)
    )
    sparse = np.zeros_like(mixes)
    np.put_along_axis(sparse, kept, values, axis=1)
    return sparse


def learn_prototypes(
    prototypes: Prototypes,
    kernel: FloatArray,
    labels: IntArray,
    *,
    learning_rate: float,
    sparsity: int | None,
    max_iter: int,
    tol: float,
    random: RandomState,
) -> tuple[Prototypes, list[float]]:
    """Epochs with all coefficients, then epochs that end with the largest alone."""
    slope = choose_slope(prototypes.margins(kernel, labels))
    costs: list[float] = []
    best = prototypes
    for limit in [None] if sparsity is None else [None, sparsity]:
        first, best_cost = len(costs), np.inf
        last = (max_iter + 1) // 2 if limit != sparsity else max_iter
        while len(costs) < last and not _is_settled(costs[first:], tol):
            rate = learning_rate / (1 + 0.05 * len(costs))
            order = random.permutation(labels.size)
            prototypes = run_epoch(prototypes, kernel, labels, order, rate, slope)
            if limit is not None:
                prototypes = _sparse(prototypes, kernel, limit)
            costs.append(squashed_cost(prototypes.margins(kernel, labels), slope))
            # Cutting makes the cost jump from epoch to epoch; dense prototypes settle.
            if limit is None or costs[-1] < best_cost:
                best, best_cost = prototypes, costs[-1]
    # With one epoch there was no second half. Products and norms are computed anew, so that no
    # rounding of many small steps is left.
    return _sparse(best, kernel, sparsity), costs


def _sparse(prototypes: Prototypes, kernel: FloatArray, sparsity: int | None) -> Prototypes:
    mixes = keep_largest_coefficients(prototypes.mixes, sparsity)
    return Prototypes.from_mixes(mixes, prototypes.owners, kernel)


def _is_settled(costs: list[float], tol: float) -> bool:
    if len(costs) <= PATIENCE:
        return False
    recent = costs[-PATIENCE - 1 :]
    return bool(max(recent) - min(recent) <= tol * abs(recent[-1]))
