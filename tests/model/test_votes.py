"""Votes of prototypes for their own classes: scores, shares, the loss and the sharpness."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from imkpl.model.votes import LOG_SHARPNESS, Votes, find_sharpness, sum_votes, vote_loss
from model.problems import laws, seeds
from reference import votes as slow

sharpnesses = st.sampled_from([0.5, 5.0, 60.0])


def make_votes(seed, sharpness=5.0, n_samples=7, n_classes=3, n_prototypes=6):
    """A decision, similarities to its prototypes, labels and weights."""
    rng = np.random.default_rng(seed)
    owners = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_prototypes)])
    votes = Votes(np.sort(owners[:n_prototypes]), rng.uniform(0, 0.2, n_prototypes), sharpness)
    similarities = rng.uniform(-0.2, 1.0, (n_samples, n_prototypes))
    return (
        votes,
        similarities,
        rng.integers(0, n_classes, n_samples),
        rng.uniform(0.2, 3, n_samples),
    )


def slow_class_votes(votes, row):
    log_strengths = votes.sharpness * votes.bonuses
    return slow.class_votes(row, votes.classes, 3, votes.sharpness, log_strengths)


@laws
@given(seeds, sharpnesses)
def test_scores_chances_and_parts_equal_their_definitions(seed, sharpness):
    votes, similarities, _, _ = make_votes(seed, sharpness)
    scores, parts = votes.scores(similarities), votes.parts(similarities)
    chances, _, _ = sum_votes(votes.logs(similarities), votes.classes)
    for i, row in enumerate(similarities):
        of_classes = slow_class_votes(votes, row)
        said = [math.log(total) / sharpness for total in of_classes]
        assert_allclose(scores[i], np.array(said) - sorted(said)[-2], atol=1e-12)
        assert_allclose(chances[i], [total / sum(of_classes) for total in of_classes])
        for j, owner in enumerate(votes.classes):
            vote = math.exp(sharpness * (row[j] + votes.bonuses[j]))
            assert parts[i, j] == pytest.approx(vote / of_classes[owner])


def test_sums_of_extreme_votes_do_not_overflow():
    logs = np.array([[1e4, -1e4, 9e3], [-1e4, -1e4, -1e4]])
    chances, totals, parts = sum_votes(logs, np.array([0, 0, 1]))
    assert_allclose(chances, [[1.0, 0.0], [2 / 3, 1 / 3]])
    assert_allclose(totals, [[1e4, 9e3], [np.log(2) - 1e4, -1e4]])
    assert_allclose(parts, [[1.0, 0.0, 1.0], [0.5, 0.5, 1.0]])
    loss, slopes = vote_loss(logs, np.array([0, 0, 1]), np.array([1, 0]), np.ones(2))
    assert loss == pytest.approx(1e3 + np.log(1.5))
    assert_allclose(slopes, [[1.0, 0.0, -1.0], [-1 / 6, -1 / 6, 1 / 3]], atol=1e-15)


@laws
@given(seeds, sharpnesses)
def test_the_loss_is_the_cross_entropy_of_the_votes(seed, sharpness):
    votes, similarities, labels, weight = make_votes(seed, sharpness)
    found, _ = vote_loss(votes.logs(similarities), votes.classes, labels, weight)
    log_strengths = sharpness * votes.bonuses
    expected = slow.cross_entropy(
        similarities, votes.classes, labels, weight, sharpness, log_strengths
    )
    assert found == pytest.approx(expected, rel=1e-10)


@laws
@given(seeds)
def test_slopes_are_those_of_the_loss(seed):
    votes, similarities, labels, weight = make_votes(seed)
    logs = votes.logs(similarities)
    _, slopes = vote_loss(logs, votes.classes, labels, weight)
    step = 1e-6
    for place in np.ndindex(logs.shape):
        move = np.zeros(logs.shape)
        move[place] = step
        ahead, behind = (
            vote_loss(logs + sign * move, votes.classes, labels, weight)[0] for sign in (1, -1)
        )
        assert slopes[place] == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


def test_the_sharpness_has_the_smallest_loss_on_a_grid(rng):
    classes, labels = np.array([0, 0, 1, 2]), rng.integers(0, 3, 80)
    similarities = 0.15 * (classes == labels[:, None]) + rng.uniform(0.2, 0.6, (80, 4))
    weight = rng.uniform(0.5, 2.0, 80)

    def loss(sharpness):
        return slow.cross_entropy(similarities, classes, labels, weight, sharpness, np.zeros(4))

    grid = np.exp(np.linspace(*LOG_SHARPNESS, 300))
    best = grid[np.argmin([loss(sharpness) for sharpness in grid])]
    assert grid[0] < best < grid[-1]
    assert_allclose(find_sharpness(similarities, classes, labels, weight), best, rtol=0.03)
