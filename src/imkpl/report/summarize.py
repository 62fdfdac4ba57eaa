"""A model and its decisions as one dict: everything that a report shows."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from imkpl._json import to_json
from imkpl.estimators._pipeline import find_model
from imkpl.explanations.case_card import CaseCard
from imkpl.explanations.exports import describe_model, find_obstacle, to_label
from imkpl.explanations.show import BADGES
from imkpl.measures import (
    discrimination_score,
    interpretability_score,
    judge,
    measure_chances,
    weigh_answers,
    wilson_interval,
)
from imkpl.model.votes import ValueVotes
from imkpl.report import learned
from imkpl.report.sites import measure_sites
from imkpl.report.subject import (
    Subject,
    choose_rows,
    describe_provenance,
    describe_repeats,
    describe_size,
    isolate,
    read_subject,
)
from imkpl.report.values import summarize_values

# Version of the format, increased when the meaning of a key changes.
FORMAT = 3
# How the rules decide, in a sentence.
HOW_DECIDED = {
    "votes": (
        "Each prototype votes for its own class, the more the closer a sample is to it, and the "
        "less the closer to its contrast, if it has one; the class with most of the votes wins."
    ),
    "share": (
        "A sample is rebuilt from prototypes of all classes; the class with the largest part wins."
    ),
}
# What is worth a look about a case, in the words of a card and of the page.
DOUBTS = {
    "no evidence": ("is decided without any evidence", "are decided without any evidence"),
    "novel": ("is unlike the training data", "are unlike the training data"),
    "close": ("is a close call", "are close calls"),
}
# Six digits halve the size of a page and are more than anyone reads.
DIGITS = 6
# Samples in the list, samples with a card, and fewer of these where samples are series, which take
# time to align.
MOST_LISTED, MOST_EXPLAINED, MOST_SERIES_EXPLAINED = 5000, 500, 100
# Cells of the support samples in a form, and as many of held-out samples to start from.
MOST_CELLS = 60_000


def summarize(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    stability: Any = None,
    folds: dict[str, Any] | None = None,
    by: Mapping[str, Any] | None = None,
    groups: Any = None,
    sites: Any = None,
    later: str | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """Collect everything that a report shows.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL or ISKPL, or a pipeline that ends with one.
    X : samples
        Held-out samples, in the form given to `fit`.
    y : array-like of shape (n_samples,), optional
        Class labels. Without them the report has no accuracy.
    train : tuple (X, y), optional
        The data given to `fit`, for the distributions of features, the maps and duplicates.
    stability : Stability, optional
        Result of :func:`imkpl.stability` for the model's settings and training data.
    folds : dict, optional
        How such models do in folds of all data: "accuracy", "interval", "baseline", "chances",
        "folds", "repeats" and "rows", for the verdict.
    by : mapping of str to array-like of shape (n_samples,), optional
        Columns that divide X into subgroups, each of which is measured on its own.
    groups : array-like of shape (n_samples,), optional
        Whom samples belong to: intervals count groups.
    sites : array-like of shape (n_train,) or dict, optional
        The site of each sample of `train`: every site is left out in turn. Or what
        :func:`imkpl.report.sites.measure_sites` found, which knows groups of training samples.
    later : str, optional
        From when on the held-out samples are, if time divides them from the training samples; the
        verdict is then about them, also if there are folds.
    title : str, optional
        Title of the report.

    Returns
    -------
    dict
        Dicts, lists, strings and numbers of six digits, ready for JSON. The numbers of "form" and
        "cutoff", by which the page predicts, have all their digits.
    """
    inner = find_model(model)
    if isinstance(inner.predictor_.votes, ValueVotes):
        return summarize_values(inner, X, y, train, folds if later is None else None, title)
    subject = read_subject(model, X, y, train)
    found: dict[str, Any] = {
        "format": FORMAT,
        "title": title or f"{type(model).__name__}: what it learned, and how it decides",
        "kind": subject.kind,
        "decision": subject.explanation.decision,
        "classes": subject.classes,
        "size": describe_size(subject),
        "accuracy": describe_accuracy(subject, groups),
        "subgroups": describe_subgroups(subject, by),
        "measures": describe_measures(subject),
        "prototypes": learned.describe_prototypes(subject),
        "curves": learned.describe_curves(subject),
        "features": learned.describe_features(subject, (folds or {}).get("lost")),
        "map": learned.describe_map(subject),
        "stability": learned.describe_stability(subject, stability),
        "folds": folds,
        "sites": describe_sites(model, train, sites),
        "later": later,
        "repeats": describe_repeats(subject),
        "samples": describe_samples(subject),
        "review": (getattr(subject.model, "provenance_", None) or {}).get("review"),
        "provenance": describe_provenance(subject),
    }
    for one in (found["sites"] or {}).get("prototypes", ()):
        warning = {"kind": "site", "text": one["text"]}
        found["prototypes"][one["prototype"]]["warnings"].append(warning)
    found["verdict"] = write_verdict(found)
    found["summary"] = write_summary(found)
    found["warnings"] = write_warnings(found)
    ready: dict[str, Any] = to_json(found, DIGITS)
    ready["form"] = to_json(describe_form(subject))
    ready["cutoff"] = to_json(describe_cutoff(subject))
    return ready


def write_verdict(found: dict[str, Any]) -> dict[str, str]:
    """How far to trust the model, in a headline and a sentence."""
    accuracy = found["accuracy"]
    if accuracy is None:
        n = _count(found["samples"]["n"], "new case")
        return {
            "level": "unknown",
            "headline": f"Answers for {n}",
            "text": "No labels were given, so the accuracy is unknown.",
        }
    n, n_right = accuracy["n"], accuracy["n_right"]
    whole = f"all {n}" if n_right == n > 1 else f"{n_right} of {n}"
    cases, folds = f"case{'s' if n != 1 else ''}", found["folds"]
    is_later = found.get("later") is not None
    headline = f"Right for {whole} {'later' if is_later else 'held-out'} {cases}"
    if found["repeats"] is not None and found["repeats"]["n_leaked"] == n:
        headline = f"Right for {whole} {cases} that it has learned from"
        if folds is None:
            text = "This says nothing about new cases: hold some back to measure on."
            return {"level": "unclear", "headline": headline, "text": text}
    best = accuracy if folds is None or is_later else folds
    base = best.get("baseline", accuracy["baseline"])
    name = isolate(base["label"] if "label" in base else base["class"])
    usual, weighed = {"class": name, "accuracy": base["accuracy"]}, best.get("weighed")
    if weighed is not None:
        own = weighed["baseline"]
        weighed = {**weighed, "baseline": {**own, "class": isolate(own["class"])}}
    return {"headline": headline, **judge({**best, "baseline": usual, "weighed": weighed})}


def write_summary(found: dict[str, Any]) -> list[str]:
    """What the model is, in a few sentences."""
    size = found["size"]
    word = size["feature_word"]
    return [
        f"The model looks at {size['n_features_kept']} of {_count(size['n_features'], word)}.",
        f"It compares a case with {_count(size['n_prototypes'], 'prototype')}, made of "
        f"{size['n_support']} of the {_count(size['n_train'], 'training case')}.",
        HOW_DECIDED[found["decision"]],
    ]


def write_warnings(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What a reader should look at before trusting the numbers: sentences, with cases to open."""
    accuracy, repeats, rows = found["accuracy"], found["repeats"], found["samples"]["rows"]
    looks: list[dict[str, Any]] = []

    def look(text: str, cases: list[int] | None = None, prototype: int | None = None) -> None:
        looks.append({"text": text, "cases": cases or [], "prototype": prototype})

    if accuracy is not None and accuracy["unseen_classes"]:
        names = ", ".join(str(isolate(label)) for label in accuracy["unseen_classes"])
        look(f"Cases of classes missing from the training data ({names}) count as wrong.")
    for text in (found.get("sites") or {}).get("warnings", ()):
        look(text)
    if repeats is not None and repeats["n_leaked"]:
        n = repeats["n_leaked"]
        which = f"{_count(n, 'held-out case')} {'is' if n == 1 else 'are'}"
        text = f"{which} also in the training data, so the accuracy is too optimistic:"
        look(text, repeats["leaked"])
    if repeats is not None and repeats["n_repeated"]:
        verb = "duplicates" if repeats["n_repeated"] == 1 else "duplicate"
        n_sets = repeats["n_conflicting"]
        differ = "has" if n_sets == 1 else "have"
        clash = f"; {_count(n_sets, 'set')} of equal cases {differ} different classes"
        which = _count(repeats["n_repeated"], "training case")
        look(f"{which} {verb} another one exactly{clash if n_sets else ''}.")
    for doubt, what in DOUBTS.items():
        cases = [row["row"] for row in rows if row["card"] and row["card"]["doubt"] == doubt]
        if cases:
            look(f"{_count(len(cases), 'case')} {what[len(cases) > 1]}:", cases)
    for prototype in found["prototypes"]:
        number = prototype["prototype"]
        for warning in prototype["warnings"]:
            # A pair of duplicates is mentioned once.
            if number < warning.get("other", len(found["prototypes"])):
                look(warning["text"], prototype=number)
    return looks


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def describe_accuracy(subject: Subject, groups: Any = None) -> dict[str, Any] | None:
    """Accuracy with its Wilson interval, by class, and the confusion matrix."""
    labels, right = subject.held_out.labels, subject.right
    if labels is None or right is None:
        return None
    classes, winners = subject.classes, subject.explanation.winners
    # Classes that the model does not know are never predicted.
    unseen = sorted({label for label in labels if label not in classes}, key=str)
    rows = {label: place for place, label in enumerate([*classes, *unseen])}
    counts = np.zeros((len(rows), len(rows)), dtype=int)
    np.add.at(counts, (np.array([rows[label] for label in labels]), winners), 1)
    n_right, n = int(right.sum()), len(labels)
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    places = np.array([rows[label] for label in labels])
    # The members of a group are not independent.
    n_units = int(np.unique(units).size)
    by_units = [int(np.unique(units[places == row]).size) for row in range(len(rows))]
    is_known = places < len(classes)
    chances = measure_chances(
        subject.explanation.probabilities[is_known], places[is_known], units[is_known], classes
    )
    sizes, n_predicted, hits = counts.sum(axis=1), counts.sum(axis=0), np.diagonal(counts)
    # The most frequent class, of the training data if known.
    known = Counter((subject.train and subject.train.labels) or labels)
    usual = min(known, key=lambda one: (-known[one], str(one)))
    answers = zip(labels, subject.predicted, strict=True)
    pairs = Counter((str(label), label, found) for label, found in answers if label != found)
    confused = sorted(pairs.items(), key=lambda item: (-item[1], item[0][0]))
    parts = (*(one.tolist() for one in (sizes, hits, n_predicted)), by_units)
    by_class = zip(rows, *parts, strict=True)
    return {
        "n": n,
        "n_right": n_right,
        "accuracy": n_right / n,
        "n_independent": n_units,
        "interval": wilson_interval(n_right / n, n_units),
        "chances": chances,
        "weighed": weigh_answers(
            right.astype(float), labels, units, subject.model.costs, subject.model.class_weight
        ),
        "baseline": {"label": usual, "accuracy": labels.count(usual) / n},
        "balanced_accuracy": float(np.mean(hits[sizes > 0] / sizes[sizes > 0])),
        "unseen_classes": unseen,
        "classes": [
            {
                "label": label,
                "n": size,
                "n_independent": n_own,
                "n_right": hit,
                "recall": hit / size if size else None,
                "interval": wilson_interval(hit / size, n_own) if size else None,
                "precision": hit / n_found if n_found else None,
            }
            for label, size, hit, n_found, n_own in by_class
        ],
        "confusion": counts[:, : len(classes)].tolist(),
        "confused": [
            {"true": label, "predicted": found, "n": count} for (_, label, found), count in confused
        ],
    }


