"""Explanations as dicts, data frames and SHAP objects."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from imkpl._json import to_json
from imkpl._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

Columns = dict[str, Any]
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


def list_some(names: list[str], most: int) -> str:
    """The first names, and how many there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


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
    features = zip(names, weights, explanation.feature_evidence, strict=True)
    found: dict[str, Any] = to_json(
        {
            "decision": explanation.decision,
            "classes": [to_label(label) for label in explanation.classes],
            "features": [
                {"name": name, "weight": weight, "evidence": evidence}
                for name, weight, evidence in features
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
    is_against = evidence.predictor.encoder.classes == one.runners_up[0]
    against = np.argmax(np.where(is_against, shares, 0.0))
    is_named = shares >= LEAST_SHARE
    is_named[against] = shares[against] > 0
    by_prototype, bonuses = evidence.by_prototype(row), find_bonuses(explanation)
    prototypes = []
    order = np.argsort(-shares, kind="stable")
    for prototype in order[is_named[order]].tolist():
        total = parts[prototype].sum()
        prototypes.append(
            {
                "prototype": prototype,
                "class": to_label(explanation.prototype_classes[prototype]),
                "samples": [
                    {
                        "sample": to_label(explanation.support_ids[support]),
                        "class": to_label(explanation.support_classes[support]),
                        "share": share,
                    }
                    for support, share in explanation.samples_behind(prototype)
                ],
                "share": shares[prototype],
                "similarity": evidence.similarities[row, prototype],
                "bonus": bonuses[prototype],
                "contributions": by_prototype[prototype],
                "feature_shares": parts[prototype] / total if total > 0 else 0 * parts[prototype],
            }
        )
    cells = explanation.cells(row)
    return {
        "sample": to_label(explanation.sample_ids[row]),
        "prediction": to_label(explanation.predicted[row]),
        "probabilities": explanation.probabilities[row],
        "scores": explanation.scores[row],
        "base_scores": one.evidence.base_scores[0],
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
    }


def build_frame(explanation: Explanation, part: str, label: Any, backend: str) -> Any:
    """One view of an explanation as a data frame."""
    views = {
        "contributions": lambda: _contributions(explanation, _find_targets(explanation, label)),
        "features": lambda: _features(explanation, _find_targets(explanation, label)),
        "prototypes": lambda: _prototypes(explanation),
        "samples": lambda: _samples(explanation),
        "scores": lambda: _scores(explanation),
    }
    return choose_frame(views, part, backend)


def choose_frame(views: dict[str, Callable[[], Columns]], part: str, backend: str) -> Any:
    """One of several views as a data frame of a library."""
    if part not in views:
        known = ", ".join(repr(name) for name in views)
        raise ValueError(f"part={part!r} is unknown, expected one of {known}.")
    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(
            f"backend={backend!r} is unknown, expected 'pandas', 'polars' or 'pyarrow'."
        )
    try:
        library: Any = import_module(backend)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"backend={backend!r} needs {backend}, which is not installed. Install it, or choose "
            "another backend of 'pandas', 'polars' and 'pyarrow'."
        ) from error
    return nw.from_dict(views[part](), backend=library).to_native()


def _find_targets(explanation: Explanation, label: Any) -> IntArray:
    """For every sample the index of the class whose score is broken down."""
    if label is None:
        return explanation.winners
    places = np.flatnonzero(explanation.classes == label)
    if places.size != 1:
        known = ", ".join(str(one) for one in explanation.classes)
        raise ValueError(f"label={label!r} is not a class, expected one of {known}.")
    return np.full(len(explanation), places[0])


def _contributions(explanation: Explanation, targets: IntArray) -> Columns:
    names = explanation.feature_names
    n_prototypes, n_features = explanation.evidence.predictor.mixes.shape[0], len(names)
    tables = [explanation.contributions(row)[..., label] for row, label in enumerate(targets)]
    values = np.reshape(tables, (len(explanation), n_prototypes, n_features))
    prototypes = np.broadcast_to(np.arange(n_prototypes)[:, np.newaxis], values.shape).ravel()
    size = n_prototypes * n_features
    return {
        "sample": _labels(explanation.sample_ids, size),
        "class": _labels(explanation.classes[targets], size),
        "prototype": prototypes,
        "prototype_class": _labels(explanation.prototype_classes[prototypes]),
        "feature": list(names) * (len(explanation) * n_prototypes),
        "contribution": values.ravel(),
    }


def _features(explanation: Explanation, targets: IntArray) -> Columns:
    values = explanation.feature_contributions()
    n_features = len(explanation.feature_names)
    return {
        "sample": _labels(explanation.sample_ids, n_features),
        "class": _labels(explanation.classes[targets], n_features),
        "feature": list(explanation.feature_names) * len(explanation),
        "contribution": values[np.arange(len(explanation)), :, targets].ravel(),
        "evidence": np.tile(explanation.feature_evidence, len(explanation)),
    }


def _prototypes(explanation: Explanation) -> Columns:
    shares = explanation.shares.tocoo()
    rows, prototypes = shares.coords
    return {
        "sample": _labels(explanation.sample_ids[rows]),
        "prototype": np.asarray(prototypes),
        "prototype_class": _labels(explanation.prototype_classes[prototypes]),
        "share": shares.data,
        "similarity": explanation.evidence.similarities[rows, prototypes],
        "bonus": find_bonuses(explanation)[prototypes],
    }


def find_bonuses(explanation: Explanation) -> FloatArray:
    """The bonus of each prototype in the votes; zero without votes."""
    votes = explanation.evidence.predictor.votes
    return np.zeros(explanation.shares.shape[1]) if votes is None else votes.bonuses


def _samples(explanation: Explanation) -> Columns:
    shares = explanation.shares.tocoo()
    mixes = [explanation.samples_behind(prototype) for prototype in range(shares.shape[1])]
    found: list[tuple[Any, ...]] = []
    for row, prototype, share in zip(*shares.coords, shares.data, strict=True):
        for place, part in mixes[prototype]:
            behind = explanation.support_ids[place], explanation.support_classes[place]
            found.append((explanation.sample_ids[row], prototype, *behind, part, share * part))
    names = ("sample", "prototype", "training_sample", "training_class", "weight", "share")
    columns = list(zip(*found, strict=True)) if found else [()] * len(names)
    return {name: _labels(values) for name, values in zip(names, columns, strict=True)}


def _scores(explanation: Explanation) -> Columns:
    n_classes = len(explanation.classes)
    return {
        "sample": _labels(explanation.sample_ids, n_classes),
        "class": _labels(explanation.classes) * len(explanation),
        "score": explanation.scores.ravel(),
        "probability": explanation.probabilities.ravel(),
        "code_share": explanation.code_shares.ravel(),
        "novelty": np.repeat(explanation.novelty, n_classes),
    }


def _labels(labels: Any, times: int = 1) -> list[Any]:
    """Labels as built-in objects, each repeated `times` times."""
    return [label for value in labels for label in [to_label(value)] * times]


def build_shap(explanation: Explanation) -> Any:
    """The contributions of the features as a `shap.Explanation`."""
    try:
        import shap
    except ImportError as error:
        raise ModuleNotFoundError(
            "to_shap() needs shap, which is not installed. Install it with pip install "
            "'imkpl[shap]'; to_frame('features') gives the same numbers without it."
        ) from error
    evidence = explanation.evidence
    cells = [explanation.cells(row) for row in range(len(explanation))]
    is_numeric = all(row is not None and all(isinstance(v, float) for v in row) for row in cells)
    return shap.Explanation(
        values=explanation.feature_contributions(),
        base_values=evidence.base_scores,
        data=np.array(cells) if is_numeric else None,
        feature_names=list(explanation.feature_names),
        output_names=[str(label) for label in explanation.classes],
    )
