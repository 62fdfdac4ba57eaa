"""scikit-learn estimators, scorers, stability, the path over numbers of features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from imkpl.estimators._imkpl import IMKPL, ISKPL

if TYPE_CHECKING:
    from imkpl.estimators._evaluation import (
        FeaturePath,
        Stability,
        discrimination_scorer,
        interpretability_scorer,
        path,
        stability,
    )
    from imkpl.estimators._pipeline import explain

__all__ = [
    "IMKPL",
    "ISKPL",
    "FeaturePath",
    "Stability",
    "discrimination_scorer",
    "explain",
    "interpretability_scorer",
    "path",
    "stability",
]


def __getattr__(name: str) -> Any:
    # Imported on use: they need parts of scikit-learn that a model alone does not.
    if name in __all__:
        home = "_pipeline" if name == "explain" else "_evaluation"
        return getattr(import_module(f"imkpl.estimators.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
