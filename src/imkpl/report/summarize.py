"""A model and its decisions as one dict: everything that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from imkpl._json import to_json
from imkpl.report import decisions, learned
from imkpl.report.subject import (
    describe_provenance,
    describe_repeats,
    describe_size,
    isolate,
    read_subject,
)

# Version of the format, increased when the meaning of a key changes.
FORMAT = 2
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


def summarize(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    stability: Any = None,
    folds: dict[str, Any] | None = None,
    by: Mapping[str, Any] | None = None,
    title: str | None = None,
    created: datetime | None = None,
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
        How such models do in folds of all data: "accuracy", "interval", "folds", "repeats" and
        "rows", for the verdict.
    by : mapping of str to array-like of shape (n_samples,), optional
        Columns that divide X into subgroups, each of which is measured on its own.
    title : str, optional
        Title of the report.
    created : datetime, optional
        Time of the report; now by default.

    Returns
    -------
    dict
        Dicts, lists, strings and numbers of six digits, ready for JSON. The numbers of "form", by
        which the page predicts, have all their digits.
    """
    subject = read_subject(model, X, y, train)
    found: dict[str, Any] = {
        "format": FORMAT,
        "title": title or f"{type(model).__name__}: what it learned, and how it decides",
        "kind": subject.kind,
        "decision": subject.explanation.decision,
        "classes": subject.classes,
        "size": describe_size(subject),
        "accuracy": decisions.describe_accuracy(subject),
        "subgroups": decisions.describe_subgroups(subject, by),
        "measures": decisions.describe_measures(subject),
        "prototypes": learned.describe_prototypes(subject),
        "curves": learned.describe_curves(subject),
        "features": learned.describe_features(subject),
        "map": learned.describe_map(subject),
        "stability": learned.describe_stability(subject, stability),
        "folds": folds,
        "repeats": describe_repeats(subject),
        "samples": decisions.describe_samples(subject),
        "provenance": describe_provenance(subject, created),
    }
    found["verdict"] = write_verdict(found)
    found["summary"] = write_summary(found)
    found["warnings"] = write_warnings(found)
    ready: dict[str, Any] = to_json(found, DIGITS)
    ready["form"] = to_json(decisions.describe_form(subject))
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
    n, n_right, baseline = accuracy["n"], accuracy["n_right"], accuracy["baseline"]
    whole = f"all {n}" if n_right == n > 1 else f"{n_right} of {n}"
    cases, folds = f"case{'s' if n != 1 else ''}", found["folds"]
    headline = f"Right for {whole} held-out {cases}"
    if found["repeats"] is not None and found["repeats"]["n_leaked"] == n:
        headline = f"Right for {whole} {cases} that it has learned from"
        if folds is None:
            text = "This says nothing about new cases: hold some back to measure on."
            return {"level": "unclear", "headline": headline, "text": text}
    best = accuracy if folds is None else folds
    usual = f"{isolate(baseline['label'])} ({100 * baseline['accuracy']:.1f} % right)"
    rule = f"than always saying {usual}"
    if best["interval"][0] > baseline["accuracy"]:
        level, text = "better", f"Clearly better {rule}."
    elif best["accuracy"] > baseline["accuracy"]:
        level, text = "unclear", f"Not clearly better {rule}: more cases are needed to tell."
    else:
        level, text = "worse", f"No better {rule}: this model has not learned to tell the classes."
    return {"level": level, "headline": headline, "text": text}


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
