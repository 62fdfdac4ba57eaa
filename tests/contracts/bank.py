"""The laws of every kernel bank, and of the kernels that it makes."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from imkpl._threads import count_threads, limited_threads
from imkpl.kernels.base import count_samples
from imkpl.kernels.forms import Form

KINDS = ("vectors", "columns", "tables", "words", "series", "similarities", "anything")


def check_bank(bank, X, Y, dense, *, rtol=1e-9):
    """Bind a bank to the training samples X, run all laws, and return the bound kernels.

    `X` and `Y` are what users pass: the training part, and new samples (for precomputed kernels
    their similarities to the training part). `dense(A, B)` is the slow twin: the stack
    (n_A, n_B, n_kernels) between samples such as X or Y, for B = None between the samples of A. It
    is called with (X, None) and with (Y, X).
    """
    before = copy.deepcopy((X, Y))
    kernels, new = bank.on(X), check_reading(bank, X, Y)
    check_kernels(kernels, dense(X, None), new, dense(Y, X), rtol=rtol)
    norms = kernels.cross(new).diagonal()
    if not kernels.has_unit_diagonal:
        expected = np.einsum("iil->il", dense(Y, None))
        assert_allclose(norms, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    assert norms.shape == (count_samples(new), kernels.n_kernels)
    check_frozen(bank)
    twin = pickle.loads(pickle.dumps(bank)).on(X)
    weights = np.ones(kernels.n_kernels)
    assert_array_equal(twin.combine(weights), kernels.combine(weights))
    for old, now in zip(before, (X, Y), strict=True):
        assert comparable(old) == comparable(now)
    return kernels


def check_kernels(kernels, full, new=None, crossed=None, *, rtol=1e-9):
    """Run all laws on square kernels.

    `full` is the slow twin, `crossed` that between `new` samples, as `read` returns them, and those
    of the kernels; both None for kernels that cannot be compared with new samples.
    """
    rng = np.random.default_rng(0)
    atol = rtol * max(1.0, np.abs(full).max())
    bounds = {"rtol": rtol, "atol": atol}
    assert kernels.is_square
    assert kernels.input_kind in KINDS
    check_operator(kernels, full, rng, **bounds)
    check_symmetric_and_definite(kernels, rng)
    check_pairs(kernels, full, rng, **bounds)
    check_contract_pairs(kernels, full, rng, **bounds)
    check_contract_rows(kernels, full, rng, **bounds)
    check_diagonal(kernels, full, rng, **bounds)
    check_subsets(kernels, full, rng, **bounds)
    check_operator(kernels.tabulated(), full, rng, **bounds)
    check_single_precision(kernels, full, rng)
    check_working_memory(kernels, rng)
    check_frozen(kernels)
    check_copies(kernels)
    check_shown(kernels)
    if new is not None:
        check_cross(kernels, new, crossed, rng, **bounds)
        check_narrowed(kernels, new, rng)


def positive(rng, n):
    return rng.uniform(0.1, 1.0, n)


def some_of(rng, n):
    return rng.permutation(n)[: max(1, n // 2)]


def comparable(samples):
    """The values of samples as text; tables and series have them in `values`, words in `counts`."""
    if hasattr(samples, "counts"):
        samples = samples.counts.toarray()
    samples = samples.toarray() if sp.issparse(samples) else getattr(samples, "values", samples)
    return samples.tobytes() if getattr(samples, "dtype", None) == np.float64 else repr(samples)


# How samples are read


def check_reading(bank, X, Y):
    """New samples as `read` returns them; a training part has two samples at least."""
    if count_samples(X) < 2:
        return Y
    kind = bank.kind
    samples, form = kind.read(X, Form())
    new, same = kind.read(Y, form)
    assert same.n_features == form.n_features
    kernels = bank.on(samples)
    weights = np.ones(kernels.n_kernels)
    assert_array_equal(kernels.combine(weights), bank.on(X).combine(weights))
    check_equal(kind, samples, kernels.shape[0])
    check_weights(bank, samples, min(kernels.shape[0], 7))
    rows = np.arange(kernels.shape[0])[::-1][:-1]
    some = bank.on_rows(samples, rows, np.ones(rows.size))
    assert some.combine(np.ones(some.n_kernels)).shape == (rows.size, rows.size)
    assert some.cross(new).combine(np.ones(some.n_kernels)).shape == (count_samples(new), rows.size)
    return new


def check_weights(bank, samples, n_samples):
    """An integer weight is so many copies of a sample; of weight zero, nothing is learned."""
    counts = np.arange(1, n_samples + 1) % 4
    copies = np.repeat(np.arange(n_samples), counts)
    weighted = bank.on_rows(samples, np.arange(n_samples), counts)
    copied = bank.on_rows(samples, copies, np.ones(copies.size))
    assert weighted.kernel_names() == copied.kernel_names()
    kept, weights = np.flatnonzero(counts), np.ones(copied.n_kernels)
    expected = copied.take(np.searchsorted(copies, kept)).combine(weights)
    assert_allclose(weighted.take(kept).combine(weights), expected, rtol=1e-9, atol=1e-12)


def check_equal(kind, samples, n_samples):
    rows = np.append(np.arange(n_samples), 0)
    for label in (0, 1):
        labels = np.zeros(n_samples + 1, dtype=np.intp)
        labels[-1] = label
        first, groups = kind.find_equal(samples, rows, labels)
        assert_array_equal(groups[first], np.arange(first.size))
        assert_array_equal(labels[first[groups]], labels)
        # Where samples can be equal, a sample is equal to itself.
        is_told_apart = first.size == rows.size
        assert is_told_apart or (groups[0] == groups[-1]) == (label == 0)


# The operator, its adjoint, and the kernels one by one


def check_operator(kernels, stack, rng, *, rtol, atol):
    """What kernels of any shape promise, against the slow twin of that shape."""
    bounds = {"rtol": rtol, "atol": atol}
    assert kernels.shape == stack.shape[:2]
    assert kernels.n_kernels == stack.shape[2]
    names = kernels.kernel_names()
    assert len(names) == kernels.n_kernels
    weights, largest = rng.standard_normal(kernels.n_kernels), max(1.0, np.abs(stack).max())
    K = kernels.combine(weights)
    assert_allclose(K, stack @ weights, **bounds)
    size = np.abs(weights).sum() * largest
    assert_allclose(kernels.combine_few(weights), K, rtol=0, atol=1e-12 * size)
    M = np.asfortranarray(rng.standard_normal(stack.shape[:2]))
    M.flags.writeable = False
    products = kernels.contract(M)
    assert_allclose(products, np.einsum("ijl,ij->l", stack, M), rtol=rtol, atol=atol * M.size)
    assert abs(np.vdot(K, M) - weights @ products) <= 1e-12 * size * np.abs(M).sum()
    last = kernels.n_kernels - 1
    assert_allclose(kernels.evaluate(last), stack[:, :, last], **bounds)
    assert_array_equal(kernels.combine(np.zeros(kernels.n_kernels)), 0.0)
    # Descending, so that kernels which are sorted are noticed.
    chosen = np.arange(kernels.n_kernels)[::-1][: kernels.n_kernels // 2 + 1]
    smaller, spread = kernels.select(chosen), np.zeros(kernels.n_kernels)
    spread[chosen] = positive(rng, chosen.size)
    assert smaller.n_kernels == chosen.size
    assert smaller.kernel_names() == [names[i] for i in chosen]
    whole = kernels.combine(spread)
    assert_allclose(smaller.combine(spread[chosen]), whole, rtol=1e-13, atol=1e-14)
    assert_allclose(smaller.contract(M), products[chosen], rtol=1e-12, atol=1e-13 * largest)
    check_compare_mixes(kernels, stack, rng, **bounds)


def check_compare_mixes(kernels, stack, rng, *, rtol, atol):
    mixes = few_rows(rng, stack.shape[1], 3)
    expected = np.einsum("ijl,mj->iml", stack, mixes.toarray())
    bound = atol * max(1.0, np.abs(mixes.toarray()).sum(axis=1).max())
    assert_allclose(kernels.compare_mixes(mixes), expected, rtol=rtol, atol=bound)


def check_symmetric_and_definite(kernels, rng):
    K = kernels.combine(positive(rng, kernels.n_kernels))
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * max(1.0, np.trace(K))
    one = kernels.evaluate(0)
    assert_array_equal(one, one.T)


def check_pairs(kernels, full, rng, *, rtol, atol):
    rows, columns = rng.integers(0, full.shape[0], (2, 37))
    rows[:3] = columns[:3]
    values = kernels.pairs(rows, columns)
    assert values.dtype == np.float64
    assert_allclose(values, full[rows, columns], rtol=rtol, atol=atol)
    single = kernels.pairs(rows, columns, dtype=np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, full[rows, columns], rtol=1e-5, atol=1e-5 * max(1, np.abs(full).max()))
    assert kernels.pairs([], []).shape == (0, kernels.n_kernels)


def check_contract_pairs(kernels, full, rng, *, rtol, atol):
    rows, columns = rng.integers(0, full.shape[0], (2, 37))
    rows[:3], columns[:3] = columns[:3], rows[3:6]
    rows[6:9] = columns[6:9]
    values = rng.standard_normal(37)
    for array in (rows, columns, values):
        array.flags.writeable = False
    M = sp.coo_array((values, (rows, columns)), shape=full.shape[:2]).toarray()
    found = kernels.contract_pairs(values, rows, columns)
    assert found.dtype == np.float64
    assert_allclose(found, np.einsum("ijl,ij->l", full, M), rtol=rtol, atol=37 * atol)
    assert_allclose(found, kernels.contract(M), rtol=rtol, atol=37 * atol)
    a = rng.standard_normal(kernels.n_kernels)
    size = np.abs(a).sum() * np.abs(values).sum() * max(1.0, np.abs(full).max())
    assert abs(np.vdot(kernels.combine(a), M) - a @ found) <= 1e-12 * size
    assert_array_equal(kernels.contract_pairs([], [], []), np.zeros(kernels.n_kernels))


def few_rows(rng, n, n_rows=9):
    """Sparse rows over n samples, each with a few entries of both signs, one of them empty."""
    columns = rng.integers(0, n, (n_rows, 4))
    pointers = np.append(np.arange(n_rows) * 4, (n_rows - 1) * 4)
    indices = columns.ravel()[: pointers[-1]]
    rows = sp.csr_array((rng.standard_normal(indices.size), indices, pointers), shape=(n_rows, n))
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    return rows


def check_contract_rows(kernels, full, rng, *, rtol, atol):
    n = full.shape[0]
    mixes, weights = few_rows(rng, n, 3), rng.standard_normal(9)
    rows, joined = few_rows(rng, n), few_rows(rng, n + 3)
    written_out = sp.csr_array(joined[:, :n] + joined[:, n:] @ mixes)
    for given, shared, whole in ((rows, None, rows), (joined, mixes, written_out)):
        found = kernels.contract_rows(given, weights, shared)
        dense = whole.toarray()
        M = (dense.T * weights) @ dense
        bound = atol * max(1.0, (np.abs(weights) * np.abs(dense).sum(axis=1) ** 2).sum())
        assert_allclose(found, np.einsum("ijl,ij->l", full, M), rtol=rtol, atol=bound)
        assert_allclose(found, kernels.contract(M), rtol=rtol, atol=bound)
        a = rng.standard_normal(kernels.n_kernels)
        size = np.abs(a).sum() * np.abs(M).sum() * max(1.0, np.abs(full).max())
        assert abs(np.vdot(kernels.combine(a), M) - a @ found) <= 1e-12 * size
    assert_array_equal(kernels.contract_rows(rows[:0], []), np.zeros(kernels.n_kernels))
    # Several sums at once, which may be on a grid where one would not be.
    factors = np.column_stack([weights, rng.standard_normal(weights.size)])
    apart = [kernels.contract_rows(joined, one, mixes) for one in factors.T]
    together = kernels.contract_rows(joined, factors, mixes)
    assert_allclose(together, np.column_stack(apart), rtol=1e-5, atol=1e-5 + bound)
    chosen = np.arange(kernels.n_kernels)[::-1]
    reversed_order = kernels.select(chosen).contract_rows(rows, weights)
    assert_allclose(reversed_order, kernels.contract_rows(rows, weights)[chosen], rtol=1e-12)


def check_diagonal(kernels, full, rng, *, rtol, atol):
    diagonal, expected = kernels.diagonal(), np.einsum("iil->il", full)
    assert_allclose(diagonal, expected, rtol=rtol, atol=atol)
    shares = rng.dirichlet(np.ones(full.shape[0]))
    assert_allclose(kernels.mean_diagonal(shares), shares @ expected, rtol=rtol, atol=atol)
    if kernels.has_unit_diagonal:
        assert_array_equal(diagonal, 1.0)
        assert diagonal.strides == (0, 0)


# The same kernels on other samples


def check_subsets(kernels, full, rng, *, rtol, atol):
    bounds = {"rtol": rtol, "atol": atol}
    some, others = some_of(rng, full.shape[0]), some_of(rng, full.shape[0])
    part = kernels.take(some)
    assert part.is_square
    check_operator(part, full[np.ix_(some, some)], rng, **bounds)
    check_pairs(part, full[np.ix_(some, some)], rng, **bounds)
    check_diagonal(part, full[np.ix_(some, some)], rng, **bounds)
    again = some_of(rng, some.size)
    check_operator(part.take(again), full[np.ix_(some[again], some[again])], rng, **bounds)
    check_operator(part.between(None, again), full[np.ix_(some, some[again])], rng, **bounds)
    # A sample may be listed twice.
    twice = np.append(others, others[:1])
    check_operator(kernels.take(twice), full[np.ix_(twice, twice)], rng, **bounds)
    for rows in (None, some):
        block = kernels.between(rows, twice)
        assert not block.is_square
        everyone = np.arange(full.shape[0]) if rows is None else rows
        check_operator(block, full[np.ix_(everyone, twice)], rng, **bounds)


def check_cross(kernels, new, crossed, rng, *, rtol, atol):
    bounds = {"rtol": rtol, "atol": atol}
    block = kernels.cross(new)
    assert not block.is_square
    check_operator(block, crossed, rng, **bounds)
    some = some_of(rng, kernels.shape[1])
    support = kernels.take(some)
    check_operator(support.cross(new), crossed[:, some], rng, **bounds)
    again = some_of(rng, some.size)
    check_operator(support.take(again).cross(new), crossed[:, some[again]], rng, **bounds)


def check_narrowed(kernels, new, rng):
    """Kernels that are kept compare new samples with all input columns like those before."""
    columns = kernels.input_columns
    assert columns is None or np.array_equal(columns, np.unique(columns))
    support = kernels.take(some_of(rng, kernels.shape[0]))
    for some in (support, support.select(np.arange(0, kernels.n_kernels, 2))):
        narrow, weights = some.narrowed(), np.ones(some.n_kernels)
        assert narrow.shape == some.shape
        assert narrow.kernel_names() == some.kernel_names()
        assert_array_equal(narrow.kernel_columns, some.kernel_columns)
        assert_array_equal(narrow.input_columns, some.input_columns)
        expected = some.cross(new).combine(weights)
        for kept in (narrow, narrow.narrowed(), pickle.loads(pickle.dumps(narrow))):
            assert_array_equal(kept.cross(new).combine(weights), expected)
        half = np.arange(0, some.n_kernels, 2)
        expected = some.select(half).cross(new).combine(weights[half])
        assert_array_equal(
            narrow.select(half).narrowed().cross(new).combine(weights[half]), expected
        )


def check_single_precision(kernels, full, rng):
    weights = positive(rng, kernels.n_kernels)
    expected = full @ weights
    found = kernels.in_single_precision().combine(weights)
    assert_allclose(found, expected, rtol=0, atol=2e-6 * max(1.0, np.abs(expected).max()))


def check_working_memory(kernels, rng):
    # Other kernels make no copies of columns; sums over words start again with every block.
    if kernels.input_kind not in ("columns", "tables", "words"):
        return
    rounding = 1e-12 if kernels.input_kind == "words" else 0.0
    weights, some = rng.standard_normal(kernels.n_kernels), some_of(rng, kernels.shape[0])

    def everything():
        rng, block = np.random.default_rng(1), kernels.between(None, some)
        rows, columns = rng.integers(0, kernels.shape[0], (2, 20))
        return (
            kernels.combine(weights),
            block.combine(weights),
            kernels.contract(rng.standard_normal(kernels.shape)),
            block.contract(rng.standard_normal(block.shape)),
            kernels.pairs(rows, columns),
            kernels.contract_pairs(rng.standard_normal(20), rows, columns),
            kernels.contract_rows(few_rows(rng, kernels.shape[0]), np.ones(9)),
        )

    expected = everything()
    with config_context(working_memory=1e-6):
        for found, value in zip(everything(), expected, strict=True):
            assert_allclose(found, value, rtol=rounding, atol=rounding)


def check_threads(compute):
    """Any number of threads gives the same bits of all arrays that are computed."""
    with limited_threads(1):
        expected = compute()
    for n in range(2, count_threads() + 1):
        with limited_threads(n):
            for found, value in zip(compute(), expected, strict=True):
                assert_array_equal(found, value)


# Plain objects


def check_frozen(thing):
    assert dataclasses.is_dataclass(thing)
    with pytest.raises(dataclasses.FrozenInstanceError):
        thing.anything_else = 1


def check_copies(kernels):
    weights = np.ones(kernels.n_kernels)
    expected = kernels.combine(weights)
    for twin in (copy.deepcopy(kernels), pickle.loads(pickle.dumps(kernels))):
        assert_array_equal(twin.combine(weights), expected)
        assert twin.kernel_names() == kernels.kernel_names()


def check_shown(kernels):
    """What is shown of samples has one entry per sample or per kernel."""
    keys = kernels.take([0, 0]).keys()
    assert keys is None or (len(keys) == 2 and keys[0] == keys[1])
    for entries in (kernels.cells(0), kernels.vocabularies(), kernels.kernel_columns):
        assert entries is None or len(entries) == kernels.n_kernels
    ranges = kernels.ranges()
    assert ranges is None or ranges.shape == (kernels.input_columns.size, 2)
