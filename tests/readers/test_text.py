"""Text files as people have them: what is guessed is right, and is said."""

import numpy as np
import pytest

from imkpl.readers import InputError, ReadOptions, read_training_file

HEAD = ["height", "weight", "kind"]
ROWS = [[1.5, 20.0, "cat"], [1.25, 30.5, "dog"], [2.5, 25.0, "cat"], [2.25, 31.5, "dog"]]


def write(path, head=HEAD, rows=ROWS, *, separator=",", decimal=".", encoding="utf-8"):
    def show(cell):
        return str(cell).replace(".", decimal) if isinstance(cell, float) else str(cell)

    lines = [] if head is None else [separator.join(head)]
    lines += [separator.join(show(cell) for cell in row) for row in rows]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def read(path, target="kind", **options):
    return read_training_file(path, ReadOptions(target=target, **options))


def check_values(data):
    np.testing.assert_array_equal(data.samples["height"], [1.5, 1.25, 2.5, 2.25])
    np.testing.assert_array_equal(data.samples["weight"], [20.0, 30.5, 25.0, 31.5])
    assert data.y.tolist() == ["cat", "dog", "cat", "dog"]


@pytest.mark.parametrize(
    ("separator", "decimal", "said"),
    [
        (",", ".", "commas"),
        (";", ".", "semicolons"),
        ("\t", ".", "tabs"),
        ("|", ".", "pipes"),
        (" ", ".", "spaces"),
        (";", ",", "semicolons, decimal comma"),
        ("\t", ",", "tabs, decimal comma"),
    ],
)
def test_separators_and_decimal_commas_are_found_and_said(tmp_path, separator, decimal, said):
    data = read(write(tmp_path / "a.csv", separator=separator, decimal=decimal))
    check_values(data)
    assert data.notes[0] == f"a.csv: cells separated by {said}."


@pytest.mark.parametrize("head", [["height", "weight"], None])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_do_not_pass_for_separators(tmp_path, head, separator):
    """Split at commas, every line would have more cells, and as many."""
    rows = [[0.25 + i, 0.5 * (i % 7) + 0.25, i % 2] for i in range(300)]
    head = None if head is None else [*head, "kind"]
    path = write(tmp_path / "a.csv", head, rows, separator=separator, decimal=",")
    data = read(path, target="x2" if head is None else "kind")
    np.testing.assert_array_equal(data.samples, np.array(rows)[:, :2])


def test_decimal_commas_are_read_beside_text(tmp_path):
    rows = [[0.25 + i, 0.5 * (i % 7) + 0.25, "cat" if i % 2 else "dog"] for i in range(20)]
    rows[3][1] = "<5"
    data = read(write(tmp_path / "a.csv", rows=rows, separator=";", decimal=","))
    expected = [5 if row[1] == "<5" else row[1] for row in rows]
    np.testing.assert_array_equal(data.samples["weight"], expected)
    assert data.findings[0].text == "Column 'weight': 1 cell ('<5') read as the limit itself."


def test_lines_of_separators_above_the_table_are_left_out(tmp_path):
    path = write(tmp_path / "a.csv")
    path.write_text(",,\n\n,,\n" + path.read_text())
    check_values(read(path))


@pytest.mark.parametrize("given", ["tab", "\t"])
def test_a_separator_that_is_given_is_taken(tmp_path, given):
    check_values(read(write(tmp_path / "a.csv", separator="\t"), separator=given))


def test_a_quote_that_is_not_closed_is_refused(tmp_path):
    rows = [*ROWS[:2], ['"1.5', 20.0, "cat"], *ROWS]
    message = r"^Line 8 of a\.csv has 1 cell, expected 3 as in the lines above\. Close its quotes, "
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "a.csv", rows=rows))


def test_a_separator_of_several_characters_is_refused(tmp_path):
    with pytest.raises(InputError, match="--separator is '::', expected one character"):
        read(write(tmp_path / "a.csv"), separator="::")


def test_text_in_other_encodings_is_read_and_said(tmp_path):
    rows = [[1.0, 1.0, "Bär"], [2.0, 2.0, "Kuh"], [3.0, 1.5, "Bär"]]
    latin = read(write(tmp_path / "a.csv", rows=rows, encoding="latin-1"))
    marked = read(write(tmp_path / "b.csv", rows=rows, encoding="utf-8-sig"))
    wide = read(write(tmp_path / "c.csv", rows=rows, encoding="utf-16"))
    for data in (latin, marked, wide):
        assert data.y.tolist() == ["Bär", "Kuh", "Bär"]
        assert list(data.samples.columns) == ["height", "weight"]
    assert "a.csv: not in UTF-8, read as Latin-1; check letters with accents." in latin.notes
    assert "c.csv: encoding UTF-16." in wide.notes


