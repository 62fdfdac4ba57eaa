"""How often the model is right about held-out samples, why it decided so, and its form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from imkpl.explanations.case_card import CaseCard
from imkpl.explanations.exports import describe_model, find_obstacle, to_label
from imkpl.explanations.show import BADGES
from imkpl.measures import discrimination_score, interpretability_score, wilson_interval
from imkpl.report.learned import thin_out
from imkpl.report.subject import Subject, choose_rows

# Samples in the list, samples with a card, and fewer of these where samples are series, which take
# time to align.
MOST_LISTED, MOST_EXPLAINED, MOST_SERIES_EXPLAINED = 5000, 500, 100
# Cells of the support samples in a form, and as many of held-out samples to start from.
MOST_CELLS = 60_000


def describe_accuracy(subject: Subject) -> dict[str, Any] | None:
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
    sizes, n_predicted, hits = counts.sum(axis=1), counts.sum(axis=0), np.diagonal(counts)
    is_answered = ~subject.explanation.is_novel
    # The most frequent class, of the training data if known.
    known = Counter((subject.train and subject.train.labels) or labels)
    usual = max(known, key=lambda one: (known[one], str(one)))
    answers = zip(labels, subject.predicted, strict=True)
    pairs = Counter((str(label), label, found) for label, found in answers if label != found)
    confused = sorted(pairs.items(), key=lambda item: (-item[1], item[0][0]))
    by_class = zip(rows, *(one.tolist() for one in (sizes, hits, n_predicted)), strict=True)
    return {
        "n": n,
        "n_right": n_right,
        "accuracy": n_right / n,
        "interval": wilson_interval(n_right / n, n),
        "baseline": {"label": usual, "accuracy": labels.count(usual) / n},
        "balanced_accuracy": float(np.mean(hits[sizes > 0] / sizes[sizes > 0])),
        "accuracy_unless_abstained": float(right[is_answered].mean()) if any(is_answered) else None,
        "unseen_classes": unseen,
        "classes": [
            {
                "label": label,
                "n": size,
                "n_right": hit,
                "n_predicted": n_found,
                "recall": hit / size if size else None,
                "interval": wilson_interval(hit / size, size) if size else None,
                "precision": hit / n_found if n_found else None,
            }
            for label, size, hit, n_found in by_class
        ],
        "confusion": counts[:, : len(classes)].tolist(),
        "confused": [
            {"true": label, "predicted": found, "n": count} for (_, label, found), count in confused
        ],
    }


def describe_measures(subject: Subject) -> dict[str, Any]:
    """The paper's measures IP and DR, and the number of abstentions."""
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
        "n_abstained": int(explanation.is_novel.sum()),
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
        lines = {key: thin_out(found["series"][key]) for key in ("values", "supporting")}
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
        **describe_model(explanation, subject.model.temperature_),
        # Held-out samples, to start from.
        "cases": [
            {"row": row, "cells": features.cells(subject.held_out.kernels, row)}
            for row in rows.tolist()
        ],
    }
