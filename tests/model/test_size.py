"""How many prototypes the data need."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import size as module
from imkpl.model.size import MORE_FOLDS, PER_CLASS, Fold, choose_size, first_as_good, split
from imkpl.model.voters import count_votes
from model.problems import laws, make_data, make_random_case, pose, seeds


def make_even(seed=0, **settings):
    """A problem in which every sample counts once, and every kernel has the same weight."""
    X, labels, _ = make_data(seed, **settings)
    return pose(PerFeatureGaussian().on(X), labels, sparsity=3, weight_rule="equal")


def choose(problem):
    return choose_size(problem, problem.kernels.n_kernels)


def make_fold(problem, is_left):
    return Fold.of(problem, problem.kernels.n_kernels, is_left)


# The first that is as good as the best


def first_by_chance(rows, weight):
    """Of sizes that err the less the larger they are."""
    hits = np.zeros(rows.shape)
    hits[:, 0] = np.arange(len(rows))
    return first_as_good(rows, hits, weight)


def test_a_size_within_the_error_of_the_best_is_good_enough():
    # The best has the mean 0 and the standard error sqrt(1 / 4).
    best = np.array([1.0, -1.0, 1.0, -1.0])
    rows = np.array([np.full(4, -0.6), np.full(4, -0.4), best, np.full(4, -0.1)])
    assert first_by_chance(rows, np.ones(4)) == 1
    rows[1] = -0.55
    assert first_by_chance(rows, np.ones(4)) == 2
    # Weights are numbers of samples: nine times as many, a third of the error.
    rows[1] = -0.2
    assert first_by_chance(rows, np.ones(4)) == 1
    assert first_by_chance(rows, np.full(4, 9.0)) == 2
    # Weights below one do not make fewer samples.
    assert first_by_chance(rows, np.full(4, 0.01)) == 1


def test_of_equally_good_sizes_the_smallest_is_taken():
    assert first_by_chance(np.ones((4, 5)), np.ones(5)) == 0
    # A chance of 0.999 is as good as one of 1, however small the error.
    assert first_by_chance(np.array([np.full(5, np.log(0.999)), np.zeros(5)]), np.ones(5)) == 0
    assert first_by_chance(np.array([np.full(5, np.log(0.9)), np.zeros(5)]), np.ones(5)) == 1


def test_more_prototypes_must_correct_errors():
    surer = np.array([np.full(5, np.log(0.6)), np.zeros(5)])
    as_right = np.array([[1.0, 1, 1, 1, 0], [1, 1, 1, 0, 1]])
    assert first_as_good(surer, as_right, np.ones(5)) == 0
    assert first_as_good(surer, as_right, np.array([1.0, 1, 1, 1, 2])) == 1


# Folds


@laws
@given(seeds, st.integers(8, 30), st.integers(2, 5))
def test_folds_leave_every_sample_out_once_and_every_class_a_sample(seed, n_samples, n_classes):
    problem = make_even(seed, n_samples=n_samples, n_classes=n_classes)
    folds = list(split(problem))
    n_left = np.sum(folds, axis=0)
    sizes = np.bincount(problem.labels)[problem.labels]
    assert_array_equal(n_left, (sizes > 1).astype(int))
    for is_left in folds:
        assert np.unique(problem.labels[~is_left]).size == n_classes
        per_class = np.bincount(problem.labels[is_left], minlength=n_classes)
        assert np.all(per_class <= np.ceil(np.bincount(problem.labels) / MORE_FOLDS))


def test_a_fold_knows_nothing_of_what_is_left_out():
    problem = make_even(n_samples=24)
    is_left = next(split(problem))
    X = problem.kernels.samples.copy()
    X[is_left] += 5.0
    moved = replace(problem, kernels=replace(problem.kernels, samples=X))
    plain, changed = make_fold(problem, is_left), make_fold(moved, is_left)
    for name in ("weights", "kernel"):
        assert_array_equal(getattr(plain, name), getattr(changed, name))
    assert np.any(plain.left != changed.left)
    combined = problem.combine(plain.weights)
    assert_allclose(plain.kernel, combined[np.ix_(~is_left, ~is_left)])
    assert_allclose(plain.left, combined[np.ix_(is_left, ~is_left)])


def test_the_copies_of_a_left_out_sample_stay():
    problem = make_even(n_samples=24)
    counts = np.ones(24)
    counts[[3, 8, 11]] = [2.0, 3.0, 1.5]
    problem = replace(problem, sample_weight=2.0 * counts, multiplicity=counts)
    is_left = np.zeros(24, dtype=bool)
    is_left[[3, 8, 11, 12]] = True
    fold = make_fold(problem, is_left)
    learned = np.setdiff1d(np.arange(24), [11, 12])
    assert_array_equal(fold.problem.kernels.samples, problem.kernels.samples[learned])
    assert_array_equal(fold.problem.multiplicity, counts[learned])
    # One of two, and one of three, is gone.
    expected = 2.0 * counts
    expected[[3, 8]] = 2.0, 4.0
    assert_allclose(fold.problem.sample_weight, expected[learned])
    # All copies are scored.
    assert_array_equal(fold.weight, problem.sample_weight[is_left])


def test_no_single_sample_can_decide(rng):
    problem = make_modes(rng, 1)
    fold = make_fold(problem, next(split(problem)))
    # Two clusters far apart, but the labels of those left out are wrong.
    wrong = replace(fold, labels=1 - fold.labels)
    log_chances, hits = wrong.score(2)
    assert_array_equal(log_chances, np.log(module.LEAST_CHANCE))
    assert_array_equal(hits, 0)


# The choice


@laws
@given(seeds, st.integers(6, 20), st.integers(2, 4))
def test_every_class_gets_one_and_never_more_than_half_of_the_samples(seed, n_samples, n_classes):
    problem = make_even(seed, n_samples=n_samples, n_classes=n_classes)
    chosen = choose(problem)
    assert chosen >= n_classes
    assert chosen == n_samples // 2 or chosen / n_classes in PER_CLASS
    assert chosen == n_classes or chosen <= n_samples / 2


def play(monkeypatch, levels):
    """Makes the sizes per class score so much, with an error of 0.1; collects those tried."""
    tried = []

    def score(fold, size):
        tried.append(size)
        # The larger, the fewer errors.
        return np.array([levels[size // 3] + np.tile([-0.5, 0.5], 13)[:25], np.arange(25) < size])

    monkeypatch.setattr(module, "split", lambda problem: iter([np.arange(180) < 25]))
    monkeypatch.setattr(Fold, "score", score)
    return choose(make_even(n_samples=180)), tried


@pytest.mark.parametrize(
    ("levels", "n_tried", "expected"),
    [
        ({1: -2.0, 3: -1.0, 10: -0.5, 30: -0.6}, 4, 30),  # until more do not help
        ({1: -2.0, 3: -2.1, 10: -0.5, 30: -0.5}, 4, 30),  # three are always tried
        # The error is 0.1, and the third size would have to gain 0.05 * 10 errors.
        ({1: -0.5, 3: -0.495, 10: -0.46}, 3, 3),
        ({1: -0.1, 3: -0.1, 10: -0.1}, 3, 3),
    ],
)
def test_sizes_grow_until_more_do_not_help(monkeypatch, levels, n_tried, expected):
    chosen, tried = play(monkeypatch, levels)
    assert tried == [3, 9, 30, 90][:n_tried]
    assert chosen == expected


def make_modes(rng, n_modes, n_samples=90):
    """Two classes that take turns in so many clusters along a line each."""
    cluster = np.arange(n_samples) % (2 * n_modes)
    X = 8.0 * cluster[:, None] + rng.standard_normal((n_samples, 1))
    kernels = PerFeatureGaussian(bandwidth=8.0).on(X)
    return pose(kernels, cluster % 2, sparsity=1, weight_rule="equal")


@pytest.mark.parametrize(("n_modes", "expected"), [(1, 2), (3, 6)])
def test_as_many_are_chosen_as_a_class_has_clusters(rng, n_modes, expected):
    assert choose(make_modes(rng, n_modes)) == expected


# Sharpness and votes of a state


def test_a_state_decides_by_its_strengths():
    case = make_random_case(4, n_prototypes=6, sharpness=7.0)
    problem, state = case.problem, case.state
    votes = count_votes(problem, state)
    assert votes.sharpness == 7.0
    assert votes.bonuses.min() == 0.0
    assert_array_equal(votes.classes, problem.prototype_classes(state))
    assert_allclose(np.diff(7.0 * votes.bonuses), np.diff(state.log_strengths))
