"""Held-out samples: a line for each, and the reasons for as many as a page can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.explanations import Explanation
from imkpl.explanations.cells import as_plain_label, read_cells
from imkpl.report.curves import describe_time
from imkpl.report.prototypes import find_mains
from imkpl.report.subject import Subject, choose_evenly

# So many lines are in the table, and reasons are given for so many.
MOST_LISTED = 5000
MOST_EXPLAINED = 500
# Aligning series takes time and room.
MOST_SERIES_EXPLAINED = 100
# A table of reasons has so many prototypes and features; the rest is added up.
MOST_PROTOTYPES = 6
MOST_FEATURES = 10


def describe_samples(subject: Subject) -> dict[str, Any]:
    """Every held-out sample with its decision, and the reasons for a choice of them."""
    explanation, labels = subject.explanation, subject.held_out.labels
    classes, right, mains = subject.classes, subject.right, find_mains(subject)
    most = MOST_SERIES_EXPLAINED if subject.kind == "series" else MOST_EXPLAINED
    explained = _choose(subject, most)
    # What is explained is listed, and others as far as there is room.
    others = np.setdiff1d(_choose(subject, MOST_LISTED), explained)
    listed = np.union1d(explained, others[: max(0, MOST_LISTED - explained.size)])
    reasons = {int(row): _describe_reasons(subject, explanation[int(row)]) for row in explained}
    winners, is_novel = explanation.winners, explanation.is_novel
    rows = []
    for row in (int(place) for place in listed):
        winner = int(winners[row])
        rows.append(
            {
                "sample": as_plain_label(explanation.sample_ids[row]),
                "row": row,
                "true": None if labels is None else labels[row],
                "predicted": classes[winner],
                "right": None if right is None else bool(right[row]),
                "probability": float(explanation.probabilities[row, winner]),
                "novelty": float(explanation.novelty[row]),
                "is_novel": bool(is_novel[row]),
                "main": None if mains[row] < 0 else int(mains[row]),
                "reasons": reasons.get(row),
            }
        )
    return {
        "n": len(explanation),
        "n_listed": len(rows),
        "n_explained": len(reasons),
        "has_labels": labels is not None,
        "rows": rows,
    }


def _choose(subject: Subject, most: int) -> IntArray:
    """Wrong ones first, up to half; of the others every class its share, evenly spaced."""
    n, right = subject.n_held_out, subject.right
    if n <= most:
        return np.arange(n)
    labels = subject.held_out.labels
    if labels is None or right is None:
        return choose_evenly([str(place) for place in subject.explanation.winners], most)
    wrong, others = np.flatnonzero(right == 0), np.flatnonzero(right == 1)
    wrong = wrong[choose_evenly([labels[row] for row in wrong], max(most // 2, most - others.size))]
    others = others[choose_evenly([labels[row] for row in others], most - wrong.size)]
    return np.asarray(np.sort(np.concatenate([wrong, others])))


def _describe_reasons(subject: Subject, one: Explanation) -> dict[str, Any]:
    """The reasons for one sample, in the words and numbers of `explain`."""
    table = one.contributions(0)
    by_feature = table.sum(axis=0)
    probabilities = one.probabilities[0]
    winner = int(one.winners[0])
    others = np.argsort(-probabilities, kind="stable")
    runner_up = int(others[others != winner][0])
    margins = by_feature[:, winner] - by_feature[:, runner_up]
    features = np.argsort(-np.abs(margins), kind="stable")[:MOST_FEATURES]
    predictor = one.evidence.predictor
    cells = read_cells(predictor, one.evidence.samples, 0) if subject.kind == "columns" else None
    shares = one.shares.toarray().ravel()
    return {
        "words": str(one),
        "probabilities": probabilities,
        "scores": one.scores[0],
        "base_scores": one.evidence.base_scores[0],
        "winner": winner,
        "runner_up": runner_up,
        "prototypes": [
            {
                "prototype": int(place),
                "share": float(shares[place]),
                "similarity": float(one.evidence.similarities[0, place]),
            }
            for place in np.argsort(-shares, kind="stable")
            if shares[place] > 0
        ],
        "features": [
            {
                "feature": int(place),
                "value": None if cells is None else cells[place],
                "winner": float(by_feature[place, winner]),
                "runner_up": float(by_feature[place, runner_up]),
            }
            for place in features
        ],
        "other_features": _rest(by_feature, features, winner, runner_up),
        "table": _cut_table(table[:, :, winner], shares, features),
        "time": describe_time(one) if subject.kind == "series" else None,
    }


def _cut_table(table: FloatArray, shares: FloatArray, features: IntArray) -> dict[str, Any]:
    """The largest rows of the table of the predicted class; the rest added up."""
    # Prototypes in the code first, then those that only the readout hears.
    weight = shares + 1e-9 * np.abs(table).sum(axis=1)
    prototypes = np.argsort(-weight, kind="stable")[:MOST_PROTOTYPES]
    is_rest = np.ones(table.shape[0], dtype=bool)
    is_rest[prototypes] = False
    is_other = np.ones(table.shape[1], dtype=bool)
    is_other[features] = False
    rows = [*table[prototypes], table[is_rest].sum(axis=0)]
    return {
        "prototypes": [int(place) for place in prototypes],
        "n_other_prototypes": int(is_rest.sum()),
        "n_other_features": int(is_other.sum()),
        # One row per prototype and one for all others; the last column is that of other features.
        "values": [[*row[features].tolist(), float(row[is_other].sum())] for row in rows],
    }


def _rest(by_feature: FloatArray, shown: IntArray, winner: int, runner_up: int) -> dict[str, Any]:
    is_other = np.ones(len(by_feature), dtype=bool)
    is_other[shown] = False
    return {
        "n": int(is_other.sum()),
        "winner": float(by_feature[is_other, winner].sum()),
        "runner_up": float(by_feature[is_other, runner_up].sum()),
    }
