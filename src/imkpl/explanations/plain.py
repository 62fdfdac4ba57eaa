"""Reasons as plain dicts and lists, for JSON and for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations.cells import as_plain_label, read_cells

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation


def as_plain(explanation: Explanation) -> dict[str, Any]:
    """An explanation without its full tables."""
    weights = explanation.feature_weights
    by_feature = explanation.feature_contributions()
    # Similarities split by kernels come in blocks; one sample is described at a time.
    samples = [
        _describe_sample(explanation, int(row), parts[place], by_feature[row])
        for rows, parts in explanation.evidence.split_similarities()
        for place, row in enumerate(rows)
    ]
    return {
        "classes": [as_plain_label(label) for label in explanation.classes],
        "features": [
            {"name": name, "weight": float(weight)}
            for name, weight in zip(explanation.feature_names, weights, strict=True)
        ],
        "novelty_threshold": explanation.novelty_threshold,
        "samples": samples,
    }


def _describe_sample(
    explanation: Explanation, row: int, parts: FloatArray, by_feature: FloatArray
) -> dict[str, Any]:
    evidence, names = explanation.evidence, explanation.feature_names
    shares = explanation.shares[[row]].tocoo()
    order = np.argsort(-shares.data, kind="stable")
    by_prototype = evidence.by_prototype(row)
    prototypes = [
        {
            **_describe_prototype(explanation, int(shares.coords[1][place])),
            "share": float(shares.data[place]),
            "similarity": float(evidence.similarities[row, shares.coords[1][place]]),
            "contributions": by_prototype[shares.coords[1][place]].tolist(),
            "feature_shares": _normalized(parts[shares.coords[1][place]]).tolist(),
        }
        for place in order
    ]
    cells = read_cells(evidence.predictor, evidence.samples, row)
    return {
        "sample": as_plain_label(explanation.sample_ids[row]),
        "prediction": as_plain_label(explanation.predicted[row]),
        "probabilities": explanation.probabilities[row].tolist(),
        "scores": explanation.scores[row].tolist(),
        "base_scores": evidence.base_scores[row].tolist(),
        "novelty": float(explanation.novelty[row]),
        "is_novel": bool(explanation.is_novel[row]),
        "prototypes": prototypes,
        "features": [
            {
                "name": name,
                "value": None if cells is None else cells[feature],
                "contributions": by_feature[feature].tolist(),
            }
            for feature, name in enumerate(names)
        ],
    }


def _describe_prototype(explanation: Explanation, prototype: int) -> dict[str, Any]:
    return {
        "prototype": prototype,
        "class": as_plain_label(explanation.prototype_classes[prototype]),
        "samples": [
            {
                "sample": as_plain_label(explanation.support_ids[place]),
                "class": as_plain_label(explanation.support_classes[place]),
                "share": share,
            }
            for place, share in explanation.samples_behind(prototype)
        ],
    }


def _normalized(parts: FloatArray) -> FloatArray:
    """Parts of a similarity as shares of it."""
    total = parts.sum()
    return np.asarray(parts / total) if total > 0 else np.zeros_like(parts)
