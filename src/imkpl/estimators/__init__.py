"""scikit-learn estimators, scorers, stability, the path over numbers of features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from imkpl.estimators._imkpl import IMKPL, ISKPL

if TYPE_CHECKING:
    from imkpl.estimators._cost import WishCost, cost_of_wishes
    from imkpl.estimators._forget import Forgotten, forget
    from imkpl.estimators._path import FeaturePath, path
    from imkpl.estimators._pipeline import explain
    from imkpl.estimators._release import Released, release
    from imkpl.estimators._scorers import (
        discrimination_scorer,
        interpretability_scorer,
        kernel_count_scorer,
    )
    from imkpl.estimators._stability import Stability, stability

__all__ = [
    "IMKPL",
    "ISKPL",
    "FeaturePath",
    "Forgotten",
    "Released",
    "Stability",
    "WishCost",
    "cost_of_wishes",
    "discrimination_scorer",
    "explain",
    "forget",
    "interpretability_scorer",
    "kernel_count_scorer",
    "path",
    "release",
    "stability",
]

# Imported on use: they need parts of scikit-learn that a model alone does not.
_HOMES = {
    "_cost": ("WishCost", "cost_of_wishes"),
    "_forget": ("Forgotten", "forget"),
    "_path": ("FeaturePath", "path"),
    "_pipeline": ("explain",),
    "_release": ("Released", "release"),
    "_scorers": ("discrimination_scorer", "interpretability_scorer", "kernel_count_scorer"),
    "_stability": ("Stability", "stability"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"imkpl.estimators.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
