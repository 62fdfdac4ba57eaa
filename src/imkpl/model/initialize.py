"""Where the search starts: weights from the separation loss alone, prototypes by covering."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.model.encode import FORBIDDEN, Encoder
from imkpl.model.neighbors import Neighborhoods
from imkpl.model.problem import Problem
from imkpl.model.separation import (
    LinearSeparation,
    MarginSeparation,
    compute_margins,
    local_separation_slopes,
    margin_pair_weights,
    mean_margins,
)
from imkpl.model.state import State
from imkpl.solvers import minimize_ridge_on_simplex, pursue, ridge_for_support

# The pursuit chooses among so many kernels at most, those that separate best on their own: its
# matrix is (candidates x candidates).
MAX_CANDIDATES = 2000
# Ridge beside the sum of squared hinges over all samples, in units of variance-scaled kernels: it
# spreads the weight over more kernels where samples are few.
MARGIN_RIDGE = 120.0
# Without a limit, as many kernels are kept as reach what all of them reach but for these shares of
# it: the first with many samples per kernel, the second with many kernels per sample, where much
# of the gain is chance.
SHORTFALLS = (0.005, 0.03)
# Rounds of the majorised hinge while kernels are being chosen.
HINGE_ROUNDS = 3
# Samples of a class from which another sample is rebuilt to see how close to a border it lies.
BORDER_CODE = 5


def start_average(problem: Problem, neighborhoods: Neighborhoods) -> tuple[Problem, FloatArray]:
    """The paper's start: equal weights, and the literal J_ls for the weight steps to come.

    Parameters
    ----------
    problem : Problem
        With kernels of unit diagonal.
    neighborhoods : Neighborhoods
        Pairs under the average kernel.

    Returns
    -------
    problem : Problem
        With the separation loss in place.
    weights : array of shape (n_kernels,)
        ``1 / n_kernels`` each.
    """
    slopes = local_separation_slopes(problem.bank, problem.X, neighborhoods, problem.sample_weight)
    n_kernels = problem.bank.n_kernels
    with_loss = replace(problem, separation_loss=LinearSeparation(slopes))
    return with_loss, np.full(n_kernels, 1 / n_kernels)


def start_ridge(
    problem: Problem, neighborhoods: Neighborhoods, max_kernels: int | None
) -> tuple[Problem, FloatArray]:
    """Kernels by their own mean margin: the smallest ridge that keeps as many as are allowed.

    Parameters
    ----------
    problem : Problem
        With variance-scaled kernels.
    neighborhoods : Neighborhoods
        Pairs under the average kernel.
    max_kernels : int or None
        At most so many kernels; None keeps those of positive mean margin, half of them at most.

    Returns
    -------
    problem : Problem
        With the separation loss in place and the chosen kernels only.
    weights : array of shape (n_kernels,)
        Their weights.
    """
    total = problem.sample_weight.sum()
    slopes = -total * mean_margins(problem.bank, problem.X, neighborhoods, problem.sample_weight)
    n_useful = int((slopes < 0).sum())
    limit = max(1, n_useful // 2) if max_kernels is None else max_kernels
    strength = _strength(problem)
    ridge = ridge_for_support(strength * slopes, min(limit, slopes.size))
    weights = minimize_ridge_on_simplex(strength * slopes, ridge)
    loss = LinearSeparation(slopes, ridge)
    return _keep_positive(replace(problem, separation_loss=loss), weights)


def start_margin(
    problem: Problem, neighborhoods: Neighborhoods, max_kernels: int | None
) -> tuple[Problem, FloatArray]:
    """Kernels by non-negative quadratic pursuit on the squared hinge of the margins.

    With the scale of the weights free, ``sum_p a_p max(0, 1 - margins_p . v)^2 + ridge ||v||^2``
    is a non-negative quadratic problem whose cardinality limit is the number of kernels; on the
    simplex the same loss has the target margin ``1 / sum(v)``.

    Parameters
    ----------
    problem : Problem
        With variance-scaled kernels.
    neighborhoods : Neighborhoods
        Pairs under the average kernel.
    max_kernels : int or None
        At most so many kernels; None keeps as many as are needed for most of the gain.

    Returns
    -------
    problem : Problem
        With the separation loss in place and the chosen kernels only.
    weights : array of shape (n_kernels,)
        Their weights.
    """
    bank, X = problem.bank, problem.X
    alone = mean_margins(bank, X, neighborhoods, problem.sample_weight)
    candidates = np.sort(np.argsort(-alone, kind="stable")[:MAX_CANDIDATES])
    pair_weights = margin_pair_weights(neighborhoods, problem.sample_weight)
    margins = compute_margins(bank.select(candidates), X, neighborhoods, np.float32)
    shortfall = acceptable_shortfall(bank.n_kernels, problem.sample_weight.sum())
    free = choose_by_margins(margins, pair_weights, max_kernels, shortfall)
    if not free.any():
        # No kernel has a positive margin: nothing separates, and the best one is as good as any.
        free[np.argmax(alone[candidates])] = 1.0
    live = np.flatnonzero(free)
    chosen = candidates[live]
    target = float(1 / free.sum())
    loss = MarginSeparation(
        compute_margins(bank.select(chosen), X, neighborhoods),
        pair_weights,
        target,
        _strength(problem) * MARGIN_RIDGE / target**2,
    )
    return replace(problem.select(chosen), separation_loss=loss), free[live] * target


def acceptable_shortfall(n_kernels: int, n_samples: float) -> float:
    """Which share of the gain of all kernels may be given up for the sake of few.

    Parameters
    ----------
    n_kernels : int
        How many kernels there are to choose from.
    n_samples : float
        How many samples, or the sum of their weights.

    Returns
    -------
    float
        Between the two `SHORTFALLS`.
    """
    least, most = SHORTFALLS
    return float(least + (most - least) * n_kernels / (n_kernels + n_samples))


def choose_by_margins(
    margins: FloatArray,
    pair_weights: FloatArray,
    max_kernels: int | None,
    shortfall: float,
) -> FloatArray:
    """Few non-negative weights with which most margins exceed one.

    Every round replaces the squared hinge by the quadratic above it that touches it at the
    present weights; its matrix is the same in all rounds.

    Parameters
    ----------
    margins : array of shape (n_pairs, n_kernels)
        The margin of every pair in every kernel.
    pair_weights : array of shape (n_pairs,)
        How much each pair counts.
    max_kernels : int or None
        At most so many positive weights. None for the smallest number that reaches the decrease
        of the loss that all kernels together reach, but for the shortfall.
    shortfall : float
        Which share of that decrease may be given up when there is no limit.

    Returns
    -------
    array of shape (n_kernels,)
        The weights, of free scale.
    """
    n_kernels = margins.shape[1]
    scaled = margins * np.sqrt(pair_weights, dtype=margins.dtype)[:, None]
    H = (scaled.T @ scaled).astype(np.float64)
    H[np.diag_indices_from(H)] += MARGIN_RIDGE
    limit, weights = max_kernels, np.zeros(n_kernels)
    for _ in range(HINGE_ROUNDS):
        aims = np.maximum(1.0, margins @ weights.astype(margins.dtype))
        pull = ((pair_weights * aims).astype(margins.dtype) @ margins).astype(np.float64)
        if limit is None:
            limit = _sufficient_size(H, -pull, 1 - shortfall)
        indices, values, _ = pursue(H, -pull, min(limit, n_kernels))
        weights = np.zeros(n_kernels)
        weights[indices] = values
    return weights


def _sufficient_size(H: FloatArray, c: FloatArray, share: float) -> int:
    """The smallest sparsity whose pursuit reaches this share of the decrease without a limit."""
    indices, _, everything = pursue(H, c, c.size)
    low, high = 1, max(1, indices.size)
    while low < high:
        middle = (low + high) // 2
        if pursue(H, c, middle)[2] <= share * everything:
            high = middle
        else:
            low = middle + 1
    return high


def cover_classes(
    kernel: FloatArray, members: list[IntArray], n_prototypes: int, sample_weight: FloatArray
) -> IntArray:
    """Samples that cover the classes: greedy facility location over all classes at once.

    Maximises ``sum_i a_i max_t K(i, t)`` over chosen t of the class of i. How many samples a class
    gets is decided by what they add. Every class gets one first.

    Parameters
    ----------
    kernel : array of shape (n_samples, n_samples)
        The combined kernel.
    members : list of int arrays
        The samples of every class.
    n_prototypes : int
        How many samples to choose, at least one per class.
    sample_weight : array of shape (n_samples,)
        The weights a_i.

    Returns
    -------
    array of shape (n_prototypes,)
        The chosen samples, ordered by class and then by choice.
    """
    blocks = [kernel[np.ix_(block, block)] for block in members]
    shares = [sample_weight[block] for block in members]
    covered: list[FloatArray] = []
    chosen: list[list[int]] = []
    for block, share in zip(blocks, shares, strict=True):
        first = int(np.argmax(share @ block))
        chosen.append([first])
        covered.append(block[:, first].copy())
    gains = [_gains(b, s, c, t) for b, s, c, t in zip(blocks, shares, covered, chosen, strict=True)]
    for _ in range(n_prototypes - len(members)):
        q = int(np.argmax([gain.max() for gain in gains]))
        new = int(np.argmax(gains[q]))
        if gains[q][new] < 0:
            break  # Every sample is chosen.
        chosen[q].append(new)
        np.maximum(covered[q], blocks[q][:, new], out=covered[q])
        gains[q] = _gains(blocks[q], shares[q], covered[q], chosen[q])
    return np.concatenate([block[t] for block, t in zip(members, chosen, strict=True)])


def closeness_to_border(kernel: FloatArray, labels: IntArray) -> FloatArray:
    """How close each sample is to the border between classes, as a factor on its weight.

    Each sample is rebuilt from the other samples of its own class and from those of every other
    class. Its margin is the norm explained by its own class minus the best of the others, and the
    factor is ``exp(-|margin| / mean |margin|)``. Covering with these weights spends prototypes
    where classes meet, neither on samples far inside their class nor on those deep in another.

    Parameters
    ----------
    kernel : array of shape (n_samples, n_samples)
        The combined kernel.
    labels : int array of shape (n_samples,)
        Class of each sample, counted from 0.

    Returns
    -------
    array of shape (n_samples,)
        Positive factors.
    """
    everyone = np.arange(labels.size)
    indicator = np.eye(int(labels.max()) + 1)[labels]
    without_self = kernel.copy()
    np.fill_diagonal(without_self, FORBIDDEN)
    scores = Encoder(kernel, indicator, BORDER_CODE).score_classes(without_self)
    own = scores[everyone, labels]
    scores[everyone, labels] = -np.inf
    margins = np.abs(own - scores.max(axis=1))
    typical = margins.mean()
    return np.exp(-margins / typical) if typical > 0 else np.ones(labels.size)


def initial_state(problem: Problem, weights: FloatArray, n_prototypes: int) -> State:
    """Single-sample prototypes that cover the classes, and no codes yet.

    Parameters
    ----------
    problem : Problem
        What is fixed.
    weights : array of shape (n_kernels,)
        Kernel weights to start from.
    n_prototypes : int
        How many prototypes.

    Returns
    -------
    State
        The start of the loop.
    """
    kernel = problem.combine(weights)
    importance = problem.sample_weight * closeness_to_border(kernel, problem.labels)
    seeds = cover_classes(kernel, problem.members, n_prototypes, importance)
    n_samples = problem.labels.size
    ones, places = np.ones(seeds.size), np.arange(seeds.size)
    prototypes = sp.csr_array((ones, (places, seeds)), shape=(seeds.size, n_samples))
    return State(prototypes, sp.csr_array((n_samples, seeds.size)), weights, kernel)


def _gains(
    block: FloatArray, share: FloatArray, covered: FloatArray, chosen: list[int]
) -> FloatArray:
    gain = share @ np.maximum(block - covered[:, None], 0.0)
    gain[chosen] = -1.0
    return np.asarray(gain)


def _strength(problem: Problem) -> float:
    """The weight of the separation loss; 1 where it is 0, so that a ridge is left."""
    return problem.separation if problem.separation > 0 else 1.0


def _keep_positive(problem: Problem, weights: FloatArray) -> tuple[Problem, FloatArray]:
    live = np.flatnonzero(weights)
    return problem.select(live), weights[live]
