"""Accuracy against size: models of many sizes from one preparation, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._fitted import build_predictor
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._training import tabulate_kernels
from imkpl.kernels import resolve_bank
from imkpl.model.alternate import alternate
from imkpl.model.cover import add_prototypes, cover_order
from imkpl.model.predictor import Decision, Predictor
from imkpl.model.problem import State
from imkpl.model.updates import drop_unused, update_codes, update_prototypes

# Rounds of codes and prototypes at each point. Weights stay where the separation loss alone has
# put them: a whole fit moves them little, and their step is the dear one.
PATH_ROUNDS = 2
# Steps of the readout's solver at each point: accuracies are those of a converged readout.
READOUT_STEPS = 30


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A model of one size.

    Parameters
    ----------
    max_kernels, sparsity : int
        Its settings.
    n_kernels, n_prototypes : int
        What it has come to.
    predictor : Predictor
        Classifies new samples.
    """

    max_kernels: int | None
    sparsity: int
    n_kernels: int
    n_prototypes: int
    predictor: Predictor


def follow_path(
    model: IMKPL,
    X: Any,
    y: Any,
    sample_weight: FloatArray,
    max_kernels: Sequence[int | None],
    sparsities: Sequence[int],
) -> Iterator[PathPoint]:
    """Models for all pairs of settings, the largest number of kernels first.

    Bandwidths, neighbourhoods and margins are found once. For each number of kernels the prototypes
    of a smaller `sparsity` are where those of the next start from.
    """
    bank = resolve_bank(model.kernels)
    part = model._find_training_part(bank, X, y, sample_weight)
    bank, samples, part = model._adapt(bank, X, part)
    start = model._prepare_start(*tabulate_kernels(model, bank, samples), part)
    sizes = [model._count_prototypes(part, sparsity) for sparsity in sparsities]
    n_samples = part.labels.size
    for limit in max_kernels:
        problem, weights = start(limit)
        kernel = problem.combine(weights)
        order = cover_order(problem, kernel, max(sizes))
        state = State(sp.csr_array((0, n_samples)), sp.csr_array((n_samples, 0)), weights, kernel)
        for sparsity, size in zip(sparsities, sizes, strict=True):
            problem = replace(problem, sparsity=sparsity)
            state = add_prototypes(state, order[state.prototypes.shape[0] : size])
            updates = (update_codes, update_prototypes)
            state, _ = alternate(problem, state, updates, max_iter=PATH_ROUNDS, tol=model.tol)
            used = drop_unused(state)
            predictor, *_ = build_predictor(
                bank,
                X,
                part,
                problem,
                used,
                code_sparsity=model.code_sparsity,
                decision=cast(Decision, model.decision),
                readout_steps=READOUT_STEPS,
            )
            yield PathPoint(limit, sparsity, weights.size, used.prototypes.shape[0], predictor)


def choose_smallest(scores: FloatArray, sizes: FloatArray) -> tuple[int, int]:
    """The best setting, and the smallest one that is no worse than chance allows."""
    means = scores.mean(axis=1)
    best = int(np.lexsort((sizes, -means))[0])
    error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    good = np.flatnonzero(means >= means[best] - error)
    smallest = np.lexsort((-means[good], sizes[good]))[0]
    return best, int(good[smallest])


def halving_sizes(n_sufficient: int, n_kernels: int, n_sizes: int) -> IntArray:
    """Twice as many kernels as suffice, then half as many again and again."""
    sizes = np.ceil(2 * n_sufficient / 2.0 ** np.arange(n_sizes)).astype(int)
    return np.unique(np.clip(sizes, 1, n_kernels))[::-1]
