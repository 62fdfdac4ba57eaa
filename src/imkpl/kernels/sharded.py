"""Samples that lie in parts on other machines: functions go to them, small results come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from imkpl._typing import FloatArray, IntArray

# Places of the samples of a part in the view, and the result of a function of them.
Found: TypeAlias = tuple[IntArray, Any]


class ShardedSamples(ABC):
    """Rows of numbers that are never in one place.

    ``X[indices]`` is a view of the listed samples in that order and moves no data. `gather` is the
    only method that brings samples here.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of samples in view and number of features."""

    @property
    @abstractmethod
    def digests(self) -> Any:
        """Two numbers per sample that are equal for equal samples only."""

    @property
    @abstractmethod
    def ranges(self) -> FloatArray:
        """The least and the largest number of every column, of shape (n_features, 2)."""

    @property
    def varying(self) -> IntArray:
        """Columns that are not constant."""
        return np.flatnonzero(self.ranges[:, 0] < self.ranges[:, 1])

    @abstractmethod
    def distribute(self, bank: Any) -> Any:
        """The same kernels, computed by the same machines."""

    @abstractmethod
    def __getitem__(self, indices: Any) -> Self:
        """A view of the listed samples, in that order."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """``function(block, *common, *per_row)`` of every part, computed where the part lies."""

    def gather(self, indices: Any) -> FloatArray:
        """The listed samples as an array."""
        wanted, places = np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
        found = self[wanted].map(_take_all)
        return np.asarray(join_rows(found, (wanted.size, self.shape[1]))[places])

    def __len__(self) -> int:
        return self.shape[0]


def join_rows(found: list[Found], shape: tuple[int, ...]) -> FloatArray:
    """Results with one row per sample, in the order of the samples.

    Examples
    --------
    >>> parts = [(np.array([2, 0]), np.array([5.0, 3.0])), (np.array([1]), np.array([4.0]))]
    >>> join_rows(parts, (3,))
    array([3., 4., 5.])
    """
    joined = np.empty(shape)
    for places, values in found:
        joined[places] = values
    return joined


def sum_long(terms: FloatArray, axis: int) -> FloatArray:
    """A sum in extended precision where the platform has it, rounded once.

    So a sum over parts is a sum over all samples, usually to the last bit.
    """
    return np.asarray(terms.sum(axis=axis, dtype=np.longdouble), dtype=np.float64)


def sharded_root_mean_squared_difference(samples: ShardedSamples, shares: FloatArray) -> FloatArray:
    """`root_mean_squared_difference` in three passes: largest value, mean, and variance.

    Only numbers per feature are moved.
    """
    present = np.flatnonzero(shares)
    samples, shares = samples[present], shares[present]
    # Relative to one of the samples, a constant feature is exactly zero.
    origin = samples.gather([0])[0]
    largest = np.max([values for _, values in samples.map(_find_largest, origin)], axis=0)
    scale = np.where(largest > 0, largest, 1.0)

    def sum_moments(mean: FloatArray) -> FloatArray:
        found = samples.map(_sum_moments, origin, scale, mean, per_row=(shares,))
        return sum_long(np.array([sums for _, sums in found]), axis=0)

    mean, _ = sum_moments(np.zeros(origin.size))
    # The second pass corrects the rounding of the mean.
    rest, squares = sum_moments(mean)
    variance = np.maximum(squares - rest**2, 0)
    return np.where(largest > 0, largest * np.sqrt(2.0 * variance), 0.0)


def _take_all(block: FloatArray) -> FloatArray:
    return block


def _find_largest(block: FloatArray, origin: FloatArray) -> FloatArray:
    return np.asarray(np.abs(block - origin).max(axis=0))


def _sum_moments(
    block: FloatArray, origin: FloatArray, scale: FloatArray, mean: FloatArray, shares: FloatArray
) -> FloatArray:
    """Weighted sums of the values and of their squares, about a mean."""
    values, weights = block - origin, shares[:, np.newaxis]
    values /= scale
    values -= mean
    total = (values * weights).sum(axis=0, dtype=np.longdouble)
    values *= values
    values *= weights
    return np.stack([total, values.sum(axis=0, dtype=np.longdouble)])
