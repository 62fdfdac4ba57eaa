"""Kernels of time series: global alignment of several views of channels or groups of channels.

Alignments are computed of series without missing values, in which the local kernel of two steps at
a squared distance t is ``e / (2 - e)`` with ``e = exp(-t)``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require, shorten
from imkpl._progress import announce
from imkpl._threads import Loops
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    SampleKernels,
    check_columns,
    check_pairs,
    check_sample_weight,
    require_columns,
)
from imkpl.kernels.forms import Form, Groups, group_keys
from imkpl.kernels.normalize import Averaged, Tabulated, unpack
from imkpl.kernels.per_feature import (
    check_scales,
    invert_roots,
    root_mean_squared_difference,
    squared_distances,
)
from imkpl.series import (
    ALIGNED,
    VIEWS,
    SeriesSet,
    count_numbers,
    prepare_channels,
    read_series,
    view_series,
)

loops = Loops("imkpl.kernels._alignment_loops")

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
    """A kernel at several scales, of squared width ``mean squared difference * mean length``."""
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
    """A typical difference of two values for every channel, or for all, 1 where there is none."""
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
    """Global alignment kernels of a `SeriesSet`, each on a channel or on several together."""

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
    def is_located(self) -> BoolArray:  # type: ignore[override]
        """Which kernels align steps, and so say when; summaries are of the whole length."""
        return np.array([kernel.view in ALIGNED for kernel in self.each])

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
        if self.has_scales and kernel.view in ALIGNED:
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
                announce("kernels", f"{100 * n_done / total:.0f}% of {total}", n_done, total)
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
        keys = [
            f"{one.shape[1]:09d}{hashlib.blake2b(one.tobytes(), digest_size=16).hexdigest()}"
            for one in _comparable(samples[rows])
        ]
        return group_keys(keys, labels)

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

    The kernel of Cuturi (2007, 2011) is the sum, over all alignments of two series, of the product
    of the local kernels along the alignment,
    ``A_ij = k_ij (A_i-1,j + A_i,j-1 + A_i-1,j-1)``, with ``k = e / (2 - e)`` and
    ``e = exp(-||x_i - y_j||**2 / (scale * bandwidth))``; the bandwidth is learned from the training
    part. It is divided by the roots of the self-similarities, so that every series has similarity 1
    with itself. A channel that is constant in the training part gets the constant kernel 1.

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
    at which a channel (one of a group) is missing is left out of that kernel.

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
        is_list = isinstance(self.views, tuple | list) and len(self.views) > 0  # type: ignore[redundant-expr]
        _require(
            is_list and set(self.views) <= set(VIEWS) and len(set(self.views)) == len(self.views),
            f"views={self.views!r}) must be a tuple of different names among {', '.join(VIEWS)}. "
            "Use ('values',) to compare nothing else",
        )
        is_whole = isinstance(self.length, int | np.integer) and self.length is not True
        _require(
            self.length in (None, "auto") or (is_whole and int(self.length) > 0),
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
        sources, places = [], {name: place for place, name in enumerate(names)}
        for group, members in groups.items():
            found = [places.get(m, -1) if isinstance(m, str) else int(m) for m in members]
            is_known = all(0 <= channel < n_channels for channel in found)
            if not is_known or not found or len(set(found)) < len(found):
                raise ValueError(
                    f"Group {group!r} lists the channels {list(members)}, expected different "
                    f"numbers from 0 to {n_channels - 1}, or names among {', '.join(names)}, and "
                    "at least one. Correct `groups`, or leave it out for one kernel per channel."
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


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(f"GlobalAlignment({problem}.")


# The kernel of pairs of series without missing values, normalised

# Numbers that may overflow, as mantissas and exponents of two.
Powers: TypeAlias = tuple[FloatArray, IntArray]
# What alignments beyond the reach of a pair may add to a normalised kernel: less than rounding.
MOST_BEYOND = 1e-13
# How far below the bound on the number of alignments the log of a self-similarity may be for a
# reach to be used. Of smooth series it is 2 to 5 below, at the default bandwidth.
MOST_BELOW = 8.0
# Cells of alignments in a block, some seconds of work: what is reported.
BLOCK_CELLS = 2**31
# Pairs in a block at most: their indices, mantissas and exponents take 50 bytes each.
BLOCK_PAIRS = 2**20


class Norms(NamedTuple):
    """Alignment kernels of series with themselves, before normalisation."""

    mantissas: FloatArray
    exponents: IntArray
    # How far from the diagonal the alignments of a series with others like it go; 0 for no limit.
    reaches: IntArray


def find_self_similarities(series: SeriesSet) -> Norms:
    """The alignment kernel of every series with itself, before normalisation."""
    everyone = np.arange(len(series))
    # At most exp(a asinh(b / a) + b asinh(a / b)) alignments lead a rows down and b columns right.
    # As many as lead n - r down and n + r right touch the diagonal r columns away on their way n
    # down and n right, by reflection: exp(-sqrt(2) r**2 / n) of the bound for all. Local kernels
    # are at most 1, so this bounds what alignments beyond a reach add.
    steps = series.lengths - 1.0
    budget = np.log(2 / MOST_BEYOND) + MOST_BELOW
    reaches = (4 * np.ceil(np.sqrt(budget * series.lengths / np.sqrt(2)) / 4)).astype(np.int64)
    reaches[reaches > 0.8 * steps] = 0
    mantissas, exponents = _align(series, series, everyone, everyone, reaches)
    below = 2 * np.arcsinh(1.0) * steps - np.log(mantissas) - np.log(2.0) * exponents
    wild = np.flatnonzero((reaches > 0) & (below > MOST_BELOW))
    if wild.size:
        reaches[wild] = 0
        mantissas[wild], exponents[wild] = _align(series, series, wild, wild, reaches[wild])
    return Norms(mantissas, exponents, reaches)


def align_pairs(
    left: SeriesSet,
    right: SeriesSet,
    rows: IntArray,
    columns: IntArray,
    norms: tuple[Norms, Norms],
) -> FloatArray:
    """Normalised kernels of the listed pairs."""
    if rows.size == 0:
        return np.empty(0)
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    own, other = norms[0].reaches[rows], norms[1].reaches[columns]
    # Alignments lead from one diagonal to another, and may go as far to both sides of the two.
    apart = np.abs(left.lengths[rows] - right.lengths[columns])
    reaches = np.maximum(own, other) + 8 * -(-apart // 16)
    reaches = np.where((own > 0) & (other > 0) & (apart < reaches), reaches, 0)
    return _normalize(_align(left, right, rows, columns, reaches), norms, rows, columns)


def are_points(*sets: SeriesSet) -> bool:
    """Whether all series have one step, as summaries have: their alignment is a local kernel."""
    return all(series.lengths.max(initial=0) == 1 for series in sets)


def compare_points(left: FloatArray, right: FloatArray) -> FloatArray:
    """Local kernels between the columns of two arrays."""
    e = np.exp(-squared_distances(left.T, right.T))
    return np.asarray(e / (2 - e))


def align_cross(left: SeriesSet, right: SeriesSet) -> FloatArray:
    """Normalised kernels between two sets."""
    if are_points(left, right):
        return compare_points(left.values, right.values)
    norms = find_self_similarities(left), find_self_similarities(right)
    rows, columns = np.divmod(np.arange(len(left) * len(right)), len(right))
    return align_pairs(left, right, rows, columns, norms).reshape(len(left), len(right))


def align_bands(series: SeriesSet) -> Iterator[FloatArray]:
    """Normalised kernels of every series with all before it, some seconds of work at a time."""
    norms = find_self_similarities(series)
    for first, last in split_rows(series.lengths):
        counts = np.arange(first, last)
        if are_points(series):
            values = compare_points(series.values[:, first:last], series.values[:, :last])
            yield np.concatenate([row[:count] for row, count in zip(values, counts, strict=True)])
            continue
        rows = np.repeat(counts, counts)
        columns = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        yield align_pairs(series, series, rows, columns, (norms, norms))


def split_rows(lengths: IntArray) -> Iterator[tuple[int, int]]:
    """Rows of a triangle, from the first to the one behind the last, in bands."""
    before = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    first, total = 0, 0.0
    for row, n_cells in enumerate(lengths * before):
        is_full = total + n_cells > BLOCK_CELLS or (row - first) * row > BLOCK_PAIRS
        if row > first and is_full:
            yield first, row
            first, total = row, 0.0
        total += float(n_cells)
    yield first, int(lengths.size)


def _align(
    left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray, reaches: IntArray
) -> Powers:
    """Kernels of pairs before normalisation, computed in an order that fills the lanes."""
    above, beside = left.lengths[rows], right.lengths[columns]
    kinds = 4 * reaches + _find_levels(left, right, rows, columns)
    order, bounds = _arrange(rows, kinds, above, beside)
    rows, columns, kinds = rows[order], columns[order], kinds[order]
    mantissas, exponents = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    with loops._enough_threads(float(above @ beside.astype(np.float64))):
        sets = left.values, left.starts, right.values, right.starts
        found = mantissas, exponents
        loops._align_tasks_inplace(bounds, found, sets, rows, columns, kinds)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return mantissas[place], exponents[place]


def _find_levels(left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray) -> IntArray:
    """How near to each other all steps of two series are, by the ranges of their values."""
    if are_points(left, right):
        # Of two single steps, the ranges would take longer than the kernel.
        return np.zeros(rows.size, dtype=np.int64)
    lows, highs = (
        [find.reduceat(part.values, part.starts[:-1], axis=1) for part in (left, right)]
        for find in (np.minimum, np.maximum)
    )
    squares = np.zeros(rows.size)
    for own_low, own_high, low, high in zip(lows[0], highs[0], lows[1], highs[1], strict=True):
        gaps = np.maximum(own_high[rows] - low[columns], high[columns] - own_low[rows])
        squares += gaps * gaps
    limits = np.array([loops.NEAR, loops.NEAREST])
    return np.asarray(np.sum(squares <= limits[:, np.newaxis], axis=0))


def _arrange(
    rows: IntArray, kinds: IntArray, above: IntArray, beside: IntArray
) -> tuple[IntArray, IntArray]:
    """An order of pairs, those that share a row together, and where tasks of one kind begin."""
    keys = rows, kinds, beside
    order = np.argsort(
        np.ravel_multi_index(keys, [int(key.max()) + 1 for key in keys]), kind="stable"
    )
    starts = _find_starts(rows[order], kinds[order])
    sizes = np.diff(np.append(starts, rows.size))
    places = np.arange(rows.size) - np.repeat(starts, sizes)
    is_left = places >= np.repeat(sizes - sizes % loops._LANES, sizes)
    full, left = order[~is_left], order[is_left]
    left = left[np.lexsort((beside[left], above[left], kinds[left]))]
    bounds = [np.arange(0, full.size, loops._LANES)]
    if left.size:
        starts = np.append(_find_starts(kinds[left]), left.size)
        for first, last in pairwise(starts):
            bounds.append(full.size + np.arange(first, last, loops._LANES))
    return np.concatenate([full, left]), np.concatenate([*bounds, [rows.size]])


def _find_starts(*keys: IntArray) -> IntArray:
    """Where some sorted keys change, and the first place."""
    is_changed = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return np.append(0, np.flatnonzero(is_changed) + 1)


def _normalize(
    found: Powers, norms: tuple[Norms, Norms], rows: IntArray, columns: IntArray
) -> FloatArray:
    (mantissas, exponents), (left, right) = found, norms
    roots = np.sqrt(left.mantissas)[rows] * np.sqrt(right.mantissas)[columns]
    # Twice the exponent of the result, which may be a half; far below zero where nothing is alike.
    doubled = 2 * exponents - left.exponents[rows] - right.exponents[columns]
    doubled = np.clip(doubled, -(2**14), 2**14)
    halves = np.where(doubled % 2 == 1, np.sqrt(2.0), 1.0)
    values = np.ldexp(mantissas / roots * halves, (doubled // 2).astype(np.int32))
    # Cauchy and Schwarz, but for the last bit.
    return np.asarray(np.minimum(values, 1.0))


# Which steps a kernel aligns


def find_visits(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How likely an alignment passes each pair of steps, and logarithms of their local kernels."""
    log_e = -np.sum((x[:, :, np.newaxis] - y[:, np.newaxis]) ** 2, axis=0)
    local = np.asarray(log_e - np.log(2.0 - np.exp(log_e)))
    return np.asarray(loops._visits(local, loops._log_alignments(local))), local


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedAlignment:
    """How the alignments of two series share out their similarity over time.

    Parameters
    ----------
    similarity : float
        The normalised kernel.
    visits : array of shape (n_steps_x, n_steps_y)
        How likely an alignment passes each pair of steps, when alignments are drawn by their part
        in the kernel: the gradient of the log kernel by the logs of the local kernels.
    x_times, y_times : array of shape (n_steps_x,) and (n_steps_y,)
        Where the steps that were compared lie in the series, counted in their own steps.
    x_agreement, y_agreement : array of shape (n_steps_x,) and (n_steps_y,)
        What the local kernels of an alignment would multiply to if all steps agreed as well as
        this one does with those it is aligned to; between 0 and 1.

    Examples
    --------
    What :func:`imkpl.series.align` returns, for every kernel of a model:

    >>> x, y = np.array([[0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 5.0, 0.0]])
    >>> expected_alignment(GlobalAlignment(length=None).on([x, y]), 0, x, y)
    ExpectedAlignment(similarity=0.731, 3 x 4 steps)
    """

    similarity: float
    visits: FloatArray
    x_times: FloatArray
    y_times: FloatArray
    x_agreement: FloatArray
    y_agreement: FloatArray

    def __repr__(self) -> str:
        n_x, n_y = self.visits.shape
        return f"ExpectedAlignment(similarity={self.similarity:.3g}, {n_x} x {n_y} steps)"


