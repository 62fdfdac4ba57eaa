"""What the model learned: prototypes, features, and maps of the samples."""

from collections import Counter
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations.case_card import is_number
from imkpl.explanations.explanation import write_chance
from imkpl.explanations.exports import find_bonuses, name_samples, to_label
from imkpl.report.map import embed_kernel, learned_kernel
from imkpl.report.subject import (
    Subject,
    Values,
    choose_evenly,
    choose_rows,
    describe_size,
    isolate,
)

# Prototypes with a larger cosine are duplicates.
DUPLICATE = 0.95
# A prototype is used for a sample if it has such a share of the votes, or of the code; one that is
# used for fewer samples than this part of its class is rarely used.
USED, RARE = 0.01, 0.02
# A prototype with a smaller accuracy where it is the main one is error-prone.
RELIABLE = 0.8
# Number of features whose values are described; fewer if there are many classes.
MOST_DESCRIBED, FEWEST_DESCRIBED, MOST_ROWS = 60, 8, 300
MOST_CATEGORIES = 8
# Features that show where a prototype lies in its class. A number is distinctive if no more than
# this part of the class lies beyond it, a category if no more than this part has it.
MOST_PLACED, DISTINCTIVE, RARE_CATEGORY = 12, 0.1, 0.2
# Held-out samples among which features are shuffled, and how often.
MOST_SHUFFLED, N_SHUFFLES = 400, 5
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

# Channels of a series, and points of a line.
MOST_CHANNELS, MOST_STEPS = 3, 60
# Points in a map, at least half of them held-out samples; fewer series, because all pairs must be
# aligned.
MOST_POINTS, MOST_SERIES, FEWEST_POINTS = 500, 80, 10

WHY_NO_MAP = (
    "The similarities among held-out samples are unknown. Pass train=(X, y) to see the training "
    "samples."
)
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
    duplicates, bonuses = find_duplicates(subject.predictor.encoder.gram), find_bonuses(explanation)
    classes = [to_label(label) for label in explanation.prototype_classes]
    mains = [explanation.samples_behind(index)[0][0] for index in range(len(classes))]
    use, places, found = _count_use(subject), _place_in_classes(subject, classes, mains), []
    word = "votes" if explanation.decision == "votes" else "code"
    for index, label in enumerate(classes):
        warnings = _find_weaknesses(label, use[index], word)
        for other, cosine in duplicates[index]:
            same = label == classes[other]
            name = isolate(to_label(explanation.support_ids[mains[other]]))
            whose = "the same class" if same else f"another class, {isolate(classes[other])}"
            warnings.append(
                {
                    "kind": "duplicate",
                    "text": f"{cosine:.0%} similar to prototype {name} of {whose}.",
                    "other": other,
                }
            )
        found.append(
            {
                "prototype": index,
                "class": label,
                **name_samples(explanation, index),
                "features": places[index],
                "bonus": float(bonuses[index]),
                **use[index],
                "warnings": warnings,
            }
        )
    return found


def _place_in_classes(
    subject: Subject, labels: list[Any], mains: list[int]
) -> list[list[dict[str, Any]]]:
    """Where the largest part of each prototype lies among the samples of its class."""
    values, features = subject.values, subject.features
    found: list[list[dict[str, Any]]] = [[] for _ in labels]
    if values is None:
        return found
    for feature in np.argsort(-features.weights, kind="stable")[:MOST_PLACED].tolist():
        by_class = {label: values.of_class(feature, label) for label in subject.classes}
        for index, label in enumerate(labels):
            value, others = features.support_cells(mains[index])[feature], by_class[label]
            one = {"feature": feature, "value": value, "distinctive": False}
            if is_number(value) and others and all(map(is_number, others)):
                below, equal = sum(v < value for v in others), sum(v == value for v in others)
                one["rank"] = rank = (below + 0.5 * equal) / len(others)
                one["distinctive"] = not DISTINCTIVE < rank < 1 - DISTINCTIVE
            elif value is not None and others and not is_number(value):
                one["share"] = share = sum(v == value for v in others) / len(others)
                one["distinctive"] = share <= RARE_CATEGORY
            found[index].append(one)
    return found


