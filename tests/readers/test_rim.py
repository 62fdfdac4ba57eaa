"""Cells at the rim of what a file can hold: names keep their characters, numbers their digits."""

import struct
import time
import tracemalloc
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from imkpl import IMKPL
from imkpl.readers import InputError, ReadOptions, formats, read_training_file
from imkpl.readers.read import ExpectedColumns, read_new_file

N = 12
SIZES = [round(1 + i / 7, 3) for i in range(N)]
LONG = [2**53 + i for i in range(N)]


def write(path, **columns):
    """A table, with every cell as it is given."""
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(names), *(",".join("" if c is None else str(c) for c in r) for r in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def read(tmp_path, *, target="kind", kind=("cat", "dog") * (N // 2), options=None, **columns):
    path = write(tmp_path / "a.csv", size=SIZES, kind=kind, **columns)
    return read_training_file(path, ReadOptions(target=target, **(options or {})))


def read_new(path, classes, target=None, **options):
    expected = ExpectedColumns(("size",), ("size",), {}, reads_missing=True)
    options = ReadOptions(target=target, **options)
    return read_new_file(path, expected, options, classes=classes, usual_target="kind")


@pytest.mark.parametrize(
    "kinds",
    [
        ("000", "001"),
        ("1e1", "1e2"),
        ("1", "02"),
        ("+1", "-1"),
        ("1.10", "1.1"),
        ("0.50", "1.5"),
        ("TRUE", "FALSE"),
        (str(2**53), str(2**53 + 1)),
        (str(2**64), str(2**64 + 1)),
        ("1.0000001", "1.0000002"),
    ],
)
def test_classes_keep_their_characters(tmp_path, kinds):
    data = read(tmp_path, kind=kinds * (N // 2))
    assert data.y.tolist() == list(kinds) * (N // 2)
    # A missing class does not change them, nor that the target is not named.
    path = write(tmp_path / "b.csv", size=SIZES, kind=(*kinds * (N // 2 - 1), None, kinds[1]))
    for target in ("kind", None):
        new = read_new(path, sorted(kinds), target)
        assert new.y.tolist() == [*data.y.tolist()[:-2], None, kinds[1]]


@pytest.mark.parametrize("kinds", [("0", "1"), ("-1", "1"), ("10", "2"), ("0.0", "1.0")])
def test_classes_that_are_written_plainly_are_whole_numbers(tmp_path, kinds):
    data = read(tmp_path, kind=kinds * (N // 2))
    assert data.y.dtype.kind == "i"
    assert data.y.tolist() == [int(float(one)) for one in kinds] * (N // 2)


@pytest.mark.parametrize(
    ("classes", "cells", "expected"),
    [
        # One cell with a zero makes text of all others, which are still known.
        ([1, 2], ["1", "2", "03"], [1, 2, "03"]),
        # A model of numbers, and a file with zeros in front of them.
        ([1, 2], ["01", "02", "02"], [1, 2, 2]),
        (["01", "1"], ["01", "1", "1"], ["01", "1", "1"]),
        # Without its zeros, nobody knows what a cell was.
        (["01", "2"], ["1", "2", "2"], ["1", "2", "2"]),
        (["False", "True"], ["TRUE", "FALSE", "TRUE"], ["True", "False", "True"]),
    ],
)
def test_cells_of_a_new_file_are_matched_with_the_classes(tmp_path, classes, cells, expected):
    path = write(tmp_path / "a.csv", size=SIZES[:3], y=cells)
    assert read_new(path, classes, "y").y.tolist() == expected


@pytest.mark.parametrize(
    "ids",
    [
        [f"{i:05d}" for i in range(N)],
        [f"1e{i}" for i in range(N)],
        [str(one) for one in LONG],
        [str(2**64 + i) for i in range(N)],
    ],
    ids=["zeros", "exponents", "long", "very long"],
)
def test_names_of_rows_keep_their_characters(tmp_path, ids):
    data = read(tmp_path, patient=ids, options={"id_column": "patient"})
    assert data.ids.tolist() == data.samples.index.tolist() == ids
    assert read_new(tmp_path / "a.csv", (), id_column="patient").ids.tolist() == ids


def test_names_that_are_guessed_keep_their_characters(tmp_path):
    ids = [f"{i:05d}" for i in range(1, N + 1)]
    read(tmp_path, number=ids)
    assert read_new(tmp_path / "a.csv", ()).ids.tolist() == ids
    plain = read(tmp_path, number=range(1, N + 1), options={"id_column": "number"})
    assert plain.ids.tolist() == list(range(1, N + 1))


def test_an_empty_cell_makes_no_duplicates(tmp_path):
    ids = [*LONG[:3], None, *LONG[4:]]
    message = r"'patient' \(--id\) is empty in row 4"
    with pytest.raises(InputError, match=message):
        read(tmp_path, patient=ids, options={"id_column": "patient"})
    table = pd.DataFrame({"size": SIZES, "patient": pd.array(ids, "Int64"), "y": ["a", "b"] * 6})
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        read_training_file(tmp_path / "a.parquet", ReadOptions(id_column="patient"))


def test_groups_subgroups_and_categories_keep_their_characters(tmp_path):
    codes, kinds = ["1", "01", "001"] * 4, ["cat"] * 6 + ["dog"] * 6
    options = {"group": "person", "by": ("site",), "categories": ("code",)}
    data = read(tmp_path, kind=kinds, person=codes, site=codes, code=codes, options=options)
    assert len(set(data.groups.tolist())) == 3
    assert data.subgroups["site"].tolist() == data.samples["code"].tolist() == codes
    expected = ExpectedColumns(("code",), ("code",), {"code": ("001", "01")}, reads_missing=True)
    new = read_new_file(tmp_path / "a.csv", expected, ReadOptions(by=("site",)))
    assert new.samples["code"].tolist() == new.subgroups["site"].tolist() == codes
    assert "Column 'code': '1' not seen in training." in new.notes
    # Whole numbers that an empty cell turned into floats are the categories that they were.
    path = write(tmp_path / "b.csv", code=["1.0", None, "2.0"], more=["a", "b", "a"])
    expected = ExpectedColumns(("code",), ("code",), {"code": ("1", "2")}, reads_missing=True)
    assert read_new_file(path, expected, ReadOptions()).samples["code"].tolist()[::2] == ["1", "2"]


def test_decimal_commas_in_names_stay(tmp_path):
    rows = [f"{i},25;{('1,5', '2,5', 'x')[i % 3]}" for i in range(N)]
    (tmp_path / "a.csv").write_text("\n".join(["size;kind", *rows]))
    data = read_training_file(tmp_path / "a.csv", ReadOptions(target="kind"))
    assert data.y.tolist() == ["1,5", "2,5", "x"] * 4
    assert data.samples["size"].tolist() == [i + 0.25 for i in range(N)]


def test_codes_for_missing_cells_hold_for_names(tmp_path):
    kinds = ["01", "02", "-9"] * 4
    data = read(tmp_path, kind=kinds, options={"missing": ("-9",)})
    assert data.y.tolist() == ["01", "02"] * 4


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("has_gap", [False, True])
def test_whole_numbers_of_many_digits_are_left_out_with_the_reason(tmp_path, ending, has_gap):
    code = [2**60 + i % 5 for i in range(N)]
    code[3] = None if has_gap else code[3]
    path, columns = tmp_path / f"a.{ending}", {"size": SIZES, "kind": ["cat", "dog"] * (N // 2)}
    if ending == "csv":
        write(path, code=code, **columns)
    elif ending == "parquet":
        pd.DataFrame({**columns, "code": pd.array(code, "Int64")}).to_parquet(path)
    else:
        # Numbers of a spreadsheet have 15 digits; longer ones are text.
        texts = [None if one is None else str(one) for one in code]
        pd.DataFrame({**columns, "code": texts}).to_excel(path, index=False)
    data = read_training_file(path, ReadOptions(target="kind"))
    assert data.dropped["code"].startswith("whole numbers of more than 15 digits (are they names")
    named = read_training_file(path, ReadOptions(target="kind", categories=("code",)))
    assert named.samples["code"].dropna().tolist() == [str(one) for one in code if one is not None]


def test_large_numbers_that_differ_are_numbers(tmp_path):
    for values in ([f"{i}.5e20" for i in range(N)], [f"1e{290 + i}" for i in range(N)]):
        data = read(tmp_path, count=values)
        assert data.samples["count"].tolist() == [float(one) for one in values]


@pytest.mark.parametrize("gap", [None, 3])
def test_long_classes_in_parquet_are_exact(tmp_path, gap):
    kinds = pd.array([2**53 + i % 2 for i in range(N)], "Int64")
    if gap is not None:
        kinds[gap] = pd.NA
    pd.DataFrame({"size": SIZES, "kind": kinds}).to_parquet(tmp_path / "a.parquet")
    data = read_training_file(tmp_path / "a.parquet", ReadOptions(target="kind"))
    assert data.y.tolist() == [str(2**53 + i % 2) for i in range(N) if i != gap]


def fill(sheet, n_rows=N):
    sheet.append(["size", "kind"])
    for i in range(n_rows):
        sheet.append([i / 4, "ab"[i % 2]])


def test_a_stray_cell_in_the_last_corner_of_a_sheet_costs_nothing(tmp_path):
    book = openpyxl.Workbook()
    fill(book.active)
    book.active["XFD1048576"] = "x"
    book.save(tmp_path / "a.xlsx")
    start = time.perf_counter()
    tracemalloc.start()
    data = read_training_file(tmp_path / "a.xlsx", ReadOptions(target="kind"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50e6
    assert time.perf_counter() - start < 60
    assert data.samples["size"].tolist() == [i / 4 for i in range(N)]
    assert data.ids.tolist() == list(range(1, N + 1))
    assert "1 row without a class left out." in data.notes


def test_a_few_empty_rows_count_in_the_numbers_of_rows(tmp_path):
    book = openpyxl.Workbook()
    fill(book.active)
    book.active.append([])
    book.active.append([])
    book.active.append([7.5, "a"])
    book.save(tmp_path / "a.xlsx")
    data = read_training_file(tmp_path / "a.xlsx", ReadOptions(target="kind"))
    assert data.ids.tolist() == [*range(1, N + 1), N + 3]


def test_a_sheet_of_too_many_cells_is_refused(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    fill(book.active, 60)
    book.save(tmp_path / "a.xlsx")
    options = ReadOptions(target="kind")
    assert len(read_training_file(tmp_path / "a.xlsx", options)) == 60
    monkeypatch.setattr(formats, "MOST_CELLS", 100)
    with pytest.raises(InputError, match=r"a\.xlsx does not fit into memory.* Delete cells far"):
        read_training_file(tmp_path / "a.xlsx", options)
    # Few cells, but a table of many: one in every row and column.
    book = openpyxl.Workbook()
    for place in range(1, 13):
        book.active.cell(place, place, "x")
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match=r"a\.xlsx does not fit into memory.* Delete cells far"):
        read_training_file(tmp_path / "a.xlsx", options)


def test_a_hidden_sheet_is_read_if_there_is_no_other(tmp_path):
    book = openpyxl.Workbook()
    hidden, path = book.active, tmp_path / "a.xlsx"
    hidden.title, hidden.sheet_state = "lists", "hidden"
    fill(hidden)
    fill(book.create_sheet("data"), N - 2)
    book.save(path)
    data = read_training_file(path, ReadOptions(target="kind"))
    assert len(data) == N - 2
    assert data.notes[0].startswith("a.xlsx: sheet 'data'")
    book["data"].delete_rows(1, N)
    book.save(path)
    data = read_training_file(path, ReadOptions(target="kind"))
    assert len(data) == N
    assert data.notes[0].startswith("a.xlsx: hidden sheet 'lists'")


@pytest.mark.parametrize("is_only", [False, True])
def test_a_formula_that_was_never_calculated_gets_its_sentence(tmp_path, is_only):
    book = openpyxl.Workbook()
    if not is_only:
        fill(book.active)
    book.active["C2"] = "=A2+1"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(
        InputError,
        match=r"^Cell C2 of a\.xlsx \(sheet 'Sheet'\) has a formula that was never calculated, "
        r"expected its value\. Open the file in a spreadsheet program, save it there",
    ):
        read_training_file(tmp_path / "a.xlsx", ReadOptions(target="kind"))


def test_formulas_with_values_are_read_also_if_these_are_empty_texts(tmp_path):
    book = openpyxl.Workbook()
    fill(book.active)
    book.active["C1"] = "more"
    for row in range(2, N + 2):
        book.active[f"C{row}"] = f"=A{row}+1"
    book.save(tmp_path / "b.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "b.xlsx") as old,
        zipfile.ZipFile(tmp_path / "a.xlsx", "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"<v />", b"<v/>").replace(b"<v></v>", b"<v/>")
                content = content.replace(b'<c r="C2">', b'<c r="C2" t="str">')
                start, end = content.split(b'<c r="C3">')
                content = start + b'<c r="C3">' + end.replace(b"<v/>", b"<v>2.5</v>")
            new.writestr(name, content)
    data = read_training_file(tmp_path / "a.xlsx", ReadOptions(target="kind", numbers=("more",)))
    assert np.isnan(data.samples["more"].tolist()[0])
    assert "more" not in data.dropped


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_two_columns_of_one_name_are_named(tmp_path, ending):
    table = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0]), ["u", "v"]], ["a", "a", "kind"])
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    with pytest.raises(InputError, match=rf"^a\.{ending} has two columns named 'a', expected"):
        read_training_file(path, ReadOptions(target="kind"))


@pytest.mark.parametrize(
    ("compression", "message"),
    [
        ("uncompressed", r"cannot be read as a \.feather file: it is damaged.* Write it again\.$"),
        ("lz4", r"does not fit into memory: it is too large, or damaged.* or write it again\.$"),
    ],
)
def test_a_file_that_states_a_wrong_size_is_refused(tmp_path, compression, message):
    table = pa.table({"size": [1.0] * 1000, "kind": ["u", "v"] * 500})
    path = tmp_path / "a.feather"
    pa.feather.write_feather(table, path, compression=compression)
    size, wrong = struct.pack("<q", 8 * 1000), struct.pack("<q", 2**60)
    path.write_bytes(path.read_bytes().replace(size, wrong))
    with pytest.raises(InputError, match=rf"^a\.feather {message}"):
        read_training_file(path, ReadOptions(target="kind"))


def test_an_index_beside_a_column_of_that_name_is_refused(tmp_path):
    frame = pd.DataFrame(
        {"index": SIZES, "kind": ["u", "v"] * 6}, index=[f"p{i}" for i in range(N)]
    )
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="two columns named 'index'"):
        read_training_file(tmp_path / "a.parquet", ReadOptions(target="kind"))


def test_weights_of_which_one_outweighs_all_others_are_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="One sample weighs more than a million times as much"):
        IMKPL(n_prototypes=2, contrast=False).fit(X, y, sample_weight=np.logspace(-300, 300, 40))
    # A class of weights that are too small beside the others is still there.
    weight = np.where(y == 0, 1e300, 1e-300)
    assert IMKPL(n_prototypes=2, contrast=False).fit(
        X, y, sample_weight=weight
    ).classes_.tolist() == [0, 1]
