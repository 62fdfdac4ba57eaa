"""The one place that uses private or version-dependent parts of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks.

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin; there is nothing to call."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "FitCallbacks",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "safe_split",
    "wants_data_frame",
    "with_callbacks",
]


def wants_data_frame(estimator: Any) -> bool:
    """Whether `set_output` asked for a data frame, which cannot hold a sparse array."""
    return bool(_get_output_config("transform", estimator)["dense"] != "default")


class FitCallbacks:
    """The hooks of scikit-learn's callbacks around the rounds of one fit."""

    def __init__(self, estimator: Any, max_iter: int, data: dict[str, Any]) -> None:
        self._common = {"estimator": estimator, **data}
        start = getattr(estimator, "_init_callback_context", None)
        self._root = None if start is None else start(max_subtasks=max_iter)
        if self._root is not None:
            self._root.call_on_fit_task_begin(**self._common)
        self._round: Any = None

    def begin_round(self) -> None:
        """Tell the callbacks that a round begins."""
        if self._root is not None:
            task = self._root.subcontext(task_name="round")
            self._round = task.call_on_fit_task_begin(**self._common)

    def end_round(self, fitted: Any, *, is_last: bool) -> bool:
        """Tell the callbacks that a round is over."""
        if self._round is None:
            return False
        stop = self._round.call_on_fit_task_end(**self._common, reconstruction_attributes=fitted)
        self._round = None
        if not (stop or is_last):
            self.begin_round()
        return bool(stop)

    def end(self, fitted: Any) -> None:
        """Tell the callbacks that the fit is over."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._common, reconstruction_attributes=fitted)
