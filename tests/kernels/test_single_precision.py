"""Sums of kernels in single precision: the same values to 1e-6, under the same laws."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import KernelStack, Normalized, PerFeatureGaussian, VarianceNormalized
from imkpl.kernels._gaussian_loops import _exp_minus_all


def make_data(n=150, m=70, f=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, f)), rng.standard_normal((m, f)), rng.random(f)


def test_exponential_is_accurate():
    t = np.concatenate([np.linspace(0, 60, 100_001), np.logspace(-30, 1, 1001)]).astype(np.float32)
    assert_allclose(_exp_minus_all(t), np.exp(-t.astype(float)), rtol=3e-7)
    far = np.array([90.0, 1e10, 3e38], dtype=np.float32)
    assert_allclose(_exp_minus_all(far), 0.0, atol=1e-26)
    assert _exp_minus_all(far).min() * 1e-10 > np.finfo(np.float32).tiny
    assert _exp_minus_all(np.zeros(1, dtype=np.float32))[0] == 1.0


@pytest.mark.parametrize("change", [lambda X: X, lambda X: X**5, lambda X: 1e3 + 1e-2 * X, np.sign])
def test_sums_equal_those_in_double_precision(change):
    X, Y, weights = make_data()
    X, Y = change(X), change(Y)
    bank = PerFeatureGaussian().adapt(X)
    single = bank.in_single_precision()
    for right in (None, Y):
        expected, found = bank.combine(weights, X, right), single.combine(weights, X, right)
        assert found.dtype == np.float32
        assert_allclose(found, expected, atol=1e-6 * weights.sum())


def test_constant_features_add_their_weight():
    X, Y, weights = make_data()
    X[:, 3] = Y[:, 3] = 7.0
    single = PerFeatureGaussian().adapt(X).in_single_precision()
    only = np.where(np.arange(40) == 3, weights, 0.0)
    assert_array_equal(single.combine(only, X, Y), np.float32(weights[3]))


def test_a_row_does_not_depend_on_the_other_rows():
    X, Y, weights = make_data()
    single = PerFeatureGaussian().adapt(X).in_single_precision()
    together = single.combine(weights, X, Y)
    assert_array_equal(single.combine(weights, X[5:9], Y), together[5:9])


def test_self_part_is_symmetric_and_equals_the_cross_part():
    X, _, weights = make_data()
    single = PerFeatureGaussian().adapt(X).in_single_precision()
    found = single.combine(weights, X)
    assert_array_equal(found, found.T)
    assert_array_equal(found, single.combine(weights, X, X))


@pytest.mark.threads
def test_blocks_and_threads_give_the_same_bits():
    X, Y, weights = make_data()
    single = PerFeatureGaussian().adapt(X).in_single_precision()
    expected = single.combine(weights, X, Y)
    n_threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert_array_equal(single.combine(weights, X, Y), expected)
    finally:
        numba.set_num_threads(n_threads)
    for working_memory in (1e-6, 16 * 220 * 33 / 2**20):
        small = single.within_memory(working_memory)
        assert_array_equal(small.combine(weights, X, Y), expected)


def test_wrappers_pass_it_on():
    X, Y, weights = make_data()
    bank = VarianceNormalized(Normalized(PerFeatureGaussian())).adapt(X)
    found = bank.in_single_precision().combine(weights, X, Y)
    assert found.dtype == np.float32
    assert_allclose(found, bank.combine(weights, X, Y), rtol=1e-5)


def test_other_kernels_stay_as_they_are():
    bank = KernelStack(["rbf"])
    assert bank.in_single_precision() is bank
    assert bank.within_memory(1.0) is bank


def test_a_budget_is_passed_on_and_never_raised():
    bank = VarianceNormalized(Normalized(PerFeatureGaussian(working_memory=10)))
    assert bank.within_memory(3).bank.bank.working_memory == 3
    assert bank.within_memory(30).bank.bank.working_memory == 10


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="must be float64 or float32"):
        PerFeatureGaussian(dtype=np.float16)
