"""A model as numbers: a dict without code from which other programs predict and explain.

The form of the page (`report/static/predictor.js`) reads it, and docs/deployment.md describes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl.explanations.case_card import Comparison
from imkpl.explanations.explanation import Explanation
from imkpl.explanations.exports import to_label
from imkpl.kernels import Kernels
from imkpl.tables import MISSING_TEXTS

# Entries of the dict that say what it is; the version rises when others change their meaning.
FORMAT, VERSION = "imkpl portable model", 1
OBSTACLES = {
    "series": "the model compares time series, not single values",
    "similarities": "the model was given similarities, not the samples themselves",
    "words": "the model is about words, which count relative to all words of a text, kept or not",
}


def find_obstacle(explanation: Explanation) -> str | None:
    """Why a model cannot be described by numbers alone; None if it can."""
    predictor = explanation.evidence.predictor
    if predictor.kernels.input_kind in OBSTACLES:
        return OBSTACLES[predictor.kernels.input_kind]
    if predictor.kernels.rule(0) is None:
        return "the kernels of this model are functions that only Python can evaluate"
    if explanation.units is not None:
        return "samples pass through a pipeline, which only Python can do"
    if predictor.votes is None:
        return 'a decision="share" solves a problem for every case that only Python can solve'
    return None


def describe_model(explanation: Explanation, temperature: float) -> dict[str, Any]:
    """The model that explains, without obstacles; the explanation may be one of no samples."""
    predictor, features = explanation.evidence.predictor, explanation.comparison
    encoder, votes, kernels = predictor.encoder, predictor.votes, predictor.kernels
    assert votes is not None
    mixes = [predictor.mixes[[j]] for j in range(predictor.mixes.shape[0])]
    owners = np.argmax(features.owners, axis=1)
    return {
        "format": FORMAT,
        "version": VERSION,
        "classes": [to_label(label) for label in explanation.classes],
        "temperature": temperature,
        "sharpness": votes.sharpness,
        "novelty_threshold": explanation.novelty_threshold,
        "sparsity": encoder.sparsity,
        "takes_missing": kernels.input_kind == "tables",
        "missing_texts": sorted(MISSING_TEXTS),
        "features": [
            {"column": explanation.column_names[column], **_describe_feature(features, i)}
            for i, column in enumerate(features.columns.tolist())
        ],
        "kernels": [
            {"feature": owners[kernel], "weight": predictor.weights[kernel]}
            | _describe_kernel(kernels, kernel, features.first[owners[kernel]])
            for kernel in range(kernels.n_kernels)
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
    }


def _describe_feature(features: Comparison, place: int) -> dict[str, Any]:
    words, is_flag = features.vocabularies[place], features.is_flag[place]
    return {
        "name": features.names[place],
        "kind": "flag" if is_flag else "number" if words is None else "category",
        "evidence": features.evidence[place],
        "range": features.ranges[place],
        "categories": None if words is None else [word for word in words if word is not None],
        "knows_missing": words is not None and None in words,
    }


def _describe_kernel(kernels: Kernels, index: int, first: int) -> dict[str, Any]:
    """How two cells are compared; `first` is the kernel whose reading is the cell."""
    rule = kernels.rule(index) or {}
    # Where only this kernel reads the column, the cell says whether it is missing.
    is_cell = rule["kind"] == "missing" and index == first
    return {**rule, "kind": "category"} if is_cell else rule
