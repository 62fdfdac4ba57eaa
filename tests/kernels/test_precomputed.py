"""Kernel matrices of a user, and tables of kernels that a fit computes once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import (
    GlobalAlignment,
    PerFeatureGaussian,
    Precomputed,
    VarianceNormalized,
    normalize_stack,
)
from imkpl.kernels.precomputed import PackedKernels, pack, unpack
from imkpl.series import SeriesSet
from reference.kernels import gaussian_stack


def make_stack(n=27, n_kernels=5, dtype=np.float64):
    X = np.random.default_rng(0).standard_normal((n, n_kernels))
    stack = gaussian_stack(X, X, range(n_kernels), np.ones(n_kernels)).astype(dtype)
    stack.flags.writeable = False
    return stack


def dense_twin(X, Y):
    stack = np.asarray(X, dtype=np.float64)
    stack = stack[:, :, np.newaxis] if stack.ndim == 2 else stack
    return stack if Y is None else stack[:, Y]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laws(dtype):
    stack = make_stack(dtype=dtype)
    check_bank(Precomputed().adapt(stack), stack, np.array([5, 2, 9, 2]), dense_twin, rtol=1e-7)


def test_laws_on_strided_stack():
    stack = np.moveaxis(np.ascontiguousarray(np.moveaxis(make_stack(), -1, 0)), 0, -1)
    check_bank(Precomputed().adapt(stack), stack, np.array([1, 0]), dense_twin)


def test_matrix_counts_as_one_kernel():
    matrix = make_stack()[:, :, 0]
    check_bank(Precomputed().adapt(matrix), matrix, np.array([1, 0]), dense_twin)


def test_split_of_scikit_learn_gives_the_test_part():
    stack = make_stack()
    train, test = np.arange(20), np.arange(20, 27)
    bank = Precomputed().adapt(stack[np.ix_(train, train)])
    weights = np.arange(5.0)
    expected = (stack @ weights)[np.ix_(test, train)]
    assert_allclose(bank.combine(weights, stack[np.ix_(test, train)]), expected)
    columns = bank._take(stack, [3, 1])
    assert_allclose(bank.combine(weights, stack[np.ix_(test, train)], columns), expected[:, [3, 1]])


def test_normalize_stack_gives_cosines():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((3, 9, 4))
    stack = np.stack([F @ F.T for F in factors], axis=-1)
    cosines = normalize_stack(stack)
    for layer, F in enumerate(factors):
        unit = F / np.linalg.norm(F, axis=1, keepdims=True)
        assert_allclose(cosines[:, :, layer], unit @ unit.T, atol=1e-14)
    assert_array_equal(np.einsum("iil->il", cosines), 1.0)
    assert Precomputed().adapt(cosines).n_kernels == 3
    assert normalize_stack(stack.astype(np.float32)).dtype == np.float32
    assert normalize_stack(stack[:, :, 0]).shape == (9, 9)


def changed(index, value):
    stack = make_stack().copy()
    stack[index] = value
    return stack


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Precomputed().n_kernels, "Call adapt"),
        (lambda: Precomputed().adapt(np.ones((5, 27, 27))), "numpy.moveaxis"),
        (lambda: Precomputed().adapt(np.ones(3)), "numpy.stack"),
        (lambda: Precomputed().adapt(changed((3, 4, 2), np.nan)), "kernel 2 contains NaN"),
        (lambda: Precomputed().adapt(changed((9, 4, 1), np.inf)), "kernel 1 contains NaN"),
        (lambda: Precomputed().adapt(changed((3, 4, 2), 0.2)), "kernel 2 is not symmetric"),
        (
            lambda: Precomputed().adapt(changed((3, 3, 4), 2.0)),
            "kernel 4 does not.*normalize_stack",
        ),
        (lambda: normalize_stack(changed((3, 3, 4), 0.0)), "Kernel 4 has diagonal entries"),
        (lambda: Precomputed(np.array([4])).combine([1.0], np.ones((2, 2))), "kernel 4 is used"),
    ],
)
def test_bad_input_is_explained(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.fixture
def series(rng):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    return SeriesSet.from_list(arrays)


def stack_of(bank, X):
    return np.stack([bank.evaluate(i, X) for i in range(bank.n_kernels)], axis=-1)


def test_laws_of_tables(series):
    bank = GlobalAlignment(scales=(1.0, 0.3)).adapt(series)
    table, packed = bank._tabulate(series)
    whole = stack_of(bank, series)
    some = np.array([3, 0, 3, 6])
    assert table.kernel_names() == bank.kernel_names()
    check_bank(
        table, packed, some, lambda X, Y: stack_of(table, X) if Y is None else whole[:, some]
    )
    assert_array_equal(stack_of(table, packed), whole)


def test_a_table_in_single_precision_is_half_as_large(series):
    bank = GlobalAlignment(table_dtype="float32").adapt(series)
    table, packed = bank._tabulate(series)
    assert packed.values.dtype == np.float32
    assert_allclose(stack_of(table, packed), stack_of(bank, series), atol=1e-7)


def test_a_subset_may_list_a_sample_twice(series):
    bank = GlobalAlignment().adapt(series)
    table, packed = bank._tabulate(series)
    chosen = [4, 1, 4, 0]
    found = table.evaluate(0, table._subset(packed, chosen))
    assert_array_equal(found, bank.evaluate(0, series)[np.ix_(chosen, chosen)])


def test_packing_is_undone_by_unpacking(rng):
    for n in (0, 1, 2, 5):
        K = rng.standard_normal((n, n))
        K = K + K.T
        np.fill_diagonal(K, 1.0)
        assert_array_equal(unpack(pack(K), n), K)


def test_cheap_banks_are_left_as_they_are(two_blobs):
    X, _ = two_blobs
    bank = PerFeatureGaussian().adapt(X)
    assert bank._tabulate(X) == (bank, X)


def test_wrappers_pass_tables_on(series):
    bank = GlobalAlignment().adapt(series)
    wrapper = VarianceNormalized(bank)._measure(series)
    table, packed = wrapper._tabulate(series)
    assert isinstance(packed, PackedKernels)
    assert_allclose(stack_of(table, packed), stack_of(wrapper, series), rtol=1e-14)
