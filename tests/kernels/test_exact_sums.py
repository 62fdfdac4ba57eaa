"""Sums that do not depend on the order of their terms, or on the parts they come in."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from imkpl.kernels.exact_sums import fold_sums, join_folds
from imkpl.kernels.per_feature import root_mean_squared_difference
from reference.sharded import LocalShards

numbers = st.lists(
    st.floats(-1, 1, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-12 else 0.0),
    min_size=2,
    max_size=40,
)


@given(numbers, st.randoms(use_true_random=False), st.integers(0, 40))
def test_order_and_parts_do_not_matter(terms, random, cut):
    shuffled = random.sample(terms, len(terms))
    whole = join_folds(fold_sums(np.array(terms), 1.0, len(terms), axis=0))
    left, right = np.array(shuffled[:cut]), np.array(shuffled[cut:])
    parts = sum(fold_sums(part, 1.0, len(terms), axis=0) for part in (left, right))
    assert join_folds(parts) == whole


@given(numbers)
def test_sums_are_right_to_the_last_bit_but_one(terms):
    found = float(join_folds(fold_sums(np.array(terms), 1.0, len(terms), axis=0)))
    assert found == pytest.approx(math.fsum(terms), rel=3e-16, abs=1e-30)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_bandwidths_do_not_depend_on_order_or_parts(rng, offset):
    X = rng.standard_normal((97, 5)) * np.array([1e-200, 1.0, 1e149, 3.0, 0.0]) + offset
    weight = rng.integers(0, 4, 97).astype(float)
    expected = root_mean_squared_difference(X, weight)
    spread = np.sqrt(2 * np.cov(X[:, [1, 3]].T, aweights=weight, ddof=0).diagonal())
    np.testing.assert_allclose(expected[[1, 3]], spread, rtol=1e-6)
    for cuts in ([], [1], [30, 31, 60]):
        assert_array_equal(root_mean_squared_difference(LocalShards(X, cuts), weight), expected)
    # The same first sample: values are measured from it.
    used = np.flatnonzero(weight)
    order = np.concatenate([used[:1], rng.permutation(used[1:])])
    assert_array_equal(root_mean_squared_difference(X[order], weight[order]), expected)
