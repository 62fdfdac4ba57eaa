"""Samples that lie in parts on other machines: functions go to them, small results come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.exact_sums import fold_moments, join_folds

# Which samples of the view a part holds, and what a function made of them.
Found: TypeAlias = tuple[IntArray, Any]


class Cluster(ABC):
    """Machines that compute functions; what they return does not depend on how many they are."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], *common: Any
    ) -> list[Any]:
        """A function of every piece."""


class ShardedSamples(ABC):
    """Rows of numbers that are never in one place.

    ``X[indices]`` is a view of the listed samples, in that order, and costs nothing but the
    numbers of the rows. It is no array: only `gather` brings samples here, and only those that are
    listed.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of samples in view, and of features."""

    @property
    @abstractmethod
    def digests(self) -> Any:
        """Two numbers per sample, equal for equal samples and only for them."""

    @property
    @abstractmethod
    def varying(self) -> IntArray:
        """The columns that are not the same for all samples."""

    @abstractmethod
    def distribute(self, bank: Any) -> Any:
        """A bank of the same kernels, whose long sums are computed on the same machines."""

    @abstractmethod
    def __getitem__(self, indices: Any) -> Self:
        """A view of the listed samples, in that order."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """A function of every part, computed where the part lies."""

    def gather(self, indices: Any) -> FloatArray:
        """The listed samples, here."""
        wanted, places = np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
        found = self[wanted].map(_as_they_are)
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


def sharded_root_mean_squared_difference(samples: ShardedSamples, shares: FloatArray) -> FloatArray:
    """The root of the mean squared difference of each feature, from sums over the parts.

    What `root_mean_squared_difference` computes, to the last bit, in three passes over the parts:
    the largest value, the mean, and the variance around it. Only numbers per feature are moved.
    """
    present = np.flatnonzero(shares)
    samples, shares = samples[present], shares[present]
    # Measured from one of the samples, a constant feature is exactly zero.
    origin = samples.gather([0])[0]
    largest = np.max([values for _, values in samples.map(_find_largest, origin)], axis=0)
    scale, size = np.where(largest > 0, largest, 1.0), (float(shares.max()), present.size)

    def moments(mean: FloatArray) -> list[FloatArray]:
        found = samples.map(_fold_moments, origin, scale, mean, *size, per_row=(shares,))
        return [join_folds(folds) for folds in np.sum([folds for _, folds in found], axis=0)]

    mean = moments(np.zeros(origin.size))[0]
    # The second pass corrects the rounding of the mean.
    rest, squares = moments(mean)
    variance = np.maximum(squares - rest**2, 0)
    return np.where(largest > 0, largest * np.sqrt(2.0 * variance), 0.0)


def _as_they_are(block: FloatArray) -> FloatArray:
    return block


def _find_largest(block: FloatArray, origin: FloatArray) -> FloatArray:
    return np.asarray(np.abs(block - origin).max(axis=0))


def _fold_moments(
    block: FloatArray,
    origin: FloatArray,
    scale: FloatArray,
    mean: FloatArray,
    largest_share: float,
    n_samples: int,
    shares: FloatArray,
) -> FloatArray:
    """Folds of the weighted sums of the values and of their squares, measured from a mean."""
    values = (block - origin) / scale - mean
    return fold_moments(values, shares, largest_share, n_samples, axis=0)
