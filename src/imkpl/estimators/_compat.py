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
