"""The page as text: complete, self-contained, and no name in it is markup."""

import copy
import itertools
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from imkpl.report import render_report
from imkpl.report.charts import MOST_MARKS, _thin_marks, draw_distribution, draw_weights
from imkpl.report.features import describe_values
from imkpl.report.render import count_columns, embed_json, say_percent, say_value
from imkpl.report.svg import SVG, clean_svg

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
    assert all(one["role"] == "img" and one["aria-label"] for one in reader.find("svg"))
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
    assert "nothing is said about accuracy" in page
    assert 'data-key="true"' not in page


def test_json_in_a_script_cannot_end_it():
    text = embed_json(["</script>", "<!--", "a & b", "\u2028"])
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == ["</script>", "<!--", "a & b", "\u2028"]


def test_pictures_escape_names_and_have_ids_of_their_own():
    features = [{"name": name, "weight": 0.1} for name in HOSTILE]
    root = ElementTree.fromstring(draw_weights(features))
    assert root.get("role") == "img"
    assert {element.tag for element in root.iter()} <= {
        f"{{{SVG}}}{t}" for t in ("svg", "g", "path", "text", "line")
    }
    # Long labels are cut by the chart; the short one is whole.
    assert "\U0001f480 emoji" in [element.text for element in root.iter(f"{{{SVG}}}text")]


def test_a_picture_with_a_script_is_refused():
    with pytest.raises(ValueError, match="contains <script>, expected shapes and text only"):
        clean_svg(f'<svg xmlns="{SVG}"><script>alert(1)</script></svg>', "a", "b")


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
    picture = draw_distribution(wine.found, feature)
    assert "&lt;b&gt;" in picture
    found = copy.deepcopy(wine.found)
    found["features"]["features"][0].update(distribution=distribution)
    found["prototypes"][0]["samples"][0]["cells"] = [None, "<i>", True, 3, 1.5]
    page = render_report(found)
    assert "missing</td>" in page
    assert "&lt;i&gt;</td>" in page
    assert ">&lt;b&gt;</th>" in page


def test_values_are_written_as_explain_writes_them():
    assert [say_value(v) for v in (0.123456, 3, "a", None, True)] == [
        "0.1235",
        "3",
        "a",
        "missing",
        "True",
    ]
    assert say_percent(0.5) == "50\xa0%"


def test_tables_of_many_samples_have_fewer_columns():
    assert count_columns([{"samples": [0] * 5}] * 10) == 12
    assert count_columns([{"samples": [0] * 10}] * 120) == 5
    assert count_columns([{"samples": [0] * 10}] * 900) == 3


def test_of_many_marks_the_smallest_the_largest_and_some_between_are_drawn():
    marks = [{"class": "a", "value": float(i)} for i in range(1000)]
    marks += [{"class": "a", "value": None}, {"class": "b", "value": 2.0}] * 3
    thinned = _thin_marks(marks, ["a", "b", "c"])
    values = [mark["value"] for mark in thinned if mark["class"] == "a"]
    assert (values[0], values[-1], len(set(values))) == (0.0, 999.0, MOST_MARKS)
    assert [mark for mark in thinned if mark["class"] != "a"] == [{"class": "b", "value": 2.0}]


def test_of_many_warnings_the_first_are_shown_and_the_rest_counted(wine):
    page = render_report({**wine.found, "warnings": [f"Warning {i}." for i in range(25)]})
    assert "Warning 19." in page
    assert "Warning 20." not in page
    assert "And 5 more, which stand with their prototypes." in page
