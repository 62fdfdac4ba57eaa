"""How often the model is right about samples that it has not seen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from imkpl.measures import discrimination_score, interpretability_score
from imkpl.report.subject import Subject

# The normal quantile of a two-sided interval of 95 %.
NORMAL_95 = 1.959963984540054


def wilson_interval(n_right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a share; it stays between 0 and 1.

    Examples
    --------
    >>> low, high = wilson_interval(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    share, z2 = n_right / n, NORMAL_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = NORMAL_95 / (1 + z2 / n) * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2))
    return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))


def describe_accuracy(subject: Subject) -> dict[str, Any] | None:
    """Accuracy with its interval, per class and as a table of classes."""
    labels, right = subject.held_out.labels, subject.right
    if labels is None or right is None:
        return None
    explanation, classes = subject.explanation, subject.classes
    # Classes that were never seen in training are rows of the table, but no prediction.
    unseen = sorted({label for label in labels if label not in classes}, key=str)
    rows = {label: place for place, label in enumerate([*classes, *unseen])}
    counts = np.zeros((len(rows), len(classes)), dtype=int)
    for label, winner in zip(labels, explanation.winners, strict=True):
        counts[rows[label], winner] += 1
    n_right, n = int(right.sum()), len(labels)
    sizes, hits = counts.sum(axis=1), np.zeros(len(rows), dtype=int)
    hits[: len(classes)] = np.diagonal(counts)
    is_answered = ~explanation.is_novel
    return {
        "n": n,
        "n_right": n_right,
        "accuracy": n_right / n,
        "interval": list(wilson_interval(n_right, n)),
        "balanced_accuracy": float(np.mean(hits[sizes > 0] / sizes[sizes > 0])),
        "accuracy_unless_abstained": float(right[is_answered].mean()) if any(is_answered) else None,
        "unseen_classes": unseen,
        "classes": [
            {
                "label": label,
                "n": int(sizes[place]),
                "n_right": int(hits[place]),
                "n_predicted": int(counts[:, place].sum()) if place < len(classes) else 0,
                "recall": _divide(hits[place], sizes[place]),
                "precision": (
                    _divide(hits[place], counts[:, place].sum()) if place < len(classes) else None
                ),
            }
            for label, place in rows.items()
        ],
        "confusion": counts.tolist(),
        "confused": _list_confused(subject, labels),
    }


def describe_measures(subject: Subject) -> dict[str, Any]:
    """IP and DR, and how many samples the model would rather not decide."""
    explanation, labels = subject.explanation, subject.held_out.labels
    codes = explanation.evidence.encoding.codes
    owners = explanation.evidence.predictor.encoder.classes
    discrimination = None
    if labels is not None:
        known = {label: place for place, label in enumerate(subject.classes)}
        truth = np.array([known.get(label, -1) for label in labels])
        discrimination = discrimination_score(codes, truth, owners)
    return {
        "interpretability": interpretability_score(
            subject.model.class_shares_, np.arange(len(explanation.classes))
        ),
        "discrimination": discrimination,
        "n_abstained": int(explanation.is_novel.sum()),
        "novelty_threshold": explanation.novelty_threshold,
    }


def _list_confused(subject: Subject, labels: list[Any]) -> list[dict[str, Any]]:
    """Pairs of classes that were taken for one another, the most frequent first."""
    places = subject.explanation.winners
    pairs = Counter(
        (str(label), label, subject.classes[place])
        for label, place in zip(labels, places, strict=True)
        if label != subject.classes[place]
    )
    return [
        {"true": pair[1], "predicted": pair[2], "n": count}
        for pair, count in sorted(pairs.items(), key=lambda item: (-item[1], item[0][0]))
    ]


def _divide(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole > 0 else None
