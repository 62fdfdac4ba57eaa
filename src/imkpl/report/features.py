"""The features that were kept: their weights, and their values in every class."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from imkpl.explanations.cells import as_plain_label, read_cells
from imkpl.report.subject import Samples, Subject, choose_evenly

# Values of so many features are shown, of fewer where there are many classes; the weights of all.
MOST_DESCRIBED, FEWEST_DESCRIBED = 24, 8
MOST_ROWS = 300
# Quantiles from so many samples are exact enough to draw.
MOST_SAMPLES = 4000
MOST_CATEGORIES = 8
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

WHY_NO_VALUES = {
    "series": (
        "The features are channels of time series, which have no single value per sample. The "
        "series behind the prototypes are drawn with the classes."
    ),
    "similarities": (
        "The model was given similarities between samples, not the samples, so there are no values "
        "to show."
    ),
    "objects": (
        "The kernels compare whole samples, or several columns at a time, so no single value "
        "belongs to a kernel."
    ),
}


def describe_features(subject: Subject) -> dict[str, Any]:
    """Weights of all kernels kept, and how their values are spread within the classes."""
    explanation = subject.explanation
    weights = explanation.feature_weights
    order = [int(place) for place in np.argsort(-weights, kind="stable")]
    features: list[dict[str, Any]] = [
        {
            "feature": place,
            "name": explanation.feature_names[place],
            "weight": float(weights[place]),
        }
        for place in order
    ]
    found = {"features": features, "described_on": None, "n_described": 0}
    if subject.kind != "columns":
        return {**found, "why_absent": WHY_NO_VALUES[subject.kind]}
    whose, samples = "training samples", subject.train
    if samples is None or samples.labels is None:
        whose, samples = "held-out samples", subject.held_out
    labels = samples.labels
    if labels is None:
        places = explanation.winners
        labels = [subject.classes[place] for place in places]
        whose = "held-out samples, by predicted class"
    rows = choose_evenly(labels, MOST_SAMPLES)
    cells = _read_all(subject, samples, rows)
    kinds = [labels[row] for row in rows]
    n_shown = max(FEWEST_DESCRIBED, min(MOST_DESCRIBED, MOST_ROWS // len(subject.classes)))
    for feature in features[:n_shown]:
        values = [row[feature["feature"]] for row in cells]
        feature["distribution"] = describe_values(values, kinds, subject.classes)
        feature["marks"] = _mark_prototypes(subject, feature["feature"])
    return {
        **found,
        "described_on": whose,
        "n_described": len(rows),
        "why_absent": None,
    }


def describe_values(values: list[Any], labels: list[Any], classes: list[Any]) -> dict[str, Any]:
    """How the values of one feature are spread within the classes."""
    by_class: dict[Any, list[Any]] = {label: [] for label in classes}
    for value, label in zip(values, labels, strict=True):
        if label in by_class:
            by_class[label].append(None if _is_missing(value) else value)
    seen = {label: [v for v in group if v is not None] for label, group in by_class.items()}
    missing = [len(by_class[label]) - len(seen[label]) for label in classes]
    if all(_is_number(value) for group in seen.values() for value in group):
        rows = [
            {
                "label": label,
                "n": len(seen[label]),
                "n_missing": n_missing,
                "quantiles": (
                    np.quantile(np.array(seen[label], float), QUANTILES).tolist()
                    if seen[label]
                    else None
                ),
            }
            for label, n_missing in zip(classes, missing, strict=True)
        ]
        return {"kind": "number", "classes": rows}
    frequent = Counter(str(value) for group in seen.values() for value in group).most_common()
    shown = [name for name, _ in frequent[:MOST_CATEGORIES]]
    rows = []
    for label, n_missing in zip(classes, missing, strict=True):
        counts = Counter(str(value) for value in seen[label])
        shown_counts = [counts[name] for name in shown]
        rows.append(
            {
                "label": label,
                "n": len(seen[label]),
                "n_missing": n_missing,
                "counts": [*shown_counts, len(seen[label]) - sum(shown_counts)],
            }
        )
    n_other = len(frequent) - len(shown)
    return {"kind": "category", "categories": shown, "n_other_categories": n_other, "classes": rows}


def _read_all(subject: Subject, samples: Samples, rows: Any) -> list[list[Any]]:
    predictor = subject.explanation.evidence.predictor
    return [read_cells(predictor, samples.live, int(row)) or [] for row in rows]


def _mark_prototypes(subject: Subject, feature: int) -> list[dict[str, Any]]:
    """The values of the real samples behind the prototypes."""
    explanation, predictor = subject.explanation, subject.explanation.evidence.predictor
    marks = []
    for place, label in enumerate(explanation.support_classes):
        cells = read_cells(predictor, predictor.samples, place)
        marks.append(
            {
                "sample": as_plain_label(explanation.support_ids[place]),
                "class": as_plain_label(label),
                "value": None if cells is None else cells[feature],
            }
        )
    return marks


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
