"""Reasons at the level of time: which steps of a series are like its prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.kernels import Averaged, ExpectedAlignment, GlobalAlignment, expected_alignment
from imkpl.model.predictor import Predictor

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation


@dataclass(frozen=True, eq=False)
class TimeShares:
    """How the similarity of a series to its prototypes is spread over one channel's time.

    Parameters
    ----------
    times : array of shape (n_steps,)
        Where the steps lie in the series, counted in its own steps.
    shares : array of shape (n_steps,)
        The share of each step. The shares of all channels together sum to one.
    """

    times: FloatArray
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class AlignedSample:
    """A training series behind a decision, and where in time the new one is like it.

    Parameters
    ----------
    sample : int or str
        What the training series is called.
    amount : float
        Its coefficient in the code of the new series, written as a mix of training series.
    alignments : dict of ExpectedAlignment
        By kernel; those of a group's channels where a kernel is their mean.
    """

    sample: Any
    amount: float
    alignments: dict[str, ExpectedAlignment]


def align_with_support(explanation: Explanation, row: int) -> list[AlignedSample]:
    """Alignments of a series with the training series that its code is made of."""
    evidence = explanation.evidence
    bank, _ = _unfold(evidence.predictor)
    one, support = evidence.samples[row], evidence.predictor.samples
    names = bank.kernel_names(evidence.samples.channel_names)
    amounts = (evidence.encoding.codes[[row]] @ evidence.predictor.mixes).toarray().ravel()
    order = [int(place) for place in np.argsort(-amounts, kind="stable") if amounts[place] > 0]
    return [
        AlignedSample(
            explanation.support_ids[place],
            float(amounts[place]),
            {
                name: expected_alignment(bank, kernel, one, support[place])
                for kernel, name in enumerate(names)
            },
        )
        for place in order
    ]


def share_time(explanation: Explanation, row: int) -> dict[str, TimeShares]:
    """The share of every step of every channel in what the code of a series explains.

    The kernel l between the series and training series i has the part ``amount_i weight_l K_li`` in
    that, and their expected alignment spreads it over the steps.
    """
    _, weights = _unfold(explanation.evidence.predictor)
    times: dict[str, FloatArray] = {}
    parts: dict[str, FloatArray] = {}
    for aligned in align_with_support(explanation, row):
        for weight, (name, alignment) in zip(weights, aligned.alignments.items(), strict=True):
            part = aligned.amount * weight * alignment.similarity * alignment.x_shares
            parts[name] = parts.get(name, np.zeros(part.size)) + part
            times[name] = alignment.x_times
    whole = sum(float(part.sum()) for part in parts.values())
    return {name: TimeShares(times[name], part / whole) for name, part in parts.items()}


def _unfold(predictor: Predictor) -> tuple[GlobalAlignment, FloatArray]:
    """The alignment kernels of a model and their weights; a mean of kernels is its parts."""
    bank, weights = predictor.bank, predictor.weights
    if isinstance(bank, Averaged):
        weights = weights @ bank.shares
        bank = bank.bank
    if not isinstance(bank, GlobalAlignment):
        raise TypeError(
            "Only alignment kernels compare series step by step, but the kernels of this model are "
            f"{type(bank).__name__}. Fit TimeSeriesIMKPL, or use contributions() for these kernels."
        )
    return bank, np.asarray(weights)
