"""Global alignment kernels of time series, of every channel or group of channels."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._progress import announce
from imkpl._threads import Loops
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    KernelTable,
    check_indices,
    check_pairs,
    check_sample_weight,
    find_columns,
    require_columns,
)
from imkpl.kernels.normalize import Averaged
from imkpl.kernels.per_feature import (
    check_widths,
    invert_rates,
    invert_roots,
    root_mean_squared_difference,
    squared_distances,
)
from imkpl.kernels.precomputed import PackedKernels, Tabulated, unpack
from imkpl.kernels.views import (
    ALIGNED,
    VIEWS,
    WHOLE,
    Window,
    find_steps,
    find_windows,
    name_view,
    view_series,
)
from imkpl.series import SeriesSet, read_series, resample

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
Groups = Mapping[str, Sequence[int | str]]
# Numbers that may overflow, as mantissas and exponents of two.
Powers: TypeAlias = tuple[FloatArray, IntArray]
DTYPES = ("float64", "float32")
# What alignments beyond the reach of a pair may add to a normalised kernel, by the numbers computed
# with: less than rounding.
MOST_BEYOND = {"float64": 1e-13, "float32": 1e-8}
# How far below the bound on the number of alignments the log of a self-similarity may be for a
# reach to be used. Of smooth series it is 2 to 5 below, at the default bandwidth.
MOST_BELOW = 8.0
# Pairs held at a time: their indices, mantissas and exponents take 50 bytes each.
MOST_PAIRS = 2**20
# Cells of alignments in a block, some seconds of work: progress is reported after each.
BLOCK_CELLS = 2**31
# Pairs in a block at most, for the memory of their indices.
BLOCK_PAIRS = 2**22


@dataclass(frozen=True, eq=False)
class ChannelKernels(KernelTable):
    """The kernels of an adapted bank of time series, one entry per kernel."""

    channels: tuple[tuple[int, ...], ...]  # the input channels that each kernel reads
    labels: tuple[str, ...]  # what each reads
    is_group: BoolArray  # whether the channels are a named group
    views: tuple[str, ...]  # what of the channels each compares
    windows: tuple[Window, ...]  # and in which part of the time
    scales: FloatArray  # the factor on its bandwidth
    # The weight of each channel in squared distances; none where all have one unit.
    shares: tuple[tuple[float, ...], ...]
    units: tuple[tuple[float, ...], ...]  # a typical difference of two values, for each channel
    rates: FloatArray  # 1 / sqrt(scale * bandwidth); 0 for the constant kernel
    factors: tuple[tuple[float, ...], ...]  # on what is compared of each channel
    # A typical value of each channel of a kernel. Distances do not depend on it, but numbers far
    # from zero would lose digits.
    centers: tuple[tuple[float, ...], ...]
    length: int | None  # the common length to which series are resampled

    @property
    def widths(self) -> FloatArray:
        """``scale * bandwidth`` of every kernel; infinite for the constant kernel."""
        return invert_rates(self.rates)

    def prepare(self, index: int, series: SeriesSet, dtype: Any) -> SeriesSet:
        """What one kernel compares: no value missing, and a local kernel ``exp(-(x - y)**2)``."""
        part = prepare_channels(series, self.channels[index], self.length)
        part = view_series(part, self.views[index], self.windows[index], self.units[index])
        center = np.array(self.centers[index])
        factors = self.rates[index] * np.array(self.factors[index])
        factors = np.repeat(factors, center.size // factors.size)
        scaled = (part.values - center[:, np.newaxis]) * factors[:, np.newaxis]
        return SeriesSet(scaled.astype(dtype, copy=False), part.starts)


def find_channels(
    groups: Groups | str | None, series: SeriesSet
) -> tuple[list[tuple[int, ...]], list[str]]:
    """The channels of every group, or each channel on its own."""
    names = series.channel_names
    if groups is None or (isinstance(groups, str) and series.n_channels == 1):
        labels = [f"channel {c}" for c in range(series.n_channels)] if names is None else names
        return [(c,) for c in range(series.n_channels)], list(labels)
    if isinstance(groups, str):
        return [tuple(range(series.n_channels))], [TOGETHER]
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


def root_widths(part: SeriesSet, shares: FloatArray) -> FloatArray:
    """The roots of the squared widths that suit the rows of what is compared.

    ``mean squared difference * mean length``, the mean taken over all pairs of series and of their
    time steps; those of several rows are summed: ``2 sigma**2`` for
    ``sigma = sqrt(mean squared difference / 2) * sqrt(length)``. An alignment has about as many
    local kernels as a series has steps, and multiplies them.
    """
    return _typical_differences(part, shares) * np.sqrt(shares @ part.lengths)


def find_units(part: SeriesSet, shares: FloatArray, is_weighed: bool) -> tuple[float, ...]:
    """A typical difference of two values for every channel, 1 where there is none.

    It is one for all channels, unless they are weighed.
    """
    found = _typical_differences(part, shares)
    if not is_weighed:
        found = np.full(found.size, np.hypot.reduce(found))
    return tuple(np.where(found > 0, found, 1.0).tolist())


def _typical_differences(part: SeriesSet, shares: FloatArray) -> FloatArray:
    per_step = np.repeat(shares / part.lengths, part.lengths)
    return root_mean_squared_difference(part.values.T, per_step)


@dataclass(frozen=True, eq=False)
class GlobalAlignment(BaseKernelBank):
    """Global alignment kernels on each channel alone, so that a weight is a channel's weight.

    The kernel of Cuturi (2007, 2011) sums over all alignments of two series what the local kernels
    along the alignment multiply to,
    ``A_ij = k_ij (A_i-1,j + A_i,j-1 + A_i-1,j-1)``, with ``k = e / (2 - e)`` and
    ``e = exp(-||x_i - y_j||**2 / (scale * bandwidth))``. It is divided by the roots of the
    self-similarities, so that every series has similarity 1 with itself. Series may have any
    lengths, and computations are safe for thousands of steps.

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
    windows : tuple of int
        Into how many parts time is divided. 1 is all of it; 2 adds kernels on three windows of half
        the time, 4 on seven of a quarter, which slide by half their length. A weight then says when
        something matters; series are aligned within the window.
    groups : mapping from names to channels, or "weighed", optional
        One kernel per group instead of one per channel; the squared distances of its channels,
        given by number or name, are summed. Give them one unit first. "weighed" is a single group
        of all channels, each in its own unit and with a weight of its own, which `fit` learns as it
        learns those of features; before, all have the same.
    length : "auto", int or None
        Resample every series to this number of steps, linearly. "auto" takes the mean length of the
        training part if differences in length alone would lower the mean kernel by 5 %, 100 steps
        if it is larger, and does not resample otherwise. None never resamples: the kernel then
        mostly compares lengths.
    triangular : int, optional
        Width of the triangular kernel on time steps: a step is compared only with those fewer
        steps away than this, with weights that fall with the distance. Faster, and series whose
        lengths differ by as much have similarity 0.
    bandwidth : float or array, optional
        ``2 sigma**2``, the squared width in squared units of the channels; learned from the
        training part when None. An array has one entry per channel or group, for every window of
        every view.
    dtype : {"float64", "float32"}
        The numbers to compute with; in single precision kernels are right to about six digits.
    table_dtype : {"float64", "float32"}
        The numbers in which kernel values of the training part are kept during a fit.
    kernels : ChannelKernels, optional
        Set by `adapt`.

    Notes
    -----
    Missing values are NaN. When series are resampled gaps are interpolated; otherwise a time step
    at which a channel (one of a group) is missing is left out of that kernel, which compares the
    observed subsequences. Either way a kernel compares functions of the series and stays positive
    semi-definite.

    Examples
    --------
    >>> X = SeriesSet.from_list([[[0.0, 1.0, 2.0]], [[0.0, 1.0, 1.0, 2.0]], [[2.0, 1.0, 0.0]]])
    >>> K = GlobalAlignment().adapt(X).evaluate(0, X)
    >>> bool(K[0, 1] > K[0, 2])
    True
    """

    scales: tuple[float, ...] = (1.0,)
    views: tuple[str, ...] = ("values",)
    windows: tuple[int, ...] = (1,)
    groups: Groups | str | None = None
    length: int | str | None = "auto"
    triangular: int | None = None
    bandwidth: float | FloatArray | None = None
    dtype: str = "float64"
    table_dtype: str = "float64"
    kernels: ChannelKernels | None = None

    reads = "series"
    _has_unit_diagonal = True
    _most_kernels = 20

    def __post_init__(self) -> None:
        check_widths("GlobalAlignment", self.scales, self.bandwidth, "channel")
        _require(
            _lists(self.views, lambda view: view in VIEWS),
            f"views={self.views!r}) must be a tuple of different names among {', '.join(VIEWS)}. "
            "Use ('values',) to compare nothing else",
        )
        _require(
            _lists(self.windows, lambda n_parts: n_parts is not None and _is_count(n_parts)),
            f"windows={self.windows!r}) must be a tuple of different positive whole numbers, such "
            "as (1, 2, 4). Use (1,) to compare whole series",
        )
        _require(
            self.length == "auto" if isinstance(self.length, str) else _is_count(self.length),
            f"length={self.length!r}) must be a positive whole number, 'auto' or None. Use 'auto' "
            "to resample where lengths differ much",
        )
        _require(
            _is_count(self.triangular),
            f"triangular={self.triangular!r}) must be a positive whole number of time steps. Leave "
            "it out to compare all steps with each other",
        )
        _require(
            self.groups is None or len(self.groups) > 0,
            "groups={}) has no groups, expected at least one. Leave it out for one kernel per "
            "channel",
        )
        _require(
            not isinstance(self.groups, str) or self.groups == WEIGHED,
            f"groups={self.groups!r}) must be 'weighed' or a mapping from names to channels. Leave "
            "it out for one kernel per channel",
        )
        _require(
            self.groups != WEIGHED or self.bandwidth is None,
            f"groups='weighed', bandwidth={self.bandwidth!r}) has two rules for widths: weighed "
            "channels have their own. Leave out one of them",
        )
        for name in ("dtype", "table_dtype"):
            _require(
                getattr(self, name) in DTYPES,
                f"{name}={getattr(self, name)!r}) must be 'float64' or 'float32'. Leave it out for "
                "double precision",
            )

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return len(self._table.channels)

    @property
    def kernel_columns(self) -> IntArray | None:
        """The channel that each kernel reads; None when a group has several."""
        if any(len(channels) > 1 for channels in self._table.channels):
            return None
        return np.array([channels[0] for channels in self._table.channels], dtype=np.intp)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> GlobalAlignment:
        """The bank with a common length and a bandwidth for every channel of the training part."""
        series = X if isinstance(X, SeriesSet) else read_series(X)
        shares = check_sample_weight(sample_weight, len(series))
        table = self.kernels
        if table is not None and self.bandwidth is not None:
            return self
        if table is None:
            table = self._start_table(series)
        used = np.flatnonzero(shares)
        series, shares = series[used], shares[used]
        length = find_length(series, self.length, shares, fills_gaps=any(table.shares))
        read = functools.cache(lambda channels: prepare_channels(series, channels, length))
        find = functools.cache(lambda each, own: find_units(read(each), shares, own))
        sources = zip(table.channels, map(bool, table.shares), strict=True)
        table = replace(table, length=length, units=tuple(find(*source) for source in sources))
        return replace(self, kernels=self._find_rates(table, read, shares))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        chosen = int(check_indices([index], self.n_kernels)[0])
        left, right = self._check_samples(X, Y)
        if self._table.rates[chosen] == 0:
            return np.ones((len(left), len(right)))
        part = self._table.prepare(chosen, left, self.dtype)
        if Y is not None:
            return align_cross(part, self._table.prepare(chosen, right, self.dtype), self._width)
        norms = find_self_similarities(part, self._width)
        bands = [align_triangle(part, self._width, norms, *rows) for rows in split_rows(part)]
        return unpack(np.concatenate(bands), len(left))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only."""
        series, _ = self._check_samples(X, None)
        rows, columns = check_pairs(rows, columns, len(series))
        used, places = np.unique(np.concatenate([rows, columns]), return_inverse=True)
        left, right = places[: rows.size], places[rows.size :]
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(left != right)
        if differ.size == 0:
            return out
        series = series[used]
        for index in np.flatnonzero(self._table.rates):
            part = self._table.prepare(int(index), series, self.dtype)
            norms = find_self_similarities(part, self._width)
            out[differ, index] = align_pairs(
                part, part, left[differ], right[differ], self._width, (norms, norms)
            )
        return out

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading all channels."""
        return replace(self, kernels=self._table.at(check_indices(indices, self.n_kernels)))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The channel's or group's name, with difference and scale where there are several."""
        table, names = self._table, []
        for index, label in enumerate(table.labels):
            if feature_names is not None and not table.is_group[index]:
                label = str(feature_names[table.channels[index][0]])
            names.append(self._add_view(index, label))
        return names

    def _add_view(self, index: int, label: str) -> str:
        """A label with what one kernel compares."""
        table = self._table
        words = name_view(table.views[index], table.windows[index])
        if len(self.scales) > 1 and table.views[index] in ALIGNED:
            words.append(f"width x{table.scales[index]:g}")
        return f"{label} ({', '.join(words)})" if words else label

    def _by_channel(self) -> Averaged | None:
        """One kernel per channel, the mean of its views, by which channels are weighed."""
        channels = self._columns.tolist()
        if self.groups != WEIGHED or len(channels) == 1:
            return None
        each = replace(self, scales=(float(np.median(self.scales)),), groups=None, kernels=None)
        return Averaged(each, {f"channel {channel}": [channel] for channel in channels})

    def _weigh(self, weights: FloatArray) -> Self:
        """The bank with these weights of all channels, those without one left out; not adapted."""
        kept = np.flatnonzero(weights)
        table, shares = self._table, weights[kept] / weights[kept].sum()
        n_kernels, is_lone = self.n_kernels, kept.size == 1
        return replace(
            self,
            kernels=replace(
                table,
                channels=(tuple(kept.tolist()),) * n_kernels,
                labels=(f"channel {kept[0]}" if is_lone else TOGETHER,) * n_kernels,
                is_group=np.full(n_kernels, not is_lone),
                shares=(tuple(shares.tolist()),) * n_kernels,
            ),
        )

    def _share_out(self, weights: FloatArray, n_channels: int) -> FloatArray:
        """Weights of kernels as weights of channels; those of a group without weights are equal."""
        totals = np.zeros(n_channels)
        for weight, channels, shares in zip(
            weights, self._table.channels, self._table.shares, strict=True
        ):
            totals[list(channels)] += weight * np.array(shares or 1 / len(channels))
        return totals

    @property
    def _columns(self) -> IntArray:
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *self._table.channels]))

    def _on_columns(self, columns: ArrayLike) -> Self:
        channels = tuple(
            tuple(find_columns(np.array(each), columns, "channel").tolist())
            for each in self._table.channels
        )
        return replace(self, kernels=replace(self._table, channels=channels))

    def _tabulate(self, X: Any) -> tuple[Tabulated, PackedKernels]:
        series, _ = self._check_samples(X, None)
        n_samples, n_done = len(series), 0
        values = np.ones((self.n_kernels, n_samples * (n_samples - 1) // 2), self.table_dtype)
        # The constant kernel is 1.
        varying = np.flatnonzero(self._table.rates)
        for index in varying:
            part = self._table.prepare(int(index), series, self.dtype)
            norms = find_self_similarities(part, self._width)
            for first, last in split_rows(part):
                block = values[index, first * (first - 1) // 2 : last * (last - 1) // 2]
                block[:] = align_triangle(part, self._width, norms, first, last)
                n_done += block.size
                total = max(1, varying.size * values.shape[1])
                announce("kernels", f"{100 * n_done / total:.0f} % of {total}", n_done, total)
        packed = PackedKernels(values, n_samples)
        return Tabulated(np.arange(self.n_kernels), tuple(self.kernel_names())), packed

    @property
    def _table(self) -> ChannelKernels:
        return self._require_adapted(self.kernels)

    @property
    def _width(self) -> int:
        return 0 if self.triangular is None else int(self.triangular)

    def _start_table(self, series: SeriesSet) -> ChannelKernels:
        channels, labels = find_channels(self.groups, series)
        kernels = [
            (*source, view, window, float(scale))
            for view in self.views
            for window in find_windows(self.windows)
            for source in zip(channels, labels, strict=True)
            for scale in (self.scales if view in ALIGNED else SUMMARY_SCALES)
        ]
        read, names, views, windows, scales = zip(*kernels, strict=True)
        n_kernels, n_read = len(kernels), len(channels[0])
        is_weighed = self.groups == WEIGHED and n_read > 1
        return ChannelKernels(
            channels=read,
            labels=names,
            is_group=np.full(n_kernels, is_weighed or isinstance(self.groups, Mapping)),
            views=views,
            windows=windows,
            scales=np.array(scales),
            shares=((1 / n_read,) * n_read if is_weighed else (),) * n_kernels,
            units=(),
            rates=np.zeros(n_kernels),
            factors=(),
            centers=(),
            length=None,
        )

    def _find_rates(
        self, table: ChannelKernels, read: Callable[[Any], SeriesSet], shares: FloatArray
    ) -> ChannelKernels:
        """The table with the widths of kernels and channels, and what values are measured from."""
        sources = list(
            zip(table.channels, table.views, table.windows, table.units, table.shares, strict=True)
        )
        known: dict[Any, tuple[float, tuple[float, ...], tuple[float, ...]]] = {}
        for source in dict.fromkeys(sources):
            channels, view, window, units, weights = source
            part = view_series(read(channels), view, window, units)
            center = tuple(np.median(part.values.astype(np.float64), axis=1).tolist())
            widths = np.hypot.reduce(root_widths(part, shares).reshape(len(channels), -1), axis=1)
            root, factors = float(np.hypot.reduce(widths)), np.ones(len(channels))
            if weights:
                # A channel that does not vary has no part.
                factors = np.sqrt(weights) * invert_roots(widths)
                root = float(np.sqrt(np.sum(weights, where=factors > 0)))
            known[source] = root, tuple(factors.tolist()), center
        roots, every_factor, centers = zip(*(known[source] for source in sources), strict=True)
        if self.bandwidth is not None:
            given = dict(zip(known, np.sqrt(self._given_bandwidth(len(known))), strict=True))
            roots = tuple(given[source] for source in sources)
        rates = invert_roots(np.sqrt(table.scales) * np.array(roots))
        return replace(table, rates=rates, factors=every_factor, centers=centers)

    def _given_bandwidth(self, n_sources: int) -> FloatArray:
        given = np.asarray(self.bandwidth, dtype=np.float64)
        if given.shape not in ((), (n_sources,)):
            raise ValueError(
                f"GlobalAlignment(bandwidth=...) has shape {given.shape}, expected one number or "
                f"({n_sources},): one per channel or group, for every window of every view. Leave "
                "it out to learn it."
            )
        return np.broadcast_to(given, (n_sources,))

    def _check_samples(self, X: Any, Y: Any) -> tuple[SeriesSet, SeriesSet]:
        # A set is taken as it is: channels that no kernel reads may hold anything.
        left = X if isinstance(X, SeriesSet) else read_series(X)
        right = Y if isinstance(Y, SeriesSet) else left if Y is None else read_series(Y)
        require_columns(self._columns, min(left.n_channels, right.n_channels), "channel")
        return left, right


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


class Norms(NamedTuple):
    """Alignment kernels of series with themselves, before normalisation."""

    mantissas: FloatArray
    exponents: IntArray
    # How far from the diagonal the alignments of a series with others like it go; 0 for no limit.
    reaches: IntArray


def find_self_similarities(series: SeriesSet, width: int) -> Norms:
    """The alignment kernel of every series with itself, before normalisation."""
    everyone = np.arange(len(series))
    if width > 0:
        reaches = np.full(len(series), width)
        return Norms(*_align(series, series, everyone, everyone, width, reaches), reaches)
    # At most exp(a asinh(b / a) + b asinh(a / b)) alignments lead a rows down and b columns right.
    # As many as lead n - r down and n + r right touch the diagonal r columns away on their way n
    # down and n right, by reflection: exp(-sqrt(2) r**2 / n) of the bound for all. Local kernels
    # are at most 1, so this bounds what alignments beyond a reach add.
    steps = series.lengths - 1.0
    budget = np.log(2 / MOST_BEYOND[series.values.dtype.name]) + MOST_BELOW
    reaches = (4 * np.ceil(np.sqrt(budget * series.lengths / np.sqrt(2)) / 4)).astype(np.int64)
    reaches[reaches > 0.8 * steps] = 0
    mantissas, exponents = _align(series, series, everyone, everyone, width, reaches)
    below = 2 * np.arcsinh(1.0) * steps - np.log(mantissas) - np.log(2.0) * exponents
    wild = np.flatnonzero((reaches > 0) & (below > MOST_BELOW))
    if wild.size:
        reaches[wild] = 0
        mantissas[wild], exponents[wild] = _align(series, series, wild, wild, width, reaches[wild])
    return Norms(mantissas, exponents, reaches)


def align_pairs(
    left: SeriesSet,
    right: SeriesSet,
    rows: IntArray,
    columns: IntArray,
    width: int,
    norms: tuple[Norms, Norms],
) -> FloatArray:
    """Normalised kernels of the listed pairs."""
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    values = np.empty(rows.size)
    for start in range(0, rows.size, MOST_PAIRS):
        part = rows[start : start + MOST_PAIRS], columns[start : start + MOST_PAIRS]
        reaches = _find_reaches(left.lengths, right.lengths, norms, *part)
        found = _align(left, right, *part, width, reaches)
        values[start : start + MOST_PAIRS] = _normalize(found, norms, *part)
    return values


def _find_reaches(
    left: IntArray, right: IntArray, norms: tuple[Norms, Norms], rows: IntArray, columns: IntArray
) -> IntArray:
    """How far from the diagonal the alignments of pairs go, 0 for no limit."""
    own, other = norms[0].reaches[rows], norms[1].reaches[columns]
    # Alignments lead from one diagonal to another, and may go as far to both sides of the two.
    apart = np.abs(left[rows] - right[columns])
    reaches = np.maximum(own, other) + 8 * -(-apart // 16)
    return np.where((own > 0) & (other > 0) & (apart < reaches), reaches, 0)


def are_points(series: SeriesSet) -> bool:
    """Whether all series have one step, as summaries have: their alignment is a local kernel."""
    return bool(series.lengths.max(initial=0) == 1)


def compare_points(left: FloatArray, right: FloatArray) -> FloatArray:
    """Local kernels between the columns of two arrays."""
    e = np.exp(-squared_distances(left.T.astype(np.float64), right.T.astype(np.float64)))
    return np.asarray(e / (2 - e))


def align_cross(left: SeriesSet, right: SeriesSet, width: int) -> FloatArray:
    """Normalised kernels between two sets."""
    if are_points(left) and are_points(right):
        return compare_points(left.values, right.values)
    norms = find_self_similarities(left, width), find_self_similarities(right, width)
    values = np.empty((len(left), len(right)))
    step = max(1, MOST_PAIRS // max(1, len(right)))
    for start in range(0, len(left), step):
        rows = np.arange(start, min(start + step, len(left)))
        pairs = np.repeat(rows, len(right)), np.tile(np.arange(len(right)), rows.size)
        found = align_pairs(left, right, *pairs, width, norms)
        values[rows] = found.reshape(rows.size, len(right))
    return values


def align_triangle(
    series: SeriesSet, width: int, norms: Norms, first: int, last: int
) -> FloatArray:
    """Normalised kernels of some rows with all series before them: a band of a triangle."""
    counts = np.arange(first, last)
    if are_points(series):
        values = compare_points(series.values[:, first:last], series.values[:, :last])
        return np.concatenate([row[:count] for row, count in zip(values, counts, strict=True)])
    rows = np.repeat(counts, counts)
    columns = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return align_pairs(series, series, rows, columns, width, (norms, norms))


def _align(
    left: SeriesSet,
    right: SeriesSet,
    rows: IntArray,
    columns: IntArray,
    width: int,
    reaches: IntArray,
) -> Powers:
    """Kernels of pairs before normalisation, computed in an order that fills the lanes."""
    above, beside = left.lengths[rows], right.lengths[columns]
    kinds = 4 * reaches + _find_levels(left, right, rows, columns)
    order, bounds = _arrange(rows, kinds, above, beside)
    rows, columns, kinds = rows[order], columns[order], kinds[order]
    mantissas, exponents = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    with loops._enough_threads(float(above @ beside.astype(np.float64))):
        loops._align_tasks_inplace(
            bounds,
            mantissas,
            exponents,
            left.values,
            left.starts,
            right.values,
            right.starts,
            rows,
            columns,
            width,
            kinds,
        )
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return mantissas[place], exponents[place]


def _find_levels(left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray) -> IntArray:
    """How near to each other all steps of two series are, by the ranges of their values."""
    if left.values.itemsize == 4 or (are_points(left) and are_points(right)):
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
    """An order of pairs, and where in it tasks of at most 16 pairs of one kind begin and end.

    Tasks of pairs that share a row are faster. Those left over, fewer than 16 of a row and kind,
    come last.
    """
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
        for first, last in itertools.pairwise(starts):
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


def split_rows(series: SeriesSet) -> Iterator[tuple[int, int]]:
    """Rows of a triangle, some seconds of work at a time."""
    lengths = series.lengths
    before = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    first, total = 0, 0.0
    for row, n_cells in enumerate(lengths * before):
        is_full = total + n_cells > BLOCK_CELLS or (row - first) * row > BLOCK_PAIRS
        if row > first and is_full:
            yield first, row
            first, total = row, 0.0
        total += float(n_cells)
    yield first, int(lengths.size)


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedAlignment:
    """How the alignments of two series share out their similarity over time.

    Parameters
    ----------
    similarity : float
        The normalised kernel.
    visits : array of shape (n_steps_x, n_steps_y)
        How likely an alignment passes each pair of steps, when alignments are drawn by their part
        in the kernel: the gradient of the log kernel by the logs of the local kernels. Between 0
        and 1, and every row and column sums to 1 or more.
    x_times, y_times : array of shape (n_steps_x,) and (n_steps_y,)
        Where the steps that were compared lie in the series, counted in their own steps. Missing
        ones are left out; resampled ones, and differences, lie in between.
    x_agreement, y_agreement : array of shape (n_steps_x,) and (n_steps_y,)
        What the local kernels of an alignment would multiply to if all steps agreed as well as
        this one does with those it is aligned to; between 0 and 1.

    Notes
    -----
    Of a view that sums a channel up, every step of one series stands beside all steps of the other,
    and none agrees better than the others.

    Examples
    --------
    >>> x, y = np.array([[0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 5.0, 0.0]])
    >>> expected_alignment(GlobalAlignment(length=None).adapt([x, y]), 0, x, y)
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

    @property
    def x_shares(self) -> FloatArray:
        """The share of every step of x in the agreement; they sum to one."""
        return _shares(self.x_agreement)

    @property
    def y_shares(self) -> FloatArray:
        """The share of every step of y in the agreement; they sum to one."""
        return _shares(self.y_agreement)


def expected_alignment(
    bank: GlobalAlignment, channel: int | str, x: Any, y: Any
) -> ExpectedAlignment:
    """Which time steps of two series one kernel aligns, and how well they agree.

    Parameters
    ----------
    bank : GlobalAlignment
        Adapted.
    channel : int or str
        Which kernel: its place in the bank, or its name among `kernel_names`.
    x, y : array of shape (n_channels, length)
        Two series with the channels that the bank reads.

    Returns
    -------
    ExpectedAlignment
        The alignment. It takes memory in proportion to the product of the lengths.

    Examples
    --------
    >>> x, y = np.array([[0.0, 0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 0.0, 0.0]])
    >>> bank = GlobalAlignment().adapt(np.stack([x, y]))
    >>> found = expected_alignment(bank, 0, x, y)
    >>> int(np.argmax(found.visits[2])), bool(np.all(found.visits.sum(axis=1) > 1 - 1e-12))
    (1, True)
    """
    if isinstance(channel, str):
        names = bank.kernel_names()
        if channel not in names:
            raise ValueError(
                f"channel={channel!r} is none of the kernels {', '.join(names)}. Pass one of these "
                "names, or a kernel's place in the bank."
            )
        channel = names.index(channel)
    single = bank.select([channel])
    table = single._table
    pair = [_read_one(series, name) for series, name in ((x, "x"), (y, "y"))]
    times = [_find_times(table, series) for series in pair]
    left, right = (table.prepare(0, series, np.float64)[0] for series in pair)
    if table.views[0] not in ALIGNED:
        return _all_alike(float(single.evaluate(0, *pair)[0, 0]), *times)
    local = _log_local(left, right, bank.triangular)
    visits = loops._visits(local, loops._log_alignments(local))
    similarity = single.evaluate(0, *pair)[0, 0]
    # Steps outside the band have the local kernel 0, and no alignment passes them.
    losses = np.where(visits > 0, local, 0.0) * visits
    agreements = []
    for axis in (1, 0):
        total = visits.sum(axis=axis)
        mean = losses.sum(axis=axis) / np.where(total > 0, total, 1.0)
        agreements.append(np.where(total > 0, np.exp(mean * total.size), 0.0))
    return ExpectedAlignment(float(similarity), visits, *times, *agreements)


def split_losses(bank: GlobalAlignment, index: int, x: SeriesSet, Y: SeriesSet) -> FloatArray:
    """What the similarity of one series to others lacks to 1, by the channels of one kernel.

    A channel has as large a part in it as in the squared distance along the alignment, less what
    series are away from themselves, as their alignments pass unequal steps too. An array of shape
    (n_series, n_channels).
    """
    table = bank._table
    (left,) = table.prepare(index, x, np.float64)
    lacks, found = 1 - bank.evaluate(index, x, Y)[0], []

    def measure(one: FloatArray, other: FloatArray) -> FloatArray:
        if table.views[index] not in ALIGNED:
            return _find_distances(table, index, one, other, np.ones((1, 1)))
        local = _log_local(one, other, bank.triangular)
        visits = loops._visits(local, loops._log_alignments(local))
        return _find_distances(table, index, one, other, visits)

    own = measure(left, left)
    for right in table.prepare(index, Y, np.float64):
        apart = measure(left, right) - (own + measure(right, right)) / 2
        found.append(np.maximum(apart, 0.0))
    distances = np.array(found)
    totals = distances.sum(axis=1, keepdims=True)
    equal = np.full_like(distances, 1 / distances.shape[1])
    shares = np.divide(distances, totals, out=equal, where=totals > 0)
    return np.asarray(lacks[:, np.newaxis] * shares)


def _find_distances(
    table: ChannelKernels, index: int, left: FloatArray, right: FloatArray, visits: FloatArray
) -> FloatArray:
    """The squared distance of two prepared series in every channel, along their alignment."""
    if visits.size == 1:
        by_row = (left[:, 0] - right[:, 0]) ** 2
    else:
        # Steps that no alignment passes are at no distance, however far they are.
        squares = (left[:, :, np.newaxis] - right[:, np.newaxis]) ** 2
        by_row = np.sum(squares * visits, axis=(1, 2), where=visits > 0)
    return np.asarray(by_row.reshape(len(table.channels[index]), -1).sum(axis=1))


def _all_alike(similarity: float, x_times: FloatArray, y_times: FloatArray) -> ExpectedAlignment:
    """Two summaries: every step of one stands beside all of the other, and none agrees better."""
    visits = np.full((x_times.size, y_times.size), 1 / min(x_times.size, y_times.size))
    own, other = (np.full(times.size, similarity) for times in (x_times, y_times))
    return ExpectedAlignment(similarity, visits, x_times, y_times, own, other)


def _read_one(series: Any, name: str) -> SeriesSet:
    if isinstance(series, SeriesSet):
        if len(series) == 1:
            return series
        raise ValueError(
            f"{name} has {len(series)} series, expected one. Take a single one with {name}[i]."
        )
    if np.ndim(series) != 2:
        raise ValueError(
            f"{name} has shape {np.shape(series)}, expected one series (n_channels, length). Use "
            "reshape(1, -1) for a single channel."
        )
    return read_series([series])


def _log_local(x: FloatArray, y: FloatArray, triangular: int | None) -> FloatArray:
    squares = np.zeros((x.shape[1], y.shape[1]))
    for own, other in zip(x, y, strict=True):
        squares += (own[:, np.newaxis] - other) ** 2
    log_e = -squares
    if triangular is not None:
        apart = np.abs(np.arange(x.shape[1])[:, np.newaxis] - np.arange(y.shape[1]))
        near = np.maximum(0.0, 1.0 - apart / triangular)
        log_e = log_e + np.log(near, out=np.full(near.shape, -np.inf), where=near > 0)
    return np.asarray(log_e - np.log(2.0 - np.exp(log_e)))


def _find_times(table: ChannelKernels, series: SeriesSet) -> FloatArray:
    """Where the steps that a kernel compares lie in a series."""
    values = series[0][list(table.channels[0])]
    if table.length is None:
        times = np.flatnonzero(~np.isnan(values).any(axis=0)).astype(np.float64)
    elif table.length == 1:
        times = np.array([(values.shape[1] - 1) / 2])
    else:
        times = np.linspace(0, values.shape[1] - 1, table.length)
    if table.windows[0] != WHOLE:
        (first,), (last,) = find_steps(np.array([times.size]), table.windows[0])
        times = times[first:last]
    if table.views[0] == "differences" and times.size > 1:
        times = (times[1:] + times[:-1]) / 2
    return np.asarray(times)


def _shares(agreement: FloatArray) -> FloatArray:
    total = agreement.sum()
    # Where nothing agrees no step has more than another.
    if total > 0:
        return np.asarray(agreement / total)
    return np.full(agreement.shape, 1.0 / agreement.size)
