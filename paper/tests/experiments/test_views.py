"""Rows that were made up, and what is shown of them."""

from dataclasses import replace

import pytest

from imkpl_paper.experiments.figures import rounds_to_settle
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.page import make_section
from imkpl_paper.experiments.pieces import Picture, Table
from imkpl_paper.experiments.plan import make_plan
from imkpl_paper.experiments.spec import Size
from imkpl_paper.experiments.studies import STUDIES, load_samples
from imkpl_paper.experiments.views import NOTHING, Found, unit_norm


def found_for(name, make_row, *, quick=True):
    plan = make_plan(ITEMS[name], quick=quick)
    rows = {
        cell.key: {"status": "done", "split": cell.split, **make_row(cell)} for cell in plan.cells
    }
    return Found(plan, rows)


def tables_of(section):
    return [piece for piece in section.pieces if isinstance(piece, Table)]


def texts(row):
    return [entry.text for entry in row]


@pytest.fixture
def isolet_at_hand(monkeypatch):
    """The paper's table for Isolet, with other samples in its place."""
    load_samples.cache_clear()
    monkeypatch.setitem(STUDIES, "Isolet", replace(STUDIES["wine"], name="Isolet", max_kernels=141))
    size = Size(datasets=("Isolet",), methods=("IMKPL", "ISKPL"), n_splits=3)
    monkeypatch.setitem(ITEMS, "table-3", replace(ITEMS["table-3"], full=size))
    yield
    load_samples.cache_clear()


def test_a_table_shows_mean_spread_the_paper_and_the_difference(isolet_at_hand):
    def row(cell):
        ours = {"accuracy": 96.0 + cell.split, "kernels": 140}
        return ours if cell.method == "IMKPL" else {"accuracy": 90.0 + cell.split / 2}

    section = make_section(found_for("table-3", row, quick=False))
    (table,) = tables_of(section)
    assert table.header == (
        "method", "Acc (%)", "paper", "difference", "kernels", "paper", "difference", "splits",
    )  # fmt: skip
    first, second = table.rows
    assert texts(first) == [
        "IMKPL", "97.00 ± 1.00", "97.75", "-0.75", "140 ± 0", "141", "-1", "3",
    ]  # fmt: skip
    assert texts(second)[:4] == ["ISKPL", "90.50 ± 0.50", "90.11", "+0.39"]
    assert [first[1].is_bold, second[1].is_bold] == [True, False]
    assert texts(second)[4:7] == [NOTHING, NOTHING, NOTHING]


def test_settings_show_what_every_split_chose():
    def row(cell):
        chosen = {"sparsity": 5, "separation": 10.0, "discrimination": 0.5}
        return {
            "tuned": {**chosen, "interpretability": 1.2},
            "tuned_accuracy": 90.0,
            "accuracy": 91.0,
            "n_train": 80,
            "n_test": 20,
            "n_kernels": 13,
            "per_class": {"a": 1, "b": 2},
        }

    (table,) = tables_of(make_section(found_for("table-1", row)))
    assert texts(table.rows[0])[:8] == ["wine", "100", "13", "2", "5", NOTHING, "0.5", NOTHING]
    assert texts(table.rows[0])[-3:] == ["90.00", "91.00", "1"]


def test_prototypes_per_class_are_shown_over_the_splits():
    def row(cell):
        return {"per_class": {"x": 2 + cell.split, "y": 5}, "prototypes": 7 + cell.split}

    table = tables_of(make_section(found_for("table-4", row)))[0]
    assert texts(table.rows[0]) == ["x", "2", "3.0 ± 1.0", "2 to 4", NOTHING]
    assert texts(table.rows[-1]) == ["all", "7", "8.0 ± 1.0", "7 to 9", NOTHING]


def test_the_synthetic_table_has_the_papers_weights_beside_ours():
    def row(cell):
        return {"weights": {"channel 2": 0.3, "channel 5": 0.4}, "accuracy": 100.0}

    section = make_section(found_for("figure-synthetic", row))
    (table,) = tables_of(section)
    assert texts(table.rows[2]) == ["f3", "0.60 (3/3)", "0.60 (3/3)", "0.68"]
    assert texts(table.rows[5]) == ["f6", "0.80 (3/3)", "0.80 (3/3)", "0.54"]
    assert texts(table.rows[8]) == ["f9", "0.00 (0/3)", "0.00 (0/3)", "0"]
    assert any(isinstance(piece, Picture) for piece in section.pieces)


def test_sensitivity_is_drawn_and_told():
    def row(cell):
        ((_, value),) = cell.settings
        return {"accuracy": 90 + float(value), "ip": 80.0}

    section = make_section(found_for("figure-sensitivity", row))
    picture, table = section.pieces
    assert picture.svg.startswith(b"<?xml")
    assert texts(table.rows[0]) == [
        "lambda", "discrimination", "0", "90.00 ± 0.00", "80.00 ± 0.00", "2",
    ]  # fmt: skip
    assert len(table.rows) == 12


def test_convergence_is_drawn_and_told():
    def row(cell):
        return {"objective": [10.0, 8.0, 7.999, 7.999], "accuracy": 90.0}

    section = make_section(found_for("figure-convergence", row))
    picture, table = section.pieces
    assert b"wine" in picture.svg or len(picture.svg) > 1000
    assert texts(table.rows[0]) == ["wine", "3.0", "4.0", "< 20", "10 to 7.999"]


def test_maps_are_drawn_from_rows():
    maps = {
        "average": [[0.0, 1.0], [1.0, 0.0]],
        "learned": [[0.0, 1.0], [1.0, 0.0]],
        "labels": [0, 1],
        "classes": ["a", "b"],
        "prototypes": [0],
        "prototype_classes": [0],
        "average_prototypes": None,
        "learned_prototypes": [[0.5, 0.5]],
        "n_kernels": [13, 2],
    }
    section = make_section(found_for("figure-embedding", lambda cell: {"maps": maps}))
    assert [piece.name for piece in section.pieces] == ["embedding-wine", "embedding-digits"]


def test_figures_are_the_same_bytes_every_time():
    def row(cell):
        return {"objective": [10.0, 8.0, 7.9], "accuracy": 90.0}

    first, second = (make_section(found_for("figure-convergence", row)) for _ in range(2))
    assert first.pieces[0].svg == second.pieces[0].svg


def test_without_matplotlib_tables_remain(monkeypatch):
    monkeypatch.setattr("imkpl_paper.experiments.figures.has_matplotlib", lambda: False)
    monkeypatch.setattr("imkpl_paper.experiments.page.has_matplotlib", lambda: False)
    section = make_section(found_for("figure-convergence", lambda cell: {"objective": [2.0, 1.0]}))
    assert [type(piece) for piece in section.pieces] == [Table]
    assert any("pip install 'imkpl[plots]'" in note for note in section.notes)


@pytest.mark.parametrize("name", list(ITEMS))
def test_an_item_without_rows_has_a_section(name):
    section = make_section(Found(make_plan(ITEMS[name], quick=True), {}))
    assert any(note.startswith("Not measured yet") for note in section.notes)


def test_the_round_that_settles():
    assert rounds_to_settle([5.0]) == 1
    assert rounds_to_settle([10.0, 9.0, 8.0]) == 3
    assert rounds_to_settle([10.0, 9.999, 8.0]) == 2


def test_weights_get_unit_length():
    assert unit_norm({"a": 3.0, "b": 4.0}) == {"a": 0.6, "b": 0.8}
    assert unit_norm({}) == {}
