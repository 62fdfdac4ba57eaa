"""Accuracy and the reasons for decisions, against scikit-learn and `explain`."""

import copy
import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_score, recall_score

from imkpl._json import to_json
from imkpl.estimators import interpretability_scorer
from imkpl.measures import discrimination_score
from imkpl.report import render_report, summarize
from imkpl.report.summarize import (
    describe_accuracy,
    describe_samples,
    write_verdict,
    write_warnings,
)

from .conftest import describe


def test_accuracy_recall_precision_and_confusion_are_those_of_scikit_learn(wine):
    accuracy, predicted = wine.found["accuracy"], wine.model.predict(wine.X)
    assert accuracy["accuracy"] == pytest.approx(wine.model.score(wine.X, wine.y), abs=1e-5)
    assert accuracy["n_right"] == (predicted == wine.y).sum()
    interval = binomtest(accuracy["n_right"], accuracy["n"]).proportion_ci(method="wilson")
    assert accuracy["interval"] == pytest.approx([interval.low, interval.high], abs=1e-5)
    expected = balanced_accuracy_score(wine.y, predicted)
    assert accuracy["balanced_accuracy"] == pytest.approx(expected, abs=1e-5)
    assert accuracy["confusion"] == confusion_matrix(wine.y, predicted).tolist()
    for name, score in (("recall", recall_score), ("precision", precision_score)):
        expected = score(wine.y, predicted, average=None)
        assert [one[name] for one in accuracy["classes"]] == pytest.approx(expected, abs=1e-5)
    # The baseline is the most frequent class of the training data.
    rule = DummyClassifier(strategy="most_frequent").fit(*wine.train)
    assert accuracy["baseline"]["label"] == rule.predict(wine.X[:1])[0]
    expected = rule.score(wine.X, wine.y)
    assert accuracy["baseline"]["accuracy"] == pytest.approx(expected, abs=1e-5)


def test_measures_are_those_of_the_scorers(wine):
    measures = wine.found["measures"]
    assert measures["interpretability"] == pytest.approx(
        interpretability_scorer(wine.model), rel=1e-5
    )
    # Codes over the prototypes of all classes, not of the predicted one.
    codes = wine.model.explain(wine.X).evidence.encoding.codes
    expected = discrimination_score(codes, wine.y, wine.model.prototype_classes_)
    assert measures["discrimination"] == pytest.approx(expected, rel=1e-5)


def test_the_verdict_compares_with_the_baseline_and_folds_have_more_to_say(wine):
    found = copy.deepcopy(wine.found)
    measured = found["accuracy"]
    measured |= {"baseline": {"label": "Barolo", "accuracy": 0.5}, "chances": None}
    for accuracy, low, level in ((0.9, 0.8, "better"), (0.6, 0.4, "unclear"), (0.5, 0.3, "worse")):
        measured.update(accuracy=accuracy, interval=[low, 1.0])
        verdict = write_verdict(found)
        assert verdict["level"] == level
        assert "always saying Barolo (50.0% right)" in verdict["text"]
    folds = {"accuracy": 0.6, "interval": [0.3, 0.7], "folds": 5, "repeats": 4, "rows": 178}
    assert write_verdict({**found, "folds": folds})["level"] == "unclear"
    sentence = "In 4 \xd7 5 folds of all 178 rows such models are right for 60.0%"
    assert sentence in render_report({**found, "folds": folds})
    found["repeats"]["n_leaked"] = len(wine.y)
    verdict = write_verdict(found)
    assert verdict["level"] == "unclear"
    assert verdict["headline"].endswith("cases that it has learned from")


def test_a_class_that_was_never_shown_counts_as_wrong(wine):
    y = wine.y.copy()
    y[:4] = "Rosé"
    accuracy = describe(describe_accuracy, wine.model, wine.X, y)
    assert accuracy["unseen_classes"] == ["Rosé"]
    assert accuracy["accuracy"] == pytest.approx(np.mean(wine.model.predict(wine.X) == y), abs=1e-5)
    expected = {"label": "Rosé", "n": 4, "n_independent": 4, "n_right": 0}
    expected |= {"recall": 0.0, "interval": pytest.approx([0.0, 0.4899], abs=1e-4)}
    assert accuracy["classes"][3] == {**expected, "precision": None}
    assert sum(accuracy["confusion"][3]) == 4
    warnings = write_warnings({**wine.found, "accuracy": accuracy})
    assert "missing from the training data (Rosé)" in warnings[0]["text"]


def test_without_labels_nothing_is_said_about_accuracy(wine):
    found = summarize(wine.model, wine.X)
    assert found["accuracy"] is None
    assert found["measures"]["discrimination"] is None
    assert found["verdict"]["level"] == "unknown"
    assert all(row["true"] is None and row["right"] is None for row in found["samples"]["rows"])
    assert math.isfinite(found["measures"]["interpretability"])


def test_every_sample_has_a_line_and_its_card(wine):
    found = wine.found["samples"]
    explanation = wine.model.explain(wine.X)
    assert [row["sample"] for row in found["rows"]] == list(wine.X.index)
    assert [row["predicted"] for row in found["rows"]] == list(wine.model.predict(wine.X))
    assert [row["true"] for row in found["rows"]] == list(wine.y)
    best = explanation.probabilities.max(axis=1)
    assert [row["probability"] for row in found["rows"]] == pytest.approx(best, abs=1e-5)
    assert [row["novelty"] for row in found["rows"]] == pytest.approx(explanation.novelty, abs=1e-5)
    for index in (0, 40, 80):
        expected = to_json(explanation.card(index).to_dict(), 6)
        del expected["pictures"]
        assert wine.found["samples"]["rows"][index]["card"] == expected


def test_cases_of_the_same_name_have_links_of_their_own(wine):
    X = wine.X.copy()
    X.index = ["twin", "twin", *X.index[2:]]
    keys = [row["key"] for row in describe(describe_samples, wine.model, X)["rows"]]
    assert keys[:3] == ["twin@0", "twin@1", X.index[2]]
    assert len(set(keys)) == len(keys)
