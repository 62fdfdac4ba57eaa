"""New samples with columns in any order, without unused ones, and with missing cells."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

import imkpl
from imkpl import IMKPL, ISKPL
from imkpl.kernels import PerFeatureGaussian


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, y


def add_region(X):
    return X.assign(region=np.where(X["alcohol"] > 13, "north", "south"))


FITS = {
    "numbers": (lambda: IMKPL(n_prototypes=4, max_kernels=5), lambda X: X),
    "table": (lambda: IMKPL(n_prototypes=4, max_kernels=5, require=["region"]), add_region),
    "several widths": (
        lambda: IMKPL(PerFeatureGaussian((1.0, 0.1)), n_prototypes=4, max_kernels=5),
        lambda X: X,
    ),
    "average": (lambda: ISKPL("per_feature_gaussian", n_prototypes=4), lambda X: X.iloc[:, :5]),
}


@pytest.fixture(scope="module", params=list(FITS))
def fitted(request, wine):
    """A model, the columns that it reads, and rows of training and others."""
    build, change = FITS[request.param]
    X, y = change(wine[0]), wine[1]
    model = build().fit(X[::2], y[::2])
    used = list(X.columns[np.unique(model.predictor_.kernels.input_columns)])
    return model, used, X[::2], X[1::2]


def test_columns_in_use_are_enough_in_any_order(fitted):
    model, used, _, X = fitted
    expected = model.predict_proba(X)
    few = X[used[::-1]]
    forms = {
        "pandas": few,
        "polars": pl.from_pandas(few.reset_index(drop=True)),
        "with others": X[X.columns[::-1]].assign(name="someone"),
        "dict of columns": few.to_dict("list"),
        "records": few.to_dict("records"),
        "unused are missing": X.assign(**dict.fromkeys(X.columns.difference(used), np.nan)),
    }
    for name, one in forms.items():
        assert_array_equal(model.predict_proba(one), expected, name)
    assert_array_equal(model.predict_proba(few.iloc[0].to_dict()), expected[:1])
    assert str(model.explain(few)[0]) == str(model.explain(X)[0])


def test_a_missing_column_is_named(fitted):
    model, used, _, X = fitted
    with pytest.raises(ValueError, match=rf"X lacks '{used[1]}', expected the {len(used)} columns"):
        model.predict(X.drop(columns=used[1]))
    with pytest.raises(ValueError, match=f"does not know: '{used[0].title()}'"):
        model.predict(X.rename(columns={used[0]: used[0].title()}))


def test_a_missing_cell_is_as_similar_as_training_samples_are_on_average(fitted):
    model, used, train, X = fitted
    predictor = model.predictor_
    row, gone = X.iloc[[3]], used[:2]
    # The slow way: every training sample in the place of the gap, one gap after the other.
    base = predictor.compare(model.read_new(row)).resemblances[0]
    expected = base.copy()
    for name in gone:
        filled = pd.concat([row] * len(train)).assign(**{name: train[name].to_numpy()})
        expected += predictor.compare(model.read_new(filled)).resemblances.mean(axis=0) - base
    gaps = row.assign(**dict.fromkeys(gone, None if len(used) == 1 else np.nan))
    found = predictor.compare(model.read_new(gaps)).resemblances[0]
    assert_allclose(found, expected, atol=1e-12)
    model = imkpl.IMKPL.set_params(model, max_missing=1.0)
    table = model.explain(gaps).contributions(0)
    assert_allclose(table.sum(axis=(0, 1)), model.explain(gaps).scores[0], atol=1e-12)
    model.set_params(max_missing=0.5)


def test_rows_without_gaps_are_answered_to_the_bit(fitted):
    model, used, _, X = fitted
    gaps = X.copy()
    gaps.loc[gaps.index[::3], used[0]] = np.nan
    whole = gaps[used[0]].notna().to_numpy()
    for method in (model.predict_proba, model.novelty, model.decision_function):
        assert_array_equal(method(gaps)[whole], method(X)[whole])
    assert (method(gaps)[~whole] != method(X)[~whole]).any()


def test_a_sample_that_lacks_half_of_the_weight_gets_no_answer(wine, tmp_path):
    X, y = wine
    model = FITS["numbers"][0]().fit(X, y)
    with pytest.warns(UserWarning, match=r"1 of 2 samples get no answer .*max_missing=1"):
        found = model.predict([X.iloc[0].to_dict(), {"alcohol": 13.0}])
    assert found.tolist() == [0, None]
    with pytest.warns(UserWarning, match="no answer"):
        assert np.isnan(model.predict_proba([{"alcohol": 13.0}])).all()
    with pytest.warns(UserWarning, match="no answer"):
        assert model.score([X.iloc[0].to_dict(), {"alcohol": 13.0}], [0, 0]) == 0.5
    card = model.explain([{"alcohol": 13.0}]).card()
    assert card.doubt == "no evidence"
    share = 1 - model.feature_importances_[0]
    assert f"No answer: {share:.0%} of the weight is missing, more than 50%." in card.doubt_text
    imkpl.save(model.set_params(max_missing=1.0), tmp_path / "m.imkpl")
    again = imkpl.load(tmp_path / "m.imkpl")
    assert again.predict([{"alcohol": 13.0}]).tolist() in ([0], [1], [2])
    assert again.novelty([{"alcohol": 13.0}])[0] < 1


def test_gaps_in_training_keep_their_meaning(wine):
    X, y = add_region(wine[0]), wine[1]
    X.loc[::4, ["flavanoids", "region"]] = None
    model = IMKPL(n_prototypes=4, max_kernels=4, require=["flavanoids"]).fit(X, y)
    missing = model.predictor_.find_missing(model.read_new(X))
    assert_array_equal(missing, 0)
    only = X.assign(proline=np.nan)
    weight = dict(zip(model.kernel_names_, model.kernel_weights_, strict=True))["proline"]
    assert_allclose(model.explain(only).missing, weight)
