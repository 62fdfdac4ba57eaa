"""Kernel matrices of a user, and tables of kernels that a fit computes once."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank, check_kernels
from imkpl.kernels import GlobalAlignment, Precomputed
from imkpl.kernels.custom import StackKernels
from imkpl.kernels.forms import Form
from imkpl.kernels.normalize import Tabulated, divide_by_variance
from imkpl.series import SeriesSet
from reference.kernels import gaussian_stack


def make_stack(n=27, n_kernels=5, dtype=np.float64):
    X = np.random.default_rng(0).standard_normal((n, n_kernels))
    stack = gaussian_stack(X, X, range(n_kernels), np.ones(n_kernels)).astype(dtype)
    stack.flags.writeable = False
    return stack


def make_new(n=27, n_kernels=5, n_new=6, dtype=np.float64):
    """Similarities of new samples to all training samples."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, n_kernels)), rng.standard_normal((n_new, n_kernels))
    return gaussian_stack(Y, X, range(n_kernels), np.ones(n_kernels)).astype(dtype)


def dense_twin(X, Y):
    stack = np.asarray(X, dtype=np.float64)
    return stack[:, :, np.newaxis] if stack.ndim == 2 else stack


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laws(dtype):
    stack, new = make_stack(dtype=dtype), make_new(dtype=dtype)
    check_bank(Precomputed(), stack, new, dense_twin, rtol=1e-7)


def test_laws_on_strided_stack():
    stack = np.moveaxis(np.ascontiguousarray(np.moveaxis(make_stack(), -1, 0)), 0, -1)
    check_bank(Precomputed(), stack, make_new(), dense_twin)


def test_the_stack_is_neither_copied_nor_kept():
    stack = make_stack()
    kernels = Precomputed().on(stack).take([4, 9, 2])
    assert kernels.samples is not None
    assert np.shares_memory(kernels.samples, stack)
    kept = kernels.narrowed()
    assert len(pickle.dumps(kept)) < 2000
    new = make_new()
    assert_array_equal(kept.cross(new).evaluate(1), new[:, [4, 9, 2], 1])
    with pytest.raises(ValueError, match="were not kept"):
        kept.evaluate(0)


def test_the_number_of_kernels_is_part_of_the_form():
    samples, form = StackKernels.read(make_stack(), Form())
    assert (form.n_features, form.n_stacked) == (27, 5)
    assert samples.shape == (27, 27, 5)
    with pytest.raises(ValueError, match=r"shape \(6, 27, 4\), expected \(n_samples, 27, 5\)"):
        StackKernels.read(make_new()[:, :, :4], form)
    with pytest.raises(ValueError, match=r"training similarities have shape \(6, 27, 5\)"):
        StackKernels.read(make_new(), Form())


def changed(index, value):
    stack = make_stack().copy()
    stack[index] = value
    return stack


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Precomputed().on(np.ones((5, 27, 27))), "numpy.moveaxis"),
        (lambda: Precomputed().on(np.ones(3)), "numpy.stack"),
        (lambda: Precomputed().on(changed((3, 4, 2), np.nan)), "kernel 2 contains NaN"),
        (lambda: Precomputed().on(changed((9, 4, 1), np.inf)), "kernel 1 contains NaN"),
        (lambda: Precomputed().on(changed((3, 4, 2), 0.2)), "kernel 2 is not symmetric"),
        (
            lambda: Precomputed().on(changed((3, 3, 4), 2.0)),
            "kernel 4 does not have ones.*Divide it by the norms",
        ),
    ],
)
def test_bad_input_is_explained(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.fixture
def series(rng):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    return SeriesSet.from_list(arrays)


def stack_of(kernels):
    return np.stack([kernels.evaluate(i) for i in range(kernels.n_kernels)], axis=-1)


def test_laws_of_tables(series):
    kernels = GlobalAlignment(scales=(1.0, 0.3)).on(series)
    table = kernels.tabulated()
    check_kernels(table, stack_of(kernels))
    assert_array_equal(stack_of(table), stack_of(kernels))
    assert table.kernel_names() == kernels.kernel_names()
    assert table.most_kernels == kernels.most_kernels


def test_wrappers_pass_tables_on(series):
    scaled = divide_by_variance(GlobalAlignment().on(series))
    table = scaled.tabulated()
    assert isinstance(table.kernels, Tabulated)
    assert_allclose(stack_of(table), stack_of(scaled), rtol=1e-14)


def test_tables_hold_no_samples(series):
    table = GlobalAlignment().on(series).tabulated()
    with pytest.raises(ValueError, match="A table holds no samples"):
        table.cross(series)
    with pytest.raises(ValueError, match="A table holds no samples"):
        table.read(series, Form())
