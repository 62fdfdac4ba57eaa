"""From the state in which a search ends to the attributes of a fitted estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._calibration import (
    CalibrationSamples,
    fit_temperature,
    leave_one_out_similarities,
)
from imkpl.estimators._landmarks import calibration_samples, code_everyone
from imkpl.estimators._training import TrainingPart
from imkpl.kernels import BaseKernelBank
from imkpl.model.encode import FORBIDDEN, Encoder
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Decision, Predictor
from imkpl.model.problem import Problem
from imkpl.model.readout import MAX_STEPS, Readout, fit_readout
from imkpl.model.state import State
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
    """Everything that prediction needs, and nothing of the training part beyond that.

    Parameters
    ----------
    bank : BaseKernelBank
        All kernels, of unit diagonal.
    X : samples
        The data given to `fit`.
    part : TrainingPart
        Which of them were trained on; all, or landmarks.
    problem : Problem
        The problem that was solved.
    state : State
        Where the search ended.
    history : list of ObjectiveParts
        The terms after every round.
    code_sparsity : int
        At most so many prototypes in the code of a new sample.
    decision : {"calibrated", "joint", "residual", "share"}
        How classes are scored.

    Returns
    -------
    dict
        Names and values of the attributes, but for those that depend on labels and names.
    """
    state = drop_unused(state)
    predictor, temperature = build_predictor(
        bank, X, part, problem, state, code_sparsity=code_sparsity, decision=decision
    )
    codes = part.expand_codes(state.codes)
    if part.whole is not None:
        codes = part.whole.expand_codes(code_everyone(predictor, X, part, problem, state))
    return {
        "prototypes_": part.expand_prototypes(state.prototypes),
        "class_shares_": predictor.encoder.class_shares,
        "codes_": codes,
        "kernel_weights_": all_weights(bank, problem, state),
        "support_": np.sort(part.kept[np.unique(state.prototypes.indices)]),
        "temperature_": temperature,
        "history_": {
            name: np.array([getattr(parts, name) for parts in history])
            for name in (*ObjectiveParts.__dataclass_fields__, "total")
        },
        "n_iter_": len(history),
        "_predictor": predictor,
        "_kernel_columns": bank.kernel_columns,
    }


def all_weights(bank: BaseKernelBank, problem: Problem, state: State) -> FloatArray:
    """The weights of all kernels, also of those that were left out on the way.

    Parameters
    ----------
    bank : BaseKernelBank
        All kernels.
    problem : Problem
        With the kernels that are left.
    state : State
        With their weights, which are for kernels divided by their variance.

    Returns
    -------
    array of shape (n_kernels,)
        Weights of kernels of unit diagonal, which sum to one.
    """
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
) -> tuple[Predictor, float]:
    """What classifies new samples: support samples, live kernels, prototypes, calibration.

    Parameters
    ----------
    bank : BaseKernelBank
        All kernels, of unit diagonal.
    X : samples
        The data given to `fit`.
    part : TrainingPart
        Which of them were trained on; all, or landmarks.
    problem : Problem
        The problem that was solved.
    state : State
        Where the search ended; every prototype is used.
    code_sparsity : int
        At most so many prototypes in the code of a new sample.
    decision : {"calibrated", "joint", "residual", "share"}
        How classes are scored.
    readout_steps : int
        At most so many steps of the solver of the readout.

    Returns
    -------
    predictor : Predictor
        Ready for new samples.
    temperature : float
        The factor on its scores that makes them logits.
    """
    weights = all_weights(bank, problem, state)
    # In the order of the distinct samples, so that sums do not depend on the order of rows.
    support = np.unique(state.prototypes.indices)
    live = np.flatnonzero(weights)
    live_bank, samples = bank.select(live), bank.take(X, part.kept[support])
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
        live_bank, weights[live], columns, samples, state.prototypes[:, support], encoder, decision
    )
    left_out = leave_one_out_similarities(similarities, state.prototypes, part.counts)
    calibration = CalibrationSamples(similarities, left_out, part.labels, part.sample_weight)
    if part.whole is not None:
        calibration = calibration_samples(predictor, X, part, calibration)
    temperature, readout = _calibrate(predictor, calibration, readout_steps)
    return replace(predictor, readout=readout), temperature


def _calibrate(
    predictor: Predictor, samples: CalibrationSamples, readout_steps: int
) -> tuple[float, Readout | None]:
    """Temperature and readout, from samples whose class has a prototype left without them."""
    left_out = samples.left_out
    is_own = predictor.encoder.classes == samples.labels[:, None]
    usable = np.any(is_own & (left_out > FORBIDDEN), axis=1)
    scores, labels = predictor.score(left_out[usable]), samples.labels[usable]
    weight = samples.sample_weight[usable]
    temperature = fit_temperature(scores, labels, weight)
    if predictor.decision != "calibrated":
        return temperature, None
    gram, similarities = predictor.encoder.gram, samples.similarities[usable]
    readout = fit_readout(scores, similarities, gram, labels, weight, temperature, readout_steps)
    return 1.0, readout
