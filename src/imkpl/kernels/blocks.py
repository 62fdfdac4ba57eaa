"""Samples in blocks, on other machines or in a file: functions go to them, results come back."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import Found, Kernels, check_magnitude
from imkpl.kernels.forms import Groups, rank_keys, rank_rows


@dataclass(frozen=True, eq=False)
class BlockSamples(ABC):
    """Rows of numbers that are never in one place.

    ``X.view(indices)`` is a view of the listed samples in that order and moves no data.
    ``X[indices]`` brings them here as an array.
    """

    rows: IntArray  # rows in view
    all_digests: Any  # (n_rows, 2): 128 bits per row, equal for equal rows only
    all_ranges: Any  # (n_features, 2): minimum and maximum

    is_read_in_parts: ClassVar[bool] = True
    # Whether samples are on other machines, so that some of them must stand for all.
    is_remote: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples in view and number of features."""
        return int(self.rows.size), int(self.all_ranges.shape[0])

    @property
    def ranges(self) -> FloatArray:
        """The least and the largest number of every column, of shape (n_features, 2)."""
        return np.asarray(self.all_ranges)

    @abstractmethod
    def distribute(self, kernels: Kernels) -> Kernels:
        """The same kernels, computed by the same machines."""

    def view(self, indices: Any) -> Self:
        """The listed samples, where they are."""
        return replace(self, rows=self.rows[indices])

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """``function(block, *common, *per_row)`` of every part, computed where the part lies."""

    def map_in_steps(
        self, function: Callable[..., Any], rows: IntArray, step: int, *per_row: IntArray
    ) -> list[Found]:
        """A function of the listed samples, `step` of them at a time, where they are."""
        return self.view(rows).map(InSteps(function, step), per_row=per_row)

    def __getitem__(self, indices: Any) -> FloatArray:
        wanted, places = np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
        found = self.view(wanted).map(np.asarray)
        joined = join_rows(found, (wanted.size, self.shape[1]))
        is_same = wanted.size == places.size and bool(np.all(np.diff(places) == 1))
        return joined if is_same else np.asarray(joined[places])

    def __len__(self) -> int:
        return self.shape[0]

    def find_equal(self, labels: IntArray) -> Groups:
        """The first of equal samples of a class, in sorted order, and the place of every sample.

        The order is that of samples in memory: by class, first column, second column, ... Digests
        tell which samples are equal.
        """
        groups = rank_keys([labels, *self.all_digests[self.rows].T])
        first = np.unique(groups, return_index=True)[1]
        distinct = self.view(first)

        def fetch(rows: IntArray, columns: IntArray) -> FloatArray:
            found = distinct.view(rows).map(_columns_of, columns)
            return join_rows(found, (rows.size, columns.size))

        varying = np.flatnonzero(self.ranges[:, 0] < self.ranges[:, 1])
        ranks = rank_rows(labels[first], varying, fetch)
        return first[np.argsort(ranks)], ranks[groups]

    def root_mean_squared_difference(self, shares: FloatArray) -> FloatArray:
        """The root of the mean squared difference of each feature over all ordered pairs.

        In three passes: largest value, mean, and variance. Only numbers per feature are moved.
        """
        present = np.flatnonzero(shares)
        samples, shares = self.view(present), shares[present]
        # Relative to one of the samples, a constant feature is exactly zero.
        origin = samples[[0]][0]
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


@dataclass(frozen=True, eq=False)
class RowBlocks(BlockSamples):
    """Rows of an array or of a file on this machine, read a block at a time.

    Digests and ranges are None until `summarized`.
    """

    source: Any  # has `rows`, `shape` and `row_blocks`, as `ArrayColumns`

    is_remote: ClassVar[bool] = False

    @classmethod
    def of(cls, source: Any) -> RowBlocks:
        """The rows of a source that are in its view; nothing is read yet."""
        return cls(source.rows, None, None, source)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.rows.size), self.source.shape[1]

    @property
    def ranges(self) -> FloatArray:
        if self.all_ranges is not None:
            return np.asarray(self.all_ranges)
        return join_ranges([ranges for _, ranges in self.map(_find_ranges)])

    def summarized(self) -> Self:
        """The same with digests and ranges, after one pass over the samples in view."""
        digests, ranges = np.zeros((int(self.rows.max()) + 1, 2), dtype=np.uint64), []
        for places, (found, own, _) in self.map(summarize):
            digests[self.rows[places]] = found
            ranges.append(own)
        joined = join_ranges(ranges)
        check_magnitude(float(np.abs(joined).max()))
        return replace(self, all_digests=digests, all_ranges=joined)

    def distribute(self, kernels: Kernels) -> Kernels:
        return kernels

    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        order = np.argsort(self.rows, kind="stable")
        rows = self.rows[order]
        found: list[Found] = []
        for start, block in self.source.row_blocks(rows):
            first, last = np.searchsorted(rows, [start, start + len(block)])
            places, local = order[first:last], rows[first:last] - start
            # A whole block needs no copy.
            part = block if local.size == len(block) and local[0] == 0 else block[local]
            values = [values[places] for values in per_row]
            found.append((places, function(part, *common, *values)))
        return found


@dataclass(frozen=True, eq=False)
class InSteps:
    """A function of a part of the samples, computed `step` of them at a time."""

    function: Callable[..., Any]
    step: int

    @property
    def __name__(self) -> str:
        """The name of the function, under which Dask lists its tasks."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, samples: Any, *per_row: Any) -> Any:
        """One row of the result per sample, dense or CSR."""
        cuts = [slice(start, start + self.step) for start in range(0, len(samples), self.step)]
        found = [self.function(samples[cut], *(values[cut] for values in per_row)) for cut in cuts]
        return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)


def map_in_order(samples: Any, function: Callable[[Any], Any], step: int) -> list[Any]:
    """A function of all samples, `step` of them at a time, or a block of a file at a time."""
    if isinstance(samples, BlockSamples):
        return [found for _, found in samples.map(function)]
    return [function(samples[start : start + step]) for start in range(0, len(samples), step)]


def summarize(block: FloatArray) -> tuple[Any, FloatArray, IntArray]:
    """Digests of the rows, minimum and maximum of every column, and columns that are not finite."""
    # Adding zero turns -0 into 0.
    lines = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in block + 0.0)
    digests = np.frombuffer(lines, dtype=np.uint64).reshape(-1, 2)
    return digests, _find_ranges(block), np.flatnonzero(~np.isfinite(block).all(axis=0))


def join_ranges(ranges: Sequence[FloatArray]) -> FloatArray:
    """The ranges of all parts together, of shape (n_features, 2)."""
    return np.stack([np.min(ranges, axis=0)[0], np.max(ranges, axis=0)[1]], axis=1)


def _find_ranges(block: FloatArray) -> FloatArray:
    return np.stack([block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)])


def join_rows(found: list[Found], shape: tuple[int, ...]) -> FloatArray:
    """Results with one row per sample, in the order of the samples."""
    joined = np.empty(shape)
    for places, values in found:
        joined[places] = values
    return joined


def sum_long(terms: FloatArray, axis: int) -> FloatArray:
    """A sum in extended precision where the platform has it, rounded once.

    So a sum over parts is a sum over all samples, usually to the last bit.
    """
    return np.asarray(terms.sum(axis=axis, dtype=np.longdouble), dtype=np.float64)


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


def _columns_of(block: FloatArray, columns: IntArray) -> FloatArray:
    return np.ascontiguousarray(block[:, columns])
