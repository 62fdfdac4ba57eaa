"""How many prototypes the data need, and whether they need contrasts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from imkpl.kernels import PerFeatureGaussian
from imkpl.model import size as module
from imkpl.model.kernel_choice import compare_kernels
from imkpl.model.size import (
    DRAWS,
    MORE_FOLDS,
    PER_CLASS,
    RIDGES,
    Fold,
    choose_size,
    first_as_good,
    judge,
    split,
)
from model.problems import laws, make_data, pose, seeds, with_settings


def make_even(seed=0, contrast=None, **settings):
    """A problem in which every sample counts once, and every kernel has the same weight."""
    X, labels, _ = make_data(seed, **settings)
    kernels = PerFeatureGaussian().on(X)
    return pose(kernels, labels, sparsity=3, weight_rule="equal", contrast=contrast)


def choose(problem, n_prototypes=None):
    n_kernels, ranked = problem.kernels.n_kernels, compare_kernels(problem).ranked
    return choose_size(problem, n_kernels, ranked, n_prototypes, seed=0)[:2]


def folds_of(problem):
    return list(split(problem, compare_kernels(problem).ranked))


def make_fold(problem, is_left):
    return Fold.of(problem, problem.kernels.n_kernels, is_left)


# The first that is as good as the best


def test_what_is_within_the_error_of_the_difference_to_the_best_is_good_enough():
    # The last is the best; the first falls behind by 0.4 on average, with the error 0.5 or less.
    best, swing = np.zeros(4), np.array([1.0, -1.0, 1.0, -1.0])
    assert first_as_good([best - 0.4 - swing, best], np.ones(4)) == 0
    assert first_as_good([best - 0.6 - swing, best], np.ones(4)) == 1
    # Differences are paired: what is worse for every sample is worse.
    assert first_as_good([swing - 0.4, swing], np.ones(4)) == 1
    # Weights are numbers of samples: nine times as many, a third of the error.
    assert first_as_good([best - 0.4 - swing, best], np.full(4, 9.0)) == 1
    # Weights below one do not make fewer samples.
    assert first_as_good([best - 0.4 - swing, best], np.full(4, 0.01)) == 0


def test_of_equally_good_ones_the_first_is_taken():
    assert first_as_good([np.ones(5)] * 4, np.ones(5)) == 0
    # A chance of 0.999 is as good as one of 1, however small the error.
    assert first_as_good([np.full(5, np.log(0.999)), np.zeros(5)], np.ones(5)) == 0
    assert first_as_good([np.full(5, np.log(0.9)), np.zeros(5)], np.ones(5)) == 1


# Folds


@laws
@given(seeds, st.integers(8, 30), st.integers(2, 5))
def test_draws_leave_every_sample_out_once_and_every_class_a_sample(seed, n_samples, n_classes):
    problem = make_even(seed, n_samples=n_samples, n_classes=n_classes)
    folds = folds_of(problem)
    n_left = np.sum(folds, axis=0)
    sizes = np.bincount(problem.labels)[problem.labels]
    assert_array_equal(n_left, DRAWS * (sizes > 1))
    for is_left in folds:
        assert np.unique(problem.labels[~is_left]).size == n_classes
        per_class = np.bincount(problem.labels[is_left], minlength=n_classes)
        assert np.all(per_class <= np.ceil(np.bincount(problem.labels) / MORE_FOLDS))


def test_a_fold_knows_nothing_of_what_is_left_out():
    problem = make_even(n_samples=24)
    is_left = folds_of(problem)[0]
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


def test_no_single_sample_can_decide():
    scores = np.tile([1.0, 0.0], (300, 1))
    scores[0] = 0.0, 50.0
    zeros = np.zeros(300, dtype=int)
    fold = SimpleNamespace(targets=zeros, weight=zeros + 1.0, average_persons=lambda one, _: one)
    found = judge([fold], [scores])
    assert found[0] == np.log(module.LEAST_CHANCE)
    assert found[1] > -0.3


@pytest.mark.parametrize("ridge", RIDGES)
def test_the_rough_look_is_kernel_logistic_regression(ridge):
    problem = make_even(n_samples=45)
    fold = make_fold(problem, folds_of(problem)[0])
    learned, left = fold.features
    assert_allclose(learned @ learned.T, fold.kernel, atol=1e-6)
    peer = LogisticRegression(C=1 / ridge, max_iter=1000).fit(learned, fold.problem.labels)
    expected = peer.predict_log_proba(left)
    assert_allclose(log_softmax(fold.predict_roughly(ridge), axis=1), expected, atol=0.1)


# The choice


@settings(parent=laws, max_examples=10)
@given(seeds, st.integers(6, 20), st.integers(2, 4))
def test_every_class_gets_one_and_never_more_than_half_of_the_samples(seed, n_samples, n_classes):
    problem = make_even(seed, n_samples=n_samples, n_classes=n_classes)
    chosen, ridge = choose(problem)
    assert chosen >= n_classes
    assert chosen == n_samples // 2 or chosen / n_classes in PER_CLASS
    assert chosen == n_classes or chosen <= n_samples / 2
    assert ridge in (0.0, *RIDGES)


def play(monkeypatch, levels, contrast=False, n_prototypes=None):
    """Makes sizes per class, and ridges, score so much; returns the choice and those tried."""
    tried = []

    def score(folds, found):
        # All have the error 0.1 in their means, and about 0.01 in their differences.
        size, ridge = found[0]
        swing = 0.1 * (1 + 0.1 * (1 + tried.index(found[0]))) * np.tile([-1, 1], 50)
        return np.asarray(levels[found[0] if ridge else size] + 10 * swing)

    def predict(fold, size, ridge):
        tried.append((size // 3, ridge))
        return tried[-1]

    monkeypatch.setattr(module, "split", lambda *_: iter([np.arange(180) < 100]))
    monkeypatch.setattr(module, "judge", score)
    monkeypatch.setattr(Fold, "predict", predict)
    monkeypatch.setattr(Fold, "predict_roughly", lambda fold, ridge: predict(fold, 3, ridge))
    return choose(make_even(n_samples=180, contrast=contrast), n_prototypes), tried


@pytest.mark.parametrize(
    ("levels", "n_tried", "expected"),
    [
        ({1: -2.0, 2: -1.0, 4: -0.3, 8: -0.4}, 4, 12),  # until more do not help
        ({1: -2.0, 2: -2.1}, 2, 3),
        # The error is 0.1, and the third size would have to gain 0.05 * 4 errors.
        ({1: -1.0, 2: -0.5, 4: -0.495}, 3, 6),
        ({1: -0.1, 2: -0.1}, 2, 3),
    ],
)
def test_sizes_grow_until_more_do_not_help(monkeypatch, levels, n_tried, expected):
    (chosen, ridge), tried = play(monkeypatch, levels)
    assert tried == [(size, 0.0) for size in PER_CLASS[:n_tried]]
    assert (chosen, ridge) == (expected, 0.0)


@pytest.mark.parametrize(
    ("contrast", "without", "with_ridges", "expected", "n_kinds"),
    [
        # Larger ridges are tried as long as they are better, then votes alone.
        (None, -1.0, [-0.5, -0.6, -0.4], RIDGES[0], 3),
        (None, -1.0, [-1.1, -0.9, -0.5], RIDGES[2], 4),
        # Votes alone have to be better by more than an error.
        (None, -0.5, [-0.6, -0.7, -0.8], 0.0, 3),
        (None, -0.5, [-0.505, -0.7, -0.8], RIDGES[0], 3),
        (True, 0.0, [-2.0, -1.0, -1.5], RIDGES[1], 3),
        (False, -2.0, [0.0, 0.0, 0.0], 0.0, 0),
    ],
)
def test_contrasts_are_learned_if_one_prototype_a_class_gains(
    monkeypatch, contrast, without, with_ridges, expected, n_kinds
):
    levels = {1: without, 2: -3.0, **dict.fromkeys([(2, ridge) for ridge in RIDGES], -3.0)}
    levels |= {(1, ridge): level for ridge, level in zip(RIDGES, with_ridges, strict=True)}
    found, tried = play(monkeypatch, levels, contrast)
    assert found == (3, expected)
    # Sizes are tried as was found with one prototype a class, which is tried again in all folds.
    assert len(tried) == n_kinds + 2
    assert tried[-1] == (2, expected)
    # A number that is given is not chosen; whether there are contrasts is, by votes of so many.
    levels[2] = without
    assert play(monkeypatch, levels, contrast, n_prototypes=7)[0] == (7, expected)


def make_modes(rng, n_modes, n_samples=90):
    """Two classes that take turns in so many clusters along a line each."""
    cluster = np.arange(n_samples) % (2 * n_modes)
    X = 8.0 * cluster[:, None] + rng.standard_normal((n_samples, 1))
    kernels = replace(PerFeatureGaussian().on(X), rates=np.array([8.0**-0.5]))
    return pose(kernels, cluster % 2, sparsity=1, weight_rule="equal", contrast=False)


@pytest.mark.parametrize(("n_modes", "expected"), [(1, 2), (2, 4)])
def test_as_many_are_chosen_as_a_class_has_clusters(rng, n_modes, expected):
    assert choose(make_modes(rng, n_modes)) == (expected, 0.0)


def test_without_folds_there_are_no_contrasts_unless_asked_for():
    problem = make_even(n_samples=3)
    assert choose(problem) == (3, 0.0)
    assert choose(with_settings(problem, contrast=True))[1] > 0


# Sharpness and votes of a state
