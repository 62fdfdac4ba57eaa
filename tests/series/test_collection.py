"""Series of unequal length behave as an array of series."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import train_test_split
from sklearn.utils import indexable

from imkpl.kernels.base import count_samples, take_samples
from imkpl.series import SeriesSet


@pytest.fixture
def arrays(rng):
    return [rng.standard_normal((3, length)) for length in (4, 1, 6, 2)]


@pytest.fixture
def series(arrays):
    return SeriesSet.from_list(arrays, channel_names=["a", "b", "c"])


def test_series_come_back_as_they_were_given(series, arrays):
    assert len(series) == 4
    assert series.shape == (4, 3, 6)
    assert_array_equal(series.lengths, [4, 1, 6, 2])
    for index, array in enumerate(arrays):
        assert_array_equal(series[index], array)
        assert_array_equal(series[index - 4], array)


@pytest.mark.parametrize(
    "key", [[2, 0, 2], slice(1, None, 2), slice(None), [], [True, False, False, True], [-1]]
)
def test_a_set_is_indexed_as_a_list_is(series, arrays, key):
    # An empty list is an array of float, which numpy would refuse as an index.
    expected = np.arange(4)[key if isinstance(key, slice) or key else slice(0)]
    part = series[key]
    assert len(part) == expected.size
    for found, index in zip(part, expected, strict=True):
        assert_array_equal(found, arrays[index])
    assert part.channel_names == series.channel_names


def test_channels_are_the_second_axis(series, arrays):
    part = series[:, [2, 0]]
    assert part == series.channels([2, 0])
    assert part.channel_names == ("c", "a")
    assert_array_equal(part[2], arrays[2][[2, 0]])
    assert series[[1, 2], ...] == series[[1, 2]]
    assert series[[1, 2], np.array([1])].shape == (2, 1, 6)


def test_padding_is_nan_and_only_padding(series):
    padded = np.asarray(series)
    assert padded.shape == series.shape
    assert_array_equal(np.isnan(padded[:, 0]), np.arange(6) >= series.lengths[:, np.newaxis])


def test_single_precision_stays_and_integers_become_double():
    assert SeriesSet.from_list([np.zeros((1, 2), np.float32)]).dtype == np.float32
    assert SeriesSet.from_list([[[1, 2]]]).dtype == np.float64


def test_nothing_can_be_written_not_even_after_a_copy(series):
    for twin in (series, copy.deepcopy(series), pickle.loads(pickle.dumps(series)), series[:2]):
        with pytest.raises(ValueError, match="read-only"):
            twin[0][0, 0] = 1.0
        with pytest.raises(AttributeError):
            twin.values = None
    assert copy.deepcopy(series) == series


def test_sets_compare_by_content(series, arrays):
    assert series == SeriesSet.from_list(arrays, ["a", "b", "c"])
    assert series != SeriesSet.from_list(arrays)
    assert series != series[[1, 0, 2, 3]]
    assert series != 3


def test_the_rest_of_the_library_counts_and_takes_series(series):
    assert count_samples(series) == 4
    assert take_samples(series, np.array([3, 1])) == series[[3, 1]]


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
        (lambda: SeriesSet(np.zeros((1, 3)), [0, 2]), "run from 0 to the 3"),
        (lambda: SeriesSet(np.zeros((1, 3)), [0, 2, 1, 3]), "ascending"),
        (lambda: SeriesSet(np.zeros(3), [0, 3]), "from_list"),
    ],
)
def test_bad_input_is_told_what_is_wrong(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("key", [4, -5, [4], [[0, 1]], (0, 0, 0), [True, False]])
def test_an_index_outside_is_an_index_error(series, key):
    with pytest.raises(IndexError):
        series[key]


def test_it_tells_its_size(series):
    assert repr(series) == "SeriesSet(4 series of 3 channels, length 1 to 6, float64)"
