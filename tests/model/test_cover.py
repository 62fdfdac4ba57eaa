import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.cover import closeness_to_border, cover_classes
from imkpl.solvers import solve_nqp
from model.problems import make_data, seeds

laws = settings(max_examples=25, deadline=None, derandomize=True)


def gaussian(points):
    points = np.asarray(points, dtype=float).reshape(len(points), -1)
    return np.exp(-np.sum((points[:, None] - points) ** 2, axis=-1))


def members_of(labels):
    return [np.flatnonzero(labels == q) for q in range(max(labels) + 1)]


def random_cover(seed, n_samples=9, n_classes=3):
    rng = np.random.default_rng(seed)
    X, labels, weight = make_data(seed, n_samples, n_classes, 2)
    return gaussian(X + rng.standard_normal(X.shape)), labels, weight


def coverage(kernel, labels, weight, chosen):
    """sum_i a_i max_t K(i, t) over chosen t of the class of i; 0 where its class has none."""
    total = 0.0
    for i, a in enumerate(weight):
        total += a * max([kernel[i, t] for t in chosen if labels[t] == labels[i]], default=0.0)
    return total


def greedy_cover(kernel, labels, weight, n_prototypes):
    """One sample per class, then whichever adds most, by trying all of them."""
    chosen = []
    for q in range(max(labels) + 1):
        own = [t for t in range(len(labels)) if labels[t] == q]
        chosen.append(max(own, key=lambda t: coverage(kernel, labels, weight, [*chosen, t])))
    while len(chosen) < min(n_prototypes, len(labels)):
        left = [t for t in range(len(labels)) if t not in chosen]
        chosen.append(max(left, key=lambda t: coverage(kernel, labels, weight, [*chosen, t])))
    return chosen


@laws
@given(seeds, st.integers(1, 12))
def test_cover_equals_exhaustive_greedy(seed, n_prototypes):
    kernel, labels, weight = random_cover(seed)
    found = cover_classes(kernel, members_of(labels), n_prototypes, weight)
    assert found.tolist() == greedy_cover(kernel, labels, weight, n_prototypes)


@laws
@given(seeds, st.integers(1, 30))
def test_every_class_is_covered_and_no_sample_chosen_twice(seed, n_prototypes):
    kernel, labels, weight = random_cover(seed, n_samples=12, n_classes=4)
    found = cover_classes(kernel, members_of(labels), n_prototypes, weight)
    assert np.unique(found).size == found.size == min(max(n_prototypes, 4), 12)
    assert np.unique(labels[found]).size == 4
    fewer = cover_classes(kernel, members_of(labels), n_prototypes // 2, weight)
    assert_array_equal(fewer, found[: fewer.size])


def test_equal_samples_are_chosen_in_the_end():
    found = cover_classes(np.ones((4, 4)), members_of(np.array([0, 0, 1, 1])), 9, np.ones(4))
    assert sorted(found) == [0, 1, 2, 3]


def test_the_first_choice_of_a_class_represents_it_best():
    kernel = gaussian([0.0, 1.0, 2.0, 10.0, 10.1])
    members = members_of(np.array([0, 0, 0, 1, 1]))
    found = cover_classes(kernel, members, 2, np.ones(5))
    assert found[0] == 1
    found = cover_classes(kernel, members, 2, np.array([9.0, 1, 1, 1, 1]))
    assert found[0] == 0


def test_a_class_that_is_more_spread_out_gets_more(rng):
    labels = np.repeat([0, 1], 20)
    points = rng.standard_normal((40, 2)) * np.where(labels == 0, 0.1, 3.0)[:, None]
    found = cover_classes(gaussian(points), members_of(labels), 12, np.ones(40))
    counts = np.bincount(labels[found])
    assert counts[0] >= 1
    assert counts[1] > 2 * counts[0]


def rebuild(kernel, i, samples, n_samples):
    """The norm of sample i that a pursuit over the listed samples explains."""
    samples = [s for s in samples if s != i]
    if not samples:
        return 0.0
    return -solve_nqp(
        2 * kernel[np.ix_(samples, samples)], -2 * kernel[i, samples], n_samples
    ).value


@laws
@given(seeds)
def test_closeness_equals_its_definition(seed):
    kernel, labels, _ = random_cover(seed, n_samples=12)
    margins = []
    for i in range(12):
        scores = [rebuild(kernel, i, np.flatnonzero(labels == q), 5) for q in range(3)]
        own = scores.pop(labels[i])
        margins.append(abs(own - max(scores)))
    expected = [np.exp(-margin / np.mean(margins)) for margin in margins]
    before = kernel.copy()
    assert_allclose(closeness_to_border(kernel, labels), expected, rtol=1e-7)
    assert_array_equal(kernel, before)


def test_a_sample_at_the_border_is_closer_than_one_among_its_own():
    # Sample 3 of class 0 has its class to the left and the other one to the right.
    points = [0.0, 0.1, 0.2, 1.6, 3.0, 3.1, 3.2]
    closeness = closeness_to_border(gaussian(points), np.array([0, 0, 0, 0, 1, 1, 1]))
    assert np.all(closeness > 0)
    assert np.argmax(closeness) == 3
    assert closeness[3] > 2 * np.delete(closeness, 3).max()


def test_a_sample_deep_in_another_class_is_not_at_the_border():
    points = [0.0, 0.1, 0.2, 1.6, 3.05, 3.0, 3.1, 3.2]
    closeness = closeness_to_border(gaussian(points), np.array([0, 0, 0, 0, 0, 1, 1, 1]))
    assert closeness[4] < closeness[3]


def test_equal_samples_of_two_classes_are_all_equally_close():
    labels = np.array([0, 0, 1, 1])
    assert_allclose(closeness_to_border(np.ones((4, 4)), labels), 1.0)


def test_the_only_sample_of_a_class_has_a_closeness():
    closeness = closeness_to_border(gaussian([0.0, 0.1, 5.0]), np.array([0, 0, 1]))
    assert np.all(np.isfinite(closeness))
    # Nothing of its own class rebuilds it, and nothing of the other one: a border of its own.
    assert closeness[2] == pytest.approx(1.0, rel=1e-6)
    assert closeness[2] > closeness[0]
