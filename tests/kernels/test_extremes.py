"""Kernels at the ends of the range of floating-point numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import Gaussian, KernelStack, NamedKernel, Normalized, PerFeatureGaussian
from imkpl.kernels.per_feature import invert_roots, root_mean_squared_difference
from imkpl.kernels.extremes import tame

LARGEST = np.finfo(np.float64).max
rows, columns = np.array([0, 1, 2]), np.array([1, 2, 3])


def sums(bank, X):
    """Every sum of kernels that a bank computes, kernel by kernel."""
    n, m = len(X), bank.n_kernels
    M = np.arange(1.0, n * n + 1).reshape(n, n)
    return [
        np.stack([bank.evaluate(kernel, X) for kernel in range(m)]),
        np.stack([bank.evaluate(kernel, X, X[1:]) for kernel in range(m)]),
        bank.contract(M, X),
        bank.contract(M[:, 1:], X, X[1:]),
        bank.pairs(X, rows, columns),
        bank.contract_pairs([1.0, 2.0, 3.0], X, rows, columns),
        bank.contract_rows(np.eye(n) + np.eye(n, k=1), np.ones(n), X),
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [2.0**1019, 2.0**-1015])
def test_features_at_the_ends_of_the_range_have_the_kernels_of_plain_ones(factor, dtype, rng):
    X = rng.standard_normal((4, 2)).clip(-4, 4)
    plain = PerFeatureGaussian(dtype=dtype).adapt(X)
    scaled = PerFeatureGaussian(dtype=dtype).adapt(X * factor)
    for found, expected in zip(sums(scaled, X * factor), sums(plain, X), strict=True):
        assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_huge_constant_feature_has_the_constant_kernel(dtype):
    X = np.array([[LARGEST, 0.0], [LARGEST, 1.0], [LARGEST, 2.0], [LARGEST, 5.0]])
    bank = PerFeatureGaussian(dtype=dtype).adapt(X)
    # A new value is not penalised, not even one so far away that the difference is infinite.
    assert_array_equal(bank.evaluate(0, X, -X), np.ones((4, 4)))
    for found in sums(bank.select([0]), X):
        assert np.isfinite(found).all()


def test_a_new_sample_beyond_all_others_is_like_none():
    bank = PerFeatureGaussian().adapt([[0.0], [1.0]])
    assert_allclose(bank.evaluate(0, [[LARGEST], [-LARGEST]], [[0.0], [1.0]]), 0.0, atol=1e-200)


def test_the_spread_of_the_largest_numbers_is_a_number():
    X = np.array([[-LARGEST], [LARGEST], [0.0], [LARGEST]])
    (root,) = root_mean_squared_difference(X)
    assert root == LARGEST
    (quarter,) = root_mean_squared_difference(X / 8)
    assert_allclose(quarter, 8 * root_mean_squared_difference(X / 64)[0], rtol=1e-15)


def test_a_feature_without_a_normal_spread_is_constant():
    """The inverse of most denormal numbers is infinite."""
    assert_array_equal(invert_roots(np.array([5e-324, 2e-308, 2.3e-308])) > 0, [False, False, True])
    X = np.array([[0.0], [5e-324], [1e-323], [0.0]])
    assert_array_equal(PerFeatureGaussian().adapt(X).evaluate(0, X), np.ones((4, 4)))


def test_plain_features_are_not_copied(rng):
    values, rates = rng.standard_normal((2, 3)), np.array([0.0, 1.0])
    assert tame(values, rates) == (values, rates)


def test_whole_vectors_that_overflow_are_refused():
    X = np.array([[0.0], [1e200]])
    with pytest.raises(ValueError, match=r"spread by up to 7\.07e\+199.* Divide the features"):
        Gaussian().adapt(X)
    with pytest.raises(ValueError, match=r"X holds numbers of up to 1e\+200, expected less than"):
        Gaussian(1.0)(X)
    with pytest.raises(ValueError, match=r"Y holds numbers of up to 1e\+200"):
        Gaussian(1.0)(X[:1], X)


def test_an_infinite_bandwidth_is_the_constant_kernel():
    X = np.array([[3.0], [3.0]])
    assert_array_equal(Gaussian().adapt(X)(X, [[LARGEST]]), np.ones((2, 1)))


def test_distances_of_many_bandwidths_are_no_similarity():
    assert Gaussian(1e-300)([[0.0]], [[1e100]])[0, 0] == 0


def test_named_kernels_that_overflow_are_refused_without_warnings():
    with pytest.raises(ValueError, match=r"Kernel 'linear' returned NaN or infinite values"):
        NamedKernel("linear")(np.array([[1e200], [-1e200]]))
    found = NamedKernel("linear")(np.array([[1.3e154], [1.3e154]]))
    assert_allclose(found, 1.69e308)


def test_samples_of_vanishing_norm_are_one_point():
    X = np.array([[1e-160], [2e-160], [1.0]])
    found = Normalized(KernelStack(["linear"])).evaluate(0, X)
    assert_array_equal(found, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
