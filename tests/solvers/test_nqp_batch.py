import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import get_num_threads

from imkpl.solvers import Status, pursue, solve_nqp, solve_nqp_batch

laws = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def problems(seed, n=20, n_problems=15, n_rows=None, dtype=np.float64):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_rows or 2 * n, n))
    B = rng.normal(size=(n_problems, A.shape[0]))
    return (A.T @ A).astype(dtype), (-B @ A).astype(dtype)


def assert_equals_single(H, C, sparsity, batch, rtol=1e-7, **options):
    for i, c in enumerate(C):
        single = solve_nqp(H, c, sparsity, **options)
        x = batch.x[[i]].toarray()[0]
        np.testing.assert_allclose(x, single.x, rtol=rtol, atol=rtol * np.abs(single.x).max())
        np.testing.assert_array_equal(batch.active[i], np.sort(single.active))
        assert batch.value[i] == pytest.approx(single.value, rel=rtol)
        assert batch.n_steps[i] == single.n_steps
        assert batch.status[i] == single.status


@laws
@given(seeds, st.integers(1, 40), st.integers(1, 15))
def test_batch_equals_single(seed, n, sparsity):
    H, C = problems(seed, n)
    assert_equals_single(H, C, sparsity, solve_nqp_batch(H, C, sparsity))


@laws
@given(seeds)
def test_batch_equals_single_when_many_entries_leave(seed):
    # Positive columns are much alike, so that early picks turn negative later.
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(40, 20))
    H, C = A.T @ A, -rng.uniform(size=(60, 40)) @ A
    batch = solve_nqp_batch(H, C, 20)
    assert_equals_single(H, C, 20, batch)
    assert (batch.n_steps > np.diff(batch.x.indptr)).any()


@laws
@given(seeds, st.integers(1, 12))
def test_low_rank_problems_have_the_value_of_single(seed, n_rows):
    H, C = problems(seed, 20, n_rows=n_rows)
    batch = solve_nqp_batch(H, C, 20)
    assert (batch.x.data > 0).all()
    values = [solve_nqp(H, c, 20).value for c in C]
    np.testing.assert_allclose(batch.value, values, rtol=1e-9)


@laws
@given(seeds)
def test_float32_batch_equals_single(seed):
    H, C = problems(seed, dtype=np.float32)
    batch = solve_nqp_batch(H, C, 3)
    assert batch.x.dtype == np.float32
    assert_equals_single(H, C, 3, batch, rtol=1e-3)


@laws
@given(seeds, st.integers(1, 12))
def test_pursue_equals_single(seed, sparsity):
    H, C = problems(seed, n_problems=1)
    indices, values, value = pursue(H, C[0], sparsity, scale=3.0, min_decrease=0.01)
    single = solve_nqp(H, C[0], sparsity, scale=3.0, min_decrease=0.01)
    np.testing.assert_array_equal(indices, single.active)
    np.testing.assert_allclose(values, single.x[indices], rtol=1e-8)
    assert value == pytest.approx(single.value)


def test_stop_tests_equal_single():
    H, C = problems(1)
    rng = np.random.default_rng(1)
    scale, constant = rng.uniform(0.5, 2, 15), rng.uniform(1, 2, 15)
    enough = constant - rng.uniform(5, 15, 15)
    batch = solve_nqp_batch(
        H, C, 20, scale=scale, constant=constant, residual_tol=enough, min_decrease=0.01
    )
    assert {Status.RESIDUAL, Status.SMALL_DECREASE} <= set(batch.status.tolist())
    for i, c in enumerate(C):
        single = solve_nqp(
            H,
            c,
            20,
            scale=scale[i],
            constant=constant[i],
            residual_tol=enough[i],
            min_decrease=0.01,
        )
        np.testing.assert_allclose(batch.x[[i]].toarray()[0], single.x, rtol=1e-9)
        assert batch.status[i] == single.status