def find_duplicates(gram: FloatArray) -> list[list[tuple[int, float]]]:
    """For every prototype, the others that are nearly the same, and their cosines."""
    norms = np.sqrt(np.diagonal(gram))
    cosines = gram / np.outer(norms, norms)
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
    sizes = Counter(truth)
    n_using = np.bincount(shares.indices[shares.data >= USED], minlength=shares.shape[1])
    found = []
    for index, owner in enumerate(to_label(label) for label in explanation.prototype_classes):
        led = np.flatnonzero(mains == index)
        found.append(
            {
                "n_using": int(n_using[index]),
                "n_main": int(led.size),
                "n_right": None if right is None else int(right[led].sum()),
                "n_of_class": sizes[owner],
            }
        )
    return found


def _find_weaknesses(label: Any, use: dict[str, Any], word: str) -> list[dict[str, Any]]:
    n_using, n_main, n_right = use["n_using"], use["n_main"], use["n_right"]
    found = {}
    if n_using == 0:
        found["rare"] = f"Unused: less than {USED:.0%} of the {word} for every held-out case."
    elif n_using < RARE * use["n_of_class"]:
        found["rare"] = (
            f"Rarely used: {USED:.0%} of the {word} or more for {n_using} cases; "
            f"{use['n_of_class']} held-out cases are {isolate(label)}."
        )
    if n_right is not None and n_main - n_right >= 2 and n_right < RELIABLE * n_main:
        wrong = f"{n_main - n_right} of the {n_main} cases that it decides"
        found["errors"] = f"Error-prone: wrong for {wrong}."
    return [{"kind": kind, "text": text} for kind, text in found.items()]


