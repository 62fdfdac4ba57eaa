"""Series made comparable: brought to one length, or taken as changes from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.series.collection import SeriesSet
from imkpl.series.read import read_series


def resample(series: Any, length: int) -> SeriesSet:
    """All series at one length, each interpolated linearly between its first and last step.

    Missing values inside a series are filled on the way: a channel is interpolated over the steps
    at which it was observed, and its first and last observed value are held towards the ends. A
    channel that was never observed in a series stays missing there.

    Parameters
    ----------
    series : SeriesSet, or series in another form that `read_series` takes
        Series with at least one step each.
    length : int
        The number of steps afterwards. A single step is the middle of the series.

    Returns
    -------
    SeriesSet
        With the same channels and the same type of numbers.

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
            f"length is {length!r}, expected a whole number of at least one step. Series of 30 to "
            "100 steps are common."
        )
    series = series if isinstance(series, SeriesSet) else read_series(series)
    if np.any(series.lengths == 0):
        raise ValueError(
            f"Series {int(np.argmin(series.lengths))} has no time steps, expected at least one to "
            "interpolate from. Leave it out."
        )
    places = _spread(np.asarray(series.lengths, dtype=np.float64), int(length))
    values = _interpolate(series, places)
    starts = np.arange(len(series) + 1) * int(length)
    return SeriesSet(values.astype(series.dtype, copy=False), starts, series.channel_names)


def difference(series: Any) -> SeriesSet:
    """First differences of every series; a series of one step becomes a single zero.

    Where one of two neighbouring values is missing, so is their difference.

    Parameters
    ----------
    series : SeriesSet, or series in another form that `read_series` takes
        The series.

    Returns
    -------
    SeriesSet
        With one step less per series, and the same channels and type of numbers.

    Examples
    --------
    >>> difference(SeriesSet.from_list([[[1.0, 4.0, 2.0]], [[7.0]]])).to_padded()[:, 0]
    array([[ 3., -2.],
           [ 0., nan]])
    """
    series = series if isinstance(series, SeriesSet) else read_series(series)
    lengths = series.lengths
    changes = np.zeros(series.values.shape, dtype=series.dtype)
    changes[:, :-1] = np.diff(series.values, axis=1)
    # The last step of a series has no successor, and changes[:, last] reaches into the next one.
    last = series.starts[1:][lengths > 0] - 1
    changes[:, last] = 0.0
    is_kept = np.ones(changes.shape[1], dtype=bool)
    is_kept[last[lengths[lengths > 0] > 1]] = False
    shortened = np.where(lengths > 1, lengths - 1, lengths)
    starts = np.concatenate(([0], np.cumsum(shortened)))
    return SeriesSet(changes[:, is_kept], starts, series.channel_names)


def _spread(lengths: FloatArray, n_steps: int) -> FloatArray:
    """Where the new steps lie in each series, of shape (n_series, n_steps)."""
    if n_steps == 1:
        return (lengths[:, None] - 1) / 2
    # Not numpy.linspace: it rounds all rows in another way when one of them has no extent.
    return np.arange(n_steps) * (lengths[:, None] - 1) / (n_steps - 1)


def _interpolate(series: SeriesSet, places: FloatArray) -> FloatArray:
    n_steps = places.shape[1]
    # Rounding may place the last step beyond the end.
    below = np.minimum(places.astype(np.intp), series.lengths[:, None] - 1)
    above = np.minimum(below + 1, series.lengths[:, None] - 1)
    share = (places - below).ravel()
    first = series.starts[:-1, None]
    left = series.values[:, (first + below).ravel()]
    right = series.values[:, (first + above).ravel()]
    values = np.asarray(left + share * (right - left))
    for channel, index in _find_missing(series):
        row = series[index][channel]
        seen = np.flatnonzero(~np.isnan(row))
        if seen.size:
            new = slice(index * n_steps, (index + 1) * n_steps)
            values[channel, new] = np.interp(places[index], seen, row[seen])
    return values


def _find_missing(series: SeriesSet) -> list[tuple[int, int]]:
    """Channels and series in which a value is missing."""
    channels, steps = np.nonzero(np.isnan(series.values))
    owners = np.searchsorted(series.starts, steps, side="right") - 1
    return sorted(set(zip(channels.tolist(), owners.tolist(), strict=True)))
