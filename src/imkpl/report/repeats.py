"""Samples that are there more than once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from imkpl.explanations.cells import as_plain_label
from imkpl.report.subject import Samples, Subject
from imkpl.series import SeriesSet
from imkpl.tables import Table

MOST_NAMED = 20


def describe_repeats(subject: Subject) -> dict[str, Any] | None:
    """Equal samples within the training part, and held-out samples that are in it."""
    if subject.train is None or subject.kind == "similarities":
        return None
    train, held_out = _find_keys(subject.train), _find_keys(subject.held_out)
    if train is None or held_out is None:
        return None
    owners: dict[bytes, list[int]] = {}
    for row, key in enumerate(train):
        owners.setdefault(key, []).append(row)
    labels = subject.train.labels or [None] * len(train)
    repeated = [rows for rows in owners.values() if len(rows) > 1]
    conflicting = [rows for rows in repeated if len({str(labels[row]) for row in rows}) > 1]
    leaked = [row for row, key in enumerate(held_out) if key in owners]
    ids = subject.explanation.sample_ids
    return {
        "n_repeated": sum(len(rows) - 1 for rows in repeated),
        "n_conflicting": len(conflicting),
        "n_leaked": len(leaked),
        "leaked": [as_plain_label(ids[row]) for row in leaked[:MOST_NAMED]],
    }


def _find_keys(samples: Samples) -> list[bytes] | None:
    """The bytes of every sample; equal for equal samples."""
    X = samples.given
    if isinstance(X, SeriesSet):
        return [np.ascontiguousarray(one, dtype="<f8").tobytes() for one in X]
    if isinstance(X, Table):
        # Tables number their categories as they come, so cells are compared as they were given.
        return [json.dumps(X.display_values(row)).encode() for row in range(len(X))]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return [row.tobytes() for row in np.ascontiguousarray(X, dtype="<f8") + 0.0]
    return None
