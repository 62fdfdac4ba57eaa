"""The page of a model of values: errors beside those of a line, and a form that predicts."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from imkpl import IMKPL, IMKPLRegressor
from imkpl.report import render_report, summarize

from .conftest import save
from .test_form import cells_of

PREDICT = """
rows => {
  const { form } = JSON.parse(document.getElementById("data").textContent);
  return rows.map((cells) => imkplPredictor.predictValue(form, cells));
}
"""


@pytest.fixture(scope="module")
def prices():
    X, y = make_friedman1(150, 6, noise=0.5, random_state=3)
    model = IMKPLRegressor(n_prototypes=5).fit(X[:100], y[:100])
    found = summarize(model, X[100:], y[100:], train=(X[:100], y[:100]))
    return model, X[100:], y[100:], found


def test_the_verdict_is_beside_the_mean_and_a_line(prices):
    model, X, y, found = prices
    measured = found["measured"]
    assert measured["r2"] == pytest.approx(model.score(X, y), abs=0.02)
    assert measured["mean_error"] == pytest.approx(np.mean(np.abs(y - model.predict(X))))
    assert measured["mean_error"] < measured["mean"]["mean_error"]
    assert 0 < measured["line"]["r2"] < 1
    assert found["verdict"]["level"] == "better"
    text = render_report(found)
    for part in ("R²", "a linear model", "always the mean", 'id="own-form"', "for a higher value"):
        assert part in text
    assert text.count("<circle") == len(y)


def test_the_form_predicts_values_as_python_does(prices, open_page, tmp_path):
    model, X, _, found = prices
    page = open_page(save(render_report(found), tmp_path))
    explanation, cells = cells_of(model, X)
    answers = page.evaluate(PREDICT, cells)
    for row, answer in enumerate(answers):
        card = explanation.card(row)
        for name in ("estimate", "low", "high", "middle", "interval"):
            assert answer["value"][name] == pytest.approx(card.value[name], abs=1e-9)
        assert answer["lead"] == pytest.approx(card.lead, abs=1e-9)
        for side in ("supporting", "opposing"):
            expected = getattr(card, side)
            for name in ("case", "prototype", "share"):
                assert answer[side][name] == pytest.approx(expected[name])
        adds = sum(one["for"] for one in answer["features"] + answer["rest"])
        assert answer["value"]["middle"] + adds == pytest.approx(card.value["estimate"])
        names = {one["name"]: one["for"] for one in answer["features"]}
        expected = {one["name"]: one["for"] for one in card.features}
        assert names == pytest.approx(expected, abs=1e-9)
    # What is typed is answered at once.
    page.get_by_label(model.kernel_names_[int(np.argmax(model.kernel_weights_))]).fill("0.9")
    assert "between case" in page.locator("#own-answer").inner_text()


def test_a_page_of_ordered_classes_counts_classes():
    X, y = make_friedman1(120, 5, noise=0.5, random_state=4)
    grades = np.array(["low", "mid", "high"])[np.searchsorted(np.quantile(y, [0.3, 0.7]), y)]
    model = IMKPL(ordered=["low", "mid", "high"], n_prototypes=3).fit(X[:80], grades[:80])
    found = summarize(model, X[80:], grades[80:])
    right = np.mean(model.predict(X[80:]) == grades[80:])
    assert f"right for {right:.0%}" in found["verdict"]["headline"]
    assert "in the order from 0" in render_report(found)
