"""The laws of every kernel bank."""

import copy
import pickle

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context


def check_bank(bank, X, Y, dense, *, rtol=1e-9):
    """Run all laws on an adapted bank.

    `X` holds samples, `Y` the columns of a cross part as the bank accepts them, and `dense(X, Y)`
    is the slow twin: the stack (n_X, n_Y, n_kernels), for Y = None between the samples of X.
    """
    rng = np.random.default_rng(0)
    before = copy.deepcopy((X, Y))
    full, cross = dense(X, None), dense(X, Y)
    atol = rtol * max(1.0, np.abs(full).max())
    check_shapes(bank, X, full)
    check_twin(bank, X, Y, full, cross, rng, rtol, atol)
    check_new_samples(bank, X, Y, cross, rng)
    check_adjoint(bank, X, Y, full, cross, rng)
    check_symmetric_and_definite(bank, X, rng)
    check_select(bank, X, Y, rng)
    check_zero_weights(bank, X)
    check_take(bank, X, rng, atol)
    check_pairs(bank, X, full, rng, rtol, atol)
    check_contract_pairs(bank, X, full, rng, rtol, atol)
    check_contract_rows(bank, X, full, rng, rtol, atol)
    check_compare_mixes(bank, X, Y, cross, rng, rtol, atol)
    check_diagonal(bank, X, full, rtol, atol)
    check_columns(bank, X, Y)
    check_working_memory(bank, X, Y, rng)
    check_copies(bank, X, Y)
    for old, new in zip(before, (X, Y), strict=True):
        assert_array_equal(numbers_of(old), numbers_of(new))


def numbers_of(samples):
    """The numbers of samples; series and tables have them in `values`, documents in `counts`."""
    counts = getattr(samples, "counts", None)
    return getattr(samples, "values", samples) if counts is None else counts.toarray()


def positive(rng, n):
    return rng.uniform(0.1, 1.0, n)


def check_shapes(bank, X, full):
    assert bank.n_kernels == full.shape[2]
    assert len(bank.kernel_names()) == bank.n_kernels
    kinds = ("vectors", "columns", "tables", "words", "series", "similarities", "anything")
    assert bank.reads in kinds


def check_twin(bank, X, Y, full, cross, rng, rtol, atol):
    weights = rng.standard_normal(bank.n_kernels)
    for other, stack in ((None, full), (Y, cross)):
        assert_allclose(bank.combine(weights, X, other), stack @ weights, rtol=rtol, atol=atol)
        M = rng.standard_normal(stack.shape[:2])
        expected = np.einsum("ijl,ij->l", stack, M)
        assert_allclose(bank.contract(M, X, other), expected, rtol=rtol, atol=atol * M.size)
        last = bank.n_kernels - 1
        assert_allclose(bank.evaluate(last, X, other), stack[:, :, last], rtol=rtol, atol=atol)


def check_new_samples(bank, X, Y, cross, rng):
    weights = positive(rng, bank.n_kernels)
    atol = 1e-12 * weights.sum() * max(1.0, np.abs(cross).max())
    expected = bank.combine(weights, X, Y)
    assert_allclose(bank._compare_new(weights, X, Y), expected, rtol=0, atol=atol)


def check_adjoint(bank, X, Y, full, cross, rng):
    for other, stack in ((None, full), (Y, cross)):
        M = np.asfortranarray(rng.standard_normal(stack.shape[:2]))
        M.flags.writeable = False
        a = rng.standard_normal(bank.n_kernels)
        left = np.vdot(bank.combine(a, X, other), M)
        right = a @ bank.contract(M, X, other)
        size = np.abs(a).sum() * np.abs(M).sum() * max(1.0, np.abs(stack).max())
        assert abs(left - right) <= 1e-12 * size


