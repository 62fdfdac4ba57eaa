"""Gaussian kernels on single features: laws, bandwidths, and both precisions."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from contracts.bank import check_bank, check_threads
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels._gaussian_loops import _exp_minus, _exp_minus_single
from imkpl.kernels.forms import Form
from imkpl.kernels.per_feature import (
    FeatureKernels,
    invert_roots,
    root_mean_squared_difference,
)
from reference.kernels import per_feature_stack


def make_data(seed=0, n=41, m=19, f=7):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, f)), rng.standard_normal((m, f))
    X.flags.writeable = Y.flags.writeable = False
    return X, Y


def dense_twin(train, scales=(1.0,)):
    return lambda X, Y: per_feature_stack(X, X if Y is None else Y, train, scales)


@pytest.mark.parametrize("scales", [(1.0,), (0.25, 1.0, 4.0)])
def test_laws(scales):
    # Strided and read-only.
    X, Y = make_data(n=82, f=14)
    X, Y = X[::2, ::-2], Y[:, ::-2]
    check_bank(PerFeatureGaussian(scales=scales), X, Y, dense_twin(X, scales[:1]), rtol=1e-12)


def test_stretched_kernels_are_those_of_other_widths():
    X, Y = make_data()
    kernels = PerFeatureGaussian(scales=(0.5, 2.0)).on(X)
    assert kernels.widths == (1.0, 4.0)
    wide = kernels.select([0, 0, 3]).stretched(np.array([1.0, 4.0, 4.0])).cross(Y)
    dense = per_feature_stack(Y, X, X, (0.5, 2.0))
    for place, expected in enumerate((0, 1, 7)):
        assert_allclose(wide.evaluate(place), dense[..., expected], rtol=1e-12)


def test_laws_with_constant_and_heavy_tailed_features():
    rng = np.random.default_rng(3)
    X = rng.standard_cauchy((300, 5)) ** 3
    X[:, 2] = 0.1
    Y = rng.standard_cauchy((20, 5))
    kernels = check_bank(PerFeatureGaussian(), X, Y, dense_twin(X), rtol=1e-11)
    assert_array_equal(kernels.cross(Y).evaluate(2), 1.0)
    assert kernels.rates[2] == 0


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 40), m=st.integers(1, 40), f=st.integers(1, 9), seed=st.integers(0, 99))
def test_laws_for_any_shape(n, m, f, seed):
    X, Y = make_data(seed, n, m, f)
    bank = PerFeatureGaussian(scales=(0.5, 2.0))
    check_bank(bank, X, Y, dense_twin(X, (0.5,)), rtol=1e-11)


def test_single_precision_is_computed_in_double():
    X, Y = (array.astype(np.float32) for array in make_data())
    kernels = check_bank(PerFeatureGaussian(), X, Y, dense_twin(X), rtol=1e-12)
    same = PerFeatureGaussian().on(X.astype(np.float64))
    assert_array_equal(kernels.combine(np.ones(7)), same.combine(np.ones(7)))


@pytest.mark.threads
def test_any_number_of_threads_gives_the_same_bits():
    X, Y = make_data(n=200, m=150, f=90)
    square = PerFeatureGaussian().on(X)
    cross, rng = square.cross(Y), np.random.default_rng(1)
    weights, M, C = rng.random(90), rng.random((200, 200)), rng.random((150, 200))

    def everything():
        combined = square.combine(weights), cross.combine(weights)
        return *combined, square.contract(M), cross.contract(C)

    check_threads(everything)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_self_part_is_symmetric_and_equals_cross_part_to_the_bit(dtype):
    X, _ = make_data(n=150, f=40)
    kernels, weights = replace(PerFeatureGaussian().on(X), precision=dtype), np.linspace(0, 1, 40)
    found = kernels.combine(weights)
    assert_array_equal(found, found.T)
    assert_array_equal(found, kernels.cross(X).combine(weights))


def exp_minus(t, function=_exp_minus):
    return njit(lambda values: np.array([function(value) for value in values]))(t)


def test_exponential_is_accurate():
    t = np.concatenate([np.linspace(0, 50, 100001), np.logspace(-300, 1, 1001)])
    assert_allclose(exp_minus(t), np.exp(-t), rtol=1e-15)
    far = np.concatenate([np.linspace(50, 800, 10001), [1e10, 1e300]])
    assert_allclose(exp_minus(far), np.exp(-far), rtol=1e-14, atol=1e-260)
    # Small factors leave normal numbers: arithmetic with others is many times slower.
    assert exp_minus(far).min() * 1e-40 > np.finfo(np.float64).tiny
    assert exp_minus(np.zeros(1))[0] == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bandwidth_keeps_its_digits_under_an_offset(dtype):
    x = (np.arange(50) % 7 + (4096 if dtype == np.float32 else 2**40)).astype(dtype)
    exact = [Fraction(float(v)) for v in x]
    expected = float(sum((a - b) ** 2 for a in exact for b in exact) / 2500)
    assert_allclose(root_mean_squared_difference(x[:, None])[0] ** 2, expected, rtol=1e-14)


@pytest.mark.parametrize("unit", [1e-290, 1e-20, 1e20, 1e149])
def test_units_do_not_matter(unit):
    X, Y = make_data()
    weights = np.ones(7)
    expected = PerFeatureGaussian().on(X).cross(Y).combine(weights)
    scaled = PerFeatureGaussian().on(X * unit).cross(Y * unit)
    assert_allclose(scaled.combine(weights), expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X: PerFeatureGaussian(scales=()), "must be a tuple of positive numbers"),
        (lambda X: PerFeatureGaussian(scales=(0.0,)), "must be a tuple of positive numbers"),
        (lambda X: PerFeatureGaussian().on(X * 1e150), r"values up to .*, expected at most 1e"),
        (lambda X: PerFeatureGaussian().on(X[0]), "expected a dense 2-D array"),
        (lambda X: PerFeatureGaussian().on(X, np.zeros(41)), "positive sum"),
    ],
)
def test_bad_settings_and_samples_are_explained(call, sentence):
    X, _ = make_data()
    with pytest.raises(ValueError, match=sentence):
        call(X)


def test_what_is_shown_of_a_sample():
    X, _ = make_data(f=3)
    kernels = PerFeatureGaussian().on(X).select([2, 0])
    assert kernels.cells(4) == [X[4, 2], X[4, 0]]
    assert kernels.values(4, ["a", "b", "c"]) == dict(zip("abc", X[4].tolist(), strict=True))
    assert_array_equal(kernels.ranges(), np.stack([X.min(axis=0), X.max(axis=0)], axis=1)[[0, 2]])
    narrow = kernels.narrowed()
    assert narrow.cells(4) == kernels.cells(4)
    assert_array_equal(narrow.ranges(), kernels.ranges())
    assert narrow.kernel_names(["a", "b", "c"]) == ["c", "a"]


def test_equal_samples_have_equal_keys_and_zero_has_no_sign():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    first, groups = FeatureKernels.find_equal(X, np.arange(4), np.array([0, 0, 0, 1]))
    assert_array_equal(first[groups], [0, 0, 2, 3])
    keys = PerFeatureGaussian().on(X).keys()
    assert keys[0] == keys[1] == keys[3] != keys[2]


def test_samples_are_read_in_the_form_of_the_training_part():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
    samples, form = FeatureKernels.read(frame, Form())
    assert samples.dtype == np.float64
    assert list(form.names) == ["a", "b"]
    for new in (frame, [{"b": 4, "a": 1}, {"a": 2, "b": 5}, {"a": 3, "b": 6}]):
        assert_array_equal(FeatureKernels.read(new, form)[0], samples)
    with pytest.raises(ValueError, match="feature names should match"):
        FeatureKernels.read(frame[["b", "a"]], form)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        FeatureKernels.read(frame[:1], Form())


def test_a_feature_without_a_normal_spread_is_constant():
    """The inverse of most denormal numbers is infinite."""
    assert_array_equal(invert_roots(np.array([5e-324, 2e-308, 2.3e-308])) > 0, [False, False, True])
    X = np.array([[0.0], [5e-324], [1e-323], [0.0]])
    assert_array_equal(PerFeatureGaussian().on(X).evaluate(0), np.ones((4, 4)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_new_sample_beyond_all_others_is_like_none(dtype):
    kernels = replace(PerFeatureGaussian().on([[0.0, 3.0], [1.0, 3.0]]), precision=dtype)
    far = np.full((2, 2), [[np.finfo(np.float64).max], [-np.finfo(np.float64).max]])
    found = [kernels.cross(far).evaluate(kernel) for kernel in range(2)]
    assert_allclose(found[0], 0.0, atol=1e-25)
    assert_array_equal(found[1], 1.0)


def make_wide_data(n=150, m=70, f=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, f)), rng.standard_normal((m, f)), rng.random(f)


def test_exponential_in_single_precision_is_accurate():
    t = np.concatenate([np.linspace(0, 60, 100_001), np.logspace(-30, 1, 1001)]).astype(np.float32)
    assert_allclose(exp_minus(t, _exp_minus_single), np.exp(-t.astype(float)), rtol=3e-7)
    far = np.array([90.0, 1e10, 3e38], dtype=np.float32)
    assert_allclose(exp_minus(far, _exp_minus_single), 0.0, atol=1e-26)
    assert exp_minus(far, _exp_minus_single).min() * 1e-10 > np.finfo(np.float32).tiny
    assert exp_minus(np.zeros(1, dtype=np.float32), _exp_minus_single)[0] == 1.0


def test_a_single_row_does_not_depend_on_the_other_rows():
    X, Y, weights = make_wide_data()
    single = PerFeatureGaussian().on(X).in_single_precision()
    together = single.cross(Y).combine(weights)
    assert_array_equal(single.cross(Y[5:9]).combine(weights), together[5:9])


@pytest.mark.threads
def test_blocks_and_threads_in_single_precision_give_the_same_bits():
    X, Y, weights = make_wide_data()
    single = PerFeatureGaussian().on(X).in_single_precision().cross(Y)
    check_threads(lambda: [single.combine(weights)])
    expected = single.combine(weights)
    for working_memory in (1e-6, 16 * 220 * 33 / 2**20):
        with config_context(working_memory=working_memory):
            assert_array_equal(single.combine(weights), expected)
