"""Reasons as data frames."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from imkpl._typing import IntArray
from imkpl.explanations.cells import as_plain_label

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

Columns = dict[str, Any]


def build_frame(explanation: Explanation, part: str, label: Any, backend: str) -> Any:
    """One view of the reasons as a data frame."""
    views = {
        "prototypes": _prototypes,
        "samples": _samples,
        "scores": _scores,
    }
    if part == "contributions":
        columns = _contributions(explanation, _find_targets(explanation, label))
    elif part == "features":
        columns = _features(explanation, _find_targets(explanation, label))
    elif part in views:
        columns = views[part](explanation)
    else:
        known = ", ".join(repr(name) for name in ("contributions", "features", *views))
        raise ValueError(f"part={part!r} is not known, expected one of {known}.")
    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(
            f"backend={backend!r} is not known, expected 'pandas', 'polars' or 'pyarrow'."
        )
    try:
        library: Any = import_module(backend)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{backend} is not installed, which makes the data frame. Install it, or choose "
            "another backend of 'pandas', 'polars' and 'pyarrow'."
        ) from error
    return nw.from_dict(columns, backend=library).to_native()


def _find_targets(explanation: Explanation, label: Any) -> IntArray:
    """For every sample the place of the class whose score is shared out."""
    if label is None:
        return explanation.winners
    places = np.flatnonzero(explanation.classes == label)
    if places.size != 1:
        known = ", ".join(str(one) for one in explanation.classes)
        raise ValueError(f"label={label!r} is none of the classes {known}. Pass one of these.")
    return np.full(len(explanation), places[0])


def _contributions(explanation: Explanation, targets: IntArray) -> Columns:
    evidence, names = explanation.evidence, explanation.feature_names
    n_prototypes, n_features = evidence.predictor.mixes.shape[0], len(names)
    values = np.empty((len(explanation), n_prototypes, n_features))
    for rows, parts in evidence.split_similarities():
        for place, row in enumerate(rows):
            values[row] = parts[place] * evidence.factors(int(row))[:, [targets[row]]]
    shape = values.shape
    prototypes = np.broadcast_to(np.arange(n_prototypes)[:, np.newaxis], shape).ravel()
    owners = _plain(explanation.prototype_classes)
    size = n_prototypes * n_features
    return {
        "sample": _repeat(explanation.sample_ids, size),
        "class": _repeat(explanation.classes[targets], size),
        "prototype": prototypes,
        "prototype_class": [owners[prototype] for prototype in prototypes],
        "feature": list(names) * (len(explanation) * n_prototypes),
        "contribution": values.ravel(),
    }


def _features(explanation: Explanation, targets: IntArray) -> Columns:
    values = explanation.feature_contributions()
    chosen = values[np.arange(len(explanation)), :, targets]
    return {
        "sample": _repeat(explanation.sample_ids, len(explanation.feature_names)),
        "class": _repeat(explanation.classes[targets], len(explanation.feature_names)),
        "feature": list(explanation.feature_names) * len(explanation),
        "contribution": chosen.ravel(),
    }


def _prototypes(explanation: Explanation) -> Columns:
    shares = explanation.shares.tocoo()
    rows, prototypes = shares.coords
    owners = explanation.prototype_classes
    return {
        "sample": _plain(explanation.sample_ids[rows]),
        "prototype": np.asarray(prototypes),
        "prototype_class": _plain(owners[prototypes]),
        "share": shares.data,
        "similarity": explanation.evidence.similarities[rows, prototypes],
    }


def _samples(explanation: Explanation) -> Columns:
    shares = explanation.shares.tocoo()
    found: list[tuple[Any, ...]] = []
    for row, prototype, share in zip(*shares.coords, shares.data, strict=True):
        for place, part in explanation.samples_behind(int(prototype)):
            behind = explanation.support_ids[place], explanation.support_classes[place]
            found.append((explanation.sample_ids[row], prototype, *behind, part, share * part))
    names = ("sample", "prototype", "training_sample", "training_class", "weight", "share")
    columns = list(zip(*found, strict=True)) if found else [()] * len(names)
    return {name: _plain(values) for name, values in zip(names, columns, strict=True)}


def _scores(explanation: Explanation) -> Columns:
    n_classes = len(explanation.classes)
    return {
        "sample": _repeat(explanation.sample_ids, n_classes),
        "class": _plain(explanation.classes) * len(explanation),
        "score": explanation.scores.ravel(),
        "probability": explanation.probabilities.ravel(),
        "novelty": np.repeat(explanation.novelty, n_classes),
    }


def _plain(labels: Any) -> list[Any]:
    return [as_plain_label(label) for label in labels]


def _repeat(labels: Any, times: int) -> list[Any]:
    return [label for label in _plain(labels) for _ in range(times)]
