"""From the state in which a search ends to the attributes of a fitted estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from imkpl._progress import announce
from imkpl._typing import FloatArray
from imkpl.estimators._landmarks import MAX_CODED, add_other_samples, code_everyone
from imkpl.estimators._training import TrainingData
from imkpl.model.calibration import (
    CalibrationSamples,
    calibrate,
    find_novelty_threshold,
    leave_one_out_similarities,
)
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Encoder, Predictor
from imkpl.model.problem import Problem, State
from imkpl.model.size import count_votes
from imkpl.model.updates import drop_unused


def describe_fit(
    estimator: Any,
    data: TrainingData,
    problem: Problem,
    state: State,
    history: list[ObjectiveParts],
) -> dict[str, Any]:
    """The fitted attributes: all that prediction needs, and nothing else of the training data."""
    announce(type(estimator).__name__, "calibrating")
    state = drop_unused(state) if problem.sharpness == 0 else state
    predictor, temperature, calibration = build_predictor(estimator, data, problem, state)
    order, classes = np.argsort(predictor.rows), data.classes
    shares = predictor.encoder.class_shares
    codes = data.expand_codes(state.codes)
    if data.whole is not None and data.whole.n_samples <= MAX_CODED:
        codes = data.whole.expand_codes(code_everyone(predictor, data, problem, state))
    support, bank = predictor.rows[order], data.bank
    weights = all_weights(data, problem, state)
    return {
        **data.input,
        "classes_": classes,
        "prototypes_": data.expand_prototypes(state.prototypes),
        "prototype_classes_": classes[np.argmax(shares, axis=1)],
        "class_shares_": shares,
        "codes_": codes,
        "kernel_weights_": weights,
        "kernel_evidence_": problem.evidence,
        "expected_false_kernels_": float(np.sum(1 - problem.evidence[weights > 0])),
        "kernel_names_": bank.kernel_names(data.input.get("feature_names_in_")),
        "support_": support,
        "support_ids_": data.ids[support],
        "support_classes_": classes[data.labels[np.unique(state.prototypes.indices)][order]],
        "temperature_": temperature,
        "novelty_threshold_": find_novelty_threshold(predictor.encoder, calibration),
        "history_": {
            name: np.array([getattr(parts, name) for parts in history])
            for name in (*ObjectiveParts.__dataclass_fields__, "total")
        },
        "n_iter_": len(history),
        "eligible_": data.given_eligible,
        "_predictor": replace(predictor, ranges=find_ranges(data, predictor)),
        "_kernel_columns": bank.kernel_columns,
        "_channel_weights": data.channels and data.channels.weights,
        "_channel_evidence": data.channels and data.channels.found.shares,
    }


def find_ranges(data: TrainingData, predictor: Predictor) -> FloatArray | None:
    """The least and the largest number of every column that the model reads."""
    if predictor.columns is None:
        return None
    return data.kind.ranges((data.whole or data).samples, predictor.columns)


def all_weights(data: TrainingData, problem: Problem, state: State) -> FloatArray:
    """The weights of all kernels of unit diagonal, also of those that were left out on the way."""
    weights = np.zeros(data.bank.n_kernels)
    shares = state.weights * problem.diagonals
    weights[problem.kernel_indices] = shares / shares.sum()
    return weights


def build_predictor(
    estimator: Any,
    data: TrainingData,
    problem: Problem,
    state: State,
) -> tuple[Predictor, float, CalibrationSamples]:
    """What classifies new samples, the temperature of its scores, and what both were found on."""
    weights = all_weights(data, problem, state)
    # In the order of the distinct samples, so that sums do not depend on the order of rows.
    support = np.unique(state.prototypes.indices)
    live = np.flatnonzero(weights)
    bank, rows = data.bank._plain().select(live), data.kept[support]
    samples, columns = data.kind.take(data.bank, data.X, rows), bank._columns
    if columns is not None:
        samples, bank = samples[:, columns], bank._on_columns(columns)
    similarities = (state.prototypes @ state.kernel).T
    indicator = np.eye(data.classes.size)[data.labels]
    encoder = Encoder(
        gram=state.prototypes @ similarities,
        class_shares=state.prototypes @ indicator,
        sparsity=estimator.code_sparsity,
    )
    predictor = Predictor(
        bank=bank,
        weights=weights[live],
        columns=columns,
        samples=samples,
        rows=rows,
        mixes=state.prototypes[:, support],
        encoder=encoder,
        votes=count_votes(problem, state) if problem.sharpness > 0 else None,
    )
    squares = np.diagonal(state.kernel)
    left_out = leave_one_out_similarities(similarities, state.prototypes, squares, data.counts)
    calibration = CalibrationSamples(similarities, left_out, data.labels, data.sample_weight)
    if data.has_landmarks:
        calibration = add_other_samples(predictor, data, calibration)
    calibration = calibration.usable(encoder.classes)
    return predictor, calibrate(predictor, calibration), calibration
