import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from imkpl._threads import limited_threads
from imkpl.solvers import Status, nqp, solve_nqp, solve_nqp_batch
from reference.nqp import objective, solve_by_enumeration


@pytest.fixture(autouse=True, scope="module")
def no_problems_are_few():
    """Batches are compiled loops, however short they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nqp, "FEW_PROBLEMS", 0)
        yield


laws = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def problem(seed, n=12, n_rows=None):
    """H = A'A and c = -A'b: least squares with as many rows as asked for."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_rows or 2 * n, n))
    b = A @ np.maximum(rng.normal(size=n), 0) + rng.normal(size=A.shape[0])
    return A.T @ A, -A.T @ b, A, b


@laws
@given(seeds, st.integers(1, 30), st.integers(1, 15), st.integers(1, 30))
def test_solution_is_feasible_and_never_worse_than_zero(seed, n, sparsity, n_rows):
    H, c, *_ = problem(seed, n, n_rows)
    result = solve_nqp(H, c, sparsity)
    assert (result.x >= 0).all()
    assert np.count_nonzero(result.x) == len(result.active) <= sparsity
    assert set(np.flatnonzero(result.x)) == set(result.active)
    assert result.value <= 0
    assert result.value == pytest.approx(objective(H, c, result.x), rel=1e-8, abs=1e-10)


@laws
@given(seeds, st.integers(1, 30), st.integers(1, 15))
def test_gradient_vanishes_on_the_active_set(seed, n, sparsity):
    H, c, *_ = problem(seed, n)
    result = solve_nqp(H, c, sparsity)
    gradient = H @ result.x + c
    size = np.abs(c).max()
    assert np.abs(gradient[result.active]).max(initial=0) <= 1e-10 * size
    if result.status == Status.STATIONARY:
        assert gradient.min() >= -1e-10 * size


@laws
@given(seeds, st.integers(2, 25))
def test_objective_falls_with_every_step(seed, n):
    H, c, *_ = problem(seed, n, n)
    value = 0.0
    for n_steps in range(1, solve_nqp(H, c, n).n_steps + 1):
        result = solve_nqp(H, c, n, residual_tol=np.nextafter(value, -np.inf))
        assert result.n_steps == n_steps
        value = result.value


@laws
@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.01, 100))
def test_equals_enumeration_when_matrix_is_multiple_of_identity(seed, n, sparsity, factor):
    c = np.random.default_rng(seed).normal(size=n)
    result = solve_nqp(factor * np.eye(n), c, sparsity)
    best, value = solve_by_enumeration(factor * np.eye(n), c, sparsity)
    np.testing.assert_allclose(result.x, best, atol=1e-12)
    assert result.value == pytest.approx(value)


@laws
@given(seeds, st.integers(1, 6), st.integers(1, 4))
def test_never_better_than_enumeration(seed, n, sparsity):
    H, c, *_ = problem(seed, n)
    _, best = solve_by_enumeration(H, c, sparsity)
    assert solve_nqp(H, c, sparsity).value >= best - 1e-9 * abs(best)


def test_greedy_pick_can_be_worse_than_enumeration():
    H, c = np.diag([100.0, 1.0]), np.array([-5.0, -2.0])
    assert solve_nqp(H, c, 1).value > solve_by_enumeration(H, c, 1)[1]


@laws
@given(seeds, st.integers(1, 20))
def test_full_budget_equals_nnls(seed, n):
    H, c, A, b = problem(seed, n, 3 * n)
    np.testing.assert_allclose(solve_nqp(H, c, n).x, nnls(A, b)[0], atol=1e-8)


@laws
@given(seeds, st.sampled_from([1e-8, 1e-4, 1e4, 1e8]))
def test_scaling_matrix_and_vector_together_changes_nothing(seed, factor):
    H, c, *_ = problem(seed)
    one, two = solve_nqp(H, c, 5), solve_nqp(factor * H, factor * c, 5)
    np.testing.assert_array_equal(one.active, two.active)
    np.testing.assert_allclose(one.x, two.x, rtol=1e-9)
    assert two.value == pytest.approx(factor * one.value)
    assert one.status == two.status


@laws
@given(seeds)
def test_permuting_the_columns_permutes_the_solution(seed):
    H, c, *_ = problem(seed)
    order = np.random.default_rng(seed).permutation(len(c))
    moved = solve_nqp(H[np.ix_(order, order)], c[order], 5)
    np.testing.assert_allclose(moved.x, solve_nqp(H, c, 5).x[order], rtol=1e-9)


@laws
@given(seeds, st.floats(1e-6, 1e6))
def test_scale_equals_passing_the_scaled_matrix(seed, scale):
    H, c, *_ = problem(seed)
    one, two = solve_nqp(H, c, 5, scale=scale), solve_nqp(scale * H, c, 5)
    np.testing.assert_allclose(one.x, two.x, rtol=1e-9)
    assert one.value == pytest.approx(two.value)


