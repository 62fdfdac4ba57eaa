"""A model and samples as one plain dict: all that a report shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from imkpl.report.accuracy import describe_accuracy, describe_measures
from imkpl.report.curves import describe_curves
from imkpl.report.embedding import describe_embedding
from imkpl.report.features import describe_features
from imkpl.report.plain import as_json_ready
from imkpl.report.prototypes import describe_prototypes
from imkpl.report.provenance import describe_provenance
from imkpl.report.repeats import describe_repeats
from imkpl.report.samples import describe_samples
from imkpl.report.sentences import say_summary, say_warnings
from imkpl.report.subject import Subject, read_subject

# Raised when the meaning of a key changes.
FORMAT = 1


def summarize(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    created: datetime | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as plain dicts, lists, numbers and strings.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
    X : samples
        Samples that it has not seen, in the form that was given to `fit`.
    y : array-like of shape (n_samples,), optional
        Their classes. Without them there is nothing about accuracy.
    train : tuple (X, y), optional
        What the model was fitted to: for the distributions of features, the map, and equal samples.
    title : str, optional
        The heading.
    created : datetime, optional
        When the report was made; now by default.

    Returns
    -------
    dict
        Ready for JSON. Numbers have six digits.
    """
    subject = read_subject(model, X, y, train)
    found: dict[str, Any] = {
        "format": FORMAT,
        "title": title or f"{type(model).__name__}: what it learned, and how it decides",
        "kind": subject.kind,
        "classes": subject.classes,
        "size": describe_size(subject),
        "accuracy": describe_accuracy(subject),
        "measures": describe_measures(subject),
        "prototypes": describe_prototypes(subject),
        "curves": describe_curves(subject),
        "features": describe_features(subject),
        "embedding": describe_embedding(subject),
        "repeats": describe_repeats(subject),
        "samples": describe_samples(subject),
        "provenance": describe_provenance(subject, created),
    }
    found["summary"] = say_summary(found)
    found["warnings"] = say_warnings(found)
    plain: dict[str, Any] = as_json_ready(found)
    return plain


def describe_size(subject: Subject) -> dict[str, Any]:
    """How much the model kept, and of how much."""
    model = subject.model
    columns, weights = model._kernel_columns, model.kernel_weights_
    if columns is None:
        kept, total, word = int(np.count_nonzero(weights)), weights.size, "kernel"
    else:
        kept, total = np.unique(columns[weights > 0]).size, model.n_features_in_
        word = "channel" if subject.kind == "series" else "feature"
    return {
        "n_prototypes": int(model.prototypes_.shape[0]),
        "n_support": int(model.support_.size),
        "n_train": int(model.prototypes_.shape[1]),
        "n_features": int(total),
        "n_features_kept": kept,
        "feature_word": word,
    }
