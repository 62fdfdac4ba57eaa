"""Weights of features and their values in every class."""

import numpy as np
import pytest

from imkpl.report.features import QUANTILES, describe_features, describe_values

from .conftest import describe


def test_features_are_ordered_by_weight_and_all_are_there(wine):
    features = wine.found["features"]["features"]
    weights = [one["weight"] for one in features]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1, abs=1e-4)
    kept = np.array(wine.model.kernel_names_)[wine.model.kernel_weights_ > 0]
    assert sorted(one["name"] for one in features) == sorted(kept)


def test_quantiles_are_those_of_the_training_samples(wine):
    X_train, y_train = wine.train
    assert wine.found["features"]["described_on"] == "training samples"
    for feature in wine.found["features"]["features"]:
        for one in feature["distribution"]["classes"]:
            values = X_train.loc[y_train == one["label"], feature["name"]]
            assert one["quantiles"] == pytest.approx(np.quantile(values, QUANTILES), rel=1e-5)


def test_marks_are_the_values_of_the_samples_behind_prototypes(wine):
    X_train = wine.train[0]
    for feature in wine.found["features"]["features"]:
        assert len(feature["marks"]) == wine.model.support_.size
        for mark in feature["marks"]:
            expected = X_train.loc[mark["sample"], feature["name"]]
            assert mark["value"] == pytest.approx(expected, rel=1e-5)


def test_without_the_training_part_held_out_samples_are_described(wine):
    found = describe(describe_features, wine.model, wine.X, wine.y)
    assert found["described_on"] == "held-out samples"
    values = wine.X.loc[wine.y == "Barolo", found["features"][0]["name"]]
    described = found["features"][0]["distribution"]["classes"]
    barolo = next(one for one in described if one["label"] == "Barolo")
    assert barolo["quantiles"][3] == pytest.approx(np.median(values), rel=1e-5)


def test_missing_numbers_are_counted_and_left_out():
    found = describe_values([1.0, None, float("nan"), 4], ["a", "a", "b", "b"], ["a", "b", "c"])
    assert found["kind"] == "number"
    assert [one["n_missing"] for one in found["classes"]] == [1, 1, 0]
    assert [one["quantiles"] and one["quantiles"][3] for one in found["classes"]] == [
        1.0,
        4.0,
        None,
    ]


def test_categories_are_counted_in_every_class():
    values = ["x", "y", "x", None, "y", *(f"rare {i}" for i in range(9))]
    labels = ["a", "a", "a", "a", "b", *"b" * 9]
    found = describe_values(values, labels, ["a", "b"])
    assert found["kind"] == "category"
    assert found["categories"][:2] == ["x", "y"]
    assert found["n_other_categories"] == 3
    a, b = found["classes"]
    assert (a["counts"][:2], a["n_missing"]) == ([2, 1], 1)
    assert (sum(b["counts"]), b["counts"][-1]) == (10, 3)


def test_booleans_are_categories():
    assert describe_values([True, False], ["a", "a"], ["a"])["categories"] == ["True", "False"]
