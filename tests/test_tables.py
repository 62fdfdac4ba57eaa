"""The same table is read from every form, is indexed like an array and cannot be written to."""

import copy
import datetime
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from imkpl import IMKPL
from imkpl.tables import MISSING_TEXTS, Column, Table, is_missing, read_table, warn_of_text

NAN = float("nan")
CELLS = {
    "age": [31.5, None, 54.0, 20.25],
    "sex": ["f", "m", None, "f"],
    "smokes": [True, None, False, True],
    "visits": [3, 1, None, 2],
}
ROWS = [list(row) for row in zip(*CELLS.values(), strict=True)]
MIXED = [[31, "f", True], [None, "m", None], [54, None, False], [31, "f", True]]


def shown(table):
    return [table.display_values(row) for row in range(len(table))]


def pandas_frame(**dtypes):
    return pd.DataFrame({name: pd.Series(CELLS[name], dtype=dtypes[name]) for name in CELLS})


FRAMES = {
    "pandas": pandas_frame(age=float, sex=object, smokes=object, visits=float),
    "pandas text": pandas_frame(age="Float64", sex="string", smokes="boolean", visits="Int64"),
    "categories": pandas_frame(age="Float32", sex="category", smokes="category", visits="Int8"),
    "pandas objects": pandas_frame(age=object, sex=object, smokes=object, visits=object),
    "pandas arrow": pandas_frame(
        age="double[pyarrow]",
        sex="string[pyarrow]",
        smokes="bool[pyarrow]",
        visits="int64[pyarrow]",
    ),
    "polars": pl.DataFrame(CELLS),
    "polars categories": pl.DataFrame(CELLS, schema_overrides={"sex": pl.Categorical}),
    "polars enum": pl.DataFrame(CELLS, schema_overrides={"sex": pl.Enum(["x", "m", "f"])}),
    "polars nan": pl.DataFrame({**CELLS, "age": [31.5, NAN, 54.0, 20.25]}),
    "pyarrow": pa.table(CELLS),
    "pyarrow dictionary": pa.table({**CELLS, "sex": pa.array(CELLS["sex"]).dictionary_encode()}),
}
ARRAYS = {
    "rows": ROWS,
    "tuples": tuple(tuple(row) for row in ROWS),
    "objects": np.array(ROWS, dtype=object),
    "marks of pandas": np.array(
        [[pd.NA if cell is None else cell for cell in row] for row in ROWS], dtype=object
    ),
    "times of pandas": [[pd.NaT if cell is None else cell for cell in row] for row in ROWS],
    "not a number": [[NAN if cell is None else cell for cell in row] for row in ROWS],
    "numpy scalars": [
        [None if c is None else np.array([c]).astype(type(c))[0] for c in row] for row in ROWS
    ],
}


@pytest.mark.parametrize("form", [*FRAMES, *ARRAYS])
def test_frames_arrays_and_lists_are_read_alike(form):
    table = read_table(FRAMES[form] if form in FRAMES else ARRAYS[form])
    assert shown(table) == ROWS
    assert table.names == (tuple(CELLS) if form in FRAMES else ("x0", "x1", "x2", "x3"))
    categories = [column.categories for column in table.columns]
    assert categories == [None, ("f", "m"), (False, True), None]


def test_a_table_is_returned_itself():
    table = read_table(ROWS)
    assert read_table(table) is table


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_arrays_of_numbers_are_numeric(dtype):
    X = np.array([[1, 2], [3, 4]], dtype=dtype)
    table = read_table(X)
    assert all(column.categories is None for column in table.columns)
    np.testing.assert_array_equal(table.values, X)
    assert type(table.display_values(0)[0]) is (float if X.dtype.kind == "f" else int)


@pytest.mark.parametrize("dtype", [float, int, object, str])
def test_what_a_mask_hides_is_missing(dtype):
    X = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]).astype(dtype)
    table = read_table(X)
    kind = dtype if dtype is str else float
    assert shown(table) == [[kind(1), None], [kind(3), kind(4)]]


def test_rows_may_be_arrays_and_the_callers_array_is_untouched():
    X = np.array([[1.0, NAN], [3.0, 4.0]])
    tables = read_table(X), read_table(list(X))
    X[0, 0] = 7.0
    for table in tables:
        assert shown(table) == [[1, None], [3, 4]]


def test_arrays_of_text_and_of_truth_values_are_categories():
    assert read_table(np.array([["1", "a"], ["2", "b"]])).columns[0].categories == ("1", "2")
    assert read_table(np.array([[True], [False]])).columns[0].categories == (False, True)


def test_numbers_of_any_class_are_numbers():
    table = read_table([[Decimal("1.5")], [2], [np.float32(0.5)], [Decimal("NaN")]])
    assert shown(table) == [[1.5], [2.0], [0.5], [None]]
    frame = pl.DataFrame({"a": [Decimal("1.5"), None]})
    assert shown(read_table(frame)) == [[1.5], [None]]


