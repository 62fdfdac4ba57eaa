"""Samples in parts are grouped, sorted and drawn as samples in memory are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from imkpl.estimators import _sharded
from imkpl.estimators._sharded import group_sharded_rows
from imkpl.estimators._training import _group_rows
from imkpl.kernels import PerFeatureGaussian
from imkpl.model.landmarks import choose_landmarks
from imkpl.model.neighbors import find_neighborhoods, spread_neighborhoods
from reference.sharded import LocalCluster, LocalShards


@pytest.mark.parametrize("budget", [1, 2**16])
@given(seed=st.integers(0, 10**6), n_values=st.sampled_from([2, 3, 50]))
@settings(max_examples=25)
def test_groups_and_their_order_are_those_of_samples_in_memory(budget, seed, n_values):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (30, 5)).astype(float)
    X[:, 1] = 7.0
    X[rng.random(X.shape) < 0.1] *= -0.0
    labels = rng.integers(0, 3, 30)
    expected = _group_rows(np.column_stack([labels, X]))
    before = _sharded.VALUES_PER_SAMPLE, _sharded.FEWEST_VALUES
    _sharded.VALUES_PER_SAMPLE, _sharded.FEWEST_VALUES = 1, budget
    try:
        found = group_sharded_rows(LocalShards(X, [4, 20]), labels)
    finally:
        _sharded.VALUES_PER_SAMPLE, _sharded.FEWEST_VALUES = before
    for left, right in zip(found, expected, strict=True):
        assert_array_equal(left, right)


def test_few_columns_are_fetched_to_sort(rng):
    X = rng.standard_normal((20_000, 30))
    shards = LocalShards(X, [5000])
    group_sharded_rows(shards, np.zeros(20_000, dtype=int))
    assert max(shards.sizes) <= 8 * 20_000


def test_landmarks_are_those_of_samples_in_memory(rng):
    labels = np.sort(rng.choice(3, 300, p=[0.6, 0.3, 0.1]))
    X = rng.standard_normal((300, 4)) + labels[:, None]
    weight, bank = rng.uniform(0.5, 2.0, 300), PerFeatureGaussian().adapt(X)
    options = {"seed": 3, "working_memory": 64}
    for n_landmarks in (12, 80, 299):
        expected = choose_landmarks(bank, X, labels, weight, n_landmarks, **options)
        shards = LocalShards(X, [10, 150])
        found = choose_landmarks(bank, shards, labels, weight, n_landmarks, **options)
        for left, right in zip(found, expected, strict=True):
            assert_array_equal(left, right)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("listed", [None, [0, 3, 4, 40]])
def test_neighbourhoods_by_blocks_are_those_of_the_whole_matrix(rng, listed, dtype):
    X, labels = rng.standard_normal((41, 3)), rng.integers(0, 3, 41)
    bank, weights = PerFeatureGaussian(dtype=dtype).adapt(X), np.full(3, 1 / 3)
    listed = None if listed is None else np.array(listed)
    kernel = bank.combine(weights, X).astype(np.float64)
    expected = find_neighborhoods(kernel, labels, 3, 5, listed)
    found = spread_neighborhoods(LocalCluster(), bank, weights, X, labels, 3, 5, listed)
    for name in ("same", "other"):
        left, right = getattr(found, name), getattr(expected, name)
        assert_array_equal(left.rows, right.rows)
        assert_array_equal(left.columns, right.columns)


def test_samples_in_parts_are_no_array(rng):
    shards = LocalShards(rng.standard_normal((5, 2)), [2])
    with pytest.raises((TypeError, IndexError)):
        PerFeatureGaussian(bandwidth=1.0).adapt(shards).combine([1.0, 1.0], shards)
