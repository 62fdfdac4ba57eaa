import json
import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

import imkpl
from imkpl import IMKPL
from imkpl.explanations.explanation import write_chance
from imkpl.kernels import PerFeatureGaussian


def test_the_table_is_the_obvious_formula():
    """Resemblances by the definition of the kernels, split over prototypes and features."""
    X, y = load_iris(return_X_y=True)
    train, new = X[::3], X[1::3]
    bank = PerFeatureGaussian(scales=(1.0,))
    model = IMKPL(bank, sparsity=3, max_kernels=3, n_prototypes=6, contrast=True)
    assert model.fit(train, y[::3]).contrasts_.nnz
    explanation = model.explain(new)
    table, votes = explanation.contributions(7), model.predictor_.votes
    live = np.flatnonzero(model.kernel_weights_)
    weights = model.kernel_weights_[live]
    widths = ((train[:, np.newaxis] - train) ** 2).mean(axis=(0, 1))[live]
    kernels = np.exp(-((new[7, live] - train[:, live]) ** 2) / widths)
    parts = weights * ((model.prototypes_ - model.contrasts_) @ kernels)
    logs = votes.sharpness * (parts.sum(axis=1) + votes.bonuses)
    totals = [np.log(np.exp(logs[votes.classes == label]).sum()) for label in range(3)]
    shares = np.exp(logs - np.array(totals)[votes.classes])
    # Its parts, its bonus, and the logarithm of its share: their sum is the same in a class.
    terms = np.column_stack([parts, votes.bonuses, -np.log(shares) / votes.sharpness])
    second = votes.classes == np.argsort(totals)[-2]
    for label in range(3):
        own = votes.classes == label
        score = (totals[label] - sorted(totals)[-2]) / votes.sharpness
        # Each prototype has the share of its votes in the score of its class.
        expected = shares[own, np.newaxis] * (terms[own] - shares[second] @ terms[second])
        assert_allclose(table[own, :, label], expected, atol=1e-12)
        assert np.all(table[~own, :, label] == 0)
        assert explanation.scores[7, label] == pytest.approx(score)


def test_what_is_shown_is_what_decides(voters):
    model, X = voters
    explanation, votes = model.explain(X), model.predictor_.votes
    shares, rows = explanation.shares.toarray(), np.arange(len(explanation))
    assert np.all(votes.bonuses >= 0)
    assert_allclose(explanation.scores, model.decision_function(X), atol=1e-12)
    assert_allclose(shares.sum(axis=1), 1.0)
    # The shares of a class are its probability, which does not change who wins.
    owners = np.eye(model.classes_.size)[votes.classes]
    assert_allclose(shares @ owners, model.predict_proba(X), atol=1e-12)
    assert_array_equal(model.classes_[np.argmax(shares @ owners, axis=1)], model.predict(X))
    assert_array_equal(explanation.predicted, model.predict(X))
    best = np.where(votes.classes == explanation.winners[:, np.newaxis], shares, 0).argmax(axis=1)
    assert_array_equal(explanation.main_prototypes, best)
    for row in rows:
        table = explanation.contributions(row)
        assert_allclose(table.sum(axis=(0, 1)), explanation.scores[row], atol=1e-10)
        margins = table[:, :, explanation.winners[row]] - table[:, :, explanation.runners_up[row]]
        by_prototype = margins.sum(axis=1)
        # The one that is named adds most to the lead.
        assert by_prototype[best[row]] == pytest.approx(by_prototype.max(), abs=1e-12)
        for label in range(model.classes_.size):
            own = votes.classes == label
            parts = shares[row, own] / shares[row, own].sum()
            expected = parts * explanation.scores[row, label]
            assert_allclose(table[own, :, label].sum(axis=1), expected, atol=1e-10)


def test_features_come_with_their_evidence_and_answers_are_those_of_predict(fitted):
    model, X = fitted
    explanation = model.explain(X[:2])
    evidence, expected = model.kernel_evidence_[model.kernel_weights_ > 0], explanation.to_dict()
    n_false = pytest.approx(model.expected_false_kernels_)
    assert_array_equal(explanation.feature_evidence, evidence)
    assert [one["evidence"] for one in expected["features"]] == pytest.approx(evidence)
    assert explanation.expected_false_features == expected["expected_false_features"] == n_false
    assert str(explanation).endswith(write_chance(evidence.size, model.expected_false_kernels_))
    assert_allclose(explanation.to_frame("features").dropna()["evidence"], np.tile(evidence, 2))
    assert explanation.decision == model.decision
    assert_allclose(explanation.shares.sum(axis=1), 1.0)
    assert_array_equal(explanation.predicted, model.predict(X[:2]))
    assert_allclose(explanation.probabilities, model.predict_proba(X[:2]), rtol=1e-12)
    assert_allclose(explanation.novelty, model.novelty(X[:2]), atol=1e-12)


def test_a_number_that_is_too_large_is_said(fitted):
    model, X = fitted
    explanation = model.explain(X[:3])
    for ask in (explanation.card, explanation.contributions):
        with pytest.raises(
            IndexError, match="no sample 7 in this explanation of 3: they are numbe"
        ):
            ask(7)
    assert explanation.card(-1).to_dict() == explanation.card(2).to_dict()


