"""The model card says the same as Markdown and as HTML, whatever names are in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imkpl.report.page import build_model_card

from .conftest import HOSTILE, Reader

# What Markdown, HTML, tables and templates could take for something else.
names = st.text(
    st.sampled_from(list("ab1 |*_`<>&\\[]()#!~-+=.:\n\u05d0\u2028{}$%'\"")), max_size=12
)
MEASURED = {"rows": 50, "distinct_rows": 40, "accuracy": 0.9, "interval": [0.8, 0.95]}


def describe(name):
    """What `imkpl inspect` says about a model with such names."""
    baseline = {"class": name, "accuracy": 0.4}
    return {
        "file": f"m{name}.imkpl",
        "kind": "IMKPL",
        "decision": "votes",
        "provenance": {
            "target": f"t{name}",
            "date": "2026-01-02",
            "file": f"d{name}.csv",
            "rows": 60,
            "fingerprint": "0123",
            "folds": {**MEASURED, "folds": 5, "repeats": 4, "baseline": baseline},
            "held_out": {**MEASURED, "baseline": baseline},
            "reading": {"id_column": None},
            "versions": {"imkpl": "1"},
        },
        "classes": [{"class": f"c{name}", "prototypes": 2, "records": 9}],
        "settings": {"kernels": f"k{name}", "tol": None},
        "n_features": 50,
        "features": [{"name": f"f{i}{name}", "weight": 0.1, "evidence": 0.9} for i in range(33)],
        "n_prototypes": 6,
        "n_training_rows": 50,
        "n_records": 18,
    }


def read(page):
    texts = [" ".join(text.replace("_" * 30, "").split()) for text in Reader(page).blocks]
    return [text.rstrip(": ") for text in texts]


def compare(*arguments):
    """The Markdown of a card, after a comparison with its HTML."""
    markdown_it = pytest.importorskip("markdown_it")
    text, page = build_model_card(*arguments), build_model_card(*arguments, html=True)
    main = page[page.index("<main>") :]
    rendered = markdown_it.MarkdownIt("commonmark").enable("table").render(text)
    assert read(rendered) == read(main)
    known = {"main", "h1", "h2", "p", "i", "div", "table", "tr", "th", "td"}
    assert {tag for tag, _ in Reader(main).elements} <= known
    return text


@settings(max_examples=20, deadline=None)
@given(names)
def test_both_forms_say_the_same(name):
    text = compare(describe(name), [f"exclude: {name}."], None)
    assert "3 more features." in text
    assert "4 x 5 folds of all rows" in text
    assert "Not measured." in compare({**describe(name), "provenance": None}, [], None)


def test_a_card_has_the_figures_of_the_page(hostile):
    group = {"value": HOSTILE[2], "n": 9, "n_right": 8, "interval": [0.5, 0.99], "n_novel": 1}
    groups = [{**group, "n_no_evidence": 0, "column": HOSTILE[i]} for i in range(2)]
    page = {**hostile.found, "subgroups": groups}
    text, accuracy = compare(describe(HOSTILE[0]), [], page), page["accuracy"]
    assert f"{accuracy['n_right']} of {accuracy['n']} right" in text
    assert text.count("| 9 | 8 | 89% | 50% to 99% | 1 | 0 |") == 2
    assert page["features"]["chance"] in text
    # A card may be handed on: it names no record.
    assert not any(f"{name}" in text for name in hostile.model.support_ids_)
