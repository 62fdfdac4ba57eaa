"""Kernels on columns of tables against the sentences of their rule."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import PerColumn, PerFeatureGaussian, VarianceNormalized, resolve_bank
from imkpl.kernels.table import weighted_median
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
        rng.integers(0, 3, n).tolist(),
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


@pytest.fixture
def tables():
    # Fewer words in training than among the new rows.
    train, new = make_rows(0, 41), make_rows(1, 19, n_words=5)
    return train, read_table(train), read_table(new)


@pytest.fixture
def bank(tables):
    return PerColumn(categorical=[4]).adapt(tables[1])


def test_laws(tables, bank):
    train, X, Y = tables
    assert any("pink" in row for row in cells_of(Y))
    check_bank(bank, X, Y, dense_twin(train), rtol=1e-12)


def test_laws_under_variance_normalisation(tables, bank):
    train, X, Y = tables
    wrapped = VarianceNormalized(bank).adapt(X)
    assert wrapped.reads == "tables"
    dense, factors = dense_twin(train), wrapped._diagonal(X)[0]

    def scaled(X, Y):
        return dense(X, Y) * factors

    check_bank(wrapped, X, Y, scaled, rtol=1e-11)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 30),
    m=st.integers(1, 20),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_laws_for_any_shape(n, m, missing, seed):
    train, new = make_rows(seed, n, missing=missing), make_rows(seed + 1, m, n_words=5)
    X = read_table(train)
    # A column of missing words is numeric to the reader.
    new = read_table(new)[:, [0, 1, 3, 4]]
    X, train = X[:, [0, 1, 3, 4]], [[*row[:2], *row[3:]] for row in train]
    bank = PerColumn(categorical=[3]).adapt(X)
    check_bank(bank, X, new, dense_twin(train, (1, 3)), rtol=1e-11)


def test_samples_may_be_given_in_any_form(tables, bank):
    train, X, _ = tables
    weights = np.arange(1.0, 1 + bank.n_kernels)
    frame = pd.DataFrame(train, columns=["x0", "x1", "x2", "x3", "x4"])
    expected = bank.combine(weights, X)
    for given_as in (train, frame, np.array(train, dtype=object)):
        again = PerColumn(categorical=[4]).adapt(given_as)
        assert_array_equal(again.combine(weights, given_as), expected)
        assert_array_equal(
            again.combine(weights, given_as, again._take(given_as, [3])), expected[:, [3]]
        )


def test_every_path_is_right_for_many_categories():
    # So many that on a grid the samples have to be placed in groups, and numbers of codes large.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, (400, 3)).astype(float)
    codes[:, 1] = rng.integers(0, 2, 400)
    X = read_table(np.char.add("c", codes.astype(int).astype(str)))
    bank = PerColumn().adapt(X)
    K = np.stack([np.equal.outer(c, c).astype(float) for c in codes.T], axis=-1)
    weights = rng.uniform(0.1, 1.0, 3)
    assert_allclose(bank.combine(weights, X), K @ weights, rtol=1e-15, atol=1e-250)
    single = bank._in_single_precision().combine(weights, X)
    assert single.dtype == np.float32
    assert_allclose(single, K @ weights, rtol=1e-6, atol=1e-25)
    M = rng.standard_normal((400, 400))
    assert_allclose(bank.contract(M, X), np.einsum("ijl,ij->l", K, M), rtol=1e-11)
    rows = sp.random_array((500, 400), density=0.5, format="csr", rng=rng)
    signs = rng.standard_normal(500)
    exact = np.einsum("ijl,ij->l", K, (rows.T * signs) @ rows.toarray())
    bound = 1e-6 * (np.abs(signs) * np.abs(rows).sum(axis=1) ** 2).sum()
    found = bank.contract_rows(rows, signs, X)
    assert_allclose(found, exact, rtol=0, atol=bound)
    # Other than the exact sum: the grid was used.
    assert np.all(found != exact)
    narrow = PerColumn(tolerance=None).adapt(X).contract_rows(rows, signs, X)
    assert_allclose(narrow, exact, rtol=1e-9)


def test_equal_categories_are_exactly_one_and_others_nothing():
    X = read_table([["a"], ["b"], ["a"], [None]])
    K = PerColumn().adapt(X).evaluate(0, X)
    assert_array_equal(K == 1.0, [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])
    assert K[0, 1] < 1e-200


def test_tables_of_numbers_have_the_kernels_of_features_to_the_last_bit():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 9)) * 10.0 ** np.arange(9), rng.standard_normal((20, 9))
    X[:, 4] = 0.1
    weight = rng.uniform(0, 2, 50)
    weight[:5] = 0
    table, features = PerColumn().adapt(X, weight), PerFeatureGaussian().adapt(X, weight)
    assert_array_equal(table.kernels.rates, features.kernels.rates)
    assert table.kernel_names() == features.kernel_names()
    weights, M = rng.uniform(size=9), rng.standard_normal((50, 20))
    assert_array_equal(table.combine(weights, X, Y), features.combine(weights, X, Y))
    assert_array_equal(table.contract(M, X, Y), features.contract(M, X, Y))


def test_a_missing_number_is_the_median_and_the_bandwidth_is_that_of_the_others():
    X = [[1.0], [None], [2.0], [9.0]]
    bank = PerColumn().adapt(X)
    there = np.array([1.0, 2.0, 9.0])
    width = 2 * there.var()
    assert_allclose(bank.evaluate(0, X)[1], np.exp(-((2.0 - np.array([1, 2, 2, 9])) ** 2) / width))
    assert bank.kernel_names(["age"]) == ["age", "age is missing"]
    assert_array_equal(
        bank.evaluate(1, X).round(), [[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 1, 1], [1, 0, 1, 1]]
    )


def test_new_missing_cells_in_columns_without_any():
    bank = PerColumn().adapt([[1.0, "a"], [2.0, "b"], [9.0, "b"]])
    assert bank.n_kernels == 2
    new, train = [[None, None]], [[2.0, "a"]]
    assert_array_equal(bank.evaluate(0, new, train), 1.0)
    assert_allclose(bank.evaluate(1, new, train), 0.0, atol=1e-200)


def test_categories_not_seen_in_training_are_like_no_training_sample():
    bank = PerColumn().adapt([["a"], ["b"]])
    new = [["z"], ["y"], ["z"], ["a"]]
    assert_allclose(bank.evaluate(0, new, [["a"], ["b"]])[:3], 0.0, atol=1e-200)
    expected = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert_allclose(bank.evaluate(0, new), expected, atol=1e-200)
    # Also where the two sides have seen different ones.
    assert_allclose(bank.evaluate(0, [["y"]], [["z"]]), 0.0, atol=1e-200)


@pytest.mark.parametrize(
    ("cells", "new"),
    [(["a", "a"], "b"), ([None, None], 5.0), ([3.0, 3.0], 5.0), ([3.0, None], None)],
    ids=["category", "nothing", "number", "number or nothing"],
)
def test_a_column_without_differences_has_the_constant_kernel(cells, new):
    X = [[cell, place] for place, cell in enumerate(cells)]
    bank = PerColumn().adapt(X)
    assert_array_equal(bank.evaluate(0, [[new, 0.0], *X]), 1.0)


def test_marks_of_a_column_without_cells_are_constant():
    bank = PerColumn().adapt([[None, 1.0], [None, 2.0]])
    assert bank.kernel_names() == ["x0", "x1", "x0 is missing"]
    assert_array_equal(bank.evaluate(2, [[None, 1.0], [3.0, 1.0]]), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_an_integer_weight_is_so_many_copies(seed):
    rng = np.random.default_rng(seed)
    rows, counts = make_rows(seed, 12), rng.integers(0, 4, 12)
    counts[0] = 2
    repeated = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    weighted = PerColumn(categorical=[4]).adapt(rows, counts)
    copied = PerColumn(categorical=[4]).adapt(repeated)
    assert weighted.kernels.vocabularies == copied.kernels.vocabularies
    assert weighted.kernel_names() == copied.kernel_names()
    assert_allclose(weighted.kernels.fills, copied.kernels.fills, rtol=1e-14)
    assert_allclose(weighted.kernels.rates, copied.kernels.rates, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), min_size=1, max_size=12))
def test_the_weighted_median_is_that_of_copies(pairs):
    values, counts = np.array(pairs).T
    expected = np.median(np.repeat(values, counts))
    shares = counts / counts.sum()
    assert weighted_median(values.astype(float), shares) == expected


def test_kernels_do_not_depend_on_the_order_of_rows_or_on_what_categories_are_called(tables, bank):
    train, X, _ = tables
    weights = np.arange(1.0, 1 + bank.n_kernels)
    K = bank.combine(weights, X)
    order = np.random.default_rng(0).permutation(len(train))
    shuffled = PerColumn(categorical=[4]).adapt([train[i] for i in order])
    assert_allclose(shuffled.combine(weights, X), K, rtol=1e-13)
    other = dict(zip(WORDS, ("z", "a", "q", "b", "c"), strict=True))
    renamed = [
        [other.get(cell, cell) if isinstance(cell, str) else cell for cell in r] for r in train
    ]
    again = PerColumn(categorical=[4]).adapt(renamed)
    assert_allclose(again.combine(weights, renamed), K, rtol=1e-13)


def test_numbers_listed_as_categorical_are_compared_as_categories():
    X = pd.DataFrame({"code": [1, 2, 10], "size": [1.0, 2.0, 10.0]})
    for listed in (["code"], [0], np.array([0])):
        K = PerColumn(categorical=listed).adapt(X).evaluate(0, X)
        assert_allclose(K, np.eye(3), atol=1e-200)
    # The same codes in a column that became one of floats because a cell is missing.
    bank = PerColumn(categorical=["code"]).adapt(X)
    new = pd.DataFrame({"code": [10.0, np.nan], "size": [1.0, 1.0]})
    assert_allclose(bank.evaluate(0, new, X), [[0, 0, 1], [0, 0, 0]], atol=1e-200)


def test_adapting_again_keeps_the_chosen_kernels_and_learns_them_anew():
    train, other = make_rows(0), make_rows(5, missing=0.0)
    bank = PerColumn(categorical=[4]).adapt(train)
    chosen = [6, 4, 3, 1]
    names = bank.select(chosen).kernel_names()
    again = bank.select(chosen).adapt(other)
    assert names == again.kernel_names() == ["x3 is missing", "x4", "x3", "x1"]
    fresh = PerColumn(categorical=[4]).adapt(other)
    for place, index in enumerate(chosen[1:], start=1):
        assert_array_equal(again.evaluate(place, other), fresh.evaluate(index, other))
    # Nothing is missing any more.
    assert_array_equal(again.evaluate(0, other), 1.0)


def test_a_tabulated_table_is_an_array_of_numbers(tables, bank):
    _, X, _ = tables
    inner, samples = bank._tabulate(X)
    assert isinstance(inner, PerFeatureGaussian)
    assert samples.shape == (len(X), bank.n_kernels)
    weights = np.arange(1.0, 1 + bank.n_kernels)
    assert_array_equal(inner.combine(weights, samples), bank.combine(weights, X))


def test_the_name_of_the_bank():
    assert isinstance(resolve_bank("per_column"), PerColumn)


@pytest.mark.parametrize("listed", ["code", [1.5], [True], 3, [["a"]]], ids=repr)
def test_a_list_of_categorical_columns_is_names_or_places(listed):
    with pytest.raises(ValueError, match="must be a list of names or places of columns"):
        PerColumn(categorical=listed)


@pytest.mark.parametrize("key", ["size", 2, -1])
def test_an_unknown_categorical_column_is_named(key):
    X = pd.DataFrame({"code": [1, 2], "age": [1.0, 2.0]})
    with pytest.raises(
        ValueError, match=f"lists {key!r}, expected .* 0 to 1. The columns are code, age"
    ):
        PerColumn(categorical=["code", key]).adapt(X)


def test_settings_are_checked_when_the_bank_is_made():
    with pytest.raises(ValueError, match=r"tolerance=-1\) must be at least 0"):
        PerColumn(tolerance=-1)


def test_text_in_a_column_of_numbers_is_refused():
    bank = PerColumn().adapt([[1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match="'x1' holds categories such as 'old', but numbers in the"):
        bank.combine([1.0, 1.0], [[1.0, "old"]])


def test_numbers_in_a_column_of_text_are_refused():
    bank = PerColumn().adapt([["1"], ["2"], [None]])
    with pytest.raises(
        ValueError, match="'x0' holds numbers such as 3, but text such as '1' in the"
    ):
        bank.combine([1.0, 1.0], [[3]])


def test_a_column_of_missing_cells_is_no_column_of_numbers():
    bank = PerColumn().adapt([["1"], ["2"], [None]])
    assert_allclose(bank.evaluate(0, [[None]], [["1"], [None]]), [[0, 1]], atol=1e-200)


def test_a_table_with_too_few_columns_is_refused(bank):
    with pytest.raises(ValueError, match="samples have 2 columns, but a kernel reads column 4"):
        bank.evaluate(4, [[1.0, "red"]] * 2)


def test_columns_that_a_kernel_reads_cannot_be_left_out(bank):
    with pytest.raises(ValueError, match="lack column 2, which a kernel reads"):
        bank._on_columns([0, 1, 3, 4])


def test_kernels_are_unknown_before_adapt():
    with pytest.raises(ValueError, match=r"PerColumn are not known yet, .* Call adapt\(X\) first"):
        PerColumn().combine([1.0], [[1.0]])