def describe_sites(model: Any, train: Any, sites: Any) -> dict[str, Any] | None:
    """What leaving sites out has found, or finds now."""
    if sites is None or isinstance(sites, Mapping):
        return None if sites is None else dict(sites)
    if train is None:
        raise ValueError(
            "sites are those of the training samples, but train is missing. Pass train=(X, y), the "
            "data given to fit, or leave sites out."
        )
    return measure_sites(model, train[0], train[1], sites)


def describe_measures(subject: Subject) -> dict[str, Any]:
    """The paper's measures IP and DR, and how far answers can be trusted."""
    explanation, labels = subject.explanation, subject.held_out.labels
    discrimination = None
    if labels is not None:
        codes, owners = explanation.evidence.encoding.codes, subject.predictor.encoder.classes
        discrimination = discrimination_score(codes, subject.find_places(labels), owners)
    return {
        "interpretability": interpretability_score(
            subject.model.class_shares_, np.arange(len(explanation.classes))
        ),
        "discrimination": discrimination,
        "doubts": {word: int(np.sum(subject.doubts == word)) for word in BADGES},
        "novelty_threshold": explanation.novelty_threshold,
    }


def describe_subgroups(subject: Subject, by: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Accuracy and refusals in the subgroups of the held-out samples that columns make."""
    found = []
    for column, values in (by or {}).items():
        if len(values) != len(subject.explanation):
            raise ValueError(
                f"by has {len(values)} values of {column!r} for {len(subject.explanation)} samples "
                "in X, expected one each. Check that both were split in the same way."
            )
        groups = np.array([str(value) for value in values], dtype=object)
        for value in sorted(set(groups)):
            own = groups == value
            n = int(own.sum())
            n_right = None if subject.right is None else int(subject.right[own].sum())
            found.append(
                {
                    "column": str(column),
                    "value": value,
                    "n": n,
                    "n_right": n_right,
                    "interval": None if n_right is None else wilson_interval(n_right / n, n),
                    "n_novel": int(np.sum(subject.doubts[own] == "novel")),
                    "n_no_evidence": int(np.sum(subject.doubts[own] == "no evidence")),
                }
            )
    return found


def describe_samples(subject: Subject) -> dict[str, Any]:
    """The decision on every held-out sample, with a card for some of them."""
    explanation, labels, right = subject.explanation, subject.held_out.labels, subject.right
    most = MOST_SERIES_EXPLAINED if subject.kind == "series" else MOST_EXPLAINED
    explained = choose_rows(subject, most)
    # Explained samples are always listed.
    others = np.setdiff1d(choose_rows(subject, MOST_LISTED), explained)
    listed = np.union1d(explained, others[: max(0, MOST_LISTED - explained.size)])
    cards = {row: _shorten_card(explanation.card(row)) for row in explained.tolist()}
    winners, is_novel = explanation.winners, explanation.is_novel
    names = Counter(str(name) for name in explanation.sample_ids)
    rows = [
        {
            "sample": (sample := to_label(explanation.sample_ids[row])),
            "row": row,
            # What follows "#case-" in a link to this sample.
            "key": str(sample) if names[str(sample)] == 1 else f"{sample}@{row}",
            "true": None if labels is None else labels[row],
            "predicted": subject.predicted[row],
            "right": None if right is None else bool(right[row]),
            "probability": float(explanation.probabilities[row, winners[row]]),
            "novelty": float(explanation.novelty[row]),
            "is_novel": bool(is_novel[row]),
            "card": cards.get(row),
        }
        for row in listed.tolist()
    ]
    return {
        "n": len(explanation),
        "n_listed": len(rows),
        "n_explained": len(cards),
        "has_labels": labels is not None,
        "rows": rows,
    }


def _shorten_card(card: CaseCard) -> dict[str, Any]:
    """A card with as many points of long series as can be seen, and without pictures."""
    found = card.to_dict()
    found.pop("pictures")
    if found["series"] is not None:
        lines = {key: learned.thin_out(found["series"][key]) for key in ("values", "supporting")}
        found["series"].update(lines)
    return found


def describe_form(subject: Subject) -> dict[str, Any]:
    """What `static/predictor.js` predicts cases that are typed in from, or why there is no form."""
    explanation, features = subject.explanation, subject.features
    why = find_obstacle(explanation)
    n_support, n_features = len(explanation.support_ids), len(features.names)
    if why is None and n_support * n_features > MOST_CELLS:
        why = f"the {n_support} training cases behind this model would make the page too large"
    if why is not None:
        return {"why_absent": f"There is no form for cases of your own: {why}."}
    rows = choose_rows(subject, min(MOST_EXPLAINED, MOST_CELLS // n_features))
    return {
        "why_absent": None,
        **describe_model(explanation),
        # Held-out samples, to start from.
        "cases": [
            {"row": row, "cells": features.cells(subject.held_out.kernels, row)}
            for row in rows.tolist()
        ],
    }


def describe_cutoff(subject: Subject) -> dict[str, Any] | None:
    """What the page needs to answer at other costs; None for too many cases, or without votes."""
    explanation, n_classes = subject.explanation, len(subject.classes)
    n = len(explanation)
    if explanation.decision != "votes" or n > MOST_LISTED or n * n_classes > MOST_CELLS:
        return None
    labels = subject.held_out.labels
    counts = Counter(subject.predicted if labels is None else labels)
    return {
        # With two classes, the cut-off is on the probability of the rarer one.
        "target": int(np.argmin([counts[label] for label in subject.classes])),
        "temperature": explanation.temperature,
        "prior_starts": explanation.prior_starts,
        "costs": explanation.stakes,
        # The probabilities are the softmax of temperature times these.
        "scores": explanation.scores - explanation.head_starts + explanation.prior_starts,
    }
