"""The page as text and as a file: complete, self-contained, and no name in it is markup."""

import json
import sys
from urllib.parse import quote

import pytest

from imkpl import stability
from imkpl.report import render_report, summarize, write_report
from imkpl.report.page import draw_map, embed_json, find_ticks, format_percent, place_value

from .conftest import HOSTILE, Reader


def test_an_estimator_writes_its_report_as_a_page_or_as_numbers(wine, tmp_path):
    X, y = wine.X.copy(), wine.y.copy()
    path = wine.model.report(X, y, tmp_path / "report.html", title="Wine")
    assert path == tmp_path / "report.html"
    assert "<title>Wine</title>" in path.read_text(encoding="utf-8")
    path = write_report(wine.model, X, y, tmp_path / "a.json", train=wine.train)
    found = json.loads(path.read_text(encoding="utf-8"))
    found["provenance"]["created"] = wine.found["provenance"]["created"]
    assert found == wine.found
    # The data of the caller are untouched.
    assert X.equals(wine.X)
    assert (y == wine.y).all()


def test_the_same_report_twice_is_the_same_page(wine, wine_page):
    again = summarize(wine.model, wine.X, wine.y, train=wine.train)
    again["provenance"]["created"] = wine.found["provenance"]["created"]
    assert json.loads(json.dumps(wine.found, allow_nan=False)) == wine.found
    assert render_report(json.loads(json.dumps(again))) == wine_page
    assert len(wine_page) < 3_000_000


def test_what_cannot_be_written_is_said_before_anything_is_computed(wine, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere of r\.html does not exist"):
        write_report(None, None, None, tmp_path / "nowhere" / "r.html")
    with pytest.raises(ValueError, match=r"'report\.pdf', expected a name that ends in \.html"):
        write_report(None, None, None, tmp_path / "report.pdf")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'imkpl\[report\]'"):
        render_report(wine.found)


def test_numbers_are_written_and_placed():
    assert embed_json("</script>") == '"\\u003c/script\\u003e"'
    assert (format_percent(0.974, 1), format_percent(None)) == ("97.4%", "\N{EN DASH}")
    assert [place_value(value, 0.0, 10.0) for value in (0.0, 5.0, 99.0)] == [10.0, 50.0, 98.0]
    assert find_ticks(11.4, 14.9) == [12.0, 13.0, 14.0]
    assert find_ticks(0, 19) == [0.0, 5.0, 10.0, 15.0]


def test_the_page_has_all_sections_and_all_tables_and_pictures_are_named(wine_page):
    reader = Reader(wine_page)
    sections = [one["id"] for one in reader.find("section") if "id" in one]
    assert sections == ["verdict", "cases", "prototypes", "features", "map", "review", "methods"]
    assert reader.find("html")[0]["lang"] == "en"
    assert len(reader.find("table")) == len(reader.find("caption"))
    for one in reader.find("svg"):
        assert one.get("aria-hidden") or (one["role"] == "img" and one["aria-label"])
    assert all("scope" in one for one in reader.find("th"))


def test_a_section_on_stability_is_shown_on_request(hostile):
    measured = stability(hostile.model, *hostile.train, n_repeats=2)
    page = render_report({**hostile.found, "stability": measured.to_dict()})
    reader = Reader(page)
    assert {"id": "stability", "aria-labelledby": "stability-title"} in reader.find("section")
    assert {"href": "#stability"} in reader.find("a")
    assert "alert(" not in "".join(reader.scripts[1:])
    assert not [one for one in reader.find("img") if "onerror" in one]
    text = "".join(reader.text)
    assert all(one["kernel"] in text for one in measured.kernels["frequencies"])
    assert "Nogueira's index" in text
    always = measured.to_dict()
    always["kernels"].update(index=None, interval=[None, None])
    assert "chosen every time" in render_report({**hostile.found, "stability": always})


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


def test_hostile_names_stay_text_and_data_are_those_of_the_dict(hostile):
    reader = Reader(hostile.page)
    assert len(reader.find("script")) == 3
    assert not reader.find("img")
    assert not any(name.startswith("on") for _, one in reader.elements for name in one)
    text = "".join(reader.text)
    names = [one["name"] for one in hostile.found["features"]["features"]]
    assert all(name in text for name in (*names, *HOSTILE[:3], "{{ 7 * 7 }}"))
    data = reader.scripts[0]
    assert "<" not in data
    assert data.isascii()
    rows = json.loads(data)["samples"]["rows"]
    for row, whole in zip(rows, hostile.found["samples"]["rows"], strict=True):
        assert row | {"card": None} == whole | {"card": None}
        # Of a feature on a card, the page has what it draws.
        own, known = (one["card"] or {"features": []} for one in (row, whole))
        assert own | {"features": None} == known | {"features": None}
        for feature, every in zip(own["features"], known["features"], strict=True):
            assert {"name", "value", "for"} <= feature.keys()
            assert feature == {key: every[key] for key in feature}
            assert not any(every[key] for key in every.keys() - {*feature, "evidence"})
    assert json.loads(data)["form"] == hostile.found["form"]


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
