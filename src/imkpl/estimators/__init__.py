"""scikit-learn estimators, scorers, stability, the path over numbers of features."""

from imkpl.estimators._cells import annotate
from imkpl.estimators._evaluation import (
    FeaturePath,
    Stability,
    discrimination_scorer,
    interpretability_scorer,
    path,
    stability,
)
from imkpl.estimators._imkpl import IMKPL, ISKPL
from imkpl.estimators._pipeline import explain
from imkpl.estimators._regressor import IMKPLRegressor

__all__ = [
    "IMKPL",
    "ISKPL",
    "FeaturePath",
    "IMKPLRegressor",
    "Stability",
    "annotate",
    "discrimination_scorer",
    "explain",
    "interpretability_scorer",
    "path",
    "stability",
]
