"""The same table in every format is the same data."""

import datetime
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

from imkpl.readers import InputError, ReadOptions, read_training_file
from imkpl.readers.read import ExpectedColumns, read_new_file

X = np.array([[1.5, 2.0], [1.25, 3.5], [2.5, 2.5], [2.25, 3.25], [1.0, 2.75]])
Y = np.array(["cat", "dog", "cat", "dog", "cat"])
COLOURS = np.array(["red", None, "red", "blue", "blue"], dtype=object)


@pytest.fixture
def frame():
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": COLOURS, "kind": Y})


def check_table(data):
    np.testing.assert_array_equal(data.samples[["a", "b"]], X)
    assert data.samples["colour"].isna().tolist() == [False, True, False, False, False]
    assert data.samples["colour"].dropna().tolist() == ["red", "red", "blue", "blue"]
    assert data.y.tolist() == Y.tolist()
    assert data.ids.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_tables_are_read_alike(tmp_path, frame, ending):
    path = tmp_path / f"a.{ending}"
    if ending in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    else:
        getattr(frame, f"to_{ending}")(path)
    check_table(read_training_file(path, ReadOptions(target="kind")))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (pd.period_range("2020-01", periods=5, freq="M"), "dates"),
        (pd.to_timedelta([1, 1, 2, 2, 3], unit="D"), "times or durations"),
        ([datetime.time(hour) for hour in (1, 1, 2, 2, 3)], "times or durations"),
        ([[1, 2], [1], [], None, [3]], "lists or records"),
        ([{"a": 1}, {"a": 1}, {"a": 2}, None, {"a": 2}], "lists or records"),
    ],
    ids=["periods", "durations", "times", "lists", "records"],
)
def test_columns_that_are_neither_numbers_nor_categories_are_left_out(
    tmp_path, frame, ending, values, reason
):
    path = tmp_path / f"a.{ending}"
    getattr(frame.assign(when=values), f"to_{ending}")(path)
    data = read_training_file(path, ReadOptions(target="kind"))
    check_table(data)
    assert data.dropped["when"].startswith(reason)
    expected = ExpectedColumns(("when",), ("when",), {}, reads_missing=True)
    with pytest.raises(InputError, match=rf"Column 'when' of a\.{ending} holds {reason}.*numbers"):
        read_new_file(path, expected, ReadOptions())


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx"])
def test_damaged_files_are_refused(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"PAR1 this is no such file PAR1")
    with pytest.raises(InputError, match=rf"a.{ending} cannot be read as a \.{ending} file"):
        read_training_file(path, ReadOptions(target="kind"))


@pytest.mark.parametrize(
    ("ending", "package"), [("parquet", "pyarrow"), ("feather", "pyarrow"), ("xlsx", "openpyxl")]
)
def test_without_its_reader_a_file_is_refused(tmp_path, monkeypatch, ending, package):
    (tmp_path / f"a.{ending}").write_text("something")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"read by {package}, which is not installed\. Install"):
        read_training_file(tmp_path / f"a.{ending}")


@pytest.mark.parametrize(
    ("name", "found"), [("a.pkl", r"a\.pkl ends in \.pkl"), ("a", "a has no ending")]
)
def test_other_formats_are_refused_with_advice(tmp_path, name, found):
    (tmp_path / name).write_bytes(b"something")
    with pytest.raises(InputError, match=f"{found}, expected .* or save its table as CSV"):
        read_training_file(tmp_path / name)


def test_options_of_other_formats_are_refused(tmp_path, frame):
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="--separator is for text files"):
        read_training_file(tmp_path / "a.parquet", ReadOptions(separator=";"))


def write_sheets(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_spreadsheet_is_read_like_text(tmp_path):
    rows = [["Study of 2024"], [], ["name", "size", "born", "kind"]]
    rows += [[f"p{i}", i / 4, datetime.datetime(1990, 1, i + 1), "ab"[i % 2]] for i in range(6)]
    rows[4][1] = "<0.5"
    write_sheets(tmp_path / "a.xlsx", empty=[], data=rows, more=[["x"]])
    data = read_training_file(tmp_path / "a.xlsx", ReadOptions(target="kind", id_column="name"))
    assert data.ids.tolist() == [f"p{i}" for i in range(6)]
    assert data.samples["size"].tolist() == [0, 0.5, 0.5, 0.75, 1, 1.25]
    assert data.dropped["born"].startswith("dates")
    assert data.y.tolist() == ["a", "b"] * 3
    assert data.notes[:2] == (
        "a.xlsx: sheet 'data'; to use another one, save it as CSV.",
        "'Study of 2024' above the table is not read.",
    )


def test_a_spreadsheet_without_cells_is_refused(tmp_path):
    write_sheets(tmp_path / "a.xlsx", empty=[])
    with pytest.raises(InputError, match=r"a\.xlsx has no cells, expected rows of data"):
        read_training_file(tmp_path / "a.xlsx")
