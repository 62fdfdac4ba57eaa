"""Prototypes, their use, and those that are weak or repeat another."""

from dataclasses import replace

import numpy as np
import pytest

from imkpl.report.prototypes import describe_prototypes, find_duplicates
from imkpl.report.repeats import describe_repeats
from imkpl.report.sentences import say_warnings

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


def test_real_samples_show_the_values_they_were_given_with(wine):
    X_train, explanation = wine.train[0], wine.model.explain(wine.X[:1])
    sample = wine.found["prototypes"][0]["samples"][0]
    expected = [X_train.loc[sample["sample"], name] for name in explanation.feature_names]
    assert sample["cells"] == pytest.approx(expected, rel=1e-5)


def test_use_is_counted_on_the_codes(wine):
    codes = wine.model.transform(wine.X).toarray()
    mains, is_right = codes.argmax(axis=1), wine.model.predict(wine.X) == wine.y
    for index, prototype in enumerate(wine.found["prototypes"]):
        led = mains == index
        assert prototype["n_using"] == np.count_nonzero(codes[:, index])
        assert prototype["n_main"] == led.sum()
        assert prototype["n_right"] == is_right[led].sum()
        wrong = led & (wine.y != prototype["class"])
        assert sum(one["n"] for one in prototype["mistaken"]) == wrong.sum()


def test_duplicates_are_found_by_their_cosine():
    vectors = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [1.0, 1.0]])
    found = find_duplicates(vectors @ vectors.T)
    assert [[other for other, _ in row] for row in found] == [[1], [0], [], []]
    assert found[0][0][1] == pytest.approx(2 / np.sqrt(4.01))


@pytest.fixture
def spoiled(wine):
    """The wine model with a copied prototype, an impure one, and labels that make one wrong."""
    from copy import copy

    model = copy(wine.model)
    predictor = model._predictor
    gram = predictor.encoder.gram.copy()
    last = len(gram) - 1
    gram[0, last] = gram[last, 0] = 0.97 * np.sqrt(gram[0, 0] * gram[last, last])
    shares = model.class_shares_.copy()
    shares[1] = [0.0, 0.0, 0.0]
    shares[1, [0, 1]] = 0.4, 0.1
    model.class_shares_ = shares
    model._predictor = replace(predictor, encoder=replace(predictor.encoder, gram=gram))
    return model


def test_weak_and_repeated_prototypes_are_flagged(wine, spoiled):
    prototypes = describe(describe_prototypes, spoiled, wine.X, wine.y)
    last = len(prototypes) - 1
    twin = next(w for w in prototypes[0]["warnings"] if w["kind"] == "duplicate")
    assert twin["other"] == last
    assert twin["similarity"] == pytest.approx(0.97)
    assert not twin["same_class"]
    assert f"97% like prototype {last} of another class" in twin["text"]
    assert "impure" in [warning["kind"] for warning in prototypes[1]["warnings"]]
    warnings = say_warnings({**wine.found, "prototypes": prototypes})
    about_twins = [text for text in warnings if "of another class" in text]
    assert len(about_twins) == 1


def test_a_prototype_that_leads_to_errors_is_flagged(wine):
    mains = wine.model.transform(wine.X).toarray().argmax(axis=1)
    led = np.flatnonzero(mains == 0)
    assert led.size >= 2
    y = wine.y.copy()
    y[led[: max(2, led.size // 2)]] = next(c for c in wine.model.classes_ if c != y[led[0]])
    warnings = describe(describe_prototypes, wine.model, wine.X, y)[0]["warnings"]
    assert "errors" in [warning["kind"] for warning in warnings]


def test_a_prototype_that_nobody_uses_is_flagged(wine):
    own = wine.model.prototype_classes_[0]
    others = wine.model.predict(wine.X) != own
    prototype = describe(describe_prototypes, wine.model, wine.X[others], wine.y[others])[0]
    assert prototype["n_using"] == 0
    assert prototype["warnings"][0]["text"].startswith("Unused")


def test_samples_that_repeat_are_reported(wine):
    X_train, y_train = wine.train
    assert wine.found["repeats"]["n_leaked"] == 0
    X = wine.X.copy()
    X.iloc[5] = X_train.iloc[3]
    repeats = describe(describe_repeats, wine.model, X, wine.y, (X_train, y_train))
    assert repeats["n_leaked"] == 1
    assert repeats["leaked"] == [X.index[5]]
    warnings = say_warnings({**wine.found, "repeats": repeats})
    assert any(f"too good: {X.index[5]}." in text for text in warnings)


def test_training_samples_that_contradict_each_other_are_reported(wine):
    X_train, y_train = wine.train[0].copy(), wine.train[1]
    X_train.iloc[0] = X_train.iloc[-1]
    repeats = describe(describe_repeats, wine.model, wine.X, wine.y, (X_train, y_train))
    assert (repeats["n_repeated"], repeats["n_conflicting"]) == (1, 1)
    texts = say_warnings({**wine.found, "repeats": repeats})
    assert texts == [
        "1 training sample repeats another one exactly; of 1 set of equal samples the classes "
        "differ."
    ]
