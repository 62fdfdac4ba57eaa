import itertools

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from imkpl_paper.baselines._prototype_selection import (
    cover_by_rounding,
    cover_cost,
    cover_greedily,
    relax_class,
)


def make_covers(seed, n=30, radius=0.8):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 2)), rng.integers(0, 3, n)
    return np.linalg.norm(X[:, None] - X, axis=2) < radius, labels


def test_the_cost_counts_uncovered_samples_wrong_coverings_and_prototypes():
    # Four samples on a line at 0, 1, 2, 3 of classes 0, 0, 1, 1; balls reach the neighbours.
    covers = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1
    labels = np.array([0, 0, 1, 1])
    chosen = np.zeros((4, 2), dtype=bool)
    assert cover_cost(covers, labels, chosen, 0.25) == 4
    chosen[0, 0] = True
    assert cover_cost(covers, labels, chosen, 0.25) == 2.25
    # Sample 2 as a prototype of class 1 covers samples 1, 2 and 3: one of them wrongly.
    chosen[2, 1] = True
    assert cover_cost(covers, labels, chosen, 0.25) == 1.5
    greedy, gains = cover_greedily(covers, labels, 2, 0.25)
    assert_array_equal(np.argwhere(greedy), [[0, 0], [3, 1]])
    assert gains == [1.75, 1.75]


@pytest.mark.parametrize("seed", range(5))
def test_every_greedy_step_lowers_the_cost_by_its_gain(seed):
    covers, labels = make_covers(seed)
    chosen, gains = cover_greedily(covers, labels, 3, 0.1)
    nothing = cover_cost(covers, labels, np.zeros((30, 3), dtype=bool), 0.1)
    assert_allclose(cover_cost(covers, labels, chosen, 0.1), nothing - sum(gains))
    assert len(gains) == chosen.sum()
    assert np.all(np.diff(gains) <= 1e-12)
    assert min(gains) > 0


@pytest.mark.parametrize("seed", range(3))
def test_no_single_prototype_more_would_lower_the_greedy_cost(seed):
    covers, labels = make_covers(seed)
    chosen, _ = cover_greedily(covers, labels, 3, 0.1)
    cost = cover_cost(covers, labels, chosen, 0.1)
    for place in np.argwhere(~chosen):
        chosen[tuple(place)] = True
        assert cover_cost(covers, labels, chosen, 0.1) >= cost - 1e-12
        chosen[tuple(place)] = False


@pytest.mark.parametrize("seed", range(3))
def test_the_relaxation_bounds_the_best_choice_from_below(seed):
    covers, labels = make_covers(seed, n=9)
    own, costs = covers[labels == 0], 0.2 + covers[labels != 0].sum(axis=0)
    _, _, bound = relax_class(own, costs)
    best = min(
        costs[list(chosen)].sum() + np.sum(~own[:, list(chosen)].any(axis=1))
        for size in range(5)
        for chosen in itertools.combinations(range(9), size)
    )
    assert bound <= best + 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("price", [0.1, 100.0])
def test_the_relaxation_is_that_over_all_candidates(seed, price):
    covers, labels = make_covers(seed)
    own, costs = covers[labels == 0], price + covers[labels != 0].sum(axis=0)
    shares, missed, value = relax_class(own, costs)
    n_members = own.shape[0]
    whole = linprog(
        np.r_[costs, np.ones(n_members)],
        A_ub=-np.hstack([own, np.eye(n_members)]),
        b_ub=-np.ones(n_members),
        bounds=(0, 1),
    )
    assert_allclose(value, whole.fun, atol=1e-9)
    assert_allclose(costs @ shares + missed.sum(), value, atol=1e-9)
    assert np.all(own @ shares + missed >= 1 - 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rounding_stays_within_the_bound_of_the_paper(seed):
    covers, labels = make_covers(seed)
    chosen = cover_by_rounding(covers, labels, 3, 0.1, RandomState(seed))
    for owner in range(3):
        is_own = labels == owner
        costs = 0.1 + covers[~is_own].sum(axis=0)
        _, _, bound = relax_class(covers[is_own], costs)
        uncovered = np.sum(~covers[np.ix_(is_own, chosen[:, owner])].any(axis=1))
        cost = costs[chosen[:, owner]].sum() + uncovered
        assert cost <= 2 * np.log(is_own.sum()) * bound + 1e-9
