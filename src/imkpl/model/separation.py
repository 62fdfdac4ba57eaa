"""Separation losses: kernel weights should separate the classes locally and stay sparse.

There are three choices for J_ls. "lp" is the paper's, linear in the weights and without a
regulariser, so that one kernel gets all the weight. "margin" is a squared hinge on the margins,
with a ridge; "large_margin" is a hinge on them, and not squared, as support vector machines have
it. A margin compares, for a sample i and a neighbour t of another class, the mean similarity of i
to its same-class neighbours with its similarity to t:

``margin_(i,t),l = mean_s K_l(x_i, x_s) - K_l(x_i, x_t)``
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.model.neighbors import Neighborhoods
from imkpl.solvers.simplex import descend_on_simplex, minimize_ridge_on_simplex


@dataclass(frozen=True, eq=False)
class LinearSeparation:
    """A loss that is linear in the weights: the paper's J_ls, or none, with a ridge."""

    slopes: FloatArray  # the loss of each kernel alone
    ridge: float = 0.0  # with 0 the weight step is the paper's linear programme

    def value(self, weights: FloatArray) -> float:
        """``slopes . weights``."""
        return float(self.slopes @ weights)

    def minimize(self, costs: FloatArray, strength: float, weights: FloatArray) -> FloatArray:
        """The exact minimiser: a vertex without a ridge, else ``max(theta - e, 0) / ridge``."""
        return minimize_ridge_on_simplex(costs + strength * self.slopes, self.ridge)

    def select(self, indices: IntArray) -> LinearSeparation:
        """The same loss for some of the kernels."""
        return replace(self, slopes=self.slopes[indices])


@dataclass(frozen=True, eq=False)
class MarginSeparation:
    """A squared hinge on the margins: ``sum_p a_p / 2 * max(0, 1 - margins_p . w / target)^2``."""

    margins: FloatArray  # (n_pairs, n_kernels)
    pair_weights: FloatArray
    target: float  # the desired margin of the combined kernel
    ridge: float

    @cached_property
    def _gram(self) -> FloatArray:
        """``sum_p a_p margins_p margins_p' / target^2``."""
        return margin_gram(self.margins, self.pair_weights) / self.target**2

    def value(self, weights: FloatArray) -> float:
        """The weighted sum of squared hinges."""
        missing = np.maximum(0.0, 1.0 - apply_margins(self.margins, weights) / self.target)
        return float(0.5 * self.pair_weights @ missing**2)

    def minimize(self, costs: FloatArray, strength: float, weights: FloatArray) -> FloatArray:
        """The minimiser of a quadratic that lies above the objective and touches it at `weights`.

        ``max(0, 1 - z)^2 <= (max(1, z_now) - z)^2`` with equality at z_now, so lowering the
        quadratic lowers the objective. Its matrix is the same in every step.
        """
        aims = np.maximum(1.0, apply_margins(self.margins, weights) / self.target)
        pull = apply_margins(self.margins.T, self.pair_weights * aims) / self.target
        gram, ridge = self._gram, self.ridge

        def value_and_gradient(w: FloatArray) -> tuple[float, FloatArray]:
            slope = strength * (gram @ w - pull) + ridge * w + costs
            return float(0.5 * w @ (slope + costs - strength * pull)), slope

        return np.asarray(descend_on_simplex(value_and_gradient, weights).x)

    def select(self, indices: IntArray) -> MarginSeparation:
        """The same loss for some of the kernels."""
        return replace(self, margins=self.margins[:, indices])


@dataclass(frozen=True, eq=False)
class LargeMarginSeparation:
    """The least ``s / C + sum_p a_p max(0, 1 - s margins_p . w)`` over all scales s of the weights.

    Times C it is the linear programme ``min 1'b + C sum_p a_p xi_p`` with ``margins b >= 1 - xi``,
    for ``b = s w``. Our reading of what the paper must have solved, not its text.
    """

    margins: FloatArray  # (n_pairs, n_kernels), in squared distances: twice the similarities
    pair_weights: FloatArray  # sum to one
    price: float  # C
    best: FloatArray  # the weights of the solution, which sum to one
    ridge: float = 0.0

    def value(self, weights: FloatArray) -> float:
        """The loss at the best scale, one at which a pair reaches its margin, or 0."""
        reached = apply_margins(self.margins, weights)
        order = np.argsort(-reached, kind="stable")
        pulls = (self.pair_weights * reached)[order]
        slopes = 1 / self.price - (pulls.sum() - np.concatenate(([0.0], np.cumsum(pulls))))
        place = int(np.argmax(slopes >= 0))
        if place == 0:
            return 1.0
        scale = 1 / reached[order[place - 1]]
        missing = np.maximum(0.0, 1.0 - scale * reached)
        return float(scale / self.price + self.pair_weights @ missing)

    def minimize(self, costs: FloatArray, strength: float, weights: FloatArray) -> FloatArray:
        """The solution of the programme, which leaves the other terms to prototypes and codes."""
        return self.best

    def select(self, indices: IntArray) -> LargeMarginSeparation:
        """The same loss for some of the kernels, those with a weight among them."""
        return replace(self, margins=self.margins[:, indices], best=self.best[indices])