def test_other_objects_are_categories_by_their_text():
    frame = pd.DataFrame({"group": pd.cut([1.0, 2.0, 9.0], [0, 5, 10])})
    assert shown(read_table(frame)) == [["(0, 5]"], ["(0, 5]"], ["(5, 10]"]]


def test_categories_of_numbers_stay_categories():
    table = read_table(pd.DataFrame({"code": pd.Categorical([3, None, 1])}))
    assert table.columns[0].categories == (1, 3)
    assert shown(table) == [[3], [None], [1]]


def test_mixed_cells_are_categories_with_numbers_first():
    table = read_table([["b"], [2], ["a"], [1.5], [True]])
    assert table.columns[0].categories == (True, 1.5, 2, "a", "b")


def test_large_whole_numbers_are_told_apart_as_categories():
    table = read_table([[2**60], [2**60 + 1], ["x"]])
    assert shown(table) == [[2**60], [2**60 + 1], ["x"]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [None, None]}),
        pd.DataFrame({"a": pd.Series([None, None], dtype="category")}),
        pl.DataFrame({"a": [None, None]}),
        pa.table({"a": [None, None]}),
        [[None], [NAN]],
    ],
    ids=["pandas", "category", "polars", "pyarrow", "rows"],
)
def test_a_column_without_cells_is_numeric(X):
    table = read_table(X)
    assert table.columns[0].categories is None
    assert shown(table) == [[None], [None]]


def test_the_order_of_categories_does_not_depend_on_rows_or_on_the_frame():
    words = ["c", "a", "b", "a"]
    for order in (["c", "b", "a"], ["b", "a", "c"]):
        frame = pd.DataFrame({"w": pd.Categorical(words, categories=order)})
        assert read_table(frame).columns[0].categories == ("a", "b", "c")
        assert read_table(frame[::-1]).columns[0].categories == ("a", "b", "c")


def test_the_index_of_a_frame_is_not_looked_at_and_columns_without_names_are_numbered():
    frame = FRAMES["pandas"].set_index(np.array([7, 7, 0, 1])).set_axis(range(4), axis=1)
    assert shown(read_table(frame)) == ROWS
    assert read_table(frame).names == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2020-01-01", None]),
        pd.to_timedelta(["1 day", None]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        pd.Series([datetime.date(2020, 1, 1), None], dtype=object),
        pl.Series([datetime.date(2020, 1, 1), None]),
        pl.Series([datetime.time(1), None]),
        pd.period_range("2020-01", periods=2, freq="M"),
        pd.Series(pd.period_range("2020-01", periods=2, freq="M"), dtype=object),
        pd.Series(pd.period_range("2020-01", periods=2, freq="M")).astype("category"),
        pd.arrays.SparseArray(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    ],
    ids=str,
)
def test_dates_are_refused_with_a_sentence(column):
    frame = (pl if isinstance(column, pl.Series) else pd).DataFrame({"when": column})
    with pytest.raises(TypeError, match=r"Column 'when' holds dates, .* Convert it to"):
        read_table(frame)


@pytest.mark.parametrize("cell", [{"a": 1}, [1], (1, 2), ([1],), 1j], ids=repr)
def test_cells_that_hold_other_things_are_refused(cell):
    frame = pd.DataFrame({"a": ["x", cell]})
    with pytest.raises(
        TypeError, match=f"'a' holds a cell of type {type(cell).__name__}, expected"
    ):
        read_table(frame)


REPEATED = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
UNEVEN = [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        (pd.DataFrame({"b": [NAN, -np.inf]}), ValueError, "'b' holds a number of -inf in row 1, e"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "Expected unique column names"),
        (REPEATED, ValueError, "Expected unique column names"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"lazy frame, .* Use X.collect\(\)"),
        (UNEVEN, ValueError, "Row 2 has 1 cells, expected 2 as in the first row"),
        (pd.DataFrame({"a": []}), ValueError, r"X has 0 rows and 1 columns, expected at least one"),
        (np.zeros((3, 0)), ValueError, r"X has 3 rows and 0 columns, expected at least one of"),
        (np.zeros(3), ValueError, r"X has shape .*, expected rows and columns"),
        (np.zeros((2, 2, 2)), ValueError, r"X has shape .*, expected rows and columns"),
        *(
            (X, TypeError, f"X is of type {type(X).__name__}, expected a frame")
            for X in (5, "table.csv", [1, 2], sp.eye_array(3), [], [{"a": 1}])
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_things_are_refused_with_a_sentence(X, error, sentence):
    with pytest.raises(error, match=sentence):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "size"),
    [
        ([[10**400], [1]], "hundreds of digits"),
        ([[1.0], [-2e150]], r"-2e\+150 in row 1"),
        ([[NAN], [1e300]], "1e"),
    ],
    ids=str,
)
def test_numbers_whose_squares_overflow_are_refused_by_name(X, size):
    with pytest.raises(ValueError, match=rf"'x0' holds a number of {size}.*expected .* 1e\+150"):
        read_table(X)


def test_no_text_is_missing_in_memory():
    texts = sorted(MISSING_TEXTS)
    assert not any(is_missing(text) for text in texts)
    assert read_table([[text] for text in texts]).columns[0].categories == tuple(texts)


