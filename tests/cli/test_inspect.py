"""What `imkpl inspect` and model cards say of a file: its origin, its records, and facts alone."""

import re

import numpy as np
import pytest

import imkpl
from imkpl import IMKPL


@pytest.fixture(scope="module")
def kept(shell, wine, tmp_path_factory):
    """The table with a column of cellars, and a model with names that were asked for."""
    place = tmp_path_factory.mktemp("documents")
    frame = wine.assign(cellar=np.where(np.arange(60) % 3 == 0, "north", "south"))
    frame.to_csv(place / "wine.csv", index=False)
    command = ("fit", place / "wine.csv", "--target", "cultivar", "--id", "wine", "--prototypes", 6)
    result = shell(*command, "--drop", "cellar", "--exclude", "ash", "--model", place / "m.imkpl")
    assert result.exit_code == 0, result.stderr
    return place, frame


def test_inspect_lists_the_records_with_their_values_in_the_file(shell, kept, wine):
    found = shell.ask("inspect", kept[0] / "m.imkpl", "--records")
    assert found["kind"] == "IMKPL"
    assert found["n_records"] == len(found["records"]) > 0
    assert sum(one["records"] for one in found["classes"]) == found["n_records"]
    table = wine.set_index("wine")
    kept = {one["name"] for one in found["features"]}
    for record in found["records"]:
        row = table.loc[record["id"]]
        assert record["class"] == row["cultivar"]
        assert record["values"] == {name: row[name] for name in kept}
        assert record["prototypes"] or record["contrasts"]


def test_inspect_says_where_a_model_comes_from(shell, folder):
    origin = shell.ask("inspect", folder / "a.imkpl")["provenance"]
    assert (origin["target"], origin["rows"], origin["file"]) == ("cultivar", 60, "wine.csv")
    assert origin["held_out"]["rows"] == len(origin["held_out_rows"]) == 12
    assert origin["versions"]["imkpl"] == imkpl.__version__
    text = shell("inspect", folder / "a.imkpl", "--records").stdout
    for part in (
        origin["fingerprint"],
        origin["date"],
        "This model on 12 other rows",
        "training rows are in",
    ):
        assert part in text


def test_a_model_saved_from_python_can_be_inspected(shell, folder, wine, tmp_path):
    path = tmp_path / "m.imkpl"
    imkpl.save(IMKPL(n_prototypes=6).fit(wine.iloc[:, 1:7], wine["cultivar"]), path)
    assert shell.ask("inspect", path)["provenance"] is None
    assert "not written by imkpl fit" in shell("inspect", path).stdout


def test_names_are_stored_only_if_asked_for(kept, folder, wine):
    names = set(wine["wine"])
    assert set(imkpl.load(kept[0] / "m.imkpl").support_ids_) <= names
    assert not names & set(map(str, imkpl.load(folder / "a.imkpl").support_ids_))
    content = (folder / "a.imkpl").read_bytes()
    assert not any(f'"{name}"'.encode() in content for name in names)


def read_tables(text):
    """The rows of every table of a Markdown document, by the first cell of its head."""
    tables, head = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells[0].strip()
            tables[head] = []
        elif not cells[0].startswith("---"):
            tables[head].append([cell.strip() for cell in cells])
    return tables


def test_a_card_measures_the_held_out_rows_of_the_file_of_the_fit(shell, kept):
    place, frame = kept
    text = shell.ask("card", place / "m.imkpl", place / "wine.csv", "--by", "cellar")["text"]
    origin = shell.ask("inspect", place / "m.imkpl")["provenance"]
    tables, rows = read_tables(text), origin["held_out_rows"]
    cellars = frame["cellar"].iloc[rows].value_counts()
    assert {row[0]: int(row[1]) for row in tables["cellar"]} == cellars.to_dict()
    n_right = round(origin["held_out"]["accuracy"] * 12)
    assert sum(int(row[2]) for row in tables["cellar"]) == n_right
    assert sum(int(row[2]) for row in tables["class"]) == n_right
    assert "exclude: ash" in text
    assert origin["fingerprint"] in text
    assert f"{n_right} of 12 right" in text
    # A card may be handed on: it names no record.
    assert not any(re.search(rf"\b{name}\b", text) for name in frame["wine"])


def test_a_card_agrees_with_what_inspect_says(shell, kept):
    place, _ = kept
    text = shell("card", place / "m.imkpl").stdout
    found, tables = shell.ask("inspect", place / "m.imkpl"), read_tables(text)
    assert [row[0] for row in tables["feature"]] == [one["name"] for one in found["features"]]
    assert [row[1:] for row in tables["class"]] == [
        [str(one["prototypes"]), str(one["records"])] for one in found["classes"]
    ]
    for heading in ("Purpose", "Data", "How often it is right", "Records inside", "Limits"):
        assert f"## {heading}" in text
    assert text.count("_" * 30) >= 8


def test_a_card_of_other_rows_and_of_a_model_without_origin(shell, kept, folder, tmp_path):
    place, frame = kept
    new = tmp_path / "new.csv"
    frame.iloc[::2].to_csv(new, index=False)
    for model in (place / "m.imkpl", folder / "a.imkpl"):
        out = tmp_path / f"{model.stem}.html"
        shell.ask("card", model, new, "--by", "cellar", "--output", out)
        assert "the 30 rows of new.csv" in out.read_text()
    assert "no column 'cell' (--by)" in shell.fails("card", place / "m.imkpl", new, "--by", "cell")
    wide = frame.assign(number=np.arange(60) * 1.5)
    wide.to_csv(new, index=False)
    assert "expected at most 20 subgroups" in shell.fails("card", model, new, "--by", "number")
    assert "Add a file" in shell.fails("card", model, "--by", "cellar")
    assert "ends in .md or .html" in shell.fails("card", model, "--output", tmp_path / "card.pdf")


def test_a_page_shows_subgroups(shell, kept, tmp_path):
    place, _ = kept
    command = ("report", place / "m.imkpl", place / "wine.csv", "--target", "cultivar")
    shell.ask(*command, "--by", "cellar", "--out", tmp_path / "page.html")
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", (tmp_path / "page.html").read_text()))
    assert "By cellar Cases Number Right Interval north 20" in text
