"""Costs of mistakes decide; probabilities stay what they are, and reasons stay exact."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL, explain, load, save
from imkpl.files import export
from imkpl.report import write_report


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    return IMKPL(n_prototypes=4, max_kernels=5).fit(data.data[::2], y[::2]), data.data[1::2]


def at_costs(model, costs):
    """The same fitted model, with costs."""
    return copy.copy(model).set_params(costs=costs)


@pytest.mark.parametrize("cost", [0.01, 5.0, 300.0])
def test_the_answer_has_the_largest_probability_times_cost(tumours, cost):
    model, X = tumours
    careful, chances = at_costs(model, {"malignant": cost}), model.predict_proba(X)
    assert_array_equal(careful.predict_proba(X), chances)
    expected = model.classes_[np.argmax(chances * [1.0, cost], axis=1)]
    assert_array_equal(careful.predict(X), expected)
    assert_array_equal(careful.predict(X), model.classes_[(chances[:, 1] > 1 / (1 + cost)) * 1])
    assert_array_equal(careful.decision_function(X) > 0, expected == "malignant")
    assert_array_equal(careful.explain(X).predicted, expected)
    assert_allclose(careful.explain(X).probabilities, chances, atol=1e-9)
    kept = careful.predict(X, reject=True)
    is_kept = np.array([one is not None for one in kept])
    assert_array_equal(kept[is_kept], expected[is_kept])


def test_cards_add_up_with_costs_in_a_row_of_their_own(tumours):
    model, X = tumours
    careful = at_costs(model, {"malignant": 30.0})
    found, plain = careful.explain(X), model.explain(X)
    n_changed = 0
    for row in range(0, len(X), 7):
        card, before = found.card(row), plain.card(row)
        parts = sum(one["for"] for one in card.features + card.rest)
        assert parts == pytest.approx(card.lead)
        (costs,) = (one for one in card.rest if one["kind"] == "costs")
        assert abs(costs["for"]) == pytest.approx(np.log(30.0) / model.temperature_)
        assert (costs["for"] > 0) == (card.answer == "malignant")
        assert costs["name"] == "costs of mistakes, for malignant"
        assert "costs of mistakes, for malignant" in str(card)
        assert all(one["kind"] != "costs" for one in before.rest)
        assert "costs of mistakes" not in str(before)
        table = found.contributions(row)
        assert_allclose(table.sum(axis=(0, 1)), found.scores[row], atol=1e-12)
        n_changed += card.answer != before.answer
        if card.change is not None:
            changed = X.iloc[[row]].copy()
            for one in card.change["features"]:
                changed[one["name"]] = one["to"]
            assert careful.predict(changed)[0] == card.change["to"]
    assert n_changed


def test_several_classes_and_files(tmp_path):
    X, y = load_wine(return_X_y=True)
    costs = {0: 4.0, 2: 0.5}
    model = IMKPL(n_prototypes=3, max_kernels=4, costs=costs).fit(X[::2], y[::2])
    chances = model.predict_proba(X)
    assert_array_equal(model.predict(X), np.argmax(chances * [4.0, 1.0, 0.5], axis=1))
    save(model, tmp_path / "m.imkpl")
    again = load(tmp_path / "m.imkpl")
    assert again.costs == costs
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "parameters", [{"costs": {"malignant": 30.0}}, {"prevalence": {"benign": 0.9}}]
)
def test_onnx_follows(tumours, tmp_path, parameters):
    runtime = pytest.importorskip("onnxruntime")
    model, X = tumours
    careful = copy.copy(model).set_params(**parameters)
    export(careful, tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    read = X.to_numpy(float)[:, np.flatnonzero(model.feature_importances_)]
    label, chances = session.run(["label", "probabilities"], {"X": read})
    assert_array_equal(label, careful.predict(X))
    assert_allclose(chances, careful.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("wrapper", [FixedThresholdClassifier, TunedThresholdClassifierCV])
def test_thresholds_of_scikit_learn_are_understood(wrapper, tmp_path):
    data = load_breast_cancer(as_frame=True)
    X, y = data.data[::3], data.target_names[data.target][::3]
    inner = make_pipeline(StandardScaler(), IMKPL(n_prototypes=4, contrast=False))
    options = {"threshold": 0.05} if wrapper is FixedThresholdClassifier else {"cv": 2}
    model = wrapper(inner, response_method="predict_proba", **options).fit(X, y)
    assert_array_equal(explain(model, data.data).predicted, model.predict(data.data))
    write_report(model, X[:60], y[:60], tmp_path / "page.json")
    alone = wrapper(inner[-1], response_method="predict_proba", **options).fit(X, y)
    save(alone, tmp_path / "m.imkpl")
    assert_array_equal(load(tmp_path / "m.imkpl").predict(X), alone.predict(X))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"sick": 10}, "costs names the class 'sick', expected some of the classes"),
        ({1: -2}, "costs gives class 1 the cost -2, expected a positive number"),
        ({1: "ten"}, "costs gives class 1 the cost 'ten'"),
    ],
)
def test_wrong_costs_get_a_sentence_before_anything_is_learned(costs, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        IMKPL(costs=costs).fit(X, y)
    with pytest.raises(ValueError, match="costs: expected decision='votes'"):
        IMKPL(costs={1: 2}, decision="share").fit(X, y)


@pytest.fixture(scope="module")
def rare():
    """A disease of every tenth, learned as it is and with classes that weigh alike."""
    source = np.random.default_rng(0)
    X = source.standard_normal((1500, 3))
    y = np.where(1.5 * X[:, 0] + source.logistic(size=1500) > 3.2, "sick", "well")
    models = [
        IMKPL(n_prototypes=4, class_weight=one).fit(X[:700], y[:700]) for one in (None, "balanced")
    ]
    return *models, X[700:], y[700:]


def test_probabilities_are_of_the_population_whatever_classes_weigh(rare):
    plain, balanced, X, y = rare
    share = np.mean(y == "sick")
    assert balanced.class_prior_.sum() == pytest.approx(1)
    for model in (plain, balanced):
        assert model.predict_proba(X)[:, 0].mean() == pytest.approx(share, rel=0.3)
        assert_allclose(model.explain(X).probabilities, model.predict_proba(X), atol=1e-9)
    # Answers follow the weights, as if they were costs.
    assert np.mean(balanced.predict(X) == "sick") > 2 * share
    weights = dict(zip(balanced.classes_, balanced.class_weight_, strict=True))
    assert_array_equal(at_costs(balanced, weights).predict(X), balanced.predict(X))
    chances = balanced.predict_proba(X)
    largest = np.argmax(chances * [1.0, 1.0], axis=1)
    assert_array_equal(at_costs(balanced, {"sick": 1}).predict(X), balanced.classes_[largest])


def test_another_prevalence_moves_probabilities_and_answers(rare):
    plain, balanced, X, _ = rare
    for model in (plain, balanced):
        usual = copy.copy(model).set_params(costs={"sick": 1.0})
        seldom = copy.copy(usual).set_params(prevalence={"sick": 0.01})
        before, after = usual.predict_proba(X), seldom.predict_proba(X)
        assert after.sum(axis=1) == pytest.approx(1)
        # Bayes: the odds change by the odds of the prevalences.
        (prior, _), odds = model.class_prior_, 0.01 / 0.99
        expected = before[:, 0] / before[:, 1] * odds * (1 - prior) / prior
        assert_allclose(after[:, 0] / after[:, 1], expected, rtol=1e-9)
        assert_array_equal(seldom.predict(X), model.classes_[np.argmax(after, axis=1)])
        same = copy.copy(usual).set_params(prevalence={"sick": prior, "well": 1 - prior})
        assert_allclose(same.predict_proba(X), before, atol=1e-12)
        assert_array_equal(same.predict(X), usual.predict(X))
    explanation = seldom.explain(X[:40])
    assert_array_equal(explanation.predicted, seldom.predict(X[:40]))
    for row in range(40):
        card = explanation.card(row)
        parts = sum(one["for"] for one in card.features + card.rest)
        assert parts == pytest.approx(card.lead)
        assert "prevalence and costs, for well" in str(card)


@pytest.mark.parametrize(
    ("prevalence", "message"),
    [
        ({"ill": 0.1}, "prevalence names the class 'ill', expected some of the classes"),
        ({"sick": 1.2}, "expected shares between 0 and 1"),
        ({"sick": 0.5, "well": 0.2}, "or sum to 1"),
        ({"sick": "rare"}, "expected shares between 0 and 1"),
    ],
)
def test_wrong_prevalence_gets_a_sentence(rare, prevalence, message):
    plain, _, X, _ = rare
    with pytest.raises(ValueError, match=message):
        copy.copy(plain).set_params(prevalence=prevalence).predict_proba(X)


def test_a_prevalence_is_saved(rare, tmp_path):
    model = copy.copy(rare[1]).set_params(prevalence={"sick": 0.02})
    save(model, tmp_path / "m.imkpl")
    again = load(tmp_path / "m.imkpl")
    assert_array_equal(again.predict_proba(rare[2]), model.predict_proba(rare[2]))
    assert_array_equal(again.class_prior_, model.class_prior_)
