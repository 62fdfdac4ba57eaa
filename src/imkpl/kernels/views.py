"""Views of a channel: what a kernel of time series compares, and in which part of the time.

A view makes series of series. Values and differences stay series, which are aligned. The others sum
a series up in a few numbers, a series of one step, whose alignment kernel is nothing but a local
kernel: they cost as little as a feature of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._checks import require, shorten
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.per_feature import invert_roots, root_mean_squared_difference
from imkpl.series import SeriesSet, difference, resample

# What is added to spreads before their logarithm is taken, in units of the channel: where hardly
# anything moves it does not matter how little.
STILL = 1e-3
# Numbers that a summary has at most: frequencies, quantiles, lags.
N_FREQUENCIES = 12
N_QUANTILES = 10
N_LAGS = 10

# Patterns span these parts of a series, and rise above these heights, in units of the channel.
PATTERN_SPANS = (1, 2, 4, 8)
PATTERN_HEIGHTS = (-0.05, 0.05)

Window = tuple[float, float]
WHOLE: Window = (0.0, 1.0)
# From all series of one length, (n_series, n_channels, n_steps), to their numbers.
Summary = Callable[[FloatArray], FloatArray]


def _level(block: FloatArray) -> FloatArray:
    return np.asarray(np.mean(block, axis=2, keepdims=True))


def _trend(block: FloatArray) -> FloatArray:
    """The slope of the line of least squares, over the whole time."""
    n_steps = block.shape[2]
    if n_steps == 1:
        return np.zeros_like(block)
    times = np.linspace(-0.5, 0.5, n_steps)
    return np.asarray((block @ times / (times @ times))[..., np.newaxis])


def _spread(block: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.std(block, axis=2, keepdims=True) + STILL))


def _spectrum(block: FloatArray) -> FloatArray:
    """Logarithms of the power of slow frequencies, in cycles per series."""
    found = np.abs(np.fft.rfft(block, axis=2)[..., 1 : N_FREQUENCIES + 1]) / block.shape[2]
    missing = N_FREQUENCIES - found.shape[2]
    return np.log(np.pad(found, ((0, 0), (0, 0), (0, missing))) ** 2 + STILL**2)


def _distribution(block: FloatArray) -> FloatArray:
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    return np.moveaxis(np.quantile(block, levels, axis=2), 0, 2)


def _autocorrelation(block: FloatArray) -> FloatArray:
    centered, found = block - _level(block), np.zeros((*block.shape[:2], N_LAGS))
    for lag in range(1, min(N_LAGS + 1, block.shape[2])):
        found[..., lag - 1] = np.sum(centered[..., lag:] * centered[..., :-lag], axis=2)
    total = np.sum(centered**2, axis=2, keepdims=True)
    return found / np.where(total > 0, total, 1.0)


def _patterns(block: FloatArray) -> FloatArray:
    """How often patterns of three high values among nine occur, as in MINIROCKET.

    The nine steps span the series, half of it and so on; a pattern occurs where the three exceed
    the mean of the nine by more than a threshold, on average.
    """
    n_steps = block.shape[2]
    found = []
    for share in PATTERN_SPANS:
        gap = max(1, n_steps // (9 * share))
        padded = np.pad(block, ((0, 0), (0, 0), (4 * gap, 4 * gap)), mode="edge")
        steps = [padded[..., place * gap : place * gap + n_steps] for place in range(9)]
        mean = np.mean(steps, axis=0)
        for first, second, third in combinations(steps, 3):
            height = (first + second + third) / 3 - mean
            found += [np.count_nonzero(height > low, axis=2) for low in PATTERN_HEIGHTS]
    return np.asarray(np.stack(found, axis=2) / n_steps)


ALIGNED = ("values", "differences")
SUMMARIES: dict[str, Summary] = {
    "level": _level,
    "trend": _trend,
    "spread": _spread,
    "spectrum": _spectrum,
    "distribution": _distribution,
    "autocorrelation": _autocorrelation,
    "patterns": _patterns,
}
VIEWS = (*ALIGNED, *SUMMARIES)


def count_numbers(view: str) -> int:
    """How many numbers stand for a step of a channel."""
    return 1 if view in ALIGNED else SUMMARIES[view](np.zeros((1, 1, 1))).shape[2]


def prepare_channels(series: SeriesSet, channels: Sequence[int], length: int | None) -> SeriesSet:
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
    return part


def view_series(
    series: SeriesSet, view: str, window: Window = WHOLE, units: ArrayLike = 1.0
) -> SeriesSet:
    """What a kernel compares of series without missing values.

    Summaries are in the units given, one for all channels or one for each, and come channel by
    channel.
    """
    part = series if window == WHOLE else cut_window(series, window)
    if view in ALIGNED:
        return part if view == "values" else difference(part)
    numbers, order = [], []
    for length in np.unique(part.lengths):
        chosen = np.flatnonzero(part.lengths == length)
        steps = part.starts[chosen, np.newaxis] + np.arange(length)
        block = np.moveaxis(part.values[:, steps].astype(np.float64), 0, 1)
        block = block / np.reshape(units, (-1, 1))
        numbers.append(SUMMARIES[view](block).reshape(chosen.size, -1))
        order.append(chosen)
    found = np.concatenate(numbers)[np.argsort(np.concatenate(order))]
    return SeriesSet(found.T.astype(part.dtype), np.arange(len(part) + 1))


def cut_window(series: SeriesSet, window: Window) -> SeriesSet:
    """The steps of every series in a part of its time, at least one."""
    firsts, lasts = find_steps(series.lengths, window)
    lengths = lasts - firsts
    starts = np.concatenate(([0], np.cumsum(lengths)))
    shifts = np.repeat(series.starts[:-1] + firsts - starts[:-1], lengths)
    steps = np.arange(starts[-1]) + shifts
    return SeriesSet(series.values[:, steps], starts, series.channel_names)


def find_steps(lengths: IntArray, window: Window) -> tuple[IntArray, IntArray]:
    """The first step in a window, and the first behind it."""
    start, stop = window
    # Products such as 0.1 * 30 may miss a whole number by their last bit.
    firsts = np.minimum(np.floor(start * lengths + 1e-9).astype(np.intp), lengths - 1)
    return firsts, np.maximum(np.ceil(stop * lengths - 1e-9).astype(np.intp), firsts + 1)


def find_windows(parts: Sequence[int]) -> list[Window]:
    """Windows that slide over time by half their length, for every length 1 / n."""
    return [
        (float(Fraction(place, 2 * n)), float(Fraction(place + 2, 2 * n)))
        for n in parts
        for place in range(2 * n - 1)
    ]


def name_view(view: str, window: Window) -> list[str]:
    """The words that tell a kernel from the one of the values at all times."""
    words = [] if view == "values" else [view]
    start, stop = window
    return words if window == WHOLE else [*words, f"{100 * start:.3g}-{100 * stop:.3g} % of time"]


@dataclass(frozen=True, eq=False)
class ChannelKernel:
    """One kernel: which channels it reads, what of them it compares, and in which units."""

    channels: tuple[int, ...]  # among those that the samples have
    label: str  # the name of the channel or group
    is_group: bool = False  # whether the channels are a named group
    # The weight of each channel in squared distances; none where all have one unit.
    shares: tuple[float, ...] = ()
    view: str = "values"  # what of the channels is compared
    window: Window = WHOLE  # and in which part of the time
    units: tuple[float, ...] = ()  # a typical difference of two values, for each channel
    scale: float = 1.0  # the factor on the bandwidth
    rate: float = 0.0  # 1 / sqrt(scale * bandwidth); 0 for the constant kernel
    factors: tuple[float, ...] = ()  # on what is compared of each channel
    # A typical value of each number that is compared. Distances do not depend on it, but numbers
    # far from zero would lose digits.
    centers: tuple[float, ...] = ()

    def prepare(self, series: SeriesSet, length: int | None, dtype: DTypeLike) -> SeriesSet:
        """What is compared: no value missing, and a local kernel ``exp(-(x - y)**2)``."""
        part = prepare_channels(series, self.channels, length)
        part = view_series(part, self.view, self.window, self.units)
        center, factors = np.array(self.centers), self.rate * np.array(self.factors)
        factors = np.repeat(factors, center.size // factors.size)
        scaled = (part.values - center[:, np.newaxis]) * factors[:, np.newaxis]
        return SeriesSet(scaled.astype(dtype, copy=False), part.starts)

    def check(self) -> None:
        """Raise a ValueError unless the fields belong together, also if they are from a file."""
        n_channels, (start, stop) = len(self.channels), self.window
        require(min(self.channels, default=-1) >= 0, "a kernel has no channels, or none that are")
        require(self.view in VIEWS, f"there is no view {shorten(self.view)}")
        require(0 <= start < stop <= 1, f"the window from {start} to {stop} is no part of the time")
        n_centers = n_channels * count_numbers(self.view)
        found = (len(self.units), len(self.factors), len(self.shares or self.units))
        require(found == (n_channels,) * 3, "there is not one number for each channel of a kernel")
        require(len(self.centers) == n_centers, f"a kernel has not {n_centers} centers")
        require(min(self.rate, *self.shares, *self.factors) >= 0, "a kernel has a rate below 0")
        require(min(self.units) > 0, "a channel has a unit that is not above 0")


def learn_widths(
    kernel: ChannelKernel,
    part: SeriesSet,
    shares: FloatArray,
    scales: Sequence[float],
    root: float | None = None,
) -> list[ChannelKernel]:
    """A kernel at several scales, its width learned from prepared channels unless it is given.

    The squared width is ``mean squared difference * mean length``, the mean taken over all pairs of
    series and of their time steps; those of several channels are summed. It is ``2 sigma**2`` for
    ``sigma = sqrt(mean squared difference / 2) * sqrt(length)``: an alignment has about as many
    local kernels as a series has steps, and multiplies them.
    """
    part = view_series(part, kernel.view, kernel.window, kernel.units)
    centers = np.median(part.values.astype(np.float64), axis=1)
    roots = typical_differences(part, shares) * np.sqrt(shares @ part.lengths)
    widths = np.hypot.reduce(roots.reshape(len(kernel.channels), -1), axis=1)
    learned, factors = np.hypot.reduce(widths), np.ones(widths.size)
    if kernel.shares:
        # A channel that does not vary has no part.
        factors = np.sqrt(kernel.shares) * invert_roots(widths)
        learned = np.sqrt(np.sum(kernel.shares, where=factors > 0))
    rates = invert_roots(np.sqrt(scales) * (learned if root is None else root))
    kernel = replace(kernel, factors=tuple(factors.tolist()), centers=tuple(centers.tolist()))
    return [
        replace(kernel, scale=float(scale), rate=rate)
        for scale, rate in zip(scales, rates.tolist(), strict=True)
    ]


def find_units(part: SeriesSet, shares: FloatArray, *, is_weighed: bool) -> tuple[float, ...]:
    """A typical difference of two values for every channel, 1 where there is none.

    It is one for all channels, unless they are weighed.
    """
    found = typical_differences(part, shares)
    if not is_weighed:
        found = np.full(found.size, np.hypot.reduce(found))
    return tuple(np.where(found > 0, found, 1.0).tolist())


def typical_differences(part: SeriesSet, shares: FloatArray) -> FloatArray:
    """The root of the mean squared difference of two values, for every channel."""
    per_step = np.repeat(shares / part.lengths, part.lengths)
    return root_mean_squared_difference(part.values.T, per_step)
