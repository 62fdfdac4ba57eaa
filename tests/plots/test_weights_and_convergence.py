import numpy as np
import pytest
from numpy.testing import assert_allclose

from imkpl.plots import ConvergenceDisplay, KernelWeightsDisplay


def test_bars_are_the_weights_the_largest_first_with_the_names_of_the_columns(wine):
    model, X, _ = wine
    display = KernelWeightsDisplay.from_estimator(model)
    order = [i for i in np.argsort(-model.kernel_weights_) if model.kernel_weights_[i] > 0]
    assert_allclose([bar.get_width() for bar in display.bars_], model.kernel_weights_[order])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [X.columns[i] for i in order]
    # The first bar is on top.
    assert display.ax_.yaxis_inverted()


def test_kernels_beyond_the_limit_are_counted():
    weights = np.arange(10.0) / 45
    display = KernelWeightsDisplay(weights, [f"k{i}" for i in range(10)]).plot(max_kernels=4)
    assert len(display.bars_) == 4
    assert display.ax_.get_title() == "Kernel weights: 9 of 10 kernels"
    # 1 to 5 of 45 are left.
    assert "5 more have 33.3% together" in display.ax_.get_xlabel()


def test_lines_are_the_terms_and_their_changes_add_up(wine):
    model = wine[0]
    display = ConvergenceDisplay.from_estimator(model)
    assert set(display.lines_) == set(model.history_)
    changes = np.zeros(model.n_iter_)
    for name, (value, change) in display.lines_.items():
        assert_allclose(value.get_xdata(), np.arange(1, model.n_iter_ + 1))
        assert_allclose(value.get_ydata(), model.history_[name])
        if name != "total":
            changes += change.get_ydata()
    assert_allclose(changes, display.lines_["total"][1].get_ydata(), atol=1e-8)


def test_a_term_of_zero_leaves_a_gap_on_the_logarithmic_scale():
    display = ConvergenceDisplay({"a": [0.0, 0.0], "total": [1.0, 0.5]}).plot()
    assert np.all(np.isnan(display.lines_["a"][0].get_ydata()))
    assert_allclose(display.lines_["a"][1].get_ydata(), 0)
    display.figure_.canvas.draw()


@pytest.mark.parametrize("history", [{"a": [1.0], "total": [1.0, 2.0]}, {"total": []}, {}])
def test_a_history_of_unequal_length_is_refused(history):
    with pytest.raises(ValueError, match="expected the same number for all, at least one"):
        ConvergenceDisplay(history)
