"""What all displays promise."""

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from imkpl import IMKPL
from imkpl.plots.displays import MARKERS, class_style, name_in_plot, shorten

WITHOUT_MATPLOTLIB = """
import sys
import imkpl.plots
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
try:
    imkpl.plots.PathDisplay(None).plot()
except ModuleNotFoundError as error:
    print(error)
"""


def written_on(display):
    display.figure_.canvas.draw()
    return [text.get_text() for text in display.figure_.findobj(Text)]


def test_only_drawing_imports_matplotlib_and_says_how_to_get_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB], capture_output=True, text=True, check=True
    )
    assert "PathDisplay.plot draws with matplotlib, which is not installed" in done.stdout
    assert "pip install 'imkpl[plots]'" in done.stdout


def test_a_new_figure_is_opened_and_nothing_else_is_changed(draw, wine):
    before = dict(mpl.rcParams)
    display = draw(*wine)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == [display.figure_.number]
    display.figure_.canvas.draw()


def test_the_callers_axes_are_used_and_no_figure_is_opened(draw, wine):
    n_panels = len(draw(*wine).axes_)
    plt.close("all")
    figure, axes = plt.subplots(1, n_panels + 1)
    other = plt.figure()
    display = draw(*wine, ax=axes[1:])
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes[1:])
    assert plt.get_fignums() == [figure.number, other.number]
    assert not axes[0].has_data()
    with pytest.raises(ValueError, match=f"draws {n_panels} panels, but ax holds {n_panels + 1} a"):
        draw(*wine, ax=axes)


def test_only_fitted_models_are_drawn(draw, wine):
    with pytest.raises(NotFittedError, match="IMKPL is not fitted yet, expected a fitted model"):
        draw(IMKPL(), *wine[1:])
    with pytest.raises(TypeError, match="got a LogisticRegression, expected a fitted IMKPL"):
        draw(LogisticRegression(), *wine[1:])


def test_names_are_drawn_literally(draw, hostile):
    for text in written_on(draw(*hostile)):
        assert not mpl.cbook.is_math_text(text) or "mathdefault" in text
        assert len(text.replace(r"\$", "$")) < 120


def test_every_display_draws_series(draw, series, request):
    if "effects" in request.node.name:
        with pytest.raises(TypeError, match="this model reads series, expected a table"):
            draw(*series)
        return
    figure = draw(*series).figure_
    figure.canvas.draw()
    assert all(axes.has_data() for axes in figure.axes if axes.get_visible() and axes.axison)


def test_one_prototype_per_class_and_one_kernel_can_be_drawn(draw, two_blobs):
    model = IMKPL(sparsity=1, n_prototypes=2, max_kernels=1, n_neighbors=1).fit(*two_blobs)
    assert model.prototypes_.shape[0] == 2
    draw(model, *two_blobs).figure_.canvas.draw()


def test_88_classes_differ_the_first_eight_in_colour_and_in_marker():
    styles = [tuple(class_style(i).values()) for i in range(88)]
    assert len(set(styles)) == 88
    assert [len(set(part)) for part in zip(*styles[:8], strict=True)] == [8, 8]
    assert "*" not in MARKERS


@given(st.text(max_size=60), st.integers(8, 30))
def test_short_names_keep_within_the_length_and_in_one_line(name, longest):
    assert shorten("mean corpuscular haemoglobin concentration", 20) == "mean corpusc…tration"
    assert len(shorten(name, longest)) <= longest
    assert len(shorten(name, longest).splitlines()) <= 1


@given(st.text(st.sampled_from("ab_$\\{}^ "), max_size=12))
def test_names_are_drawn_as_they_are(name):
    drawn, plain = name_in_plot(name), " ".join(name.split())
    assert not mpl.cbook.is_math_text(drawn)
    assert drawn.replace(r"\$", "$") == (f" {plain}" if plain.startswith("_") else plain)
