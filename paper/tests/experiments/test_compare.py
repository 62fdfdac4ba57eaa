import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from imkpl_paper.experiments.compare import find_best, paired_p_value, summarize

VALUES = st.lists(st.floats(0, 100), min_size=3, max_size=10)


@settings(deadline=None)
@given(st.data())
def test_the_paired_test_is_the_one_of_scipy(data):
    first = np.array(data.draw(VALUES))
    second = first + np.array(
        data.draw(st.lists(st.floats(-5, 5), min_size=first.size, max_size=first.size))
    )
    difference = first - second
    # Differences that are equal but for rounding have no test.
    if difference.std() <= 1e-9 * max(1.0, abs(difference).max()):
        return
    expected = stats.ttest_rel(first, second).pvalue
    assert paired_p_value(first, second) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_equal_values_do_not_differ_and_a_constant_difference_does():
    assert paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert paired_p_value([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == 0.0
    assert paired_p_value([1.0], [5.0]) == 1.0


def test_the_correction_is_the_formula_of_nadeau_and_bengio():
    a, b = np.array([90.0, 92.0, 91.0, 95.0]), np.array([88.0, 91.5, 91.5, 92.0])
    d = a - b
    t = d.mean() / math.sqrt((1 / 4 + 0.2 / 0.8) * d.var(ddof=1))
    expected = 2 * stats.t.sf(abs(t), 3)
    assert paired_p_value(a, b, correction="nadeau-bengio") == pytest.approx(expected)
    assert expected > paired_p_value(a, b)


def test_values_of_different_splits_are_refused():
    with pytest.raises(ValueError, match="3 and 2 values, expected one per split of both"):
        paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0])


def by_split(*values):
    return dict(enumerate(values))


def test_the_best_is_bold_and_what_a_test_cannot_tell_from_it():
    values = {
        "best": by_split(95.0, 96.0, 97.0, 96.0),
        "close": by_split(96.0, 95.0, 96.5, 95.5),
        "worse": by_split(90.0, 91.5, 91.8, 91.0),
    }
    assert find_best(values) == {"best", "close"}


def test_smaller_can_be_better():
    values = {"few": by_split(10, 11, 12), "many": by_split(100, 105, 99)}
    assert find_best(values, larger_is_better=False) == {"few"}
    assert find_best(values) == {"many"}


def test_ties_are_bold_together_even_with_one_split():
    assert find_best({"a": {0: 90.0}, "b": {0: 90.0}, "c": {0: 89.0}}) == {"a", "b"}


def test_only_common_splits_are_compared():
    values = {"a": {0: 90.0, 1: 91.0, 2: 92.0}, "b": {2: 91.9, 3: 80.0}, "c": {0: 89.9, 1: 90.9}}
    # b has one split in common with a, no test; c differs from a by the same in both.
    assert find_best(values) == {"a"}


def test_methods_without_values_are_never_bold():
    assert find_best({"a": {0: 1.0}, "b": {}}) == {"a"}
    assert find_best({}) == set()


def test_the_correction_makes_more_methods_bold():
    values = {"a": by_split(90.0, 92.0, 91.0, 95.0), "b": by_split(88.9, 91.4, 90.6, 93.4)}
    assert find_best(values) == {"a"}
    assert find_best(values, correction="nadeau-bengio") == {"a", "b"}


def test_the_spread_is_that_of_one_split():
    assert summarize([1.0, 2.0, 4.0]).spread == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
    assert summarize([3.0]) == (3.0, 0.0, 1)
