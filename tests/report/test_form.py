"""The form: the page predicts and explains as Python does."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer

from imkpl import IMKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.report import render_report, summarize
from imkpl.report.summarize import describe_form

from .conftest import describe, save

PREDICT = """
rows => {
  const { form } = JSON.parse(document.getElementById("data").textContent);
  return rows.map((cells) => imkplPredictor.predict(form, cells));
}
"""


def draw_patients(n, seed):
    """Numbers, categories, truth values and missing cells; two of three classes overlap."""
    rng = np.random.default_rng(seed)
    place = np.arange(n) % 3
    X = pd.DataFrame(
        {
            "crp": (rng.gamma(2, 2, n) + 3 * (place == 1)).round(1),
            "age": rng.integers(20, 60, n) + 15 * place,
            "site": rng.choice(["north", "south", "<b>"], n),
            "code": rng.choice([1, 2, 7], n),
            "smoker": (rng.random(n) < 0.2 + 0.5 * (place == 2)).astype(object),
            "stage": np.where(rng.random(n) < 0.6, np.array(["I", "II", "III"])[place], "I"),
        }
    )
    X.loc[rng.random(n) < 0.2, "crp"] = np.nan
    X.loc[rng.random(n) < 0.1, "stage"] = None
    # Only that it is missing says something.
    X["dose"] = np.where(
        rng.random(n) < 0.1 + 0.6 * (place == 0), np.nan, rng.choice([-1.0, 1.0], n)
    )
    X.index = [f"patient {i}" for i in range(n)]
    return X, np.array(["healthy", "acute", "chronic"])[place]


@pytest.fixture(scope="module")
def patients():
    """A model, its page, and 200 new cases, some of them like nothing in training."""
    X, y = draw_patients(90, 0)
    model = IMKPL("per_column", n_prototypes=9, sparsity=3, contrast=True).fit(X, y)
    assert model.contrasts_.nnz
    new, truth = draw_patients(200, 1)
    new.iloc[::9, 2] = "moon"
    new.iloc[1::11, 0] = 900.0
    new.iloc[3::17, [0, 5]] = None
    new.iloc[5] = None
    return model, new, truth, render_report(summarize(model, new, truth, train=(X, y)))


def assert_same(found, expected, where=""):
    """Equal values; numbers to 1e-9."""
    if isinstance(expected, dict):
        for key in expected:
            assert_same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, part in enumerate(expected):
            assert_same(found[place], part, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-9), where
    else:
        assert found == expected, where


def cells_of(model, X):
    explanation = model.explain(X)
    features, kernels = explanation.comparison, explanation.evidence.kernels
    return explanation, [features.cells(kernels, row) for row in range(len(explanation))]


def compare(page, model, X):
    explanation, cells = cells_of(model, X)
    found = page.evaluate(PREDICT, cells)
    probabilities = [one.pop("probabilities") for one in found]
    assert np.abs(np.array(probabilities) - explanation.probabilities).max() < 1e-9
    assert np.abs([one.pop("novelty") for one in found] - explanation.novelty).max() < 1e-9
    for row, one in enumerate(found):
        assert_same({**one, "case": str(X.index[row])}, explanation.card(row).to_dict(), str(row))


def test_prototypes_name_what_they_are_unlike(patients):
    model, _, _, text = patients
    X, _ = draw_patients(90, 0)
    for prototype in range(model.prototypes_.shape[0]):
        row = model.contrasts_[[prototype]]
        for place in row.indices[np.argsort(-row.data)][:5]:
            assert re.search(rf">unlike: [^.]*<bdi>{X.index[place]}</bdi>", text)


def test_it_predicts_tables_as_python_does(open_page, patients, tmp_path):
    model, X, _, text = patients
    page = open_page(save(text, tmp_path))
    compare(page, model, X)
    assert "dose is missing" in model.explain(X).comparison.names
    assert model.explain(X.iloc[[5]]).card().doubt == "no evidence"


@pytest.mark.parametrize("contrast", [False, True])
def test_it_predicts_numbers_as_python_does(contrast, open_page, tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    bank, costs = PerFeatureGaussian(scales=(0.5, 2.0)), {1: 20.0} if contrast else None
    model = IMKPL(bank, n_prototypes=6, max_kernels=12, contrast=contrast, costs=costs)
    model.fit(X[:150], y[:150])
    assert (model.contrasts_.nnz > 0) == contrast
    page = open_page(save(render_report(summarize(model, X[150:200])), tmp_path))
    compare(page, model, X[150:350])


def test_a_case_is_changed_and_answered_at_once(open_page, patients, tmp_path):
    model, X, _, text = patients
    page = open_page(save(text, tmp_path), link="#case-patient%2010")
    page.get_by_role("button", name="Change its values").click()
    age, crp, stage = (page.get_by_label(re.compile(f"^{one}")) for one in ("age", "crp", "stage"))
    assert page.locator("#own-start").inner_text() == "Started from patient 10"
    assert page.locator("#card .of").inner_text() == "Your own case"
    changed = X.iloc[[10]].copy()
    changed["age"], changed["crp"], changed["stage"] = 43, np.nan, "III"
    age.fill("43")
    crp.fill("")
    stage.select_option("III")
    card = model.explain(changed).card()
    assert page.locator("#card h3 bdi").inner_text() == card.answer
    assert page.locator("#card .doubt").inner_text() == card.doubt_text
    assert age.evaluate("one => one.classList.contains('changed')")
    age.fill("old")
    assert page.locator("#own-wrong").inner_text() == "Expected a number: age"
    assert age.get_attribute("aria-invalid") == "true"
    assert page.locator("#card.stale").count() == 1
    age.fill("43,0")
    assert page.locator("#card.stale").count() == 0
    assert page.locator("#own-wrong").inner_text() == ""
    page.get_by_role("button", name="Reset").click()
    original = model.explain(X.iloc[[10]]).card()
    assert page.locator("#card .doubt").inner_text() == original.doubt_text
    page.get_by_role("tab", name="Held-out cases").click()
    assert page.locator("#card .of").inner_text().startswith("Case patient 10")


def test_models_of_numbers_leave_out_missing_cells(open_page, wine_file, wine):
    page = open_page(wine_file, link="#own")
    X = wine.X.iloc[:40].copy()
    live = np.flatnonzero(wine.model.kernel_weights_)
    X.iloc[::2, live[0]] = np.nan
    X.iloc[::3, live[1:3]] = np.nan
    assert len(set(wine.model.explain(X).missing.round(6))) > 2
    with pytest.warns(UserWarning, match="get no answer"):
        refused = np.isnan(wine.model.predict_proba(X)).any(axis=1)
    assert 0 < refused.sum() < 20
    compare(page, wine.model.set_params(max_missing=0.5), X)


def test_without_a_form_a_sentence_says_why(two_blobs, wine, monkeypatch):
    X, y = two_blobs
    share = IMKPL(n_prototypes=4, decision="share").fit(X, y)
    assert "only Python can solve" in describe(describe_form, share, X)["why_absent"]
    words = IMKPL("per_word", n_prototypes=4).fit(csr_array(np.round(np.abs(X))), y)
    counts = csr_array(np.round(np.abs(X)))
    assert "about words" in describe(describe_form, words, counts)["why_absent"]
    monkeypatch.setitem(describe_form.__globals__, "MOST_CELLS", 10)
    assert "too large" in describe(describe_form, wine.model, wine.X)["why_absent"]
