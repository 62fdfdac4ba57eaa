"""The private parts of imkpl that this package builds on, imported in one place."""

from imkpl._json import to_json
from imkpl._progress import Progress, announce, listening, write_line
from imkpl._threads import limited_threads
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import Interval, StrOptions, fit_context, wants_data_frame
from imkpl.estimators._input import INPUT_ATTRIBUTES, kind_of
from imkpl.estimators._monitor import FitMonitor
from imkpl.estimators._training import TrainingData, adapt_kernels, read_training
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
    "adapt_kernels",
    "announce",
    "check_varying",
    "fit_context",
    "kind_of",
    "limited_threads",
    "listening",
    "read_training",
    "to_json",
    "wants_data_frame",
    "write_line",
]
