"""The path over numbers of features, and the choice among them."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL, ISKPL, path
from imkpl.estimators import FeaturePath
from imkpl.kernels import PerFeatureGaussian

SMALL = IMKPL(n_prototypes=6, contrast=False)
NAMES = (("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"))


@pytest.fixture(scope="module")
def found(wine):
    return path(SMALL, wine.X, wine.y, sizes=(5, 2, 5), cv=3)


def test_there_is_a_row_per_size(found):
    assert_array_equal(found.sizes, [2, 5])
    assert found.split_scores.shape == (2, 3)
    assert_allclose(found.accuracy, found.split_scores.mean(axis=1))
    assert_allclose(found.standard_error, found.split_scores.std(axis=1, ddof=1) / np.sqrt(3))
    assert [len(names) for names in found.features] == [2, 5]


def test_scores_are_those_of_models_that_have_not_seen_the_samples(wine):
    splitter = StratifiedShuffleSplit(2, test_size=0.3, random_state=1)
    found = path(SMALL, wine.X, wine.y, sizes=(4,), cv=splitter)
    expected = []
    for train, test in splitter.split(wine.X, wine.y):
        model = IMKPL(n_prototypes=6, contrast=False, max_kernels=4).fit(
            wine.X[train], wine.y[train]
        )
        expected.append(model.score(wine.X[test], wine.y[test]))
    assert_allclose(found.split_scores[0], expected)


def test_the_model_is_the_one_of_the_chosen_size(found, wine):
    plain = IMKPL(n_prototypes=6, contrast=False, max_kernels=found.chosen).fit(wine.X, wine.y)
    assert_array_equal(found.model.predict_proba(wine.new), plain.predict_proba(wine.new))
    assert SMALL.max_kernels is None
    assert not hasattr(SMALL, "classes_")


def test_the_choice_is_the_smallest_within_one_standard_error():
    scores = [[0.8, 0.82, 0.84], [0.9, 0.9, 0.92], [0.91, 0.91, 0.9], [0.9, 0.92, 0.94]]
    # Best is 0.92 with standard error 0.0115: 0.9067 is out, unless the spread is larger.
    assert FeaturePath([1, 2, 3, 4], scores, NAMES, None).chosen == 4
    scores[3] = [0.88, 0.92, 0.96]
    found = FeaturePath([1, 2, 3, 4], scores, NAMES, None)
    assert (found.best, found.chosen) == (4, 2)
    assert FeaturePath([1, 2], np.full((2, 2), 0.5), NAMES[:2], None).best == 1


def test_a_single_split_takes_the_best(wine):
    rows = np.arange(len(wine.y))
    found = path(SMALL, wine.X, wine.y, (2, 5), [(rows[rows % 4 > 0], rows[rows % 4 == 0])])
    assert_array_equal(found.standard_error, 0.0)
    assert found.chosen == found.best


def test_sizes_halve_from_what_the_model_keeps(wine):
    n_kept = np.count_nonzero(
        IMKPL(n_prototypes=6, contrast=False).fit(wine.X, wine.y).kernel_weights_
    )
    found = path(SMALL, wine.X, wine.y, cv=2)
    assert_array_equal(found.sizes, np.unique(np.ceil(n_kept / 2.0 ** np.arange(5))))


def test_required_features_are_in_every_model(wine):
    found = path(IMKPL(n_prototypes=6, contrast=False, require=[3, 5]), wine.X, wine.y, cv=2)
    assert found.sizes[0] == 2
    assert all({"x3", "x5"} <= set(names) for names in found.features)


def test_irrelevant_features_are_not_chosen(rng):
    labels = np.repeat([0, 1, 2], 40)
    X = rng.standard_normal((120, 12))
    X[:, 0] += 8 * (labels == 0)
    X[:, 1] += 8 * (labels == 1)
    found = path(SMALL, X, labels, sizes=(1, 2, 4, 8), cv=4)
    assert found.chosen == 2
    assert set(found.features[1]) == {"x0", "x1"}


def test_equal_samples_stay_on_one_side_and_order_does_not_matter(wine, found, rng):
    order = rng.permutation(np.tile(np.arange(len(wine.y)), 2))
    twice = path(SMALL, wine.X[order], wine.y[order], (2, 5), 3)
    assert_allclose(twice.split_scores, found.split_scores, atol=0.1)
    shuffled = rng.permutation(len(wine.y))
    again = path(SMALL, wine.X[shuffled], wine.y[shuffled], (2, 5), 3)
    assert_array_equal(again.split_scores, found.split_scores)


def test_precomputed_kernels_are_split_on_both_axes(wine):
    kernels = PerFeatureGaussian().on(wine.X)
    stack = np.stack([kernels.evaluate(j) for j in range(5)], axis=-1)
    found = path(IMKPL("precomputed", n_prototypes=6, contrast=False), stack, wine.y, (2, 4), 3)
    assert found.accuracy.max() > 0.6


def test_tables_and_series_are_read_in_every_form(wine):
    frame = pd.DataFrame(wine.X[:, :4], columns=list("abcd"))
    frame.iloc[0, 0] = np.nan
    table = IMKPL("per_column", n_prototypes=6, contrast=False, max_missing=1.0)
    found = path(table, frame, wine.y, (2,), 3)
    assert set(found.features[0]) <= {"a", "b", "c", "d", "a is missing"}
    series = wine.X[:, :3, np.newaxis] + np.sin(np.arange(6))
    model = IMKPL("global_alignment", n_prototypes=6, contrast=False)
    found = path(model, series, wine.y, (1, 2), 3)
    assert_array_equal(path(model, list(series), wine.y, (1, 2), 3).accuracy, found.accuracy)


def test_a_pipeline_is_measured_as_a_whole(wine, found):
    again = path(make_pipeline(StandardScaler(), SMALL), wine.X, wine.y, (2, 5), 3)
    # Gaussian kernels do not depend on the scale.
    assert_allclose(again.accuracy, found.accuracy)
    assert again.features == found.features
    assert again.model[-1].max_kernels == again.chosen


def test_results_as_words_dicts_and_frames(found):
    lines = str(found).splitlines()
    assert lines[0] == "features  accuracy  what came in"
    assert lines[3:5] == ["", "missing: accuracy, and substitute"]
    assert len(lines) == 10
    assert sum(line.endswith("<- chosen") for line in lines) == 1
    assert repr(found) == str(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    assert len(pd.DataFrame(found.to_dict()["missing"])) == 5


@pytest.mark.parametrize("sizes", [(), (0, 3), (1.5,)])
def test_sizes_must_be_positive_whole_numbers(wine, sizes):
    with pytest.raises(ValueError, match=r"sizes=.*expected a sequence of positive whole numbers"):
        path(SMALL, wine.X, wine.y, sizes)


def test_other_estimators_are_refused(wine):
    with pytest.raises(TypeError, match=r"path.. got ISKPL, whose kernels all have the same wei"):
        path(ISKPL(), wine.X, wine.y)


def test_splits_that_cannot_be_made_are_refused(wine):
    X = np.vstack([wine.X, [wine.X[0] + 100.0] * 3])
    y = np.concatenate([wine.y, [9, 9, 9]])
    with pytest.raises(ValueError, match="class 9 has 1 distinct samples, expected at least"):
        path(SMALL, X, y, (2,))
    for cv in (1, []):
        with pytest.raises(ValueError, match="expected at least"):
            path(SMALL, wine.X, wine.y, (2,), cv)


def test_a_panel_is_extended(wine):
    X = pd.DataFrame(wine.X, columns=[f"m{i}" for i in range(wine.X.shape[1])])
    X["copy"] = X["m6"] * 2 + 1
    prices = {"m6": 5.0, "copy": 7.0, "m2": 100.0}
    found = path(SMALL, X, wine.y, (1, 4), 3, have=["m2", "m3"], prices=prices, substitutes=1)
    assert_array_equal(found.sizes, [2, 4])
    assert set(found.features[0]) == {"m2", "m3"} == set(found.have)
    assert all({"m2", "m3"} <= set(names) for names in found.features)
    assert found.accuracy[1] > found.accuracy[0]
    # What is there costs nothing.
    assert found.price[0] == 0
    assert found.price[1] == sum(prices.get(name, 0) for name in set(found.features[1]) - {"m2"})
    panel = {one["feature"]: one for one in found.panel}
    assert set(panel) == {"m2", "m3", *found.features[1]}
    assert {panel["m2"]["size"], panel["m3"]["size"]} == {2}
    assert panel["m2"]["like"] == "m3"
    assert SMALL.require is None
    every = path(SMALL, X, wine.y, (2,), 3, have=["m6", "copy"], substitutes=0)
    assert all(one["alike"] == pytest.approx(1) for one in every.panel)


def test_what_a_missing_feature_costs_is_measured_in_folds(wine):
    X = pd.DataFrame(wine.X, columns=[f"m{i}" for i in range(wine.X.shape[1])])
    X["copy"] = X["m6"] * 2 + 1
    rows = np.arange(len(wine.y))
    splits = [(rows[rows % 3 != i], rows[rows % 3 == i]) for i in range(3)]
    model = IMKPL(n_prototypes=6, contrast=False, exclude=["copy"])
    found = path(model, X, wine.y, (3,), splits, substitutes=1)
    assert [one["feature"] for one in found.missing] == list(found.features[0])
    first = found.missing[0]
    expected, swapped = [], []
    for train, test in splits:
        one = model.set_params(max_kernels=3).fit(X.iloc[train], wine.y[train])
        gaps = X.iloc[test].assign(**{first["feature"]: np.nan})
        one.set_params(max_missing=1.0)
        expected.append(np.mean(one.predict(gaps) == wine.y[test]))
        other = IMKPL(n_prototypes=6, contrast=False, max_kernels=3)
        other.set_params(exclude=["copy", first["feature"]])
        swapped.append(other.fit(X.iloc[train], wine.y[train]).score(X.iloc[test], wine.y[test]))
    assert first["accuracy"] == pytest.approx(np.mean(expected))
    assert first["with_substitute"] == pytest.approx(np.mean(swapped))
    assert first["substitute"] not in {"copy", *found.features[0]}
    assert found.missing[1]["substitute"] is None
    assert f"{first['feature']}: {first['accuracy']:.3f}" in str(found)
