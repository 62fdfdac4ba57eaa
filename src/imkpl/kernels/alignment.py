"""Kernels of time series: several views of every channel or group of channels.

A view makes series of series. Values and differences stay series, which are aligned. The others sum
a series up in a few numbers, a series of one step, whose alignment kernel is nothing but a local
kernel: they cost as little as a feature of a table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require, shorten
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.align import (
    align_bands,
    align_cross,
    align_pairs,
    find_self_similarities,
)
from imkpl.kernels.base import (
    BaseKernelBank,
    SampleKernels,
    check_columns,
    check_pairs,
    check_sample_weight,
    require_columns,
)
from imkpl.kernels.forms import Form, Groups, group_rows
from imkpl.kernels.normalize import Averaged, Tabulated, unpack
from imkpl.kernels.per_feature import (
    check_scales,
    invert_roots,
    root_mean_squared_difference,
)
from imkpl.series import SeriesSet, difference, read_series, resample

# With equal values a normalised alignment kernel of lengths n and m is about
# exp(-(n - m)**2 / (2 sqrt(2) n)): the end of a random alignment has this spread.
LENGTH_SPREAD = 2 * np.sqrt(2)
# Lengths are made equal when they alone would lower the mean kernel by more than this.
MOST_LOST = 0.05
# Longer series are resampled to this length: the cost of an alignment grows with its square.
MOST_STEPS = 100
# The factor on the bandwidth of summaries: the local kernel falls twice as fast as a Gaussian.
SUMMARY_SCALES = (2.0,)

# The name of the group of all channels, and the groups that have it.
TOGETHER, WEIGHED = "all channels", "weighed"
Channels = Mapping[str, Sequence[int | str]]


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


def view_series(part: SeriesSet, view: str, units: ArrayLike = 1.0) -> SeriesSet:
    """What a kernel compares of series without missing values.

    Summaries are in the units given, one for all channels or one for each, and come channel by
    channel.
    """
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


@dataclass(frozen=True, eq=False)
class ChannelKernel:
    """One kernel: which channels it reads, what of them it compares, and in which units."""

    channels: tuple[int, ...]  # among those that the samples have
    label: str  # the name of the channel or group
    is_group: bool = False  # whether the channels are a named group
    # The weight of each channel in squared distances; none where all have one unit.
    shares: tuple[float, ...] = ()
    view: str = "values"  # what of the channels is compared
    units: tuple[float, ...] = ()  # a typical difference of two values, for each channel
    scale: float = 1.0  # the factor on the bandwidth
    rate: float = 0.0  # 1 / sqrt(scale * bandwidth); 0 for the constant kernel
    factors: tuple[float, ...] = ()  # on what is compared of each channel
    # A typical value of each number that is compared. Distances do not depend on it, but numbers
    # far from zero would lose digits.
    centers: tuple[float, ...] = ()

    def prepare(self, series: SeriesSet, length: int | None) -> SeriesSet:
        """What is compared: no value missing, and a local kernel ``exp(-(x - y)**2)``."""
        part = prepare_channels(series, self.channels, length)
        part = view_series(part, self.view, self.units)
        center, factors = np.array(self.centers), self.rate * np.array(self.factors)
        factors = np.repeat(factors, center.size // factors.size)
        scaled = (part.values - center[:, np.newaxis]) * factors[:, np.newaxis]
        return SeriesSet(scaled.astype(np.float64, copy=False), part.starts)

    @property
    def is_aligned(self) -> bool:
        """Whether series are aligned, not summed up."""
        return self.view in ALIGNED

    def find_times(self, series: FloatArray, length: int | None) -> FloatArray:
        """Where the steps that are compared lie in a series, counted in its own steps."""
        values = series[list(self.channels)]
        if length is None:
            times = np.flatnonzero(~np.isnan(values).any(axis=0)).astype(np.float64)
        elif length == 1:
            times = np.array([(values.shape[1] - 1) / 2])
        else:
            times = np.linspace(0, values.shape[1] - 1, length)
        if self.view == "differences" and times.size > 1:
            times = (times[1:] + times[:-1]) / 2
        return np.asarray(times)

    def check(self) -> None:
        """Raise a ValueError unless the fields belong together, also if they are from a file."""
        n_channels = len(self.channels)
        require(min(self.channels, default=-1) >= 0, "a kernel has no channels, or none that are")
        require(self.view in VIEWS, f"there is no view {shorten(self.view)}")
        n_centers = n_channels * count_numbers(self.view)
        found = (len(self.units), len(self.factors), len(self.shares or self.units))
        require(found == (n_channels,) * 3, "there is not one number for each channel of a kernel")
        require(len(self.centers) == n_centers, f"a kernel has not {n_centers} centers")
        require(min(self.rate, *self.shares, *self.factors) >= 0, "a kernel has a rate below 0")
        require(min(self.units) > 0, "a channel has a unit that is not above 0")


def learn_widths(
    kernel: ChannelKernel, part: SeriesSet, shares: FloatArray, scales: Sequence[float]
) -> list[ChannelKernel]:
    """A kernel at several scales, its width learned from prepared channels.

    The squared width is ``mean squared difference * mean length``, the mean taken over all pairs of
    series and of their time steps; those of several channels are summed. It is ``2 sigma**2`` for
    ``sigma = sqrt(mean squared difference / 2) * sqrt(length)``: an alignment has about as many
    local kernels as a series has steps, and multiplies them.
    """
    part = view_series(part, kernel.view, kernel.units)
    centers = np.median(part.values.astype(np.float64), axis=1)
    roots = typical_differences(part, shares) * np.sqrt(shares @ part.lengths)
    widths = np.hypot.reduce(roots.reshape(len(kernel.channels), -1), axis=1)
    learned, factors = np.hypot.reduce(widths), np.ones(widths.size)
    if kernel.shares:
        # A channel that does not vary has no part.
        factors = np.sqrt(kernel.shares) * invert_roots(widths)
        learned = np.sqrt(np.sum(kernel.shares, where=factors > 0))
    rates = invert_roots(np.sqrt(scales) * learned)
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


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesKernels(SampleKernels):
    """Global alignment kernels between time series, each on a channel or on several together.

    Samples are a `SeriesSet`.
    """

    each: tuple[ChannelKernel, ...]
    length: int | None  # the common length to which series are resampled
    inputs: IntArray | None = None  # the input channels that the samples have; all when None
    has_scales: bool = False  # whether a channel is aligned at several scales

    input_kind: ClassVar[str] = "series"
    per_kernel = ("each",)
    sample_type: ClassVar[Any] = SeriesSet
    has_unit_diagonal = True
    most_kernels = 20

    @property
    def value_cost(self) -> float:  # type: ignore[override]
        return float(np.mean(self.samples.lengths)) ** 2

    @property
    def kernel_channels(self) -> list[IntArray]:
        """The input channels that each kernel reads."""
        inputs = np.arange(self.samples.n_channels) if self.inputs is None else self.inputs
        return [inputs[list(kernel.channels)] for kernel in self.each]

    @property
    def kernel_columns(self) -> IntArray | None:
        channels = self.kernel_channels
        if any(len(each) > 1 for each in channels):
            return None
        return np.array([each[0] for each in channels], dtype=np.intp)

    @property
    def input_columns(self) -> IntArray:
        return self._used if self.inputs is None else self.inputs[self._used]

    @property
    def channel_names(self) -> list[str]:
        """The names of the channels that the samples have."""
        inputs = range(self.samples.n_channels) if self.inputs is None else self.inputs
        return list(self.samples.channel_names or (f"channel {channel}" for channel in inputs))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The channel's or group's name, with view and scale where there are several."""
        names = [
            kernel.label if feature_names is None or kernel.is_group else feature_names[channels[0]]
            for kernel, channels in zip(self.each, self.kernel_channels, strict=True)
        ]
        return [self.name_kernel(index, str(name)) for index, name in enumerate(names)]

    def name_kernel(self, index: int, label: str) -> str:
        """A label of channels with what one kernel compares of them."""
        kernel = self.each[index]
        words = [] if kernel.view == "values" else [kernel.view]
        if self.has_scales and kernel.is_aligned:
            words.append(f"width x{kernel.scale:g}")
        return f"{label} ({', '.join(words)})" if words else label

    def share_out(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Weights of kernels as weights of channels; those of a group without weights are equal."""
        totals = np.zeros(n_features)
        for weight, kernel, channels in zip(weights, self.each, self.kernel_channels, strict=True):
            totals[channels] += weight * np.array(kernel.shares or 1 / channels.size)
        return totals

    def evaluate(self, index: int) -> FloatArray:
        kernel = self.each[index]
        if kernel.rate == 0:
            return np.ones(self.shape)
        part = kernel.prepare(self.samples, self.length)
        if self.is_square:
            return unpack(np.concatenate(list(align_bands(part))), len(part))
        others = kernel.prepare(self.others, self.length)
        return align_cross(part, others)

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.shape[0])
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(rows != columns)
        if differ.size == 0:
            return out
        both = np.concatenate([rows[differ], columns[differ]])
        used, places = np.unique(both, return_inverse=True)
        left, right = np.split(places, 2)
        series = self.samples[used]
        for index, kernel in enumerate(self.each):
            if kernel.rate > 0:
                part = kernel.prepare(series, self.length)
                norms = find_self_similarities(part)
                out[differ, index] = align_pairs(part, part, left, right, (norms, norms))
        return out

    def cross(self, samples: SeriesSet) -> Self:
        needed = self._used if self.inputs is None else self.inputs
        require_columns(needed, samples.n_channels, "channel")
        return super().cross(samples if self.inputs is None else samples.channels(self.inputs))

    def narrowed(self) -> Self:
        each = tuple(
            replace(kernel, channels=tuple(np.searchsorted(self._used, kernel.channels).tolist()))
            for kernel in self.each
        )
        return replace(
            self,
            samples=self.samples.channels(self._used),
            others=None if self.is_square else self.others.channels(self._used),
            inputs=self.input_columns,
            each=each,
        )

    def tabulated(self) -> Tabulated:
        n_samples, n_done = self.shape[0], 0
        values = np.ones((self.n_kernels, n_samples * (n_samples - 1) // 2))
        # The constant kernel is 1.
        varying = [index for index, kernel in enumerate(self.each) if kernel.rate > 0]
        total = max(1, len(varying) * values.shape[1])
        for place, index in enumerate(varying):
            part = self.each[index].prepare(self.samples, self.length)
            for band in align_bands(part):
                start = n_done - place * values.shape[1]
                values[index, start : start + band.size] = band
                n_done += band.size
                announce("kernels", f"{100 * n_done / total:.0f} % of {total}", n_done, total)
        return self.as_table(values)

    def as_table(self, values: FloatArray) -> Tabulated:
        return Tabulated(
            table=values,
            n_samples=self.shape[0],
            kernels=np.arange(self.n_kernels),
            names=tuple(self.kernel_names()),
            most_kernels=self.most_kernels,
        )

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[SeriesSet, Form]:
        series = read_series(X)
        found, names = series.n_channels, series.channel_names
        if form.n_features is None:
            return series, form.learn(found, names, n_channels=found)
        if found != form.n_channels:
            raise ValueError(
                f"The series have {found} channels, but {form.owner} was fitted to "
                f"{form.n_channels}. Pass the channels of the training part, in their order."
            )
        if form.names is not None and names is not None and names != tuple(form.names):
            raise ValueError(
                f"The channels are named {', '.join(names)}, expected {', '.join(form.names)} as "
                "in the training part. Reorder them."
            )
        return series, form

    @classmethod
    def find_equal(cls, samples: SeriesSet, rows: IntArray, labels: IntArray) -> Groups:
        lines = [
            f"{label:09d}{one.shape[1]:09d}"
            f"{hashlib.blake2b(one.tobytes(), digest_size=16).hexdigest()}"
            for one, label in zip(_comparable(samples[rows]), labels, strict=True)
        ]
        return group_rows(np.array(lines))

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, self.samples[row].tolist(), strict=True))

    def keys(self, samples: SeriesSet | None = None) -> list[bytes]:
        series = _comparable(self.samples if samples is None else samples)
        return [one.astype("<f8").tobytes() for one in series]

    def aligned(self, weights: FloatArray) -> tuple[SeriesKernels, FloatArray]:
        return self, weights

    def check(self, form: Form) -> None:
        super().check(form)
        for kernel in self.each:
            kernel.check()
        check_columns(self._used, self.inputs, self.samples.n_channels, form)
        require(self.length is None or self.length > 0, f"series have the length {self.length}")

    @property
    def _used(self) -> IntArray:
        """The sorted channels of the samples that the kernels read."""
        channels = [channel for kernel in self.each for channel in kernel.channels]
        return np.unique(np.array(channels, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class GlobalAlignment(BaseKernelBank):
    """Global alignment kernels on each channel alone, so that a weight is a channel's weight.

    The kernel of Cuturi (2007, 2011) sums over all alignments of two series what the local kernels
    along the alignment multiply to,
    ``A_ij = k_ij (A_i-1,j + A_i,j-1 + A_i-1,j-1)``, with ``k = e / (2 - e)`` and
    ``e = exp(-||x_i - y_j||**2 / (scale * bandwidth))``; the bandwidth is learned from the training
    part. It is divided by the roots of the self-similarities, so that every series has similarity 1
    with itself. Series may have any lengths, and computations are safe for thousands of steps.

    A channel that is constant in the training part gets the constant kernel 1: it cannot separate
    anything, and a new value at prediction time is not penalised.

    Parameters
    ----------
    scales : tuple of float
        One kernel per channel and scale, all scales of a channel side by side.
    views : tuple of str
        What of a channel is compared, each by kernels of its own. "values" and "differences", of
        successive steps, are aligned at every scale. The others are numbers that sum a channel up,
        compared at one scale, thousands of times faster: "level" (the mean), "trend" (the slope),
        "spread" (the logarithm of the standard deviation), "spectrum" (logarithms of the power of
        12 slow frequencies), "distribution" (10 quantiles), "autocorrelation" (10 lags) and
        "patterns" (how often each of 84 short shapes occurs, at four widths).
    groups : mapping from names to channels, or "weighed", optional
        One kernel per group instead of one per channel; the squared distances of its channels,
        given by number or name, are summed. Give them one unit first. "weighed" is a single group
        of all channels, each in its own unit and with a weight of its own, which `fit` learns as it
        learns those of features; `on` alone gives all the same.
    length : "auto", int or None
        Resample every series to this number of steps, linearly. "auto" takes the mean length of the
        training part if differences in length alone would lower the mean kernel by 5 %, 100 steps
        if it is larger, and does not resample otherwise. None never resamples: the kernel then
        mostly compares lengths.
    channel_weights : array of shape (n_channels,), optional
        The weights of the channels that are "weighed", those of weight 0 being left out. When None,
        `fit` learns them.

    Notes
    -----
    Missing values are NaN. When series are resampled gaps are interpolated; otherwise a time step
    at which a channel (one of a group) is missing is left out of that kernel, which compares the
    observed subsequences. Either way a kernel compares functions of the series and stays positive
    semi-definite.

    Examples
    --------
    >>> X = SeriesSet.from_list([[[0.0, 1.0, 2.0]], [[0.0, 1.0, 1.0, 2.0]], [[2.0, 1.0, 0.0]]])
    >>> K = GlobalAlignment().on(X).evaluate(0)
    >>> bool(K[0, 1] > K[0, 2])
    True
    """

    kind = SeriesKernels

    scales: tuple[float, ...] = (1.0,)
    views: tuple[str, ...] = ("values",)
    groups: Channels | str | None = None
    length: int | str | None = "auto"
    channel_weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_scales("GlobalAlignment", self.scales, "channel")
        _require(
            _lists(self.views, lambda view: view in VIEWS),
            f"views={self.views!r}) must be a tuple of different names among {', '.join(VIEWS)}. "
            "Use ('values',) to compare nothing else",
        )
        _require(
            self.length == "auto" if isinstance(self.length, str) else _is_count(self.length),
            f"length={self.length!r}) must be a positive whole number, 'auto' or None. Use 'auto' "
            "to resample where lengths differ much",
        )
        is_mapping = isinstance(self.groups, Mapping) and len(self.groups) > 0
        _require(
            self.groups is None or self.groups == WEIGHED or is_mapping,
            f"groups={self.groups!r}) must be 'weighed' or a mapping from names to channels, with "
            "at least one. Leave it out for one kernel per channel",
        )
        _require(
            self.channel_weights is None or self.groups == WEIGHED,
            f"channel_weights={self.channel_weights}) need groups='weighed'. Leave them out",
        )

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> SeriesKernels:
        # A set is taken as it is: channels that no kernel reads may hold anything.
        samples = X if isinstance(X, SeriesSet) else read_series(X)
        shares = check_sample_weight(sample_weight, len(samples))
        sources = self._find_sources(samples)
        used = np.flatnonzero(shares)
        series, shares = samples[used], shares[used]
        is_weighed = any(source.shares for source in sources)
        length = find_length(series, self.length, shares, fills_gaps=is_weighed)
        parts = [prepare_channels(series, source.channels, length) for source in sources]
        measured = [
            (replace(source, units=find_units(part, shares, is_weighed=is_weighed)), part)
            for source, part in zip(sources, parts, strict=True)
        ]
        each: list[ChannelKernel] = []
        for view in self.views:
            scales = self.scales if view in ALIGNED else SUMMARY_SCALES
            for source, part in measured:
                each += learn_widths(replace(source, view=view), part, shares, scales)
        return SeriesKernels(
            samples=samples,
            each=tuple(each),
            length=length,
            has_scales=len(self.scales) > 1,
        )

    def by_channel(self, n_channels: int) -> Averaged | None:
        """One kernel per channel, the mean of its views, by which channels are weighed."""
        if self.groups != WEIGHED or self.channel_weights is not None or n_channels == 1:
            return None
        each = replace(self, scales=(float(np.median(self.scales)),), groups=None)
        return Averaged(each, {f"channel {channel}": [channel] for channel in range(n_channels)})

    def weighed(self, weights: FloatArray) -> Self:
        return replace(self, channel_weights=weights)

    def _find_sources(self, series: SeriesSet) -> list[ChannelKernel]:
        """The channels of every group, or each channel on its own."""
        n_channels, groups, weights = series.n_channels, self.groups, self.channel_weights
        places = {name: place for place, name in enumerate(series.channel_names or ())}
        names = series.channel_names or [f"channel {channel}" for channel in range(n_channels)]
        if weights is None and groups == WEIGHED and n_channels > 1:
            weights = np.ones(n_channels)
        if weights is not None:
            given = np.asarray(weights, dtype=np.float64)
            _require(
                given.shape == (n_channels,) and given.min() >= 0 and 0 < given.sum() < np.inf,
                f"channel_weights={weights}) must be {n_channels} numbers of at least 0, one per "
                "channel, and not all of them 0. Leave it out to learn them",
            )
            kept, is_group = np.flatnonzero(given), bool(np.count_nonzero(given) > 1)
            amounts = given[kept]
            shares, label = amounts / amounts.sum(), TOGETHER if is_group else names[kept[0]]
            return [ChannelKernel(tuple(kept.tolist()), label, is_group, tuple(shares.tolist()))]
        if groups is None or isinstance(groups, str):
            return [ChannelKernel((channel,), name) for channel, name in enumerate(names)]
        sources = []
        for group, members in groups.items():
            found = [places.get(m, -1) if isinstance(m, str) else int(m) for m in members]
            is_known = all(0 <= channel < n_channels for channel in found)
            if not is_known or not found or len(set(found)) < len(found):
                known = f", or one of {', '.join(places)}" if places else ""
                raise ValueError(
                    f"Group {group!r} lists the channels {list(members)}, expected different "
                    f"numbers from 0 to {n_channels - 1}{known}, and at least one. Correct "
                    "`groups`, or leave it out for one kernel per channel."
                )
            sources.append(ChannelKernel(tuple(found), str(group), is_group=True))
        return sources


def _comparable(series: SeriesSet) -> SeriesSet:
    """Equal series with equal bytes: adding zero turns -0 into 0, and of the many NaN one stays."""
    values = np.where(np.isnan(series.values), np.nan, series.values + 0.0)
    return SeriesSet(values, series.starts)


def find_length(
    series: SeriesSet, wanted: int | str | None, shares: FloatArray, *, fills_gaps: bool = False
) -> int | None:
    """The common length to resample to, if any; series with gaps have one where they are filled."""
    if not isinstance(wanted, str):
        return wanted
    lengths = series.lengths.astype(np.float64)
    mean = float(shares @ lengths)
    # The mean of (n - m)**2 over pairs is twice the variance.
    spread = 2 * float(shares @ (lengths - mean) ** 2)
    is_uneven = spread > MOST_LOST * LENGTH_SPREAD * mean
    is_filled = fills_gaps and bool(np.isnan(series.values).any())
    is_changed = is_uneven or mean > MOST_STEPS or is_filled
    return min(max(1, round(mean)), MOST_STEPS) if is_changed else None


def _lists(values: Any, is_right: Callable[[Any], bool]) -> bool:
    """Whether these are different values, each of them right."""
    is_list = isinstance(values, tuple | list) and len(values) > 0
    return is_list and all(map(is_right, values)) and len(set(values)) == len(values)


def _is_count(value: Any) -> bool:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return value is None or (is_whole and bool(value > 0))


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(f"GlobalAlignment({problem}.")
