"""Reading series in the forms in which users have them."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.series.collection import SeriesSet

NO_SERIES = "X has no series, expected at least one. Check how it was selected."
OBJECTS = np.dtype(object)
LARGEST = 1e300
FORMS = (
    "an array (n_series, n_channels, n_steps), a list of arrays (n_channels, length), a SeriesSet, "
    "a pandas frame or the path of a .ts file"
)


def read_series(X: Any, *, axes: str = "nct") -> SeriesSet:
    """Series as a :class:`SeriesSet`, with the values copied and checked; a set is returned itself.

    Time steps at the end of a series at which all channels are NaN do not belong to it; other NaN
    are missing values. Read are

    * arrays of shape (n_series, n_channels, n_steps), NaN after the end of shorter series;
    * lists, and arrays of objects, of arrays of shape (n_channels, length);
    * pandas frames whose index has the two levels series and time, one column per channel: rows
      are sorted by time, the distances between times are not looked at;
    * pandas frames whose cells hold whole series, one row per series, one column per channel;
    * lists of pandas frames with a row per time step;
    * paths of ``.ts`` files (needs aeon); the labels in the file are not returned.

    The order of axes is never guessed from the values, because two parts of one data set could
    then be read in two ways. Where it cannot be right an error says so.

    Parameters
    ----------
    X : array, list, SeriesSet, pandas frame or path
        The series.
    axes : {"nct", "ntc"}, default="nct"
        ``"ntc"`` for arrays in which time comes before channels, as in tslearn, and lists of
        arrays of shape (length, n_channels). Frames and files have an order of their own.

    Returns
    -------
    SeriesSet
        The series; with channel names where X has them.

    Examples
    --------
    >>> read_series(np.zeros((5, 3, 20)))
    SeriesSet(5 series of 3 channels, length 20, float64)
    >>> read_series([np.zeros((20, 3)), np.zeros((15, 3))], axes="ntc")
    SeriesSet(2 series of 3 channels, length 15 to 20, float64)
    """
    if axes not in ("nct", "ntc"):
        raise ValueError(
            f"axes is {axes!r}, expected 'nct' or 'ntc': series, then channels and time or time "
            "and channels. Use 'ntc' for arrays from tslearn."
        )
    if isinstance(X, SeriesSet):
        return _check_values(X)
    if isinstance(X, str | pathlib.Path):
        X, axes = _load_file(pathlib.Path(X)), "nct"
    package = type(X).__module__.split(".")[0]
    if package == "pandas" and type(X).__name__ == "DataFrame":
        return _check_values(_read_frame(X))
    if package == "pandas" and type(X).__name__ == "Series":
        X = X.to_list()
    if isinstance(X, list | tuple) or getattr(X, "dtype", None) == OBJECTS:
        return _check_values(_read_list(X, axes))
    _refuse_polars(X, "X")
    if not hasattr(X, "__array__"):
        raise TypeError(
            f"X is of type {type(X).__name__}, expected {FORMS}. Collect series in a list."
        )
    return _check_values(_read_array(_as_numbers(X, "X"), axes))


def _read_array(array: FloatArray, axes: str) -> SeriesSet:
    """Series from one array with NaN at the ends."""
    if array.ndim == 2:
        raise ValueError(
            f"X has shape {array.shape}, expected three axes: series, channels and time. Use "
            "X[:, None, :] for series of one channel, X[None] for a single series."
        )
    if array.ndim != 3:
        raise ValueError(f"X has {array.ndim} axes, expected {FORMS}. Collect series in a list.")
    if axes == "ntc":
        array = np.moveaxis(array, 2, 1)
    if array.shape[0] == 0:
        raise ValueError(NO_SERIES)
    is_seen = ~np.all(np.isnan(array), axis=1)
    lengths = _count_steps(is_seen)
    if axes == "nct":
        _refuse_swapped(array)
    is_inside = np.arange(array.shape[2]) < lengths[:, None]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return SeriesSet(np.moveaxis(array, 1, 0)[:, is_inside], starts)


def _refuse_swapped(array: FloatArray) -> None:
    """Raise where series end along the axis of channels: then that axis is time.

    Certain when, at the end of the second axis, everything is NaN in some series, and reading
    that axis as time leaves no series and no channel without values.
    """
    is_seen = ~np.all(np.isnan(array), axis=2)
    lengths = _count_steps(is_seen)
    has_all_channels = np.all(np.any(~np.isnan(array), axis=1))
    if np.any(lengths < array.shape[1]) and np.all(lengths > 0) and has_all_channels:
        first = int(np.argmax(lengths < array.shape[1]))
        raise ValueError(
            f"Series {first} is NaN in channels {int(lengths[first])} to {array.shape[1] - 1} at "
            "all time steps, expected (n_series, n_channels, n_steps) with NaN at the end of time. "
            "Time seems to be the second axis: pass axes='ntc', or X.transpose(0, 2, 1)."
        )


def _read_list(X: Any, axes: str) -> SeriesSet:
    """Series from a list or an array of objects."""
    if isinstance(X, np.ndarray) and X.ndim != 1:
        # A stack of equally long series becomes such an array when one number is an object.
        return _read_array(_as_numbers(X, "X"), axes)
    if len(X) == 0:
        raise ValueError(NO_SERIES)
    names: list[str] | None = None
    arrays = []
    for index, one in enumerate(X):
        if _is_frame(one):
            names = names or [str(name) for name in one.columns]
            if [str(name) for name in one.columns] != names:
                raise ValueError(
                    f"Series {index} has columns {list(one.columns)}, expected {names} as in the "
                    "first. Select the same columns in every frame."
                )
            arrays.append(_frame_values(one, index).T)
        else:
            array = _read_one(one, index)
            arrays.append(array.T if axes == "ntc" else array)
    _check_channels(arrays, axes)
    # A series that is all NaN keeps no step, and is refused with a sentence later.
    ends = [int(_count_steps(~np.all(np.isnan(array), axis=0))) for array in arrays]
    cut = [array[:, :end] for array, end in zip(arrays, ends, strict=True)]
    return SeriesSet.from_list(cut, names)


def _read_one(one: Any, index: int) -> FloatArray:
    """One series of a list as an array of two axes."""
    _refuse_polars(one, f"Series {index}")
    if isinstance(one, list | tuple) or getattr(one, "dtype", None) == OBJECTS:
        lengths = [np.size(channel) for channel in one]
        if len(set(lengths)) > 1:
            _raise_ragged(index, lengths)
    array = _as_numbers(one, f"Series {index}")
    if array.ndim == 0:
        raise ValueError(
            f"Entry {index} of X is a number, not a series, expected {FORMS}. Use "
            "numpy.reshape(X, (1, 1, -1)) for a single series of one channel."
        )
    if array.ndim != 2:
        raise ValueError(
            f"Series {index} has shape {array.shape}, expected (n_channels, length). Use "
            "reshape(1, -1) for series of one channel."
        )
    return array


def _check_channels(arrays: Sequence[FloatArray], axes: str) -> None:
    counts = [array.shape[0] for array in arrays]
    steps = {array.shape[1] for array in arrays}
    if len(set(counts)) == 1:
        return
    other = next(index for index, count in enumerate(counts) if count != counts[0])
    advice = "Leave out channels that some series do not have."
    if len(steps) == 1 and axes == "nct":
        advice = (
            "All series agree in their second axis, so time seems to come first: pass axes='ntc', "
            "or transpose every series."
        )
    raise ValueError(
        f"Series {other} has {counts[other]} channels, expected {counts[0]} as in the first. "
        f"{advice}"
    )


def _read_frame(frame: Any) -> SeriesSet:
    """Series from a pandas frame with two levels of rows, or with series in its cells."""
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(
            f"The frame has shape {frame.shape} and so no series, expected at least one row and "
            "one column. Check how it was selected."
        )
    if frame.index.nlevels == 2:
        return _read_levels(frame)
    if frame.index.nlevels == 1 and np.ndim(frame.iloc[0, 0]) == 1:
        return _read_cells(frame)
    raise ValueError(
        f"The frame's index has {frame.index.nlevels} levels and its first cell holds "
        f"{type(frame.iloc[0, 0]).__name__}, expected the two levels series and time, or a series "
        "in every cell. Use set_index([series, time]); a frame with a row per series and a column "
        "per time step is X.to_numpy()[:, None, :]."
    )


def _read_levels(frame: Any) -> SeriesSet:
    import pandas as pd

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
            f"The frame has two rows for series {row[0]!r} at time {row[1]!r}, expected one. Drop "
            "duplicates, or take the mean of them with groupby(level=[0, 1])."
        )
    values = _frame_values(frame, None)[order].T
    bounds = np.concatenate(([0], np.flatnonzero(is_new) + 1, [len(owners)]))
    pieces = [values[:, first:last] for first, last in pairwise(bounds)]
    series = _read_list(pieces, "nct")
    return SeriesSet(series.values, series.starts, tuple(str(name) for name in frame.columns))


def _read_cells(frame: Any) -> SeriesSet:
    columns = [frame.iloc[:, position].to_numpy() for position in range(frame.shape[1])]
    rows = []
    for index, cells in enumerate(zip(*columns, strict=True)):
        if any(np.ndim(cell) != 1 for cell in cells):
            raise ValueError(
                f"Row {index} of the frame has a cell that holds no series, expected one in every "
                "cell. Leave out rows, or columns, in which a series is missing."
            )
        lengths = [len(cell) for cell in cells]
        if len(set(lengths)) > 1:
            _raise_ragged(index, lengths)
        rows.append(np.stack([_as_numbers(cell, f"Series {index}") for cell in cells]))
    series = _read_list(rows, "nct")
    return SeriesSet(series.values, series.starts, tuple(str(name) for name in frame.columns))


def _frame_values(frame: Any, index: int | None) -> FloatArray:
    """The numbers of a frame, time by channels."""
    columns = []
    for position, name in enumerate(frame.columns):
        place = f"Column {name!r}" if index is None else f"Column {name!r} of series {index}"
        columns.append(_as_numbers(frame.iloc[:, position], place))
    return np.stack(columns, axis=1)


def _load_file(path: pathlib.Path) -> Any:
    """What aeon reads from a .ts file."""
    if path.suffix != ".ts":
        raise ValueError(
            f"X is the path {path.name!r}, expected one that ends in .ts. Read other files with "
            "the package that wrote them, and pass the arrays."
        )
    try:
        from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise ImportError(
            "Files in the .ts format are read by aeon, which is not installed. Use "
            "pip install 'imkpl[series]'."
        ) from error
    loaded = load_from_ts_file(str(path))
    return loaded[0] if isinstance(loaded, tuple) else loaded


def _as_numbers(values: Any, name: str) -> FloatArray:
    """Values as floats; what is masked or missing is NaN."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        values = np.ma.filled(values.astype(kind), np.nan)
    try:
        array = np.asarray(values)
        if array.dtype == OBJECTS:
            is_text = any(isinstance(value, str | bytes) for value in array.ravel())
            array = array if is_text else _replace_missing(array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.asarray(["not numbers"])
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds values that are not real numbers, expected numbers or NaN. Convert text "
            "and categories first, and leave out channels that are neither."
        )
    kind = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.asarray(array, dtype=kind)


