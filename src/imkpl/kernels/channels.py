"""Which channels a kernel of time series reads, and its series made ready for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.bandwidth import root_mean_squared_difference
from imkpl.kernels.checks import check_sample_weight
from imkpl.series import SeriesSet, difference, resample

# With equal values a normalised alignment kernel of lengths n and m is about
# exp(-(n - m)**2 / (2 sqrt(2) n)): the end of a random alignment has this spread.
LENGTH_SPREAD = 2 * np.sqrt(2)
# Lengths are made equal when they alone would lower the mean kernel by more than this.
MOST_LOST = 0.05

Groups = Mapping[str, Sequence[int | str]]


@dataclass(frozen=True, eq=False)
class ChannelKernels:
    """The kernels of an adapted bank of time series, one entry per kernel.

    Parameters
    ----------
    channels : tuple of tuples of int
        The input channels that each kernel reads.
    labels : tuple of str
        What each reads, in words.
    is_group : bool array of shape (n_kernels,)
        Whether the channels are a named group.
    is_difference : bool array of shape (n_kernels,)
        Whether the kernel compares first differences.
    scales : array of shape (n_kernels,)
        The factor on its bandwidth.
    rates : array of shape (n_kernels,)
        ``1 / sqrt(scale * bandwidth)``; 0 for the constant kernel.
    centers : tuple of tuples of float
        A typical value of each channel of a kernel. Distances do not depend on it, but numbers far
        from zero would lose digits.
    length : int, optional
        The common length to which series are resampled.
    """

    channels: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    is_group: BoolArray
    is_difference: BoolArray
    scales: FloatArray
    rates: FloatArray
    centers: tuple[tuple[float, ...], ...]
    length: int | None

    def at(self, indices: IntArray) -> ChannelKernels:
        """The listed kernels in that order."""
        return ChannelKernels(
            tuple(self.channels[i] for i in indices),
            tuple(self.labels[i] for i in indices),
            self.is_group[indices],
            self.is_difference[indices],
            self.scales[indices],
            self.rates[indices],
            tuple(self.centers[i] for i in indices),
            self.length,
        )

    def prepare(self, index: int, series: SeriesSet, dtype: Any) -> SeriesSet:
        """What one kernel compares: no value missing, and a local kernel ``exp(-(x - y)**2)``."""
        part = prepare_channels(
            series,
            self.channels[index],
            length=self.length,
            is_difference=bool(self.is_difference[index]),
        )
        center = np.array(self.centers[index])[:, np.newaxis]
        scaled = (part.values - center) * self.rates[index]
        return SeriesSet(scaled.astype(dtype, copy=False), part.starts)


def find_channels(
    groups: Groups | None, series: SeriesSet
) -> tuple[list[tuple[int, ...]], list[str]]:
    """The channels of every group, or each channel on its own."""
    names = series.channel_names
    if groups is None:
        labels = [f"channel {c}" for c in range(series.n_channels)] if names is None else names
        return [(c,) for c in range(series.n_channels)], list(labels)
    places = {} if names is None else {name: place for place, name in enumerate(names)}
    channels = []
    for group, members in groups.items():
        found = [places.get(m, -1) if isinstance(m, str) else int(m) for m in members]
        wrong = [m for m, c in zip(members, found, strict=True) if not 0 <= c < series.n_channels]
        if wrong or not found or len(set(found)) < len(found):
            known = "" if names is None else f", or one of {', '.join(names)}"
            raise ValueError(
                f"Group {group!r} lists the channels {list(members)}, expected different numbers "
                f"from 0 to {series.n_channels - 1}{known}, and at least one. Correct `groups`, or "
                "leave it out for one kernel per channel."
            )
        channels.append(tuple(found))
    return channels, [str(group) for group in groups]


def prepare_channels(
    series: SeriesSet, channels: Sequence[int], *, length: int | None, is_difference: bool
) -> SeriesSet:
    """Some channels without missing values: at a common length, or at the steps observed."""
    part = series.channels(np.asarray(channels, dtype=np.intp))
    if length is not None and np.all(part.lengths > 0):
        part = resample(part, length)
    is_seen = ~np.isnan(part.values).any(axis=0)
    if not is_seen.all():
        seen_before = np.concatenate(([0], np.cumsum(is_seen)))
        part = SeriesSet(part.values[:, is_seen], seen_before[part.starts], part.channel_names)
    if np.any(part.lengths == 0):
        empty = int(np.argmin(part.lengths))
        together = "channel" if len(channels) == 1 else "any time step together in the channels"
        raise ValueError(
            f"Series {empty} has no values in {together} {', '.join(map(str, channels))}, expected "
            "at least one time step that is not NaN. Leave out the series, leave out the channel "
            "with SeriesSet.channels, or fill in its values."
        )
    return difference(part) if is_difference else part


def find_length(series: SeriesSet, wanted: int | str | None, shares: FloatArray) -> int | None:
    """The common length to resample to, if any."""
    if not isinstance(wanted, str):
        return wanted
    lengths = series.lengths.astype(np.float64)
    mean = float(shares @ lengths)
    # The mean of (n - m)**2 over pairs is twice the variance.
    spread = 2 * float(shares @ (lengths - mean) ** 2)
    is_uneven = spread > MOST_LOST * LENGTH_SPREAD * mean
    return max(1, round(mean)) if is_uneven else None


def root_bandwidth(part: SeriesSet, sample_weight: Any) -> float:
    """The root of the squared width that suits some channels.

    ``mean squared difference * mean length``, the mean taken over all pairs of series and of their
    time steps, and summed over the channels: ``2 sigma**2`` for
    ``sigma = sqrt(mean squared difference / 2) * sqrt(length)``. An alignment has about as many
    local kernels as a series has steps, and multiplies them.
    """
    shares = check_sample_weight(sample_weight, len(part))
    per_step = np.repeat(shares / part.lengths, part.lengths)
    roots = root_mean_squared_difference(part.values.T, per_step)
    # hypot keeps numbers of extreme size.
    return float(np.hypot.reduce(roots) * np.sqrt(shares @ part.lengths))
