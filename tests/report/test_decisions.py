"""Accuracy and the reasons for decisions, against scikit-learn and `explain`."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_score, recall_score

from imkpl.estimators import interpretability_scorer
from imkpl.measures import discrimination_score
from imkpl.report import decisions, summarize
from imkpl.report.decisions import describe_accuracy, describe_measures, describe_samples
from imkpl.report.subject import choose_evenly
from imkpl.report.summarize import write_summary, write_warnings

from .conftest import describe


def test_accuracy_is_that_of_the_model(wine):
    accuracy = wine.found["accuracy"]
    assert accuracy["accuracy"] == pytest.approx(wine.model.score(wine.X, wine.y), abs=1e-5)
    assert accuracy["n_right"] == (wine.model.predict(wine.X) == wine.y).sum()
    interval = binomtest(accuracy["n_right"], accuracy["n"]).proportion_ci(method="wilson")
    assert accuracy["interval"] == pytest.approx([interval.low, interval.high], abs=1e-5)
    expected = balanced_accuracy_score(wine.y, wine.model.predict(wine.X))
    assert accuracy["balanced_accuracy"] == pytest.approx(expected, abs=1e-5)


def test_recall_precision_and_confusion_are_those_of_scikit_learn(wine):
    accuracy, predicted = wine.found["accuracy"], wine.model.predict(wine.X)
    assert accuracy["confusion"] == confusion_matrix(wine.y, predicted).tolist()
    for name, score in (("recall", recall_score), ("precision", precision_score)):
        expected = score(wine.y, predicted, average=None)
        assert [one[name] for one in accuracy["classes"]] == pytest.approx(expected, abs=1e-5)


def test_measures_are_those_of_the_scorers(wine):
    measures = wine.found["measures"]
    assert measures["interpretability"] == pytest.approx(
        interpretability_scorer(wine.model), rel=1e-5
    )
    # Codes over the prototypes of all classes, not of the predicted one.
    predictor = wine.model._predictor
    codes = predictor.encoder.encode(predictor.similarities(wine.X.to_numpy()))
    expected = discrimination_score(codes, wine.y, wine.model.prototype_classes_)
    assert measures["discrimination"] == pytest.approx(expected, rel=1e-5)


def test_sizes_are_beside_the_measures(wine, wine_page):
    size, prototypes = wine.found["size"], wine.model.prototypes_
    assert size["prototypes_per_class"] == pytest.approx(prototypes.shape[0] / 3, rel=1e-5)
    behind = [len(one["samples"]) for one in wine.found["prototypes"]]
    assert size["samples_per_prototype"] == pytest.approx(np.mean(behind), rel=1e-5)
    sizes = f"{size['samples_per_prototype']:.1f} samples and a class"
    assert wine_page.index("Interpretability (IP)") < wine_page.index(sizes)


def test_abstentions_are_those_of_predict(wine):
    strange = wine.X.copy()
    strange.iloc[:3] = strange.iloc[:3] * 50 + 1000
    measures = describe(describe_measures, wine.model, strange, wine.y)
    kept = wine.model.predict(strange, reject=True)
    is_answered = np.array([label is not None for label in kept])
    assert measures["n_abstained"] == (~is_answered).sum() >= 3
    expected = (kept == wine.y)[is_answered].mean()
    accuracy = describe(describe_accuracy, wine.model, strange, wine.y)
    assert accuracy["accuracy_unless_abstained"] == pytest.approx(expected, abs=1e-5)
    words = " ".join(write_summary({**wine.found, "measures": measures}))
    assert "the model can abstain there" in words


def test_the_summary_says_what_was_kept_and_how_good_it_is(wine):
    words, size = " ".join(wine.found["summary"]), wine.found["size"]
    assert f"{wine.model.support_.size} training samples" in words
    assert "It uses 5 of 13 features." in words
    n_right, n = wine.found["accuracy"]["n_right"], len(wine.y)
    assert f"right for {n_right} of {n} held-out samples" in words
    n_unused = size["n_train"] - size["n_support"]
    assert f"ignores 8 features and {n_unused} of {size['n_train']} training" in words


def test_a_class_that_was_never_shown_counts_as_wrong(wine):
    y = wine.y.copy()
    y[:4] = "Rosé"
    accuracy = describe(describe_accuracy, wine.model, wine.X, y)
    assert accuracy["unseen_classes"] == ["Rosé"]
    assert accuracy["accuracy"] == pytest.approx(np.mean(wine.model.predict(wine.X) == y), abs=1e-5)
    assert accuracy["classes"][3] == {
        "label": "Rosé",
        "n": 4,
        "n_right": 0,
        "n_predicted": 0,
        "recall": 0.0,
        "precision": None,
    }
    assert sum(accuracy["confusion"][3]) == 4
    warnings = write_warnings({**wine.found, "accuracy": accuracy})
    assert "missing from the training data (Rosé)" in warnings[0]


def test_without_labels_nothing_is_said_about_accuracy(wine):
    found = summarize(wine.model, wine.X)
    assert found["accuracy"] is None
    assert found["measures"]["discrimination"] is None
    assert not any("right for" in sentence for sentence in found["summary"])
    assert all(row["true"] is None and row["right"] is None for row in found["samples"]["rows"])
    assert math.isfinite(found["measures"]["interpretability"])


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
        every = one.shares.toarray()[0]
        against = np.flatnonzero(wine.model.prototype_classes_ == one.classes[one.runners_up[0]])
        against = against[np.argmax(every[against])]
        expected = {j: share for j, share in enumerate(every) if share >= 1e-3 or j == against}
        assert shares == pytest.approx(expected, abs=1e-5)
        rest = reasons["other_prototypes"]
        assert rest["n"] == one.shares.nnz - len(expected)
        assert rest["share"] == pytest.approx(1 - sum(expected.values()), abs=1e-5)
        for part in reasons["features"]:
            added = table[:, part["feature"]].sum(axis=0)
            assert part["winner"] == pytest.approx(added[reasons["winner"]], abs=1e-5)
            assert part["runner_up"] == pytest.approx(added[reasons["runner_up"]], abs=1e-5)
            name = explanation.feature_names[part["feature"]]
            assert part["value"] == pytest.approx(wine.X.iloc[index][name], rel=1e-5)


def test_a_cut_table_still_adds_up_to_the_lead(wine, monkeypatch):
    monkeypatch.setattr(decisions, "MOST_PROTOTYPES", 2)
    monkeypatch.setattr(decisions, "MOST_FEATURES", 3)
    rows = describe(describe_samples, wine.model, wine.X[:10], wine.y[:10])["rows"]
    for row in rows:
        reasons = row["reasons"]
        table, score = reasons["table"], reasons["scores"][reasons["winner"]]
        lead = score - reasons["scores"][reasons["runner_up"]]
        assert np.shape(table["values"]) == (3, 4)
        assert table["n_other_features"] == reasons["other_features"]["n"] == 2
        assert np.sum(table["values"]) == pytest.approx(lead, abs=1e-4)
        added = sum(part["winner"] for part in reasons["features"])
        assert added + reasons["other_features"]["winner"] == pytest.approx(score, abs=1e-4)


def test_the_table_holds_the_contributions_of_explain(wine):
    row = wine.found["samples"]["rows"][7]
    reasons, table = row["reasons"], wine.model.explain(wine.X).contributions(7)
    features = [part["feature"] for part in reasons["features"]]
    for place, prototype in enumerate(reasons["table"]["prototypes"]):
        added = table[prototype, features]
        expected = added[:, reasons["winner"]] - added[:, reasons["runner_up"]]
        assert reasons["table"]["values"][place][:-1] == pytest.approx(expected, abs=1e-5)


def test_of_many_samples_some_are_explained_and_wrong_ones_first(wine, monkeypatch):
    monkeypatch.setattr(decisions, "MOST_EXPLAINED", 24)
    monkeypatch.setattr(decisions, "MOST_LISTED", 30)
    y = wine.y.copy()
    wrong = [3, 50, 70]
    y[wrong] = "Rosé"
    found = describe(describe_samples, wine.model, wine.X, y)
    assert (found["n"], found["n_listed"], found["n_explained"]) == (len(y), 30, 24)
    explained = {row["row"] for row in found["rows"] if row["reasons"] is not None}
    assert len(explained) == 24
    is_wrong = {row["row"] for row in found["rows"] if not row["right"]}
    assert set(wrong) <= is_wrong <= explained


def test_every_class_gets_its_share_of_a_choice():
    labels = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    chosen = choose_evenly(labels, 20)
    assert len(set(chosen.tolist())) == 20
    assert [sum(labels[i] == name for i in chosen) for name in "abc"] == [12, 6, 2]
    assert choose_evenly(labels, 500).tolist() == list(range(100))
