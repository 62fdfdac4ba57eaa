"""The first prototypes: samples that cover the classes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.model.class_means import spread_prototypes
from imkpl.model.problem import Problem, State
from imkpl.model.wishes import SampleWishes


def cover_classes(
    kernel: FloatArray,
    members: list[IntArray],
    n_prototypes: int,
    sample_weight: FloatArray,
    wishes: SampleWishes | None = None,
) -> IntArray:
    """Samples that cover the classes, by greedy facility location over all classes at once.

    Maximises ``sum_i a_i max_t K(i, t)``, where t runs over the chosen samples of the class of i.
    Every class gets one sample first; the number of further ones depends on their gain. Pinned
    samples come before all others, and a class that has some gets no other first sample.
    """
    blocks = [kernel[np.ix_(block, block)] for block in members]
    shares = [sample_weight[block] for block in members]
    covered: list[FloatArray] = []
    chosen: list[list[int]] = []
    closed: list[IntArray] = []
    for samples, block, share in zip(members, blocks, shares, strict=True):
        pinned, own = [], np.empty(0, dtype=np.intp)
        if wishes is not None:
            pinned = np.flatnonzero(wishes.is_pinned[samples]).tolist()
            own = np.flatnonzero(~wishes.may_be_centre[samples])
            # A fold may lack all samples at which a class may start; any of it then tells its size.
            own = own if own.size < samples.size else own[:0]
        sums = share @ block
        sums[own] = -np.inf
        closed.append(own)
        chosen.append(pinned or [int(np.argmax(sums))])
        covered.append(block[:, chosen[-1]].max(axis=1))
    order = [samples[first] for samples, (first, *_) in zip(members, chosen, strict=True)]
    order += [
        sample
        for samples, (_, *more) in zip(members, chosen, strict=True)
        for sample in samples[more]
    ]
    found = zip(blocks, shares, covered, chosen, closed, strict=True)
    gains = [_gains(*parts) for parts in found]
    for _ in range(n_prototypes - len(order)):
        q = int(np.argmax([gain.max() for gain in gains]))
        new = int(np.argmax(gains[q]))
        if gains[q][new] < 0:
            break  # All samples are chosen.
        chosen[q].append(new)
        order.append(members[q][new])
        np.maximum(covered[q], blocks[q][:, new], out=covered[q])
        gains[q] = _gains(blocks[q], shares[q], covered[q], chosen[q], closed[q])
    return np.array(order)


def cover_order(problem: Problem, kernel: FloatArray, n_prototypes: int) -> IntArray:
    """The samples on which prototypes start, the most useful first."""
    return cover_classes(
        kernel, problem.members, n_prototypes, problem.sample_weight, problem.sample_wishes
    )


def initial_state(problem: Problem, weights: FloatArray, n_prototypes: int) -> State:
    """Single-sample prototypes that cover the classes, and no codes yet."""
    kernel = problem.combine(weights)
    return place_prototypes(problem, weights, kernel, cover_order(problem, kernel, n_prototypes))


def place_prototypes(
    problem: Problem, weights: FloatArray, kernel: FloatArray, samples: IntArray
) -> State:
    """One prototype on each of the samples, or around it, sorted by class, and no codes yet."""
    seeds, wishes = (
        samples[np.argsort(problem.labels[samples], kind="stable")],
        problem.sample_wishes,
    )
    n_samples, sizes = problem.labels.size, 1 / np.sqrt(np.diagonal(kernel)[seeds])
    prototypes = sp.csr_array((sizes, seeds, np.arange(seeds.size + 1)), (seeds.size, n_samples))
    if problem.bank._default_sparsity is None and problem.sparsity >= n_samples:
        prototypes = spread_prototypes(problem, kernel, seeds)
    return State(
        prototypes=prototypes,
        codes=sp.csr_array((n_samples, seeds.size)),
        weights=weights,
        kernel=kernel,
        log_strengths=np.zeros(seeds.size),
        centres=None if wishes is None else wishes.find_centres(seeds),
    )


def _gains(
    block: FloatArray,
    share: FloatArray,
    covered: FloatArray,
    chosen: list[int],
    closed: IntArray,
) -> FloatArray:
    gain = share @ np.maximum(block - covered[:, None], 0.0)
    gain[chosen] = -1.0
    gain[closed] = -1.0
    return np.asarray(gain)
