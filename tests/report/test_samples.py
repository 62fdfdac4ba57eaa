"""Held-out samples with their reasons, in the numbers and words of `explain`."""

import numpy as np
import pytest

from imkpl.report import samples as samples_module
from imkpl.report.samples import describe_samples
from imkpl.report.subject import choose_evenly

from .conftest import describe


def test_every_sample_has_a_line(wine):
    found = wine.found["samples"]
    explanation = wine.model.explain(wine.X)
    assert [row["sample"] for row in found["rows"]] == list(wine.X.index)
    assert [row["predicted"] for row in found["rows"]] == list(wine.model.predict(wine.X))
    assert [row["true"] for row in found["rows"]] == list(wine.y)
    best = explanation.probabilities.max(axis=1)
    assert [row["probability"] for row in found["rows"]] == pytest.approx(best, abs=1e-5)
    assert [row["novelty"] for row in found["rows"]] == pytest.approx(explanation.novelty, abs=1e-5)


def test_reasons_are_those_of_explain(wine):
    explanation = wine.model.explain(wine.X)
    for index in (0, 40, 80):
        one, reasons = explanation[index], wine.found["samples"]["rows"][index]["reasons"]
        table = one.contributions(0)
        assert reasons["words"] == str(one)
        assert reasons["scores"] == pytest.approx(one.scores[0], abs=1e-5)
        assert reasons["probabilities"] == pytest.approx(one.probabilities[0], abs=1e-5)
        shares = {part["prototype"]: part["share"] for part in reasons["prototypes"]}
        code = one.shares.tocoo()
        assert shares == pytest.approx(dict(zip(code.coords[1], code.data, strict=True)), abs=1e-5)
        for part in reasons["features"]:
            added = table[:, part["feature"]].sum(axis=0)
            assert part["winner"] == pytest.approx(added[reasons["winner"]], abs=1e-5)
            assert part["runner_up"] == pytest.approx(added[reasons["runner_up"]], abs=1e-5)
            name = explanation.feature_names[part["feature"]]
            assert part["value"] == pytest.approx(wine.X.iloc[index][name], rel=1e-5)


def test_a_cut_table_still_adds_up_to_the_scores(wine, monkeypatch):
    monkeypatch.setattr(samples_module, "MOST_PROTOTYPES", 2)
    monkeypatch.setattr(samples_module, "MOST_FEATURES", 3)
    rows = describe(describe_samples, wine.model, wine.X[:10], wine.y[:10])["rows"]
    for row in rows:
        reasons = row["reasons"]
        table, score = reasons["table"], reasons["scores"][reasons["winner"]]
        assert np.shape(table["values"]) == (3, 4)
        assert table["n_other_features"] == reasons["other_features"]["n"] == 2
        assert np.sum(table["values"]) == pytest.approx(score, abs=1e-4)
        added = sum(part["winner"] for part in reasons["features"])
        assert added + reasons["other_features"]["winner"] == pytest.approx(score, abs=1e-4)


def test_the_table_holds_the_contributions_of_explain(wine):
    row = wine.found["samples"]["rows"][7]
    reasons, table = row["reasons"], wine.model.explain(wine.X).contributions(7)
    features = [part["feature"] for part in reasons["features"]]
    for place, prototype in enumerate(reasons["table"]["prototypes"]):
        expected = table[prototype, features, reasons["winner"]]
        assert reasons["table"]["values"][place][:-1] == pytest.approx(expected, abs=1e-5)


def test_of_many_samples_some_are_explained_and_wrong_ones_first(wine, monkeypatch):
    monkeypatch.setattr(samples_module, "MOST_EXPLAINED", 12)
    monkeypatch.setattr(samples_module, "MOST_LISTED", 30)
    y = wine.y.copy()
    wrong = [3, 50, 70]
    y[wrong] = "Rosé"
    found = describe(describe_samples, wine.model, wine.X, y)
    assert (found["n"], found["n_listed"], found["n_explained"]) == (len(y), 30, 12)
    explained = {row["row"] for row in found["rows"] if row["reasons"] is not None}
    assert len(explained) == 12
    is_wrong = {row["row"] for row in found["rows"] if not row["right"]}
    assert set(wrong) <= is_wrong <= explained


def test_every_class_gets_its_share_of_a_choice():
    labels = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    chosen = choose_evenly(labels, 20)
    assert len(set(chosen.tolist())) == 20
    assert [sum(labels[i] == name for i in chosen) for name in "abc"] == [12, 6, 2]
    assert choose_evenly(labels, 500).tolist() == list(range(100))