def test_max_steps_equals_single():
    H, C = problems(2)
    assert_equals_single(H, C, 9, solve_nqp_batch(H, C, 9, max_steps=3), max_steps=3)


def test_special_matrices_equal_single():
    for H, C in [
        (np.diag([1.0, 0.0]), [[-1.0, -5.0], [1.0, 2.0], [0.0, 0.0]]),
        (np.array([[4.0, 2.0], [2.0, 1.0]]), [[-3.0, -2.0], [-3.0, 0.0]]),
        (np.zeros((2, 2)), [[-1.0, -1.0]]),
        (np.array([[2.0]]), [[-1.0], [1.0]]),
    ]:
        for sparsity in (1, 5):
            assert_equals_single(H, np.array(C), sparsity, solve_nqp_batch(H, C, sparsity))


@pytest.mark.threads
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_result_is_bitwise_the_same_for_any_number_of_threads(dtype):
    H, C = problems(3, 60, 101, dtype=dtype)
    one, two = (solve_nqp_batch(H, C, 8, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.x.data, two.x.data)
    np.testing.assert_array_equal(one.x.indices, two.x.indices)
    np.testing.assert_array_equal(one.value, two.value)


@pytest.mark.threads
def test_thread_limit_is_restored():
    H, C = problems(4)
    before = get_num_threads()
    for n_jobs in (1, 1000, -1, None):
        solve_nqp_batch(H, C, 2, n_jobs=n_jobs)
        assert get_num_threads() == before


def test_solution_is_a_sorted_csr_array():
    H, C = problems(5)
    batch = solve_nqp_batch(H, C, 6)
    assert isinstance(batch.x, sp.csr_array)
    assert batch.x.has_sorted_indices
    assert batch.x.shape == C.shape
    assert batch.status.dtype == np.int8
    assert len(batch.active) == len(C)
    assert all((np.diff(active) > 0).all() for active in batch.active)


def test_zero_problems_give_an_empty_result():
    batch = solve_nqp_batch(np.eye(3), np.zeros((0, 3)), 2)
    assert batch.x.shape == (0, 3)
    assert batch.active == []
    assert batch.value.shape == batch.n_steps.shape == batch.status.shape == (0,)


def test_read_only_and_strided_inputs_work_and_stay_untouched():
    H, C = problems(6, 20)
    expected = solve_nqp_batch(H[::2, ::2].copy(), C[:, ::2].copy(), 3)
    before = H.copy(), C.copy()
    H.flags.writeable = C.flags.writeable = False
    batch = solve_nqp_batch(H[::2, ::2], C[:, ::2], 3)
    np.testing.assert_array_equal(batch.x.toarray(), expected.x.toarray())
    transposed = solve_nqp_batch(np.asfortranarray(H), np.asfortranarray(C), 3)
    np.testing.assert_array_equal(transposed.x.toarray(), solve_nqp_batch(H, C, 3).x.toarray())
    np.testing.assert_array_equal(H, before[0])
    np.testing.assert_array_equal(C, before[1])


def test_inputs_stay_writeable():
    H, C = problems(7)
    solve_nqp_batch(H, C, 2)
    pursue(H, C[0], 2)
    assert H.flags.writeable
    assert C.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((np.eye(2), np.ones(2), 1), {}, r"\(n_problems, n\) with n = 2"),
        ((np.eye(2), np.ones((4, 3)), 1), {}, "one entry per column of H"),
        ((np.eye(2), np.full((4, 2), np.nan), 1), {}, "C contains NaN"),
        ((np.eye(2), np.ones((4, 2)), 1), {"scale": np.ones(3)}, "scale has shape"),
        ((np.eye(2), np.ones((4, 2)), 1), {"scale": -1.0}, "scale must be positive"),
        ((np.eye(2), np.ones((4, 2)), 1), {"n_jobs": 0}, "n_jobs"),
        ((np.triu(np.ones((3, 3))), np.ones((4, 3)), 1), {}, "not symmetric"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_nqp_batch(*arguments, **options)
