"""What kind of samples a model reads: their values, their fingerprint, and which of them are equal.

Everything that explanations, plots and reports ask about the kind of samples is asked here.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from imkpl.kernels import PerColumn
from imkpl.kernels.base import take_samples
from imkpl.model.predictor import Predictor
from imkpl.series import SeriesSet
from imkpl.tables import Table


def name_kind(predictor: Predictor) -> str:
    """What the kernels of a model read: "columns", "series", "similarities" or "objects"."""
    if predictor.bank.reads == "series":
        return "series"
    if predictor.bank.reads == "similarities":
        return "similarities"
    return "objects" if read_cells(predictor, predictor.samples, 0) is None else "columns"


def is_matrix(samples: Any) -> bool:
    """Whether samples are numeric vectors, which can be averaged and standardized."""
    return isinstance(samples, np.ndarray) and samples.ndim == 2 and samples.dtype.kind == "f"


def read_cells(predictor: Predictor, samples: Any, row: int) -> list[Any] | None:
    """The value that each kernel reads in one sample; None unless each reads a single one."""
    if isinstance(samples, Table) and isinstance(predictor.bank, PerColumn):
        return predictor.bank._display_values(samples, row)
    columns = predictor.bank.kernel_columns
    if columns is None or not (isinstance(samples, np.ndarray) and samples.ndim == 2):
        return None
    return [float(samples[row, column]) for column in columns]


def is_training_data(model: Any, samples: Any) -> bool:
    """Whether these are the samples that the model was fitted to."""
    predictor: Predictor = model._predictor
    if len(samples) != model.prototypes_.shape[1]:
        return False
    if predictor.bank.reads == "similarities":
        return True
    behind, known = take_samples(samples, predictor.rows), predictor.samples
    if predictor.columns is not None:
        behind = behind[:, predictor.columns]
    if isinstance(behind, SeriesSet):
        # Channel names may be known for one of them only.
        return bool(
            np.array_equal(behind.starts, known.starts)
            and np.array_equal(behind.values, known.values, equal_nan=True)
        )
    # Other objects need not define equality.
    return not isinstance(behind, np.ndarray) or bool(np.array_equal(behind, known))


def fingerprint(
    predictor: Predictor, samples: Any, live: Any, labels: list[Any] | None
) -> dict[str, Any]:
    """The SHA-256 of samples and labels, their shape, and what it covers.

    Equal values have equal fingerprints whether they came in an array of any memory order or in a
    data frame. `live` holds the columns that the model reads.
    """
    digest, covers = hashlib.sha256(), "all values"
    if isinstance(samples, np.ndarray) and samples.dtype.kind in "biuf":
        _add_numbers(digest, samples)
    elif isinstance(samples, SeriesSet):
        _add_numbers(digest, samples.values)
        _add_numbers(digest, samples.starts)
    elif isinstance(samples, Table):
        for row in range(len(samples)):
            _add_text(digest, samples.display_values(row))
    elif name_kind(predictor) == "columns":
        covers = "the columns that the model reads"
        for row in range(len(live)):
            _add_text(digest, read_cells(predictor, live, row))
    else:
        covers = "nothing: the samples are objects"
        return {"shape": [len(samples)], "sha256": None, "covers": covers}
    if labels is not None:
        _add_text(digest, labels)
        covers += " and labels"
    shape = [int(size) for size in samples.shape]
    return {"shape": shape, "sha256": digest.hexdigest(), "covers": covers}


def sample_keys(samples: Any) -> list[bytes] | None:
    """A key for every sample, equal for equal samples; None for similarities and other objects."""
    if isinstance(samples, SeriesSet):
        return [np.ascontiguousarray(one, dtype="<f8").tobytes() for one in samples]
    if isinstance(samples, Table):
        # Tables number their categories in order of appearance, so the displayed values count.
        return [json.dumps(samples.display_values(row)).encode() for row in range(len(samples))]
    if isinstance(samples, np.ndarray) and samples.ndim == 2 and samples.dtype.kind in "biuf":
        return [row.tobytes() for row in np.ascontiguousarray(samples, dtype="<f8") + 0.0]
    return None


def to_label(value: Any) -> Any:
    """A class label or the name of a sample as a built-in Python object."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str) else str(value)


def _add_numbers(digest: Any, values: Any) -> None:
    numbers = np.array(values, dtype="<f8", order="C")
    # NaN comes in many bit patterns, and zero in two.
    numbers[np.isnan(numbers)] = np.nan
    numbers += 0.0
    _add_text(digest, list(numbers.shape))
    digest.update(numbers.tobytes())


def _add_text(digest: Any, value: Any) -> None:
    digest.update(json.dumps(value, ensure_ascii=True, default=str).encode() + b"\n")
