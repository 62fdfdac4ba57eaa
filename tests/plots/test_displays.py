"""What all displays promise."""

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from imkpl import IMKPL
from imkpl.plots import EmbeddingDisplay

WITHOUT_MATPLOTLIB = """
import sys
import imkpl.plots
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
from imkpl.plots import KernelWeightsDisplay
display = KernelWeightsDisplay([0.3, 0.7], ["a", "b"])
assert display.largest(1) == [("b", 0.7)]
try:
    display.plot()
except ModuleNotFoundError as error:
    print(error)
"""


def axes_of(display):
    return [display.ax_] if hasattr(display, "ax_") else list(display.axes_)


def written_on(display):
    display.figure_.canvas.draw()
    return [text.get_text() for text in display.figure_.findobj(Text)]


def test_only_drawing_imports_matplotlib_and_says_how_to_get_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB], capture_output=True, text=True, check=True
    )
    assert "KernelWeightsDisplay.plot draws with matplotlib, which is not installed" in done.stdout
    assert "pip install 'imkpl[plots]'" in done.stdout


def test_a_new_figure_is_opened_and_nothing_else_is_changed(draw, wine):
    before = dict(mpl.rcParams)
    display = draw(*wine)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == [display.figure_.number]
    display.figure_.canvas.draw()


def test_the_callers_axes_are_used_and_no_figure_is_opened(draw, wine):
    figure, (first, second) = plt.subplots(1, 2, figsize=(20, 8))
    other = plt.figure()
    display = draw(*wine, ax=second)
    assert display.figure_ is figure
    assert plt.gcf() is other
    assert plt.get_fignums() == [figure.number, other.number]
    assert not first.has_data()
    for ax in axes_of(display):
        assert ax.figure is figure
        assert ax.get_position().x0 >= second.get_position().x0 - 0.01
    figure.canvas.draw()


def test_as_many_axes_as_panels_are_taken_as_they_are(draw, wine):
    n_panels = len(axes_of(draw(*wine)))
    _, axes = plt.subplots(1, n_panels, squeeze=False)
    display = draw(*wine, ax=axes[0])
    assert axes_of(display) == list(axes[0])


def test_another_number_of_axes_is_refused(wine):
    _, axes = plt.subplots(1, 3)
    with pytest.raises(ValueError, match="draws 2 panels, but ax holds 3 axes"):
        EmbeddingDisplay.from_estimator(*wine, max_samples=20, ax=axes)


def test_only_fitted_models_are_drawn(draw, wine):
    with pytest.raises(NotFittedError, match="IMKPL is not fitted yet, expected a fitted model"):
        draw(IMKPL(), *wine[1:])
    with pytest.raises(TypeError, match="got a LogisticRegression, expected a fitted IMKPL"):
        draw(LogisticRegression(), *wine[1:])


def test_names_are_drawn_literally(draw, hostile):
    for text in written_on(draw(*hostile)):
        assert not mpl.cbook.is_math_text(text) or "mathdefault" in text
        assert len(text.replace(r"\$", "$")) < 120


def test_every_display_draws_series(draw, series):
    figure = draw(*series).figure_
    figure.canvas.draw()
    assert all(axes.has_data() for axes in figure.axes if axes.get_visible() and axes.axison)


def test_nothing_of_the_callers_data_is_changed(draw, digits):
    model, X, y = digits
    X, y = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    weights, codes = model.kernel_weights_.copy(), model.codes_.toarray()
    draw(model, X, y)
    np.testing.assert_array_equal(model.kernel_weights_, weights)
    np.testing.assert_array_equal(model.codes_.toarray(), codes)


def test_one_prototype_per_class_and_one_kernel_can_be_drawn(draw, two_blobs):
    model = IMKPL(sparsity=1, n_prototypes=2, max_kernels=1, n_neighbors=1).fit(*two_blobs)
    assert model.prototypes_.shape[0] == 2
    draw(model, *two_blobs).figure_.canvas.draw()


def test_labels_reach_the_legend_even_with_an_underscore(hostile):
    display = EmbeddingDisplay.from_estimator(*hostile, max_samples=20)
    named = [text.get_text() for text in display.axes_[1].get_legend().get_texts()]
    assert named == [r"\$\frac\$", "<b>", " _private", "prototypes"]