def expected_alignment(kernels: SeriesKernels, index: int, x: Any, y: Any) -> ExpectedAlignment:
    """Which time steps of two series one kernel aligns, and how well they agree."""
    pair = read_series([x, y])
    single = replace(kernels.select([index]), samples=pair[:1], others=pair[1:])
    (kernel,) = single.each
    require_columns(np.array(kernel.channels), pair.n_channels, "channel")
    times = [kernel.find_times(series, single.length) for series in pair]
    similarity = float(single.evaluate(0)[0, 0])
    if kernel.view not in ALIGNED:
        # Every step of one stands beside all of the other, and none agrees better.
        sizes = [each.size for each in times]
        visits = np.full(sizes, 1 / min(sizes))
        return ExpectedAlignment(
            similarity, visits, *times, *(np.full(size, similarity) for size in sizes)
        )
    visits, local = find_visits(*kernel.prepare(pair, single.length))
    agreements = []
    for axis in (1, 0):
        mean = (local * visits).sum(axis=axis) / visits.sum(axis=axis)
        agreements.append(np.exp(mean * mean.size))
    return ExpectedAlignment(similarity, visits, *times, *agreements)


def split_losses(kernels: SeriesKernels, index: int, x: SeriesSet, Y: SeriesSet) -> FloatArray:
    """What one series lacks to 1 in likeness to others, split as the distance along alignments."""
    single = replace(kernels.select([index]), samples=x, others=Y)
    (kernel,), lacks = single.each, 1 - single.evaluate(0)[0]

    def measure(left: FloatArray, right: FloatArray) -> FloatArray:
        """The squared distance of two prepared series in every channel, along their alignment."""
        visits, _ = find_visits(left, right)
        squares = (left[:, :, np.newaxis] - right[:, np.newaxis]) ** 2
        by_row = np.sum(squares * visits, axis=(1, 2))
        return np.asarray(by_row.reshape(len(kernel.channels), -1).sum(axis=1))

    (left,) = kernel.prepare(x, single.length)
    own = measure(left, left)
    distances = np.array(
        [
            np.maximum(measure(left, right) - (own + measure(right, right)) / 2, 0.0)
            for right in kernel.prepare(Y, single.length)
        ]
    )
    totals = distances.sum(axis=1, keepdims=True)
    equal = np.full_like(distances, 1 / distances.shape[1])
    shares = np.divide(distances, totals, out=equal, where=totals > 0)
    return np.asarray(lacks[:, np.newaxis] * shares)
