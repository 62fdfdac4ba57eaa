"""The cut-off of the page moves answers, figures and cards, as costs do in Python."""

import copy
import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from imkpl import IMKPL
from imkpl.report import render_report, summarize

from .conftest import save


@pytest.fixture(scope="module")
def tumours():
    """A model of two classes that weigh alike, 200 held-out cases, and their page."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = IMKPL(n_prototypes=4, max_kernels=4, class_weight="balanced").fit(X[200:], y[200:])
    return model, X[:200], y[:200], summarize(model, X[:200], y[:200])


def answers(page):
    """The answers in the list, by case."""
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    names = page.locator("#list .id").all_inner_texts()
    said = page.locator("#list a > span:nth-child(2) bdi").all_inner_texts()
    return dict(zip(names, said, strict=True))


def slide(page, threshold):
    page.locator("#threshold").evaluate(
        "(one, value) => { one.value = value;"
        " one.dispatchEvent(new Event('input', {bubbles: true})); }",
        str(threshold),
    )


@pytest.mark.parametrize("threshold", [0.01, 0.2, 0.9])
def test_answers_on_200_cases_are_those_of_predict(open_page, tumours, tmp_path, threshold):
    model, X, y, found = tumours
    page = open_page(save(render_report(found), tmp_path))
    usual = {str(name): str(one) for name, one in zip(X.index, model.predict(X), strict=True)}
    assert answers(page) == usual
    headline = page.locator("#verdict-title").inner_text()
    slide(page, threshold)
    rare = found["classes"][found["cutoff"]["target"]]
    moved = copy.copy(model).set_params(costs={rare: (1 - threshold) / threshold})
    predicted = moved.predict(X)
    assert answers(page) == dict(zip(map(str, X.index), map(str, predicted), strict=True))
    n_right = int(np.sum(predicted == y))
    assert page.locator("#verdict-title").inner_text().startswith(f"Right for {n_right} of 200")
    assert f"Right for {n_right} of 200" in page.locator("#cutoff-figures").inner_text()
    cells = page.locator(".confusion tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].slice(0, 2)"
        ".map(one => parseInt(one.textContent)))"
    )
    expected = [
        [int(np.sum((y == a) & (predicted == b))) for b in model.classes_] for a in model.classes_
    ]
    assert cells == expected
    assert int(page.locator("#wrong .count").inner_text() or 0) == 200 - n_right
    # Every card is that of Python, reasons included.
    explanation = moved.explain(X)
    changed = np.flatnonzero(predicted != model.predict(X))[:3]
    for row in {0, 17, *changed.tolist()}:
        page.goto(f"{page.url.split('#')[0]}#case-{X.index[row]}")
        card = explanation.card(int(row))
        assert page.locator("#card h3 bdi").first.inner_text() == str(card.answer)
        lead = page.locator("#card tr.sum .n").inner_text().replace("\u2212", "-")
        assert float(lead) == pytest.approx(card.lead, abs=0.006)
        assert page.locator("#card .doubt").inner_text() == card.doubt_text
    page.get_by_role("button", name="As the model does").click()
    assert answers(page) == usual
    assert page.locator("#verdict-title").inner_text() == headline


def test_three_classes_have_a_cost_each(open_page, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = IMKPL(n_prototypes=3).fit(X[::2], y[::2])
    page = open_page(save(render_report(summarize(model, X[1::2], y[1::2])), tmp_path))
    page.locator("#cutoff summary").click()
    page.locator(".cost").nth(2).fill("40")
    page.locator(".cost").nth(0).fill("0.5")
    moved = copy.copy(model).set_params(costs={0: 0.5, 2: 40.0})
    expected = dict(zip(map(str, X.index[1::2]), map(str, moved.predict(X[1::2])), strict=True))
    assert answers(page) == expected
    assert expected != dict(zip(expected, map(str, model.predict(X[1::2])), strict=True))


def test_the_form_answers_at_the_cut_off(open_page, tumours, tmp_path):
    model, X, _, found = tumours
    page = open_page(save(render_report(found), tmp_path))
    slide(page, 0.01)
    rare = found["classes"][found["cutoff"]["target"]]
    moved = copy.copy(model).set_params(costs={rare: 99.0})
    row = int(np.flatnonzero(moved.predict(X) != model.predict(X))[0])
    page.goto(f"{page.url.split('#')[0]}#case-{X.index[row]}")
    page.locator("#tab-own").click()
    assert page.locator("#card h3 bdi").first.inner_text() == str(moved.predict(X)[row])


def test_pages_without_labels_or_votes(open_page, tumours, tmp_path):
    model, X, y, _ = tumours
    page = open_page(save(render_report(summarize(model, X[:60])), tmp_path))
    slide(page, 0.02)
    rare = json.loads(page.locator("#data").inner_text())["classes"]
    counts = page.locator("#cutoff-figures").inner_text()
    assert all(str(label) in counts for label in rare)
    shares = IMKPL(decision="share", n_prototypes=4).fit(X, y)
    assert summarize(shares, X[:40])["cutoff"] is None
