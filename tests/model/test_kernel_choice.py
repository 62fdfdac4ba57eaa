import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import margin_choice as module
from imkpl.model.kernel_choice import start_as_printed
from imkpl.model.margin_choice import MarginChoice
from imkpl.model.neighbors import find_neighborhoods
from imkpl.model.separation import (
    MarginSeparation,
    compute_margins,
    margin_pair_weights,
    ridge_term,
)
from imkpl.solvers import solve_nqp
from model.problems import laws, make_problem, pose, scale_kernels, seeds


def planted(rng, n_samples=60, n_noise=8):
    """Feature 0 tells class 0 from the rest, 1 nearly copies it, 2 tells 1 from 2, 3 on is noise.

    Class 0 is half of the samples, so that the two copies each beat feature 2 on their own.
    """
    labels = np.array([0, 1, 0, 2])[np.arange(n_samples) % 4]
    X = rng.standard_normal((n_samples, 3 + n_noise))
    X[:, 0] = 6 * (labels == 0) + 0.3 * rng.standard_normal(n_samples)
    X[:, 1] = X[:, 0] + 0.01 * rng.standard_normal(n_samples)
    X[:, 2] = 4 * labels + 0.8 * rng.standard_normal(n_samples)
    X[labels == 0, 2] = 4 * rng.integers(1, 3, n_samples // 2) + 0.8 * X[labels == 0, 2]
    return X, labels, np.ones(n_samples)


def chosen_kernels(problem):
    return set(problem.kernel_indices.tolist())


def test_margins_do_not_spend_kernels_on_copies():
    for seed in range(5):
        # Enough samples that the ridge does not spread the weight over both copies.
        data = planted(np.random.default_rng(seed), n_samples=600)
        problem, _, _ = make_problem(*data, max_kernels=2, n_neighbors=4)
        assert not {0, 1} <= chosen_kernels(problem)


def make_plain(n_neighbors=1):
    """Two features under which the nearest sample is always one of the other class."""
    x = np.arange(12.0)
    X, labels = np.column_stack([x, x**1.01]), np.arange(12) % 2
    return make_problem(X, labels, np.ones(12), "margin", n_neighbors)


def test_where_neighbours_say_nothing_kernels_count_alike():
    problem, neighborhoods, weights = make_plain()
    margins = module.mean_margins(problem.kernels, neighborhoods, problem.sample_weight)
    assert margins.max() < 0
    assert weights.size == margins.size > 1
    assert_allclose(weights, 1 / margins.size)
    assert_array_equal(problem.separation_loss.slopes, 0.0)
    # The ridge holds them together.
    moved = problem.separation_loss.minimize(np.arange(margins.size), 1.0, weights)
    assert_allclose(moved, weights, atol=0.01)


def test_the_average_start_is_uniform_and_keeps_all_kernels(two_blobs):
    X, y = two_blobs
    problem, neighborhoods, weights = make_problem(X, y, np.ones(40), "lp")
    assert weights.tolist() == [0.25] * 4
    assert problem.kernel_indices.tolist() == [0, 1, 2, 3]
    assert problem.separation_loss.ridge == 0
    again, _ = start_as_printed(problem, neighborhoods)
    assert_array_equal(again.separation_loss.slopes, problem.separation_loss.slopes)
    assert problem.separation_loss.slopes[:2].max() < problem.separation_loss.slopes[2:].min()


def free_value(margins, shares, v):
    """The squared hinge of weights of free scale, with its ridge."""
    missing = np.maximum(0.0, 1 - margins @ v)
    return shares @ missing**2 / 2 + module.MARGIN_RIDGE / 2 * v @ v


@pytest.mark.parametrize("separation", [0.5, 3.0])
def test_the_margin_loss_is_the_free_problem_on_the_simplex(rng, separation):
    problem, neighborhoods, weights = make_problem(*planted(rng), "margin", separation=separation)
    loss = problem.separation_loss
    assert isinstance(loss, MarginSeparation)
    margins = compute_margins(problem.kernels, neighborhoods)
    shares = margin_pair_weights(neighborhoods, problem.sample_weight)
    for w in (weights, *rng.dirichlet(np.ones(weights.size), size=3)):
        expected = separation * free_value(margins, shares, w / loss.target)
        assert separation * loss.value(w) + ridge_term(loss, w) == pytest.approx(expected)


def test_the_margin_start_is_close_to_the_minimum_of_its_loss(rng):
    problem, _, weights = make_problem(*planted(rng), "margin", separation=2.0)
    loss = problem.separation_loss

    def value(w):
        return problem.settings.separation * loss.value(w) + ridge_term(loss, w)

    moved = loss.minimize(np.zeros(weights.size), problem.settings.separation, weights)
    assert value(moved) == pytest.approx(value(weights), rel=2e-2)
    others = rng.dirichlet(np.ones(weights.size), size=20)
    assert all(value(w) > value(weights) for w in others)


@laws
@given(seeds, st.sampled_from([0.5, 0.2, 0.05, 0.0]))
def test_without_a_limit_few_kernels_reach_most_of_the_gain(seed, shortfall):
    rng = np.random.default_rng(seed)
    margins, shares = rng.normal(0.2, 1.0, (60, 8)), 1000 * rng.dirichlet(np.ones(60))
    H = (margins * shares[:, None]).T @ margins + module.MARGIN_RIDGE * np.eye(8)
    gains = [-solve_nqp(H, -shares @ margins, n).value for n in range(1, 9)]
    needed = next(n for n, gain in enumerate(gains, 1) if gain >= (1 - shortfall) * gains[-1])
    choice = MarginChoice(margins, shares)
    found, missing = choice.choose(None, shortfall)
    assert_allclose(found, choice.choose(needed, shortfall)[0], atol=1e-8)
    assert_allclose(missing, np.maximum(0.0, 1 - margins @ found))


def test_every_round_of_the_hinge_lowers_it(monkeypatch, rng):
    # Kernels that separate well: most margins exceed one, where the square and the hinge differ.
    margins, shares = rng.normal(1.5, 0.7, (200, 4)), 1000 * rng.dirichlet(np.ones(200))
    usual, _ = MarginChoice(margins, shares).choose(4, 0.03)
    values = []
    for n_rounds in (1, 2, 3, 300):
        monkeypatch.setattr(module, "HINGE_ROUNDS", n_rounds)
        found, _ = MarginChoice(margins, shares).choose(4, 0.03)
        values.append(free_value(margins, shares, found))
    assert np.all(np.diff(values) < 0)
    assert free_value(margins, shares, usual) == values[2]
    generic = minimize(lambda v: free_value(margins, shares, v), np.ones(4), bounds=[(0, None)] * 4)
    assert values[-1] == pytest.approx(generic.fun, rel=1e-4)


def test_a_kernel_that_was_not_looked_at_is_found_if_it_adds_more(monkeypatch, rng):
    # Three copies of a feature are the best alone; what they miss is told by feature 3.
    monkeypatch.setattr(module, "MAX_CANDIDATES", 3)
    X, labels, weight = planted(rng)
    X = np.insert(X, 1, X[:, 0] + 0.01 * rng.standard_normal(len(X)), axis=1)
    complete, _, _ = make_problem(X, labels, weight, "margin", n_neighbors=4, max_kernels=2)
    assert 3 in chosen_kernels(complete)
    monkeypatch.setattr(module, "SCREENING_ROUNDS", 0)
    screened, _, _ = make_problem(X, labels, weight, "margin", n_neighbors=4, max_kernels=2)
    assert chosen_kernels(screened) <= {0, 1, 2}


def test_few_compared_samples_find_the_informative_kernels(monkeypatch, rng):
    X, labels, sample_weight = planted(rng, n_samples=300)
    monkeypatch.setattr(module, "MAX_MARGINS", 6 * X.shape[1] * 60)
    problem = scale_kernels(pose(PerFeatureGaussian().on(X), labels, sample_weight))
    compared = module.choose_compared(problem, 6)
    assert compared.size == 60
    average = problem.average()
    neighborhoods = find_neighborhoods(average, labels, 2, 6, compared)
    found = chosen_kernels(module.MarginStart(problem, neighborhoods)(2)[0])
    everyone = find_neighborhoods(average, labels, 2, 6)
    assert found == chosen_kernels(module.MarginStart(problem, everyone)(2)[0])
