"""Multivariate time series of unequal length, in one block of memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._checks import LARGEST, find_places, quote
from imkpl._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from imkpl.kernels import ExpectedAlignment

__all__ = ["SeriesSet", "align", "read_series", "resample"]

# Series that are looked at to find out which axis is time, and how much smoother that one is.
LOOKED_AT, SMOOTH = 50, 0.2
FORMS = (
    "an array (n_series, n_channels, n_steps), a list of arrays (n_channels, length), a SeriesSet, "
    "or a pandas frame with the index levels series and time"
)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesSet:
    """A set of series; within a series all channels have the same length.

    A set is indexed like an array of shape (n_series, n_channels, length): ``s[3]`` is one series,
    ``s[[0, 2]]``, ``s[:5]`` and ``s[mask]`` select series, ``s[:, [1]]`` selects a channel. Sets
    are compared by content, and their arrays are read-only.

    Parameters
    ----------
    values : array of shape (n_channels, total_length)
        All series one after the other. Missing values are NaN.
    starts : int array of shape (n_series + 1,)
        Series i is ``values[:, starts[i] : starts[i + 1]]``.
    channel_names : tuple of str, optional
        One name per channel.

    Examples
    --------
    >>> s = SeriesSet.from_list([[[1.0, 2.0, 3.0]], [[5.0]]], channel_names=["x"])
    >>> len(s), s.n_channels, s.lengths.tolist()
    (2, 1, [3, 1])
    >>> s[0]
    array([[1., 2., 3.]])
    >>> s[[1]].to_padded()
    array([[[5.]]])
    """

    values: FloatArray
    starts: IntArray
    channel_names: tuple[str, ...] | None = None

    ndim = 3

    def __post_init__(self) -> None:
        values, starts = _as_floats(self.values), np.ascontiguousarray(self.starts, dtype=np.intp)
        is_partition = starts.ndim == 1 and starts.size > 0 and not np.any(np.diff(starts) < 0)
        is_right = values.ndim == 2 and is_partition
        if not is_right or starts[0] != 0 or starts[-1] != values.shape[1]:
            raise ValueError(
                f"A SeriesSet got values of shape {values.shape} and {starts.size} starts, "
                "expected (n_channels, n_steps), and numbers in ascending order from 0 to n_steps, "
                "one more than series. Use SeriesSet.from_list for a list of series."
            )
        names = self.channel_names
        if names is not None:
            names = tuple(str(name) for name in names)
            if len(names) != values.shape[0]:
                raise ValueError(
                    f"There are {len(names)} channel names for {values.shape[0]} channels, "
                    "expected one each. Leave them out, or name every channel."
                )
        values, starts = values.view(), starts.view()
        values.flags.writeable = starts.flags.writeable = False
        for field, value in (("values", values), ("starts", starts), ("channel_names", names)):
            object.__setattr__(self, field, value)

    @classmethod
    def from_list(
        cls, series: Sequence[ArrayLike], channel_names: Sequence[str] | None = None
    ) -> SeriesSet:
        """A set from a list of arrays (n_channels, length); float32 if all are, else float64."""
        arrays = [_as_floats(one) for one in series]
        if not arrays:
            raise ValueError(
                "The list of series is empty, expected at least one array of shape (n_channels, "
                "length). Check how the series were selected."
            )
        for index, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[0] != arrays[0].shape[0]:
                raise ValueError(
                    f"Series {index} has shape {array.shape}, expected (n_channels, length) with "
                    f"the {np.shape(arrays[0])[0]} channels of the first series. Reshape a series "
                    "of one channel with reshape(1, -1); transpose if time comes first."
                )
        names = None if channel_names is None else tuple(channel_names)
        starts = _add_up([array.shape[1] for array in arrays])
        return cls(np.concatenate(arrays, axis=1), starts, names)

    @property
    def lengths(self) -> IntArray:
        """The number of time steps of every series."""
        return np.diff(self.starts)

    @property
    def n_channels(self) -> int:
        """The number of channels."""
        return int(self.values.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n_series, n_channels, longest length): the shape of `to_padded`."""
        return len(self), self.n_channels, int(self.lengths.max(initial=0))

    def to_padded(self) -> FloatArray:
        """One array (n_series, n_channels, max_length), NaN after the end of shorter series."""
        padded = np.full(self.shape, np.nan, dtype=self.dtype)
        for index, one in enumerate(self):
            padded[index, :, : one.shape[1]] = one
        return padded

    def channels(self, indices: ArrayLike) -> SeriesSet:
        """All series with the chosen channels, by numbers, a mask or a slice, and their names."""
        chosen = np.atleast_1d(find_places(indices, self.n_channels))
        names = self.channel_names
        kept = None if names is None else tuple(names[i] for i in chosen)
        return SeriesSet(self.values[chosen], self.starts, kept)

    def __len__(self) -> int:
        return int(self.starts.size - 1)

    def __iter__(self) -> Iterator[FloatArray]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            rows, *channels = (part for part in key if part is not Ellipsis)
            if len(channels) <= 1:
                return (self.channels(channels[0]) if channels else self)[rows]
        if isinstance(key, int | np.integer):
            first = range(len(self))[int(key)]
            return self.values[:, self.starts[first] : self.starts[first + 1]]
        chosen = None if isinstance(key, tuple) else find_places(key, len(self))
        if chosen is None or chosen.ndim != 1:
            raise IndexError(
                f"The index {key!r} of a SeriesSet has too many dimensions, expected series, or "
                "series and channels. Pass integers, lists, slices or masks; index a single "
                "series along time."
            )
        starts = _add_up(self.lengths[chosen])
        # Every time step of the result, counted from the start of its series in this set.
        shifts = np.repeat(self.starts[chosen] - starts[:-1], self.lengths[chosen])
        return SeriesSet(self.values[:, np.arange(starts[-1]) + shifts], starts, self.channel_names)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        return self.to_padded().astype(self.dtype if dtype is None else dtype, copy=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeriesSet):
            return NotImplemented
        return (
            self.channel_names == other.channel_names
            and self.dtype == other.dtype
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        (n_series, n_channels, longest), shortest = self.shape, int(self.lengths.min(initial=2**62))
        span = f"{shortest} to {longest}" if shortest < longest else f"{longest}"
        return f"SeriesSet({n_series} series of {n_channels} channels, length {span}, {self.dtype})"


def _add_up(lengths: Any) -> IntArray:
    """Where series of these lengths start, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths)))


def _as_floats(values: ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"A series has values of type {array.dtype}, expected real numbers. Convert them with "
            "astype(float); missing values are NaN."
        )
    kind = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, dtype=kind)


def read_series(
    X: Any,
    *,
    series: str | None = None,
    time: str | None = None,
    channel_names: Sequence[str] | None = None,
) -> SeriesSet:
    """Read series into a :class:`SeriesSet`; a set is checked and returned unchanged.

    Time steps at the end of a series at which all channels are NaN do not belong to it; other NaN
    are missing values. The order of the axes is never guessed from the values, but one that cannot
    be right raises an error, and one that is likely to be wrong a warning.

    Parameters
    ----------
    X : array, list, SeriesSet or pandas frame
        An array of shape (n_series, n_channels, n_steps), with NaN after the end of shorter series;
        a list, or an array of objects, of arrays of shape (n_channels, length); or a pandas frame
        with the two index levels series and time and one column per channel, whose rows are sorted
        by time, gaps between times being ignored. With `series`, any frame with a row per step.
    series, time : str, optional
        Of a frame, the columns that say which series each row is a step of, and when. Series are in
        the order of their first rows, and steps in that of `time`, else of their rows. All other
        columns are channels.
    channel_names : sequence of str, optional
        One name per channel, in the place of those that X has.

    Returns
    -------
    SeriesSet
        A copy of the series, with channel names if X has them.

    Examples
    --------
    >>> read_series(np.zeros((5, 3, 20)))
    SeriesSet(5 series of 3 channels, length 20, float64)
    >>> import pandas as pd
    >>> log = pd.DataFrame({"trial": [1, 1, 2], "t": [0, 1, 0], "speed": [0.5, 0.7, 2.0]})
    >>> read_series(log, series="trial", time="t")
    SeriesSet(2 series of 1 channels, length 1 to 2, float64)
    >>> read_series([np.zeros((3, 20)), np.zeros((3, 15))])
    SeriesSet(2 series of 3 channels, length 15 to 20, float64)
    """
    if series is not None:
        X = _index_steps(X, series, time)
    if isinstance(X, SeriesSet):
        found = X
    elif hasattr(X, "columns") and hasattr(X, "index"):
        found = _read_frame(X)
    elif isinstance(X, list | tuple) or (np.ndim(X) == 1 and X.dtype == object):
        found = _read_list(X)
    elif hasattr(X, "__array__"):
        found = _read_array(_as_numbers(X, "X"))
    else:
        raise TypeError(
            f"X is of type {type(X).__name__}, expected {FORMS}. Collect series in a list."
        )
    if channel_names is not None:
        found = replace(found, channel_names=tuple(channel_names))
    _check_values(found)
    return found


def _index_steps(X: Any, series: str, time: str | None) -> Any:
    """A frame of steps in the form of pandas: rows by series and time."""
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    frame = frame if hasattr(frame, "to_pandas") else None
    wanted = [series] if time is None else [series, time]
    lacking = [] if frame is None else [name for name in wanted if name not in frame.columns]
    if frame is None or lacking:
        what = f"no column {quote(lacking[0])}" if lacking else f"the type {type(X).__name__}"
        raise ValueError(
            f"X has {what}, expected a frame with a row per time step and the columns that series= "
            "and time= name. Correct the names."
        )
    steps = frame.to_pandas().reset_index(drop=True)
    when = steps.index if time is None else steps[time]
    return steps.drop(columns=wanted).set_index([steps[series], when])


def _read_array(array: FloatArray) -> SeriesSet:
    """Series from a padded array."""
    if array.ndim != 3:
        raise ValueError(
            f"X has shape {array.shape}, expected {FORMS}. Use X[:, None, :] for series of one "
            "channel, X[None] for a single series."
        )
    _warn_of_axes(array)
    lengths = _count_steps(np.any(~np.isnan(array), axis=1))
    is_inside = np.arange(array.shape[2]) < lengths[:, None]
    return SeriesSet(np.moveaxis(array, 1, 0)[:, is_inside], _add_up(lengths))


def _warn_of_axes(array: FloatArray) -> None:
    """Warn if the second axis is longer than the third, and much smoother, as time is."""
    _, n_channels, n_steps = array.shape
    some = array[:LOOKED_AT].astype(np.float64)
    if n_channels <= n_steps or some.size == 0 or not np.isfinite(some).all():
        return
    roughness = [np.mean(np.diff(some, axis=axis) ** 2) for axis in (1, 2) if some.shape[axis] > 1]
    if n_steps == 1 or roughness[0] < SMOOTH * roughness[1]:
        warnings.warn(
            f"X has shape {array.shape}, which is read as {n_channels} channels of {n_steps} steps "
            "each, but values look like those of more steps than channels. If it is (n_series, "
            "n_steps, n_channels), pass X.transpose(0, 2, 1).",
            stacklevel=4,
        )


def _read_list(X: Any, names: Sequence[str] | None = None) -> SeriesSet:
    """Series from a list or an array of objects."""
    arrays = [_read_one(one, index) for index, one in enumerate(X)]
    # A series that is all NaN keeps no step, and is refused by _check_values.
    ends = [int(_count_steps(~np.all(np.isnan(array), axis=0))) for array in arrays]
    cut = [array[:, :end] for array, end in zip(arrays, ends, strict=True)]
    return SeriesSet.from_list(cut, names)


def _read_one(one: Any, index: int) -> FloatArray:
    """One series of a list as an array of two axes."""
    is_ragged = isinstance(one, list | tuple) and len({np.size(channel) for channel in one}) > 1
    shape = "channels of several lengths" if is_ragged else f"shape {np.shape(one)}"
    if is_ragged or hasattr(one, "columns") or np.ndim(one) != 2:
        raise ValueError(
            f"Series {index} is of type {type(one).__name__} and has {shape}, expected an array "
            "(n_channels, length). Use reshape(1, -1) for one channel, frame.to_numpy().T for a "
            "frame with a row per time step, NaN after the end of shorter channels."
        )
    return _as_numbers(one, f"Series {index}")


def _read_frame(frame: Any) -> SeriesSet:
    """Series from a pandas frame with two levels of rows."""
    import pandas as pd

    if frame.index.nlevels != 2 or 0 in frame.shape:
        raise ValueError(
            f"The frame has shape {frame.shape} and an index of {frame.index.nlevels} levels, "
            "expected the two levels series and time, and at least one row and column. Use "
            "set_index([series, time]); a frame with a row per series and a column per time step "
            "is X.to_numpy()[:, None, :]."
        )
    owners, _ = pd.factorize(frame.index.get_level_values(0))
    times, _ = pd.factorize(frame.index.get_level_values(1), sort=True)
    if owners.min() < 0 or times.min() < 0:
        raise ValueError(
            "A row of the frame has a missing value in its index, expected the series and the time "
            "of every row. Drop these rows."
        )
    order = np.lexsort((times, owners))
    owners, times = owners[order], times[order]
    is_new = np.diff(owners) > 0
    is_repeated = ~is_new & (np.diff(times) == 0)
    if np.any(is_repeated):
        row = frame.index[order[int(np.argmax(is_repeated)) + 1]]
        raise ValueError(
            f"The frame has two rows for series {quote(row[0])} at time {quote(row[1])}, expected "
            "one. Drop duplicates, or take the mean of them with groupby(level=[0, 1])."
        )
    columns = [
        _as_numbers(frame.iloc[:, place].to_numpy(), f"Column {quote(name)}")
        for place, name in enumerate(frame.columns)
    ]
    values = np.stack(columns)[:, order]
    return _read_list(np.split(values, np.flatnonzero(is_new) + 1, axis=1), tuple(frame.columns))


def _as_numbers(values: Any, name: str) -> FloatArray:
    """Values as floats; masked and missing values become NaN."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(np.result_type(values.dtype, np.float16)), np.nan)
    try:
        array = np.asarray(values)
        if array.dtype == object:
            is_text = any(isinstance(value, str | bytes) for value in array.ravel())
            # pandas.NA cannot be converted to a number.
            is_mark = np.frompyfunc(lambda value: type(value).__name__ == "NAType", 1, 1)(array)
            array = array if is_text else np.where(is_mark, np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.asarray("not numbers")
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds values that are not real numbers, expected numbers or NaN. Convert text "
            "and categories first, and leave out channels that are neither."
        )
    return _as_floats(array)


def _count_steps(is_seen: Any) -> Any:
    """One more than the last true index along the last axis; 0 if there is none."""
    return np.max(np.arange(1, is_seen.shape[-1] + 1) * is_seen, axis=-1, initial=0)


def _check_values(series: SeriesSet) -> None:
    """Raise for series or channels without values, and for infinite and huge numbers."""
    if len(series) == 0:
        raise ValueError("X has no series, expected at least one. Check how X was selected.")
    if series.n_channels == 0:
        raise ValueError("The series have no channels, expected at least one. Check the axes of X.")
    if np.any(series.lengths == 0):
        raise ValueError(
            f"Series {int(np.argmin(series.lengths))} is empty or NaN throughout, expected at "
            "least one time step with a value. Leave it out, together with its label."
        )
    names = [quote(name) for name in series.channel_names or ()] or range(series.n_channels)
    n_seen = np.add.reduceat(~np.isnan(series.values), series.starts[:-1], axis=1, dtype=np.intp)
    if not np.all(n_seen):
        channel, index = np.argwhere(n_seen == 0)[0].tolist()
        raise ValueError(
            f"Channel {names[channel]} of series {index} is NaN throughout, expected at least one "
            "value. Fill it, or leave out the channel or the series. If time is the second axis of "
            "X, pass X.transpose(0, 2, 1)."
        )
    is_huge = np.abs(series.values) > np.float64(LARGEST)
    if np.any(is_huge):
        channel, step = np.argwhere(is_huge)[0].tolist()
        index = int(np.searchsorted(series.starts, step, side="right")) - 1
        raise ValueError(
            f"Channel {names[channel]} of series {index} has the value "
            f"{series.values[channel, step]:.3g} at step {step - int(series.starts[index])}, "
            f"expected numbers up to {LARGEST:.0e}, whose squares do not overflow, or NaN for a "
            "missing value. Replace it, or rescale the series."
        )


def resample(series: Any, length: int) -> SeriesSet:
    """Resample all series to one length by linear interpolation.

    Missing values are filled: a channel is interpolated between its observed steps, and its first
    and last observed values are held towards the ends.

    Parameters
    ----------
    series : SeriesSet, or series in another form that `read_series` takes
        Series of at least one step.
    length : int
        The new number of steps. A single step is the middle of the series.

    Returns
    -------
    SeriesSet
        The resampled series, with the same channels and dtype.

    Examples
    --------
    >>> s = SeriesSet.from_list([[[0.0, 1.0, 2.0, 3.0]], [[5.0, np.nan, 9.0]], [[4.0]]])
    >>> resample(s, 3).to_padded()[:, 0]
    array([[0. , 1.5, 3. ],
           [5. , 7. , 9. ],
           [4. , 4. , 4. ]])
    """
    if np.asarray(length).dtype.kind not in "iu" or length < 1:
        raise ValueError(
            f"length is {quote(length)}, expected a whole number of at least one step. Series of "
            "30 to 100 steps are common."
        )
    series = series if isinstance(series, SeriesSet) else read_series(series)
    if np.any(series.lengths == 0):
        raise ValueError(
            f"Series {int(np.argmin(series.lengths))} has no time steps, expected at least one to "
            "interpolate from. Leave it out."
        )
    ends = np.asarray(series.lengths, dtype=np.float64)[:, None] - 1
    # Not numpy.linspace, which rounds all rows differently if one of them has no extent.
    places = ends / 2 if length == 1 else np.arange(int(length)) * ends / (int(length) - 1)
    # Round-off may put the last step beyond the end.
    below = np.minimum(places.astype(np.intp), series.lengths[:, None] - 1)
    above = np.minimum(below + 1, series.lengths[:, None] - 1)
    first = series.starts[:-1, None]
    left = series.values[:, (first + below).ravel()]
    right = series.values[:, (first + above).ravel()]
    values = np.asarray(left + (places - below).ravel() * (right - left))
    starts = np.arange(len(series) + 1) * int(length)
    channels, steps = np.nonzero(np.isnan(series.values))
    owners = np.searchsorted(series.starts, steps, side="right") - 1
    for channel, index in sorted(set(zip(channels.tolist(), owners.tolist(), strict=True))):
        row = series[index][channel]
        seen = np.flatnonzero(~np.isnan(row))
        if seen.size:
            new = np.interp(places[index], seen, row[seen])
            values[channel, starts[index] : starts[index + 1]] = new
    return SeriesSet(values.astype(series.dtype, copy=False), starts, series.channel_names)


def difference(series: SeriesSet) -> SeriesSet:
    """First differences; a series of one step becomes a single zero."""
    lengths = series.lengths
    changes = np.zeros(series.values.shape, dtype=series.dtype)
    changes[:, :-1] = np.diff(series.values, axis=1)
    # changes[:, last] would be the difference to the first step of the next series.
    last = series.starts[1:][lengths > 0] - 1
    changes[:, last] = 0.0
    is_kept = np.ones(changes.shape[1], dtype=bool)
    is_kept[last[lengths[lengths > 0] > 1]] = False
    starts = _add_up(np.where(lengths > 1, lengths - 1, lengths))
    return SeriesSet(changes[:, is_kept], starts, series.channel_names)


# Views: what kernels compare of series

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
    """How often three of nine steps exceed the mean of the nine, as in MINIROCKET."""
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
    """What a kernel compares of series without missing values; summaries are in these units."""
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


def align(model: Any, x: Any, y: Any) -> dict[str, ExpectedAlignment]:
    """Where in time a model finds two series alike, channel by channel.

    Compare a new series with those that a prototype is made of to see what the model saw.

    Parameters
    ----------
    model : IMKPL or ISKPL
        Fitted to series, with ``kernels="global_alignment"``.
    x, y : array of shape (n_channels, length)
        Two series.

    Returns
    -------
    dict of ExpectedAlignment
        By the name of every kernel with a weight, in the order of `kernel_names_`.

    Examples
    --------
    >>> from imkpl import IMKPL
    >>> X = np.arange(12.0)[:, None, None] * np.sin(np.arange(8))
    >>> model = IMKPL("global_alignment", n_prototypes=2).fit(X, np.repeat([0, 1], 6))
    >>> align(model, X[0], X[1])
    {'channel 0': ExpectedAlignment(similarity=0.984, 8 x 8 steps)}
    """
    from imkpl.kernels.alignment import SeriesKernels, expected_alignment

    kernels = getattr(getattr(model, "_predictor", None), "kernels", None)
    if not isinstance(kernels, SeriesKernels):
        found = "is not fitted" if kernels is None else f"has {type(kernels).__name__}"
        raise TypeError(
            f"align() explains alignment kernels, but the model {found}. Fit it with "
            "kernels='global_alignment'."
        )
    pair, _ = kernels.read([x, y], model._form)
    cut = kernels.cross(pair).samples
    live = np.flatnonzero(model.kernel_weights_)
    return {
        model.kernel_names_[index]: expected_alignment(kernels, place, cut[0], cut[1])
        for place, index in enumerate(live)
    }
