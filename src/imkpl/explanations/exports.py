"""Explanations as dicts, data frames and SHAP objects, and a model as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from imkpl._checks import import_extra
from imkpl._json import to_json
from imkpl._typing import FloatArray
from imkpl.tables import MISSING_TEXTS

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation
    from imkpl.kernels import Kernels
    from imkpl.model.predictor import Predictor

# What a portable model is; the version rises when entries change their meaning.
FORMAT, VERSION = "imkpl portable model", 2
OBSTACLES = {
    "series": "the model compares time series, not single values",
    "similarities": "the model was given similarities, not the samples themselves",
    "words": "the model is about words, which count relative to all words of a text, kept or not",
}
# Prototypes with a smaller share in the decision are left out of dicts, but for the first one of
# the runner-up.
LEAST_SHARE = 0.001


def to_label(value: Any) -> Any:
    """A class label or the name of a sample as a built-in Python object; 1.0 is called 1."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def as_whole(labels: Any) -> Any:
    """Class labels that are whole numbers as integers, so that 1.0 is called 1."""
    is_whole = labels.dtype.kind == "f" and bool(np.all(np.mod(labels, 1) == 0))
    return labels.astype(np.int64) if is_whole else labels


def build_dict(explanation: Explanation) -> dict[str, Any]:
    """Everything but the full tables, ready for JSON."""
    by_feature = explanation.feature_contributions()
    # Similarities by kernel come in blocks of samples.
    samples = [
        _describe_sample(explanation, int(row), parts[place], by_feature[row])
        for rows, parts in explanation.evidence.split_similarities()
        for place, row in enumerate(rows)
    ]
    names, weights = explanation.feature_names, explanation.feature_weights
    found: dict[str, Any] = to_json(
        {
            "decision": explanation.decision,
            "classes": [to_label(label) for label in explanation.classes],
            "features": [
                {"name": name, "weight": weights[i], "evidence": explanation.feature_evidence[i]}
                for i, name in enumerate(names)
            ],
            "expected_false_features": explanation.expected_false_features,
            "novelty_threshold": explanation.novelty_threshold,
            "samples": samples,
        }
    )
    return found


def _describe_sample(
    explanation: Explanation, row: int, parts: FloatArray, by_feature: FloatArray
) -> dict[str, Any]:
    evidence, one = explanation.evidence, explanation[row]
    shares = one.shares.toarray().ravel()
    is_against = one.sides[0] == one.runners_up[0]
    against = np.argmax(np.where(is_against, shares, 0.0))
    is_named = shares >= LEAST_SHARE
    is_named[against] = shares[against] > 0
    by_prototype = explanation.prototype_contributions(row)
    bonuses = find_bonuses(explanation)
    prototypes = []
    order = np.argsort(-shares, kind="stable")
    for prototype in order[is_named[order]].tolist():
        prototypes.append(
            {
                "prototype": prototype,
                "class": to_label(explanation.prototype_classes[prototype]),
                **name_samples(explanation, prototype),
                "share": shares[prototype],
                "similarity": evidence.similarities[row, prototype],
                "resemblance": evidence.compared.resemblances[row, prototype],
                "bonus": bonuses[prototype],
                "contributions": by_prototype[prototype],
                "feature_parts": parts[prototype],
            }
        )
    cells = explanation.cells(row)
    return {
        "sample": to_label(explanation.sample_ids[row]),
        "prediction": to_label(explanation.predicted[row]),
        "probabilities": explanation.probabilities[row],
        "scores": explanation.scores[row],
        "base_scores": one.base_values[0],
        "code_shares": one.code_shares[0],
        "code_disagrees": one.code_disagrees[0],
        "novelty": explanation.novelty[row],
        "is_novel": explanation.is_novel[row],
        "prototypes": prototypes,
        "features": [
            {
                "name": name,
                "value": None if cells is None else cells[feature],
                "contributions": by_feature[feature],
            }
            for feature, name in enumerate(explanation.feature_names)
        ],
        "bonus": by_feature[-2],
        "rest": by_feature[-1],
    }


def name_samples(explanation: Explanation, prototype: int) -> dict[str, list[dict[str, Any]]]:
    """The training samples in a prototype, and those that it is unlike."""
    behind, unlike = explanation.samples_behind(prototype), explanation.samples_unlike(prototype)
    return {
        key: [
            {
                "sample": to_label(explanation.support_ids[place]),
                "class": to_label(explanation.support_classes[place]),
                "share": share,
            }
            for place, share in mix
        ]
        for key, mix in (("samples", behind), ("unlike", unlike))
    }


