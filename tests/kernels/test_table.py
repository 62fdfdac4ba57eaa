"""Kernels on columns of tables against the sentences of their rule."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import PerColumn
from imkpl.kernels.forms import Form
from imkpl.kernels.table import TableKernels
from imkpl.tables import read_table
from reference.kernels import column_stack

WORDS = ("red", "green", "blue", "grey", "pink")


def make_rows(seed=0, n=41, n_words=4, missing=0.2):
    """Rows of cells: numbers, words, both with missing cells (words first), codes."""
    rng = np.random.default_rng(seed)

    def some(values):
        return [None if rng.random() < missing else value for value in values]

    words = [WORDS[i] for i in rng.integers(0, n_words, n)]
    columns = (
        rng.standard_normal(n).tolist(),
        words,
        some(words[::-1]),
        some(rng.standard_normal(n).tolist()),
        [f"code {code}" for code in rng.integers(0, 3, n)],
    )
    return [list(row) for row in zip(*columns, strict=True)]


CATEGORICAL = (1, 2, 4)


def cells_of(table):
    return [table.display_values(row) for row in range(len(table))]


def dense_twin(train, categorical=CATEGORICAL):
    def dense(X, Y):
        rows = cells_of(X)
        return column_stack(rows, rows if Y is None else cells_of(Y), train, categorical)

    return dense


def evaluate(kernels, index, new):
    """A kernel between new rows and the samples of the kernels."""
    return kernels.cross(read_table(new)).evaluate(index)


@pytest.fixture
def tables():
    # Fewer words in training than among the new rows.
    train, new = make_rows(0, 41), make_rows(1, 19, n_words=5)
    return train, read_table(train), read_table(new)


@pytest.fixture
def kernels(tables):
    return PerColumn().on(tables[1])


def test_laws(tables):
    train, X, Y = tables
    assert any("pink" in row for row in cells_of(Y))
    check_bank(PerColumn(), X, Y, dense_twin(train), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 30),
    m=st.integers(1, 20),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_laws_for_any_shape(n, m, missing, seed):
    train, new = make_rows(seed, n, missing=missing), make_rows(seed + 1, m, n_words=5)
    # What a missing cell means was not learned where none was missing.
    has_gaps = [any(row[i] is None for row in train) for i in range(len(train[0]))]
    new = [
        [train[0][i] if cell is None and not has_gaps[i] else cell for i, cell in enumerate(row)]
        for row in new
    ]
    X = read_table(train)
    # A column of missing words is numeric to the reader.
    new = read_table(new)[:, [0, 1, 3, 4]]
    X, train = X[:, [0, 1, 3, 4]], [[*row[:2], *row[3:]] for row in train]
    check_bank(PerColumn(), X, new, dense_twin(train, (1, 3)), rtol=1e-11)


def test_every_path_is_right_for_many_categories():
    # So many that on a grid the samples have to be placed in groups, and numbers of codes large.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, (400, 3)).astype(float)
    codes[:, 1] = rng.integers(0, 2, 400)
    X = read_table(np.char.add("c", codes.astype(int).astype(str)))
    kernels = PerColumn().on(X)
    K = np.stack([np.equal.outer(c, c).astype(float) for c in codes.T], axis=-1)
    weights = rng.uniform(0.1, 1.0, 3)
    assert_allclose(kernels.combine(weights), K @ weights, rtol=1e-15, atol=1e-250)
    single = kernels.in_single_precision().combine(weights)
    assert single.dtype == np.float32
    assert_allclose(single, K @ weights, rtol=1e-6, atol=1e-25)
    M = rng.standard_normal((400, 400))
    assert_allclose(kernels.contract(M), np.einsum("ijl,ij->l", K, M), rtol=1e-11)
    rows = sp.random_array((500, 400), density=0.5, format="csr", rng=rng)
    signs = rng.standard_normal(500)
    exact = np.einsum("ijl,ij->l", K, (rows.T * signs) @ rows.toarray())
    bound = 1e-6 * (np.abs(signs) * np.abs(rows).sum(axis=1) ** 2).sum()
    found = kernels.contract_rows(rows, signs)
    assert_allclose(found, exact, rtol=0, atol=bound)
    # Other than the exact sum: the grid was used.
    assert np.all(found != exact)


def test_categories_not_seen_in_training_are_like_no_training_sample():
    # Among themselves, and beside others, each is a category of its own.
    kernels = PerColumn().on([["a"], ["b"]])
    new = kernels.cross(read_table([["z"], ["y"], ["z"], ["a"]])).take(np.arange(4))
    expected = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert_allclose(new.evaluate(0), expected, atol=1e-200)
    assert_allclose(evaluate(new.take([1]), 0, [["w"], ["y"]]), [[0], [1]], atol=1e-200)


def test_kernels_do_not_depend_on_the_order_of_rows_or_on_names_of_categories(tables, kernels):
    train = tables[0]
    weights = np.arange(1.0, 1 + kernels.n_kernels)
    K = kernels.combine(weights)
    order = np.random.default_rng(0).permutation(len(train))
    shuffled = PerColumn().on([train[i] for i in order])
    assert_allclose(shuffled.combine(weights), K[np.ix_(order, order)], rtol=1e-13)
    other = dict(zip(WORDS, ("z", "a", "q", "b", "c"), strict=True))
    renamed = [
        [other.get(cell, cell) if isinstance(cell, str) else cell for cell in r] for r in train
    ]
    assert_allclose(PerColumn().on(renamed).combine(weights), K, rtol=1e-13)


def test_what_is_shown_of_a_row():
    frame = pd.DataFrame({"age": [31, None, 54], "sex": ["f", "m", None], "size": [1, 2, 3]})
    kernels = PerColumn().on(frame)
    assert kernels.kernel_names() == ["age", "sex", "size", "age is missing", "sex is missing"]
    assert kernels.cells(1) == [None, "m", 2.0, True, False]
    assert kernels.values(2, ["age", "sex", "size"]) == {"age": 54.0, "sex": None, "size": 3}
    assert kernels.vocabularies() == (None, ("f", "m", None), None, None, None)
    assert_array_equal(kernels.ranges(), [[31, 54], [np.nan, np.nan], [1, 3]])
    narrow = kernels.select([4, 2]).narrowed()
    assert narrow.samples.shape == (3, 2)
    assert narrow.cells(1) == [False, 2]
    assert narrow.kernel_names(["a", "b", "c"]) == ["b is missing", "c"]
    assert_array_equal(narrow.ranges(), [[np.nan, np.nan], [1, 3]])


def test_equal_rows_are_found_and_have_equal_keys():
    table = read_table([["b", None], ["a", 1.0], ["b", None], ["a", 1.0]])
    labels = np.array([0, 0, 0, 1])
    first, groups = TableKernels.find_equal(table, np.arange(4), labels)
    assert_array_equal(first[groups], [0, 1, 0, 3])
    keys = PerColumn().on(table).keys()
    # Categories are numbered as they come, but compared as they were given.
    assert keys[0] == PerColumn().on([["b", None], ["c", 2.0]]).keys()[0]
    assert keys[1] == keys[3] != keys[0] == keys[2]


def test_tables_are_read_in_the_form_of_the_training_part():
    frame = pd.DataFrame({"age": [31.0, None, 54.0], "sex": ["f", "m", None]})
    table, form = TableKernels.read(frame, Form())
    assert form.n_features == 2
    assert list(form.names) == ["age", "sex"]
    for new in (frame, [{"sex": "f", "age": 31.0}, {"sex": "m"}, {"age": 54.0}]):
        found, _ = TableKernels.read(new, form)
        assert cells_of(found) == cells_of(table)
    with pytest.raises(ValueError, match="'size', which is no column of the training part"):
        TableKernels.read([{"size": 3}], form)
    with pytest.raises(ValueError, match="feature names should match"):
        TableKernels.read(frame.rename(columns={"sex": "gender"}), form)
    with pytest.raises(ValueError, match="X has 1 row, expected at least 2 to learn from"):
        TableKernels.read(frame[:1], Form())


@pytest.mark.parametrize(
    ("train", "new", "sentence"),
    [
        ([[1.0], [2.0]], "old", "'x0' holds categories such as 'old', but numbers in the"),
        ([["1"], ["2"], [None]], 3, "'x0' holds numbers such as 3, but text such as '1' in the"),
    ],
)
def test_text_and_numbers_do_not_take_each_others_place(train, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        evaluate(PerColumn().on(train), 0, [[new]])


def test_a_column_of_missing_cells_is_no_column_of_numbers():
    kernels = PerColumn().on([["1"], ["2"], [None]])
    assert_allclose(evaluate(kernels, 0, [[None]]), [[0, 0, 1]], atol=1e-200)


def test_ordered_categories_are_compared_by_their_steps():
    steps = ["low", "medium", "high", "extreme"]
    cells = ["low", "high", "medium", "low", None]
    X = pd.DataFrame({"pain": pd.Categorical(cells, steps, ordered=True)})
    kernels = PerColumn().on(X)
    seen = np.array([0.0, 2.0, 1.0, 0.0])
    width = np.mean((seen[:, np.newaxis] - seen) ** 2)
    expected = np.zeros((5, 5))
    expected[:4, :4] = np.exp(-((seen[:, np.newaxis] - seen) ** 2) / width)
    expected[4, 4] = 1.0
    assert_allclose(kernels.evaluate(0), expected, atol=1e-12)
    new = evaluate(kernels, 0, pd.DataFrame({"pain": ["extreme", "medium", "unknown", None]}))
    assert_allclose(new[0, :4], np.exp(-((3 - seen) ** 2) / width))
    assert_allclose(new[1], expected[2], atol=1e-12)
    assert_allclose(new[2], 0.0, atol=1e-12)
    assert_allclose(new[3], expected[4], atol=1e-12)
    # Without an order they are equal or not.
    plain = PerColumn().on(X.astype(object))
    assert set(np.unique(plain.evaluate(0).round(12))) == {0.0, 1.0}
