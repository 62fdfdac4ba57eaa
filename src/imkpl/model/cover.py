"""The first prototypes: samples that cover the classes."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.calibration import CalibrationSamples, leave_out
from imkpl.model.problem import Problem, State, check_varying
from imkpl.model.votes import find_sharpness


def cover_classes(problem: Problem, kernel: FloatArray, n_prototypes: int) -> IntArray:
    """Samples greedily chosen for ``max sum_i a_i max_t K(i, t)``, t being of the class of i."""
    members, is_eligible = problem.members, problem.is_eligible
    blocks = [kernel[np.ix_(block, block)] for block in members]
    shares = [problem.sample_weight[block] for block in members]
    order: list[int] = []
    covered: list[FloatArray] = []
    closed: list[BoolArray] = []  # chosen already, or not eligible
    for samples, block, share in zip(members, blocks, shares, strict=True):
        is_closed = np.zeros(samples.size, bool) if is_eligible is None else ~is_eligible[samples]
        # A fold may lack all eligible samples of a class; any of it then tells its size.
        is_closed &= not is_closed.all()
        first = int(np.argmax(np.where(is_closed, -np.inf, share @ block)))
        is_closed[first] = True
        order.append(samples[first])
        covered.append(block[:, first].copy())
        closed.append(is_closed)
    gains: list[FloatArray] = [np.empty(0)] * len(members)
    changed = list(range(len(members)))
    for _ in range(n_prototypes - len(order)):
        for q in changed:
            gain = shares[q] @ np.maximum(blocks[q] - covered[q][:, None], 0.0)
            gains[q] = np.where(closed[q], -1.0, gain)
        q = int(np.argmax([gain.max() for gain in gains]))
        new = int(np.argmax(gains[q]))
        if gains[q][new] < 0:
            break  # All samples are chosen.
        closed[q][new] = True
        order.append(members[q][new])
        np.maximum(covered[q], blocks[q][:, new], out=covered[q])
        changed = [q]
    return np.array(order)


# A kernel of unit diagonal whose smallest value exceeds this is constant but for rounding.
CONSTANT = 1 - 1e-12


def cover(
    problem: Problem, weights: FloatArray, n_prototypes: int, kernel: FloatArray | None = None
) -> State:
    """The state before the first round, without codes and contrasts."""
    if kernel is None:
        kernel = problem.combine(weights)
        check_varying(bool(kernel.min() < CONSTANT))
    seeds = cover_classes(problem, kernel, n_prototypes)
    seeds = seeds[np.argsort(problem.labels[seeds], kind="stable")]  # sorted by class
    n_samples, sizes = problem.labels.size, 1 / np.sqrt(np.diagonal(kernel)[seeds])
    prototypes = sp.csr_array((sizes, seeds, np.arange(seeds.size + 1)), (seeds.size, n_samples))
    if problem.kernels.default_sparsity is None and problem.sparsity >= n_samples:
        # Documents say little one by one, as no two are alike.
        prototypes = spread_prototypes(problem, kernel, seeds)
    state = State(
        prototypes=prototypes,
        codes=sp.csr_array((n_samples, seeds.size)),
        weights=weights,
        kernel=kernel,
        log_strengths=np.zeros(seeds.size),
        contrasts=sp.csr_array(prototypes.shape),
        sharpness=0.0,
        levels=problem.first_levels(problem.labels[seeds]),
    )
    if not problem.settings.has_votes:
        return state
    # The sharpness at which the first prototypes vote best.
    left_out = leave_out(prototypes, kernel, problem.persons)
    classes = problem.prototype_classes(state)
    samples = CalibrationSamples(left_out, left_out, problem.labels, problem.sample_weight)
    kept = samples.usable(classes)
    sharpness = find_sharpness(kept.similarities, classes, kept.labels, kept.sample_weight)
    return replace(state, sharpness=sharpness)


def spread_prototypes(problem: Problem, kernel: FloatArray, seeds: IntArray) -> sp.csr_array:
    """Means of the samples that are nearest to each seed in its class, for documents."""
    nearest = np.empty(problem.labels.size, dtype=np.intp)
    for samples in problem.members:
        own = np.flatnonzero(np.isin(seeds, samples))
        nearest[samples] = own[np.argmax(kernel[np.ix_(samples, seeds[own])], axis=1)]
    # A seed is nearest to itself, whatever its norm.
    nearest[seeds] = np.arange(seeds.size)
    shape = (seeds.size, problem.labels.size)
    weight = problem.sample_weight
    if problem.is_eligible is not None:
        weight = weight * problem.is_eligible
    mixes = sp.csr_array((weight, (nearest, np.arange(shape[1]))), shape=shape)
    mixes.eliminate_zeros()
    norms = np.sqrt(mixes.multiply(mixes @ kernel).sum(axis=1))
    return sp.csr_array(mixes / norms[:, np.newaxis])