def test_where_the_code_disagrees_it_is_said(fitted):
    model, X = fitted
    if model.decision == "votes":
        # A class with large bonuses gets samples that look like others.
        model, predictor = copy(model), model.predictor_
        bonuses = predictor.votes.bonuses + 0.5 * (predictor.votes.classes == 0)
        model._predictor = replace(predictor, votes=replace(predictor.votes, bonuses=bonuses))
    explanation = model.explain(X)
    amounts = model.transform(X) @ model.class_shares_
    assert_allclose(explanation.code_shares, amounts / amounts.sum(axis=1, keepdims=True))
    most = model.classes_[np.argmax(explanation.code_shares, axis=1)]
    assert_array_equal(explanation.code_disagrees, most != model.predict(X))
    assert explanation.code_disagrees.any() == (model.decision == "votes")
    for place, one in enumerate(explanation):
        assert one.card().doubt != "no evidence"
        said = f"of all classes, it takes most from those of {most[place]}."
        assert (said in str(one)) == explanation.code_disagrees[place]
    told = [one["code_disagrees"] for one in explanation.to_dict()["samples"]]
    assert told == explanation.code_disagrees.tolist()


def test_the_samples_behind_a_prototype_are_those_of_the_mix(fitted):
    model, X = fitted
    explanation = model.explain(X[:1])
    # The training rows are every other one of the same table.
    for prototype in range(model.prototypes_.shape[0]):
        row = model.prototypes_[[prototype]].toarray().ravel()
        behind = explanation.samples_behind(prototype)
        assert_allclose(sum(share for _, share in behind), 1.0)
        assert [share for _, share in behind] == sorted((s for _, s in behind), reverse=True)
        expected = {f"bottle {2 * i}": row[i] / row.sum() for i in np.flatnonzero(row)}
        found = {explanation.support_ids[place]: share for place, share in behind}
        assert found == pytest.approx(expected)
        unlike = {
            explanation.support_ids[place] for place, _ in explanation.samples_unlike(prototype)
        }
        assert unlike == {f"bottle {2 * i}" for i in model.contrasts_[[prototype]].indices}


def test_samples_are_called_by_the_index_of_their_frame(wine):
    X, y = wine
    model = IMKPL(n_prototypes=6, max_kernels=3).fit(X[::2], y[::2])
    assert_array_equal(model.support_ids_, X.index[::2][model.support_])
    assert_array_equal(model.support_classes_, y[::2][model.support_])
    assert model.explain(X[1:3]).sample_ids.tolist() == ["bottle 1", "bottle 2"]
    bare = IMKPL(n_prototypes=6, max_kernels=3).fit(X[::2].to_numpy(), y[::2])
    assert_array_equal(bare.support_ids_, bare.support_)
    assert bare.explain(X[1:3].to_numpy()).sample_ids.tolist() == [0, 1]


def test_a_dict_is_ready_for_json_and_says_the_same(fitted):
    model, X = fitted
    explanation = model.explain(X[:4])
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert plain["classes"] == model.classes_.tolist()
    for index, sample in enumerate(plain["samples"]):
        assert sample["sample"] == X.index[index]
        assert sample["prediction"] == model.predict(X[:4])[index]
        total = np.sum([f["contributions"] for f in sample["features"]], axis=0)
        total += np.sum([sample[key] for key in ("bonus", "rest", "base_scores")], axis=0)
        assert_allclose(total, sample["scores"], atol=1e-10)
        assert sum(p["share"] for p in sample["prototypes"]) == pytest.approx(1, abs=9e-3)
        second = model.classes_[explanation.runners_up[index]]
        assert any(p["class"] == second for p in sample["prototypes"]) or model.decision == "share"
        assert sum(p["share"] < 0.001 for p in sample["prototypes"]) <= 1
        shares = [p["share"] for p in sample["prototypes"]]
        assert shares == sorted(shares, reverse=True)
        for prototype in sample["prototypes"]:
            assert sum(prototype["feature_parts"]) == pytest.approx(prototype["resemblance"])
            assert sum(s["share"] for s in prototype["samples"]) == pytest.approx(1)
            assert {s["class"] for s in prototype["unlike"]}.isdisjoint({prototype["class"]})
        for feature in sample["features"]:
            assert feature["value"] == X[feature["name"]].iloc[index]


def test_words_say_when_nothing_alike_was_seen(fitted):
    model, X = fitted
    explanation = model.explain(X[:1] + 1e6)
    rest = "only their bonuses decide" if model.decision == "votes" else "nothing decides"
    assert f"! It resembles none of the prototypes: {rest}." in str(explanation)
    assert explanation.card().doubt == "no evidence"


def test_pickled_explanations_and_loaded_models_say_the_same(fitted, tmp_path):
    model, X = fitted
    explanation = model.explain(X[:3])
    assert str(pickle.loads(pickle.dumps(explanation))) == str(explanation)
    assert "3 samples, 3 classes" in repr(explanation)
    imkpl.save(model, tmp_path / "model.imkpl")
    assert str(imkpl.load(tmp_path / "model.imkpl").explain(X[:3])) == str(explanation)


def test_classes_of_whole_floats_are_called_without_a_point(wine):
    X, y = wine
    model = IMKPL(n_prototypes=4).fit(X, (np.asarray(y) == "Barolo").astype(float))
    explanation = model.explain(X[:1])
    assert explanation.predicted.dtype.kind == "i"
    assert ".0 (" not in str(explanation)
