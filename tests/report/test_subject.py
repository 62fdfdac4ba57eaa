"""Fingerprints, settings, duplicates, and data that do not belong to the model."""

import json

import numpy as np
import pytest

import imkpl
from imkpl.report import summarize
from imkpl.report.subject import describe_provenance, describe_repeats
from imkpl.report.summarize import write_warnings

from .conftest import describe


def fingerprint(model, X, y):
    return describe(lambda subject: describe_provenance(subject, None), model, X, y)["data"][0]


def test_equal_values_have_equal_fingerprints(wine):
    first = wine.found["provenance"]["data"][0]
    assert first["shape"] == list(wine.X.shape)
    assert first["covers"] == "all values and labels"
    copied = wine.X.copy()
    copied.index = range(len(copied))
    assert fingerprint(wine.model, copied, list(wine.y))["sha256"] == first["sha256"]


def test_another_value_label_or_order_has_another_fingerprint(wine):
    X, y = wine.X[:12], wine.y[:12]
    value, label = X.copy(), y.copy()
    value.iloc[3, 2] += 1e-9
    label[0] = "Barbera"
    given = [(X, y), (value, y), (X, label), (X.iloc[::-1], y)]
    assert len({fingerprint(wine.model, *one)["sha256"] for one in given}) == 4


def test_settings_and_versions_are_there(wine):
    provenance = wine.found["provenance"]
    settings = {one["name"]: one["value"] for one in provenance["settings"]}
    assert settings == {name: repr(v) for name, v in wine.model.get_params(deep=False).items()}
    assert provenance["versions"]["imkpl"] == imkpl.__version__
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["created"] == "2026-01-02 03:04 UTC"


def test_the_dict_is_json_and_comes_back_the_same(wine):
    assert json.loads(json.dumps(wine.found, allow_nan=False)) == wine.found


def test_samples_that_repeat_are_reported(wine):
    X_train, y_train = wine.train
    assert wine.found["repeats"]["n_leaked"] == 0
    X = wine.X.copy()
    X.iloc[5] = X_train.iloc[3]
    repeats = describe(describe_repeats, wine.model, X, wine.y, (X_train, y_train))
    assert repeats["n_leaked"] == 1
    assert repeats["leaked"] == [5]
    looks = write_warnings({**wine.found, "repeats": repeats})
    assert [one["cases"] for one in looks if "too optimistic" in one["text"]] == [[5]]


def test_training_samples_that_contradict_each_other_are_reported(wine):
    X_train, y_train = wine.train[0].copy(), wine.train[1]
    X_train.iloc[0] = X_train.iloc[-1]
    repeats = describe(describe_repeats, wine.model, wine.X, wine.y, (X_train, y_train))
    assert (repeats["n_repeated"], repeats["n_conflicting"]) == (1, 1)
    texts = [one["text"] for one in write_warnings({**wine.found, "repeats": repeats})]
    assert texts[0] == (
        "1 training case duplicates another one exactly; 1 set of equal cases has different "
        "classes."
    )


def test_what_does_not_belong_together_is_refused_with_a_way_out(wine):
    X_train, y_train = wine.train
    with pytest.raises(TypeError, match="is dict, expected a prototype model such as IMKPL"):
        summarize({}, [[0.0]])
    with pytest.raises(ValueError, match="3 labels in y for 89 samples in X, expected one each"):
        summarize(wine.model, wine.X, wine.y[:3])
    for train, problem in (
        ((X_train[:10], y_train[:10]), "train has 10 samples, but the model was fitted to 89"),
        ((X_train,), "must be the pair"),
        ((X_train, y_train[:4]), "4 labels in the y of train for 89 training samples"),
    ):
        with pytest.raises(ValueError, match=problem):
            summarize(wine.model, wine.X, wine.y, train=train)
