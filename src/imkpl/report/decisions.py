"""How often the model is right about held-out samples, and why it decided as it did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.explanations import Explanation
from imkpl.explanations.exports import find_bonuses, list_speakers, to_label
from imkpl.measures import discrimination_score, interpretability_score
from imkpl.report.learned import describe_time
from imkpl.report.subject import Subject, choose_evenly, isolate

# Samples in the table, samples with an explanation, and fewer of these where samples are series,
# which take time to align.
MOST_LISTED, MOST_EXPLAINED, MOST_SERIES_EXPLAINED = 5000, 500, 100
# Prototypes and features in a table of contributions; the others are summed.
MOST_PROTOTYPES, MOST_FEATURES = 6, 10


def describe_accuracy(subject: Subject) -> dict[str, Any] | None:
    """Accuracy with its Wilson interval, by class, and the confusion matrix."""
    from scipy.stats import binomtest

    labels, right = subject.held_out.labels, subject.right
    if labels is None or right is None:
        return None
    classes, winners = subject.classes, subject.explanation.winners
    # Classes that the model does not know are rows of the matrix, but not columns.
    unseen = sorted({label for label in labels if label not in classes}, key=str)
    rows = {label: place for place, label in enumerate([*classes, *unseen])}
    counts = np.zeros((len(rows), len(classes)), dtype=int)
    for label, winner in zip(labels, winners, strict=True):
        counts[rows[label], winner] += 1
    n_right, n = int(right.sum()), len(labels)
    sizes, hits = counts.sum(axis=1), np.zeros(len(rows), dtype=int)
    hits[: len(classes)] = np.diagonal(counts)
    n_predicted = [*counts.sum(axis=0), *([0] * len(unseen))]
    is_answered = ~subject.explanation.is_novel
    interval = binomtest(n_right, n).proportion_ci(method="wilson")
    pairs = Counter(
        (str(label), label, found)
        for label, found in zip(labels, subject.predicted, strict=True)
        if label != found
    )
    return {
        "n": n,
        "n_right": n_right,
        "accuracy": n_right / n,
        "interval": [interval.low, interval.high],
        "balanced_accuracy": float(np.mean(hits[sizes > 0] / sizes[sizes > 0])),
        "accuracy_unless_abstained": float(right[is_answered].mean()) if any(is_answered) else None,
        "unseen_classes": unseen,
        "classes": [
            {
                "label": label,
                "n": int(sizes[place]),
                "n_right": int(hits[place]),
                "n_predicted": int(n_predicted[place]),
                "recall": _divide(hits[place], sizes[place]),
                "precision": _divide(hits[place], n_predicted[place]),
            }
            for label, place in rows.items()
        ],
        "confusion": counts.tolist(),
        "confused": [
            {"true": label, "predicted": found, "n": count}
            for (_, label, found), count in sorted(
                pairs.items(), key=lambda item: (-item[1], item[0][0])
            )
        ],
    }


def _divide(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole > 0 else None


def describe_measures(subject: Subject) -> dict[str, Any]:
    """The paper's measures IP and DR, and the number of abstentions."""
    explanation, labels = subject.explanation, subject.held_out.labels
    discrimination = None
    if labels is not None:
        known = {label: place for place, label in enumerate(subject.classes)}
        truth = np.array([known.get(label, -1) for label in labels])
        discrimination = discrimination_score(
            explanation.evidence.encoding.codes, truth, subject.predictor.encoder.classes
        )
    return {
        "interpretability": interpretability_score(
            subject.model.class_shares_, np.arange(len(explanation.classes))
        ),
        "discrimination": discrimination,
        "n_abstained": int(explanation.is_novel.sum()),
        "novelty_threshold": explanation.novelty_threshold,
    }


def describe_samples(subject: Subject) -> dict[str, Any]:
    """The decision on every held-out sample, with reasons for some of them."""
    explanation, labels, right = subject.explanation, subject.held_out.labels, subject.right
    most = MOST_SERIES_EXPLAINED if subject.kind == "series" else MOST_EXPLAINED
    explained = _choose(subject, most)
    # Explained samples are always listed.
    others = np.setdiff1d(_choose(subject, MOST_LISTED), explained)
    listed = np.union1d(explained, others[: max(0, MOST_LISTED - explained.size)])
    names = _isolate_names(explanation)
    reasons = {
        row: _describe_reasons(subject, explanation[row], names) for row in explained.tolist()
    }
    winners, mains = explanation.winners, explanation.main_prototypes
    is_novel, disagrees = explanation.is_novel, explanation.code_disagrees
    rows = [
        {
            "sample": to_label(explanation.sample_ids[row]),
            "row": row,
            "true": None if labels is None else labels[row],
            "predicted": subject.predicted[row],
            "right": None if right is None else bool(right[row]),
            "probability": float(explanation.probabilities[row, winners[row]]),
            "novelty": float(explanation.novelty[row]),
            "is_novel": bool(is_novel[row]),
            "code_disagrees": bool(disagrees[row]),
            "main": None if mains[row] < 0 else int(mains[row]),
            "reasons": reasons.get(row),
        }
        for row in listed.tolist()
    ]
    return {
        "n": len(explanation),
        "n_listed": len(rows),
        "n_explained": len(reasons),
        "has_labels": labels is not None,
        "rows": rows,
    }


