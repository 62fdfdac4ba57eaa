"""Tables with categories and missing cells through the estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils import get_tags

from contracts.estimator import check_prototype_estimator
from imkpl import IMKPL, ISKPL
from imkpl.kernels import PerColumn
from imkpl.tables import read_table
from reference.kernels import column_stack

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

LARGE = {"sparsity": 5, "n_prototypes": 15, "contrast": False}

COLORS = np.array(["red", "green", "blue", "grey"])


def make_frame(seed=0, n=240):
    """Two classes in a table, and what they differ in.

    A colour that tells the classes apart in four of five rows; a size that does in the mean, with
    cells missing at random; a test that says nothing, but was left out for most of one class; and
    three columns of noise.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    color = COLORS[np.where(rng.random(n) < 0.8, 2 * y, 2 - 2 * y) + rng.integers(0, 2, n)]
    size = np.where(rng.random(n) < 0.15, np.nan, rng.standard_normal(n) + 1.5 * y)
    test = np.where(rng.random(n) < np.where(y == 1, 0.7, 0.1), np.nan, rng.standard_normal(n))
    frame = pd.DataFrame(
        {
            "noise": rng.standard_normal(n),
            "color": color,
            "size": size,
            "word": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "test": test,
            "flag": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.1, "word"] = None
    return frame, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def data():
    return make_frame()


@pytest.fixture(scope="module")
def new():
    return make_frame(seed=1)


@pytest.fixture(scope="module")
def model(data):
    return IMKPL(kernels="per_column", **LARGE).fit(*data)


def plain_rows(frame):
    table = read_table(frame)
    return [table.display_values(row) for row in range(len(table))]


@pytest.mark.parametrize(
    "estimator",
    [
        IMKPL(kernels="per_column", sparsity=4, n_prototypes=12, contrast=True),
        IMKPL(kernels="per_column", sparsity=4, decision="share"),
        ISKPL(kernels="per_column", sparsity=4, n_prototypes=12, contrast=False),
    ],
    ids=["IMKPL", "share", "ISKPL"],
)
def test_laws(estimator, data, new):
    frame, y = data
    train = plain_rows(frame)
    model = clone(estimator).fit(frame, y)

    def combined(A, B):
        return column_stack(plain_rows(A), plain_rows(B), train, (1, 3, 5)) @ model.kernel_weights_

    check_prototype_estimator(model, frame, y, new[0][:40], combined)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_planted_is_found(seed):
    model = IMKPL(kernels="per_column", **LARGE).fit(*make_frame(seed))
    kept = {
        name
        for name, weight in zip(model.kernel_names_, model.kernel_weights_, strict=True)
        if weight
    }
    # That a size is missing says nothing. The kernel of the test says what it can, because a
    # missing cell is as far from all others.
    assert kept - {"test"} == {"color", "size", "test is missing"}
    assert set(model.feature_names_in_[model.feature_importances_ > 0]) == {"color", "size", "test"}
    assert model.score(*make_frame(seed=9, n=1000)) > 0.85


def test_columns_without_differences_are_not_chosen(data, new):
    frame = data[0].assign(nothing=None, constant="x")
    model = IMKPL(kernels="per_column", **SMALL).fit(frame, data[1])
    weights = dict(zip(model.kernel_names_, model.kernel_weights_, strict=True))
    assert weights["nothing"] == weights["nothing is missing"] == weights["constant"] == 0
    expected = IMKPL(kernels="per_column", **SMALL).fit(*data).predict_proba(new[0])
    found = model.predict_proba(new[0].assign(nothing=5.0, constant="y"))
    assert_allclose(found, expected, rtol=1e-9)


def test_names_of_columns_and_kernels(model):
    names = ["noise", "color", "size", "word", "test", "flag"]
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == 6
    assert model.kernel_names_ == [*names, "size is missing", "word is missing", "test is missing"]
    assert model.feature_importances_.shape == (6,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.get_feature_names_out()[0] == "imkpl0"


FORMS = {
    "polars": lambda frame: pl.DataFrame(
        {name: [None if pd.isna(c) else c for c in frame[name]] for name in frame}
    ),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "index": lambda frame: frame.set_index(np.arange(len(frame))[::-1]),
    "nullable": lambda frame: frame.convert_dtypes(),
    "text": lambda frame: frame.astype({"word": "string", "color": "category"}),
    "table": read_table,
    "objects": lambda frame: frame.to_numpy(dtype=object),
    "rows": lambda frame: frame.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_model(form, data, new, model):
    convert = FORMS[form]
    other = clone(model).fit(convert(data[0]), data[1])
    assert_array_equal(other.kernel_weights_, model.kernel_weights_)
    assert_array_equal(other.predict_proba(convert(new[0])), model.predict_proba(new[0]))
    has_names = form not in ("table", "objects", "rows")
    assert hasattr(other, "feature_names_in_") is has_names
    assert other.kernel_names_[-1] == (
        "x4 is missing" if form in ("objects", "rows") else "test is missing"
    )


@pytest.mark.parametrize(
    "model", [IMKPL(**SMALL), ISKPL(**SMALL), IMKPL(**SMALL, solver="landmarks", n_landmarks=20)]
)
def test_numbers_alone_give_the_model_of_features_to_the_last_bit(model, wine):
    features = clone(model).fit(wine.X, wine.y)
    table = clone(model).set_params(kernels="per_column").fit(wine.X, wine.y)
    assert_array_equal(table.kernel_weights_, features.kernel_weights_)
    assert_array_equal(table.prototypes_.toarray(), features.prototypes_.toarray())
    assert_array_equal(table.predict_proba(wine.new), features.predict_proba(wine.new))
    assert table.kernel_names_ == features.kernel_names_


def test_equal_rows_with_missing_cells_count_as_one_of_their_weight(data):
    frame, y = data[0][:60], data[1][:60]
    twice = pd.concat([frame, frame], ignore_index=True)
    copies = IMKPL(kernels="per_column", **SMALL).fit(twice, np.concatenate([y, y]))
    weighted = IMKPL(kernels="per_column", **SMALL).fit(frame, y, sample_weight=np.full(60, 2.0))
    assert frame.isna().any(axis=None)
    assert copies.support_.max() < 60
    assert_allclose(copies.predict_proba(frame), weighted.predict_proba(frame), rtol=1e-9)


def test_rows_of_no_weight_are_not_learned_from(data, new):
    frame, y = data[0].copy(), data[1]
    weight = np.ones(len(y))
    weight[::7] = 0.0
    # Categories and missing cells that no other row has.
    frame.loc[weight == 0, "color"] = "violet"
    frame.loc[weight == 0, "noise"] = np.nan
    weighted = IMKPL(kernels="per_column", **SMALL).fit(frame, y, sample_weight=weight)
    removed = IMKPL(kernels="per_column", **SMALL).fit(frame[weight > 0], y[weight > 0])
    assert weighted.kernel_names_ == removed.kernel_names_
    assert_allclose(weighted.predict_proba(new[0]), removed.predict_proba(new[0]), rtol=1e-9)


def test_unseen_categories_and_new_missing_cells_are_predicted(model, new):
    frame = new[0][:20].assign(color="violet", noise=np.nan, flag=None)
    proba = model.predict_proba(frame)
    assert np.all(np.isfinite(proba))
    # Those whose cells are of no kind that was seen are explained less than others are.
    usual = model.reconstruction_error(new[0][:20])
    assert np.mean(model.reconstruction_error(frame) > usual) >= 0.9


def test_the_support_shows_the_cells_that_were_given(model, data):
    rows = plain_rows(data[0].iloc[model.support_])
    for row, values in zip(rows, model.support_values_, strict=True):
        assert values == {k: v for k, v in zip(data[0], row, strict=True) if k in values}
        assert len(values) == np.count_nonzero(model.feature_importances_)


def test_explanations_show_cells_and_whether_they_are_missing(data):
    frame, y = data
    model = IMKPL(kernels="per_column", **LARGE).fit(frame, y)
    places = [int(np.argmax(frame["test"].isna())), int(np.argmax(frame["size"].isna()))]
    explanation = model.explain(frame.iloc[places])
    total = explanation.feature_contributions().sum(axis=1) + explanation.evidence.base_scores
    assert_allclose(total, explanation.scores, rtol=1e-9, atol=1e-12)
    for place, sample in zip(places, explanation.to_dict()["samples"], strict=True):
        row = dict(zip(frame.columns, plain_rows(frame)[place], strict=True))
        found = {feature["name"]: feature["value"] for feature in sample["features"]}
        assert found["color"] == row["color"]
        assert found["size"] == row["size"]
        assert found["test is missing"] is (row["test"] is None)
    assert "missing" in str(explanation)


@pytest.mark.parametrize(
    ("kernels", "reads_tables"),
    [("per_column", True), (PerColumn(), True), ("per_feature_gaussian", False), (["rbf"], False)],
)
def test_tags_say_whether_text_and_missing_cells_are_read(kernels, reads_tables):
    for estimator in (IMKPL(kernels), ISKPL(kernels)):
        tags = get_tags(estimator).input_tags
        assert tags.allow_nan == tags.string == reads_tables


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.rename(columns={"size": "Size"}), "X lacks 'size', .* not know: 'Size'"),
        (lambda f: f.assign(size="large"), "Column 'size' holds categories such as 'large', but n"),
    ],
)
def test_other_columns_are_refused_in_predict(change, sentence, model, new):
    with pytest.raises(ValueError, match=sentence):
        model.predict(change(new[0]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.assign(noise=np.inf), "Column 'noise' holds a number of inf in row 0"),
        (lambda f: f[:1], "X has 1 row, expected at least 2 to learn from"),
        (lambda f: f[["color"]].assign(color=None), "^All kernels are constant|distinct samples"),
    ],
)
def test_tables_to_learn_nothing_from_are_refused(change, sentence, data):
    frame = change(data[0])
    with pytest.raises(ValueError, match=sentence):
        IMKPL(kernels="per_column", n_neighbors=1).fit(frame, data[1][: len(frame)])


@pytest.mark.parametrize("name", ["color", "size"], ids=["text", "missing cells"])
@pytest.mark.parametrize("form", ["pandas", "polars", "nullable", "objects"])
def test_kernels_of_numbers_name_the_kernels_of_tables(name, form, data):
    frame = FORMS.get(form, lambda frame: frame)(data[0][[name, "noise"]])
    with pytest.raises(
        (TypeError, ValueError), match=r'\nIMKPL\(kernels="per_column"\) reads tabl'
    ):
        IMKPL("per_feature_gaussian").fit(frame, data[1])