# A loss of the kernel weights, beside ``ridge / 2 * ||weights||^2``. It has a `value`, and
# `minimize` is a step that lowers ``costs . w + strength * value(w) + ridge / 2 * ||w||^2``, or the
# last term but one alone; a step that would raise the objective is not taken.
Separation = LinearSeparation | MarginSeparation | LargeMarginSeparation


def ridge_term(loss: Separation, weights: FloatArray) -> float:
    """``J_reg = ridge / 2 * ||weights||^2``."""
    return float(0.5 * loss.ridge * (weights @ weights))


def local_separation_slopes(
    kernels: Kernels, neighborhoods: Neighborhoods, sample_weight: FloatArray
) -> FloatArray:
    """The paper's E_ls (Eq. 11): J_ls (Eq. 6) of every kernel alone, for unit diagonals."""
    # Squared distances to same-class neighbours plus similarities to other-class neighbours.
    same, other = neighborhoods.same, neighborhoods.other
    to_same, to_other = sample_weight[same.rows], sample_weight[other.rows]
    values = np.concatenate([-2 * to_same, to_other])
    rows = np.concatenate([same.rows, other.rows])
    columns = np.concatenate([same.columns, other.columns])
    return np.asarray(2 * to_same.sum() + kernels.contract_pairs(values, rows, columns))


def margin_pair_weights(neighborhoods: Neighborhoods, sample_weight: FloatArray) -> FloatArray:
    """The weight of each margin: a sample's weight, divided among its other-class neighbours."""
    rows = neighborhoods.other.rows
    counts = np.bincount(rows, minlength=sample_weight.size)
    # Samples with neighbourhoods stand for those without.
    share = sample_weight[counts > 0].sum() / sample_weight.sum()
    return np.asarray(sample_weight[rows] / counts[rows] / share)


# Number of pairs whose margins are copied at a time, which fit into the cache.
PAIR_BLOCK = 2**13


def compute_margins(
    kernels: Kernels, neighborhoods: Neighborhoods, dtype: DTypeLike = np.float64
) -> FloatArray:
    """The margin of every (sample, other-class neighbour) pair in every kernel."""
    same, other = neighborhoods.same, neighborhoods.other
    near = kernels.pairs(same.rows, same.columns, dtype)
    near *= same.parts[:, None].astype(near.dtype)
    listed, starts = np.unique(same.rows, return_index=True)
    own = np.add.reduceat(near, starts, axis=0)
    owners = np.searchsorted(listed, other.rows)
    margins = kernels.pairs(other.rows, other.columns, dtype)
    for start in range(0, len(margins), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        np.subtract(own[owners[block]], margins[block], out=margins[block])
    return margins


def apply_margins(margins: FloatArray, factors: FloatArray) -> FloatArray:
    """``margins @ factors`` in the precision of the margins, without copying them."""
    product = margins @ factors.astype(margins.dtype, copy=False)
    return np.asarray(product, dtype=np.float64)


def margin_gram(margins: FloatArray, pair_weights: FloatArray) -> FloatArray:
    """``sum_p a_p margins_p margins_p'``, a block of pairs at a time."""
    roots = np.sqrt(pair_weights, dtype=margins.dtype)
    gram = np.zeros((margins.shape[1], margins.shape[1]))
    for start in range(0, len(margins), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        scaled = margins[block] * roots[block, None]
        gram += scaled.T @ scaled
    return gram


def weigh_margins(
    kernels: Kernels,
    neighborhoods: Neighborhoods,
    coefficients: FloatArray,
    order: IntArray | None = None,
) -> FloatArray:
    """``coefficients @ margins`` of all kernels, with their samples in an order if one is given."""
    same, other = neighborhoods.same, neighborhoods.other
    totals = np.bincount(other.rows, coefficients, minlength=same.n_samples)
    values = np.concatenate([totals[same.rows] * same.parts, -coefficients])
    rows = np.concatenate([same.rows, other.rows])
    columns = np.concatenate([same.columns, other.columns])
    if order is not None:
        rows, columns = order[rows], order[columns]
    return kernels.contract_pairs(values, rows, columns)


def mean_margins(
    kernels: Kernels,
    neighborhoods: Neighborhoods,
    sample_weight: FloatArray,
    order: IntArray | None = None,
) -> FloatArray:
    """The weighted mean margin of every kernel."""
    weights = margin_pair_weights(neighborhoods, sample_weight)
    return weigh_margins(kernels, neighborhoods, weights / weights.sum(), order)