def _choose(subject: Subject, most: int) -> IntArray:
    """Errors first, up to half; the others evenly spaced within classes that keep their shares."""
    labels, right = subject.held_out.labels, subject.right
    if labels is None or right is None:
        return choose_evenly([str(place) for place in subject.explanation.winners], most)
    if len(labels) <= most:
        return np.arange(len(labels))
    wrong, others = np.flatnonzero(~right), np.flatnonzero(right)
    wrong = wrong[choose_evenly([labels[row] for row in wrong], max(most // 2, most - others.size))]
    others = others[choose_evenly([labels[row] for row in others], most - wrong.size)]
    return np.asarray(np.sort(np.concatenate([wrong, others])))


def _isolate_names(explanation: Explanation) -> dict[str, Any]:
    """What to replace in an explanation before it becomes sentences."""
    classes = np.empty(len(explanation.classes), dtype=object)
    classes[:] = [isolate(label) for label in explanation.classes]
    return {
        "kind": IsolatedCells(explanation.kind),
        "classes": classes,
        "support_ids": [isolate(name) for name in explanation.support_ids],
        "feature_names": tuple(isolate(name) for name in explanation.feature_names),
    }


@dataclass(frozen=True)
class IsolatedCells:
    """A kind of samples whose cells can be put into sentences."""

    kind: Any

    def cells(self, *arguments: Any) -> list[Any] | None:
        """The cells of a sample."""
        found = self.kind.cells(*arguments)
        if found is None:
            return None
        return [isolate(cell) if isinstance(cell, str) else cell for cell in found]


def _describe_reasons(subject: Subject, one: Explanation, names: dict[str, Any]) -> dict[str, Any]:
    """The explanation of one sample, in words and numbers."""
    table = one.contributions(0)
    by_feature = table.sum(axis=0)
    winner, runner_up = int(one.winners[0]), int(one.runners_up[0])
    margins = by_feature[:, winner] - by_feature[:, runner_up]
    features = np.argsort(-np.abs(margins), kind="stable")[:MOST_FEATURES]
    is_other = np.ones(len(by_feature), dtype=bool)
    is_other[features] = False
    cells = one._cells(0) if subject.kind == "columns" else None
    shares, bonuses = one.shares.toarray().ravel(), find_bonuses(one)
    speakers = list_speakers(one)
    others = np.delete(shares, speakers)
    sentences = replace(one, sample_ids=[isolate(one.sample_ids[0])], **names)
    return {
        "words": str(sentences),
        "probabilities": one.probabilities[0],
        "scores": one.scores[0],
        "base_scores": one.evidence.base_scores[0],
        "winner": winner,
        "runner_up": runner_up,
        "prototypes": [
            {
                "prototype": place,
                "share": float(shares[place]),
                "similarity": float(one.evidence.similarities[0, place]),
                "bonus": float(bonuses[place]),
            }
            for place in speakers
        ],
        "other_prototypes": {"n": int(np.count_nonzero(others)), "share": float(others.sum())},
        "features": [
            {
                "feature": int(place),
                "value": None if cells is None else cells[place],
                "winner": float(by_feature[place, winner]),
                "runner_up": float(by_feature[place, runner_up]),
            }
            for place in features
        ],
        "other_features": {
            "n": int(is_other.sum()),
            "winner": float(by_feature[is_other, winner].sum()),
            "runner_up": float(by_feature[is_other, runner_up].sum()),
        },
        "table": _cut_table(
            table[:, :, winner] - table[:, :, runner_up], shares, features, is_other
        ),
        "time": describe_time(one) if subject.kind == "series" else None,
    }


def _cut_table(
    table: FloatArray, shares: FloatArray, features: IntArray, is_other: Any
) -> dict[str, Any]:
    """The most important part of what adds up to the lead of a class; the rest is summed."""
    prototypes = np.argsort(-shares, kind="stable")[:MOST_PROTOTYPES]
    is_rest = np.ones(table.shape[0], dtype=bool)
    is_rest[prototypes] = False
    rows = [*table[prototypes], table[is_rest].sum(axis=0)]
    return {
        "prototypes": [int(place) for place in prototypes],
        "n_other_prototypes": int(is_rest.sum()),
        "n_other_features": int(is_other.sum()),
        # One row per prototype and one for the others; the last column is for other features.
        "values": [[*row[features].tolist(), float(row[is_other].sum())] for row in rows],
    }
