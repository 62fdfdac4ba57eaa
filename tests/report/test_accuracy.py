"""Numbers about right and wrong, against direct computation."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_score, recall_score

from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.report import summarize
from imkpl.report.accuracy import describe_accuracy, describe_measures, wilson_interval
from imkpl.report.sentences import say_summary, say_warnings

from .conftest import describe


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (3, 7), (110, 114), (50, 50)])
def test_the_interval_is_wilsons(right, n):
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert wilson_interval(right, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_accuracy_is_that_of_the_model(wine):
    accuracy = wine.found["accuracy"]
    assert accuracy["accuracy"] == pytest.approx(wine.model.score(wine.X, wine.y), abs=1e-5)
    assert accuracy["n_right"] == (wine.model.predict(wine.X) == wine.y).sum()
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
    expected = discrimination_scorer(wine.model, wine.X, wine.y)
    assert measures["discrimination"] == pytest.approx(expected, rel=1e-5)


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
    words = " ".join(say_summary({**wine.found, "measures": measures}))
    assert "it would abstain there" in words


def test_the_summary_says_what_was_kept_and_how_good_it_is(wine):
    words, size = " ".join(wine.found["summary"]), wine.found["size"]
    assert f"{wine.model.support_.size} real training samples" in words
    assert "It reads 5 of 13 features." in words
    n_right, n = wine.found["accuracy"]["n_right"], len(wine.y)
    assert f"right for {n_right} of {n} samples" in words
    n_unused = size["n_train"] - size["n_support"]
    assert f"threw away 8 features and {n_unused} of {size['n_train']} training" in words


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
    assert "never shown (Rosé)" in say_warnings({**wine.found, "accuracy": accuracy})[0]


def test_without_labels_nothing_is_said_about_accuracy(wine):
    found = summarize(wine.model, wine.X)
    assert found["accuracy"] is None
    assert found["measures"]["discrimination"] is None
    assert not any("right for" in sentence for sentence in found["summary"])
    assert all(row["true"] is None and row["right"] is None for row in found["samples"]["rows"])
    assert math.isfinite(found["measures"]["interpretability"])
