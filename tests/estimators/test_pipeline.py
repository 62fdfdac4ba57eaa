"""Pipelines are explained in the names and units of the data given to them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
)

import imkpl
from imkpl import IMKPL

FOUR = {"n_prototypes": 4, "contrast": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ill = np.repeat([False, True], 40)
    frame = pd.DataFrame(
        {
            "age": (40 + 20 * ill + rng.normal(0, 8, 80)).round(),
            "marker": 1 + 3 * ill + rng.normal(0, 1.2, 80),
            "smoker": np.where(rng.random(80) < 0.1 + 0.8 * ill, "yes", "no"),
            "town": rng.choice(["north", "south"], 80),
        },
        index=[f"P{i}" for i in range(80)],
    )
    frame.loc[rng.random(80) < 0.15, "marker"] = np.nan
    return frame, np.where(ill, "ill", "healthy")


def mixed(*more):
    numbers = make_pipeline(
        # What is imputed is below all values, so that quantiles can be turned back into cells.
        SimpleImputer(strategy="constant", fill_value=-5.0, add_indicator=True),
        QuantileTransformer(n_quantiles=20),
        StandardScaler(),
    )
    columns = ColumnTransformer(
        [
            ("numbers", numbers, ["age", "marker"]),
            ("towns", OneHotEncoder(sparse_output=False), ["town"]),
            ("codes", OrdinalEncoder(), make_column_selector(pattern="smoker")),
        ]
    )
    return make_pipeline(columns, *more, IMKPL(**FOUR, sparsity=3))


def kept():
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), [0, 1]), ("none", "drop", ["town"])], remainder="passthrough"
    )
    return make_pipeline(columns, IMKPL(**FOUR, sparsity=3))


def named():
    return mixed().set_output(transform="pandas")


@pytest.mark.parametrize(
    "make", [mixed, named, kept, lambda: mixed(MinMaxScaler(), SelectKBest(k=4))]
)
def test_cards_show_the_cells_of_the_frame(data, make):
    X, y = data
    pipeline = make().fit(X[::2], y[::2])
    explanation = imkpl.explain(pipeline, X[1::2])
    np.testing.assert_array_equal(explanation.predicted, pipeline.predict(X[1::2]))
    seen, changes = set(), 0
    for row in range(len(explanation)):
        card = explanation.card(row)
        assert card.case == X.index[1::2][row]
        for feature in card.features:
            cell = X.loc[card.case].get(feature["name"])
            if feature["name"] in X and not pd.isna(cell):
                seen.add(feature["name"])
                assert feature["value"] == (cell if isinstance(cell, str) else pytest.approx(cell))
                assert feature["outside"] in (None, "above", "below")
        if card.change is not None and {f["name"] for f in card.change["features"]} <= set(X):
            changed = X.loc[[card.case]].copy()
            for feature in card.change["features"]:
                changed[feature["name"]] = feature["to"]
            changes += 1
            assert pipeline.predict(changed)[0] == card.change["to"]
    assert {"age", "smoker"} <= seen
    assert changes > 5
    assert str(pickle.loads(pickle.dumps(explanation[:1]))) == str(explanation[:1])


@pytest.mark.parametrize("make", [mixed, kept])
def test_cells_that_the_pipeline_fills_in_are_missing(data, make):
    X, y = data
    explanation = imkpl.explain(make().fit(X, y), X)
    card = explanation.card(int(np.argmax(X["marker"].isna())))
    (marker,) = [one for one in card.features if one["name"] == "marker"]
    assert marker["value"] is None
    assert any("values that the model reads: marker (" in note for note in card.notes)


def test_ranges_are_in_the_same_units(data):
    X, y = data
    pipeline = kept().fit(X, y)
    odd = X[:1].assign(age=500.0)
    low, high = X["age"].min(), X["age"].max()
    notes = imkpl.explain(pipeline, odd).card().notes
    assert f"age = 500 is far above all training values ({low:.4g} to {high:.4g})." in notes


def test_what_is_no_column_keeps_the_name_that_the_pipeline_gives_it(data):
    X, y = data
    numbers = X[["age", "marker"]].fillna(0)
    found = imkpl.explain(make_pipeline(PCA(2), IMKPL(**FOUR)).fit(numbers, y), numbers)
    assert set(found.feature_names) <= {"pca0", "pca1"}
    nameless = make_pipeline(FunctionTransformer(np.sqrt), IMKPL(**FOUR))
    found = imkpl.explain(nameless.fit(numbers.abs(), y), numbers.abs())
    assert set(found.feature_names) <= {"age", "marker"}


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
def test_words_of_texts_are_named():
    texts = ["the cat sat", "a cat and a dog", "rain and wind", "wind, rain and snow"] * 5
    pipeline = make_pipeline(CountVectorizer(), IMKPL(n_prototypes=2, contrast=False))
    card = imkpl.explain(pipeline.fit(texts, ["pet", "pet", "sky", "sky"] * 5), ["a cat"]).card()
    assert card.answer == "pet"
    (cat,) = [one for one in card.features if one["name"] == "cat"]
    assert cat["value"] == 1


def test_models_searches_and_other_estimators(data):
    X, y = data
    model = IMKPL(**FOUR).fit(X, y)
    assert str(imkpl.explain(model, X[:1])) == str(model.explain(X[:1]))
    grid = {"imkpl__sparsity": [2]}
    search = GridSearchCV(kept(), grid, cv=2).fit(X, y)
    assert "age" in imkpl.explain(search, X[:1]).feature_names
    with pytest.raises(TypeError, match=r"The model is LogisticRegression\(\), expected"):
        imkpl.explain(LogisticRegression(), X)
    with pytest.raises(TypeError, match="The last step of the pipeline is LogisticRegression"):
        imkpl.explain(make_pipeline(StandardScaler(), LogisticRegression()), X)


def test_a_report_of_a_pipeline_has_the_original_names_and_units(data, tmp_path):
    X, y = data
    pipeline = kept().fit(X[::2], y[::2])
    path = imkpl.report(pipeline, X[1::2], y[1::2], tmp_path / "page.html", train=(X[::2], y[::2]))
    page = path.read_text(encoding="utf-8")
    assert "There is no form for cases of your own: samples pass through a pipeline" in page
    assert path == tmp_path / "page.html"
    shown = path._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html')
    assert "<script" not in shown
    found = imkpl.report.summarize(pipeline, X[1::2], y[1::2], train=(X[::2], y[::2]))
    ages = [one for one in found["features"]["features"] if one["name"] == "age"]
    assert ages
    json = imkpl.report(pipeline, X[1::2], None, tmp_path / "page.json")
    assert json._repr_html_() == f"<code>{json}</code>"


def test_models_show_what_they_learned_in_notebooks(data):
    X, y = data
    model = IMKPL(**FOUR)
    assert "Learned" not in model._repr_html_()
    bundle = model.fit(X.rename(columns={"age": "<b>"}), y)._repr_mimebundle_()
    assert "Learned 4 prototypes of 2 classes from 80 samples" in bundle["text/html"]
    assert "&lt;b&gt;" in bundle["text/html"].split("Learned")[1]


def test_rows_may_be_dicts(data):
    X, y = data
    for frame in (X, X[["age"]]):
        model = IMKPL(**FOUR).fit(frame, y)
        rows = [{k: row[k] for k in reversed(row)} for row in frame[:9].to_dict("records")]
        np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(frame[:9]))
    model = IMKPL(**FOUR).fit(X, y)
    partial = model.predict_proba([{"age": 61}])
    whole = X[:1].assign(age=61.0, marker=np.nan, smoker=None, town=None)
    np.testing.assert_array_equal(partial, model.predict_proba(whole))
    with pytest.raises(ValueError, match="Row 1 has a value for 'agee', which is no column"):
        model.predict([{"age": 1}, {"agee": 2}])
    with pytest.raises(ValueError, match=r"fitted to columns without names.* Fit it to a data"):
        IMKPL(**FOUR).fit(X[["age"]].to_numpy(), y).predict([{"age": 1}])
