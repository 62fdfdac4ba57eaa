"""What an expert knows: which kernels must enter, and which samples may be shown."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray

# A required kernel, or one that entered with its group, has at least this part of an even share.
LEAST_SHARE = 0.1
# Next to the centre of a prototype, every other coefficient is at most this part of it.
BELOW = 0.99


@dataclass(frozen=True, eq=False)
class KernelWishes:
    """Which kernels must have a weight, and which enter together."""

    is_required: BoolArray
    groups: IntArray  # kernels of the same number enter together; -1 for none

    @property
    def n_least(self) -> int:
        """The number of kernels that leaves room for what is required and the largest group."""
        sizes = np.bincount(self.groups[(self.groups >= 0) & ~self.is_required], minlength=1)
        return int(self.is_required.sum() + sizes.max())

    def select(self, indices: IntArray) -> KernelWishes:
        """The wishes about some of the kernels."""
        return KernelWishes(self.is_required[indices], self.groups[indices])

    def complete(self, chosen: IntArray) -> IntArray:
        """The chosen kernels, those that enter with them, and those that are required."""
        is_in = self.is_required | ((self.groups >= 0) & np.isin(self.groups, self.groups[chosen]))
        is_in[chosen] = True
        return np.flatnonzero(is_in)

    def choose(self, order: IntArray, limit: int | None) -> IntArray:
        """What is required, then the first in an order, each with its group, where that fits."""
        if limit is None:
            return self.complete(order)
        chosen: IntArray = np.flatnonzero(self.is_required)
        for kernel in order:
            more = self.complete(np.append(chosen, kernel))
            # One must be chosen, also in a fold in which only a large group would do.
            if more.size <= limit or chosen.size == 0:
                chosen = more
            if chosen.size >= limit:
                break
        return chosen

    def raise_least(self, weights: FloatArray) -> FloatArray:
        """Weights of the same sum, none of the kernels that must enter without a share."""
        total, is_bound = weights.sum(), self.is_required | (self.groups >= 0)
        least = LEAST_SHARE * total / weights.size
        raised = np.where(is_bound, np.maximum(weights, least), weights)
        return np.asarray(raised * (total / raised.sum()))


@dataclass(frozen=True, eq=False)
class SampleWishes:
    """Of which samples prototypes may be made, and at which they must and must not be centred."""

    is_eligible: BoolArray
    is_pinned: BoolArray
    is_banned: BoolArray

    @property
    def may_be_centre(self) -> BoolArray:
        """Where prototypes may start."""
        return self.is_eligible & ~self.is_banned

    @property
    def arrays(self) -> tuple[BoolArray, ...]:
        """All of them."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def take(self, samples: IntArray) -> Self:
        """The wishes about some of the samples."""
        return type(self)(*(array[samples] for array in self.arrays))

    def find_centres(self, samples: IntArray) -> IntArray:
        """Of prototypes that start at these samples: the sample if it is pinned, else -1."""
        return np.where(self.is_pinned[samples], samples, -1)

    def centre(self, mixes: FloatArray, centres: IntArray) -> FloatArray:
        """Mixes whose largest coefficient is that of the pinned sample, and of no banned one.

        A mix of nothing but banned samples becomes empty.
        """
        mixes = mixes.copy()
        largest = mixes[:, ~self.is_banned].max(axis=1, initial=0.0, keepdims=True)
        mixes[:, self.is_banned] = np.minimum(mixes[:, self.is_banned], BELOW * largest)
        rows = np.flatnonzero(centres >= 0)
        own = mixes[rows, centres[rows]].copy()
        mixes[rows, centres[rows]] = 0.0
        mixes[rows, centres[rows]] = np.maximum(own, mixes[rows].max(axis=1) / BELOW)
        return mixes
