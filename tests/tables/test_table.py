"""A table is indexed as an array, shows its cells as they were, and cannot be written to."""

import copy
import pickle

import numpy as np
import pytest

from imkpl.tables import Column, Table, read_table

ROWS = [[31, "f", True], [None, "m", None], [54, None, False], [31, "f", True]]


@pytest.fixture
def table():
    return read_table(ROWS)


def shown(table):
    return [table.display_values(row) for row in range(len(table))]


def test_cells_are_shown_as_plain_objects(table):
    assert shown(table) == ROWS
    assert [type(cell) for cell in table.display_values(0)] == [int, str, bool]


def test_shape_and_names(table):
    assert (len(table), table.shape, table.ndim, table.n_rows) == (4, (4, 3), 2, 4)
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
    expected = [ROWS[row] for row in rows]
    assert shown(table[key]) == expected
    assert shown(table[key, ...]) == expected
    assert shown(table[key, :]) == expected


def test_columns_are_chosen_with_their_names_and_categories(table):
    cut = table[[0, 1], [2, 0]]
    assert shown(cut) == [[True, 31], [None, None]]
    assert cut.names == ("x2", "x0")
    assert shown(table[:, np.array([False, True, False])]) == [["f"], ["m"], [None], ["f"]]


def test_tables_compare_by_their_cells(table):
    assert table == read_table(ROWS)
    assert table != table[[0]]
    assert table != read_table([[row[0], "x", row[2]] for row in ROWS])
    # The same cells, although m is the only category of one of them.
    assert table[[1]] == read_table([[None, "m", None]])
    assert table != ROWS


def test_copies_are_equal_and_none_can_be_written_to(table):
    for twin in (table, copy.deepcopy(table), pickle.loads(pickle.dumps(table)), table[1:]):
        assert twin[-2:] == table[-2:]
        with pytest.raises(ValueError, match="read-only"):
            twin.values[0, 0] = 1.0


def test_a_table_has_no_hash(table):
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


@pytest.mark.parametrize("key", [0, (0, 1), (slice(None), 1)])
def test_single_rows_and_columns_are_refused_with_a_sentence(table, key):
    with pytest.raises(IndexError, match=r"not by single numbers. Use display_values\(row\)"):
        table[key]


def test_a_third_axis_is_refused(table):
    with pytest.raises(IndexError, match="along 3 axes, expected rows and columns only"):
        table[0, 0, 0]


def test_values_and_columns_must_fit():
    with pytest.raises(ValueError, match=r"have shape \(2, 3\), expected \(n_rows, 1\)"):
        Table(np.zeros((2, 3)), (Column("a"),))
