import numpy as np
import pytest
from numpy.testing import assert_allclose

from imkpl.plots import DecisionDisplay


def widths(ax):
    return [bar.get_width() for bar in ax.containers[0]]


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_probabilities_shares_and_differences_of_scores(wine):
    model, X, _ = wine
    explanation = model.explain(X)
    display = DecisionDisplay.from_explanation(explanation, 70)
    probabilities, prototypes, features = display.axes_
    expected = model.predict_proba(X)[70]
    assert_allclose(widths(probabilities), np.sort(expected)[::-1])
    assert labels(probabilities) == list(model.classes_[np.argsort(-expected)])
    shares = np.sort(explanation.shares[[70]].data)[::-1]
    assert_allclose(widths(prototypes)[:5], shares[:5])
    table = explanation.contributions(70).sum(axis=0)
    winner, runner_up = np.argsort(-expected)[:2]
    margins = table[:, winner] - table[:, runner_up]
    assert_allclose(np.sort(widths(features)), np.sort(margins))
    assert sum(widths(features)) == pytest.approx(
        explanation.scores[70, winner] - explanation.scores[70, runner_up]
    )


def test_titles_and_names_say_what_is_shown(wine):
    model, X, _ = wine
    display = DecisionDisplay.from_estimator(model, X, 70)
    predicted = model.predict(X)[70]
    probabilities, prototypes, features = display.axes_
    assert probabilities.get_title() == f"Sample bottle 70 is {predicted}"
    assert features.get_title().startswith(f"What speaks for {predicted}\nrather than ")
    name = labels(features)[0].split(" = ")
    assert float(name[1]) == pytest.approx(X.iloc[70][name[0]], rel=1e-3)
    first = display.prototypes[0]
    similarity = display.explanation.evidence.similarities[0, first]
    assert labels(prototypes)[0].startswith(
        f"{predicted}: similarity {similarity:.2f} to prototype {first}\nsample"
    )
    assert "bottle" in labels(prototypes)[0]
    assert f"Novelty {display.explanation.novelty[0]:.2f}" in prototypes.get_xlabel()


def test_features_beyond_the_limit_are_summed(wine):
    model, X, _ = wine
    display = DecisionDisplay.from_estimator(model, X, 70, max_features=2)
    ax = display.axes_[2]
    assert labels(ax)[-1] == "3 more"
    assert sum(widths(ax)) == pytest.approx(display.margins.sum())
    assert len(widths(ax)) == 3


def test_a_sample_like_nothing_is_drawn_with_a_word_about_that(wine):
    model, X, _ = wine
    far = X[:1] + 1e6
    display = DecisionDisplay.from_estimator(model, far)
    assert "unlike the training data" in display.axes_[1].get_xlabel()
    assert display.prototypes.size or display.axes_[1].get_title().startswith("It resembles none")
    display.figure_.canvas.draw()


def test_series_are_drawn_beside_the_training_series_most_like_them(series):
    model, X, _ = series
    explanation = model.explain(X)
    display = DecisionDisplay.from_explanation(explanation, 20)
    assert display.best == explanation.align(20)[0].sample
    shares = explanation.time_shares(20)
    panels = display.axes_[3:]
    assert len(panels) == len(display.channels) == len(explanation.feature_names)
    for ax, channel in zip(panels, display.channels, strict=True):
        number = int(channel.name.removeprefix("channel "))
        best, own = ax.lines
        assert_allclose(own.get_ydata(), X[20, number])
        assert_allclose(best.get_ydata(), X[display.best, number])
        assert_allclose(ax.collections[0].get_array().ravel(), shares[channel.name].shares)
        percent = f"{shares[channel.name].shares.sum():.0%} of the similarity"
        assert ax.get_title() == f"{channel.name}: {percent}"
    assert panels[-1].get_legend() is not None


def test_only_explanations_are_drawn(wine):
    with pytest.raises(TypeError, match=r"got a ndarray, expected an Explanation"):
        DecisionDisplay.from_explanation(np.zeros(3))
