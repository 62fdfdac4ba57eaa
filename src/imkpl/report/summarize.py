"""A model and its decisions as one dict: everything that a report shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from imkpl._json import to_json
from imkpl.report.decisions import describe_accuracy, describe_measures, describe_samples
from imkpl.report.learned import (
    describe_curves,
    describe_embedding,
    describe_features,
    describe_prototypes,
    describe_stability,
)
from imkpl.report.subject import (
    describe_provenance,
    describe_repeats,
    describe_size,
    isolate,
    read_subject,
)

# Version of the format, increased when the meaning of a key changes.
FORMAT = 1
# How the rules decide, in a sentence.
HOW_DECIDED = {
    "votes": (
        "Each prototype votes for its own class, the more the closer a sample is to it; the class "
        "with most of the votes wins."
    ),
    "share": (
        "A sample is rebuilt from prototypes of all classes; the class with the largest part wins."
    ),
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
    title: str | None = None,
    created: datetime | None = None,
) -> dict[str, Any]:
    """Collect everything that a report shows.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
    X : samples
        Held-out samples, in the form given to `fit`.
    y : array-like of shape (n_samples,), optional
        Class labels. Without them the report has no accuracy.
    train : tuple (X, y), optional
        The data given to `fit`, for the distributions of features, the maps and duplicates.
    stability : Stability, optional
        Result of :func:`imkpl.stability` for the model's settings and training data.
    title : str, optional
        Title of the report.
    created : datetime, optional
        Time of the report; now by default.

    Returns
    -------
    dict
        Dicts, lists, strings and numbers of six digits, ready for JSON.
    """
    subject = read_subject(model, X, y, train)
    found: dict[str, Any] = {
        "format": FORMAT,
        "title": title or f"{type(model).__name__}: what it learned, and how it decides",
        "kind": subject.kind,
        "decision": subject.explanation.decision,
        "classes": subject.classes,
        "size": describe_size(subject),
        "accuracy": describe_accuracy(subject),
        "measures": describe_measures(subject),
        "prototypes": describe_prototypes(subject),
        "curves": describe_curves(subject),
        "features": describe_features(subject),
        "embedding": describe_embedding(subject),
        "stability": describe_stability(subject, stability),
        "repeats": describe_repeats(subject),
        "samples": describe_samples(subject),
        "provenance": describe_provenance(subject, created),
    }
    found["summary"] = write_summary(found)
    found["warnings"] = write_warnings(found)
    ready: dict[str, Any] = to_json(found, DIGITS)
    return ready


def write_summary(found: dict[str, Any]) -> list[str]:
    """What the model is, how accurate it is and what it ignores, in a few sentences."""
    size, accuracy = found["size"], found["accuracy"]
    word, n = size["feature_word"], found["samples"]["n"]
    sentences = [
        f"The model compares new samples with {_count(size['n_support'], 'training sample')}, "
        f"combined into {_count(size['n_prototypes'], 'prototype')} of "
        f"{_count(len(found['classes']), 'class', 'classes')}.",
        HOW_DECIDED[found["decision"]],
        f"It uses {size['n_features_kept']} of {_count(size['n_features'], word)}.",
    ]
    if accuracy is not None:
        low, high = accuracy["interval"]
        sentences.append(
            f"It is right for {accuracy['n_right']} of {_count(accuracy['n'], 'held-out sample')}: "
            f"{_percent(accuracy['accuracy'])} (95 % interval: {_percent(low)} to "
            f"{_percent(high)})."
        )
    n_abstained = found["measures"]["n_abstained"]
    if n_abstained == 0:
        sentences.append("All held-out samples resemble the training data.")
    else:
        verb = "is" if n_abstained == 1 else "are"
        sentences.append(
            f"{n_abstained} of {_count(n, 'held-out sample')} {verb} unlike the training data; the "
            "model can abstain there."
        )
    n_unused = size["n_train"] - size["n_support"]
    sentences.append(
        f"It ignores {_count(size['n_features'] - size['n_features_kept'], word)} and {n_unused} "
        f"of {_count(size['n_train'], 'training sample')}."
    )
    return sentences


def write_warnings(found: dict[str, Any]) -> list[str]:
    """What a reader should know before trusting the numbers."""
    sentences = []
    accuracy, repeats = found["accuracy"], found["repeats"]
    if accuracy is not None and accuracy["unseen_classes"]:
        names = ", ".join(str(isolate(label)) for label in accuracy["unseen_classes"])
        sentences.append(
            f"Held-out samples of classes missing from the training data ({names}) count as wrong."
        )
    if repeats is not None and repeats["n_leaked"]:
        names = ", ".join(str(isolate(label)) for label in repeats["leaked"])
        more = repeats["n_leaked"] - len(repeats["leaked"])
        verb = "is" if repeats["n_leaked"] == 1 else "are"
        sentences.append(
            f"{_count(repeats['n_leaked'], 'held-out sample')} {verb} also in the training data, "
            f"so the accuracy is too optimistic: {names}{f' and {more} more' if more else ''}."
        )
    if repeats is not None and repeats["n_repeated"]:
        verb = "duplicates" if repeats["n_repeated"] == 1 else "duplicate"
        n_sets = repeats["n_conflicting"]
        differ = "has" if n_sets == 1 else "have"
        clash = f"; {_count(n_sets, 'set')} of equal samples {differ} different classes"
        sentences.append(
            f"{_count(repeats['n_repeated'], 'training sample')} {verb} another one exactly"
            f"{clash if n_sets else ''}."
        )
    sentences += [
        f"Prototype {prototype['prototype']}: {warning['text']}"
        for prototype in found["prototypes"]
        for warning in prototype["warnings"]
        # A pair of duplicates is mentioned once.
        if prototype["prototype"] < warning.get("other", len(found["prototypes"]))
    ]
    return sentences


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(number: int, word: str, plural: str | None = None) -> str:
    return f"{number} {word if number == 1 else plural or word + 's'}"
