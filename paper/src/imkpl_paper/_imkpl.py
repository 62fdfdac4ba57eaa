"""The private parts of imkpl that this package builds on, imported in one place."""

from imkpl._json import to_json
from imkpl._progress import Progress, announce, listening, write_line
from imkpl._threads import limited_threads
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import Interval, StrOptions, fit_context, wants_data_frame
from imkpl.estimators._input import read_new, read_training
from imkpl.estimators._stages import FitStages
from imkpl.estimators._training import (
    TrainingPart,
    adapt_to_part,
    check_varying,
    find_distinct,
    tabulate_kernels,
)
from imkpl.estimators._weights import find_classes

__all__ = [
    "BoolArray",
    "FitStages",
    "FloatArray",
    "IntArray",
    "Interval",
    "Progress",
    "StrOptions",
    "TrainingPart",
    "adapt_to_part",
    "announce",
    "check_varying",
    "find_classes",
    "find_distinct",
    "fit_context",
    "limited_threads",
    "listening",
    "read_new",
    "read_training",
    "tabulate_kernels",
    "to_json",
    "wants_data_frame",
    "write_line",
]