@pytest.fixture
def table():
    return read_table(MIXED)


def test_cells_are_shown_as_plain_objects(table):
    assert shown(table) == MIXED
    assert [type(cell) for cell in table.display_values(0)] == [int, str, bool]


def test_shape_and_names(table):
    assert (len(table), table.shape, table.ndim) == (4, (4, 3), 2)
    assert table.names == ("x0", "x1", "x2")
    assert repr(table) == "Table(4 rows, 3 columns, 2 of categories, 3 missing cells)"


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        ([2, 0], [2, 0]),
        (np.array([3, 3, -1]), [3, 3, 3]),
        (np.array([True, False] * 2), [0, 2]),
        ([], []),
    ],
    ids=str,
)
def test_rows_are_chosen_as_those_of_an_array(table, key, rows):
    expected = [MIXED[row] for row in rows]
    assert shown(table[key]) == shown(table[key, :]) == expected


def test_columns_are_chosen_with_their_names_and_categories(table):
    cut = table[[0, 1], [2, 0]]
    assert shown(cut) == [[True, 31], [None, None]]
    assert cut.names == ("x2", "x0")
    assert shown(table[:, np.array([False, True, False])]) == [["f"], ["m"], [None], ["f"]]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_copies_hold_the_same_cells(table, copied):
    assert shown(copied(table)) == MIXED


def test_tables_cannot_be_written_to(table):
    for twin in (table, table[1:]):
        with pytest.raises(ValueError, match="read-only"):
            twin.values[0, 0] = 1.0


@pytest.mark.parametrize("key", [0, (0, 1), (slice(None), 1)])
def test_single_rows_and_columns_are_refused_with_a_sentence(table, key):
    with pytest.raises(IndexError, match=r"not by single numbers. Use display_values\(row\)"):
        table[key]


def test_values_and_columns_must_fit():
    with pytest.raises(ValueError, match=r"have shape \(2, 3\), expected \(n_rows, 1\)"):
        Table(np.zeros((2, 3)), (Column("a"),))


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_sparse_columns_of_pandas_are_read_like_others(kind):
    cells = np.array([0, 1, 0, 2]).astype(kind)
    dense = pd.DataFrame({"a": cells.astype(object) if kind is str else cells})
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray(dense["a"].to_numpy())})
    assert shown(read_table(sparse)) == shown(read_table(dense))


@pytest.mark.parametrize(
    ("X", "error"),
    [
        (pd.DataFrame({"n" * 10_000: [datetime.date(2020, 1, 1)]}), TypeError),
        ([[10**10_000], [1]], ValueError),
        ([[Fraction(10**400)], [1]], ValueError),
    ],
    ids=["dates", "digits", "fraction"],
)
def test_messages_about_long_names_and_numbers_are_short(X, error):
    with pytest.raises(error) as caught:
        read_table(X)
    assert len(str(caught.value)) < 400
    assert "expected" in str(caught.value)


TEXTS = {
    "numbers": ([f"{n / 4}" for n in range(30)], True),
    "whole numbers": ([str(n) for n in range(30)], True),
    "with missing cells": ([*(f"{n}e-1" for n in range(30)), "nan", None], True),
    "a few whole numbers": (["1", "2", "3"] * 10, False),
    "codes": ([f"{n:03}" for n in range(30)], False),
    "categories": ([*(str(n) for n in range(30)), "unknown"], False),
    "empty": ([None, "", "."], False),
}


@pytest.mark.parametrize(("texts", "is_warned"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "rows"])
def test_text_that_looks_like_numbers_is_warned_of(kind, texts, is_warned):
    n, rows = len(texts), [[text, "a", 1.5] for text in texts]
    X = {
        "pandas": lambda: pd.DataFrame({"x0": texts, "b": ["a"] * n, "c": [1.5] * n}),
        "polars": lambda: pl.DataFrame({"x0": texts, "b": ["a"] * n, "c": [1.5] * n}),
        "array": lambda: np.array(rows, dtype=object),
        "rows": lambda: rows,
    }[kind]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_text(X)
    said = [str(one.message) for one in caught]
    assert len(said) == is_warned
    for text in said:
        assert text.startswith("Text that looks like numbers is read as categories")
        assert "column 'x0'. Convert it with X.astype(float), or with pd.to_numeric" in text


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
def test_a_fit_to_text_that_looks_like_numbers_warns_once_and_a_prediction_does_not():
    X, y = load_wine(return_X_y=True, as_frame=True)
    texts = X.iloc[::3, :7].astype(str)
    with pytest.warns(UserWarning, match="Text that looks like numbers") as caught:
        model = IMKPL(n_prototypes=3).fit(texts, y[::3])
    (said,) = [str(one.message) for one in caught if "looks like" in str(one.message)]
    assert "columns 'alcohol', 'malic_acid', 'ash', 'alcalinity_of_ash', 'magnesium' and 2 " in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(texts)
        warnings.filterwarnings("ignore", "No kernel")
        IMKPL(n_prototypes=3).fit(texts.astype("category"), y[::3])
