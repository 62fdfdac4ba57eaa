"""The page as text: complete, self-contained, and no name in it is markup."""

import copy
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imkpl import stability
from imkpl.report import render_report
from imkpl.report.learned import describe_values
from imkpl.report.page import (
    MOST_MARKS,
    count_columns,
    draw_categories,
    draw_curve,
    draw_map,
    draw_numbers,
    draw_weights,
    embed_json,
    find_ticks,
    format_cell,
    format_percent,
    thin_marks,
)

from .conftest import HOSTILE


class Reader(HTMLParser):
    """Collects elements, ids and text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.scripts, self.stack = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.stack.append(tag)

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        (self.scripts if self.stack and self.stack[-1] == "script" else self.text).append(data)

    def find(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_has_all_sections_in_order(wine_page):
    reader = Reader(wine_page)
    sections = [one["id"] for one in reader.find("section") if "id" in one]
    assert sections == [
        "summary",
        "classes",
        "features",
        "map",
        "confusion",
        "samples",
        "explanation",
        "provenance",
    ]
    assert reader.find("html")[0]["lang"] == "en"


def test_a_section_on_stability_is_shown_on_request(hostile):
    measured = stability(hostile.model, *hostile.train, n_repeats=2)
    page = render_report({**hostile.found, "stability": measured.to_dict()})
    reader = Reader(page)
    assert {"id": "stability", "aria-labelledby": "stability-title"} in reader.find("section")
    assert {"href": "#stability"} in reader.find("a")
    assert "alert" not in "".join(reader.scripts[1:])
    assert not [one for one in reader.find("img") if "onerror" in one]
    text = "".join(reader.text)
    assert all(name in text for name in measured.kernel_frequencies)
    assert "Nogueira's index" in text
    without_choice = {**measured.to_dict(), "kernels": {**measured.to_dict()["kernels"]}}
    without_choice["kernels"].update(index=None, interval=[None, None])
    assert "chosen every time" in render_report({**hostile.found, "stability": without_choice})


def test_the_page_asks_for_nothing(wine_page):
    for tag, attributes in Reader(wine_page).elements:
        for name in ("src", "href", "action", "data", "xlink:href"):
            target = attributes.get(name, "")
            assert target.startswith("#") or target in ("", "data:,"), (tag, name, target)
    style = wine_page[wine_page.index("<style>") : wine_page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_headings_do_not_skip_a_level(wine_page):
    levels = [int(tag[1]) for tag, _ in Reader(wine_page).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_ids_are_unique_and_links_lead_somewhere(wine_page):
    reader = Reader(wine_page)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in reader.find("a"):
        assert link["href"][1:] in ids


def test_every_table_has_a_caption_and_every_picture_a_text(wine_page):
    reader = Reader(wine_page)
    assert len(reader.find("table")) == len(reader.find("caption"))
    for one in reader.find("svg"):
        assert one.get("aria-hidden") or (one["role"] == "img" and one["aria-label"])
    assert all("scope" in one for one in reader.find("th"))


def test_hostile_names_stay_text(hostile):
    reader = Reader(hostile.page)
    assert len(reader.find("script")) == 2
    assert not reader.find("img")
    assert not any(name.startswith("on") for _, one in reader.elements for name in one)
    text = "".join(reader.text)
    for name in hostile.found["features"]["features"]:
        assert name["name"] in text
    for label in HOSTILE[:3]:
        assert label in text
    assert "49" not in hostile.found["title"]
    assert "{{ 7 * 7 }}" in text


def test_the_data_of_the_page_are_those_of_the_dict(hostile):
    data, _ = Reader(hostile.page).scripts
    assert "<" not in data
    assert data.isascii()
    assert json.loads(data)["samples"] == hostile.found["samples"]


def test_a_page_can_be_made_from_saved_json(wine, wine_page):
    assert render_report(json.loads(json.dumps(wine.found))) == wine_page


def test_a_page_without_labels_says_so(wine):
    found = copy.deepcopy(wine.found)
    found["accuracy"], found["samples"]["has_labels"] = None, False
    for prototype in found["prototypes"]:
        prototype["n_right"] = None
    page = render_report(found)
    assert "the accuracy is unknown" in page
    assert 'data-key="true"' not in page


def test_json_in_a_script_cannot_end_it():
    text = embed_json(["</script>", "<!--", "a & b", "\u2028"])
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == ["</script>", "<!--", "a & b", "\u2028"]


def test_categories_and_missing_cells_are_drawn(wine):
    values = ["<b>", "f", None, "m"] * 6
    labels = ["Barolo", "Grignolino", "Barbera"] * 8
    distribution = describe_values(values, labels, wine.found["classes"])
    feature = {
        "feature": 0,
        "name": "sex",
        "weight": 1.0,
        "distribution": distribution,
        "marks": [],
    }
    chart = draw_categories(feature, wine.found["classes"])
    assert "<b>" in [text for *_, text in chart["texts"]]
    found = copy.deepcopy(wine.found)
    found["features"]["features"][0].update(distribution=distribution)
    found["prototypes"][0]["samples"][0]["cells"] = [None, "<i>", True, 3, 1.5]
    page = render_report(found)
    assert "missing</td>" in page
    assert "&lt;i&gt;</td>" in page
    assert ">&lt;b&gt;</th>" in page


def numbers_in(path):
    return [float(text) for text in re.findall(r"-?[\d.]+(?:e-?\d+)?", path)]


def distribution(quantiles, marks=()):
    rows = [{"label": label, "quantiles": values} for label, values in quantiles.items()]
    return {
        "name": "colour",
        "distribution": {"kind": "number", "classes": rows},
        "marks": [{"class": label, "value": value} for label, value in marks],
    }


def test_boxes_lines_and_diamonds_lie_at_their_values():
    feature = distribution({"a": [0, 10, 20, 30, 40, 50, 60], "b": None}, [("b", 35.0)])
    chart = draw_numbers(feature, ["a", "b"])
    ticks = {float(text): float(x) for x, text in chart["ticks"]}
    origin, unit = ticks[10], (ticks[50] - ticks[10]) / 40
    paths = {style: path for style, _, path in chart["paths"]}
    for style, expected in (("soft", (20, 40)), ("line", (10, 50)), ("median", (30,))):
        found = numbers_in(paths[style])
        xs = [found[0], found[2]] if len(expected) == 2 else [found[0]]
        assert xs == pytest.approx([origin + unit * (v - 10) for v in expected], abs=0.11)
    assert numbers_in(paths["mark"])[0] == pytest.approx(origin + unit * 25, abs=0.11)
    assert "a: median 30, half between 20 and 40" in chart["text"]


@pytest.mark.parametrize(
    "quantiles", [[3.0] * 7, [-1.7e308, *[0.0] * 5, 1.7e308], [None] * 7, ["-inf", *[0.0] * 6]]
)
def test_constant_huge_and_absent_values_are_drawn_too(quantiles):
    chart = draw_numbers(distribution({"a": quantiles}), ["a"])
    xs = [x for _, _, path in chart["paths"] for x in numbers_in(path)]
    assert all(np.isfinite(xs))


def test_bars_of_categories_are_shares_of_a_class():
    values = ["x"] * 3 + ["y"] + ["y"] * 4
    found = describe_values(values, ["a"] * 4 + ["b"] * 4, ["a", "b"])
    chart = draw_categories({"name": "sex", "distribution": found}, ["a", "b"])
    widths = [np.ptp(numbers_in(path)[::2][:2]) for _, _, path in chart["paths"]]
    assert np.array(widths) / max(widths) == pytest.approx([0.25, 0.75, 1.0, 0.0], abs=0.01)


def test_a_map_has_a_marker_per_sample_and_a_star_per_prototype(wine):
    for one in wine.found["embedding"]["maps"]:
        chart = draw_map(wine.found, one)
        counts = {"point": 0, "star": 0}
        for style, _, path in chart["paths"]:
            counts[style] += path.count("M")
        assert counts == {"point": len(wine.train[1]), "star": len(wine.found["prototypes"])}
        assert not chart["texts"]


def test_many_classes_are_named_in_the_map(wine):
    labels = [f"class {i}" for i in range(13)]
    n = wine.found["embedding"]["n"]
    found = {"classes": labels, "embedding": {**wine.found["embedding"]}}
    found["embedding"]["labels"] = [labels[i % 13] for i in range(n)]
    chart = draw_map(found, found["embedding"]["maps"][0])
    assert [text for *_, text in chart["texts"]] == labels


def test_a_line_breaks_where_values_are_missing():
    channel = {"name": "x", "times": [0, 1, 2, 3, 4], "values": [1.0, 2.0, None, 3.0, 2.0]}
    chart = draw_curve({"prototype": 0, "sample": 7, "channels": [channel]})
    ((_, _, path),) = chart["paths"]
    assert (path.count("M"), path.count("L")) == (2, 2)
    assert chart["text"] == "Sample 7 over time in x."


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_ticks_are_few_evenly_spaced_and_within_the_limits(low, span):
    high = low + span
    ticks = find_ticks(low, high)
    assert 1 <= len(ticks) <= 6
    assert low <= ticks[0] + 1e-9 * (abs(low) + span)
    assert ticks[-1] <= high + 1e-9 * abs(high)
    steps = np.diff(ticks)
    assert steps == pytest.approx(np.full(len(steps), steps[0] if len(steps) else 0), rel=1e-3)


@pytest.mark.parametrize("name", ["constructor", "$x$", "<b>bold</b>", "very long " * 30, "\u05e2"])
def test_names_in_charts_are_text_and_short(wine, name):
    found = copy.deepcopy(wine.found)
    found["features"]["features"][0]["name"] = name
    chart = draw_weights(found["features"]["features"])
    shown = chart["texts"][0][3]
    assert len(shown) <= 17
    assert shown[:6] == " ".join(name.split())[:6]
    reader = Reader(render_report(found))
    assert not reader.find("b")
    assert shown in "".join(reader.text)


def test_values_are_written_as_explain_writes_them():
    assert [format_cell(v) for v in (0.123456, 3, "a", None, True)] == [
        "0.1235",
        "3",
        "a",
        "missing",
        "True",
    ]
    assert format_percent(0.5) == "50\xa0%"


def test_tables_of_many_samples_have_fewer_columns():
    assert count_columns([{"samples": [0] * 5}] * 10) == 12
    assert count_columns([{"samples": [0] * 10}] * 120) == 5
    assert count_columns([{"samples": [0] * 10}] * 900) == 3


def test_of_many_marks_the_smallest_the_largest_and_some_between_are_drawn():
    marks = [{"class": "a", "value": float(i)} for i in range(1000)]
    marks += [{"class": "a", "value": None}, {"class": "b", "value": 2.0}] * 3
    values = thin_marks(marks, "a")
    assert (values[0], values[-1], len(set(values))) == (0.0, 999.0, MOST_MARKS)
    assert thin_marks(marks, "b") == [2.0]
    assert thin_marks(marks, "c") == []


def test_of_many_warnings_the_first_are_shown_and_the_rest_counted(wine):
    page = render_report({**wine.found, "warnings": [f"Warning {i}." for i in range(25)]})
    assert "Warning 19." in page
    assert "Warning 20." not in page
    assert "And 5 more, listed with their prototypes." in page
