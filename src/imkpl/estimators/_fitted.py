"""From the state in which a search ends to the attributes of a fitted estimator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._kernels import BoundData
from imkpl.estimators._training import TrainingData
from imkpl.kernels.base import block_rows
from imkpl.kernels.normalize import AveragedKernels
from imkpl.kernels.sources import Found, join_rows
from imkpl.model.calibration import (
    CalibrationSamples,
    calibrate,
    find_novelty_threshold,
    leave_out,
    leave_out_contrasts,
    leave_out_novelty,
)
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import BLOCK_ROWS, Encoder, Predictor, encode_labelled
from imkpl.model.problem import Problem, State
from imkpl.model.updates import drop_unused, sort_prototypes
from imkpl.model.voters import count_votes
from imkpl.model.votes import ValueVotes, Votes

# Maximum number of samples beside the landmarks that take part in the calibration.
MAX_CALIBRATION = 20_000
# Maximum number of samples over which similarities are averaged.
MAX_EXPECTED = 1000
# Up to this number of distinct samples all get codes, above it landmarks only.
MAX_CODED = 100_000


def describe_fit(
    bound: BoundData,
    problem: Problem,
    evidence: FloatArray,
    code_sparsity: int,
    residuals: FloatArray,
    state: State,
    history: list[ObjectiveParts],
) -> dict[str, Any]:
    """The fitted attributes: all that prediction needs, and nothing else of the training data."""
    data, kernels, form = bound.data, bound.kernels, bound.data.given.form
    announce(form.owner, "calibrating")
    # While learning, classes had no names; now prototypes are sorted by those of their classes.
    problem = replace(problem, labels=data.labels)
    state = sort_prototypes(state, problem.prototype_classes(state))
    is_value = data.values is not None and data.places is None
    state = state if problem.settings.has_votes else drop_unused(state)
    weights = problem.unit_weights(state.weights, kernels.n_kernels)
    predictor = build_predictor(bound, problem, weights, code_sparsity, state)
    calibration = find_calibration(bound, predictor, state)
    order, classes = np.argsort(predictor.rows), data.classes
    shares = predictor.encoder.class_shares
    codes = data.expand_codes(state.codes)
    if bound.whole is not None and bound.whole.data.labels.size <= MAX_CODED:
        codes = bound.whole.data.expand_codes(code_everyone(bound, predictor, problem, state))
    support, channels = predictor.rows[order], bound.channels
    learned = {
        **form.attributes,
        "prototypes_": data.expand_prototypes(state.prototypes),
        "contrasts_": data.expand_prototypes(state.contrasts),
        "codes_": codes,
        "kernel_weights_": weights,
        "kernel_evidence_": evidence,
        "expected_false_kernels_": float(np.sum(1 - evidence[weights > 0])),
        "kernel_names_": kernels.kernel_names(form.names),
        "support_": support,
        "support_ids_": data.given.ids[support],
        "novelty_threshold_": find_novelty_threshold(calibration),
        "history_": {
            name: np.array([getattr(parts, name) for parts in history])
            for name in (*ObjectiveParts.__dataclass_fields__, "total")
        },
        "n_iter_": len(history),
        "eligible_": data.given.is_eligible,
        "n_groups_": data.given.n_groups,
        "_form": form,
        "_predictor": predictor,
        "_kernel_columns": kernels.kernel_columns,
        "_channel_weights": channels and channels.weights,
        "_channel_evidence": channels and channels.evidence.shares,
    }
    if is_value:
        assert data.values is not None
        assert isinstance(predictor.votes, ValueVotes)
        return learned | {
            "prototype_values_": predictor.votes.levels,
            "support_targets_": data.values[find_support(state)][order],
            "residuals_": residuals * data.scale[1],
        }
    return learned | {
        "classes_": classes,
        "prototype_classes_": classes[np.argmax(shares, axis=1)],
        "class_shares_": shares,
        "support_classes_": classes[data.labels[find_support(state)][order]],
        "class_prior_": data.class_prior,
        "class_weight_": data.class_weight,
        "temperature_": calibrate(predictor, calibration),
    }


def build_predictor(
    bound: BoundData, problem: Problem, weights: FloatArray, code_sparsity: int, state: State
) -> Predictor:
    """What classifies new samples: kernels with a weight on the samples of the prototypes."""
    data, prototypes = bound.data, state.prototypes
    # In the order of the distinct samples, so that sums do not depend on the order of rows.
    support, live = find_support(state), np.flatnonzero(weights)
    used = np.flatnonzero(state.weights)
    used = used[np.argsort(problem.kernel_indices[used], kind="stable")]
    kernels = bound.kernels.local().take(support).select(problem.kernel_indices[used])
    if used.size > live.size:
        parts = (state.weights * problem.diagonals)[used]
        parts /= np.bincount(problem.kernel_indices[used], parts)[problem.kernel_indices[used]]
        owners = np.searchsorted(live, problem.kernel_indices[used])
        shares = sp.csr_array((parts, (owners, np.arange(used.size))))
        kernels = AveragedKernels(kernels.stretched(problem.widths[used]), None, shares)
    elif np.any(problem.widths[used] != 1):
        kernels = kernels.stretched(problem.widths[used])
    encoder = Encoder(
        gram=prototypes @ (prototypes @ state.kernel).T,
        class_shares=prototypes @ np.eye(data.classes.size)[data.labels],
        sparsity=code_sparsity,
    )
    predictor = Predictor(
        kernels=kernels.narrowed(),
        weights=weights[live],
        rows=data.rows[support],
        mixes=prototypes[:, support],
        contrasts=state.contrasts[:, support],
        encoder=encoder,
        votes=find_votes(data, problem, state) if problem.settings.has_votes else None,
        ranges=(bound.whole or bound).kernels.select(live).ranges(),
    )
    return replace(predictor, expected=find_expected(bound, predictor))


def find_expected(bound: BoundData, predictor: Predictor) -> FloatArray | None:
    """The mean similarity of the support to the training part: what a missing cell adds."""
    if not predictor.kernels.reads_cells:
        return None
    weight = bound.data.sample_weight
    rows = np.linspace(0, weight.size - 1, min(weight.size, MAX_EXPECTED)).round().astype(np.intp)
    shares = weight[rows] / weight[rows].sum()

    def average(samples: Any, shares: FloatArray) -> FloatArray:
        inner = predictor.kernels.cross(samples).flattened(predictor.weights)[0]
        return np.array([shares @ inner.evaluate(index) for index in range(inner.n_kernels)])[None]

    found = map_blocks(bound, predictor, rows, average, shares)
    return np.asarray(np.concatenate([parts for _, parts in found]).sum(axis=0).T)


def find_votes(data: TrainingData, problem: Problem, state: State) -> Votes:
    """The votes of a state, for values as they were given."""
    votes = count_votes(problem, state)
    if not isinstance(votes, ValueVotes) or data.values is None:
        return votes
    mean, deviation = data.scale
    levels = np.clip(mean + deviation * votes.levels, data.values.min(), data.values.max())
    return replace(votes, levels=levels, places=data.places)


def find_support(state: State) -> IntArray:
    """The samples that prototypes and contrasts are made of."""
    return np.union1d(state.prototypes.indices, state.contrasts.indices)


def find_calibration(bound: BoundData, predictor: Predictor, state: State) -> CalibrationSamples:
    """The samples by which scores become probabilities, without their part in the prototypes."""
    data = bound.data
    similarities = leave_out(state.prototypes, state.kernel, data.persons)
    resemblances = similarities - leave_out_contrasts(state.contrasts, state.kernel, data.persons)
    novelty = leave_out_novelty(state.kernel, find_support(state), data.persons)
    found = CalibrationSamples(similarities, resemblances, data.labels, data.sample_weight, novelty)
    if bound.whole is not None:
        found = add_other_samples(bound, bound.whole, predictor, found)
    return found.usable(predictor.encoder.classes)


def code_everyone(
    bound: BoundData, predictor: Predictor, problem: Problem, state: State
) -> sp.csr_array:
    """Codes of all distinct samples: of landmarks as learned, of others by the same pursuit."""
    data, whole = bound.data, bound.whole or bound
    is_landmark = np.isin(whole.data.rows, data.rows)
    others = np.flatnonzero(~is_landmark)
    support_labels, settings = data.labels[find_support(state)], problem.settings

    def pursue(samples: Any, labels: IntArray) -> sp.csr_array:
        return encode_labelled(
            predictor.kernel(samples),
            labels,
            predictor.mixes,
            support_labels,
            predictor.encoder.gram,
            discrimination=settings.discrimination,
            sparsity=settings.code_sparsity,
        )

    found = map_blocks(whole, predictor, others, pursue, whole.data.labels[others])
    codes = [state.codes, *(codes for _, codes in found)]
    rows = [np.flatnonzero(is_landmark), *(others[places] for places, _ in found)]
    order = np.argsort(np.concatenate(rows))
    return sp.csr_array(sp.vstack(codes, format="csr")[order])


def add_other_samples(
    bound: BoundData, whole: BoundData, predictor: Predictor, landmarks: CalibrationSamples
) -> CalibrationSamples:
    """Landmarks, and others without part in prototypes that stand for the rest of their class."""
    assert landmarks.novelty is not None
    is_landmark = np.isin(whole.data.rows, bound.data.rows)
    # Landmarks and distinct samples are in the same order.
    own = np.flatnonzero(is_landmark)
    others = np.flatnonzero(~is_landmark)
    persons = whole.data.persons
    if persons is not None:
        # Nor had anyone of theirs, as far as there are such samples.
        has_part = np.isin(persons, persons[np.isin(whole.data.rows, predictor.rows)])
        others = others[~has_part[others]] if not has_part[others].all() else others
    if others.size > MAX_CALIBRATION:
        others = others[np.linspace(0, others.size - 1, MAX_CALIBRATION).round().astype(np.intp)]

    def compare(samples: Any) -> FloatArray:
        """Similarities, resemblances and novelty side by side."""
        return np.column_stack(predictor.compare_block(samples))

    found = map_blocks(whole, predictor, others, compare)
    n_prototypes = predictor.mixes.shape[0]
    compared = join_rows(found, (others.size, 2 * n_prototypes + 1))
    similarities, resemblances, novelty = np.hsplit(compared, [n_prototypes, 2 * n_prototypes])
    weight, labels = whole.data.sample_weight, whole.data.labels
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
        resemblances=np.concatenate([resemblances, landmarks.resemblances]),
        labels=labels[rows],
        sample_weight=shares * (weight[rows].sum() / weight.sum()),
        novelty=np.append(novelty, landmarks.novelty),
    )


def map_blocks(
    bound: BoundData,
    predictor: Predictor,
    samples: IntArray,
    function: Callable[..., Any],
    *per_row: IntArray,
) -> list[Found]:
    """A function of the listed samples, as many at a time as their similarities allow."""
    row_bytes = 16 * sum(predictor.mixes.shape)
    step = min(BLOCK_ROWS, block_rows(row_bytes, get_config()["working_memory"]))
    return bound.kernels.map_samples(function, samples, step, *per_row)
