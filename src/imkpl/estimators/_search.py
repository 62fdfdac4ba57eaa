"""The search of one fit: begun, or taken up again, and run round by round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from imkpl.estimators._checkpoint import Keeper
from imkpl.estimators._compat import FitProgress
from imkpl.estimators._resuming import Search, keep_round, keep_start, recall_search
from imkpl.estimators._stages import FitStages
from imkpl.estimators._training import TrainingPart, check_varying
from imkpl.kernels import BaseKernelBank
from imkpl.model.alternate import alternate, is_settled
from imkpl.model.cover import initial_state
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import State

# A kernel of unit diagonal whose smallest value exceeds this is constant but for rounding.
CONSTANT = 1 - 1e-12


def begin_search(
    estimator: Any,
    bank: BaseKernelBank,
    X: Any,
    part: TrainingPart,
    stages: FitStages,
    checkpoint: Keeper,
) -> Search:
    """The problem, and where its search stands: before the first round, or where it was left."""
    whole = estimator._pose(bank, np.arange(bank.n_kernels), X, part)
    kept = recall_search(checkpoint, whole, estimator.max_iter)
    if kept is not None:
        stages.say(f"resumed from round {len(kept[2])} of at most {estimator.max_iter}")
        return kept
    problem, weights = estimator._start(bank, X, part)
    stages.enter("covering the classes with prototypes")
    n_prototypes = estimator._count_prototypes(part, estimator.sparsity)
    state = initial_state(problem, weights, n_prototypes)
    check_varying(state.kernel.min() < CONSTANT)
    keep_start(checkpoint, problem, state)
    return problem, state, []


def run_rounds(
    estimator: Any,
    search: Search,
    stages: FitStages,
    progress: FitProgress,
    checkpoint: Keeper,
    fitted: Callable[[State, list[ObjectiveParts]], Any],
) -> tuple[State, list[ObjectiveParts]]:
    """The rounds of a fit that are left, each of them said, told and kept."""
    problem, state, before = search
    max_iter, tol = estimator.max_iter, estimator.tol
    if len(before) < max_iter and not is_settled(before, tol):
        progress.begin_round()
    report = stages.report_rounds(progress, fitted, partial(keep_round, checkpoint), before)
    return alternate(
        problem,
        state,
        estimator._updates,
        max_iter=max_iter,
        tol=tol,
        report=report,
        before=before,
    )
