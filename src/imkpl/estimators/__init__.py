"""scikit-learn estimators: the model and its relatives, scorers, stability, the cost of wishes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from imkpl.estimators._imkpl import IMKPL, ISKPL, TimeSeriesIMKPL

if TYPE_CHECKING:
    from imkpl.estimators._cost import WishCost, cost_of_wishes
    from imkpl.estimators._cv import IMKPLCV
    from imkpl.estimators._forget import Forgotten, forget
    from imkpl.estimators._multilabel import MultiLabelIMKPL
    from imkpl.estimators._pipeline import explain
    from imkpl.estimators._release import Released, release
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
    "Forgotten",
    "IMKPLSelector",
    "MultiLabelIMKPL",
    "Released",
    "Stability",
    "TimeSeriesIMKPL",
    "WishCost",
    "cost_of_wishes",
    "discrimination_scorer",
    "explain",
    "forget",
    "interpretability_scorer",
    "kernel_count_scorer",
    "release",
    "stability",
]

# Imported on use: they need parts of scikit-learn that a model alone does not.
_HOMES = {
    "_cost": ("WishCost", "cost_of_wishes"),
    "_cv": ("IMKPLCV",),
    "_forget": ("Forgotten", "forget"),
    "_multilabel": ("MultiLabelIMKPL",),
    "_pipeline": ("explain",),
    "_release": ("Released", "release"),
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
