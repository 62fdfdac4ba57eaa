"""When a series decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._json import to_json
from imkpl._typing import FloatArray
from imkpl.kernels import expected_alignment
from imkpl.kernels.alignment import split_losses
from imkpl.kernels.views import ALIGNED
from imkpl.model.predictor import Predictor

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

# Agreements below are not told apart.
SMALLEST = 1e-300
# A series decides in the shortest span of steps with this part of what tells it apart.
MOST = 2 / 3
# Channels that are named.
MOST_CHANNELS = 5
# Points of a series that are kept.
MOST_STEPS = 200


def rank_channels(predictor: Predictor) -> list[tuple[str, int]]:
    """The channels that alignment kernels read, with their places, largest weight first."""
    found = predictor.kernels.aligned(predictor.weights)
    if found is None:
        return []
    kernels, weights = found
    names, inputs = kernels.channel_names, kernels.input_columns
    totals = kernels.share_out(weights, int(inputs.max(initial=-1)) + 1)[inputs]
    return [(names[place], int(place)) for place in np.argsort(-totals, kind="stable")]


def split_by_channel(one: Explanation, prototypes: Sequence[int | None]) -> FloatArray:
    """What every channel adds to the similarity to the first of two prototypes, over the second.

    A similarity is what its kernels have where all is equal, less what each channel costs; the
    first prototype is nearer in a channel that costs less.
    """
    evidence: Any = one.evidence
    predictor = evidence.predictor
    kernels, weights = evidence.kernels.aligned(predictor.weights)
    adds = np.zeros(len(kernels.channel_names))
    if adds.size < 2:
        return adds
    for sign, prototype in zip((-1, 1), prototypes, strict=True):
        if prototype is not None:
            own = slice(*predictor.mixes.indptr[prototype : prototype + 2])
            amounts, places = predictor.mixes.data[own], predictor.mixes.indices[own]
            for index, kernel in enumerate(kernels.each):
                lost = split_losses(kernels, index, kernels.samples, kernels.others[places])
                adds[list(kernel.channels)] += sign * weights[index] * (amounts @ lost)
    return adds


def describe_series(
    one: Explanation, prototypes: Sequence[int | None], places: Sequence[int | None]
) -> dict[str, Any] | None:
    """The channel that speaks most for the first of two support samples, step by step.

    A step has a share in the decision as large as it agrees better with the first than with the
    second. The logarithm of an alignment kernel is about a sum over steps. A view that sums a
    channel up has no steps that say more than others.
    """
    predictor = one.evidence.predictor
    used = [place for place in places if place is not None]
    if not used or places[0] is None:
        return None
    found = predictor.kernels.take(used).cross(one.evidence.samples).aligned(predictor.weights)
    if found is None:
        return None
    kernels, weights = found
    case, support = kernels.samples[0], kernels.others
    alike = kernels.compare_mixes(np.eye(len(used)))[0]
    signs = [1, -1][: len(used)]
    index = int(np.argmax(signs @ alike * weights))
    aligned = [expected_alignment(kernels, index, case, other) for other in support]
    logs = [np.log(np.maximum(each.x_agreement, SMALLEST)) for each in aligned]
    gains = np.maximum(logs[0] - logs[-1], 0.0) if len(used) > 1 else aligned[0].x_shares
    shares = gains / (gains.sum() or 1.0)
    names, adds = kernels.channel_names, split_by_channel(one, prototypes)
    n_named = MOST_CHANNELS if adds.size > 1 else 0
    order = np.argsort(-np.abs(adds), kind="stable")[:n_named]
    # Of channels that are compared together, the one that tells the two prototypes apart best.
    read, view = kernels.each[index].channels, kernels.each[index].view
    channel, times = read[int(np.argmax(adds[list(read)]))], aligned[0].x_times
    visits, others = aligned[0].visits, aligned[0].y_times
    if view in ALIGNED:
        first, last = find_span(shares)
        beside = visits @ others / visits.sum(axis=1)
    else:
        # All steps of a window are summed up together.
        first, last = 0, times.size - 1
        beside = np.linspace(others[0], others[-1], times.size)
    edges = np.linspace(0, times.size, min(MOST_STEPS, times.size) + 1).astype(np.intp)[:-1]
    return {
        "case": str(one.support_ids[used[0]]),
        "channel": kernels.name_kernel(index, names[channel]),
        "channels": [{"name": names[each], "for": float(adds[each])} for each in order],
        "summary": None if view in ALIGNED else view,
        "from": int(np.floor(times[first])),
        "to": int(np.ceil(times[last])),
        "times": times[edges].tolist(),
        "aligned": beside[edges].tolist(),
        "shares": np.add.reduceat(shares, edges).tolist(),
        "values": to_json(case[channel]),
        "supporting": to_json(support[0][channel]),
    }


def find_span(shares: FloatArray) -> tuple[int, int]:
    """The shortest span of steps that has most of all shares.

    Examples
    --------
    >>> find_span(np.array([0.0, 0.1, 0.5, 0.4, 0.0, 0.1]))
    (2, 3)
    """
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    ends = np.searchsorted(sums, sums[:-1] + MOST * sums[-1] * (1 - 1e-9))
    first = int(np.argmin(np.where(ends < sums.size, ends - np.arange(ends.size), np.inf)))
    return first, int(max(ends[first] - 1, first))
