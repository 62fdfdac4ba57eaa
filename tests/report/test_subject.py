"""What reports are about: every kind of samples, with fingerprints, and data that repeat."""

import re

import numpy as np
import pandas as pd
import pytest

import imkpl
from imkpl import IMKPL
from imkpl.kernels import FunctionKernel
from imkpl.report import render_report, summarize
from imkpl.report.learned import describe_map
from imkpl.report.subject import choose_evenly, describe_provenance, describe_repeats, isolate
from imkpl.report.summarize import write_warnings

from .conftest import describe


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    X = rng.standard_normal((24, 3, 20))
    X[:, 1] += 4 * np.sin(np.arange(20) / (2 + y[:, None]))
    X[3, :, 15:] = np.nan
    return IMKPL("global_alignment", n_prototypes=2, max_kernels=2).fit(X[::2], y[::2]), X, y


def test_series_are_drawn_and_explained_over_time(series):
    model, X, y = series
    found = summarize(model, X[1::2], y[1::2], train=(X[::2], y[::2]))
    assert found["kind"] == "series"
    assert "no single value" in found["features"]["why_absent"]
    curve = found["curves"][0]
    channel = curve["channels"][0]
    original = X[::2][curve["sample"], int(channel["name"].split()[-1]), channel["times"]]
    assert channel["values"] == pytest.approx(original, rel=1e-5)
    explanation = model.explain(X[1::2])
    for index, row in enumerate(found["samples"]["rows"]):
        shown, expected = row["card"]["series"], explanation.card(index).series
        assert shown["shares"] == pytest.approx(expected["shares"], abs=1e-5)
        assert (shown["from"], shown["to"]) == (expected["from"], expected["to"])
        line = shown["values"]
        known = np.array(expected["values"])[line["times"]]
        assert np.array(line["values"], float) == pytest.approx(known, rel=1e-4, nan_ok=True)
    page = render_report(found)
    assert page.partition('id="prototypes"')[2].count('class="chart"') == len(found["prototypes"])
    assert "compares time series" in found["form"]["why_absent"]
    assert found["form"]["why_absent"] in page


@pytest.fixture(scope="module")
def similarities(two_blobs):
    X, y = two_blobs
    stack = np.exp(-((X[:, np.newaxis] - X[np.newaxis]) ** 2) / 4)
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    K = stack[np.ix_(train, train)]
    model = IMKPL(kernels="precomputed", n_prototypes=4).fit(K, y[train])
    return model, (K, y[train]), stack[np.ix_(test, train)], y[test]


def test_precomputed_kernels_say_what_is_absent(similarities):
    model, train, K_new, y_new = similarities
    found = summarize(model, K_new, y_new)
    assert found["kind"] == "similarities"
    assert "not the samples" in found["features"]["why_absent"]
    assert "Pass train=(X, y)" in found["map"]["why_absent"]
    assert "given similarities" in found["form"]["why_absent"]
    assert found["size"]["feature_word"] == "kernel"
    assert found["features"]["why_absent"] in render_report(found)
    assert describe(describe_map, model, K_new, y_new, train)["n_training"] == len(train[1])


def test_objects_have_reasons_but_no_values():
    def share_letters(A, B):
        return np.array([[len(set(a) & set(b)) / 3 for b in B] for a in A])

    words = [f"{start}{end}" for start in ("ab", "xy") for end in "cdefghijkl"]
    model = IMKPL(FunctionKernel(share_letters, vector_input=False), n_prototypes=2)
    model.fit(words, np.repeat([0, 1], 10))
    found = summarize(model, ["abz", "xyc"], [0, 1])
    assert found["kind"] == "objects"
    assert found["provenance"]["data"][0]["sha256"] is None
    assert "at least 10 samples" in found["map"]["why_absent"]
    assert found["samples"]["rows"][0]["card"]["features"][0]["value"] is None
    assert "only Python can evaluate" in found["form"]["why_absent"]
    assert "whole samples" in render_report(found)