def _replace_missing(array: Any) -> Any:
    """NaN in the place of pandas' mark for missing values, which no number can be made of."""
    is_mark = np.array([type(value).__name__ == "NAType" for value in array.ravel()], dtype=bool)
    return np.where(is_mark.reshape(array.shape), np.nan, array) if is_mark.any() else array


def _count_steps(is_seen: Any) -> Any:
    """One more than the last place along the last axis that is true; zero when there is none."""
    return np.max(np.arange(1, is_seen.shape[-1] + 1) * is_seen, axis=-1, initial=0)


def _check_values(series: SeriesSet) -> SeriesSet:
    """Refuse series without values and numbers without size."""
    if len(series) == 0:
        raise ValueError(NO_SERIES)
    if series.n_channels == 0:
        raise ValueError("The series have no channels, expected at least one. Check the axes of X.")
    if np.any(series.lengths == 0):
        raise ValueError(
            f"Series {int(np.argmin(series.lengths))} is empty or NaN throughout, expected at "
            "least one time step with a value. Leave it out, together with its label."
        )
    n_seen = np.add.reduceat(~np.isnan(series.values), series.starts[:-1], axis=1, dtype=np.intp)
    if not np.all(n_seen):
        channel, index = np.argwhere(n_seen == 0)[0].tolist()
        raise ValueError(
            f"Channel {_name(series, channel)} of series {index} is NaN throughout, expected at "
            "least one value. Fill it, or leave out the channel or the series."
        )
    if np.any(np.isinf(series.values)):
        channel, step = np.argwhere(np.isinf(series.values))[0].tolist()
        index = int(np.searchsorted(series.starts, step, side="right")) - 1
        raise ValueError(
            f"Channel {_name(series, channel)} of series {index} has an infinite value at step "
            f"{step - int(series.starts[index])}, expected finite numbers, or NaN for a missing "
            "value. Replace it."
        )
    largest = float(np.nanmax(np.abs(series.values)))
    if largest > LARGEST:
        raise ValueError(
            f"The series hold numbers of up to {largest:.3g}, expected less than {LARGEST:.0e}, "
            "because differences and sums of such numbers overflow. Divide them."
        )
    return series


def _name(series: SeriesSet, channel: int) -> str:
    return str(channel) if series.channel_names is None else repr(series.channel_names[channel])


def _raise_ragged(index: int, lengths: Sequence[int]) -> None:
    raise ValueError(
        f"The channels of series {index} have lengths {list(lengths)}, expected one length for all "
        "channels of a series. Cut or resample them, or fill the shorter ones with NaN."
    )


def _refuse_polars(X: Any, name: str) -> None:
    # Their frames pass for arrays of time by channels, and would be read the wrong way round.
    if type(X).__module__.split(".")[0] == "polars":
        raise TypeError(
            f"{name} is a {type(X).__name__} of polars, which has no index of series and time, "
            f"expected {FORMS}. Use X.to_pandas().set_index([series, time])."
        )


def _is_frame(one: Any) -> bool:
    return type(one).__module__.split(".")[0] == "pandas" and type(one).__name__ == "DataFrame"
