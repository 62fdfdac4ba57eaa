"""Tables of kernels that a fit computes once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_kernels
from imkpl.kernels import GlobalAlignment, PerFeatureGaussian
from imkpl.kernels.forms import Form
from imkpl.kernels.normalize import divide_by_variance
from imkpl.kernels.tabulated import Tabulated, pack, unpack
from imkpl.series import SeriesSet


@pytest.fixture
def series(rng):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    return SeriesSet.from_list(arrays)


def stack_of(kernels):
    return np.stack([kernels.evaluate(i) for i in range(kernels.n_kernels)], axis=-1)


def test_laws(series):
    kernels = GlobalAlignment(scales=(1.0, 0.3)).on(series)
    table = kernels.tabulated()
    check_kernels(table, stack_of(kernels))
    assert_array_equal(stack_of(table), stack_of(kernels))
    assert table.kernel_names() == kernels.kernel_names()
    assert table.most_kernels == kernels.most_kernels


def test_packing_is_undone_by_unpacking(rng):
    for n in (0, 1, 2, 5):
        K = rng.standard_normal((n, n))
        K = K + K.T
        np.fill_diagonal(K, 1.0)
        assert_array_equal(unpack(pack(K), n), K)


def test_cheap_kernels_are_left_as_they_are(two_blobs):
    kernels = PerFeatureGaussian().on(two_blobs[0])
    assert kernels.tabulated() is kernels


def test_wrappers_pass_tables_on(series):
    scaled = divide_by_variance(GlobalAlignment().on(series))
    table = scaled.tabulated()
    assert isinstance(table.kernels, Tabulated)
    assert_allclose(stack_of(table), stack_of(scaled), rtol=1e-14)


def test_tables_hold_no_samples(series):
    table = GlobalAlignment().on(series).tabulated()
    with pytest.raises(ValueError, match="hold no samples, so that others cannot be compared"):
        table.cross(series)
    with pytest.raises(ValueError, match="hold no samples, and read none"):
        table.read(series, Form())
