"""Where a fit is: said to those who wait for it, and to those who interrupt it."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from imkpl.estimators._compat import FitProgress
from imkpl.model.alternate import is_settled
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import State


class FitStages:
    """The stages of a fit; an estimator whose fit does not come to its end is left as it was.

    Parameters
    ----------
    estimator : BaseEstimator
        What is being fitted. With a positive `verbose` every stage is a line on standard error.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.before = _learned(estimator)
        self.start = time.monotonic()
        self.stage = "while reading the data"

    def enter(self, stage: str) -> None:
        """Begin a stage, and say so."""
        self.stage = f"while {stage}"
        self.say(stage)

    def say(self, line: str | None) -> None:
        """Write a line to standard error, where that was asked for."""
        if self.estimator.verbose and line is not None:
            sys.stderr.write(f"[{type(self.estimator).__name__}] {line}\n")

    def report_rounds(
        self,
        progress: FitProgress,
        fitted: Callable[[State, list[ObjectiveParts]], Any],
        keep: Callable[[State, list[ObjectiveParts]], None],
        before: Sequence[ObjectiveParts] = (),
    ) -> Callable[[int, State, ObjectiveParts], bool]:
        """What to do after every round: say it, tell the callbacks, and keep it."""
        model, history = self.estimator, list(before)
        self.stage = f"in round {len(history) + 1} of {model.max_iter}"

        def report(iteration: int, state: State, parts: ObjectiveParts) -> bool:
            history.append(parts)
            self.stage = f"in round {iteration + 2} of {model.max_iter}"
            self.say(
                f"round {iteration + 1}/{model.max_iter}: objective {parts.total:.6g}, "
                f"{int((state.weights > 0).sum())} kernels, {state.prototypes.shape[0]} prototypes"
            )
            is_last = len(history) == model.max_iter or is_settled(history, model.tol)
            stop = progress.end_round(lambda: fitted(state, history), is_last=is_last)
            if not stop:
                keep(state, history)
            return stop

        return report

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            return
        for name in _learned(self.estimator):
            delattr(self.estimator, name)
        vars(self.estimator).update(self.before)
        if isinstance(error, KeyboardInterrupt):
            error.add_note(
                f"{type(self.estimator).__name__}.fit was interrupted {self.stage}, after "
                f"{time.monotonic() - self.start:.0f} s. The estimator is as it was before."
            )


def warn_unless_settled(estimator: Any, history: list[ObjectiveParts]) -> None:
    """Warn that a search was cut short."""
    # One round is a choice, not a search that was cut short.
    if 1 < len(history) == estimator.max_iter and not is_settled(history, estimator.tol):
        warnings.warn(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} rounds, "
            f"before the objective settled to tol={estimator.tol}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _learned(estimator: Any) -> dict[str, Any]:
    """The attributes that `fit` sets before its end."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
