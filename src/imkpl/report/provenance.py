"""Where a report comes from: settings, versions, and a fingerprint of the data."""

from __future__ import annotations

import hashlib
import json
import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from imkpl import __version__
from imkpl.explanations.cells import read_cells
from imkpl.report.subject import Samples, Subject
from imkpl.series import SeriesSet
from imkpl.tables import Table


def describe_provenance(subject: Subject, created: datetime | None) -> dict[str, Any]:
    """Settings, versions, fingerprints and the time."""
    import sklearn

    when = (created or datetime.now(UTC)).astimezone(UTC)
    settings = subject.model.get_params(deep=False)
    return {
        "created": when.strftime("%Y-%m-%d %H:%M UTC"),
        "estimator": type(subject.model).__name__,
        "settings": [
            {"name": name, "value": _say_setting(settings[name])} for name in sorted(settings)
        ],
        "versions": {
            "imkpl": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
        "data": [
            {"part": part, **find_fingerprint(subject, samples)}
            for part, samples in (("held-out", subject.held_out), ("training", subject.train))
            if samples is not None
        ],
    }


def find_fingerprint(subject: Subject, samples: Samples) -> dict[str, Any]:
    """The SHA-256 of some samples and their labels, and their shape.

    Equal values give equal fingerprints, whatever held them: an array in any order of memory or a
    data frame. Numbers count as little-endian float64, labels and all else as JSON.
    """
    digest, X, covers = hashlib.sha256(), samples.given, "all values"
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        _add_numbers(digest, X)
    elif isinstance(X, SeriesSet):
        _add_numbers(digest, X.values)
        _add_numbers(digest, X.starts)
    elif isinstance(X, Table):
        for row in range(len(X)):
            _add_text(digest, X.display_values(row))
    elif subject.kind == "columns":
        covers = "the columns that the model reads"
        predictor = subject.explanation.evidence.predictor
        for row in range(len(samples.live)):
            _add_text(digest, read_cells(predictor, samples.live, row))
    else:
        return {"shape": [len(X)], "sha256": None, "covers": "nothing: the samples are objects"}
    if samples.labels is not None:
        _add_text(digest, samples.labels)
        covers += " and labels"
    shape = [int(size) for size in X.shape]
    return {"shape": shape, "sha256": digest.hexdigest(), "covers": covers}


def _add_numbers(digest: Any, values: Any) -> None:
    numbers = np.array(values, dtype="<f8", order="C")
    # Not all NaN have the same bits, and neither have the two zeros.
    numbers[np.isnan(numbers)] = np.nan
    numbers += 0.0
    _add_text(digest, list(numbers.shape))
    digest.update(numbers.tobytes())


def _add_text(digest: Any, value: Any) -> None:
    digest.update(json.dumps(value, ensure_ascii=True, default=str).encode() + b"\n")


def _say_setting(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
