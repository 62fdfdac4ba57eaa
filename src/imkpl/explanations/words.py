"""Reasons in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations.cells import read_cells

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

# Less than this part of a similarity is 0 % to a person.
LEAST_PART = 0.005
# A person reads so many prototypes, samples and features; the rest is counted.
MOST_PROTOTYPES = 3
MOST_SAMPLES = 3
MOST_FEATURES = 3


def say_reasons(explanation: Explanation, row: int) -> str:
    """Why one sample was classified as it was, in a few lines."""
    winner = int(explanation.winners[row])
    probabilities = explanation.probabilities[row]
    others = np.argsort(-probabilities, kind="stable")
    runner_up = int(others[others != winner][0])
    lines = [
        f"Sample {explanation.sample_ids[row]} is {explanation.classes[winner]} "
        f"({probabilities[winner]:.0%}); next comes {explanation.classes[runner_up]} "
        f"({probabilities[runner_up]:.0%})."
    ]
    lines += _say_prototypes(explanation, row)
    lines += _say_features(explanation, row, winner, runner_up)
    lines.append(_say_novelty(explanation, row))
    return "\n".join(lines)


def _say_prototypes(explanation: Explanation, row: int) -> list[str]:
    shares = explanation.shares[[row]].tocoo()
    order = np.argsort(-shares.data, kind="stable")
    if order.size == 0:
        return ["It is like none of the prototypes."]
    evidence = explanation.evidence
    parts = evidence.similarity_parts(np.array([row]))[0]
    lines = []
    for place in order[:MOST_PROTOTYPES]:
        prototype = int(shares.coords[1][place])
        through = _join_features(explanation, parts[prototype])
        lines.append(
            f"  {shares.data[place]:.0%} like {_say_prototype(explanation, prototype)}"
            f"{', through ' + through if through else ''}"
        )
    rest = order[MOST_PROTOTYPES:]
    if rest.size:
        prototypes = "prototype" if rest.size == 1 else "prototypes"
        lines.append(f"  {shares.data[rest].sum():.0%} like {rest.size} more {prototypes}")
    return lines


def _say_prototype(explanation: Explanation, prototype: int) -> str:
    """A prototype by the training samples behind it."""
    label = explanation.prototype_classes[prototype]
    behind = explanation.samples_behind(prototype)
    if len(behind) == 1:
        return f"training sample {explanation.support_ids[behind[0][0]]} ({label})"
    named = [f"{explanation.support_ids[i]}: {share:.0%}" for i, share in behind[:MOST_SAMPLES]]
    more = len(behind) - MOST_SAMPLES
    return (
        f"prototype {prototype} ({label}), a mix of training samples {', '.join(named)}"
        f"{f' and {more} more' if more > 0 else ''}"
    )


def _join_features(explanation: Explanation, parts: FloatArray) -> str:
    """The features with the largest part in a similarity."""
    total = parts.sum()
    if total <= 0:
        return ""
    order = np.argsort(-parts, kind="stable")[:MOST_FEATURES]
    return ", ".join(
        f"{explanation.feature_names[i]} ({parts[i] / total:.0%})"
        for i in order
        # Of categories that differ next to nothing is left, but not nothing.
        if parts[i] > LEAST_PART * total
    )


def _say_features(explanation: Explanation, row: int, winner: int, runner_up: int) -> list[str]:
    """What speaks for the winner rather than the runner-up, and what against."""
    evidence = explanation.evidence.take(np.array([row]))
    by_feature = evidence.by_kernel()[0]
    margins = by_feature[:, winner] - by_feature[:, runner_up]
    cells = read_cells(evidence.predictor, evidence.samples, 0)
    lines = []
    over = f"{explanation.classes[winner]} rather than {explanation.classes[runner_up]}"
    for sign, words in ((1, f"Speaks for {over}"), (-1, "Speaks against")):
        order = np.argsort(-sign * margins, kind="stable")[:MOST_FEATURES]
        named = [
            f"{explanation.feature_names[i]}{_say_cell(cells, i)} {margins[i]:+.2g}"
            for i in order
            if sign * margins[i] > 0
        ]
        if named:
            lines.append(f"{words}: {', '.join(named)}.")
    return lines


def _say_cell(cells: list[Any] | None, feature: int) -> str:
    if cells is None:
        return ""
    value = cells[feature]
    if value is None:
        return " (missing)"
    return f" = {value:.4g}" if isinstance(value, float) else f" = {value}"


def _say_novelty(explanation: Explanation, row: int) -> str:
    novelty, threshold = explanation.novelty[row], explanation.novelty_threshold
    if explanation.is_novel[row]:
        return (
            f"Nothing like it was seen in training: novelty {novelty:.2f}, usual up to "
            f"{threshold:.2f}."
        )
    return f"Like what was seen in training: novelty {novelty:.2f}, usual up to {threshold:.2f}."
