"""The expected alignment is the gradient of the log kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import GlobalAlignment, expected_alignment
from imkpl.series import SeriesSet
from reference.alignment import log_alignment, log_local


@pytest.fixture
def pair(rng):
    return rng.standard_normal((2, 6)), rng.standard_normal((2, 8))


@pytest.mark.parametrize("triangular", [None, 4])
def test_visits_are_the_gradient_by_finite_differences(pair, triangular):
    x, y = pair
    bank = GlobalAlignment(
        length=None, triangular=triangular, groups={"both": [0, 1]}, bandwidth=2.0
    ).adapt([x, y])
    local = log_local(x, y, 2.0, triangular)
    gradient, step = np.zeros(local.shape), 1e-5
    for cell in np.ndindex(local.shape):
        change = np.zeros(local.shape)
        change[cell] = step
        rise = log_alignment(local + change) - log_alignment(local - change)
        gradient[cell] = rise / (2 * step)
    found = expected_alignment(bank, "both", x, y)
    assert_allclose(found.visits, gradient, atol=1e-8)
    assert_allclose(found.similarity, bank.evaluate(0, [x], [y])[0, 0], rtol=1e-14)


def test_every_step_is_aligned_at_least_once(pair):
    bank = GlobalAlignment(length=None, differences=True).adapt(list(pair))
    for kernel in range(4):
        visits = expected_alignment(bank, kernel, *pair).visits
        assert_allclose(visits[[0, -1], [0, -1]], 1.0, rtol=1e-12)
        assert np.all((visits >= 0) & (visits <= 1 + 1e-12))
        assert visits.sum(axis=0).min() >= 1 - 1e-12
        assert visits.sum(axis=1).min() >= 1 - 1e-12
        # No alignment has more steps than there are cells on the longest way.
        assert visits.sum() <= sum(visits.shape) - 1


def test_two_thousand_unlike_steps_are_safe(rng):
    x, y = rng.standard_normal((1, 2000)), rng.standard_normal((1, 1500)) + 30
    bank = GlobalAlignment(length=None, bandwidth=1.0).adapt([x, y])
    found = expected_alignment(bank, 0, x, y)
    assert np.all(np.isfinite(found.visits))
    assert_allclose(found.visits[-1, -1], 1.0)
    assert found.visits.sum(axis=1).min() > 1 - 1e-9
    assert_allclose(found.x_shares.sum(), 1.0)


def test_agreement_shows_where_series_differ(rng):
    x = np.sin(np.arange(40) / 4)[np.newaxis]
    y = x.copy()
    y[0, 20:25] += 3
    bank = GlobalAlignment().adapt([x, y, rng.standard_normal((1, 40))])
    found = expected_alignment(bank, 0, x, y)
    assert 20 <= np.argmin(found.y_agreement) < 25
    assert_allclose(found.y_shares.sum(), 1.0)
    assert found.x_agreement[:10].min() > found.y_agreement[20:25].max()
    assert np.all((found.x_agreement >= 0) & (found.x_agreement <= 1))


def test_times_are_those_of_the_given_series():
    x = np.array([[0.0, np.nan, 2.0, 4.0]])
    y = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    raw = GlobalAlignment(length=None, differences=True).adapt([x, y])
    assert_array_equal(expected_alignment(raw, 0, x, y).x_times, [0, 2, 3])
    assert_array_equal(expected_alignment(raw, 1, x, y).x_times, [1, 2.5])
    even = GlobalAlignment(length=4).adapt([x, y])
    assert_array_equal(expected_alignment(even, 0, x, y).y_times, [0, 2, 4, 6])
    one = GlobalAlignment(length=1).adapt([x, y])
    assert_array_equal(expected_alignment(one, 0, x, y).y_times, [3])


def test_series_out_of_reach_have_no_alignment():
    x, y = np.zeros((1, 3)), np.ones((1, 9))
    bank = GlobalAlignment(length=None, triangular=2).adapt([x, y])
    found = expected_alignment(bank, 0, x, y)
    assert found.similarity == 0
    assert_array_equal(found.visits, 0.0)
    assert_allclose(found.x_shares, 1 / 3)


def test_bad_input_is_told_what_is_wrong(pair):
    x, y = pair
    bank = GlobalAlignment().adapt([x, y])
    with pytest.raises(ValueError, match="none of the kernels channel 0, channel 1"):
        expected_alignment(bank, "u", x, y)
    with pytest.raises(ValueError, match="kernel indices"):
        expected_alignment(bank, 2, x, y)
    with pytest.raises(ValueError, match="x has shape \\(6,\\)"):
        expected_alignment(bank, 0, x[0], y)
    with pytest.raises(ValueError, match="y has 2 series"):
        expected_alignment(bank, 0, x, SeriesSet.from_list([y, y]))
    with pytest.raises(ValueError, match="Call adapt"):
        expected_alignment(GlobalAlignment(), 0, x, y)
