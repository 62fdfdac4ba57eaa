import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose

from baselines.problems import make_kernels, numerical_gradient
from imkpl.kernels import PerFeatureGaussian
from imkpl_paper.baselines._dkmld import (
    cluster_lines,
    embedding_directions,
    lower_ratio,
    multilevel_dictionary,
    neighbor_laplacians,
    scatter_ratio,
)
from imkpl_paper.baselines._kernels import Weighting


def test_samples_on_two_lines_are_told_apart(rng):
    directions = np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    owners = np.repeat([0, 1], 8)
    X = directions[owners] * rng.uniform(-3, 3, (16, 1))
    lines, found, _ = cluster_lines(X @ X.T, 2, RandomState(0))
    assert len({*zip(owners.tolist(), found.tolist(), strict=True)}) == 2
    assert_allclose(np.abs(lines.T @ X @ directions.T).max(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_lines_have_unit_norm_and_explain_more_in_every_round(seed):
    X = np.random.default_rng(seed).standard_normal((30, 4))
    lines, owners, history = cluster_lines(X @ X.T, 3, RandomState(seed))
    assert_allclose(np.linalg.norm(lines.T @ X, axis=1), 1.0)
    assert np.all(np.diff(history) >= -1e-9)
    explained = (np.abs(X @ X.T @ lines)[np.arange(30), owners] ** 2).sum()
    assert_allclose(explained, history[-1])


def test_one_line_is_the_first_principal_direction(rng):
    X = rng.standard_normal((10, 3))
    lines, _, _ = cluster_lines(X @ X.T, 1, RandomState(0))
    direction = np.linalg.svd(X)[2][0]
    assert_allclose(np.abs(lines[:, 0] @ X @ direction), 1.0)


def test_samples_without_length_do_not_disturb(rng):
    X = rng.standard_normal((8, 3))
    X[[2, 5]] = 0
    lines, owners, _ = cluster_lines(X @ X.T, 3, RandomState(0))
    assert np.isfinite(lines).all()
    assert np.all(lines[[2, 5]] == 0)
    assert owners.max() < 3


def test_an_empty_cluster_is_filled():
    # Three lines, but after the first round all samples are nearest to fewer of them.
    X = np.array([[1.0, 0.0], [1.0, 1e-3], [1.0, -1e-3], [0.0, 1.0]])
    for seed in range(5):
        lines, owners, _ = cluster_lines(X @ X.T, 3, RandomState(seed))
        assert np.unique(owners).size == lines.shape[1]


def test_levels_explain_what_is_left(rng):
    X = rng.standard_normal((12, 6))
    kernel = X @ X.T
    atoms, levels = multilevel_dictionary(kernel, 1, 4, RandomState(0))
    assert_allclose(np.einsum("ij,ij->j", atoms, kernel @ atoms), 1.0)
    left, sizes = X.copy(), []
    for level in range(4):
        atom = (atoms.T @ X)[levels == level][0]
        left = left - np.outer(left @ atom, atom)
        sizes.append((left**2).sum())
    # One line per level is a principal component at a time.
    values = np.linalg.svd(X, compute_uv=False) ** 2
    assert_allclose(sizes, values.sum() - np.cumsum(values)[:4])


def test_levels_end_when_nothing_is_left(rng):
    X = rng.standard_normal((9, 2))
    atoms, levels = multilevel_dictionary(X @ X.T, 1, 8, RandomState(0))
    assert list(levels) == [0, 1]
    assert atoms.shape == (9, 2)


def test_graphs_link_the_most_similar_codes_within_and_between_classes():
    codes = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 3.0], [-1.0, 0.2]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    within, between = neighbor_laplacians(codes, labels, 1)
    for laplacian in (within, between):
        assert_allclose(laplacian.sum(axis=1), 0, atol=1e-12)
        assert np.linalg.eigvalsh(laplacian).min() > -1e-12
    # Samples 0 and 1 choose each other; sample 2, at right angles to both, chooses the first.
    assert_allclose(within[0, 1], -1.001)
    assert_allclose(within[0, 2], -0.001 / 2)
    assert within[0, 3] == 0
    # Sample 2 and sample 4 of the other class point the same way.
    assert_allclose(between[2, 4], -1.001)
    assert between[0, 1] == 0


def test_the_ratio_is_one_of_sums_over_pairs(rng):
    _, stack = make_kernels(rng)
    W, W2 = rng.random((2, 12, 12))
    W, W2 = W + W.T, W2 + W2.T
    laplacians = [np.diag(w.sum(axis=1)) - w for w in (W, W2)]
    V, weights = rng.standard_normal((12, 2)), rng.random(5)
    value, _ = scatter_ratio(weights, stack @ V, *laplacians)
    points = np.einsum("l,lij->ij", weights, stack) @ V
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    assert_allclose(value, (W * squares).sum() / (W2 * squares).sum())


def test_the_gradient_is_that_of_the_ratio(rng):
    _, stack = make_kernels(rng)
    roots = rng.standard_normal((2, 12, 12))
    within, between = (root @ root.T for root in roots)
    images, weights = stack @ rng.standard_normal((12, 2)), rng.random(5)
    _, gradient = scatter_ratio(weights, images, within, between)
    expected = numerical_gradient(lambda b: scatter_ratio(b, images, within, between)[0], weights)
    assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)
    # The ratio does not depend on the size of the weights.
    assert_allclose(gradient @ weights, 0, atol=1e-9)


def test_directions_are_generalised_eigenvectors(rng):
    kernel = make_kernels(rng)[1].mean(axis=0)
    labels = np.repeat([0, 1, 2], 4)
    within, between = neighbor_laplacians(rng.standard_normal((12, 3)), labels, 2)
    V = embedding_directions(kernel, within, between, 2, 0.1)
    noise = kernel @ within @ kernel
    noise += 0.1 * np.trace(noise) / 12 * np.eye(12)
    spread = kernel @ between @ kernel
    values = np.linalg.eigvals(np.linalg.solve(noise, spread)).real
    quotients = np.diag(V.T @ spread @ V) / np.diag(V.T @ noise @ V)
    assert_allclose(np.sort(quotients), np.sort(values)[-2:], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_weights_go_to_the_kernels_that_separate(seed):
    # Three of 21 kernels tell the classes apart. With little regularisation the directions would
    # separate these few samples by any kernels.
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 21))
    X[:, :3] += 3 * rng.standard_normal((3, 3))[labels]
    equal = Weighting.equal(PerFeatureGaussian().on(X))
    kernel = equal.combine()
    within, between = neighbor_laplacians(np.ones((60, 1)), labels, 60)
    V = embedding_directions(kernel, within, between, 2, 10.0)
    images = np.stack([equal.kernels.evaluate(index) @ V for index in range(21)])
    start, _ = scatter_ratio(equal.weights, images, within, between)
    weights, ratio = lower_ratio(equal, V, within, between)
    assert ratio < start
    assert_allclose(weights.sum(), 1.0)
    assert weights.min() >= 0
    assert weights[:3].sum() > 2 * 3 / 21


def test_classes_of_equal_samples_need_no_weights():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0)
    labels = np.repeat([0, 1], 4)
    equal = Weighting.equal(PerFeatureGaussian().on(X))
    kernel = equal.combine()
    within, between = neighbor_laplacians(kernel, labels, 2)
    V = embedding_directions(kernel, within, between, 1, 0.1)
    weights, _ = lower_ratio(equal, V, within, between)
    assert_allclose(weights.sum(), 1.0)
