"""What scikit-learn has no public names for, in one place; callbacks and lines of progress."""

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from imkpl._progress import announce, listening, write_line
from imkpl.model.alternate import is_settled
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import State

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks.

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin; there is nothing to call."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = [
    "INPUT_ATTRIBUTES",
    "CallbackSupportMixin",
    "FitMonitor",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "input_places",
    "safe_split",
    "wants_data_frame",
    "with_callbacks",
]


def wants_data_frame(estimator: Any) -> bool:
    """Whether `set_output` asked for a data frame, which cannot hold a sparse array."""
    return bool(_get_output_config("transform", estimator)["dense"] != "default")


def input_places(transformer: Any, name: str) -> list[int]:
    """The columns that one part of a `ColumnTransformer` reads, by their places."""
    return list(transformer._transformer_to_input_indices[name])


# What a fit learns about the form of its input, which another fit may not have.
INPUT_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "n_channels_in_")


class FitMonitor(ExitStack):
    """Watches one fit; with ``verbose=1`` every stage and round is a line on standard error."""

    # The tasks of scikit-learn's callbacks; versions before 1.9 have none.
    _fit: Any = None
    _round: Any = None

    def __init__(self, estimator: Any) -> None:
        super().__init__()
        self.estimator, self.name = estimator, type(estimator).__name__
        if estimator.verbose:
            self.enter_context(listening(write_line))

    def begin(self, X: Any, y: Any, metadata: dict[str, Any]) -> None:
        """Tell the callbacks that a fit to these data begins."""
        known = {name: value for name, value in metadata.items() if value is not None}
        model = self.estimator
        self._shown = {"estimator": model, "X": X, "y": y, "metadata": known or None}
        start = getattr(model, "_init_callback_context", None)
        if start is not None:
            self._fit = start(max_subtasks=model.max_iter)
            self._fit.call_on_fit_task_begin(**self._shown)

    def begin_round(self, number: int) -> None:
        """Tell the callbacks that a round begins, if there is to be one of that number."""
        if self._fit is not None and number <= self.estimator.max_iter:
            task = self._fit.subcontext(task_name="round")
            self._round = task.call_on_fit_task_begin(**self._shown)

    def report(
        self,
        describe: Callable[[State, list[ObjectiveParts]], dict[str, Any]],
        state: State,
        history: list[ObjectiveParts],
    ) -> bool:
        """Announce a round and tell the callbacks; True ends the search."""
        model, n_rounds = self.estimator, len(history)
        announce(
            self.name,
            f"round {n_rounds}/{model.max_iter}: objective {history[-1].total:.6g}, "
            f"{int((state.weights > 0).sum())} kernels, {state.prototypes.shape[0]} prototypes",
            n_rounds,
            model.max_iter,
        )
        stop = self._round is not None and self._round.call_on_fit_task_end(
            **self._shown, reconstruction_attributes=lambda: describe(state, history)
        )
        if not (stop or is_settled(history, model.tol)):
            self.begin_round(n_rounds + 1)
        return bool(stop)

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
        for name in (*INPUT_ATTRIBUTES, "provenance_"):
            vars(model).pop(name, None)
        vars(model).update(fitted)
        if self._fit is not None:
            self._fit.call_on_fit_task_end(**self._shown, reconstruction_attributes=lambda: fitted)
