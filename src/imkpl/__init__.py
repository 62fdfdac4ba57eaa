"""Interpretable multiple-kernel prototype learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imkpl import report
    from imkpl.estimators import IMKPL, ISKPL, IMKPLRegressor, explain, path, stability
    from imkpl.files import export, load, save

__version__ = "0.1.0"

__all__ = [
    "IMKPL",
    "ISKPL",
    "IMKPLRegressor",
    "__version__",
    "annotate",
    "explain",
    "export",
    "load",
    "path",
    "report",
    "save",
    "stability",
]


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes over a second; it is put off until it is needed.
    if name in ("export", "load", "save"):
        from imkpl import files

        return getattr(files, name)
    if name == "report":
        return import_module("imkpl.report")
    if name in __all__:
        from imkpl import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
