import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from baselines.problems import make_operator
from imkpl_paper.baselines._operator import keep_largest


def test_combine_is_the_sum_of_the_kernels(rng):
    operator, stack = make_operator(rng)
    weights = rng.random(5)
    assert_allclose(operator.combine(weights), np.einsum("l,lij->ij", weights, stack))


def test_inner_is_the_trace_of_products(rng):
    operator, stack = make_operator(rng)
    M = rng.standard_normal((12, 12))
    assert_allclose(operator.inner(M), [np.trace(K.T @ M) for K in stack])


def test_one_inner_product_gives_the_errors_of_all_kernels(rng):
    # sum_i ||phi_l(x_i) - Phi_l U gamma_i||^2 for every kernel l, by its definition.
    operator, stack = make_operator(rng)
    U, codes = rng.standard_normal((12, 3)), rng.standard_normal((3, 12))
    R = np.eye(12) - U @ codes
    expected = [
        np.trace(K) - 2 * np.trace(codes.T @ U.T @ K) + np.trace(codes.T @ U.T @ K @ U @ codes)
        for K in stack
    ]
    assert_allclose(operator.inner(R @ R.T), expected)


def test_times_multiplies_every_kernel(rng):
    operator, stack = make_operator(rng)
    V = rng.standard_normal((12, 2))
    assert_allclose(operator.times(V), stack @ V)


def test_a_selection_reads_the_same_kernels_and_knows_their_places(rng):
    operator, stack = make_operator(rng)
    smaller = operator.select(np.array([1, 2, 4])).select(np.array([0, 2]))
    assert_array_equal(smaller.indices, [1, 4])
    assert_allclose(smaller.combine(np.array([0.25, 0.75])), 0.25 * stack[1] + 0.75 * stack[4])
    assert_array_equal(smaller.spread(np.array([0.25, 0.75])), [0, 0.25, 0, 0, 0.75])


@pytest.mark.parametrize(
    ("max_kernels", "expected"),
    [(None, [0.1, 0.4, 0.0, 0.3, 0.2]), (2, [0, 4 / 7, 0, 3 / 7, 0]), (1, [0, 1, 0, 0, 0])],
)
def test_the_largest_weights_are_kept(rng, max_kernels, expected):
    operator, _ = make_operator(rng)
    smaller, weights = keep_largest(operator, np.array([0.1, 0.4, 0.0, 0.3, 0.2]), max_kernels)
    assert_allclose(smaller.spread(weights), expected)
