"""Kernels on the training samples: bandwidths, weights of channels, landmarks, a first choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state

from imkpl._checks import require
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._training import ChannelWeights, Constraints, KernelLimits, TrainingData
from imkpl.kernels import ArrayColumns, BaseKernelBank, Kernels
from imkpl.kernels.normalize import normalized
from imkpl.kernels.sources import MAX_EXACT, BlockSamples, RowBlocks
from imkpl.model.cover import CONSTANT
from imkpl.model.kernel_choice import KernelChoice, compare_kernels
from imkpl.model.landmarks import choose_landmarks
from imkpl.model.problem import Problem, Settings, check_varying
from imkpl.model.separation import LinearSeparation

# Costly kernels are screened on this number of samples, or this number per class, if there are
# this many times more; then this many times the kernels that a model keeps remain.
SCREENING_SAMPLES, SCREENING_PER_CLASS = 400, 6
SCREENED_SAMPLES = 1.5
SCREENED_KERNELS = 2
# The default number of landmarks, and the least number per class behind it.
DEFAULT_LANDMARKS = 4000
DEFAULT_PER_CLASS = 20
# Fewer than two per class would leave a class without neighbours.
LEAST_PER_CLASS = 2


@dataclass(frozen=True, eq=False)
class BoundData:
    """Training data and the kernels on its samples."""

    data: TrainingData
    kernels: Kernels  # of unit diagonal, or of unit norms on average
    limits: KernelLimits | None = None  # on the kernels that may be chosen
    channels: ChannelWeights | None = None  # where kernels weigh channels
    whole: BoundData | None = None  # all distinct samples, where these are landmarks

    def take(self, samples: IntArray) -> BoundData:
        """Some of the samples, brought into memory."""
        return replace(self, data=self.data.take(samples), kernels=self.kernels.take(samples))

    def limited_to(self, problem: Problem) -> BoundData:
        """The same with the kernels of a problem as the only ones that may be chosen."""
        return replace(self, limits=KernelLimits(problem.kernel_indices, problem.is_required))

    def compare(self, settings: Settings) -> KernelChoice:
        """The kernels after their comparison with permutations; costly ones are computed once."""
        data, limits, kernels = self.data, self.limits, self.kernels
        form, n_samples = data.given.form, data.labels.size
        announce(form.owner, f"weighing {kernels.n_kernels} kernels on {n_samples} samples")
        indices: IntArray = np.arange(kernels.n_kernels)
        if limits is not None:
            indices, kernels = limits.allowed, kernels.select(limits.allowed)
        problem = Problem(
            kernels=kernels.rounded().tabulated(),
            labels=data.unnamed_labels,
            sample_weight=data.sample_weight,
            multiplicity=data.multiplicity,
            settings=settings,
            kernel_indices=indices,
            widths=np.ones(indices.size),
            separation_loss=LinearSeparation(np.zeros(indices.size)),
            is_required=None if limits is None else limits.is_required,
            is_eligible=data.is_eligible,
            persons=data.persons,
            values=data.standard_values,
        )
        if settings.learns_weights and settings.n_neighbors > n_samples:
            check_varying(bool(problem.average().min() < CONSTANT))
            what, more = "distinct samples", "add samples"
            if self.whole is not None:
                what, more = "landmarks", "raise n_landmarks"
            raise ValueError(
                f"n_neighbors={settings.n_neighbors}, but there are only {n_samples} {what}, "
                "expected no more neighbours than that. Use "
                f"n_neighbors={n_samples - 1} or less, or {more}."
            )
        choice = compare_kernels(problem)
        if limits is not None and settings.chooses_kernels:
            limits.check_varying(self.kernels, form, choice.problem.kernel_indices)
        return choice


def bind_kernels(
    data: TrainingData, settings: Settings, constraints: Constraints, *, in_blocks: bool
) -> BoundData:
    """Learn bandwidths, and the weights of channels where kernels have them."""
    given, samples = data.given, data.given.samples
    announce(given.form.owner, "learning bandwidths")
    # An array of which parts will be taken, because landmarks stand for it, is not copied.
    if in_blocks and given.bank.kind.input_kind == "columns" and isinstance(samples, np.ndarray):
        samples = RowBlocks.of(ArrayColumns(samples))
    each = given.bank.by_channel(given.form.n_channels or 0)
    if each is not None:
        return weigh_channels(data, each, settings, constraints)
    kernels = normalized(given.bank.on_rows(samples, data.rows, data.sample_weight))
    limit = settings.max_kernels if settings.chooses_kernels else None
    return BoundData(data, kernels, constraints.find(kernels, given.form, limit))


def weigh_channels(
    data: TrainingData, each: BaseKernelBank, settings: Settings, constraints: Constraints
) -> BoundData:
    """Kernels that compare channels together; some samples, and those of `each`, weigh channels."""
    given = data.given
    n_samples = count_screening(data)
    is_many = data.labels.size > SCREENED_SAMPLES * n_samples
    part = take_some(data, n_samples) if is_many else np.arange(data.labels.size)
    rows, weight = data.rows[part], data.sample_weight[part]
    kernels = each.on_rows(given.samples, rows, weight)
    # A limit on kernels is not one on channels.
    limits = constraints.find(kernels, given.form, None)
    choice = BoundData(data.take(part), kernels, limits).compare(settings)
    problem, weights = choice.choose(None)
    learned = problem.unit_weights(weights, kernels.n_kernels)
    evidence = np.zeros(kernels.n_kernels)
    evidence[choice.problem.kernel_indices] = choice.evidence.shares
    joint = given.bank.weighed(learned).on_rows(given.samples, data.rows, data.sample_weight)
    found = ChannelWeights(learned, replace(choice.evidence, shares=evidence))
    return BoundData(data, joint, channels=found)


def take_some(data: TrainingData, n_samples: int) -> IntArray:
    """About this number of samples, in the proportions of the classes."""
    order = np.random.default_rng(0).permutation(data.labels.size)
    by_class = [order[data.labels[order] == label] for label in range(data.classes.size)]
    share = n_samples / data.labels.size
    parts = [some[: max(SCREENING_PER_CLASS, round(share * some.size))] for some in by_class]
    return np.sort(np.concatenate(parts))


def learn_kernels(
    data: TrainingData,
    settings: Settings,
    constraints: Constraints,
    *,
    solver: str,
    n_landmarks: int | None,
    random_state: Any,
) -> tuple[BoundData, KernelChoice, FloatArray]:
    """The samples to learn from, what chooses among their kernels, and the evidence of all kernels.

    Landmarks are drawn twice: in the average kernel, then in the kernel that is learned from these.
    If few features are informative, the average is mostly noise, in which all samples are alike.
    Kernels are chosen twice as well: those that the first landmarks do not need are left out.
    """
    n_drawn = count_landmarks(data, solver, n_landmarks)
    whole = bind_kernels(data, settings, constraints, in_blocks=n_drawn is not None)
    if n_drawn is None:
        if whole.kernels.n_far_values:
            whole = replace(whole, kernels=whole.kernels.take(np.arange(data.labels.size)))
        return whole, *screen_and_compare(whole, settings)
    source = check_random_state(0 if random_state is None else random_state)
    seed = int(source.randint(2**31 - 1))
    first = keep_landmarks(whole, n_drawn, seed)
    choice, evidence = screen_and_compare(first, settings)
    announce(data.given.form.owner, "drawing landmarks again, in the learned kernel")
    problem, weights = choice.choose(None, whole.kernels.most_kernels)
    learned = problem.unit_weights(weights, whole.kernels.n_kernels)
    landmarks = keep_landmarks(whole, n_drawn, seed, learned).limited_to(problem)
    # The evidence is that of the comparison among all kernels.
    return landmarks, screen_and_compare(landmarks, settings)[0], evidence


def screen_and_compare(bound: BoundData, settings: Settings) -> tuple[KernelChoice, FloatArray]:
    """What chooses among kernels, and the evidence of all; many costly ones are screened first."""
    data, kernels, limits = bound.data, bound.kernels, bound.limits
    evidence = np.zeros(kernels.n_kernels)
    if kernels.most_kernels is not None and settings.chooses_kernels:
        n_kernels = kernels.n_kernels if limits is None else limits.allowed.size
        n_kept = SCREENED_KERNELS * max(kernels.most_kernels, settings.max_kernels or 0)
        n_samples = count_screening(data)
        if n_kernels > n_kept and data.labels.size > SCREENED_SAMPLES * n_samples:
            announce(data.given.form.owner, f"screening {n_kernels} kernels on {n_samples} samples")
            screening = bound.take(take_some(data, n_samples)).compare(settings)
            evidence[screening.problem.kernel_indices] = screening.evidence.shares
            bound = bound.limited_to(screening.choose(n_kept)[0])
    choice = bound.compare(settings)
    if bound.limits is not None:
        evidence[bound.limits.allowed] = 0.0
    evidence[choice.problem.kernel_indices] = choice.evidence.shares
    if bound.channels is not None and not bound.channels.evidence.has_structure:
        # Weights that were learned from the classes are better than chance in any case.
        choice = replace(choice, evidence=replace(choice.evidence, has_structure=False))
    return choice, evidence


def count_screening(data: TrainingData) -> int:
    """How many samples are enough to screen kernels, and to weigh channels."""
    return int(max(SCREENING_SAMPLES, SCREENING_PER_CLASS * data.classes.size))


def count_landmarks(data: TrainingData, solver: str, n_landmarks: int | None) -> int | None:
    """How many landmarks to learn from; None for all distinct samples, if there are no more."""
    n_samples, n_classes, samples = data.labels.size, data.classes.size, data.given.samples
    if isinstance(samples, BlockSamples):
        require(
            solver != "exact",
            "solver='exact' compares all pairs of samples in memory, expected 'landmarks' or "
            "'auto' for samples on a cluster and for files of many rows. Leave solver out, or pass "
            "an array.",
        )
        solver = "landmarks" if samples.is_remote else solver
    if solver == "exact" or (solver == "auto" and n_samples <= MAX_EXACT):
        return None
    if n_landmarks is None:
        n_landmarks = max(DEFAULT_LANDMARKS, DEFAULT_PER_CLASS * n_classes)
    least = LEAST_PER_CLASS * n_classes
    require(
        n_landmarks >= least,
        f"n_landmarks={n_landmarks}, expected at least {least}, {LEAST_PER_CLASS} for each of the "
        f"{n_classes} classes. Raise it, or leave it out for {DEFAULT_LANDMARKS}.",
    )
    return None if n_landmarks >= n_samples else int(n_landmarks)


def keep_landmarks(
    bound: BoundData, n_landmarks: int, seed: int, kernel_weights: FloatArray | None = None
) -> BoundData:
    """The landmarks, with the weights of the samples that they stand for."""
    data, kernels, is_wanted = bound.data, bound.kernels, None
    if data.is_eligible is not None:
        # One eligible sample of each class is among them.
        places = np.flatnonzero(data.is_eligible)
        is_wanted = np.zeros(data.labels.size, dtype=bool)
        is_wanted[places[np.unique(data.labels[places], return_index=True)[1]]] = True
    used = None if bound.limits is None else bound.limits.allowed
    used = used if kernel_weights is None else np.flatnonzero(kernel_weights)
    indices, weights = choose_landmarks(
        kernels if used is None else kernels.select(used),
        data.labels,
        data.sample_weight,
        n_landmarks,
        kernel_weights=None if kernel_weights is None else kernel_weights[used],
        is_wanted=is_wanted,
        seed=seed,
        working_memory=get_config()["working_memory"],
    )
    drawn = bound.take(indices)
    return replace(drawn, data=replace(drawn.data, sample_weight=weights), whole=bound)
