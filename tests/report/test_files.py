"""Reports as files, and sentences where one cannot be written."""

import json
import sys

import pytest

from imkpl.report import render_report, save_json, write_report

from .conftest import CREATED


def test_an_estimator_writes_its_report(wine, tmp_path):
    path = wine.model.report(wine.X, wine.y, tmp_path / "report.html", title="Wine")
    assert path == tmp_path / "report.html"
    assert "<title>Wine</title>" in path.read_text(encoding="utf-8")


def test_the_same_report_twice_is_the_same_file(wine, wine_page, tmp_path):
    path = write_report(
        wine.model, wine.X, wine.y, tmp_path / "a.html", train=wine.train, created=CREATED
    )
    assert path.read_text(encoding="utf-8") == wine_page
    assert path.stat().st_size < 3_000_000


def test_a_name_in_json_gives_the_numbers(wine, tmp_path):
    path = write_report(
        wine.model, wine.X, wine.y, tmp_path / "a.json", train=wine.train, created=CREATED
    )
    assert json.loads(path.read_text(encoding="utf-8")) == wine.found
    assert save_json(wine.found, tmp_path / "b.json").read_bytes() == path.read_bytes()


def test_the_callers_data_are_untouched(wine, tmp_path):
    X, y = wine.X.copy(), wine.y.copy()
    write_report(wine.model, X, y, tmp_path / "a.json")
    assert X.equals(wine.X)
    assert (y == wine.y).all()


def test_bad_paths_are_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere of r\.html does not exist"):
        write_report(None, None, None, tmp_path / "nowhere" / "r.html")
    with pytest.raises(ValueError, match=r"'report\.pdf', expected a name that ends in \.html"):
        write_report(None, None, None, tmp_path / "report.pdf")


def test_a_missing_package_is_named_with_its_remedy(wine, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'imkpl\[report\]'"):
        render_report(wine.found)
