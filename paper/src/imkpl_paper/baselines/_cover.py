"""Prototypes that cover their class and no other: prize-collecting set cover, two solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from scipy.optimize import linprog

from imkpl._typing import BoolArray, FloatArray, IntArray

# The linear programme is rounded at most so many times anew.
MAX_DRAWS = 50


def cover_cost(covers: BoolArray, labels: IntArray, chosen: BoolArray, price: float) -> float:
    """The objective: samples left uncovered, wrong coverings, and the price of every prototype."""
    counts = covers.astype(np.float64) @ chosen
    own = counts[np.arange(labels.size), labels]
    return float(np.sum(own == 0) + counts.sum() - own.sum() + price * chosen.sum())


def cover_greedily(
    covers: BoolArray, labels: IntArray, n_classes: int, price: float
) -> tuple[BoolArray, list[float]]:
    """Add the prototype that lowers the objective most, until none does."""
    near = covers.astype(np.float64)
    is_member = np.equal.outer(labels, np.arange(n_classes))
    # Own samples newly covered minus samples of other classes covered; the second never changes.
    scores = near.T @ (2.0 * is_member - 1.0)
    chosen = np.zeros_like(scores, dtype=bool)
    is_covered = np.zeros(labels.size, dtype=bool)
    gains: list[float] = []
    while True:
        candidate, owner = np.unravel_index(np.argmax(scores), scores.shape)
        gain = float(scores[candidate, owner]) - price
        if gain <= 0:
            return chosen, gains
        chosen[candidate, owner] = True
        gains.append(gain)
        new = covers[:, candidate] & is_member[:, owner] & ~is_covered
        is_covered |= new
        scores[:, owner] -= near[new].sum(axis=0)


def cover_by_rounding(
    covers: BoolArray, labels: IntArray, n_classes: int, price: float, random: RandomState
) -> BoolArray:
    """Solve the linear relaxation class by class and round it at random."""
    chosen = np.zeros((covers.shape[1], n_classes), dtype=bool)
    for owner in range(n_classes):
        is_member = labels == owner
        costs = price + covers[~is_member].sum(axis=0)
        chosen[:, owner] = _cover_class(covers[is_member], costs, random)
    return chosen


def relax_class(covers: BoolArray, costs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The linear relaxation for one class."""
    n_members = covers.shape[0]
    shares = np.zeros(costs.size)
    # Leaving members uncovered is no dearer than a candidate that costs as much as it covers.
    useful = np.flatnonzero(covers.sum(axis=0) > costs)
    if useful.size == 0:
        return shares, np.ones(n_members), float(n_members)
    # sum_j covers_ij a_j + xi_i >= 1
    own = sp.csr_array(covers[:, useful].astype(np.float64))
    result = linprog(
        np.concatenate([costs[useful], np.ones(n_members)]),
        A_ub=-sp.csr_array(sp.hstack([own, sp.eye_array(n_members)])),
        b_ub=-np.ones(n_members),
        bounds=(0, 1),
        method="highs",
    )
    solution = np.clip(result.x, 0, 1)
    shares[useful] = solution[: useful.size]
    return shares, solution[useful.size :], float(result.fun)


def _cover_class(covers: BoolArray, costs: FloatArray, random: RandomState) -> BoolArray:
    """One class: the first rounding within 2 log n of the relaxation, or the best of many."""
    shares, missed, bound = relax_class(covers, costs)
    factor = max(1.0, 2 * np.log(covers.shape[0]))
    best, best_cost = np.zeros(costs.size, dtype=bool), float(covers.shape[0])
    for draw in range(MAX_DRAWS):
        rounded = _round(covers, shares, missed, int(np.ceil(factor)), random)
        cost = float(costs[rounded].sum() + np.sum(~covers[:, rounded].any(axis=1)))
        if draw == 0 or cost < best_cost:
            best, best_cost = rounded, cost
        if best_cost <= factor * bound:
            break
    return best


def _round(
    covers: BoolArray, shares: FloatArray, missed: FloatArray, n_draws: int, random: RandomState
) -> BoolArray:
    """Draw until every member is covered or given up, a limited number of times."""
    rounded = np.zeros(shares.size, dtype=bool)
    is_given_up = np.zeros(missed.size, dtype=bool)
    for _ in range(n_draws):
        rounded |= random.random_sample(shares.size) < shares
        is_given_up |= random.random_sample(missed.size) < missed
        if np.all(is_given_up | covers[:, rounded].any(axis=1)):
            break
    return rounded
