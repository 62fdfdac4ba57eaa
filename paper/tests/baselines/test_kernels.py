from dataclasses import replace

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from baselines.problems import make_kernels
from imkpl_paper.baselines._kernels import (
    Weighting,
    cluster_means,
    default_ridge,
    draw_spread,
    learn_weights,
)


def test_one_contraction_gives_the_errors_of_all_kernels(rng):
    # sum_i ||phi_l(x_i) - Phi_l U gamma_i||^2 for every kernel l, by its definition.
    kernels, stack = make_kernels(rng)
    U, codes = rng.standard_normal((12, 3)), rng.standard_normal((3, 12))
    R = np.eye(12) - U @ codes
    expected = [
        np.trace(K) - 2 * np.trace(codes.T @ U.T @ K) + np.trace(codes.T @ U.T @ K @ U @ codes)
        for K in stack
    ]
    assert_allclose(kernels.contract(R @ R.T), expected)


@pytest.mark.parametrize(
    ("max_kernels", "expected"),
    [(None, [0.1, 0.4, 0.0, 0.3, 0.2]), (2, [0, 4 / 7, 0, 3 / 7, 0]), (1, [0, 1, 0, 0, 0])],
)
def test_the_largest_weights_are_kept(rng, max_kernels, expected):
    kernels, stack = make_kernels(rng)
    weights = np.array([0.1, 0.4, 0.0, 0.3, 0.2])
    kept = replace(Weighting.equal(kernels), weights=weights).keep_largest(max_kernels)
    assert_allclose(kept.all_weights, expected)
    assert_allclose(kept.combine(), np.einsum("l,lij->ij", expected, stack))
    again = replace(kept, weights=kept.weights[::-1]).keep_largest(1)
    assert np.count_nonzero(again.all_weights) == 1
    assert again.indices[0] in kept.indices


def test_the_weights_minimise_the_objective_in_the_combined_kernel(rng, monkeypatch):
    monkeypatch.setattr("imkpl_paper.baselines._kernels.WEIGHT_TOL", 1e-5)
    kernels, stack = make_kernels(rng, n_kernels=4)
    A, R = rng.standard_normal((2, 12)), rng.standard_normal((12, 12))
    errors = R @ R.T
    start = Weighting.equal(kernels, ridge=0.2)
    # Q = ||A K||^2 has the derivative 2 A'A K.
    result = learn_weights(start, errors, lambda K: 2 * A.T @ A @ K)
    costs = np.array([np.vdot(K, errors) for K in stack])
    rho = 0.2 * 4 * costs.std()
    assert_allclose(result.rho, rho)

    def value(b):
        combined = np.einsum("l,lij->ij", b, stack)
        return costs @ b + ((A @ combined) ** 2).sum() + rho * b @ b

    reference = minimize(
        value,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
    )
    assert_allclose(value(result.weights), reference.fun, rtol=1e-4)
    assert_allclose(result.cost, rho * result.weights @ result.weights)


def test_the_ridge_stays_what_it_was_in_the_first_step(rng):
    kernels, _ = make_kernels(rng)
    start = replace(Weighting.equal(kernels, ridge=0.2), rho=3.0)
    assert learn_weights(start, np.eye(12), np.zeros_like).rho == 3.0


def test_more_ridge_gives_more_kernels_and_none_gives_one(rng):
    kernels, _ = make_kernels(rng, n_samples=20, n_kernels=15)
    R = rng.standard_normal((20, 20))

    def count(ridge):
        start = Weighting.equal(kernels, ridge)
        return np.count_nonzero(learn_weights(start, R @ R.T, np.zeros_like).weights)

    counts = [count(ridge) for ridge in (0.0, 0.05, 0.3, 10.0)]
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[-1] == 15


@pytest.mark.parametrize("max_kernels", [1, 3])
def test_max_kernels_keeps_the_largest_and_solves_for_them_again(rng, max_kernels):
    kernels, _ = make_kernels(rng, n_samples=20, n_kernels=15)
    R = rng.standard_normal((20, 20))
    errors = R @ R.T
    start = Weighting.equal(kernels, ridge=0.3)
    free = learn_weights(start, errors, np.zeros_like)
    kept = learn_weights(start, errors, np.zeros_like, max_kernels)
    largest = np.sort(np.argsort(-free.weights)[:max_kernels])
    assert list(kept.indices) == list(largest)
    again = Weighting.equal(kernels.select(largest), ridge=0.3)
    expected = learn_weights(again, errors, np.zeros_like).weights
    assert_allclose(kept.weights, expected, atol=0.03)


def test_the_default_ridge_depends_on_the_number_of_kernels():
    assert default_ridge(None, 1000) == 0.3
    assert default_ridge(None, 1001) == 0.03
    assert default_ridge(0.5, 5748) == 0.5


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