def test_many_classes_list_the_pairs_that_were_confused(rng):
    y = np.repeat(np.arange(35), 6)
    X = rng.standard_normal((210, 5)) + 3 * np.column_stack([y % 6, y // 6, y % 5, y, y % 7])
    model = IMKPL(n_prototypes=35, max_kernels=2, contrast=False).fit(X[::2], y[::2])
    found = summarize(model, X[1::2], y[1::2])
    page = render_report(found)
    assert "All confused classes" in page
    wrong = found["accuracy"]["n"] - found["accuracy"]["n_right"]
    assert sum(one["n"] for one in found["accuracy"]["confused"]) == wrong > 0
    assert found["classes"] == list(range(35))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.array(["sick", "well"])[np.arange(60) % 2]
    site = np.where(y == "sick", rng.choice(["<b>", "north"], 60), rng.choice(["north", "s"], 60))
    crp = rng.gamma(2, 2, 60) + 4 * (y == "sick")
    X = pd.DataFrame({"crp": crp, "site": site, "smoker": rng.random(60) < 0.5})
    X.loc[::7, "crp"] = np.nan
    return IMKPL("per_column", n_prototypes=4).fit(X[:40], y[:40]), X, y


def test_tables_show_categories_and_missing_cells(table):
    model, X, y = table
    found = summarize(model, X[40:], y[40:], train=(X[:40], y[:40]))
    features = {one["name"]: one["distribution"] for one in found["features"]["features"]}
    assert features["site"]["kind"] == "category"
    counts = X[:40][y[:40] == "sick"]["site"].value_counts()
    sick = features["site"]["classes"][0]
    shown = dict(zip(features["site"]["categories"], sick["counts"], strict=False))
    assert {name: n for name, n in shown.items() if n} == counts.to_dict()
    n_missing = [one["n_missing"] for one in features["crp"]["classes"]]
    assert sum(n_missing) == X[:40]["crp"].isna().sum()
    page = render_report(found)
    assert "&lt;b&gt;</span>" in page
    assert "<b>&" not in page


def test_equal_rows_of_tables_are_found_by_their_cells(table):
    model, X, y = table
    # Held-out rows that meet the categories in another order are numbered otherwise.
    X_new = X[40:].dropna().sort_values("site", ascending=False)
    X_new.iloc[0] = X.iloc[2]
    repeats = describe(describe_repeats, model, X_new, None, (X[:40], y[:40]))
    assert repeats["n_leaked"] == 1
    assert repeats["leaked"] == [0]


def fingerprint(model, X, y):
    return describe(describe_provenance, model, X, y)["data"][0]


def test_a_fingerprint_is_that_of_values_labels_and_their_order(wine):
    first = wine.found["provenance"]["data"][0]
    assert first["shape"] == list(wine.X.shape)
    assert first["covers"] == "all values and labels"
    copied = wine.X.reset_index(drop=True)
    assert fingerprint(wine.model, copied, list(wine.y))["sha256"] == first["sha256"]
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
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", provenance["created"])


def test_rows_are_chosen_evenly_and_names_isolated():
    assert choose_evenly(["a"] * 6 + ["b"] * 2, 4).tolist() == [1, 3, 5, 7]
    assert isolate("Barolo") == "Barolo"
    assert isolate("\u05d0") == "\u2068\u05d0\u2069"


def test_samples_that_repeat_or_contradict_each_other_are_reported(wine):
    X, (X_train, y_train) = wine.X.copy(), wine.train
    assert wine.found["repeats"]["n_leaked"] == 0
    X.iloc[5], X_train = X_train.iloc[3], X_train.copy()
    X_train.iloc[0] = X_train.iloc[-1]
    repeats = describe(describe_repeats, wine.model, X, wine.y, (X_train, y_train))
    expected = {"n_repeated": 1, "n_conflicting": 1, "n_leaked": 1, "leaked": [5]}
    assert repeats == expected
    looks = write_warnings({**wine.found, "repeats": repeats})
    assert "too optimistic" in looks[0]["text"]
    assert looks[0]["cases"] == [5]
    assert looks[1]["text"] == (
        "1 training case duplicates another one exactly; 1 set of equal cases has different "
        "classes."
    )


def test_what_does_not_belong_together_is_refused_with_a_way_out(wine):
    X_train, y_train = wine.train
    with pytest.raises(TypeError, match="expected a prototype model"):
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
