"""Many samples: landmarks to learn from, and the way back to all samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import check_random_state

from imkpl._typing import IntArray
from imkpl.estimators._calibration import CalibrationSamples
from imkpl.estimators._checkpoint import NO_CHECKPOINT, Keeper
from imkpl.estimators._resuming import LANDMARKS, recall_landmarks
from imkpl.estimators._training import TrainingPart, adapt_to_part
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.blocks import block_rows, take_samples
from imkpl.kernels.sharded import Found, ShardedSamples, join_rows
from imkpl.model.landmarks import choose_landmarks
from imkpl.model.predictor import BLOCK_ROWS, Predictor, encode_labelled
from imkpl.model.problem import Problem, State

# Up to so many distinct samples solver="auto" learns from all of them.
MAX_EXACT = 10_000
# How many landmarks there are unless a number is given, and for how many per class at least.
DEFAULT_LANDMARKS = 4000
DEFAULT_PER_CLASS = 20
# Fewer than two per class would leave a class without neighbours.
LEAST_PER_CLASS = 2
# At most so many samples beside the landmarks take part in the calibration.
MAX_CALIBRATION = 20_000


def count_landmarks(solver: str, n_landmarks: int | None, part: TrainingPart) -> int | None:
    """How many landmarks to learn from."""
    n_samples, n_classes = part.labels.size, int(part.labels.max()) + 1
    if solver == "exact" or (solver == "auto" and n_samples <= MAX_EXACT):
        return None
    if n_landmarks is None:
        n_landmarks = max(DEFAULT_LANDMARKS, DEFAULT_PER_CLASS * n_classes)
    if n_landmarks < LEAST_PER_CLASS * n_classes:
        raise ValueError(
            f"n_landmarks={n_landmarks}, expected at least {LEAST_PER_CLASS * n_classes}, "
            f"{LEAST_PER_CLASS} for each of the {n_classes} classes. Raise it, or leave it out "
            f"for {DEFAULT_LANDMARKS}."
        )
    return None if n_landmarks >= n_samples else int(n_landmarks)


def reduce_to_landmarks(
    bank: BaseKernelBank,
    samples: Any,
    part: TrainingPart,
    n_landmarks: int,
    random_state: Any,
    checkpoint: Keeper = NO_CHECKPOINT,
) -> tuple[Any, TrainingPart]:
    """The landmarks as a training part of their own."""
    kept = recall_landmarks(checkpoint, part.labels.size)
    if kept is None:
        source = check_random_state(0 if random_state is None else random_state)
        indices, weights = choose_landmarks(
            bank,
            samples,
            part.labels,
            part.sample_weight,
            n_landmarks,
            seed=int(source.randint(2**31 - 1)),
            working_memory=get_config()["working_memory"],
        )
        checkpoint.keep(LANDMARKS, {"indices": indices, "weights": weights})
    else:
        indices, weights = kept
    places = np.full(part.labels.size + 1, -1)
    places[indices] = np.arange(indices.size)
    landmarks = TrainingPart(
        kept=part.kept[indices],
        # A row of weight zero has the place -1, which stays -1.
        inverse=places[part.inverse],
        labels=part.labels[indices],
        sample_weight=weights,
        counts=part.counts[indices],
        whole=part,
    )
    if isinstance(samples, ShardedSamples):
        return samples.gather(indices), landmarks
    return bank.subset(samples, indices), landmarks


def adapt_and_reduce(
    estimator: Any,
    bank: BaseKernelBank,
    X: Any,
    part: TrainingPart,
    checkpoint: Keeper = NO_CHECKPOINT,
) -> tuple[BaseKernelBank, Any, TrainingPart]:
    """Kernels adapted to all distinct samples, and what is learned from: these or landmarks."""
    solver, is_sharded = estimator.solver, isinstance(X, ShardedSamples)
    if is_sharded and solver == "exact":
        raise ValueError(
            "solver='exact' compares all pairs of samples in the memory of one machine, expected "
            "'landmarks' or 'auto' for samples on a cluster. Leave solver out, or pass an array."
        )
    solver = "landmarks" if is_sharded else solver
    n_landmarks = count_landmarks(solver, estimator.n_landmarks, part)
    bank, samples = adapt_to_part(X.distribute(bank) if is_sharded else bank, X, part)
    if n_landmarks is not None:
        seed = estimator.random_state
        return bank, *reduce_to_landmarks(bank, samples, part, n_landmarks, seed, checkpoint)
    return bank, samples.gather(np.arange(len(samples))) if is_sharded else samples, part


def code_everyone(
    predictor: Predictor, X: Any, part: TrainingPart, problem: Problem, state: State
) -> sp.csr_array:
    """Codes of all distinct samples: for landmarks as learned, by the same pursuit for the others."""
    whole = cast(TrainingPart, part.whole)
    is_landmark = np.isin(whole.kept, part.kept)
    others = np.flatnonzero(~is_landmark)
    support_labels = part.labels[np.unique(state.prototypes.indices)]
    pursuit = LabelledPursuit(
        predictor, support_labels, problem.discrimination, problem.code_sparsity
    )
    found = _map_blocks(predictor, X, whole.kept[others], pursuit, whole.labels[others])
    codes = [state.codes, *(codes for _, codes in found)]
    rows = [np.flatnonzero(is_landmark), *(others[places] for places, _ in found)]
    order = np.argsort(np.concatenate(rows))
    return sp.csr_array(sp.vstack(codes, format="csr")[order])


@dataclass(frozen=True, eq=False)
class LabelledPursuit:
    """Codes of samples of known class, found as those of the landmarks were.

    Parameters
    ----------
    predictor : Predictor
        With the prototypes.
    support_labels : int array of shape (n_support,)
        Classes of the samples of which prototypes are made.
    discrimination : float
        The weight lambda of J_dis.
    sparsity : int
        At most so many prototypes in a code.
    """

    predictor: Predictor
    support_labels: IntArray
    discrimination: float
    sparsity: int

    def __call__(self, samples: Any, labels: IntArray) -> sp.csr_array:
        """Code some samples."""
        return encode_labelled(
            self.predictor.kernel(samples),
            labels,
            self.predictor.mixes,
            self.support_labels,
            self.predictor.encoder.gram,
            discrimination=self.discrimination,
            sparsity=self.sparsity,
        )


def calibration_samples(
    predictor: Predictor, X: Any, part: TrainingPart, landmarks: CalibrationSamples
) -> CalibrationSamples:
    """The landmarks and other samples, evenly spaced over the distinct ones.

    The others had no part in the prototypes, and nothing of them has to be taken out. Landmarks
    count as the samples that they are; without them the heaviest samples and those of small classes
    would be missing. The others count for all that are no landmarks, class by class.
    """
    whole = cast(TrainingPart, part.whole)
    is_landmark = np.isin(whole.kept, part.kept)
    # Landmarks and distinct samples are in the same order.
    own = np.flatnonzero(is_landmark)
    others = _spaced(np.flatnonzero(~is_landmark), MAX_CALIBRATION)
    found = _map_blocks(predictor, X, whole.kept[others], predictor.similarities)
    similarities = join_rows(found, (others.size, predictor.mixes.shape[0]))
    weight, labels = whole.sample_weight, whole.labels
    totals = np.bincount(labels, weight)
    used = np.bincount(labels[others], weight[others], totals.size)
    wanted = totals - np.bincount(labels[own], weight[own], totals.size)
    factors = np.where(used > 0, wanted / np.where(used > 0, used, 1.0), 0.0)
    shares = np.concatenate([weight[others] * factors[labels[others]], weight[own]])
    rows = np.concatenate([others, own])
    # A class without other samples has landmarks, which then count for the whole of it.
    shares *= (totals / np.bincount(labels[rows], shares))[labels[rows]]
    return CalibrationSamples(
        similarities=np.concatenate([similarities, landmarks.similarities]),
        left_out=np.concatenate([similarities, landmarks.left_out]),
        labels=labels[rows],
        sample_weight=shares * (weight[rows].sum() / weight.sum()),
    )


def _spaced(indices: IntArray, n_kept: int) -> IntArray:
    """All of them, or so many at equal spaces."""
    if indices.size <= n_kept:
        return indices
    return indices[np.linspace(0, indices.size - 1, n_kept).round().astype(np.intp)]


def _map_blocks(
    predictor: Predictor, X: Any, rows: IntArray, function: Callable[..., Any], *per_row: IntArray
) -> list[Found]:
    """A function of the listed rows, of as many at a time as their similarities allow.

    Where samples lie on other machines it is computed there, part by part.
    """
    row_bytes = 16 * sum(predictor.mixes.shape)
    step = min(BLOCK_ROWS, block_rows(row_bytes, get_config()["working_memory"]))
    if isinstance(X, ShardedSamples):
        return X[rows].map(InBlocks(function, step), per_row=per_row)
    starts = range(0, rows.size, step)
    blocks = [np.arange(start, min(start + step, rows.size)) for start in starts]
    return [
        (places, function(take_samples(X, rows[places]), *(values[places] for values in per_row)))
        for places in blocks
    ]


@dataclass(frozen=True, eq=False)
class InBlocks:
    """A function of a part of the samples, computed a few of them at a time.

    Parameters
    ----------
    function : function (samples, *per_row) -> array or CSR array
        Gives one row per sample.
    step : int
        So many samples at a time.
    """

    function: Callable[..., Any]
    step: int

    @property
    def __name__(self) -> str:
        """The name of the function, under which its tasks are listed."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, samples: Any, *per_row: Any) -> Any:
        """Compute it."""
        starts = range(0, len(samples), self.step)
        cuts = [slice(start, start + self.step) for start in starts]
        found = [self.function(samples[cut], *(values[cut] for values in per_row)) for cut in cuts]
        return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)
