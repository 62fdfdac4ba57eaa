import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.plots import CodesDisplay


def test_the_picture_is_the_codes_sorted_by_class(wine):
    model, X, y = wine
    display = CodesDisplay.from_estimator(model, X, y)
    codes = model.transform(X).toarray()
    shares = codes / codes.sum(axis=1, keepdims=True)
    picture = display.image_.get_array()
    assert_allclose(picture, shares[np.ix_(display.rows, display.columns)])
    assert_array_equal(model.classes_[display.sample_classes], y[display.rows])
    owners = model.prototype_classes_[display.columns]
    assert_array_equal(model.classes_[display.prototype_classes], owners)
    assert sorted(display.rows) == list(range(len(y)))
    assert np.all(np.diff(display.sample_classes) >= 0)


def test_classes_are_named_at_the_centre_of_their_block(wine):
    model, X, y = wine
    ax = CodesDisplay.from_estimator(model, X, y).ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == list(model.classes_)
    places = np.sort(y)
    expected = [np.flatnonzero(places == label).mean() for label in model.classes_]
    assert_allclose(ax.get_yticks(), expected)


def test_without_labels_samples_stand_with_the_predicted_class(wine):
    model, X, _ = wine
    display = CodesDisplay.compute(model, X)
    predicted = model.predict(X)[display.rows]
    assert_array_equal(model.classes_[display.sample_classes], predicted)


def test_labels_that_the_model_does_not_know_are_refused(wine):
    model, X, y = wine
    y = y.copy()
    y[0] = "Rioja"
    with pytest.raises(ValueError, match="y contains the label 'Rioja', expected only classes"):
        CodesDisplay.compute(model, X, y)


def test_shares_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\), expected \(2, 3\)"):
        CodesDisplay(np.eye(2), np.array([0, 1]), np.array([0, 1, 1]), ["a", "b"])
