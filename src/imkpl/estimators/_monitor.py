"""What accompanies a fit: lines of progress, scikit-learn's callbacks, and where it was stopped."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from imkpl._progress import Progress, announce, listening, write_line
from imkpl._threads import watch_compiler
from imkpl.estimators._compat import FitCallbacks
from imkpl.estimators._training import TrainingData
from imkpl.model.alternate import is_settled
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import State

Describe = Callable[[State, list[ObjectiveParts]], dict[str, Any]]


class FitMonitor:
    """Watches one fit; with ``verbose=1`` every stage and round is a line on standard error."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.name = type(estimator).__name__
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

    def begin(self, data: TrainingData, metadata: dict[str, Any]) -> None:
        """Tell the callbacks that a fit to these data begins."""
        given = {name: value for name, value in metadata.items() if value is not None}
        shown = {"X": data.X, "y": data.y, "metadata": given or None}
        self._callbacks = FitCallbacks(self.estimator, self.estimator.max_iter, shown)

    def begin_rounds(self, describe: Describe) -> None:
        """Tell the callbacks that the first round begins."""
        self._describe = describe
        self._where = f"in round 1 of {self.estimator.max_iter}"
        self._callbacks.begin_round()

    def report(self, state: State, history: list[ObjectiveParts]) -> bool:
        """Announce a round and tell the callbacks; True ends the search."""
        model, n_rounds = self.estimator, len(history)
        announce(
            self.name,
            f"round {n_rounds}/{model.max_iter}: objective {history[-1].total:.6g}, "
            f"{int((state.weights > 0).sum())} kernels, {state.prototypes.shape[0]} prototypes",
            n_rounds,
            model.max_iter,
        )
        is_last = n_rounds == model.max_iter or is_settled(history, model.tol)
        return self._callbacks.end_round(lambda: self._describe(state, history), is_last=is_last)

    def finish(self, history: list[ObjectiveParts], fitted: dict[str, Any]) -> None:
        """Set the fitted attributes, now that nothing can fail any more, and tell the callbacks."""
        model = self.estimator
        # A single round is a choice, not a search that was cut short.
        if 1 < len(history) == model.max_iter and not is_settled(history, model.tol):
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
