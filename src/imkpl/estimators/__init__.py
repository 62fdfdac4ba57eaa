"""scikit-learn estimators: the model and its relatives, scorers, stability."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from imkpl.estimators._imkpl import IMKPL, ISKPL, TimeSeriesIMKPL

if TYPE_CHECKING:
    from imkpl.estimators._cv import IMKPLCV
    from imkpl.estimators._multilabel import MultiLabelIMKPL
    from imkpl.estimators._pipeline import explain
    from imkpl.estimators._scorers import (
        discrimination_scorer,
        interpretability_scorer,
        kernel_count_scorer,
    )
    from imkpl.estimators._selector import IMKPLSelector
    from imkpl.estimators._stability import Stability, stability

__all__ = [
    "IMKPL",
    "IMKPLCV",
    "ISKPL",
    "IMKPLSelector",
    "MultiLabelIMKPL",
    "Stability",
    "TimeSeriesIMKPL",
    "discrimination_scorer",
    "explain",
    "interpretability_scorer",
    "kernel_count_scorer",
    "stability",
]

# Imported on use: they need parts of scikit-learn that a model alone does not.
_HOMES = {
    "_cv": ("IMKPLCV",),
    "_multilabel": ("MultiLabelIMKPL",),
    "_pipeline": ("explain",),
    "_scorers": ("discrimination_scorer", "interpretability_scorer", "kernel_count_scorer"),
    "_selector": ("IMKPLSelector",),
    "_stability": ("Stability", "stability"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"imkpl.estimators.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
