"""What a picture of one decision is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations import Explanation
from imkpl.series import SeriesSet


@dataclass(frozen=True, eq=False)
class PrototypeShare:
    """One prototype in the code of a sample.

    Parameters
    ----------
    prototype : int
        Which prototype.
    owner : int
        Place of its class among the classes.
    share : float
        Its share of the code.
    samples : list
        What the training samples behind it are called, the largest share first.
    """

    prototype: int
    owner: int
    share: float
    samples: list[Any]


@dataclass(frozen=True, eq=False)
class ChannelComparison:
    """One channel, or group of channels, of a series, and of a training series.

    Parameters
    ----------
    name : str
        Of the kernel.
    values, best_values : array of shape (n_channels, length)
        The series, and the training series with the largest amount in its code.
    times, shares : array of shape (n_steps,)
        Steps of the series, and what each has of its similarity to the prototypes.
    """

    name: str
    values: FloatArray
    best_values: FloatArray
    times: FloatArray
    shares: FloatArray


def list_prototypes(explanation: Explanation, row: int) -> list[PrototypeShare]:
    """The prototypes in the code of a sample."""
    shares = explanation.shares[[row]].tocoo()
    owners = explanation.evidence.predictor.encoder.classes
    found = []
    for place in np.argsort(-shares.data, kind="stable"):
        prototype = int(shares.coords[1][place])
        behind = [explanation.support_ids[i] for i, _ in explanation.samples_behind(prototype)]
        share = float(shares.data[place])
        found.append(PrototypeShare(prototype, int(owners[prototype]), share, behind))
    return found


def compare_channels(
    explanation: Explanation, row: int, max_channels: int
) -> tuple[Any, list[ChannelComparison]]:
    """A series beside the training series that has the largest amount in its code."""
    evidence = explanation.evidence
    predictor = evidence.predictor
    amounts = (evidence.encoding.codes[[row]] @ predictor.mixes).toarray().ravel()
    if not isinstance(predictor.samples, SeriesSet) or not np.any(amounts > 0):
        return None, []
    best = int(np.argmax(amounts))
    time_shares = explanation.time_shares(row)
    totals = [float(time_shares[name].shares.sum()) for name in explanation.feature_names]
    found = []
    for kernel in np.argsort(-np.array(totals), kind="stable")[:max_channels]:
        name = explanation.feature_names[kernel]
        channels = predictor.bank.select([kernel])._columns
        found.append(
            ChannelComparison(
                name,
                evidence.samples[row][channels],
                predictor.samples[best][channels],
                time_shares[name].times,
                time_shares[name].shares,
            )
        )
    return explanation.support_ids[best], found
