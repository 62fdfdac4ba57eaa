"""What an expert asks of kernels: those that are required have a weight."""

from __future__ import annotations

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray


def choose_kernels(is_required: BoolArray, order: IntArray, limit: int | None) -> IntArray:
    """What is required, and the first of the others in an order, as far as the limit allows.

    Examples
    --------
    >>> choose_kernels(np.array([False, True, False, False]), np.array([2, 0]), 2)
    array([1, 2])
    """
    others = order[~is_required[order]]
    room = None if limit is None else max(0, limit - int(is_required.sum()))
    return np.union1d(np.flatnonzero(is_required), others[:room])


# A required kernel has at least this part of an even share: enough to be seen in an explanation.
LEAST_SHARE = 0.1


def raise_least(weights: FloatArray, is_required: BoolArray) -> FloatArray:
    """Weights of the same sum, in which every required kernel has a share."""
    total = weights.sum()
    least = LEAST_SHARE * total / weights.size
    raised = np.where(is_required, np.maximum(weights, least), weights)
    return np.asarray(raised * (total / raised.sum()))
