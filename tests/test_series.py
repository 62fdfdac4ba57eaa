"""Series are read from every form, and behave like an array of series of unequal length."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import train_test_split
from sklearn.utils import indexable

from imkpl.series import SeriesSet, difference, read_series, resample
from reference.series import difference_one, resample_one

LENGTHS = (4, 7, 1, 5)

# SeriesSet


@pytest.fixture
def listed(rng):
    return [rng.standard_normal((3, length)) for length in (4, 1, 6, 2)]


@pytest.fixture
def series(listed):
    return SeriesSet.from_list(listed, channel_names=["a", "b", "c"])


def test_series_come_back_as_they_were_given(series, listed):
    assert len(series) == 4
    assert series.shape == (4, 3, 6)
    assert_array_equal(series.lengths, [4, 1, 6, 2])
    for index, array in enumerate(listed):
        assert_array_equal(series[index], array)
        assert_array_equal(series[index - 4], array)


@pytest.mark.parametrize(
    "key", [[2, 0, 2], slice(1, None, 2), slice(None), [], [True, False, False, True], [-1]]
)
def test_a_set_is_indexed_as_a_list_is(series, listed, key):
    # An empty list is an array of float, which numpy would refuse as an index.
    expected = np.arange(4)[key if isinstance(key, slice) or key else slice(0)]
    part = series[key]
    assert len(part) == expected.size
    for found, index in zip(part, expected, strict=True):
        assert_array_equal(found, listed[index])
    assert part.channel_names == series.channel_names


def test_channels_are_the_second_axis(series, listed):
    part = series[:, [2, 0]]
    assert part == series.channels([2, 0])
    assert part.channel_names == ("c", "a")
    assert_array_equal(part[2], listed[2][[2, 0]])
    assert series[[1, 2], ...] == series[[1, 2]]
    assert series[[1, 2], np.array([1])].shape == (2, 1, 6)


def test_padding_is_nan_and_only_padding(series):
    padded = np.asarray(series)
    assert padded.shape == series.shape
    assert_array_equal(np.isnan(padded[:, 0]), np.arange(6) >= series.lengths[:, np.newaxis])


def test_nothing_can_be_written_and_copies_are_equal(series):
    for twin in (series, series[:2]):
        with pytest.raises(ValueError, match="read-only"):
            twin[0][0, 0] = 1.0
        with pytest.raises(AttributeError):
            twin.values = None
    assert copy.deepcopy(series) == pickle.loads(pickle.dumps(series)) == series


def test_sets_compare_by_content(series, listed):
    assert series == SeriesSet.from_list(listed, ["a", "b", "c"])
    assert series != SeriesSet.from_list(listed)
    assert series != series[[1, 0, 2, 3]]
    assert series != 3


def test_scikit_learn_splits_it(series):
    indexable(series, [0, 1, 0, 1])
    train, test, _, _ = train_test_split(series, [0, 1, 0, 1], random_state=0)
    assert isinstance(train, SeriesSet)
    assert len(train) + len(test) == 4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SeriesSet.from_list([]), "is empty"),
        (lambda: SeriesSet.from_list([[[1.0]], [[1.0], [2.0]]]), "Series 1 has shape"),
        (lambda: SeriesSet.from_list([[1.0, 2.0]]), "reshape"),
        (lambda: SeriesSet.from_list([[["a"]]]), "expected real numbers"),
        (lambda: SeriesSet.from_list([[[1.0]]], ["a", "b"]), "2 channel names for 1"),
        (lambda: SeriesSet(np.zeros((1, 3)), [0, 2]), "ascending order from 0 to n_steps"),
        (lambda: SeriesSet(np.zeros((1, 3)), [0, 2, 1, 3]), "ascending"),
        (lambda: SeriesSet(np.zeros(3), [0, 3]), "from_list"),
    ],
)
def test_bad_parts_of_a_set_are_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("key", [4, -5, [4], [[0, 1]], (0, 0, 0), [True, False]])
def test_an_index_outside_is_an_index_error(series, key):
    with pytest.raises(IndexError):
        series[key]


def test_it_tells_its_size(series):
    assert repr(series) == "SeriesSet(4 series of 3 channels, length 1 to 6, float64)"


# read_series


@pytest.fixture
def arrays(rng):
    """Four series of three channels, one value missing."""
    arrays = [rng.standard_normal((3, length)) for length in LENGTHS]
    arrays[1][2, 3] = np.nan
    return arrays


@pytest.fixture
def padded(arrays):
    padded = np.full((4, 3, 9), np.nan)
    for index, array in enumerate(arrays):
        padded[index, :, : array.shape[1]] = array
    return padded


@pytest.fixture
def expected(arrays):
    return SeriesSet.from_list(arrays)


def as_objects(arrays):
    result = np.empty(len(arrays), dtype=object)
    result[:] = arrays
    return result


def as_levels(arrays, names=("a", "b", "c"), times=None):
    """A frame with the levels series and time, as sktime has it."""
    pieces = []
    for index, array in enumerate(arrays):
        frame = pd.DataFrame(array.T, columns=list(names))
        frame.index = pd.MultiIndex.from_product(
            [[f"s{index}"], range(array.shape[1]) if times is None else times[: array.shape[1]]],
            names=["series", "time"],
        )
        pieces.append(frame)
    return pd.concat(pieces)


def named(series, names=("a", "b", "c")):
    return SeriesSet(series.values, series.starts, tuple(names))


# read_series: what is read


@pytest.mark.parametrize(
    "form",
    [
        lambda arrays: arrays,
        tuple,
        as_objects,
        lambda arrays: [array.tolist() for array in arrays],
        lambda arrays: [np.asfortranarray(array) for array in arrays],
        lambda arrays: [np.hstack([array, np.full((3, 2), np.nan)]) for array in arrays],
        lambda arrays: [array.astype(object) for array in arrays],
    ],
)
def test_lists_are_read(form, arrays, expected):
    assert read_series(form(arrays)) == expected


def test_padded_arrays_are_read(padded, expected):
    assert read_series(padded) == expected
    assert read_series(padded.astype(object)) == expected
    assert read_series(np.ma.masked_invalid(padded)) == expected
    masked = np.ma.masked_equal([[[1, 2, -9, 4]]], -9)
    np.testing.assert_array_equal(read_series(masked)[0], [[1, 2, np.nan, 4]])


@pytest.mark.parametrize(
    "form",
    [
        as_levels,
        lambda arrays: as_levels(arrays).convert_dtypes(),
        lambda arrays: as_levels(arrays).astype(object),
    ],
)
def test_frames_are_read(form, arrays, expected):
    assert read_series(form(arrays)) == named(expected)


def test_the_rows_of_a_frame_may_be_in_any_order(arrays, expected, rng):
    times = pd.date_range("2024-01-01", periods=9, freq="h")
    frame = as_levels(arrays, times=times)
    shuffled = frame.iloc[rng.permutation(len(frame))]
    found = read_series(shuffled)
    order = [f"s{i}" for i in range(4)]
    first = list(dict.fromkeys(shuffled.index.get_level_values(0)))
    assert found[[first.index(name) for name in order]] == named(expected)


def test_a_set_passes_through(expected):
    assert read_series(expected) is expected


def test_whole_numbers_become_floats_and_single_precision_stays(padded):
    for kind in (np.int8, bool):
        assert read_series(np.ones((2, 1, 3), dtype=kind)).dtype == np.float64
    for given_form in (padded.astype(np.float32), list(padded.astype(np.float32))):
        series = read_series(given_form)
        assert series.dtype == resample(series, 7).dtype == np.float32


@pytest.mark.parametrize("form", [lambda x: x, list, lambda x: as_levels(list(x))])
def test_the_data_of_the_caller_is_not_touched(rng, form):
    X = rng.standard_normal((3, 3, 5))
    before = X.copy()
    series = read_series(form(X))
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable
    X[:] = 0
    np.testing.assert_array_equal(series.to_padded(), before)


def test_pandas_is_not_imported_for_arrays():
    code = (
        "import sys, numpy as np; from imkpl.series import read_series; "
        "read_series(np.ones((2, 1, 3))); read_series([np.ones((1, 3))]); "
        "sys.exit(any(name in sys.modules for name in ('pandas', 'sklearn', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# read_series: what is refused


def nan(*shape):
    return np.full(shape, np.nan)


ONES = np.ones((3, 5))


def spoil(value):
    X = np.ones((2, 3, 5))
    X[1, 2, 4] = value
    return X


def unseen_channel():
    X = np.ones((2, 3, 5))
    X[1, 0] = np.nan
    return X


def ends_along_the_second_axis():
    X = np.ones((4, 20, 3))
    X[1, 15:] = np.nan
    return X


REFUSED = {
    "two axes": (np.ones((4, 5)), r"shape \(4, 5\).*Use X\[:, None, :\]"),
    "one axis": (np.ones(4), r"X has shape \(4,\)"),
    "four axes": (np.ones((1, 2, 3, 4)), r"X has shape \(1, 2, 3, 4\)"),
    "a list of numbers": ([1.0, 2.0], r"Series 0 is of type float and has shape \(\)"),
    "a list of one-dimensional series": ([np.ones(4), np.ones(5)], r"Series 0 .* shape \(4,\)"),
    "a deep list": ([np.ones((1, 2, 3))], r"Series 0 .* shape \(1, 2, 3\)"),
    "a list of frames": ([pd.DataFrame(ONES)], r"Series 0 is of type DataFrame .*to_numpy\(\)\.T"),
    "no series": ([], "expected at least one"),
    "no series in an array": (np.ones((0, 3, 5)), "no series"),
    "no series in a frame": (pd.DataFrame({"a": []}), "at least one row and column"),
    "no channels": (np.ones((2, 0, 5)), "no channels"),
    "no channels in a list": ([np.ones((0, 5))], "no channels"),
    "no steps": (np.ones((2, 3, 0)), "Series 0 is empty"),
    "an empty series": ([ONES, np.ones((3, 0))], "Series 1 is empty"),
    "a series of nan": ([ONES, nan(3, 2)], "Series 1 is empty or NaN throughout"),
    "a series of nan in an array": (np.stack([ONES, nan(3, 5)]), "Series 1 is empty or NaN"),
    "an unseen channel": (unseen_channel(), "Channel 0 of series 1 is NaN throughout"),
    "an unseen channel in a frame": (
        as_levels([ONES, np.vstack([ONES[:2], nan(1, 5)])]),
        "Channel 'c' of series 1 is NaN throughout",
    ),
    "infinity": (spoil(np.inf), "Channel 2 of series 1 has the value inf at step 4"),
    "minus infinity": (spoil(-np.inf), "the value -inf"),
    "ragged channels": ([ONES, [[1.0, 2.0], [3.0]]], "Series 1 .* channels of several lengths"),
    "unequal channels": ([ONES, np.ones((2, 4))], "the 3 channels of the first series"),
    "time first in an array": (ends_along_the_second_axis(), r"Channel 15 of .*transpose"),
    "text": (np.full((2, 1, 3), "x"), "X holds values that are not real numbers"),
    "text in a list": ([[["1", "2"]]], "Series 0 holds values that are not real numbers"),
    "text among objects": (np.full((2, 1, 3), "1", dtype=object), "not real numbers"),
    "complex numbers": (np.ones((2, 1, 3), dtype=complex), "not real numbers"),
    "numbers too large for floats": ([[[10**400, 1]]], "not real numbers"),
    "things": ([[[object(), object()]]], "not real numbers"),
    "text in a column": (as_levels([ONES]).astype({"b": str}), "Column 'b' holds values"),
    "a flat frame": (pd.DataFrame(ONES), "expected the two levels series and time"),
    "three levels": (pd.concat({"more": as_levels([ONES])}), "index of 3 levels"),
    "a time twice": (pd.concat([as_levels([ONES])] * 2), "two rows for series 's0' at time 0"),
    "an empty set": (SeriesSet(np.ones((1, 0)), [0]), "X has no series"),
    "a set with an empty series": (SeriesSet(np.ones((1, 2)), [0, 2, 2]), "Series 1 is empty"),
    "a set with infinity": (SeriesSet(spoil(np.inf)[1], [0, 5]), "the value inf at step 4"),
    "a row without a series": (
        as_levels([ONES]).set_index(pd.MultiIndex.from_tuples([(None, i) for i in range(5)])),
        "missing value in its index",
    ),
    "squares that overflow": (
        [np.array([[1.0, 1.1e150]]), np.array([[1.0]])],
        r"has the value 1\.1e\+150 at step 1, expected .* 1e\+150",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_series_is_refused(case):
    X, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence) as caught:
        read_series(X)
    # What was wrong, what was expected, and how to mend it.
    assert "expected" in str(caught.value)
    assert str(caught.value).count(". ") + str(caught.value).endswith(".") >= 2


@pytest.mark.parametrize("X", [3, None, {"a": 1}, "series.ts"])
def test_other_things_are_refused(X):
    with pytest.raises(TypeError, match=r"X is of type .*, expected an array"):
        read_series(X)


# resample and difference


def some_series(rng, *, missing=0.0, dtype=float):
    arrays = [rng.standard_normal((3, length)) for length in (1, 2, 5, 17, 40)]
    for array in arrays:
        array[rng.random(array.shape) < missing] = np.nan
    return SeriesSet.from_list([array.astype(dtype) for array in arrays], ["a", "b", "c"])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("length", [1, 2, 3, 17, 50])
def test_resample_interpolates_every_series_on_its_own(rng, length, missing):
    series = some_series(rng, missing=missing)
    result = resample(series, length)
    assert result.lengths.tolist() == [length] * len(series)
    assert result.channel_names == series.channel_names
    for index in range(len(series)):
        expected = resample_one(series[index], length)
        np.testing.assert_allclose(result[index], expected, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_difference_is_taken_within_every_series(rng, missing):
    series = some_series(rng, missing=missing)
    result = difference(series)
    assert result.lengths.tolist() == [1, 1, 4, 16, 39]
    assert result.channel_names == series.channel_names
    for index in range(len(series)):
        np.testing.assert_array_equal(result[index], difference_one(series[index]))


def test_other_forms_are_read(rng):
    series = some_series(rng)
    bare = SeriesSet(series.values, series.starts)
    assert resample(series.to_padded(), 6) == resample(bare, 6)


def test_a_channel_never_observed_stays_missing():
    series = SeriesSet.from_list([[[np.nan, np.nan], [1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
    result = resample(series, 3)
    assert np.isnan(result[0][0]).all()
    assert not np.isnan(result[0][1]).any()
    assert not np.isnan(result[1]).any()


def test_empty_series_have_no_differences():
    series = SeriesSet(np.array([[1.0, 5.0, 2.0]]), np.array([0, 0, 2, 2, 3, 3]))
    result = difference(series)
    assert result.lengths.tolist() == [0, 1, 0, 1, 0]
    np.testing.assert_array_equal(result.values, [[4, 0]])


@pytest.mark.parametrize("length", [0, -3, 2.5, True, "long"])
def test_a_length_that_is_none_is_refused(rng, length):
    with pytest.raises(ValueError, match="expected a whole number of at least one step"):
        resample(some_series(rng), length)
    with pytest.raises(ValueError, match="Series 1 has no time steps"):
        resample(SeriesSet(np.array([[1.0, 5.0]]), np.array([0, 2, 2])), 3)


def test_a_frame_of_steps_becomes_series():
    log = pd.DataFrame({"t": [1, 0, 0, 2, 1], "trial": list("abaab"), "x": [1.0, 5, 0, 2, 6]})
    log["y"] = -log["x"]
    expected = [[[0.0, 1, 2], [0, -1, -2]], [[5.0, 6], [-5, -6]]]
    found = read_series(log, series="trial", time="t")
    assert found == SeriesSet.from_list(expected, ["x", "y"])
    assert read_series(pl.from_pandas(log), series="trial", time="t") == found
    in_order = read_series(log.drop(columns="t"), series="trial")
    assert in_order[0][0].tolist() == [1.0, 0.0, 2.0]
    with pytest.raises(ValueError, match="X has no column 'when', expected a frame with a row per"):
        read_series(log, series="trial", time="when")


def test_channels_of_arrays_get_names(rng):
    found = read_series(rng.standard_normal((3, 2, 9)), channel_names=["x", "y"])
    assert found.channel_names == ("x", "y")
    with pytest.raises(ValueError, match="3 channel names for 2 channels"):
        read_series(found, channel_names=list("xyz"))


def test_time_on_the_second_axis_is_suspected(rng):
    walks = rng.standard_normal((5, 60, 3)).cumsum(axis=1)
    for wrong in (walks, walks[:, :, :1]):
        with pytest.warns(UserWarning, match=r"60 channels of \d steps each.*transpose\(0, 2, 1\)"):
            read_series(wrong)
        # Right, and many channels of few steps that are not smooth along the channels.
        read_series(wrong.transpose(0, 2, 1))
    read_series(rng.standard_normal((5, 60, 3)).cumsum(axis=2))
