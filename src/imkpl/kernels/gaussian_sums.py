"""Weighted sums of Gaussian kernels on single features, in double or in single precision."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray
from imkpl.kernels import _gaussian_loops, _single_loops

# Blocks of kernels that are a multiple of this give the same sums as all kernels together.
GROUP = _single_loops._GROUP


def add_gaussians(
    total: FloatArray,
    weights: FloatArray,
    rates: FloatArray,
    rows: FloatArray,
    others: FloatArray | None,
) -> None:
    """Add ``sum_l weights_l exp(-((x_l - y_l) rates_l)**2)`` for all pairs, in the type of `total`."""
    if total.dtype == np.float32:
        _add_single(total, weights.astype(np.float32), rates, rows, others)
    elif others is None:
        _gaussian_loops._combine_lower_inplace(total, weights, rates, rows)
    else:
        _gaussian_loops._combine_cross_inplace(total, weights, rates, rows, others)


def _add_single(
    total: FloatArray,
    weights: FloatArray,
    rates: FloatArray,
    rows: FloatArray,
    others: FloatArray | None,
) -> None:
    # A sample so far away that it is infinite is like no other.
    with np.errstate(over="ignore"):
        left = rows * rates[:, None]
        right = left if others is None else others * rates[:, None]
        # Numbers near 0 are the exact ones. The centre is that of y, so that a row of the result
        # does not depend on the other rows.
        centre = right.mean(axis=1, keepdims=True)
        left, right = ((values - centre).astype(np.float32) for values in (left, right))
    if others is None:
        _single_loops._combine_lower_inplace(total, weights, left)
    else:
        _single_loops._combine_cross_inplace(total, weights, left, right)
