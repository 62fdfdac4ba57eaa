"""Made-up rows and what is shown of them, the test that decides what is bold, numbers in print."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from imkpl_paper.experiments.compare import find_best, paired_p_value, summarize
from imkpl_paper.experiments.figures import rounds_to_settle
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.page import make_section
from imkpl_paper.experiments.plan import Size, make_plan
from imkpl_paper.experiments.published import published_values, read_published
from imkpl_paper.experiments.studies import STUDIES, load_samples
from imkpl_paper.experiments.views import (
    NOTHING,
    Found,
    Picture,
    Table,
    unit_norm,
)


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
    one = replace(size, methods=("IMKPL",))
    for name, full in (("overview", size), ("table-1", one), ("table-3", size)):
        monkeypatch.setitem(ITEMS, name, replace(ITEMS[name], full=full))
    yield
    load_samples.cache_clear()


def test_a_table_shows_mean_spread_the_paper_and_the_difference(isolet_at_hand):
    def row(cell):
        ours = {"accuracy": 96.0 + cell.split, "kernels": 140}
        return ours if cell.method == "IMKPL" else {"accuracy": 90.0 + cell.split / 2}

    section = make_section(found_for("table-3", row, quick=False))
    (table,) = tables_of(section)
    assert table.header == (
        "method", "Acc (%)", "paper", "kernels", "paper", "prototypes", "IP (%)", "paper",
        "DR (%)", "paper", "splits",
    )  # fmt: skip
    first, second = table.rows
    assert texts(first) == [
        "IMKPL", "97.00 ± 1.00", "97.75", "140 ± 0", "141", NOTHING, NOTHING, "96", NOTHING, "90",
        "3",
    ]  # fmt: skip
    assert texts(second)[:3] == ["ISKPL", "90.50 ± 0.50", "90.11"]
    assert [first[1].is_bold, second[1].is_bold] == [True, False]
    assert not second[1].is_italic
    assert texts(second)[3:5] == [NOTHING, NOTHING]


def test_what_only_the_stricter_test_ties_is_in_italics(isolet_at_hand):
    accuracies = {"IMKPL": (90.0, 92.0, 91.0), "ISKPL": (89.0, 91.4, 90.5)}

    def row(cell):
        return {"accuracy": accuracies[cell.method][cell.split], "kernels": 1}

    (table,) = tables_of(make_section(found_for("table-3", row, quick=False)))
    marks = [(line[1].is_bold, line[1].is_italic) for line in table.rows]
    assert marks == [(True, False), (False, True)]


def test_settings_show_the_papers_and_what_every_split_chose(isolet_at_hand):
    def row(cell):
        return {
            "tuned": {"separation": 10.0**cell.split},
            "tuned_accuracy": 90.0,
            "accuracy": 91.0,
            "n_train": 80,
            "n_test": 20,
            "n_kernels": 13,
            "per_class": {"a": 1, "b": 2},
        }

    (table,) = tables_of(make_section(found_for("table-1", row, quick=False)))
    assert texts(table.rows[0]) == [
        "Isolet", "100", "1560", "13", "617", "2", "26", "20", "0.2", "0.2", "0.3", "1, 10, 100",
        "90.00 ± 0.00", "91.00 ± 0.00", "3",
    ]  # fmt: skip


def test_the_overview_has_a_line_for_every_measure(isolet_at_hand):
    def row(cell):
        return {"kernels": 100 + cell.split, "accuracy": 90.0, "ip": 80.0, "dr": 70.0}

    (table,) = tables_of(make_section(found_for("overview", row, quick=False)))
    assert table.header == ("data set", "", "paper", "IMKPL", "ISKPL", "splits")
    assert texts(table.rows[0]) == ["Isolet", "kernels", "141", "101 ± 1", "101 ± 1", "3"]
    assert texts(table.rows[3])[:4] == ["", "DR (%)", "90", "70.0 ± 0.0"]


def test_growth_is_the_slope_over_the_sizes():
    def row(cell):
        n_samples = 120 if cell.dataset == "digits/2" else 240
        return {"seconds": 1e-4 * n_samples**2, "n_train": n_samples}

    (table,) = tables_of(make_section(found_for("table-growth", row)))
    assert table.header == ("method", "120 samples", "240 samples", "exponent")
    assert texts(table.rows[0]) == ["IMKPL", "1.44", "5.76", "2.0"]


def test_prototypes_per_class_are_shown_over_the_splits():
    def row(cell):
        return {"per_class": {"x": 2 + cell.split, "y": 5}, "prototypes": 7 + cell.split}

    table = tables_of(make_section(found_for("table-4", row)))[0]
    assert texts(table.rows[0]) == ["x", NOTHING, *["2.5 ± 0.7"] * 3]
    assert texts(table.rows[-1]) == ["all", NOTHING, *["7.5 ± 0.7"] * 3]


def test_the_synthetic_table_has_the_papers_weights_beside_ours():
    def row(cell):
        return {"weights": {"channel 2": 0.3, "channel 5": 0.4}, "accuracy": 100.0}

    section = make_section(found_for("figure-synthetic", row))
    (table,) = tables_of(section)
    assert table.header == ("channel", "IMKPL, as printed", "IMKPL, large margin", "IMKPL", "paper")
    assert texts(table.rows[2]) == ["f3", *["0.60 (1/1)"] * 3, "0.68"]
    assert texts(table.rows[5]) == ["f6", *["0.80 (1/1)"] * 3, "0.54"]
    assert texts(table.rows[8]) == ["f9", *["0.00 (0/1)"] * 3, "0"]
    assert any(isinstance(piece, Picture) for piece in section.pieces)


def test_sensitivity_is_drawn_and_told():
    def row(cell):
        ((_, value),) = cell.settings
        return {"accuracy": 90 + float(value), "ip": 80.0}

    section = make_section(found_for("figure-sensitivity", row))
    picture, table = section.pieces
    assert picture.image.startswith(b"<?xml")
    shown = "0: 90.0 / 80.0, 2: 92.0 / 80.0"
    assert texts(table.rows[0]) == ["lambda", "discrimination", shown, "1"]
    assert len(table.rows) == 4


def test_convergence_is_drawn_and_told():
    def row(cell):
        return {"objective": [10.0, 8.0, 7.999, 7.999], "accuracy": 90.0}

    section = make_section(found_for("figure-convergence", row))
    picture, table = section.pieces
    assert b"wine" in picture.image or len(picture.image) > 1000
    told = ["3.0", "4.0", "< 20", "10 to 7.999"]
    assert texts(table.rows[0]) == ["wine", "IMKPL, as printed", *told]


def test_maps_are_drawn_from_rows():
    maps = {
        "average": [[0.0, 1.0], [1.0, 0.0]],
        "learned": [[0.0, 1.0], [1.0, 0.0]],
        "labels": [0, 1],
        "classes": ["a", "b"],
        "prototypes": [0],
        "prototype_classes": [0],
        "average_prototypes": [[0.5, 0.5]],
        "learned_prototypes": [[0.5, 0.5]],
        "n_kernels": [13, 2],
    }
    section = make_section(found_for("figure-embedding", lambda cell: {"maps": maps}))
    assert [piece.name for piece in section.pieces] == ["embedding-wine"]


def test_figures_are_the_same_bytes_every_time():
    def row(cell):
        return {"objective": [10.0, 8.0, 7.9], "accuracy": 90.0}

    first, second = (make_section(found_for("figure-convergence", row)) for _ in range(2))
    assert first.pieces[0].image == second.pieces[0].image


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


VALUES = st.lists(st.floats(0, 100), min_size=3, max_size=10)


@settings(deadline=None)
@given(st.data())
def test_the_paired_test_is_the_one_of_scipy(data):
    first = np.array(data.draw(VALUES))
    second = first + np.array(
        data.draw(st.lists(st.floats(-5, 5), min_size=first.size, max_size=first.size))
    )
    difference = first - second
    # Differences that are equal but for rounding have no test.
    if difference.std() <= 1e-9 * max(1.0, abs(difference).max()):
        return
    expected = stats.ttest_rel(first, second).pvalue
    assert paired_p_value(first, second) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_equal_values_do_not_differ_and_a_constant_difference_does():
    assert paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert paired_p_value([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == 0.0
    assert paired_p_value([1.0], [5.0]) == 1.0


def test_the_correction_is_the_formula_of_nadeau_and_bengio():
    a, b = np.array([90.0, 92.0, 91.0, 95.0]), np.array([88.0, 91.5, 91.5, 92.0])
    d = a - b
    t = d.mean() / math.sqrt((1 / 4 + 0.2 / 0.8) * d.var(ddof=1))
    expected = 2 * stats.t.sf(abs(t), 3)
    assert paired_p_value(a, b, correction="nadeau-bengio") == pytest.approx(expected)
    assert expected > paired_p_value(a, b)


def test_values_of_different_splits_are_refused():
    with pytest.raises(ValueError, match="3 and 2 values, expected one per split of both"):
        paired_p_value([1.0, 2.0, 3.0], [1.0, 2.0])


def by_split(*values):
    return dict(enumerate(values))


def test_the_best_is_bold_and_what_a_test_cannot_tell_from_it():
    values = {
        "best": by_split(95.0, 96.0, 97.0, 96.0),
        "close": by_split(96.0, 95.0, 96.5, 95.5),
        "worse": by_split(90.0, 91.5, 91.8, 91.0),
    }
    assert find_best(values) == {"best", "close"}


def test_smaller_can_be_better():
    values = {"few": by_split(10, 11, 12), "many": by_split(100, 105, 99)}
    assert find_best(values, larger_is_better=False) == {"few"}
    assert find_best(values) == {"many"}


def test_ties_are_bold_together_even_with_one_split():
    assert find_best({"a": {0: 90.0}, "b": {0: 90.0}, "c": {0: 89.0}}) == {"a", "b"}


def test_only_common_splits_are_compared():
    values = {"a": {0: 90.0, 1: 91.0, 2: 92.0}, "b": {2: 91.9, 3: 80.0}, "c": {0: 89.9, 1: 90.9}}
    # b has one split in common with a, no test; c differs from a by the same in both.
    assert find_best(values) == {"a"}


def test_methods_without_values_are_never_bold():
    assert find_best({"a": {0: 1.0}, "b": {}}) == {"a"}
    assert find_best({}) == set()


def test_the_correction_makes_more_methods_bold():
    values = {"a": by_split(90.0, 92.0, 91.0, 95.0), "b": by_split(88.9, 91.4, 90.6, 93.4)}
    assert find_best(values) == {"a"}
    assert find_best(values, correction="nadeau-bengio") == {"a", "b"}


def test_the_spread_is_that_of_one_split():
    assert summarize([1.0, 2.0, 4.0]).spread == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
    assert summarize([3.0]) == (3.0, 0.0, 1)


@pytest.mark.parametrize(
    ("item", "dataset", "method", "measure", "value"),
    [
        ("table-2", "CLL_SUB", "IMKPL", "ip", 91),
        ("table-2", "rcv1", "MKLDPL", "dr", 67),
        ("table-2", "UTKinect", "DKMLD", "dr", 52),
        ("table-2", "AUSLAN", "PS", "ip", 81),
        ("table-3", "TOX_171", "IMKPL", "accuracy", 97.21),
        ("table-3", "TOX_171", "MKLDPL", "accuracy", 94.72),
        ("table-3", "Isolet", "IMKPL", "kernels", 141),
        ("table-3", "PEMS", "MIDL", "kernels", 158),
        ("table-3", "UTKinect", "AKGLVQ", "accuracy", 88.75),
        ("table-5", "AUSLAN", "MIDL", "seconds", 1.38e7),
        ("table-5", "rcv1", "PS", "seconds", 66.2),
    ],
)
def test_numbers_are_those_in_print(item, dataset, method, measure, value):
    assert published_values(item, dataset)[method][measure] == value


def test_settings_are_those_in_print():
    assert published_values("table-1", "Isolet") == {
        "sparsity": 20,
        "lambda": 0.2,
        "mu": 0.2,
        "tau": 0.3,
        "samples": 1560,
        "features": 617,
        "classes": 26,
    }


def test_prototypes_per_class_sum_to_the_printed_total():
    assert sum(published_values("table-4", "UTKinect").values()) == 50


def test_dashes_in_print_are_left_out():
    for dataset in ("CLL_SUB", "TOX_171", "Isolet", "rcv1", "UTKinect", "PEMS", "AUSLAN"):
        for method in ("AKGLVQ", "PS"):
            assert "dr" not in published_values("table-2", dataset)[method]
        for method in ("ISKPL", "AKGLVQ", "PS"):
            assert "kernels" not in published_values("table-3", dataset)[method]


def test_every_item_has_its_place_in_print():
    assert list(read_published()) == list(ITEMS)
    printed = [read_published()[name]["printed"] for name in ITEMS]
    assert printed[1:6] == [f"Table {number}" for number in range(1, 6)]


def test_what_was_not_published_is_empty():
    assert published_values("table-3", "wine") == {}
    assert published_values("table-9", "Isolet") == {}
