"""The first prototypes: samples that cover the classes, above all near their borders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.model.predictor import FORBIDDEN, Encoder
from imkpl.model.problem import Problem, State

# Number of samples from which a sample is reconstructed to measure its distance to the border.
BORDER_CODE = 5


def cover_classes(
    kernel: FloatArray, members: list[IntArray], n_prototypes: int, sample_weight: FloatArray
) -> IntArray:
    """Samples that cover the classes, by greedy facility location over all classes at once.

    Maximises ``sum_i a_i max_t K(i, t)``, where t runs over the chosen samples of the class of i.
    Every class gets one sample first; the number of further ones depends on their gain.
    """
    blocks = [kernel[np.ix_(block, block)] for block in members]
    shares = [sample_weight[block] for block in members]
    covered: list[FloatArray] = []
    chosen: list[list[int]] = []
    order: list[int] = []
    for samples, block, share in zip(members, blocks, shares, strict=True):
        first = int(np.argmax(share @ block))
        chosen.append([first])
        covered.append(block[:, first].copy())
        order.append(samples[first])
    gains = [_gains(b, s, c, t) for b, s, c, t in zip(blocks, shares, covered, chosen, strict=True)]
    for _ in range(n_prototypes - len(members)):
        q = int(np.argmax([gain.max() for gain in gains]))
        new = int(np.argmax(gains[q]))
        if gains[q][new] < 0:
            break  # All samples are chosen.
        chosen[q].append(new)
        order.append(members[q][new])
        np.maximum(covered[q], blocks[q][:, new], out=covered[q])
        gains[q] = _gains(blocks[q], shares[q], covered[q], chosen[q])
    return np.array(order)


def closeness_to_border(kernel: FloatArray, labels: IntArray) -> FloatArray:
    """How close each sample is to the border between classes, as a factor of its weight.

    Each sample is reconstructed from the other samples of its own class and from those of every
    other class. Its margin is the norm explained by its own class minus the best of the others, and
    the factor is ``exp(-|margin| / mean |margin|)``. Covering with these weights puts prototypes
    where classes meet, neither far inside a class nor on samples deep in another one.
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


def cover_order(problem: Problem, kernel: FloatArray, n_prototypes: int) -> IntArray:
    """The samples on which prototypes start, the most useful first."""
    importance = problem.sample_weight * closeness_to_border(kernel, problem.labels)
    return cover_classes(kernel, problem.members, n_prototypes, importance)


def initial_state(problem: Problem, weights: FloatArray, n_prototypes: int) -> State:
    """Single-sample prototypes that cover the classes, and no codes yet."""
    kernel = problem.combine(weights)
    order = cover_order(problem, kernel, n_prototypes)
    seeds = order[np.argsort(problem.labels[order], kind="stable")]
    n_samples = problem.labels.size
    nothing = sp.csr_array((0, n_samples)), sp.csr_array((n_samples, 0))
    return add_prototypes(State(*nothing, weights, kernel), seeds)


def add_prototypes(state: State, seeds: IntArray) -> State:
    """The state with further prototypes of one sample each, not used by any code yet."""
    n_samples = state.kernel.shape[0]
    ones, places = np.ones(seeds.size), np.arange(seeds.size)
    added = sp.csr_array((ones, (places, seeds)), shape=(seeds.size, n_samples))
    unused = sp.csr_array((n_samples, seeds.size))
    return replace(
        state,
        prototypes=sp.csr_array(sp.vstack([state.prototypes, added], format="csr")),
        codes=sp.csr_array(sp.hstack([state.codes, unused], format="csr")),
    )


def _gains(
    block: FloatArray, share: FloatArray, covered: FloatArray, chosen: list[int]
) -> FloatArray:
    gain = share @ np.maximum(block - covered[:, None], 0.0)
    gain[chosen] = -1.0
    return np.asarray(gain)
