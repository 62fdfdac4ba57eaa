"""Features at the ends of the range of floating-point numbers, compared without overflow."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray, IntArray

# Kernels wider than 1 / SLOWEST, about 1e301, compare numbers whose differences may overflow.
SLOWEST = 2.0**-1000
# A power of two changes no digit; differences of 1/16 of any two numbers are finite.
SHRINK = 2.0**-4
# What is above it may overflow when two of it are subtracted.
OVERFLOWING = np.finfo(np.float64).max / 4
# Below it numbers lose digits, and the inverse of most is infinite.
SMALLEST = float(np.finfo(np.float64).tiny)
LARGEST = float(np.finfo(np.float64).max)


def tame(values: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink the features of very wide kernels, and speed up their rates by as much.

    ``exp(-((x - y) * rate)**2)`` is the same for both. Without it the difference of two huge
    numbers would be infinite, and times the rate of the constant kernel, 0, not a number.
    """
    slow = np.flatnonzero(rates < SLOWEST)
    largest = np.abs(values[slow]).max(axis=1, initial=0.0)
    # Other samples of the same features are shrunk alike, because their rates say so.
    huge = slow[(rates[slow] > 0) | (largest > OVERFLOWING)]
    if huge.size == 0:
        return values, rates
    values, rates = values.copy(order="K"), rates.copy()
    values[huge] *= np.where(rates[huge] > 0, SHRINK, 0.0)[:, np.newaxis]
    rates[huge] /= SHRINK
    return values, rates


def feature_major(
    X: FloatArray, columns: IntArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Columns as rows, with the features of very wide kernels shrunk."""
    return tame(np.ascontiguousarray(X[:, columns].T, dtype=np.float64), rates)
