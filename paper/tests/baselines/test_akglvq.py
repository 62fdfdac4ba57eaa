import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from imkpl_paper.baselines._akglvq import (
    Prototypes,
    approximate,
    choose_slope,
    learn_prototypes,
    run_epoch,
    squashed_cost,
)


@pytest.fixture
def problem(rng):
    """Samples of three classes in the plane with a linear kernel, and two prototypes per class."""
    labels = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 2)) + 2 * np.array([[0, 0], [1, 1], [0, 2]])[labels]
    kernel = X @ X.T
    owners = np.repeat([0, 1, 2], 2)
    mixes = np.zeros((6, 60))
    mixes[np.arange(6), [0, 1, 20, 21, 40, 41]] = 1.0
    return X, labels, kernel, Prototypes.from_mixes(mixes, owners, kernel)


def slow_epoch(X, labels, prototypes, order, rate, slope, largest=0.5):
    """The same steps on vectors."""
    points = prototypes.mixes @ X
    for sample in order:
        distances = ((points - X[sample]) ** 2).sum(axis=1)
        is_own = prototypes.owners == labels[sample]
        same = np.argmin(np.where(is_own, distances, np.inf))
        other = np.argmin(np.where(is_own, np.inf, distances))
        total = distances[same] + distances[other]
        slope_of_sigmoid = expit(slope * (distances[same] - distances[other]) / total)
        derivative = 4 * slope_of_sigmoid * (1 - slope_of_sigmoid)
        pull = min(rate * derivative * 4 * distances[other] / total**2, largest)
        push = min(rate * derivative * 4 * distances[same] / total**2, largest)
        points[same] += pull * (X[sample] - points[same])
        points[other] -= push * (X[sample] - points[other])
    return points


def test_an_epoch_moves_prototypes_as_vectors_would_move(problem):
    X, labels, kernel, start = problem
    order = np.random.default_rng(1).permutation(60)
    moved = run_epoch(start, kernel, labels, order, 0.1, 3.0)
    assert_allclose(moved.mixes @ X, slow_epoch(X, labels, start, order, 0.1, 3.0))
    assert_allclose(start.mixes.max(axis=1), 1.0)


def test_products_and_norms_are_exact_after_many_steps(problem):
    _, labels, kernel, start = problem
    order = np.random.default_rng(2).integers(0, 60, 500)
    moved = run_epoch(start, kernel, labels, order, 0.1, 3.0)
    fresh = Prototypes.from_mixes(moved.mixes, moved.owners, kernel)
    assert_allclose(moved.products, fresh.products, atol=1e-9)
    assert_allclose(moved.norms, fresh.norms, atol=1e-9)
    assert_allclose(moved.mixes.sum(axis=1), 1.0)
    assert moved.mixes.min() < 0


def test_margins_compare_the_nearest_own_and_other_prototype(problem):
    X, labels, kernel, prototypes = problem
    points = prototypes.mixes @ X
    distances = ((X[:, None] - points) ** 2).sum(axis=2)
    is_own = np.equal.outer(labels, prototypes.owners)
    own = np.where(is_own, distances, np.inf).min(axis=1)
    other = np.where(is_own, np.inf, distances).min(axis=1)
    expected = (own - other) / (own + other)
    assert_allclose(prototypes.margins(kernel, labels), expected, atol=1e-9)
    assert_allclose(squashed_cost(expected, 3.0), (4 / 3 * expit(3 * expected)).sum())


def test_a_small_step_goes_down_the_cost_of_its_sample(problem):
    _, labels, kernel, start = problem
    for sample in range(60):
        moved = run_epoch(start, kernel, labels, np.array([sample]), 1e-4, 3.0)
        before, after = start.margins(kernel, labels), moved.margins(kernel, labels)
        assert after[sample] <= before[sample] + 1e-12


def test_the_step_is_the_gradient_of_the_cost(problem):
    X, labels, kernel, start = problem
    sample, rate, slope = 30, 1e-3, 3.0
    points = start.mixes @ X

    def cost(flat):
        moved = flat.reshape(points.shape)
        distances = ((moved - X[sample]) ** 2).sum(axis=1)
        is_own = start.owners == labels[sample]
        own, other = distances[is_own].min(), distances[~is_own].min()
        return 4 / slope * expit(slope * (own - other) / (own + other))

    gradient = np.array(
        [
            (cost(points.ravel() + step) - cost(points.ravel() - step)) / 2e-6
            for step in 1e-6 * np.eye(points.size)
        ]
    ).reshape(points.shape)
    moved = run_epoch(start, kernel, labels, np.array([sample]), rate, slope)
    assert_allclose(moved.mixes @ X - points, -rate * gradient, atol=1e-9)


def test_slopes_are_bounded():
    assert choose_slope(np.zeros(5)) == 50
    assert choose_slope(np.array([0.1, -0.1])) == pytest.approx(20)
    assert choose_slope(np.array([1.0, -1.0])) == 2


def test_learning_lowers_the_cost(problem):
    _, labels, kernel, start = problem
    learned, costs = learn_prototypes(
        start, kernel, labels, learning_rate=0.1, max_iter=30, tol=0.0, random=RandomState(0)
    )
    assert len(costs) == 30
    assert_allclose(learned.mixes.sum(axis=1), 1.0)
    slope = choose_slope(start.margins(kernel, labels))
    final = squashed_cost(learned.margins(kernel, labels), slope)
    assert_allclose(final, costs[-1])
    assert final < squashed_cost(start.margins(kernel, labels), slope)


def test_a_sparse_prototype_is_the_nearest_mix_of_its_samples(rng):
    X = rng.standard_normal((15, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kernel = X @ X.T
    dense = Prototypes.from_mixes(rng.standard_normal((4, 15)), np.arange(4), kernel)
    sparse = approximate(dense, kernel, 3)
    assert np.count_nonzero(sparse.mixes, axis=1).max() <= 3
    for mix, point in zip(sparse.mixes, dense.mixes @ X, strict=True):
        samples = X[mix != 0]
        nearest = np.linalg.lstsq(samples.T, point)[0]
        assert_allclose(mix[mix != 0], nearest, atol=1e-9)
    assert_array_equal(approximate(dense, kernel, None).mixes, dense.mixes)


def test_as_many_samples_as_dimensions_rebuild_a_prototype(rng):
    # Cut to its largest coefficients, a prototype of equal ones would lose half of itself.
    X = rng.standard_normal((20, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    mean = Prototypes.from_mixes(np.full((1, 20), 1 / 20), np.zeros(1, int), X @ X.T)
    sparse = approximate(mean, X @ X.T, 4)
    assert_allclose(sparse.mixes @ X, mean.mixes @ X, atol=1e-8)
