"""A model as numbers: all that a page needs to predict a case that is typed in.

`static/predictor.js` computes from this dict what `predict_proba` and `explain` compute, to the
last few bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl.explanations.card import Comparison
from imkpl.explanations.exports import to_label
from imkpl.kernels import PerColumn, PerFeatureGaussian
from imkpl.kernels.table import ColumnKernels
from imkpl.report.decisions import MOST_EXPLAINED
from imkpl.report.subject import Subject, choose_rows

# Cells of the support samples, and as many of held-out samples to start from.
MOST_CELLS = 60_000
WHY_NO_FORM = {
    "series": "the model compares time series, which cannot be typed in",
    "similarities": "the model was given similarities, not the samples themselves",
    "objects": "the kernels of this model are functions that only Python can evaluate",
}


def describe_form(subject: Subject) -> dict[str, Any]:
    """What `predictor.js` reads, or why the page has no form."""
    why = _find_obstacle(subject)
    if why is not None:
        return {"why_absent": f"There is no form for cases of your own: {why}."}
    return {"why_absent": None, **_describe_model(subject)}


def _find_obstacle(subject: Subject) -> str | None:
    """Why only Python can predict a case."""
    explanation, predictor = subject.explanation, subject.predictor
    if subject.kind in WHY_NO_FORM:
        return WHY_NO_FORM[subject.kind]
    if explanation.kind.word == "words":
        return "the model is about words; use predict for new texts"
    if not isinstance(predictor.bank, PerColumn | PerFeatureGaussian):
        return WHY_NO_FORM["objects"]
    if explanation.kind.is_restored:
        return "samples pass through a pipeline, which only Python can do"
    if predictor.votes is None:
        return 'a decision="share" solves a problem for every case that only Python can solve'
    n_support = len(explanation.support_ids)
    if n_support * len(subject.features.names) > MOST_CELLS:
        return f"the {n_support} training cases behind this model would make the page too large"
    return None


def _describe_model(subject: Subject) -> dict[str, Any]:
    explanation, predictor, features = subject.explanation, subject.predictor, subject.features
    encoder, votes = predictor.encoder, predictor.votes
    assert votes is not None
    # Both banks have a table of kernels.
    bank: Any = predictor.bank
    table = bank.kernels
    mixes = [predictor.mixes[[j]] for j in range(predictor.mixes.shape[0])]
    owners = np.argmax(features.owners, axis=1)
    rows = choose_rows(subject, min(MOST_EXPLAINED, MOST_CELLS // len(features.names)))
    return {
        "classes": subject.classes,
        "temperature": subject.model.temperature_,
        "sharpness": votes.sharpness,
        "novelty_threshold": explanation.novelty_threshold,
        "entrance": encoder.entrance,
        "sparsity": encoder.sparsity,
        "takes_missing": isinstance(bank, PerColumn),
        "features": [
            _describe_feature(features, table, place) for place in range(len(features.names))
        ],
        "kernels": [
            {"feature": owners[kernel], "weight": predictor.weights[kernel]}
            | _describe_kernel(table, kernel, features.first[owners[kernel]])
            for kernel in range(bank.n_kernels)
        ],
        "support": [
            {
                "case": str(explanation.support_ids[place]),
                "label": to_label(explanation.support_classes[place]),
                "cells": features.support_cells(place),
            }
            for place in range(predictor.mixes.shape[1])
        ],
        "prototypes": [
            {
                "class": votes.classes[j],
                "bonus": votes.bonuses[j],
                "samples": mix.indices,
                "parts": mix.data,
                "total": mix.sum(),
                # Inner products with this prototype and those before it.
                "gram": encoder.gram[j, : j + 1],
            }
            for j, mix in enumerate(mixes)
        ],
        # Held-out samples, to start from.
        "cases": [
            {"row": row, "cells": features.cells(subject.held_out.live, row)}
            for row in rows.tolist()
        ],
    }


def _describe_feature(features: Comparison, table: Any, place: int) -> dict[str, Any]:
    is_flag = isinstance(table, ColumnKernels) and bool(table.is_mark[features.first[place]])
    words = features.vocabularies[place]
    return {
        "name": features.names[place],
        "kind": "flag" if is_flag else "number" if words is None else "category",
        "evidence": features.evidence[place],
        "range": features.ranges[place],
        "categories": None if words is None else [word for word in words if word is not None],
        "knows_missing": words is not None and None in words,
    }


def _describe_kernel(table: Any, kernel: int, first: int) -> dict[str, Any]:
    """How two cells are compared; `first` is the kernel whose reading is the cell."""
    found = {"kind": "number", "rate": table.rates[kernel]}
    if not isinstance(table, ColumnKernels):
        return found
    if table.is_mark[kernel]:
        # Where only this kernel reads the column, the cell says whether it is missing.
        return {**found, "kind": "category" if kernel == first else "missing"}
    if table.vocabularies[kernel] is not None:
        return {**found, "kind": "category"}
    return {**found, "fill": table.fills[kernel]}
