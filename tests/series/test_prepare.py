"""One length for all, and differences, against numpy one series at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imkpl.series import SeriesSet, difference, resample
from reference.series import difference_one, resample_one


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


def test_single_precision_stays(rng):
    series = some_series(rng, dtype=np.float32)
    assert resample(series, 7).dtype == np.float32
    assert difference(series).dtype == np.float32


def test_other_forms_are_read(rng):
    series = some_series(rng)
    bare = SeriesSet(series.values, series.starts)
    assert resample(series.to_padded(), 6) == resample(bare, 6)
    assert difference([series[i] for i in range(len(series))]) == difference(bare)


def test_a_channel_never_observed_stays_missing():
    series = SeriesSet.from_list([[[np.nan, np.nan], [1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
    result = resample(series, 3)
    assert np.isnan(result[0][0]).all()
    assert not np.isnan(result[0][1]).any()
    assert not np.isnan(result[1]).any()


def test_values_beyond_the_observed_ones_are_held():
    series = SeriesSet.from_list([[[np.nan, 2.0, np.nan, 6.0, np.nan]]])
    np.testing.assert_array_equal(resample(series, 5)[0], [[2, 2, 4, 6, 6]])


def test_empty_series_have_no_differences():
    series = SeriesSet(np.array([[1.0, 5.0, 2.0]]), np.array([0, 0, 2, 2, 3, 3]))
    result = difference(series)
    assert result.lengths.tolist() == [0, 1, 0, 1, 0]
    np.testing.assert_array_equal(result.values, [[4, 0]])


def test_empty_series_cannot_be_resampled():
    with pytest.raises(ValueError, match="Series 1 has no time steps"):
        resample(SeriesSet(np.array([[1.0, 5.0]]), np.array([0, 2, 2])), 3)


@pytest.mark.parametrize("length", [0, -3, 2.5, True, "long"])
def test_a_length_that_is_none_is_refused(rng, length):
    with pytest.raises(ValueError, match="expected a whole number of at least one step"):
        resample(some_series(rng), length)


sets = st.lists(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), min_size=1, max_size=5
).map(lambda rows: SeriesSet.from_list([[row] for row in rows]))


@settings(deadline=None, max_examples=50)
@given(sets, st.integers(1, 20))
def test_resampled_values_lie_between_the_old_ones_and_ends_stay(series, length):
    result = resample(series, length)
    for index in range(len(series)):
        old, new = series[index][0], result[index][0]
        slack = 1e-9 * (1 + np.abs(old).max())
        assert new.min() >= old.min() - slack
        assert new.max() <= old.max() + slack
        if length > 1:
            np.testing.assert_allclose(new[[0, -1]], old[[0, -1]], atol=slack)


@settings(deadline=None, max_examples=50)
@given(sets)
def test_resampling_to_the_same_length_changes_nothing(series):
    for index in range(len(series)):
        alone = series[[index]]
        assert resample(alone, int(alone.lengths[0])) == alone


@settings(deadline=None, max_examples=50)
@given(sets, st.integers(1, 20))
def test_series_do_not_see_one_another(series, length):
    whole, steps = resample(series, length), difference(series)
    for index in range(len(series)):
        assert resample(series[[index]], length) == whole[[index]]
        assert difference(series[[index]]) == steps[[index]]


@settings(deadline=None, max_examples=50)
@given(sets)
def test_differences_add_up_to_the_whole_way(series):
    result = difference(series)
    for index in range(len(series)):
        way = series[index][0, -1] - series[index][0, 0]
        np.testing.assert_allclose(result[index].sum(), way, atol=1e-6)
