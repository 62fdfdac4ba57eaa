"""What the model learned: prototypes, features, and maps of the samples."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations import Explanation
from imkpl.explanations.explanation import write_chance
from imkpl.explanations.exports import find_bonuses, to_label
from imkpl.explanations.time import unfold_means
from imkpl.measures import interpretability_score
from imkpl.model.predictor import Predictor
from imkpl.plots.embedding import (
    average_kernel,
    embed_kernel,
    is_training_data,
    learned_kernel,
)
from imkpl.report.subject import Subject, choose_evenly, describe_size, isolate

# Prototypes with a larger cosine are duplicates.
DUPLICATE = 0.95
# A prototype with a smaller share of its own class is impure.
PURE = 0.95
# A prototype is used for a sample if it has such a share of the votes, or of the code; one that is
# used for fewer samples than this part of its class is rarely used.
USED, RARE = 0.01, 0.02
# A prototype with a smaller accuracy where it is the main one is error-prone.
RELIABLE = 0.8

# Number of features whose values are described; fewer if there are many classes.
MOST_DESCRIBED, FEWEST_DESCRIBED, MOST_ROWS = 24, 8, 300
# Samples that quantiles are estimated from.
MOST_SAMPLES = 4000
MOST_CATEGORIES = 8
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

# Channels of a series, and points of a line.
MOST_CHANNELS, MOST_STEPS = 3, 60

# Points in a map; fewer series, because all pairs must be aligned.
MOST_POINTS, MOST_SERIES, FEWEST_POINTS = 500, 80, 10

WHY_NO_VALUES = {
    "series": (
        "The features are channels of time series, which have no single value per sample. The "
        "series behind the prototypes are shown with the classes."
    ),
    "similarities": (
        "The model was given similarities between samples, not the samples, so there are no values "
        "to show."
    ),
    "objects": (
        "The kernels compare whole samples, or several columns at once, so they have no single "
        "value per sample."
    ),
}


def describe_prototypes(subject: Subject) -> list[dict[str, Any]]:
    """Every prototype with its samples, its use on held-out samples, and warnings."""
    explanation = subject.explanation
    parts = interpretability_score(
        subject.model.class_shares_, np.arange(len(explanation.classes)), return_parts=True
    )
    use = _count_use(subject)
    twins, bonuses = find_duplicates(subject.predictor.encoder.gram), find_bonuses(explanation)
    classes = [to_label(label) for label in explanation.prototype_classes]
    found = []
    for index, label in enumerate(classes):
        purity = float(parts.purity[index])
        warnings = _find_weaknesses(label, purity, use[index], subject.voting_word)
        for other, cosine in twins[index]:
            same = label == classes[other]
            whose = "the same class" if same else f"another class, {isolate(classes[other])}"
            warnings.append(
                {
                    "kind": "duplicate",
                    "text": f"{cosine:.0%} similar to prototype {other} of {whose}.",
                    "other": other,
                    "similarity": cosine,
                    "same_class": same,
                }
            )
        found.append(
            {
                "prototype": index,
                "class": label,
                "purity": purity,
                "compactness": float(parts.compactness[index]),
                "samples": [
                    {
                        "sample": to_label(explanation.support_ids[place]),
                        "class": to_label(explanation.support_classes[place]),
                        "share": share,
                        "cells": (
                            subject.read_cells(subject.predictor.samples, place)
                            if subject.kind == "columns"
                            else None
                        ),
                    }
                    for place, share in explanation.samples_behind(index)
                ],
                "bonus": float(bonuses[index]),
                **use[index],
                "warnings": warnings,
            }
        )
    return found


def find_duplicates(gram: Any) -> list[list[tuple[int, float]]]:
    """For every prototype, the others that are nearly the same, and their cosines.

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


def _count_use(subject: Subject) -> list[dict[str, Any]]:
    """For how many samples each prototype is used, and for how many it is the main one."""
    explanation, right = subject.explanation, subject.right
    mains, shares = explanation.main_prototypes, explanation.shares
    truth = subject.held_out.labels or subject.predicted
    kinds = [*subject.classes, *sorted(set(truth) - set(subject.classes), key=str)]
    sizes = Counter(truth)
    n_using = np.bincount(shares.indices[shares.data >= USED], minlength=shares.shape[1])
    found = []
    for index, owner in enumerate(to_label(label) for label in explanation.prototype_classes):
        led = np.flatnonzero(mains == index)
        counts = Counter(truth[row] for row in led)
        found.append(
            {
                "n_using": int(n_using[index]),
                "n_main": int(led.size),
                "n_right": None if right is None else int(right[led].sum()),
                "n_of_class": sizes[owner],
                "mistaken": [
                    {"label": kind, "n": counts[kind]}
                    for kind in kinds
                    if counts[kind] and kind != owner
                ],
            }
        )
    return found