def describe_features(subject: Subject, lost: dict[str, float] | None = None) -> dict[str, Any]:
    """Weight, evidence, effect and values of every feature, and what is lost if it is missing."""
    known, explanation = subject.features, subject.explanation
    order = np.argsort(-known.weights, kind="stable").tolist()
    effects = measure_effects(subject, order[:MOST_DESCRIBED])
    features: list[dict[str, Any]] = [
        {
            "feature": place,
            "name": known.names[place],
            "weight": float(known.weights[place]),
            "evidence": float(known.evidence[place]),
            "effect": effects.get(place),
            "lost": (lost or {}).get(known.names[place], 0.0 if lost else None),
        }
        for place in order
    ]
    channels = subject.model.describe_channels()
    word = "view" if channels else describe_size(subject)["feature_word"]
    values = subject.values
    if values is not None:
        n_shown = max(FEWEST_DESCRIBED, min(MOST_DESCRIBED, MOST_ROWS // len(subject.classes)))
        for feature in features[:n_shown]:
            feature["distribution"] = _describe_values(values, feature["feature"], subject.classes)
    return {
        "features": features,
        "chance": write_chance(len(features), explanation.expected_false_features, word),
        "described_on": None if values is None else values.whose,
        "n_described": 0 if values is None else len(values.labels),
        "why_absent": channels or WHY_NO_VALUES.get(subject.kind),
    }


def measure_effects(subject: Subject, features: list[int]) -> dict[int, float]:
    """The accuracy, or agreement without labels, that is lost when each feature is shuffled."""
    truth = subject.held_out.labels or subject.predicted
    if len(truth) < FEWEST_POINTS:
        return {}
    rows = choose_evenly(truth, MOST_SERIES if subject.kind == "series" else MOST_SHUFFLED)
    labels = subject.find_places([truth[row] for row in rows])
    part, rng = subject.explanation.evidence.take(rows), np.random.default_rng(0)
    orders = [rng.permutation(rows.size) for _ in range(N_SHUFFLES)]

    def accuracy(resemblances: FloatArray) -> float:
        return float(np.mean(np.argmax(subject.predictor.score(resemblances), axis=1) == labels))

    usual, found = accuracy(part.compared.resemblances), {}
    for feature in features:
        own = subject.features.split(part.kernels, np.array([feature]))[..., 0]
        shuffled = [accuracy(part.compared.resemblances + own[order] - own) for order in orders]
        found[feature] = usual - float(np.mean(shuffled))
    return found


def _describe_values(values: Values, feature: int, classes: list[Any]) -> dict[str, Any]:
    """The distribution of one feature in each class: quantiles, or counts of categories."""
    sizes = Counter(values.labels)
    by_class = {label: values.of_class(feature, label) for label in classes}
    rows: list[dict[str, Any]] = [
        {"label": label, "n": len(group), "n_missing": sizes[label] - len(group)}
        for label, group in by_class.items()
    ]
    everything = [value for group in by_class.values() for value in group]
    if all(map(is_number, everything)):
        for row, group in zip(rows, by_class.values(), strict=True):
            row["quantiles"] = np.quantile(group, QUANTILES).tolist() if group else None
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
    aligned = predictor.kernels.aligned(predictor.weights)
    if aligned is None:
        return None
    kernels, weights = aligned
    names, inputs = kernels.channel_names, kernels.input_columns
    totals = kernels.share_out(weights, int(inputs.max(initial=-1)) + 1)[inputs]
    channels = np.argsort(-totals, kind="stable")[:MOST_CHANNELS].tolist()
    found = []
    for prototype in range(predictor.mixes.shape[0]):
        place, share = explanation.samples_behind(prototype)[0]
        series, name = predictor.kernels.sample(place), to_label(explanation.support_ids[place])
        lines = [{"name": names[channel], **thin_out(series[channel])} for channel in channels]
        found.append({"prototype": prototype, "sample": name, "share": share, "channels": lines})
    return found


def thin_out(values: FloatArray) -> dict[str, Any]:
    """At most `MOST_STEPS` evenly spaced points of a line."""
    steps = np.unique(np.linspace(0, len(values) - 1, min(MOST_STEPS, len(values))).astype(int))
    return {"times": steps.tolist(), "values": np.asarray(values, float)[steps].tolist()}


def describe_map(subject: Subject) -> dict[str, Any]:
    """A t-SNE map of training samples, held-out samples and prototypes, by the learned kernel."""
    from threadpoolctl import threadpool_limits

    most = MOST_SERIES if subject.kind == "series" else MOST_POINTS
    held_out = choose_rows(subject, most if subject.train is None else most // 2)
    # Without some of its values, a sample has no place among the others.
    held_out = held_out[subject.explanation.missing[held_out] == 0]
    # Similarities among held-out samples are unknown if they were given.
    parts = [] if subject.kind == "similarities" else [(subject.held_out, held_out)]
    if subject.train is not None:
        labels = subject.train.labels or []
        parts.append((subject.train, choose_evenly(labels, most - held_out.size)))
    points = [
        {
            "row": int(row) if samples is subject.held_out else None,
            "sample": to_label(samples.ids[row]),
            "label": (samples.labels or subject.predicted)[row],
        }
        for samples, rows in parts
        for row in rows
    ]
    if len(points) < FEWEST_POINTS:
        why = f"A map needs at least {FEWEST_POINTS} samples; there are {len(points)}."
        if not points:
            why = WHY_NO_MAP
        return {"points": [], "prototypes": [], "n_training": 0, "n_held_out": 0, "why_absent": why}
    kernel = learned_kernel(subject.model, *((samples.given, rows) for samples, rows in parts))
    # A step of t-SNE takes a millisecond, less than threads need to synchronize.
    with threadpool_limits(1):
        places = embed_kernel(kernel, 0).tolist()
    return {
        "points": [{**one, "at": at} for one, at in zip(points, places, strict=False)],
        "prototypes": places[len(points) :],
        "n_training": sum(one["row"] is None for one in points),
        "n_held_out": sum(one["row"] is not None for one in points),
        "why_absent": None,
    }


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