def check_symmetric_and_definite(bank, X, rng):
    K = bank.combine(positive(rng, bank.n_kernels), X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * max(1.0, np.trace(K))


def check_select(bank, X, Y, rng):
    # Descending, so that a bank which sorts its kernels is noticed.
    chosen = np.arange(bank.n_kernels)[::-1][: bank.n_kernels // 2 + 1]
    smaller = bank.select(chosen)
    weights = np.zeros(bank.n_kernels)
    weights[chosen] = positive(rng, chosen.size)
    assert smaller.n_kernels == chosen.size
    assert smaller.kernel_names() == [bank.kernel_names()[i] for i in chosen]
    for other in (None, Y):
        K = bank.combine(weights, X, other)
        assert_allclose(smaller.combine(weights[chosen], X, other), K, rtol=1e-13, atol=1e-14)
        M = rng.standard_normal(K.shape)
        assert_allclose(
            smaller.contract(M, X, other), bank.contract(M, X, other)[chosen], rtol=1e-12
        )


def check_zero_weights(bank, X):
    assert_array_equal(bank.combine(np.zeros(bank.n_kernels), X), 0.0)


def check_take(bank, X, rng, atol):
    weights = positive(rng, bank.n_kernels)
    K = bank.combine(weights, X)
    some = rng.permutation(K.shape[0])[: max(1, K.shape[0] // 2)]
    assert_allclose(bank.combine(weights, X, bank._take(X, some)), K[:, some], rtol=0, atol=atol)
    part = bank.combine(weights, bank._subset(X, some))
    assert_allclose(part, K[np.ix_(some, some)], rtol=0, atol=atol)


def check_pairs(bank, X, full, rng, rtol, atol):
    rows, columns = rng.integers(0, full.shape[0], (2, 37))
    rows[:3] = columns[:3]
    values = bank.pairs(X, rows, columns)
    assert values.dtype == np.float64
    assert_allclose(values, full[rows, columns], rtol=rtol, atol=atol)
    single = bank.pairs(X, rows, columns, dtype=np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, full[rows, columns], rtol=1e-5, atol=1e-5 * max(1, np.abs(full).max()))
    assert bank.pairs(X, [], []).shape == (0, bank.n_kernels)


def few_rows(rng, n, n_rows=9):
    """Sparse rows over n samples, each with a few entries of both signs, one of them empty."""
    columns = rng.integers(0, n, (n_rows, 4))
    pointers = np.append(np.arange(n_rows) * 4, (n_rows - 1) * 4)
    indices = columns.ravel()[: pointers[-1]]
    rows = sp.csr_array((rng.standard_normal(indices.size), indices, pointers), shape=(n_rows, n))
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    return rows


def check_contract_pairs(bank, X, full, rng, rtol, atol):
    rows, columns = rng.integers(0, full.shape[0], (2, 37))
    rows[:3], columns[:3] = columns[:3], rows[3:6]
    rows[6:9] = columns[6:9]
    values = rng.standard_normal(37)
    for array in (rows, columns, values):
        array.flags.writeable = False
    M = sp.coo_array((values, (rows, columns)), shape=full.shape[:2]).toarray()
    found = bank.contract_pairs(values, X, rows, columns)
    assert found.dtype == np.float64
    assert_allclose(found, np.einsum("ijl,ij->l", full, M), rtol=rtol, atol=37 * atol)
    assert_allclose(found, bank.contract(M, X), rtol=rtol, atol=37 * atol)
    a = rng.standard_normal(bank.n_kernels)
    size = np.abs(a).sum() * np.abs(values).sum() * max(1.0, np.abs(full).max())
    assert abs(np.vdot(bank.combine(a, X), M) - a @ found) <= 1e-12 * size
    assert_array_equal(bank.contract_pairs([], X, [], []), np.zeros(bank.n_kernels))


def check_contract_rows(bank, X, full, rng, rtol, atol):
    n = full.shape[0]
    mixes, weights = few_rows(rng, n, 3), rng.standard_normal(9)
    rows, joined = few_rows(rng, n), few_rows(rng, n + 3)
    written_out = sp.csr_array(joined[:, :n] + joined[:, n:] @ mixes)
    for given, shared, whole in ((rows, None, rows), (joined, mixes, written_out)):
        found = bank.contract_rows(given, weights, X, shared)
        dense = whole.toarray()
        M = (dense.T * weights) @ dense
        bound = atol * max(1.0, (np.abs(weights) * np.abs(dense).sum(axis=1) ** 2).sum())
        assert_allclose(found, np.einsum("ijl,ij->l", full, M), rtol=rtol, atol=bound)
        assert_allclose(found, bank.contract(M, X), rtol=rtol, atol=bound)
        a = rng.standard_normal(bank.n_kernels)
        size = np.abs(a).sum() * np.abs(M).sum() * max(1.0, np.abs(full).max())
        assert abs(np.vdot(bank.combine(a, X), M) - a @ found) <= 1e-12 * size
    assert_array_equal(bank.contract_rows(rows[:0], [], X), np.zeros(bank.n_kernels))
    # Several sums at once, which may be on a grid where one would not be.
    factors = np.column_stack([weights, rng.standard_normal(weights.size)])
    apart = [bank.contract_rows(joined, one, X, mixes) for one in factors.T]
    together = bank.contract_rows(joined, factors, X, mixes)
    assert_allclose(together, np.column_stack(apart), rtol=1e-5, atol=1e-5 + bound)
    chosen = np.arange(bank.n_kernels)[::-1]
    reversed_order = bank.select(chosen).contract_rows(rows, weights, X)
    assert_allclose(reversed_order, bank.contract_rows(rows, weights, X)[chosen], rtol=1e-12)


def check_compare_mixes(bank, X, Y, cross, rng, rtol, atol):
    mixes = few_rows(rng, cross.shape[1], 3)
    expected = np.einsum("ijl,mj->iml", cross, mixes.toarray())
    bound = atol * max(1.0, np.abs(mixes.toarray()).sum(axis=1).max())
    assert_allclose(bank._compare_mixes(X, Y, mixes), expected, rtol=rtol, atol=bound)


def check_diagonal(bank, X, full, rtol, atol):
    diagonal = bank._diagonal(X)
    assert_allclose(diagonal, np.einsum("iil->il", full), rtol=rtol, atol=atol)
    if bank._has_unit_diagonal:
        assert_array_equal(diagonal, 1.0)
        assert diagonal.strides == (0, 0)


def check_columns(bank, X, Y):
    columns = bank._columns
    if columns is None:
        return
    assert_array_equal(columns, np.unique(columns))
    weights = np.ones(bank.n_kernels)
    narrow = bank._on_columns(columns)
    assert_array_equal(
        narrow.combine(weights, X[:, columns], Y[:, columns]), bank.combine(weights, X, Y)
    )
    half = bank.select(np.arange(0, bank.n_kernels, 2))
    narrow = half._on_columns(half._columns)
    weights = np.ones(half.n_kernels)
    assert_array_equal(narrow.combine(weights, X[:, half._columns]), half.combine(weights, X))


def check_working_memory(bank, X, Y, rng):
    # Other banks make no copies of columns.
    if bank.reads not in ("columns", "tables"):
        return
    # Other banks make no copies of columns.
    if bank.reads not in ("columns", "tables"):
        return
    weights = rng.standard_normal(bank.n_kernels)

    def everything():
        K, cross = bank.combine(weights, X), bank.combine(weights, X, Y)
        rng = np.random.default_rng(1)
        rows, columns = rng.integers(0, K.shape[0], (2, 20))
        return (
            K,
            cross,
            bank.contract(rng.standard_normal(K.shape), X),
            bank.contract(rng.standard_normal(cross.shape), X, Y),
            bank.pairs(X, rows, columns),
            bank.contract_pairs(rng.standard_normal(20), X, rows, columns),
            bank.contract_rows(few_rows(rng, K.shape[0]), np.ones(9), X),
        )

    expected = everything()
    with config_context(working_memory=1e-6):
        for found, value in zip(everything(), expected, strict=True):
            assert_array_equal(found, value)


def check_copies(bank, X, Y):
    weights = np.ones(bank.n_kernels)
    expected = bank.combine(weights, X, Y)
    for twin in (copy.deepcopy(bank), pickle.loads(pickle.dumps(bank))):
        assert_array_equal(twin.combine(weights, X, Y), expected)