def _find_weaknesses(
    label: Any, purity: float, use: dict[str, Any], word: str
) -> list[dict[str, Any]]:
    found, label = [], isolate(label)
    n_using, n_main, n_right = use["n_using"], use["n_main"], use["n_right"]
    if n_using == 0:
        text = f"Unused: less than {USED:.0%} of the {word} for every held-out sample."
        found.append(("rare", text))
    elif n_using < RARE * use["n_of_class"]:
        text = (
            f"Rarely used: {USED:.0%} of the {word} or more for {n_using} samples; "
            f"{use['n_of_class']} held-out samples are {label}."
        )
        found.append(("rare", text))
    if purity < PURE:
        found.append(("impure", f"Impure: only {purity:.0%} of it is {label}."))
    if n_right is not None and n_main - n_right >= 2 and n_right < RELIABLE * n_main:
        text = f"Error-prone: wrong for {n_main - n_right} of the {n_main} samples that it decides."
        found.append(("errors", text))
    return [{"kind": kind, "text": text} for kind, text in found]


def describe_features(subject: Subject) -> dict[str, Any]:
    """The weights of the kernels, and the distribution of their values in each class."""
    explanation = subject.explanation
    weights = explanation.feature_weights
    features: list[dict[str, Any]] = [
        {
            "feature": int(place),
            "name": explanation.feature_names[place],
            "weight": float(weights[place]),
            "evidence": float(explanation.feature_evidence[place]),
        }
        for place in np.argsort(-weights, kind="stable")
    ]
    size, expected = describe_size(subject), explanation.expected_false_features
    # A feature may have several kernels.
    is_each = size["n_features_kept"] == len(features)
    found = {
        "features": features,
        "expected_false": expected,
        "chance": write_chance(
            len(features), expected, size["feature_word"] if is_each else "kernel"
        ),
        "described_on": None,
        "n_described": 0,
    }
    if subject.kind != "columns":
        return {**found, "why_absent": WHY_NO_VALUES[subject.kind]}
    whose, samples = "training samples", subject.train
    if samples is None or samples.labels is None:
        whose, samples = "held-out samples", subject.held_out
    labels = samples.labels
    if labels is None:
        whose, labels = "held-out samples, by predicted class", subject.predicted
    rows = choose_evenly(labels, MOST_SAMPLES)
    cells = [subject.read_cells(samples.live, int(row)) or [] for row in rows]
    n_support = len(explanation.support_ids)
    behind = [subject.read_cells(subject.predictor.samples, i) for i in range(n_support)]
    n_shown = max(FEWEST_DESCRIBED, min(MOST_DESCRIBED, MOST_ROWS // len(subject.classes)))
    for feature in features[:n_shown]:
        place = feature["feature"]
        feature["distribution"] = describe_values(
            [row[place] for row in cells], [labels[row] for row in rows], subject.classes
        )
        feature["marks"] = [
            {
                "sample": to_label(explanation.support_ids[i]),
                "class": to_label(explanation.support_classes[i]),
                "value": None if row is None else row[place],
            }
            for i, row in enumerate(behind)
        ]
    return {**found, "described_on": whose, "n_described": len(rows), "why_absent": None}


def describe_values(values: list[Any], labels: list[Any], classes: list[Any]) -> dict[str, Any]:
    """The distribution of one feature in each class: quantiles, or counts of categories."""
    by_class: dict[Any, list[Any]] = {label: [] for label in classes}
    missing = Counter[Any]()
    for value, label in zip(values, labels, strict=True):
        if label not in by_class:
            continue
        if value is None or (isinstance(value, float) and np.isnan(value)):
            missing[label] += 1
        else:
            by_class[label].append(value)
    rows: list[dict[str, Any]] = [
        {"label": label, "n": len(group), "n_missing": missing[label]}
        for label, group in by_class.items()
    ]
    everything = [value for group in by_class.values() for value in group]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in everything):
        for row, group in zip(rows, by_class.values(), strict=True):
            numbers = np.array(group, dtype=float)
            row["quantiles"] = np.quantile(numbers, QUANTILES).tolist() if group else None
        return {"kind": "number", "classes": rows}
    frequent = Counter(str(value) for value in everything).most_common()
    shown = [name for name, _ in frequent[:MOST_CATEGORIES]]
    for row, group in zip(rows, by_class.values(), strict=True):
        counts = Counter(str(value) for value in group)
        row["counts"] = [counts[name] for name in shown]
        row["counts"].append(len(group) - sum(row["counts"]))
    n_other = len(frequent) - len(shown)
    return {"kind": "category", "categories": shown, "n_other_categories": n_other, "classes": rows}


def describe_curves(subject: Subject) -> list[dict[str, Any]] | None:
    """The main series of every prototype, in the channels with the largest weights."""
    if subject.kind != "series":
        return None
    explanation, predictor = subject.explanation, subject.predictor
    channels = list(_find_channels(predictor).items())[:MOST_CHANNELS]
    if not channels:
        return None
    found = []
    for prototype in range(predictor.mixes.shape[0]):
        place, share = explanation.samples_behind(prototype)[0]
        series = predictor.samples[place]
        found.append(
            {
                "prototype": prototype,
                "sample": to_label(explanation.support_ids[place]),
                "share": share,
                "channels": [
                    {"name": name, **_thin_out(series[channel])} for name, channel in channels
                ],
            }
        )
    return found


def describe_time(one: Explanation) -> list[dict[str, Any]] | None:
    """How the similarity of a series to its prototypes spreads over time."""
    try:
        found = one.time_shares(0)
    except TypeError:
        return None
    channels, series = _find_channels(one.evidence.predictor), one.evidence.samples[0]
    described = []
    for name in sorted(found, key=lambda name: -float(found[name].shares.sum()))[:MOST_CHANNELS]:
        shares, times = found[name].shares, found[name].times
        edges = np.linspace(0, shares.size, min(MOST_STEPS, shares.size) + 1).astype(int)
        described.append(
            {
                "name": name,
                "share": float(shares.sum()),
                "line": _thin_out(series[channels[name]]) if name in channels else None,
                "starts": times[edges[:-1]].tolist(),
                "end": float(times[-1]),
                "steps": np.add.reduceat(shares, edges[:-1]).tolist(),
            }
        )
    return described


def _find_channels(predictor: Predictor) -> dict[str, int]:
    """The channel that each kernel reads, by name, largest weight first."""
    bank, weights = unfold_means(predictor)
    columns = bank.kernel_columns
    if columns is None:
        return {}
    names = bank.kernel_names(predictor.samples.channel_names)
    return {names[kernel]: int(columns[kernel]) for kernel in np.argsort(-weights, kind="stable")}


def _thin_out(values: FloatArray) -> dict[str, Any]:
    """At most `MOST_STEPS` evenly spaced points of a line."""
    steps = np.unique(np.linspace(0, len(values) - 1, min(MOST_STEPS, len(values))).astype(int))
    return {"times": steps.tolist(), "values": np.asarray(values, float)[steps].tolist()}


def describe_embedding(subject: Subject) -> dict[str, Any]:
    """The maps of `EmbeddingDisplay`: of the average of all kernels, and of the learned kernel.

    Prototypes are embedded with the samples. The average kernel also reads columns that the model
    drops, so its map shows prototypes only if the training data are given.
    """
    if subject.train is None and subject.kind == "similarities":
        return _no_map(
            "The similarities among held-out samples are unknown. Pass train=(X, y) to see the "
            "training samples."
        )
    samples, whose = subject.train, "training samples"
    if samples is None:
        samples, whose = subject.held_out, "held-out samples"
    labels = subject.predicted if samples.labels is None else samples.labels
    rows = choose_evenly(labels, MOST_SERIES if subject.kind == "series" else MOST_POINTS)
    if rows.size < FEWEST_POINTS:
        return _no_map(f"A map needs at least {FEWEST_POINTS} samples; there are {rows.size}.")
    model = subject.model
    kernels = {"learned": learned_kernel(model, samples.given, rows)}
    if model.kernel_weights_.size > 1:
        training = samples.given if is_training_data(model, samples.given) else None
        average, _ = average_kernel(model, samples.given, rows, training)
        kernels = {"average": average, **kernels}
    return {
        "maps": [_describe_map(title, kernel, rows.size) for title, kernel in kernels.items()],
        "labels": [labels[row] for row in rows],
        "prototype_classes": subject.explanation.prototype_classes.tolist(),
        "whose": whose,
        "n": int(rows.size),
        "n_all": len(labels),
        "n_kernels": [model.kernel_weights_.size, int(np.count_nonzero(model.kernel_weights_))],
        "why_absent": None,
    }


def _describe_map(title: str, kernel: FloatArray, n_samples: int) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits

    # A step of t-SNE takes a millisecond, less than threads need to synchronize.
    with threadpool_limits(1):
        places = embed_kernel(kernel, None, 0)
    return {
        "title": title,
        "points": places[:n_samples].tolist(),
        "prototypes": places[n_samples:].tolist() if len(places) > n_samples else None,
    }


def _no_map(why: str) -> dict[str, Any]:
    return {"maps": [], "why_absent": why}


def describe_stability(subject: Subject, stability: Any) -> dict[str, Any] | None:
    """What refits choose again; None if that was not measured."""
    if stability is None:
        return None
    found: dict[str, Any] = stability.to_dict()
    model = subject.model
    own = [to_label(label) for label in model.prototype_classes_]
    theirs = [one["class"] for one in found["prototypes"]["regions"]]
    if own != theirs or found["n_samples"] != model.prototypes_.shape[1]:
        raise ValueError(
            f"stability is about another model, one of {len(theirs)} prototypes and "
            f"{found['n_samples']} training samples, expected {len(own)} and "
            f"{model.prototypes_.shape[1]}. Pass imkpl.stability(model, X, y) with the X and y of "
            "fit."
        )
    return found
