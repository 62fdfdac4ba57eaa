"""Many samples: landmarks to learn from, and the way back to all samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import check_random_state

from imkpl._progress import announce
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._constraints import find_kernels
from imkpl.estimators._training import ChannelWeights, TrainingData, adapt_kernels
from imkpl.kernels.base import block_rows
from imkpl.kernels.sharded import MAX_EXACT, Found, RowBlocks, ShardedSamples, join_rows
from imkpl.model.calibration import CalibrationSamples
from imkpl.model.initialize import Start
from imkpl.model.landmarks import choose_landmarks
from imkpl.model.predictor import BLOCK_ROWS, Predictor, encode_labelled
from imkpl.model.problem import Problem, State

# Costly kernels are screened on so many samples, or so many per class, if there are so many times
# as many; so many times as many kernels stay as a model keeps.
SCREENING_SAMPLES, SCREENING_PER_CLASS = 400, 6
SCREENED_SAMPLES = 1.5
SCREENED_KERNELS = 2
# The default number of landmarks, and the least number per class behind it.
DEFAULT_LANDMARKS = 4000
DEFAULT_PER_CLASS = 20
# Fewer than two per class would leave a class without neighbours.
LEAST_PER_CLASS = 2
# Maximum number of samples beside the landmarks that take part in the calibration.
MAX_CALIBRATION = 20_000
# Up to this number of distinct samples all get codes, above it landmarks only.
MAX_CODED = 100_000


def learn_kernels(estimator: Any, data: TrainingData) -> tuple[TrainingData, Start]:
    """The samples to learn from, and what kernels are chosen and weighed by.

    Landmarks are drawn twice: in the average kernel, then in the kernel that is learned from these.
    If few features are informative, the average is mostly noise, in which all samples are alike.
    Kernels are chosen twice as well: those that the first landmarks do not need are left out.
    """

    def prepare(data: TrainingData) -> Start:
        screened = screen_kernels(estimator, data)
        if screened is not None:
            data = replace(data, kernels=screened.kernel_indices, is_required=screened.is_required)
        start: Start = estimator._prepare_start(estimator._build_problem(data))
        if data.channels is not None and not data.channels.found.has_structure:
            # Weights that were learned from the classes are better than chance in any case.
            start = replace(start, found=replace(start.found, has_structure=False))
        if screened is None:
            return start
        # The evidence of kernels that do not stay is that of the screening.
        evidence, stay = screened.evidence.copy(), screened.kernel_indices
        evidence[stay] = start.problem.evidence[stay]
        return replace(start, problem=replace(start.problem, evidence=evidence))

    whole, n_landmarks = learn_bandwidths(estimator, data)
    if n_landmarks is None:
        return whole, prepare(whole)
    source = check_random_state(0 if estimator.random_state is None else estimator.random_state)
    seed = int(source.randint(2**31 - 1))
    start = prepare(keep_landmarks(whole, n_landmarks, seed))
    announce(type(estimator).__name__, "drawing landmarks again, in the learned kernel")
    problem, weights = start(None)
    learned = np.zeros(whole.bank.n_kernels)
    learned[problem.kernel_indices] = weights * problem.diagonals
    landmarks = keep_landmarks(whole, n_landmarks, seed, learned / learned.sum())
    landmarks = replace(landmarks, kernels=problem.kernel_indices, is_required=problem.is_required)
    again = prepare(landmarks)
    # The evidence is that of the comparison among all kernels.
    known = replace(again.problem, evidence=start.problem.evidence)
    return landmarks, replace(again, problem=known)


def screen_kernels(estimator: Any, data: TrainingData) -> Problem | None:
    """Of many costly kernels, those that are of use to some samples; None if all are computed."""
    n_kernels = data.bank.n_kernels if data.kernels is None else data.kernels.size
    most = data.bank._most_kernels
    if most is None:
        return None
    # A search over sizes has several limits, or none yet.
    given = estimator._max_kernels
    limits: Any = [] if given is None or isinstance(given, str) else np.atleast_1d(given)
    n_kept = SCREENED_KERNELS * int(np.max([most, *limits]))
    n_samples = max(SCREENING_SAMPLES, SCREENING_PER_CLASS * data.classes.size)
    if n_kernels <= n_kept or data.n_samples <= SCREENED_SAMPLES * n_samples:
        return None
    announce(type(estimator).__name__, f"screening {n_kernels} kernels on {n_samples} samples")
    start: Start = estimator._prepare_start(estimator._build_problem(take_some(data, n_samples)))
    return start(n_kept)[0]


def take_some(data: TrainingData, n_samples: int) -> TrainingData:
    """About this number of samples, in the proportions of the classes."""
    order = np.random.default_rng(0).permutation(data.n_samples)
    by_class = [order[data.labels[order] == label] for label in range(data.classes.size)]
    share = n_samples / data.n_samples
    chosen = np.sort(
        np.concatenate(
            [some[: max(SCREENING_PER_CLASS, round(share * some.size))] for some in by_class]
        )
    )
    return replace(
        data,
        samples=data.kind.subset(data.bank, data.samples, chosen),
        labels=data.labels[chosen],
        sample_weight=data.sample_weight[chosen],
        counts=data.counts[chosen],
        is_eligible=None if data.is_eligible is None else data.is_eligible[chosen],
    )


def weigh_channels(estimator: Any, data: TrainingData) -> TrainingData:
    """The data with kernels that compare channels together, weighed as features are.

    There is one kernel per channel for that, and some samples are enough.
    """
    each = data.bank._by_channel()
    if each is None:
        return data
    n_samples = max(SCREENING_SAMPLES, SCREENING_PER_CLASS * data.classes.size)
    is_many = data.n_samples > SCREENED_SAMPLES * n_samples
    part = take_some(data, n_samples) if is_many else data
    bank = each.adapt(part.samples, part.sample_weight)
    # A limit on kernels is not one on channels.
    kernels, is_required = find_kernels(estimator, bank, data.input, has_limit=False)
    part = replace(part, bank=bank, kernels=kernels, is_required=is_required)
    whole = replace(estimator._build_problem(part), most_kernels=None)
    start: Start = estimator._prepare_start(whole)
    problem, weights = start(None)
    learned, evidence = np.zeros(bank.n_kernels), np.zeros(bank.n_kernels)
    learned[problem.kernel_indices] = weights * problem.diagonals
    evidence[start.problem.kernel_indices] = start.found.shares
    learned /= learned.sum()
    bank = data.bank._weigh(learned).adapt(data.samples, data.sample_weight)
    found = replace(start.found, shares=evidence)
    return replace(data, bank=bank, channels=ChannelWeights(learned, found))


def learn_bandwidths(estimator: Any, data: TrainingData) -> tuple[TrainingData, int | None]:
    """Kernels adapted to all distinct samples, and the number of landmarks to learn from.

    Samples on a cluster are always learned from landmarks. Where there are no more samples than
    landmarks, all are gathered.
    """
    announce(type(estimator).__name__, "learning bandwidths")
    solver, is_sharded = estimator.solver, isinstance(data.X, ShardedSamples)
    if is_sharded and solver == "exact":
        raise ValueError(
            "solver='exact' compares all pairs of samples in the memory of one machine, expected "
            "'landmarks' or 'auto' for samples on a cluster and for files of many rows. Leave "
            "solver out, or pass an array."
        )
    if is_sharded and not isinstance(data.X, RowBlocks):
        solver = "landmarks"
    n_landmarks = count_landmarks(solver, estimator.n_landmarks, data)
    if is_sharded:
        data = replace(data, bank=data.X.distribute(data.bank))
    data = adapt_kernels(data, in_parts=n_landmarks is not None)
    data = weigh_channels(estimator, data)
    if data.channels is None:
        kernels, is_required = find_kernels(estimator, data.bank, data.input)
        data = replace(data, kernels=kernels, is_required=is_required)
    if is_sharded and n_landmarks is None:
        data = replace(data, samples=data.samples.gather(np.arange(len(data.samples))))
    return data, n_landmarks


def count_landmarks(solver: str, n_landmarks: int | None, data: TrainingData) -> int | None:
    """How many landmarks to learn from; None for all distinct samples."""
    n_samples, n_classes = data.n_samples, data.classes.size
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


def keep_landmarks(
    data: TrainingData, n_landmarks: int, seed: int, kernel_weights: FloatArray | None = None
) -> TrainingData:
    """The landmarks, with the weights of the samples that they stand for.

    They are drawn in the average kernel, unless weights are given.
    """
    kernels = data.kernels if kernel_weights is None else np.flatnonzero(kernel_weights)
    indices, weights = choose_landmarks(
        data.bank if kernels is None else data.bank.select(kernels),
        data.samples,
        data.labels,
        data.sample_weight,
        n_landmarks,
        kernel_weights=None if kernel_weights is None else kernel_weights[kernels],
        is_wanted=find_wanted(data),
        seed=seed,
        working_memory=get_config()["working_memory"],
    )
    places = np.full(data.n_samples + 1, -1)
    places[indices] = np.arange(indices.size)
    return replace(
        data,
        samples=data.kind.subset(data.bank, data.samples, indices),
        kept=data.kept[indices],
        # A row of weight zero has the place -1, which stays -1.
        inverse=places[data.inverse],
        labels=data.labels[indices],
        sample_weight=weights,
        counts=data.counts[indices],
        whole=data,
        is_eligible=None if data.is_eligible is None else data.is_eligible[indices],
    )


def find_wanted(data: TrainingData) -> BoolArray | None:
    """Samples that must be landmarks: an eligible one of each class."""
    if data.is_eligible is None:
        return None
    is_wanted, places = np.zeros(data.n_samples, dtype=bool), np.flatnonzero(data.is_eligible)
    is_wanted[places[np.unique(data.labels[places], return_index=True)[1]]] = True
    return is_wanted


def code_everyone(
    predictor: Predictor, data: TrainingData, problem: Problem, state: State
) -> sp.csr_array:
    """Codes of all distinct samples: of landmarks as learned, of others by the same pursuit."""
    whole = cast(TrainingData, data.whole)
    is_landmark = np.isin(whole.kept, data.kept)
    others = np.flatnonzero(~is_landmark)
    support_labels = data.labels[np.unique(state.prototypes.indices)]
    pursuit = LabelledPursuit(
        predictor, support_labels, problem.discrimination, problem.code_sparsity
    )
    found = _map_blocks(predictor, data, whole.kept[others], pursuit, whole.labels[others])
    codes = [state.codes, *(codes for _, codes in found)]
    rows = [np.flatnonzero(is_landmark), *(others[places] for places, _ in found)]
    order = np.argsort(np.concatenate(rows))
    return sp.csr_array(sp.vstack(codes, format="csr")[order])


@dataclass(frozen=True, eq=False)
class LabelledPursuit:
    """Codes of samples of known class, found in the same way as those of the landmarks."""

    predictor: Predictor
    support_labels: IntArray  # classes of the samples of which prototypes are made
    discrimination: float
    sparsity: int

    def __call__(self, samples: Any, labels: IntArray) -> sp.csr_array:
        """One code per sample; `samples` have all input columns."""
        return encode_labelled(
            self.predictor.kernel(samples),
            labels,
            self.predictor.mixes,
            self.support_labels,
            self.predictor.encoder.gram,
            discrimination=self.discrimination,
            sparsity=self.sparsity,
        )


def add_other_samples(
    predictor: Predictor, data: TrainingData, landmarks: CalibrationSamples
) -> CalibrationSamples:
    """The landmarks and other samples to calibrate on, evenly spaced over the distinct ones.

    The others had no part in the prototypes, and nothing of them has to be taken out. Landmarks
    count as the samples that they are; without them the heaviest samples and those of small classes
    would be missing. The others count for all that are no landmarks, class by class, so that the
    weights of the classes have the proportions that they have among all samples.
    """
    whole = cast(TrainingData, data.whole)
    is_landmark = np.isin(whole.kept, data.kept)
    # Landmarks and distinct samples are in the same order.
    own = np.flatnonzero(is_landmark)
    others = np.flatnonzero(~is_landmark)
    if others.size > MAX_CALIBRATION:
        others = others[np.linspace(0, others.size - 1, MAX_CALIBRATION).round().astype(np.intp)]
    found = _map_blocks(predictor, data, whole.kept[others], predictor.similarities)
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


def _map_blocks(
    predictor: Predictor,
    data: TrainingData,
    rows: IntArray,
    function: Callable[..., Any],
    *per_row: IntArray,
) -> list[Found]:
    """A function of the listed rows, as many at a time as their similarities allow."""
    row_bytes = 16 * sum(predictor.mixes.shape)
    step = min(BLOCK_ROWS, block_rows(row_bytes, get_config()["working_memory"]))
    return data.kind.map_blocks(data.X, rows, step, function, *per_row)
