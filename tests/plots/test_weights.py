import numpy as np
from numpy.testing import assert_allclose

from imkpl.plots import KernelWeightsDisplay


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
