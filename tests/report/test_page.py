"""The page as text: complete, self-contained, and no name in it is markup."""

import copy
import itertools
import json
import re
from html.parser import HTMLParser
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imkpl import stability
from imkpl.report import render_report
from imkpl.report.learned import describe_values
from imkpl.report.page import (
    draw_curve,
    draw_map,
    embed_json,
    find_ticks,
    format_cell,
    format_percent,
    place_value,
    view_feature,
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
        "verdict",
        "cases",
        "prototypes",
        "features",
        "map",
        "disclosure",
        "methods",
    ]
    assert reader.find("html")[0]["lang"] == "en"


def test_a_section_on_stability_is_shown_on_request(hostile):
    measured = stability(hostile.model, *hostile.train, n_repeats=2)
    page = render_report({**hostile.found, "stability": measured.to_dict()})
    reader = Reader(page)
    assert {"id": "stability", "aria-labelledby": "stability-title"} in reader.find("section")
    assert {"href": "#stability"} in reader.find("a")
    assert "alert(" not in "".join(reader.scripts[1:])
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


def test_ids_are_unique_and_links_lead_somewhere(wine, wine_page):
    reader = Reader(wine_page)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    keys = {f"case-{quote(row['key'], safe='')}" for row in wine.found["samples"]["rows"]}
    # The script opens the cards of cases, and the form.
    for link in reader.find("a"):
        assert link["href"][1:] in {*ids, *keys, "own"}
    for button in reader.find("button"):
        assert button.get("aria-describedby", "verdict") in ids


def test_every_table_has_a_caption_and_every_picture_a_text(wine_page):
    reader = Reader(wine_page)
    assert len(reader.find("table")) == len(reader.find("caption"))
    for one in reader.find("svg"):
        assert one.get("aria-hidden") or (one["role"] == "img" and one["aria-label"])
    assert all("scope" in one for one in reader.find("th"))


def test_hostile_names_stay_text(hostile):
    reader = Reader(hostile.page)
    assert len(reader.find("script")) == 3
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
    data, *_ = Reader(hostile.page).scripts
    assert "<" not in data
    assert data.isascii()
    assert json.loads(data)["samples"] == hostile.found["samples"]
    assert json.loads(data)["form"] == hostile.found["form"]


def test_a_page_can_be_made_from_saved_json(wine, wine_page):
    assert render_report(json.loads(json.dumps(wine.found))) == wine_page


def test_json_in_a_script_cannot_end_it():
    text = embed_json(["</script>", "<!--", "a & b", "\u2028"])
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == ["</script>", "<!--", "a & b", "\u2028"]


def number_feature(quantiles):
    rows = [{"label": label, "quantiles": values} for label, values in quantiles.items()]
    return {"name": "colour", "distribution": {"kind": "number", "classes": rows}}


def test_boxes_lines_and_medians_lie_at_their_values():
    view = view_feature(number_feature({"a": [0, 10, 20, 30, 40, 50, 60], "b": None}), ["a", "b"])
    assert (view["low"], view["high"]) == (10, 50)
    assert view["rows"][0]["at"] == [10, 30, 50, 70, 90]
    assert "median 30, half between 20 and 40" in view["rows"][0]["text"]
    assert view["rows"][1] == {"label": "b", "at": None, "text": "no values"}


@pytest.mark.parametrize(
    "quantiles", [[3.0] * 7, [-1.7e308, *[0.0] * 5, 1.7e308], [None] * 7, ["-inf", *[0.0] * 6]]
)
def test_constant_huge_and_absent_values_are_drawn_too(quantiles):
    (row,) = view_feature(number_feature({"a": quantiles}), ["a"])["rows"]
    assert all(2 <= x <= 98 for x in row["at"] or [])


def test_values_beyond_the_axis_stay_in_sight():
    assert [place_value(v, -1.0, 1.0) for v in (-99.0, -1.0, 0.0, 1.0, 1e300)] == [
        2,
        10,
        50,
        90,
        98,
    ]


def test_categories_are_shares_of_a_class_and_missing_is_one_of_them():
    values = ["x"] * 3 + ["y"] + ["y"] * 3 + [None]
    found = describe_values(values, ["a"] * 4 + ["b"] * 4, ["a", "b"])
    rows = view_feature({"name": "sex", "distribution": found}, ["a", "b"])["rows"]
    assert [row["parts"] for row in rows] == [
        [("x", 0.75), ("y", 0.25)] if found["categories"][0] == "x" else [("y", 0.25), ("x", 0.75)],
        [("y", 0.75), ("missing", 0.25)],
    ]


def test_a_map_has_a_marker_per_sample_and_a_ring_per_error(wine):
    counts = {"trained": 0, "held-out": 0, "star": 0, "wrong": 0}
    chart = draw_map(wine.found)
    for style, _, path in chart["paths"]:
        counts[style] += path.count("M")
    n_wrong = wine.found["accuracy"]["n"] - wine.found["accuracy"]["n_right"]
    assert counts == {
        "trained": len(wine.train[1]),
        "held-out": len(wine.y),
        "star": len(wine.found["prototypes"]),
        "wrong": n_wrong,
    }
    assert not chart["texts"]


def test_many_classes_are_named_in_the_map(wine):
    labels = [f"class {i}" for i in range(13)]
    found = copy.deepcopy(wine.found)
    found["classes"] = [*wine.found["classes"], *labels]
    for i, point in enumerate(found["map"]["points"]):
        point["label"] = labels[i % 13]
    assert [text for *_, text in draw_map(found)["texts"]] == labels


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


def test_values_are_written_as_explain_writes_them():
    assert [format_cell(v) for v in (0.123456, 3, "a", None, True)] == [
        "0.1235",
        "3",
        "a",
        "missing",
        "True",
    ]
    assert format_percent(0.5) == "50\xa0%"


def test_of_many_warnings_the_first_are_open(wine):
    looks = [{"text": f"Look {i}.", "cases": [], "prototype": None} for i in range(25)]
    page = render_report({**wine.found, "warnings": looks})
    assert page.index("Look 5.") < page.index("19 more</summary>") < page.index("Look 6.")


def test_what_is_open_does_not_grow_with_the_model(wine):
    found = copy.deepcopy(wine.found)
    found["features"]["features"] *= 3
    reader = Reader(render_report(found))
    texts = [text for text in reader.text if text.endswith("more features")]
    assert texts == ["7 more features"]


def test_every_word_with_a_meaning_is_explained(wine_page):
    reader = Reader(wine_page)
    terms = [one for one in reader.find("button") if one.get("class") == "term"]
    assert len(terms) >= 6
    assert all(f'id="{one["aria-describedby"]}"' in wine_page for one in terms)
