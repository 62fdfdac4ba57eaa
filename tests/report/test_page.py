"""The page as text: complete, self-contained, and no name in it is markup."""

import json
from urllib.parse import quote

from imkpl import stability
from imkpl.report import render_report
from imkpl.report.page import draw_map

from .conftest import HOSTILE, Reader


def test_the_page_has_all_sections_and_all_tables_and_pictures_are_named(wine_page):
    reader = Reader(wine_page)
    sections = [one["id"] for one in reader.find("section") if "id" in one]
    assert sections == ["verdict", "cases", "prototypes", "features", "map", "methods"]
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
    assert "{{ 7 * 7 }}" in text


def test_the_data_of_the_page_are_those_of_the_dict(hostile):
    data, *_ = Reader(hostile.page).scripts
    assert "<" not in data
    assert data.isascii()
    assert json.loads(data)["samples"] == hostile.found["samples"]
    assert json.loads(data)["form"] == hostile.found["form"]


def test_a_page_can_be_made_from_saved_json(wine, wine_page):
    assert render_report(json.loads(json.dumps(wine.found))) == wine_page


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
