"""Global alignment kernels of time series, of every channel or group of channels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.align import (
    align_bands,
    align_cross,
    align_pairs,
    find_self_similarities,
    find_visits,
    log_local,
)
from imkpl.kernels.base import (
    BaseKernelBank,
    SampleKernels,
    check_columns,
    check_indices,
    check_pairs,
    check_sample_weight,
    require_columns,
)
from imkpl.kernels.forms import Form, Groups, group_rows
from imkpl.kernels.normalize import Averaged
from imkpl.kernels.per_feature import check_widths, invert_rates, read_roots
from imkpl.kernels.precomputed import Tabulated, unpack
from imkpl.kernels.views import (
    ALIGNED,
    VIEWS,
    WHOLE,
    ChannelKernel,
    find_steps,
    find_units,
    find_windows,
    learn_widths,
    name_view,
    prepare_channels,
)
from imkpl.series import SeriesSet, read_series

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
DTYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesKernels(SampleKernels):
    """Global alignment kernels between time series, each on a channel or on several together.

    Samples are a `SeriesSet`.
    """

    each: tuple[ChannelKernel, ...]
    length: int | None  # the common length to which series are resampled
    triangular: int = 0  # width of the triangular kernel on time steps; 0 for none
    inputs: IntArray | None = None  # the input channels that the samples have; all when None
    has_scales: bool = False  # whether a channel is aligned at several scales
    dtype: str = "float64"  # of the computations

    input_kind: ClassVar[str] = "series"
    per_kernel = ("each",)
    sample_type: ClassVar[Any] = SeriesSet
    has_unit_diagonal = True
    most_kernels = 20

    @property
    def value_cost(self) -> float:  # type: ignore[override]
        return float(np.mean(self.samples.lengths)) ** 2

    @property
    def widths(self) -> FloatArray:
        """``scale * bandwidth`` of every kernel; infinite for the constant kernel."""
        return invert_rates(np.array([kernel.rate for kernel in self.each]))

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
        """The channel's or group's name, with view, window and scale where there are several."""
        names = [
            kernel.label if feature_names is None or kernel.is_group else feature_names[channels[0]]
            for kernel, channels in zip(self.each, self.kernel_channels, strict=True)
        ]
        return [self.name_kernel(index, str(name)) for index, name in enumerate(names)]

    def name_kernel(self, index: int, label: str) -> str:
        """A label of channels with what one kernel compares of them."""
        kernel = self.each[index]
        words = name_view(kernel.view, kernel.window)
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
        kernel = self.each[int(check_indices([index], self.n_kernels)[0])]
        if kernel.rate == 0:
            return np.ones(self.shape)
        part = kernel.prepare(self.samples, self.length, self.dtype)
        if self.is_square:
            return unpack(np.concatenate(list(align_bands(part, self.triangular))), len(part))
        others = kernel.prepare(self.others, self.length, self.dtype)
        return align_cross(part, others, self.triangular)

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
                part = kernel.prepare(series, self.length, self.dtype)
                norms = find_self_similarities(part, self.triangular)
                values = align_pairs(part, part, left, right, self.triangular, (norms, norms))
                out[differ, index] = values
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
            part = self.each[index].prepare(self.samples, self.length, self.dtype)
            for band in align_bands(part, self.triangular):
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
        require(self.triangular >= 0, f"the triangular kernel has the width {self.triangular}")
        require(self.dtype in DTYPES, f"numbers are none of {DTYPES}")

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
        learns those of features; `on` alone gives all the same.
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
    windows: tuple[int, ...] = (1,)
    groups: Channels | str | None = None
    length: int | str | None = "auto"
    triangular: int | None = None
    bandwidth: float | FloatArray | None = None
    dtype: str = "float64"
    channel_weights: FloatArray | None = None

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
        _require(
            self.dtype in DTYPES,
            f"dtype={self.dtype!r}) must be 'float64' or 'float32'. Leave it out for double "
            "precision",
        )
        weights = np.asarray(1.0 if self.channel_weights is None else self.channel_weights)
        is_share = bool(np.all(weights >= 0) and 0 < weights.sum() < np.inf)
        _require(
            self.channel_weights is None or (is_share and self.groups == WEIGHED),
            f"channel_weights={self.channel_weights}) must be numbers of at least 0, not all of "
            "them 0, and go with groups='weighed'. Leave it out to learn them",
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
        compared = [
            (replace(source, view=view, window=window), part)
            for view in self.views
            for window in find_windows(self.windows)
            for source, part in measured
        ]
        roots: Any = [None] * len(compared)
        if self.bandwidth is not None:
            unit = "channel or group, for every window of every view"
            roots = read_roots("GlobalAlignment", self.bandwidth, len(compared), unit)
        each: list[ChannelKernel] = []
        for (kernel, part), root in zip(compared, roots, strict=True):
            scales = self.scales if kernel.view in ALIGNED else SUMMARY_SCALES
            each += learn_widths(kernel, part, shares, scales, root)
        return SeriesKernels(
            samples=samples,
            each=tuple(each),
            length=length,
            triangular=self.triangular or 0,
            has_scales=len(self.scales) > 1,
            dtype=self.dtype,
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
            if np.shape(weights) != (n_channels,):
                raise ValueError(
                    f"GlobalAlignment(channel_weights=...) has shape {np.shape(weights)}, expected "
                    f"({n_channels},): one per channel. Leave it out to learn them."
                )
            kept, is_group = np.flatnonzero(weights), bool(np.count_nonzero(weights) > 1)
            amounts = np.asarray(weights, dtype=np.float64)[kept]
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

    @property
    def x_shares(self) -> FloatArray:
        """The share of every step of x in the agreement; they sum to one."""
        return _shares(self.x_agreement)

    @property
    def y_shares(self) -> FloatArray:
        """The share of every step of y in the agreement; they sum to one."""
        return _shares(self.y_agreement)


def expected_alignment(
    kernels: SeriesKernels, channel: int | str, x: Any, y: Any
) -> ExpectedAlignment:
    """Which time steps of two series one kernel aligns, and how well they agree.

    Parameters
    ----------
    kernels : SeriesKernels
        What ``GlobalAlignment().on(X)`` returns.
    channel : int or str
        Which kernel: its place among the kernels, or its name among `kernel_names`.
    x, y : array of shape (n_channels, length)
        Two series with the channels of the kernels' samples.

    Returns
    -------
    ExpectedAlignment
        The alignment. It takes memory in proportion to the product of the lengths.

    Examples
    --------
    >>> x, y = np.array([[0.0, 0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 0.0, 0.0]])
    >>> kernels = GlobalAlignment().on(np.stack([x, y]))
    >>> found = expected_alignment(kernels, 0, x, y)
    >>> int(np.argmax(found.visits[2])), bool(np.all(found.visits.sum(axis=1) > 1 - 1e-12))
    (1, True)
    """
    if isinstance(channel, str):
        names = kernels.kernel_names()
        if channel not in names:
            raise ValueError(
                f"channel={channel!r} is none of the kernels {', '.join(names)}. Pass one of these "
                "names, or a kernel's place among them."
            )
        channel = names.index(channel)
    pair = [_read_one(series, name) for series, name in ((x, "x"), (y, "y"))]
    single = replace(kernels.select([channel]), samples=pair[0], others=pair[1])
    (kernel,) = single.each
    for series in pair:
        require_columns(np.array(kernel.channels), series.n_channels, "channel")
    times = [_find_times(kernel, single.length, series) for series in pair]
    similarity = float(single.evaluate(0)[0, 0])
    if kernel.view not in ALIGNED:
        # Every step of one stands beside all of the other, and none agrees better.
        sizes = [each.size for each in times]
        visits = np.full(sizes, 1 / min(sizes))
        return ExpectedAlignment(
            similarity, visits, *times, *(np.full(size, similarity) for size in sizes)
        )
    left, right = (kernel.prepare(series, single.length, np.float64)[0] for series in pair)
    local = log_local(left, right, single.triangular)
    visits = find_visits(local)
    # Steps outside the band have the local kernel 0, and no alignment passes them.
    losses = np.where(visits > 0, local, 0.0) * visits
    agreements = []
    for axis in (1, 0):
        total = visits.sum(axis=axis)
        mean = losses.sum(axis=axis) / np.where(total > 0, total, 1.0)
        agreements.append(np.where(total > 0, np.exp(mean * total.size), 0.0))
    return ExpectedAlignment(similarity, visits, *times, *agreements)


def split_losses(kernels: SeriesKernels, index: int, x: SeriesSet, Y: SeriesSet) -> FloatArray:
    """What the similarity of one series to others lacks to 1, by the channels of one kernel.

    The series have the channels of the kernels' samples. A channel has as large a part in it as in
    the squared distance along the alignment, less what series are away from themselves, as their
    alignments pass unequal steps too. An array of shape (n_series, n_channels of the kernel).
    """
    single = replace(kernels.select([index]), samples=x, others=Y)
    (kernel,), lacks, found = single.each, 1 - single.evaluate(0)[0], []

    def measure(left: FloatArray, right: FloatArray) -> FloatArray:
        """The squared distance of two prepared series in every channel, along their alignment."""
        if kernel.view not in ALIGNED:
            by_row = (left[:, 0] - right[:, 0]) ** 2
        else:
            visits = find_visits(log_local(left, right, single.triangular))
            # Steps that no alignment passes are at no distance, however far they are.
            squares = (left[:, :, np.newaxis] - right[:, np.newaxis]) ** 2
            by_row = np.sum(squares * visits, axis=(1, 2), where=visits > 0)
        return np.asarray(by_row.reshape(len(kernel.channels), -1).sum(axis=1))

    (left,) = kernel.prepare(x, single.length, np.float64)
    own = measure(left, left)
    for right in kernel.prepare(Y, single.length, np.float64):
        apart = measure(left, right) - (own + measure(right, right)) / 2
        found.append(np.maximum(apart, 0.0))
    distances = np.array(found)
    totals = distances.sum(axis=1, keepdims=True)
    equal = np.full_like(distances, 1 / distances.shape[1])
    shares = np.divide(distances, totals, out=equal, where=totals > 0)
    return np.asarray(lacks[:, np.newaxis] * shares)


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


def _find_times(kernel: ChannelKernel, length: int | None, series: SeriesSet) -> FloatArray:
    """Where the steps that a kernel compares lie in a series."""
    values = series[0][list(kernel.channels)]
    if length is None:
        times = np.flatnonzero(~np.isnan(values).any(axis=0)).astype(np.float64)
    elif length == 1:
        times = np.array([(values.shape[1] - 1) / 2])
    else:
        times = np.linspace(0, values.shape[1] - 1, length)
    if kernel.window != WHOLE:
        (first,), (last,) = find_steps(np.array([times.size]), kernel.window)
        times = times[first:last]
    if kernel.view == "differences" and times.size > 1:
        times = (times[1:] + times[:-1]) / 2
    return np.asarray(times)


def _shares(agreement: FloatArray) -> FloatArray:
    total = agreement.sum()
    # Where nothing agrees no step has more than another.
    if total > 0:
        return np.asarray(agreement / total)
    return np.full(agreement.shape, 1.0 / agreement.size)
