"""Prototypes, features and maps, against direct computation."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from imkpl import stability
from imkpl.report import learned
from imkpl.report.learned import QUANTILES, describe_features, describe_prototypes
from imkpl.report.subject import read_subject
from imkpl.report.summarize import write_warnings

from .conftest import describe


def test_prototypes_are_made_of_the_samples_of_the_model(wine):
    model, X_train = wine.model, wine.train[0]
    for index, prototype in enumerate(wine.found["prototypes"]):
        row = model.prototypes_[[index]].tocoo()
        shares = row.data / row.data.sum()
        expected = dict(zip(X_train.index[row.coords[1]], shares, strict=True))
        found = {one["sample"]: one["share"] for one in prototype["samples"]}
        assert found == pytest.approx(expected, abs=1e-5)
        assert prototype["class"] == model.prototype_classes_[index]
        against = X_train.index[model.contrasts_[[index]].indices]
        assert {one["sample"] for one in prototype["unlike"]} == set(against)


def test_a_prototype_has_its_place_in_its_class(wine):
    X_train, y_train = wine.train
    names = {one["feature"]: one["name"] for one in wine.found["features"]["features"]}
    for prototype in wine.found["prototypes"]:
        own = X_train[y_train == prototype["class"]]
        for one in prototype["features"]:
            name = names[one["feature"]]
            value, values = X_train.loc[prototype["samples"][0]["sample"], name], own[name]
            rank = (values < value).mean() + 0.5 * (values == value).mean()
            assert one["rank"] == pytest.approx(rank, abs=1e-5)
            assert one["distinctive"] == (min(rank, 1 - rank) <= 0.1 + 1e-9)


def test_repeated_prototypes_are_flagged_once(wine):
    model, predictor = copy(wine.model), wine.model.predictor_
    gram = predictor.encoder.gram.copy()
    last = len(gram) - 1
    gram[0, last] = gram[last, 0] = 0.97 * np.sqrt(gram[0, 0] * gram[last, last])
    model._predictor = replace(predictor, encoder=replace(predictor.encoder, gram=gram))
    prototypes = describe(describe_prototypes, model, wine.X, wine.y)
    (twin,) = (w for w in prototypes[0]["warnings"] if w["kind"] == "duplicate")
    assert twin["other"] == last
    name = prototypes[last]["samples"][0]["sample"]
    assert f"97% similar to prototype {name} of another class" in twin["text"]
    warnings = write_warnings({**wine.found, "prototypes": prototypes})
    assert sum("of another class" in one["text"] for one in warnings) == 1


def test_a_prototype_that_leads_to_errors_or_that_nobody_uses_is_flagged(wine):
    mains = wine.model.explain(wine.X).main_prototypes
    most = np.bincount(mains).argmax()
    led = np.flatnonzero(mains == most)
    y = wine.y.copy()
    y[led[: max(2, led.size // 2)]] = next(c for c in wine.model.classes_ if c != y[led[0]])
    warnings = describe(describe_prototypes, wine.model, wine.X, y)[most]["warnings"]
    assert "errors" in [warning["kind"] for warning in warnings]
    others = wine.model.explain(wine.X).shares.toarray()[:, most] < 0.01
    prototype = describe(describe_prototypes, wine.model, wine.X[others], wine.y[others])[most]
    assert prototype["n_using"] == 0
    assert prototype["warnings"][0]["text"].startswith("Unused")


def test_evidence_is_beside_the_weights(wine, wine_page):
    features, model = wine.found["features"], wine.model
    known = dict(zip(model.kernel_names_, model.kernel_evidence_, strict=True))
    for one in features["features"]:
        assert one["evidence"] == pytest.approx(known[one["name"]], abs=1e-5)
    assert features["chance"].startswith("Of the 5 features in use, ")
    assert features["chance"] in wine_page


def test_quantiles_are_those_of_the_training_samples(wine):
    X_train, y_train = wine.train
    assert wine.found["features"]["described_on"] == "training cases"
    for feature in wine.found["features"]["features"]:
        for one in feature["distribution"]["classes"]:
            values = X_train.loc[y_train == one["label"], feature["name"]]
            assert one["quantiles"] == pytest.approx(np.quantile(values, QUANTILES), rel=1e-5)


def test_the_effect_of_a_feature_is_what_shuffling_it_costs(wine):
    features = {one["name"]: one["effect"] for one in wine.found["features"]["features"]}
    rng, n = np.random.default_rng(0), len(wine.X)
    orders = [rng.permutation(n) for _ in range(learned.N_SHUFFLES)]
    for name, effect in features.items():
        scores = []
        for order in orders:
            X = wine.X.copy()
            X[name] = X[name].to_numpy()[order]
            scores.append(wine.model.score(X, wine.y))
        expected = wine.model.score(wine.X, wine.y) - np.mean(scores)
        assert effect == pytest.approx(expected, abs=1e-5)
    # Without labels: decisions that change.
    found = describe(describe_features, wine.model, wine.X)
    assert all(one["effect"] >= 0 for one in found["features"])


def test_the_map_shows_training_samples_held_out_samples_and_prototypes(wine):
    found = wine.found["map"]
    assert (found["n_training"], found["n_held_out"]) == (len(wine.train[1]), len(wine.y))
    new = [one for one in found["points"] if one["row"] is not None]
    assert [(one["sample"], one["label"]) for one in new] == list(
        zip(wine.X.index, wine.y, strict=True)
    )
    old = [one["sample"] for one in found["points"] if one["row"] is None]
    assert old == list(wine.train[0].index)
    assert np.shape(found["prototypes"]) == (wine.model.prototypes_.shape[0], 2)


def test_stability_is_that_of_the_model(wine):
    subject = read_subject(wine.model, wine.X, wine.y, None)
    assert learned.describe_stability(subject, None) is None
    found = stability(wine.model, *wine.train, n_repeats=2)
    assert learned.describe_stability(subject, found) == found.to_dict()
    other = stability(wine.model, wine.X, wine.y, n_repeats=2)
    other = replace(other, n_samples=88)
    with pytest.raises(ValueError, match=r"stability is about another model, .* expected"):
        learned.describe_stability(subject, other)
