"""Time series, thinned out until they can be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations import Explanation
from imkpl.explanations.cells import as_plain_label
from imkpl.kernels import Averaged
from imkpl.model.predictor import Predictor
from imkpl.report.subject import Subject

MOST_CHANNELS = 3
MOST_STEPS = 60


def describe_curves(subject: Subject) -> list[dict[str, Any]] | None:
    """The main series of every prototype in the channels of most weight."""
    if subject.kind != "series":
        return None
    explanation, predictor = subject.explanation, subject.explanation.evidence.predictor
    channels = _find_channels(predictor)
    if not channels:
        return None
    found = []
    for prototype in range(predictor.mixes.shape[0]):
        place, share = explanation.samples_behind(prototype)[0]
        series = predictor.samples[place]
        found.append(
            {
                "prototype": prototype,
                "sample": as_plain_label(explanation.support_ids[place]),
                "share": share,
                "channels": [
                    {"name": name, **thin_out(series[channel])}
                    for name, channel in list(channels.items())[:MOST_CHANNELS]
                ],
            }
        )
    return found


def describe_time(one: Explanation) -> list[dict[str, Any]] | None:
    """How much of the similarity of a series to its prototypes lies where in time."""
    try:
        found = one.time_shares(0)
    except TypeError:
        return None
    channels, series = _find_channels(one.evidence.predictor), one.evidence.samples[0]
    described = []
    for name in sorted(found, key=lambda name: -float(found[name].shares.sum()))[:MOST_CHANNELS]:
        shares, times = found[name].shares, found[name].times
        edges = np.linspace(0, shares.size, min(MOST_STEPS, shares.size) + 1).astype(int)
        described.append(
            {
                "name": name,
                "share": float(shares.sum()),
                "line": thin_out(series[channels[name]]) if name in channels else None,
                "starts": times[edges[:-1]].tolist(),
                "end": float(times[-1]),
                "steps": np.add.reduceat(shares, edges[:-1]).tolist(),
            }
        )
    return described


def _find_channels(predictor: Predictor) -> dict[str, int]:
    """The channel that each kernel reads, by name, that of most weight first."""
    bank, weights = predictor.bank, predictor.weights
    if isinstance(bank, Averaged):
        weights = np.asarray(weights @ bank.shares)
        bank = bank.bank
    columns = bank.kernel_columns
    if columns is None:
        return {}
    names = bank.kernel_names(predictor.samples.channel_names)
    return {names[kernel]: int(columns[kernel]) for kernel in np.argsort(-weights, kind="stable")}


def thin_out(values: FloatArray) -> dict[str, Any]:
    """A line through at most `MOST_STEPS` of its values, evenly spaced."""
    steps = np.unique(np.linspace(0, len(values) - 1, min(MOST_STEPS, len(values))).astype(int))
    return {"times": steps.tolist(), "values": np.asarray(values, float)[steps].tolist()}