def test_quotes_protect_separators_and_line_breaks(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('height,"the, weight",kind\n5,2,"a\nb"\n2,3,c\n3,1,"a\nb"\n')
    data = read(path)
    assert list(data.samples.columns) == ["height", "the, weight"]
    assert data.y.tolist() == ["a\nb", "c", "a\nb"]


def test_blank_lines_and_rows_without_cells_are_left_out(tmp_path):
    path = write(tmp_path / "a.csv")
    path.write_text("\n" + path.read_text() + "\n   \n,,\n,,\n")
    data = read(path)
    check_values(data)
    assert "2 empty rows left out." in data.notes


@pytest.mark.parametrize("spelling", ["NA", "N/A", "?", "-", "", "nan", "NaN", "null", "#N/A"])
def test_spellings_of_missing_cells_are_known(tmp_path, spelling):
    rows = [*ROWS, [spelling, 25.5, "cat"]]
    data = read(write(tmp_path / "a.csv", rows=rows))
    np.testing.assert_array_equal(data.samples["height"], [1.5, 1.25, 2.5, 2.25, np.nan])


def test_a_dash_beside_a_plus_is_a_category(tmp_path):
    rows = [[1.0, "+", "cat"], [2.0, "-", "dog"], [3.0, "-", "cat"], [1.5, "+", "dog"]]
    data = read(write(tmp_path / "a.csv", rows=rows))
    assert data.samples["weight"].tolist() == ["+", "-", "-", "+"]


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    data = read(write(tmp_path / "a.csv", head=None), target="x2")
    assert list(data.samples.columns) == ["x0", "x1"]
    assert len(data) == 4
    assert "The first line holds data: columns are named x0 to x2." in data.notes


def test_numbers_as_names_are_a_header_where_the_target_is_among_them(tmp_path):
    data = read(write(tmp_path / "a.csv", head=["400", "402", "kind"]))
    assert list(data.samples.columns) == ["400", "402"]


def test_columns_of_the_same_name_get_numbers(tmp_path):
    rows = [[1, 2, 3, "cat"], [2, 1, 5, "dog"], [2, 2, 4, "cat"]]
    data = read(write(tmp_path / "a.csv", head=["a", "a", "a (column 2)", "kind"], rows=rows))
    expected = ["a", "a (column 2)", "a (column 2) (column 3)"]
    assert list(data.samples.columns) == expected
    assert any(note.startswith("Several columns are named 'a' and ") for note in data.notes)


@pytest.mark.parametrize(
    ("head", "options"),
    [
        (["kind", "weight", "kind"], {}),
        (["kind", "weight", "kind"], {"target": "weight", "id_column": "kind"}),
        (["size", "size", "kind"], {"drop": ("size",)}),
        (["size", "size", "kind"], {"categories": ("size",)}),
    ],
)
def test_a_name_of_two_columns_that_an_option_names_is_refused(tmp_path, head, options):
    message = rf"^a\.csv has two columns named '{head[0]}', expected unique names\. Rename one"
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "a.csv", head=head), **options)


@pytest.mark.parametrize("target", ["kind", None])
def test_a_wrong_separator_is_suspected_where_there_is_one_column(tmp_path, target):
    path = write(tmp_path / "a.csv", separator=";")
    message = r"Its only column is 'height;weight;kind'; if these are several, check --separator\.$"
    with pytest.raises(InputError, match=message):
        read(path, target=target, separator="comma")


def test_a_column_without_a_name_is_not_learned_from(tmp_path):
    """R leaves the name above the names of rows empty, or does without that cell."""
    rows = [[f"row{i}", *row] for i, row in enumerate(ROWS)]
    for head in (["", *HEAD], HEAD):
        data = read(write(tmp_path / "a.csv", head=head, rows=rows))
        check_values(data)
        assert list(data.dropped) == ["column 1"]
    quoted = [[f'"{cell}"' if isinstance(cell, str) else cell for cell in row] for row in rows]
    head = [f'"{name}"' for name in HEAD]
    check_values(read(write(tmp_path / "a.csv", head=head, rows=quoted, separator="  ")))


def test_a_few_texts_among_numbers_are_missing_and_said(tmp_path):
    rows = [[float(i), i / 4 + (i % 3), "cat" if i % 2 else "dog"] for i in range(10)]
    rows[3][1] = "n.d."
    data = read(write(tmp_path / "a.csv", rows=rows))
    assert np.flatnonzero(data.samples["weight"].isna()).tolist() == [3]
    text = "Column 'weight': 1 cell ('n.d.') is not a number, read as missing."
    assert text in [one.text for one in data.findings]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a\.csv has no content, expected rows of data"),
        ("height,kind\n", r"a\.csv has a header and no rows"),
        (";;;;;;", r"has a header and no rows, expected rows of data"),
        ("\n \n", r"a\.csv has only blank lines"),
        ("PK\x03\x04rest of a spreadsheet", r"a\.csv is not a text file"),
        (
            "a,b,kind\n1,2,u\n1,2\n2,3,v",
            r"Line 3 of a\.csv has 2 cells, expected 3 as in the lines above",
        ),
        ("a,b,kind\n1,2,u\n1,2,v,4\n", r"Line 3 of a\.csv has 4 cells, expected 3"),
    ],
)
def test_files_without_rows_or_with_other_cells_are_refused(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.csv")


def test_infinite_numbers_are_refused(tmp_path):
    rows = [[float("inf"), 2.0, "dog"], *ROWS]
    with pytest.raises(InputError, match=r"Column 'height' of a.csv has an infinite number in"):
        read(write(tmp_path / "a.csv", rows=rows))


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("a,{long}\n1,2\n2,3\n", "kind"),
        ("a,kind\n1,{long}\n2,{long}\n", "kind"),
        ("a,kind\n1,u\n2,v\n", "n" * 10_000),
    ],
)
def test_long_names_and_cells_are_cut_in_messages(tmp_path, content, target):
    path = tmp_path / "a.csv"
    path.write_text(content.replace("{long}", "n" * 10_000))
    with pytest.raises(InputError, match=r"n\.\.\.'") as caught:
        read(path, target=target)
    assert len(str(caught.value)) < 600
