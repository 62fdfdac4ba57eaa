"""The regressor, and classes with an order: answers, reasons, intervals, and what they share."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import RidgeCV

import imkpl
from imkpl import IMKPL, IMKPLRegressor
from imkpl.files import ModelFileError

FIVE = {"n_prototypes": 5}


@pytest.fixture(scope="module")
def friedman():
    """The first five of ten columns matter; 160 samples to learn from, 200 others."""
    X, y = make_friedman1(360, 10, noise=1.0, random_state=5)
    return X[:160], y[:160], X[160:], y[160:]


@pytest.fixture(scope="module")
def model(friedman):
    return IMKPLRegressor(**FIVE).fit(*friedman[:2])


@pytest.fixture(scope="module")
def grades():
    """Four grades in the order of a number, whose names are in another order."""
    X, y = make_friedman1(220, 6, noise=1.0, random_state=2)
    names = np.array(["poor", "fair", "good", "best"])
    return X, names[np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)], names.tolist()


def test_it_finds_what_matters_and_is_better_than_a_line(friedman, model):
    X, y, new, known = friedman
    assert model.score(new, known) > RidgeCV().fit(X, y).score(new, known) + 0.1
    assert model.feature_importances_[:5].sum() > 0.9
    assert np.all(np.diff(model.history_["total"]) <= 0)
    assert model.prototype_values_.min() >= y.min()
    assert model.prototype_values_.max() <= y.max()


def test_reasons_add_up_to_the_answer(friedman, model):
    new = friedman[2][:20]
    explanation = model.explain(new)
    values = model.predict(new)
    assert_allclose(explanation.predicted, values)
    for row in range(len(new)):
        table = explanation.contributions(row)
        assert_allclose(explanation.base_values[row] + table.sum(axis=(0, 1)), values[row])
        assert_allclose(explanation.prototype_contributions(row), table.sum(axis=1))
    parts = explanation.feature_contributions()
    assert_allclose(explanation.base_values + parts.sum(axis=1), values[:, None])
    card = explanation.card(3)
    adds = sum(one["for"] for one in [*card.features, *card.rest])
    assert card.value["middle"] + adds == pytest.approx(values[3], rel=1e-3)
    assert card.value["low"] <= values[3] <= card.value["high"]
    assert card.lead == pytest.approx(values[3] - card.value["middle"])
    # The case on either side is of the prototype with most votes for it.
    shares, sides = explanation.shares.toarray()[3], explanation.sides[3]
    for place, side in enumerate((card.opposing, card.supporting)):
        assert side["prototype"] == np.argmax(np.where(sides == place, shares, -1))
        assert side["label"] == friedman[1][int(side["case"])]
    text = str(card)
    assert f"between case {card.opposing['case']} (" in text
    assert "for a higher value" in text
    assert "for a higher value" in card._repr_html_()


def test_reasons_as_dicts_frames_and_shap(friedman, model):
    explanation = model.explain(friedman[2][:3])
    one = explanation.to_dict()["samples"][0]
    assert one["prediction"] == pytest.approx(float(explanation.estimates[0]))
    frame = explanation.to_frame()
    sums = frame.groupby("sample")["contribution"].sum().to_numpy()
    assert_allclose(sums, explanation.estimates - explanation.base_values[:, 0])
    shap = pytest.importorskip("shap")
    found = explanation.to_shap()
    assert isinstance(found, shap.Explanation)
    assert_allclose(found.base_values + found.values.sum(axis=1), explanation.estimates[:, None])


def test_intervals_hold_about_as_many_new_values_as_they_say(friedman, model):
    _, _, new, known = friedman
    values, interval = model.predict(new, return_interval=0.8)
    assert_allclose(values, model.predict(new))
    inside = (interval[:, 0] <= known) & (known <= interval[:, 1])
    assert 0.7 < inside.mean() < 0.9
    wider = model.predict(new, return_interval=0.95)[1]
    assert np.all(wider[:, 0] <= interval[:, 0])
    assert np.all(wider[:, 1] >= interval[:, 1])
    with pytest.raises(ValueError, match="return_interval is 90, expected a probability"):
        model.predict(new, return_interval=90)


def test_neither_units_nor_orders_nor_copies_change_the_model(friedman, model):
    X, y, new, _ = friedman
    expected = model.predict(new)
    order, columns = np.random.default_rng(0).permutation(160), [3, 9, 1, 0, 2, 4, 5, 6, 8, 7]
    other = IMKPLRegressor(**FIVE).fit(X[order][:, columns] * 1000 - 7, 3 * y[order] + 40)
    assert_allclose(other.predict(new[:, columns] * 1000 - 7), 3 * expected + 40, rtol=1e-6)
    weight = np.where(np.arange(160) < 60, 2, 1)
    weighed = IMKPLRegressor(**FIVE).fit(X, y, sample_weight=weight)
    copied = IMKPLRegressor(**FIVE).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(copied.predict(new), weighed.predict(new), rtol=1e-6)


def test_a_loaded_model_is_the_saved_one(friedman, model, tmp_path):
    imkpl.save(model, tmp_path / "m.imkpl")
    loaded = imkpl.load(tmp_path / "m.imkpl")
    assert type(loaded) is IMKPLRegressor
    for found, expected in zip(
        loaded.predict(friedman[2], return_interval=0.5),
        model.predict(friedman[2], return_interval=0.5),
        strict=True,
    ):
        assert_array_equal(found, expected)
    assert str(loaded.explain(friedman[2][:1])) == str(model.explain(friedman[2][:1]))
    altered = IMKPLRegressor(**FIVE)
    vars(altered).update({k: v for k, v in vars(model).items() if k != "residuals_"})
    with pytest.raises(ModelFileError, match="lacks \\['residuals_'\\]"):
        imkpl.save(altered, tmp_path / "other.imkpl")


def test_constraints_groups_and_novelty_are_those_of_classifiers(friedman):
    X, y, new, _ = friedman
    allowed = np.arange(160) % 2 == 0
    groups = np.arange(160) // 4
    fitted = IMKPLRegressor(**FIVE, require=[9], exclude=[3])
    fitted.fit(X, y, eligible=allowed, groups=groups)
    assert fitted.kernel_weights_[9] > 0
    assert fitted.kernel_weights_[3] == 0
    assert allowed[fitted.support_].all()
    assert fitted.n_groups_ == 40
    far = new[:1].copy()
    far[0, 0] = 50.0
    assert fitted.novelty(far)[0] == 1.0
    assert "far above all training values" in str(fitted.explain(far))


@pytest.mark.filterwarnings("ignore:No kernel tells the values apart")
@pytest.mark.parametrize("kind", ["gaps", "words", "series"])
def test_it_reads_what_classifiers_read(kind):
    rng = np.random.default_rng(1)
    y = rng.standard_normal(60)
    if kind == "gaps":
        X = pd.DataFrame({"a": y + 0.3 * rng.standard_normal(60), "b": ["u", "v"] * 30})
        X.loc[::7, "a"] = np.nan
    elif kind == "words":
        X = np.zeros((60, 120))
        X[np.arange(60), np.searchsorted([-0.5, 0.5], y)] = 3
        X[np.arange(60), 3 + np.arange(60)] = 1
    else:
        X = y[:, None, None] * np.sin(np.arange(12)) + 0.2 * rng.standard_normal((60, 1, 12))
    fitted = IMKPLRegressor(**FIVE).fit(X, y)
    assert fitted.score(X, y) > 0.5
    assert "between case" in str(fitted.explain(X[:1]))


def test_errors_say_what_is_wrong_with_targets(friedman):
    X, y = friedman[:2]
    for target, expected in (
        (np.zeros(160), "y has one value only, 0, expected at least 2"),
        (["low"] * 160, "y cannot be read as numbers .* Use IMKPL for classes"),
        (np.where(y > y.mean(), np.nan, y), "y contains NaN"),
    ):
        with pytest.raises(ValueError, match=expected):
            IMKPLRegressor().fit(X, target)


def test_an_order_of_classes_lowers_how_far_answers_are_off(grades):
    X, y, order = grades
    place = {name: number for number, name in enumerate(order)}

    def off(estimator):
        fitted = estimator.fit(X[:120], y[:120])
        pairs = zip(fitted.predict(X[120:]), y[120:], strict=True)
        return fitted, np.mean([abs(place[a] - place[b]) for a, b in pairs])

    ordered, found = off(IMKPL(ordered=order, n_prototypes=4))
    plain, usual = off(IMKPL(n_prototypes=4))
    assert found < usual
    assert_array_equal(ordered.classes_, plain.classes_)
    chances = ordered.predict_proba(X[120:])
    assert_allclose(chances.sum(axis=1), 1.0)
    assert_array_equal(ordered.classes_[chances.argmax(axis=1)], ordered.predict(X[120:]))
    explanation = ordered.explain(X[120:])
    assert_array_equal(explanation.predicted, ordered.predict(X[120:]))
    assert "in the order from 0, between case" in str(explanation[0])


def test_the_order_of_a_categorical_counts(grades, tmp_path):
    X, y, order = grades
    given = IMKPL(ordered=order, n_prototypes=4).fit(X, y)
    series = pd.Series(pd.Categorical(y, order, ordered=True))
    found = IMKPL(n_prototypes=4).fit(X, series)
    assert_array_equal(found.predict_proba(X), given.predict_proba(X))
    imkpl.save(found, tmp_path / "m.imkpl")
    loaded = imkpl.load(tmp_path / "m.imkpl")
    assert_array_equal(loaded.predict_proba(X), given.predict_proba(X))
    for parameters, expected in (
        ({"ordered": order[:3]}, "ordered is 'poor', 'fair', 'good', expected each of the classes"),
        ({"ordered": order, "costs": {"poor": 3}}, "costs: expected decision='votes'"),
    ):
        with pytest.raises(ValueError, match=expected):
            IMKPL(**parameters).fit(X, y)


def test_diabetes_is_between_two_cases():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    fitted = IMKPLRegressor(**FIVE).fit(X[:300], y[:300])
    assert fitted.score(X[300:], y[300:]) > 0.35
    assert "Learned 5 prototypes of values from 300 samples" in fitted._describe()
