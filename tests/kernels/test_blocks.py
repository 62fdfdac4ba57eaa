"""Samples in blocks are grouped, measured and gathered as samples in memory are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import Gaussian, KernelStack, PerFeatureGaussian, forms
from imkpl.kernels.per_feature import root_mean_squared_difference
from imkpl.kernels.sources import RowBlocks, join_rows, map_in_order


class CutArray:
    """An array cut at given rows."""

    feature_names = None

    def __init__(self, array, cuts):
        self.array, self.shape, self.rows = array, array.shape, np.arange(len(array))
        self.starts, self.ends = [0, *cuts], [*cuts, len(array)]

    def row_blocks(self, wanted):
        for start, end in zip(self.starts, self.ends, strict=True):
            if np.any((wanted >= start) & (wanted < end)):
                yield start, self.array[start:end]


def cut_rows(array, cuts):
    return RowBlocks.of(CutArray(array, cuts)).summarized()


@pytest.mark.parametrize("budget", [1, 2**16])
@given(seed=st.integers(0, 10**6), n_values=st.sampled_from([2, 3, 50]))
@settings(max_examples=25)
def test_groups_and_their_order_are_those_of_samples_in_memory(budget, seed, n_values):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (30, 5)).astype(float)
    X[:, 1] = 7.0
    X[rng.random(X.shape) < 0.1] *= -0.0
    labels = rng.integers(0, 3, 30)
    table = np.column_stack([labels, X])
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    first, group = forms.order_groups(X, np.arange(30), (first, group.ravel()), labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "FEWEST_VALUES", budget)
        found = cut_rows(X, [4, 20]).find_equal(labels)
    assert_array_equal(found[0], first)
    assert_array_equal(found[1], group)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_bandwidths_are_those_of_samples_in_memory(rng, offset):
    X = rng.standard_normal((97, 5)) * np.array([1e-200, 1.0, 1e140, 3.0, 0.0]) + offset
    weight = rng.integers(0, 4, 97).astype(float)
    expected = root_mean_squared_difference(X, weight)
    for cuts in ([], [1], [30, 31, 60]):
        found = root_mean_squared_difference(cut_rows(X, cuts), weight)
        assert_allclose(found, expected, rtol=1e-14)


def test_samples_are_gathered_in_any_order(rng):
    X = rng.standard_normal((20, 3))
    blocks = cut_rows(X, [4, 11])
    for rows in ([3], [15, 2, 2, 7], np.arange(20), []):
        assert_array_equal(blocks[rows], X[np.asarray(rows, dtype=int)])
    assert_array_equal(blocks.view([15, 2, 7])[[2, 0]], X[[7, 15]])
    assert_array_equal(np.concatenate(map_in_order(blocks, np.negative, 5)), -X)
    assert_array_equal(blocks.ranges, np.stack([X.min(axis=0), X.max(axis=0)], axis=1))


@pytest.mark.parametrize("bank", [PerFeatureGaussian(), KernelStack([Gaussian(), "linear"])])
def test_kernels_of_samples_in_blocks_are_those_of_samples_in_memory(rng, bank):
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((5, 4))
    plain, kernels = bank.on(X), bank.on(cut_rows(X, [7, 20]))
    assert (plain.n_far_values, kernels.n_far_values) == (0, 4)
    assert_array_equal(kernels.ranges(), plain.ranges())
    some, weights = np.array([22, 3, 9]), 1.0 + np.arange(plain.n_kernels)
    part, expected = kernels.take(some), plain.take(some)
    assert_allclose(part.combine(weights), expected.combine(weights), rtol=1e-12)
    new = part.cross(Y).combine(weights)
    assert_allclose(new, expected.cross(Y).combine(weights), rtol=1e-12)
    # A function of samples sees them where they are, a few at a time.
    rows = rng.permutation(30)[:17]
    compare = [k.map_samples(np.multiply, rows, 4, rows[:, np.newaxis]) for k in (kernels, plain)]
    for found in compare:
        assert max(len(values) for _, values in found) <= 20
        assert_array_equal(join_rows(found, (17, 4)), X[rows] * rows[:, np.newaxis])
