"""The prototypes: what they are made of, who uses them, and which of them are doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl.explanations.cells import as_plain_label, read_cells
from imkpl.measures import interpretability_score
from imkpl.report.subject import Subject

# Two prototypes that are more alike than this say the same.
DUPLICATE = 0.95
# A prototype with less than this in its own class is not clearly of that class.
PURE = 0.95
# Used by less than this part of the samples of its class, a prototype hardly matters.
RARE = 0.02
# Right less often than this where it decides, with two errors or more, it is error-prone.
RELIABLE = 0.8


def describe_prototypes(subject: Subject) -> list[dict[str, Any]]:
    """Every prototype with its real samples, its use on held-out samples, and warnings."""
    explanation, model = subject.explanation, subject.model
    parts = interpretability_score(
        model.class_shares_, np.arange(len(explanation.classes)), return_parts=True
    )
    use = _count_use(subject)
    twins = find_duplicates(explanation.evidence.predictor.encoder.gram)
    classes = [as_plain_label(label) for label in explanation.prototype_classes]
    return [
        {
            "prototype": index,
            "class": label,
            "purity": float(parts.purity[index]),
            "compactness": float(parts.compactness[index]),
            "samples": _describe_samples(subject, index),
            **use[index],
            "warnings": [
                *_find_weakness(label, float(parts.purity[index]), use[index]),
                *(
                    _describe_twin(label, other, classes[other], alike)
                    for other, alike in twins[index]
                ),
            ],
        }
        for index, label in enumerate(classes)
    ]


def find_duplicates(gram: Any) -> list[list[tuple[int, float]]]:
    """For every prototype the others that are nearly the same.

    Examples
    --------
    >>> find_duplicates([[1.0, 0.96, 0.0], [0.96, 1.0, 0.0], [0.0, 0.0, 4.0]])
    [[(1, 0.96)], [(0, 0.96)], []]
    """
    array = np.asarray(gram, dtype=np.float64)
    norms = np.sqrt(np.diagonal(array))
    cosines = array / np.outer(norms, norms)
    np.fill_diagonal(cosines, 0.0)
    return [
        [(int(other), float(row[other])) for other in np.flatnonzero(row > DUPLICATE)]
        for row in cosines
    ]


def _describe_samples(subject: Subject, prototype: int) -> list[dict[str, Any]]:
    explanation, predictor = subject.explanation, subject.explanation.evidence.predictor
    return [
        {
            "sample": as_plain_label(explanation.support_ids[place]),
            "class": as_plain_label(explanation.support_classes[place]),
            "share": share,
            "cells": (
                read_cells(predictor, predictor.samples, place)
                if subject.kind == "columns"
                else None
            ),
        }
        for place, share in explanation.samples_behind(prototype)
    ]


def _count_use(subject: Subject) -> list[dict[str, Any]]:
    """How many samples have each prototype in their codes, and where it has the largest share."""
    explanation, right = subject.explanation, subject.right
    labels = subject.held_out.labels
    shares = explanation.shares
    n_prototypes = shares.shape[1]
    n_using = np.bincount(shares.indices, minlength=n_prototypes)
    mains = find_mains(subject)
    names = subject.classes
    truth = [names[place] for place in explanation.winners] if labels is None else labels
    kinds = [*names, *sorted({label for label in truth if label not in names}, key=str)]
    sizes = {kind: sum(label == kind for label in truth) for kind in kinds}
    owners = [as_plain_label(label) for label in explanation.prototype_classes]
    found = []
    for index in range(n_prototypes):
        led = np.flatnonzero(mains == index)
        counts = [sum(truth[row] == kind for row in led) for kind in kinds]
        found.append(
            {
                "n_using": int(n_using[index]),
                "n_main": int(led.size),
                "n_right": None if right is None else int(right[led].sum()),
                "n_of_class": sizes[owners[index]],
                "mistaken": [
                    {"label": kind, "n": count}
                    for kind, count in zip(kinds, counts, strict=True)
                    if count and kind != owners[index]
                ],
            }
        )
    return found


def find_mains(subject: Subject) -> Any:
    """The prototype with the largest share in the code of each held-out sample."""
    shares = subject.explanation.shares
    mains = np.full(shares.shape[0], -1)
    for row in range(shares.shape[0]):
        start, stop = shares.indptr[row], shares.indptr[row + 1]
        if stop > start:
            mains[row] = shares.indices[start + int(np.argmax(shares.data[start:stop]))]
    return mains


def _find_weakness(label: Any, purity: float, use: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    if use["n_using"] == 0:
        found.append(_warn("rare", "Unused: it is in the code of no held-out sample."))
    elif use["n_using"] < RARE * use["n_of_class"]:
        text = (
            f"Hardly used: {use['n_using']} of {use['n_of_class']} held-out samples of its class."
        )
        found.append(_warn("rare", text))
    if purity < PURE:
        found.append(_warn("impure", f"Impure: {purity:.0%} of it is {label}, the rest is not."))
    if use["n_right"] is not None:
        n_wrong = use["n_main"] - use["n_right"]
        if n_wrong >= 2 and use["n_right"] < RELIABLE * use["n_main"]:
            text = f"Error-prone: wrong for {n_wrong} of the {use['n_main']} samples it leads."
            found.append(_warn("errors", text))
    return found


def _describe_twin(label: Any, other: int, other_label: Any, alike: float) -> dict[str, Any]:
    whose = "the same class" if label == other_label else f"another class, {other_label}"
    return {
        **_warn("duplicate", f"{alike:.0%} like prototype {other} of {whose}."),
        "other": other,
        "similarity": alike,
        "same_class": label == other_label,
    }


def _warn(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "text": text}
