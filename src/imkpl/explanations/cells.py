"""What the samples looked like: their own values, as a person would read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl.kernels import PerColumn
from imkpl.model.predictor import Predictor
from imkpl.tables import Table


def read_cells(predictor: Predictor, samples: Any, row: int) -> list[Any] | None:
    """The value that each kernel reads in one sample."""
    if isinstance(samples, Table) and isinstance(predictor.bank, PerColumn):
        return predictor.bank._display_values(samples, row)
    columns = predictor.bank.kernel_columns
    if columns is None or not (isinstance(samples, np.ndarray) and samples.ndim == 2):
        return None
    return [float(samples[row, column]) for column in columns]


def as_plain_label(label: Any) -> Any:
    """A class label or a sample's name as a plain Python object."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, bool | int | float | str) else str(value)
