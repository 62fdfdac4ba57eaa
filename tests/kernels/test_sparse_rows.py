"""Sums over sparse rows and listed pairs against the dense contraction, on awkward data."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_threads
from imkpl.kernels import KernelStack, PerFeatureGaussian
from imkpl.kernels import per_feature as module
from imkpl.kernels.base import Kernels, join_mixes
from imkpl.kernels.per_feature import (
    GRID,
    FeatureKernels,
    SparseRows,
    choose_grid,
    merged_pairs,
    place_on_grid,
)

FEATURES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "outlier": lambda rng, n: np.where(np.arange(n) == 0, 1e6, rng.standard_normal(n)),
    "two clusters": lambda rng, n: 1e12 * rng.integers(0, 2, n) + rng.integers(0, 5, n),
    "ties": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda rng, n: np.full(n, 0.1),
    "denormal": lambda rng, n: 5e-324 * rng.integers(0, 100, n),
    "small": lambda rng, n: 1e-290 * rng.standard_normal(n),
    "huge": lambda rng, n: 8e149 * rng.uniform(-1, 1, n),
    "all scales": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.uniform(-30, 30, n),
    "ladder": lambda rng, n: 3.0 * rng.permutation(n),
    "offset": lambda rng, n: 2.0**40 + rng.integers(0, 9, n),
}


def make_features(seed, n, names=tuple(FEATURES)):
    rng = np.random.default_rng(seed)
    X = np.column_stack([FEATURES[name](rng, n) for name in names])
    X.flags.writeable = False
    return X


def make_kernels(X, width=None):
    # No bandwidth can be learned from denormal numbers: they get the constant kernel.
    scaled = X.copy()
    scaled[:, list(FEATURES).index("denormal")] = 0.0
    kernels = replace(PerFeatureGaussian().on(scaled), samples=X)
    return kernels if width is None else replace(kernels, rates=np.full(X.shape[1], width**-0.5))


def make_rows(seed, n, n_rows=12, longest=6):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, n_rows)
    indices = rng.integers(0, n, lengths.sum())
    pointers = np.append(0, np.cumsum(lengths))
    rows = sp.csr_array((rng.standard_normal(indices.size), indices, pointers), shape=(n_rows, n))
    return rows, rng.standard_normal(n_rows)


def make_mixed_rows(seed, n, n_rows=12, n_mixes=4):
    rows, weights = make_rows(seed, n + n_mixes, n_rows)
    mixes, _ = make_rows(seed + 1, n, n_mixes)
    return rows, weights, mixes


def on_pairs(kernels, rows, weights, mixes=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MERGE_WORK", 0.0)
        trace, values, left, right = merged_pairs(SparseRows(rows, weights, mixes), GRID, 1)
    return trace + kernels.contract_pairs(values, left, right)


def on_grid(kernels, rows, weights, mixes=None, grid=GRID):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "merged_pairs", lambda *args: None)
        patch.setattr(module, "GRID", grid)
        return kernels.contract_rows(rows, weights, mixes)


def twin(kernels, rows, weights, mixes=None):
    return Kernels.contract_rows(kernels, rows, weights, mixes)


def error_of(grid):
    return (2 + np.sqrt(8)) * np.exp(-np.pi * grid.n_points / np.sqrt(8))


def size_of(rows, weights, mixes=None):
    whole = join_mixes(rows, mixes)
    return (np.abs(weights) * abs(whole).sum(axis=1) ** 2).sum()


seeds = st.integers(0, 10**6)
widths = st.sampled_from([None, 1e-6, 1.0, 1e9])


@settings(max_examples=25, deadline=None)
@given(seed=seeds, n=st.integers(1, 60), width=widths)
def test_sum_over_merged_pairs_is_exact(seed, n, width):
    X = make_features(seed, n)
    kernels, (rows, weights) = make_kernels(X, width), make_rows(seed, n)
    bound = 1e-13 * size_of(rows, weights) + 1e-300
    expected = twin(kernels, rows, weights)
    assert_allclose(on_pairs(kernels, rows, weights), expected, rtol=0, atol=bound)


@settings(max_examples=25, deadline=None)
@given(
    seed=seeds, n=st.integers(1, 60), width=widths, tolerance=st.sampled_from([1e-3, 1e-6, 1e-10])
)
def test_sum_on_the_grid_is_within_the_tolerance(seed, n, width, tolerance):
    X = make_features(seed, n)
    kernels, (rows, weights) = make_kernels(X, width), make_rows(seed, n)
    grid = choose_grid(tolerance)
    error = error_of(grid)
    bound = (error + 1e-13) * size_of(rows, weights) + 1e-300
    assert error <= tolerance
    expected = twin(kernels, rows, weights)
    found = on_grid(kernels, rows, weights, grid=grid)
    assert_allclose(found, expected, rtol=0, atol=bound)


@settings(max_examples=25, deadline=None)
@given(seed=seeds, n=st.integers(1, 60), width=widths)
def test_mixes_equal_rows_written_out(seed, n, width):
    X = make_features(seed, n)
    kernels, (rows, weights, mixes) = make_kernels(X, width), make_mixed_rows(seed, n)
    bound = 1e-6 * size_of(rows, weights, mixes) + 1e-300
    expected = twin(kernels, rows, weights, mixes)
    for route in (on_pairs, on_grid, FeatureKernels.contract_rows):
        assert_allclose(route(kernels, rows, weights, mixes), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-6, 1e-10, 1e-13])
def test_every_entry_of_the_factored_kernel_is_within_the_bound(tolerance):
    grid = choose_grid(tolerance)
    u = np.concatenate([np.linspace(0, 9, 601), [1e5, 1e5 + 0.3, 1e9]])
    ((starts,), (offsets,), (n_cells,)) = place_on_grid(u[np.newaxis], np.ones(1), grid)
    Z = np.zeros((u.size, n_cells))
    points = np.arange(grid.width)
    windows = grid.scale * np.exp(-2 * (grid.spacing * (offsets[:, np.newaxis] - points)) ** 2)
    np.put_along_axis(Z, starts[:, np.newaxis] + points, windows, axis=1)
    error = np.abs(Z @ Z.T - np.exp(-((u[:, np.newaxis] - u) ** 2))).max()
    assert error <= error_of(grid) + 1e-15 <= tolerance + 1e-15
    # The bound is not idle: a quarter of the points less would break it.
    assert error >= error_of(grid) / 50 or error_of(grid) < 1e-14


def test_short_rows_use_pairs_and_long_rows_the_grid():
    system = [SparseRows(*make_rows(3, 2000, 2000, 3))]
    system += [SparseRows(sp.csr_array(np.full((1, 2000), 0.0005)), np.ones(1))]
    used = [merged_pairs(rows, GRID, 2) for rows in system]
    assert [merged is None for merged in used] == [False, True]


def test_rows_may_be_empty():
    X = make_features(0, 20, ["normal", "binary"])
    kernels = PerFeatureGaussian().on(X)
    nothing = sp.csr_array((3, 20))
    for route in (on_pairs, on_grid, twin, FeatureKernels.contract_rows):
        assert_array_equal(route(kernels, nothing, np.ones(3)), np.zeros(2))
        assert_array_equal(route(kernels, nothing[:0], np.ones(0)), np.zeros(2))
        mixes = sp.csr_array((2, 20))
        rows = sp.csr_array(np.ones((3, 22)) * (np.arange(22) >= 20))
        assert_array_equal(route(kernels, rows, np.ones(3), mixes), np.zeros(2))


def test_feature_that_is_not_finite_gives_nan_and_spoils_no_other():
    X = make_features(0, 30, ["normal", "normal", "normal"])
    kernels, (rows, weights) = PerFeatureGaussian().on(X), make_rows(0, 30)
    broken = X.copy()
    broken[rows.indices[0], 1] = np.nan
    found = on_grid(replace(kernels, samples=broken), rows, weights)
    assert np.isnan(found[1])
    assert_array_equal(found[[0, 2]], on_grid(kernels, rows, weights)[[0, 2]])


@pytest.mark.threads
def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(1)
    X = rng.standard_cauchy((400, 90))
    kernels = PerFeatureGaussian(scales=(1.0, 1e-4)).on(X)
    rows, weights, mixes = make_mixed_rows(4, 400, 900, 20)
    left, right = rng.integers(0, 400, (2, 20000))
    values = rng.standard_normal(20000)

    def everything():
        pairs = kernels.contract_pairs(values, left, right)
        plain = on_grid(kernels, join_mixes(rows, mixes), weights)
        return pairs, plain, on_grid(kernels, rows, weights, mixes)

    check_threads(everything)


@pytest.mark.parametrize("make", [PerFeatureGaussian, lambda: KernelStack(["rbf"])])
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda k: k.contract_rows(np.ones((2, 40)), [1, 1]), "expected 41 columns"),
        (lambda k: k.contract_rows(np.ones(41), [1]), "expected 41 columns"),
        (lambda k: k.contract_rows(np.ones((2, 41)), [1]), "one number per row"),
        (lambda k: k.contract_rows(np.ones((2, 41)), [1, 1], np.ones((3, 41))), "44 columns"),
        (lambda k: k.contract_rows(np.ones((2, 44)), [1, 1], np.ones((3, 4))), "41 columns"),
        (lambda k: k.contract_rows(broken_rows(41), [1.0]), "indices must be"),
        (lambda k: k.contract_rows(broken_rows(-1), [1.0]), "indices must be"),
        (lambda k: k.contract_pairs([1.0, 2.0], [0], [1]), "expected lists of one length"),
        (lambda k: k.contract_pairs([1.0], [0], [1, 2]), "expected lists of one length"),
    ],
)
def test_bad_input_is_explained(make, call, sentence):
    X = np.random.default_rng(0).standard_normal((41, 2))
    with pytest.raises(ValueError, match=sentence):
        call(make().on(X))


def broken_rows(column):
    rows = sp.csr_array(([1.0], [0], [0, 1]), shape=(1, 41))
    rows.indices[0] = column
    return rows
