"""What probabilities are worth, against scikit-learn and against what the laws say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from imkpl.measures import measure_chances, say_chances


def draw(n, seed, n_classes=2, rare=0.1):
    """Cases whose probabilities are what they say, and their classes."""
    source = np.random.default_rng(seed)
    chances = source.dirichlet([1.0] * n_classes, n)
    if n_classes == 2:
        first = source.beta(1, (1 - rare) / rare, n)
        chances = np.column_stack([first, 1 - first])
    labels = (source.random(n)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    return chances, np.minimum(labels, n_classes - 1), np.arange(n)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_scores_are_those_of_scikit_learn(seed, n_classes, has_ties):
    chances, labels, groups = draw(90, seed, n_classes, 0.3)
    if has_ties:
        chances = chances.round(1)
    found = measure_chances(chances, labels, groups, range(n_classes))
    used = [c for c in range(n_classes) if 0 < np.sum(labels == c) < 90]
    if n_classes == 2:
        used = [int(np.mean(labels == 0) > 0.5)]
        assert found["target"] == used[0]
        score = brier_score_loss(labels == used[0], chances[:, used[0]].clip(0, 1))
        share = np.mean(labels == used[0])
        assert found["skill"]["value"] == pytest.approx(1 - score / (share * (1 - share)))
    for name, measure in (("auc", roc_auc_score), ("average_precision", average_precision_score)):
        expected = np.mean([measure(labels == c, chances[:, c]) for c in used])
        assert found[name]["value"] == pytest.approx(expected)
        low, high = found[name]["interval"]
        assert low <= expected <= high


def test_slope_and_intercept_say_what_is_wrong_with_probabilities():
    chances, labels, groups = draw(20_000, 0)
    honest = measure_chances(chances, labels, groups, ["sick", "well"])
    assert honest["target"] == "sick"
    assert honest["calibration"]["slope"] == pytest.approx(1, abs=0.08)
    assert honest["calibration"]["intercept"] == pytest.approx(0, abs=0.08)
    for one in honest["calibration"]["curve"]:
        low, high = one["interval"]
        assert low - 0.02 < one["predicted"] < high + 0.02
    assert sum(one["n"] for one in honest["calibration"]["curve"]) == 20_000
    logits = np.log(chances[:, 0] / chances[:, 1]).clip(-13, 13)
    for factor, shift in ((2.0, 0.0), (1.0, 1.0)):
        changed = 1 / (1 + np.exp(-factor * logits - shift))
        found = measure_chances(np.column_stack([changed, 1 - changed]), labels, groups, [0, 1])
        assert found["calibration"]["slope"] == pytest.approx(1 / factor, abs=0.08)
        assert found["skill"]["value"] < honest["skill"]["value"]
        assert found["auc"]["value"] == pytest.approx(honest["auc"]["value"], abs=1e-3)
    # By the same regression of scikit-learn.
    peer = LogisticRegression(C=1e6).fit(logits[:, None], labels == 0)
    assert honest["calibration"]["slope"] == pytest.approx(peer.coef_[0, 0], abs=0.01)


def test_the_decision_curve_is_between_its_laws():
    chances, labels, groups = draw(4000, 1, rare=0.2)
    share = np.mean(labels == 0)
    for one in measure_chances(chances, labels, groups, [0, 1])["benefit"]:
        assert one["model"] <= share
        # Honest probabilities are worth no less than always or never, up to chance.
        assert one["model"] >= max(0.0, one["always"]) - 0.01
        odds = one["threshold"] / (1 - one["threshold"])
        assert one["always"] == pytest.approx(share - odds * (1 - share))


def test_intervals_count_persons_and_chance_has_no_skill():
    chances, labels, groups = draw(120, 2, rare=0.3)
    found = measure_chances(chances, labels, groups, [0, 1])
    place = np.arange(720) // 6
    repeated = measure_chances(chances[place], labels[place], place, [0, 1])
    alone = measure_chances(chances[place], labels[place], np.arange(720), [0, 1])
    for name in ("auc", "average_precision", "skill"):
        assert repeated[name]["value"] == pytest.approx(found[name]["value"])
        assert np.ptp(repeated[name]["interval"]) > 1.5 * np.ptp(alone[name]["interval"])
    shuffled = np.random.default_rng(0).permutation(labels)
    useless = measure_chances(chances, shuffled, groups, [0, 1])
    assert useless["auc"]["interval"][0] < 0.5
    assert useless["skill"]["interval"][0] < 0
    assert measure_chances(chances, np.zeros(120, int), groups, [0, 1]) is None


def test_perfect_probabilities_have_finite_numbers_and_a_sentence():
    labels = np.arange(40) % 2
    found = measure_chances(np.eye(2)[labels], labels, np.arange(40), ["sick", "well"])
    assert (found["auc"]["value"], found["skill"]["value"]) == (1.0, 1.0)
    assert np.isfinite([found["calibration"]["slope"], found["calibration"]["intercept"]]).all()
    said = say_chances(found)
    assert "average precision 1.00 (1.00 to 1.00) for sick, by chance 0.50" in said
    assert "Brier score 100% below the base rate's" in said


def test_the_order_of_cases_does_not_matter():
    chances, labels, groups = draw(100, 3)
    order = np.random.default_rng(0).permutation(100)
    one = measure_chances(chances, labels, groups, [0, 1])
    two = measure_chances(chances[order], labels[order], groups[order], [0, 1])
    for name in ("auc", "average_precision", "skill"):
        assert_allclose(one[name]["interval"], two[name]["interval"])
