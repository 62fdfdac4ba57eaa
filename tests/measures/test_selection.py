import numpy as np
import pytest

from imkpl.measures import n_selected_kernels


@pytest.mark.parametrize(
    ("weights", "threshold", "expected"),
    [
        ([0.0, 0.5, 0.5], 0.0, 2),
        ([0.1, 0.2, 0.7], 0.1, 2),
        ([1.0], 0.0, 1),
        ([0.0, 0.0], 0.0, 0),
        ([], 0.0, 0),
        ([1e-300, 1.0], 0.0, 2),
        ([1, 0, 2], 0.0, 2),
    ],
)
def test_kernels_above_the_threshold_are_counted(weights, threshold, expected):
    found = n_selected_kernels(weights, threshold=threshold)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize("weights", [[-0.1, 1.1], [np.nan], [np.inf]])
def test_bad_weights_are_refused_with_a_sentence(weights):
    with pytest.raises(ValueError, match="Some weights are negative, NaN or infinite"):
        n_selected_kernels(weights)
