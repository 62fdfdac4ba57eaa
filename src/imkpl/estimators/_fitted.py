"""From the state in which a search ends to the attributes of a fitted estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._calibration import (
    CalibrationSamples,
    find_novelty_threshold,
    fit_temperature,
    leave_one_out_similarities,
)
from imkpl.estimators._landmarks import calibration_samples, code_everyone
from imkpl.estimators._training import TrainingPart
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.sharded import ShardedSamples
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import MAX_STEPS, Decision, Encoder, Predictor, Readout, fit_readout
from imkpl.model.problem import Problem, State
from imkpl.model.updates import drop_unused


def fitted_attributes(
    bank: BaseKernelBank,
    X: Any,
    part: TrainingPart,
    problem: Problem,
    state: State,
    history: list[ObjectiveParts],
    *,
    code_sparsity: int,
    decision: Decision,
) -> dict[str, Any]:
    """Everything that prediction needs, and nothing of the training part beyond that."""
    state = drop_unused(state)
    predictor, temperature, calibration = build_predictor(
        bank, X, part, problem, state, code_sparsity=code_sparsity, decision=decision
    )
    order = np.argsort(predictor.rows)
    codes = part.expand_codes(state.codes)
    if part.whole is not None:
        codes = part.whole.expand_codes(code_everyone(predictor, X, part, problem, state))
    return {
        "prototypes_": part.expand_prototypes(state.prototypes),
        "class_shares_": predictor.encoder.class_shares,
        "codes_": codes,
        "kernel_weights_": all_weights(bank, problem, state),
        "support_": predictor.rows[order],
        "support_classes_": part.labels[np.unique(state.prototypes.indices)][order],
        "temperature_": temperature,
        "novelty_threshold_": find_novelty_threshold(predictor.encoder, calibration),
        "history_": {
            name: np.array([getattr(parts, name) for parts in history])
            for name in (*ObjectiveParts.__dataclass_fields__, "total")
        },
        "n_iter_": len(history),
        "_predictor": predictor,
        "_kernel_columns": bank.kernel_columns,
    }


def all_weights(bank: BaseKernelBank, problem: Problem, state: State) -> FloatArray:
    """The weights of all kernels, also of those that were left out on the way."""
    weights = np.zeros(bank.n_kernels)
    shares = state.weights * problem.diagonals
    weights[problem.kernel_indices] = shares / shares.sum()
    return weights


def build_predictor(
    bank: BaseKernelBank,
    X: Any,
    part: TrainingPart,
    problem: Problem,
    state: State,
    *,
    code_sparsity: int,
    decision: Decision,
    readout_steps: int = MAX_STEPS,
) -> tuple[Predictor, float, CalibrationSamples]:
    """What classifies new samples: support samples, live kernels, prototypes, calibration."""
    weights = all_weights(bank, problem, state)
    # In the order of the distinct samples, so that sums do not depend on the order of rows.
    support = np.unique(state.prototypes.indices)
    live = np.flatnonzero(weights)
    live_bank, rows = bank.plain().select(live), part.kept[support]
    samples = X.gather(rows) if isinstance(X, ShardedSamples) else bank.take(X, rows)
    columns = live_bank.columns
    if columns is not None:
        samples, live_bank = samples[:, columns], live_bank.on_columns(columns)
    similarities = (state.prototypes @ state.kernel).T
    indicator = np.eye(int(part.labels.max()) + 1)[part.labels]
    encoder = Encoder(
        gram=state.prototypes @ similarities,
        class_shares=state.prototypes @ indicator,
        sparsity=code_sparsity,
    )
    predictor = Predictor(
        bank=live_bank,
        weights=weights[live],
        columns=columns,
        samples=samples,
        rows=rows,
        mixes=state.prototypes[:, support],
        encoder=encoder,
        decision=decision,
    )
    left_out = leave_one_out_similarities(similarities, state.prototypes, part.counts)
    calibration = CalibrationSamples(similarities, left_out, part.labels, part.sample_weight)
    if part.whole is not None:
        calibration = calibration_samples(predictor, X, part, calibration)
    calibration = calibration.usable(encoder.classes)
    temperature, readout = _calibrate(predictor, calibration, readout_steps)
    return replace(predictor, readout=readout), temperature, calibration


def _calibrate(
    predictor: Predictor, samples: CalibrationSamples, readout_steps: int
) -> tuple[float, Readout | None]:
    """Temperature and readout."""
    scores, labels, weight = (
        predictor.score(samples.left_out),
        samples.labels,
        samples.sample_weight,
    )
    temperature = fit_temperature(scores, labels, weight)
    if predictor.decision != "calibrated":
        return temperature, None
    gram, similarities = predictor.encoder.gram, samples.similarities
    readout = fit_readout(scores, similarities, gram, labels, weight, temperature, readout_steps)
    return 1.0, readout
