"""scikit-learn estimators: the model and its relatives, scorers, stability, the cost of wishes."""

from imkpl.estimators._cost import WishCost, cost_of_wishes
from imkpl.estimators._cv import IMKPLCV
from imkpl.estimators._forget import Forgotten, forget
from imkpl.estimators._imkpl import IMKPL, ISKPL, TimeSeriesIMKPL
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