def build_frame(explanation: Explanation, part: str, backend: str) -> Any:
    """What is added to the score of the predicted class, as a data frame."""
    winners, names = explanation.answers, explanation.term_names
    rows, n_prototypes = np.arange(len(explanation)), explanation.evidence.predictor.mixes.shape[0]
    where: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if part == "features":
        values = explanation.feature_contributions()[rows, :, winners]
        evidence = np.append(explanation.feature_evidence, [np.nan, np.nan])
        more = {"evidence": np.tile(evidence, len(rows))}
    elif part == "contributions":
        tables = [explanation.contributions(row)[..., label] for row, label in enumerate(winners)]
        values = np.reshape(tables, (len(rows), n_prototypes * len(names)))
        prototypes = np.tile(np.repeat(np.arange(n_prototypes), len(names)), len(rows))
        owners = _labels(explanation.prototype_classes[prototypes])
        where = {"prototype": prototypes, "prototype_class": owners}
    else:
        raise ValueError(f"part={part!r} is unknown, expected 'contributions' or 'features'.")
    columns = {
        "sample": _labels(np.repeat(explanation.sample_ids, values.shape[1])),
        "class": _labels(np.repeat(explanation.predicted, values.shape[1])),
        **where,
        "feature": list(names) * (values.size // len(names)),
        "contribution": values.ravel(),
        **more,
    }
    library: Any = backend
    return nw.from_dict(columns, backend=library).to_native()


def _labels(labels: Any) -> list[Any]:
    """Labels as built-in objects."""
    return [to_label(label) for label in labels]


def find_bonuses(explanation: Explanation) -> FloatArray:
    """The bonus of each prototype in the votes; zero without votes."""
    votes = explanation.evidence.predictor.votes
    return np.zeros(explanation.shares.shape[1]) if votes is None else votes.bonuses


def build_shap(explanation: Explanation) -> Any:
    """The contributions of the features as a `shap.Explanation`."""
    otherwise = "; to_frame('features') gives the same numbers without it"
    shap = import_extra("shap", "shap", "to_shap() needs", otherwise)
    cells = [explanation.cells(row) for row in range(len(explanation))]
    is_numeric = all(row is not None and all(isinstance(v, float) for v in row) for row in cells)
    parts = explanation.feature_contributions()
    return shap.Explanation(
        values=parts[:, :-2],
        base_values=explanation.base_values + parts[:, -2:].sum(axis=1),
        data=np.array(cells) if is_numeric else None,
        feature_names=list(explanation.feature_names),
        output_names=[str(label) for label in explanation.classes][: parts.shape[2]],
    )


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


def describe_model(explanation: Explanation) -> dict[str, Any]:
    """A model without obstacles as numbers, for the page and for others (docs/deployment.md)."""
    predictor, features = explanation.evidence.predictor, explanation.comparison
    encoder, votes, kernels = predictor.encoder, predictor.votes, predictor.kernels
    assert votes is not None
    mixes, contrasts = (
        [rows[[j]] for j in range(rows.shape[0])] for rows in (predictor.mixes, predictor.contrasts)
    )
    inner, weights, groups = kernels.flattened(predictor.weights)
    owners = np.argmax(features.owners, axis=1)[groups]
    return {
        "format": FORMAT,
        "version": VERSION,
        "classes": [to_label(label) for label in explanation.classes],
        "temperature": explanation.temperature,
        "head_starts": explanation.head_starts,
        "prior_starts": explanation.prior_starts,
        "head_start_word": explanation.head_start_word,
        "sharpness": votes.sharpness,
        # Of values; None for classes without an order.
        "levels": getattr(votes, "levels", None),
        "errors": getattr(explanation, "errors", None),
        "order": getattr(explanation, "ordered", None),
        "novelty_threshold": explanation.novelty_threshold,
        "sparsity": encoder.sparsity,
        "takes_missing": predictor.expected is not None or kernels.input_kind == "tables",
        "max_missing": explanation.max_missing,
        "missing_texts": sorted(MISSING_TEXTS),
        "features": [
            {
                "column": explanation.column_names[column],
                "name": features.names[i],
                "kind": "flag" if is_flag else "number" if words is None else "category",
                "evidence": features.evidence[i],
                "range": features.ranges[i],
                "categories": None if words is None else [one for one in words if one is not None],
                "knows_missing": words is not None and None in words,
            }
            for i, (column, words, is_flag) in enumerate(
                zip(features.columns, features.vocabularies, features.is_flag, strict=True)
            )
        ],
        "kernels": [
            {"feature": owners[kernel], "weight": weights[kernel]}
            | _describe_kernel(inner, kernel, groups[kernel] == features.first[owners[kernel]])
            | _describe_gap(predictor, inner, kernel)
            for kernel in range(inner.n_kernels)
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
                "class": 0 if explanation.is_value else votes.classes[j],
                "bonus": votes.bonuses[j],
                "samples": mix.indices,
                "parts": mix.data,
                "contrast_samples": contrast.indices,
                "contrast_parts": contrast.data,
                "total": mix.sum(),
                # Inner products with this prototype and those before it.
                "gram": encoder.gram[j, : j + 1],
            }
            for j, (mix, contrast) in enumerate(zip(mixes, contrasts, strict=True))
        ],
    }


def _describe_kernel(kernels: Kernels, index: int, is_first: bool) -> dict[str, Any]:
    """How two cells are compared; the reading of the first kernel of a feature is its cell."""
    rule = kernels.rule(index) or {}
    # Where only this kernel reads the column, the cell says whether it is missing.
    is_cell = rule["kind"] == "missing" and is_first
    return {**rule, "kind": "category"} if is_cell else rule


def _describe_gap(predictor: Predictor, kernels: Kernels, index: int) -> dict[str, Any]:
    """How similar the support is to a missing cell, unless training says what one means."""
    rule, words = kernels.rule(index) or {}, kernels.vocabularies()
    is_known = (
        "fill" in rule or rule["kind"] == "missing" or (words and None in (words[index] or ()))
    )
    if predictor.expected is None or is_known:
        return {}
    return {"expected": predictor.expected[:, index]}
