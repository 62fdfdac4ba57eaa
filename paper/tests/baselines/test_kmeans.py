import numpy as np
from numpy.random import RandomState
from numpy.testing import assert_allclose

from imkpl_paper.baselines._kmeans import cluster_means, draw_spread


def test_clusters_that_are_far_apart_are_found(rng):
    centres = np.array([[0.0, 0], [20, 0], [0, 20]])
    X = np.repeat(centres, 10, axis=0) + rng.standard_normal((30, 2))
    means = cluster_means(X @ X.T, 3, RandomState(0)) @ X
    expected = X.reshape(3, 10, 2).mean(axis=1)
    assert_allclose(np.sort(means, axis=0), np.sort(expected, axis=0))


def test_means_are_a_fixed_point_and_their_coefficients_sum_to_one(rng):
    X = rng.standard_normal((40, 3))
    mixes = cluster_means(X @ X.T, 5, RandomState(1))
    assert_allclose(mixes.sum(axis=1), 1.0)
    # Every sample is in one cluster, that of the nearest mean.
    assert np.all(np.count_nonzero(mixes, axis=0) == 1)
    distances = np.linalg.norm(X[:, None] - mixes @ X, axis=2)
    assert np.array_equal(np.argmin(distances, axis=1), np.argmax(mixes > 0, axis=0))


def test_equal_samples_are_one_cluster():
    X = np.repeat([[1.0, 0], [0, 1.0]], 4, axis=0)
    assert cluster_means(X @ X.T, 5, RandomState(0)).shape == (2, 8)
    assert draw_spread(X @ X.T, 5, RandomState(0)).size == 2


def test_one_cluster_is_the_mean():
    assert_allclose(cluster_means(np.eye(4), 1, RandomState(0)), [[0.25] * 4])
