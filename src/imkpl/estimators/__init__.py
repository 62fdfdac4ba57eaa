"""The estimators: the only part of the library that knows scikit-learn."""

from imkpl.estimators._cv import IMKPLCV
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._iskpl import ISKPL
from imkpl.estimators._multilabel import MultiLabelIMKPL
from imkpl.estimators._scorers import (
    discrimination_scorer,
    interpretability_scorer,
    kernel_count_scorer,
)
from imkpl.estimators._selector import IMKPLSelector
from imkpl.estimators._series import TimeSeriesIMKPL

__all__ = [
    "IMKPL",
    "IMKPLCV",
    "ISKPL",
    "IMKPLSelector",
    "MultiLabelIMKPL",
    "TimeSeriesIMKPL",
    "discrimination_scorer",
    "interpretability_scorer",
    "kernel_count_scorer",
]
