"""What accompanies a fit: announcements, scikit-learn's callbacks, and the checkpoint."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from imkpl._progress import Progress, announce, listening, write_line
from imkpl._threads import watch_compiler
from imkpl.estimators._checkpoint import Checkpoint, open_checkpoint
from imkpl.estimators._compat import FitCallbacks
from imkpl.estimators._training import TrainingData
from imkpl.model.alternate import is_settled
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import Problem, State

Describe = Callable[[State, list[ObjectiveParts]], dict[str, Any]]


class FitMonitor:
    """Watches one fit; with ``verbose=1`` every stage and round is a line on standard error."""

    checkpoint: Checkpoint | None = None

    def __init__(self, estimator: Any, **metadata: Any) -> None:
        self.estimator = estimator
        self.name = type(estimator).__name__
        given = {name: value for name, value in metadata.items() if value is not None}
        self._metadata = given or None
        self._start = time.monotonic()
        self._where = "while reading the data"
        self._listeners = ExitStack()

    def __enter__(self) -> Self:
        self._listeners.enter_context(listening(self._remember))
        self._listeners.enter_context(watch_compiler(self._say_compiling))
        if self.estimator.verbose:
            self._listeners.enter_context(listening(write_line))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listeners.close()
        if isinstance(error, KeyboardInterrupt):
            error.add_note(
                f"{self.name}.fit was interrupted {self._where}, after "
                f"{time.monotonic() - self._start:.0f} s. The estimator is as it was before."
            )

    def begin(self, data: TrainingData) -> TrainingData:
        """Open the checkpoint of a fit to these data, and tell the callbacks."""
        model = self.estimator
        if model.checkpoint is not None:
            self.checkpoint = open_checkpoint(model, *data.identity)
            announce("checkpoint", self.checkpoint.describe())
        self._callbacks = FitCallbacks(
            model, model.max_iter, {"X": data.X, "y": data.y, "metadata": self._metadata}
        )
        return data

    def resume(
        self, problem: Problem, state: State, describe: Describe
    ) -> tuple[State, list[ObjectiveParts]]:
        """Where to go on: the start, or the last round in the checkpoint."""
        model = self.estimator
        self._describe = describe
        self._history: list[ObjectiveParts] = []
        if self.checkpoint is not None:
            found = self.checkpoint.load_round(problem, model.max_iter)
            if found is not None:
                state, self._history = replace(found[0], centres=state.centres), found[1]
                done = len(self._history)
                announce("checkpoint", f"resumed from round {done} of at most {model.max_iter}")
        self._where = f"in round {len(self._history) + 1} of {model.max_iter}"
        if len(self._history) < model.max_iter and not is_settled(self._history, model.tol):
            self._callbacks.begin_round()
        return state, list(self._history)

    def report(self, iteration: int, state: State, parts: ObjectiveParts) -> bool:
        """Announce a round, tell the callbacks and save it; True ends the search."""
        model, history = self.estimator, self._history
        history.append(parts)
        announce(
            self.name,
            f"round {iteration + 1}/{model.max_iter}: objective {parts.total:.6g}, "
            f"{int((state.weights > 0).sum())} kernels, {state.prototypes.shape[0]} prototypes",
            iteration + 1,
            model.max_iter,
        )
        is_last = len(history) == model.max_iter or is_settled(history, model.tol)
        stop = self._callbacks.end_round(lambda: self._describe(state, history), is_last=is_last)
        if not stop and self.checkpoint is not None:
            self.checkpoint.save_round(state, history)
        return stop

    def finish(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes, now that nothing can fail any more, and tell the callbacks."""
        model, n_rounds = self.estimator, len(self._history)
        # A single round is a choice, not a search that was cut short.
        if 1 < n_rounds == model.max_iter and not is_settled(self._history, model.tol):
            warnings.warn(
                f"{self.name} stopped after max_iter={model.max_iter} rounds, before the "
                f"objective settled to tol={model.tol}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        model._store(fitted)
        self._callbacks.end(lambda: fitted)

    @staticmethod
    def _say_compiling(n_compiled: int) -> None:
        """Why the first fit of an installation takes seconds longer than all others."""
        if n_compiled % 5 == 0:
            announce("compiler", f"compiling, once for this installation: {n_compiled}")

    def _remember(self, progress: Progress) -> None:
        """Where the fit is, should it be interrupted."""
        if progress.source != self.name:
            return
        self._where = f"while {progress.message}"
        if progress.done is not None and progress.total is not None:
            self._where = f"in round {progress.done + 1:.0f} of {progress.total:.0f}"
