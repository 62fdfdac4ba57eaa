"""scikit-learn estimators, scorers, stability, the path over numbers of features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from imkpl.estimators._imkpl import IMKPL, ISKPL

if TYPE_CHECKING:
    from imkpl.estimators._path import FeaturePath, path
    from imkpl.estimators._pipeline import explain
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
    "Stability",
    "discrimination_scorer",
    "explain",
    "interpretability_scorer",
    "kernel_count_scorer",
    "path",
    "stability",
]

# Imported on use: they need parts of scikit-learn that a model alone does not.
_HOMES = {
    "_path": ("FeaturePath", "path"),
    "_pipeline": ("explain",),
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
