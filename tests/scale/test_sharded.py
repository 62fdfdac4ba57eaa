"""Samples in parts are grouped, measured and drawn as samples in memory are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.estimators import _partitions
from imkpl.estimators._partitions import group_sharded_rows
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels.per_feature import root_mean_squared_difference
from imkpl.model.landmarks import choose_landmarks
from reference.sharded import cut_rows


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_partitions, "VALUES_PER_SAMPLE", 1)
        patch.setattr(_partitions, "FEWEST_VALUES", budget)
        found = group_sharded_rows(cut_rows(X, [4, 20]), labels)
    assert_array_equal(found[0], first)
    assert_array_equal(found[1], group.ravel())


def test_few_columns_are_fetched_to_sort(rng):
    shards = cut_rows(rng.standard_normal((20_000, 30)), [5000])
    group_sharded_rows(shards, np.zeros(20_000, dtype=int))
    assert max(shards.sizes) <= 8 * 20_000


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_bandwidths_are_those_of_samples_in_memory(rng, offset):
    X = rng.standard_normal((97, 5)) * np.array([1e-200, 1.0, 1e140, 3.0, 0.0]) + offset
    weight = rng.integers(0, 4, 97).astype(float)
    expected = root_mean_squared_difference(X, weight)
    for cuts in ([], [1], [30, 31, 60]):
        found = root_mean_squared_difference(cut_rows(X, cuts), weight)
        assert_allclose(found, expected, rtol=1e-14)


def test_landmarks_are_those_of_samples_in_memory(rng):
    labels = np.sort(rng.choice(3, 300, p=[0.6, 0.3, 0.1]))
    X = rng.standard_normal((300, 4)) + labels[:, None]
    weight, bank = rng.uniform(0.5, 2.0, 300), PerFeatureGaussian().adapt(X)
    options = {"seed": 3, "working_memory": 64}
    for n_landmarks in (12, 80, 299):
        expected = choose_landmarks(bank, X, labels, weight, n_landmarks, **options)
        shards = cut_rows(X, [10, 150])
        found = choose_landmarks(bank, shards, labels, weight, n_landmarks, **options)
        for left, right in zip(found, expected, strict=True):
            assert_array_equal(left, right)


def test_samples_in_parts_are_no_array(rng):
    shards = cut_rows(rng.standard_normal((5, 2)), [2])
    with pytest.raises((TypeError, IndexError)):
        PerFeatureGaussian(bandwidth=1.0).adapt(shards).combine([1.0, 1.0], shards)
