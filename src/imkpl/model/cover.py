"""The first prototypes: samples that cover the classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.calibration import CalibrationSamples, leave_one_out_similarities
from imkpl.model.class_means import spread_prototypes
from imkpl.model.problem import Problem, State, check_varying
from imkpl.model.votes import find_sharpness


def cover_classes(
    kernel: FloatArray,
    members: list[IntArray],
    n_prototypes: int,
    sample_weight: FloatArray,
    is_eligible: BoolArray | None = None,
) -> IntArray:
    """Samples that cover the classes, by greedy facility location over all classes at once.

    Maximises ``sum_i a_i max_t K(i, t)``, where t runs over the chosen samples of the class of i.
    Every class gets one sample first; the number of further ones depends on their gain.
    """
    blocks = [kernel[np.ix_(block, block)] for block in members]
    shares = [sample_weight[block] for block in members]
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
    gains = [_gains(*parts) for parts in zip(blocks, shares, covered, closed, strict=True)]
    for _ in range(n_prototypes - len(order)):
        q = int(np.argmax([gain.max() for gain in gains]))
        new = int(np.argmax(gains[q]))
        if gains[q][new] < 0:
            break  # All samples are chosen.
        closed[q][new] = True
        order.append(members[q][new])
        np.maximum(covered[q], blocks[q][:, new], out=covered[q])
        gains[q] = _gains(blocks[q], shares[q], covered[q], closed[q])
    return np.array(order)


def cover_order(problem: Problem, kernel: FloatArray, n_prototypes: int) -> IntArray:
    """The samples on which prototypes start, the most useful first."""
    return cover_classes(
        kernel, problem.members, n_prototypes, problem.sample_weight, problem.is_eligible
    )


# A kernel of unit diagonal whose smallest value exceeds this is constant but for rounding.
CONSTANT = 1 - 1e-12


def cover(problem: Problem, weights: FloatArray, n_prototypes: int) -> tuple[Problem, State]:
    """The state before the first round, and the problem with the sharpness of its votes."""
    kernel = problem.combine(weights)
    order = cover_order(problem, kernel, n_prototypes)
    state = place_prototypes(problem, weights, kernel, order)
    check_varying(bool(kernel.min() < CONSTANT))
    return (sharpen(problem, state) if problem.settings.decision == "votes" else problem), state


def sharpen(problem: Problem, state: State) -> Problem:
    """The problem with the sharpness at which the first prototypes vote best."""
    similarities = (state.prototypes @ state.kernel).T
    squares = np.diagonal(state.kernel)
    left_out = leave_one_out_similarities(
        similarities, state.prototypes, squares, problem.multiplicity
    )
    classes = problem.prototype_classes(state)
    samples = CalibrationSamples(similarities, left_out, problem.labels, problem.sample_weight)
    kept = samples.usable(classes)
    sharpness = find_sharpness(kept.left_out, classes, kept.labels, kept.sample_weight)
    return replace(problem, sharpness=sharpness)


def place_prototypes(
    problem: Problem, weights: FloatArray, kernel: FloatArray, samples: IntArray
) -> State:
    """One prototype on each of the samples, or around it, sorted by class, and no codes yet."""
    seeds = samples[np.argsort(problem.labels[samples], kind="stable")]
    n_samples, sizes = problem.labels.size, 1 / np.sqrt(np.diagonal(kernel)[seeds])
    prototypes = sp.csr_array((sizes, seeds, np.arange(seeds.size + 1)), (seeds.size, n_samples))
    if problem.kernels.default_sparsity is None and problem.sparsity >= n_samples:
        prototypes = spread_prototypes(problem, kernel, seeds)
    return State(
        prototypes=prototypes,
        codes=sp.csr_array((n_samples, seeds.size)),
        weights=weights,
        kernel=kernel,
        log_strengths=np.zeros(seeds.size),
    )


def _gains(
    block: FloatArray, share: FloatArray, covered: FloatArray, is_closed: BoolArray
) -> FloatArray:
    gains = share @ np.maximum(block - covered[:, None], 0.0)
    return np.asarray(np.where(is_closed, -1.0, gains))
