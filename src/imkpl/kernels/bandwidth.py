"""How wide a Gaussian kernel should be: the mean squared distance of the training part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray
from imkpl.kernels.blocks import iterate_blocks
from imkpl.kernels.checks import check_sample_weight, check_vectors
from imkpl.kernels.extremes import LARGEST, OVERFLOWING, SMALLEST
from imkpl.kernels.sharded import ShardedSamples, sharded_root_mean_squared_difference, sum_long


def root_mean_squared_difference(
    X: Any, sample_weight: ArrayLike | None = None, *, working_memory: float = 256
) -> FloatArray:
    """The root of the mean squared difference of each feature over all ordered pairs.

    ``sqrt(sum_ij w_i w_j (x_i - x_j)**2) = sqrt(2 var(x))`` for weights that sum to one. It is
    exactly zero for a constant feature, keeps its digits under large offsets, and neither
    overflows nor vanishes for features of extreme scale.

    Examples
    --------
    >>> root_mean_squared_difference([[0.0, 5.0], [2.0, 5.0]]) ** 2
    array([2., 0.])
    """
    if isinstance(X, ShardedSamples):
        return sharded_root_mean_squared_difference(X, check_sample_weight(sample_weight, len(X)))
    array = check_vectors(X)
    shares = check_sample_weight(sample_weight, array.shape[0])
    present = np.flatnonzero(shares)
    shares = shares[present]
    roots = np.empty(array.shape[1])
    for block in iterate_blocks(array.shape[1], 40 * max(present.size, 1), working_memory):
        values = array[present, block].T.astype(np.float64, order="C")
        # Quarters of huge numbers, whose differences are finite.
        is_huge = np.abs(values).max(axis=1, initial=0.0) > OVERFLOWING
        values[is_huge] *= 0.25
        # Measured from one of the samples, a constant feature is exactly zero.
        values -= values[:, :1].copy()
        largest = np.abs(values).max(axis=1, initial=0.0)
        values /= np.where(largest > 0, largest, 1.0)[:, np.newaxis]
        values -= sum_long(values * shares, axis=1)[:, np.newaxis]
        # The second pass corrects the rounding of the mean.
        rest, squares = (sum_long(terms * shares, axis=1) for terms in (values, values**2))
        variance = squares - rest**2
        found = np.where(largest > 0, largest * np.sqrt(2.0 * np.maximum(variance, 0)), 0)
        roots[block] = np.where(is_huge, np.minimum(found, LARGEST / 4) * 4, found)
    return roots


def invert_roots(roots: FloatArray) -> FloatArray:
    """``1 / roots``, and 0 where a root is 0: a kernel without spread is the constant 1.

    So is one whose spread is below the smallest normal number, 2e-308.

    Examples
    --------
    >>> invert_roots(np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots >= SMALLEST)
