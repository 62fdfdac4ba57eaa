"""How many kernels are in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from imkpl._checks import check_nonnegative


def n_selected_kernels(weights: ArrayLike, *, threshold: float = 0.0) -> int:
    """``||beta||_0``: the number of kernels whose weight exceeds a threshold.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
        Non-negative kernel weights.
    threshold : float
        Weights up to this value count as zero.

    Returns
    -------
    int
        The number of kernels in use.

    Examples
    --------
    >>> n_selected_kernels([0.7, 0.0, 0.3])
    2
    """
    array = np.asarray(weights, dtype=np.float64)
    check_nonnegative(array, "weights")
    return int(np.count_nonzero(array > threshold))
