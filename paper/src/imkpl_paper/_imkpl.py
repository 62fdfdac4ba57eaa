"""The private parts of imkpl that this package builds on, imported in one place."""

from imkpl._json import to_json
from imkpl._progress import Progress, announce, listening, write_line
from imkpl._threads import limited_threads
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import (
    INPUT_ATTRIBUTES,
    FitMonitor,
    Interval,
    StrOptions,
    fit_context,
    wants_data_frame,
)
from imkpl.estimators._input import choose_bank
from imkpl.estimators._training import TrainingData, read_training
from imkpl.kernels.normalize import normalized
from imkpl.kernels.sources import map_in_order
from imkpl.model.problem import check_varying

__all__ = [
    "INPUT_ATTRIBUTES",
    "BoolArray",
    "FitMonitor",
    "FloatArray",
    "IntArray",
    "Interval",
    "Progress",
    "StrOptions",
    "TrainingData",
    "announce",
    "check_varying",
    "choose_bank",
    "fit_context",
    "limited_threads",
    "listening",
    "map_in_order",
    "normalized",
    "read_training",
    "to_json",
    "wants_data_frame",
    "write_line",
]
