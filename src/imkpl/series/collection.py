"""Many series of unequal length side by side in one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class SeriesSet:
    """Series of one or more channels; within a series all channels have the same length.

    It is indexed as an array of shape (n_series, n_channels, length) would be: ``s[3]`` is one
    series, ``s[[0, 2]]``, ``s[:5]`` and ``s[mask]`` are sets of series, ``s[:, [1]]`` is the set of
    all series with one channel. Sets compare by content, and their arrays are read-only.

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

    def __post_init__(self) -> None:
        values, starts = _as_floats(self.values), np.ascontiguousarray(self.starts, dtype=np.intp)
        if values.ndim != 2:
            raise ValueError(
                f"The values of a SeriesSet have shape {values.shape}, expected (n_channels, "
                "total_length). Use SeriesSet.from_list for a list of series."
            )
        is_partition = starts.ndim == 1 and starts.size > 0 and not np.any(np.diff(starts) < 0)
        if not is_partition or starts[0] != 0 or starts[-1] != values.shape[1]:
            raise ValueError(
                f"The starts of a SeriesSet must run from 0 to the {values.shape[1]} time steps in "
                "ascending order, with one number more than there are series. Use "
                "SeriesSet.from_list for a list of series."
            )
        names = self.channel_names
        if names is not None:
            names = tuple(str(name) for name in names)
            if len(names) != values.shape[0]:
                raise ValueError(
                    f"There are {len(names)} channel names for {values.shape[0]} channels, "
                    "expected one each. Leave them out, or name every channel."
                )
        for field, value in (("values", values), ("starts", starts)):
            value = value.view()
            value.flags.writeable = False
            object.__setattr__(self, field, value)
        object.__setattr__(self, "channel_names", names)

    @classmethod
    def from_list(
        cls, series: Sequence[ArrayLike], channel_names: Sequence[str] | None = None
    ) -> SeriesSet:
        """The set of the series in a list.

        Parameters
        ----------
        series : list of arrays of shape (n_channels, length_i)
            The series.
        channel_names : sequence of str, optional
            One name per channel.

        Returns
        -------
        SeriesSet
            With copies of the values; single precision stays where all series have it.
        """
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
        starts = np.concatenate(([0], np.cumsum([array.shape[1] for array in arrays])))
        names = None if channel_names is None else tuple(channel_names)
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

    @property
    def ndim(self) -> int:
        """Always 3."""
        return 3

    def to_padded(self) -> FloatArray:
        """One array, with NaN after the end of the shorter series.

        Returns
        -------
        array of shape (n_series, n_channels, max_length)
            A copy.
        """
        padded = np.full(self.shape, np.nan, dtype=self.dtype)
        for index, length in enumerate(self.lengths):
            padded[index, :, :length] = self[index]
        return padded

    def channels(self, indices: ArrayLike) -> SeriesSet:
        """All series with the listed channels only.

        Parameters
        ----------
        indices : array of shape (n_chosen,)
            Which channels, in that order; a mask, or a slice, of channels will do too.

        Returns
        -------
        SeriesSet
            With the names of these channels.
        """
        chosen = np.atleast_1d(np.arange(self.n_channels)[_as_key(indices)])
        names = self.channel_names
        kept = None if names is None else tuple(names[i] for i in chosen)
        return SeriesSet(self.values[chosen], self.starts, kept)

    def __len__(self) -> int:
        return int(self.starts.size - 1)

    def __iter__(self) -> Iterator[FloatArray]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return self._get_both(key)
        if isinstance(key, int | np.integer):
            first = range(len(self))[int(key)]
            return self.values[:, self.starts[first] : self.starts[first + 1]]
        # Numpy refuses indices outside the set and masks of another length with its own words.
        chosen = np.arange(len(self))[_as_key(key)]
        if chosen.ndim != 1:
            raise IndexError(
                f"Series are chosen by an index of {chosen.ndim} dimensions, expected one. Pass a "
                "number, a list of numbers, a slice or a mask."
            )
        starts = np.concatenate(([0], np.cumsum(self.lengths[chosen])))
        # Every time step of the result, counted from the start of its series in this set.
        shifts = np.repeat(self.starts[chosen] - starts[:-1], self.lengths[chosen])
        return SeriesSet(self.values[:, np.arange(starts[-1]) + shifts], starts, self.channel_names)

    def _get_both(self, key: tuple[Any, ...]) -> Any:
        parts = tuple(part for part in key if part is not Ellipsis)
        if len(parts) > 2:
            raise IndexError(
                f"A SeriesSet was indexed along {len(parts)} axes, expected series and channels "
                "only. Index a single series along time."
            )
        cut = self.channels(parts[1]) if len(parts) == 2 else self
        return cut[parts[0]] if parts else cut

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        if copy is False:
            raise ValueError("A SeriesSet as one array is always a copy. Use copy=None.")
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays can be written to; the constructor makes them read-only again.
        return SeriesSet, (self.values, self.starts, self.channel_names)

    def __repr__(self) -> str:
        longest = self.shape[2]
        shortest = int(self.lengths.min(initial=longest))
        span = f"{longest}" if shortest == longest else f"{shortest} to {longest}"
        return (
            f"SeriesSet({len(self)} series of {self.n_channels} channels, length {span}, "
            f"{self.dtype})"
        )


def _as_key(key: Any) -> Any:
    if isinstance(key, slice):
        return key
    array = np.asarray(key)
    # An empty list is an array of float.
    return array if array.size else array.astype(np.intp)


def _as_floats(values: ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"A series has values of type {array.dtype}, expected real numbers. Convert them with "
            "astype(float); missing values are NaN."
        )
    kind = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, dtype=kind)