def test_entries_leave_at_a_zero_crossing():
    # The first pick is between the two other columns and is not needed beside them.
    A = np.array([[1.0, 0.0, 1.2], [0.0, 1.0, 1.2], [0.0, 0.0, 0.1]])
    b = np.array([1.0, 1.0, -0.2])
    result = solve_nqp(A.T @ A, -A.T @ b, 3)
    assert result.n_steps > len(result.active)
    np.testing.assert_allclose(result.x, nnls(A, b)[0], atol=1e-12)


def test_duplicated_columns_enter_once():
    H, c, *_ = problem(0, 6)
    twice = np.r_[0:6, 0:6]
    result = solve_nqp(H[np.ix_(twice, twice)], c[twice], 12)
    assert len(set(result.active % 6)) == len(result.active)
    assert result.value == pytest.approx(solve_nqp(H, c, 6).value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_low_rank_matrix_gives_finite_optimum(dtype):
    H, c, A, b = problem(1, 30, 5)
    result = solve_nqp(H.astype(dtype), c.astype(dtype), 30)
    assert np.isfinite(result.x).all()
    assert len(result.active) <= 5
    best = 0.5 * nnls(A, b)[1] ** 2 - 0.5 * b @ b
    assert result.value == pytest.approx(best, rel=1e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize(
    ("H", "c", "sparsity", "x", "status"),
    [
        # c is not in the range of H: along (1, -1) f falls without end, and the pursuit must not.
        (np.ones((2, 2)), [-2.0, -3.0], 2, [0, 3], Status.STATIONARY),
        ([[1.0, 2.0], [2.0, 4.0]], [-3.0, -7.0], 2, [0, 1.75], Status.STATIONARY),
        ([[4.0, 2.0], [2.0, 1.0]], [-3.0, -2.0], 2, [0.75, 0], Status.DEPENDENT),
        # Columns of zeros are never chosen.
        (np.diag([1.0, 0.0]), [-1.0, -5.0], 2, [1, 0], Status.DEPENDENT),
        (np.zeros((3, 3)), -np.ones(3), 2, [0, 0, 0], Status.DEPENDENT),
        # Nothing to gain, more entries than there are, one dimension.
        (np.eye(2), [1.0, 2.0], 1, [0, 0], Status.STATIONARY),
        (np.eye(2), [0.0, 0.0], 1, [0, 0], Status.STATIONARY),
        (np.eye(2), [-1.0, -1.0], 10, [1, 1], Status.STATIONARY),
        ([[4]], [-2], 1, [0.5], Status.SPARSITY),
    ],
)
def test_special_problems(H, c, sparsity, x, status):
    result = solve_nqp(H, c, sparsity)
    np.testing.assert_allclose(result.x, x)
    assert result.x.dtype == np.float64
    assert result.status == status


def test_lowest_index_wins_a_tie():
    assert solve_nqp(np.eye(3), [0.0, -1.0, -1.0], 1).active.tolist() == [1]


def test_residual_tolerance_stops_the_pursuit():
    H, c, A, b = problem(5)
    result = solve_nqp(2 * H, 2 * c, 12, residual_tol=-0.5 * b @ b)
    assert result.status == Status.RESIDUAL
    distance = np.sum((b - A @ result.x) ** 2)
    assert distance == pytest.approx(b @ b + result.value)
    assert distance <= 0.5 * b @ b
    assert len(result.active) < len(solve_nqp(2 * H, 2 * c, 12).active)


def test_a_residual_that_is_small_at_once_takes_no_step():
    result = solve_nqp(np.eye(2), [-1.0, 0.0], 1, residual_tol=0.0)
    assert result.status == Status.RESIDUAL
    assert not result.x.any()


def test_too_many_steps_end_the_pursuit(monkeypatch):
    monkeypatch.setattr(nqp, "STEPS_PER_ENTRY", 0)
    H, c, *_ = problem(6)
    assert solve_nqp(H, c, 12).status == Status.MAX_STEPS
    assert solve_nqp_batch(H, [c], 12).status == Status.MAX_STEPS


I2, ONES = np.eye(2), np.ones((4, 2))


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((np.ones((2, 3)), np.ones(2), 1), {}, "square matrix"),
        ((np.zeros((0, 0)), np.ones(0), 1), {}, "square matrix"),
        ((np.array([[1.0, 0.5], [0.0, 1.0]]), np.ones(2), 1), {}, "not symmetric"),
        ((np.array([[1.0, np.nan], [np.nan, 1.0]]), np.ones(2), 1), {}, "H contains NaN"),
        ((-I2, np.ones(2), 1), {}, "negative diagonal"),
        ((I2, np.ones(3), 1), {}, "one entry per column of H"),
        ((I2, ONES, 1), {}, "one entry per column of H"),
        ((I2, np.array([1.0, np.inf]), 1), {}, "c contains NaN or infinite"),
        ((I2, np.ones(2), 0), {}, "sparsity is 0"),
        ((I2, np.ones(2), 1.5), {}, "positive integer"),
        ((I2, np.ones(2) * 1j, 1), {}, "must be real"),
        ((I2, np.ones(2), 1), {"scale": 0.0}, "scale must be a positive"),
        ((I2, np.ones(2), 1), {"scale": np.ones(2)}, "scale must be a positive, finite number"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_nqp(*arguments, **options)


@pytest.mark.parametrize(
    ("C", "sentence"),
    [(np.ones(2), r"\(n_problems, n\) with n = 2"), (np.full((4, 2), np.nan), "C contains NaN")],
)
def test_bad_batches_are_refused_with_a_sentence(C, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_nqp_batch(I2, C, 1)


@pytest.mark.parametrize("solve", [solve_nqp, lambda H, c, s: solve_nqp_batch(H, [c], s)])
def test_solutions_that_overflow_are_refused(solve):
    with pytest.raises(ValueError, match=r"solution overflows: c is too large .* Divide c by"):
        solve(1e-200 * np.eye(2), np.array([-1e200, -1.0]), 2)


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
    batch = solve_nqp_batch(H.astype(np.float32), C.astype(np.float32), 3)
    assert batch.x.dtype == np.float32
    np.testing.assert_allclose(batch.value, solve_nqp_batch(H, C, 3).value, rtol=1e-3, atol=1e-3)


@laws
@given(seeds, st.integers(0, 16), st.integers(1, 15))
def test_few_problems_equal_the_same_ones_among_many(seed, n_few, sparsity):
    H, C = problems(seed, n_problems=20)
    options = {"scale": 0.7, "residual_tol": -4.0}
    many = solve_nqp_batch(H, C, sparsity, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nqp, "FEW_PROBLEMS", 16)
        few = solve_nqp_batch(H, C[:n_few], sparsity, **options)
    dense = many.x.toarray()[:n_few]
    np.testing.assert_allclose(few.x.toarray(), dense, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(few.value, many.value[:n_few], rtol=1e-9)
    np.testing.assert_array_equal(few.n_steps, many.n_steps[:n_few])
    np.testing.assert_array_equal(few.status, many.status[:n_few])


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
@given(seeds, st.integers(1, 12))
def test_pursue_equals_single(seed, sparsity):
    H, C = problems(seed, n_problems=1)
    indices, values, value = nqp.pursue(H, C[0], sparsity, scale=3.0)
    single = solve_nqp(H, C[0], sparsity, scale=3.0)
    np.testing.assert_array_equal(indices, single.active)
    np.testing.assert_allclose(values, single.x[indices], rtol=1e-8)
    assert value == pytest.approx(single.value)


def test_residual_tolerances_equal_single():
    H, C = problems(1)
    for scale, enough in ((0.5, -10.0), (2.0, -3.0)):
        options = {"scale": scale, "residual_tol": enough}
        batch = solve_nqp_batch(H, C, 20, **options)
        assert Status.RESIDUAL in batch.status
        assert_equals_single(H, C, 20, batch, **options)


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
    with limited_threads(1):
        one = solve_nqp_batch(H, C, 8)
    two = solve_nqp_batch(H, C, 8)
    np.testing.assert_array_equal(one.x.data, two.x.data)
    np.testing.assert_array_equal(one.x.indices, two.x.indices)
    np.testing.assert_array_equal(one.value, two.value)


def test_batch_solution_is_a_sorted_csr_array():
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


def test_read_only_strided_and_transposed_inputs_work_and_stay_untouched():
    H, C = problems(6, 20)
    expected = solve_nqp_batch(H[::2, ::2].copy(), C[:, ::2].copy(), 3).x.toarray()
    before = H.copy(), C.copy()
    assert nqp.pursue(H, C[0], 2)[2] < 0
    assert H.flags.writeable
    assert C.flags.writeable
    H.flags.writeable = C.flags.writeable = False
    np.testing.assert_array_equal(solve_nqp_batch(H[::2, ::2], C[:, ::2], 3).x.toarray(), expected)
    np.testing.assert_allclose(solve_nqp(H[::2, ::2], C[0, ::2], 3).x, expected[0])
    transposed = solve_nqp_batch(np.asfortranarray(H), np.asfortranarray(C), 3)
    np.testing.assert_array_equal(transposed.x.toarray(), solve_nqp_batch(H, C, 3).x.toarray())
    np.testing.assert_array_equal(H, before[0])
    np.testing.assert_array_equal(C, before[1])
