"""Landmarks: how many per class, which samples, and with which weights."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import PerFeatureGaussian, Precomputed
from imkpl.model import landmarks as module
from imkpl.model.landmarks import choose_landmarks, draw_landmarks, share_landmarks, share_weight
from reference.kernels import per_feature_stack

OPTIONS = {"seed": 0, "working_memory": 64}


def spread_over_class(kernels, sample_weight, n_chosen, generator):
    average, everyone = (
        np.full(kernels.n_kernels, 1 / kernels.n_kernels),
        np.arange(kernels.shape[0]),
    )
    return draw_landmarks(kernels, average, everyone, sample_weight, n_chosen, generator, 1)


@pytest.fixture
def samples(rng):
    labels = np.sort(rng.choice(3, 200, p=[0.6, 0.3, 0.1]))
    X = rng.standard_normal((200, 4)) + labels[:, None]
    return PerFeatureGaussian().on(X), labels, rng.uniform(0.5, 2.0, 200)


classes = st.lists(
    st.tuples(st.integers(1, 200), st.floats(1e-6, 1e6)), min_size=2, max_size=8, unique=True
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(classes, st.integers(2, 40))
def test_every_class_gets_its_least_share_and_no_landmark_is_lost(pairs, n_per_class):
    sizes, totals = (np.array(column) for column in zip(*pairs, strict=True))
    n_landmarks = n_per_class * sizes.size
    shares = share_landmarks(n_landmarks, sizes, totals)
    assert np.all(shares <= sizes)
    assert np.all(shares >= np.minimum(sizes, n_per_class // 2))
    available = min(n_landmarks, sizes.sum())
    assert available - sizes.size <= shares.sum() <= available
    order = np.argsort(totals)
    assert_array_equal(share_landmarks(n_landmarks, sizes[order], totals[order]), shares[order])


def test_the_rest_is_shared_by_weight():
    shares = share_landmarks(60, np.full(3, 1000), np.array([1.0, 2.0, 3.0]))
    assert_array_equal(shares, [10 + 5, 10 + 10, 10 + 15])


weights = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(weights, st.floats(1.0, 100.0))
def test_shared_weight_sums_to_the_total_and_is_level_above_own_weights(own, factor):
    own = np.array(own)
    shared = share_weight(own, factor * own.sum())
    assert_allclose(shared.sum(), factor * own.sum(), rtol=1e-9)
    assert np.all(shared >= own)
    raised = shared[shared > own]
    assert raised.size == 0 or np.ptp(raised) == 0


def test_weights_sum_to_those_of_the_classes(samples):
    _, labels, weight = samples
    indices, weights = choose_landmarks(*samples, 40, **OPTIONS)
    totals = np.bincount(labels[indices], weights)
    assert_allclose(totals, np.bincount(labels, weight), rtol=1e-12)
    assert np.all(weights >= weight[indices])


def test_a_class_with_room_for_all_is_kept_as_it_is(samples):
    _, labels, weight = samples
    indices, weights = choose_landmarks(*samples, 180, **OPTIONS)
    small = np.flatnonzero(labels == 2)
    assert_array_equal(indices[labels[indices] == 2], small)
    assert_allclose(weights[labels[indices] == 2], weight[small], rtol=1e-12)


def test_names_of_classes_do_not_matter(samples):
    kernels, labels, weight = samples
    expected = choose_landmarks(*samples, 40, **OPTIONS)
    found = choose_landmarks(kernels, np.array([1, 2, 0])[labels], weight, 40, **OPTIONS)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 50])
def test_draws_follow_the_squared_distances(batch, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_DRAWN", batch)
    X = np.array([[0.0], [0.3], [1.0], [2.5]])
    weight = np.array([1.0, 2.0, 1.0, 0.5])
    kernels = PerFeatureGaussian().on(X)
    distances = 1 - kernels.combine([1.0])
    expected = {}
    for i in range(4):
        for j in range(4):
            # Each draw by its definition: weight times distance to what was drawn before.
            second = weight * distances[i]
            expected[i, j] = weight[i] / weight.sum() * second[j] / second.sum()
    generator, n_runs = np.random.default_rng(0), 4000
    drawn = Counter(tuple(spread_over_class(kernels, weight, 2, generator)) for _ in range(n_runs))
    for pair, chance in expected.items():
        error = 4 * np.sqrt(chance * (1 - chance) / n_runs)
        assert abs(drawn[pair] / n_runs - chance) <= error


def test_samples_that_no_kernel_tells_apart_need_one_landmark():
    X = np.repeat([[0.0, 1.0], [1.0, 1.0], [3.0, 1.0]], 10, axis=0)
    kernels = PerFeatureGaussian().on(X).select([0])
    labels = np.zeros(30, dtype=int)
    indices, weights = choose_landmarks(kernels, labels, np.ones(30), 8, **OPTIONS)
    assert_array_equal(np.unique(X[indices, 0]), [0.0, 1.0, 3.0])
    assert_allclose(weights, 10.0)


def test_similarities_give_the_landmarks_of_their_samples(samples):
    kernels, labels, weight = samples
    stack = per_feature_stack(*[kernels.samples] * 3)
    expected = choose_landmarks(*samples, 40, **OPTIONS)
    found = choose_landmarks(Precomputed().on(stack), labels, weight, 40, **OPTIONS)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1])
