"""One Gaussian kernel per feature: the bank that turns kernel weights into feature weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import _gaussian_loops as loops
from imkpl.kernels import _structured_loops
from imkpl.kernels.bandwidth import invert_roots, root_mean_squared_difference
from imkpl.kernels.base import BaseKernelBank
from imkpl.kernels.blocks import iterate_blocks
from imkpl.kernels.checks import (
    check_indices,
    check_pair_values,
    check_pairs,
    check_rows,
    check_sample_indices,
    check_vectors,
)
from imkpl.kernels.extremes import feature_major, tame
from imkpl.kernels.gaussian_sums import GROUP, add_gaussians
from imkpl.kernels.grid import Grid, choose_grid
from imkpl.kernels.structured import SparseRows, merged_pairs, sum_rows_on_grid

# A finer tolerance than this is below the rounding of long sums.
FINEST_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class FeatureKernels:
    """The kernels of an adapted `PerFeatureGaussian`, one entry per kernel.

    Parameters
    ----------
    columns : array of shape (n_kernels,)
        The input column that each kernel reads.
    scales : array of shape (n_kernels,)
        The factor on its bandwidth.
    rates : array of shape (n_kernels,)
        ``1 / sqrt(scale * bandwidth)``; 0 for the constant kernel.
    """

    columns: IntArray
    scales: FloatArray
    rates: FloatArray

    def at(self, indices: IntArray) -> FeatureKernels:
        """The listed kernels in that order."""
        return FeatureKernels(self.columns[indices], self.scales[indices], self.rates[indices])


@dataclass(frozen=True, eq=False)
class PerFeatureGaussian(BaseKernelBank):
    """A Gaussian kernel on each feature alone, so that a kernel's weight is a feature's weight.

    ``K_l(x, y) = exp(-(x_l - y_l)**2 / (scale * bandwidth_l))``, where ``bandwidth_l`` is the mean
    squared difference of feature l over all ordered pairs of training samples, twice its variance.

    A feature that is constant in the training part gets the constant kernel 1: it cannot separate
    anything, and a new value at prediction time is not penalised.

    Parameters
    ----------
    bandwidth : float or array of shape (n_features,), optional
        Squared width, in squared units of the features; learned from the training part when
        None. An array has one entry per feature (per entry of `features`, where that is given).
    scales : tuple of float
        One kernel per feature and scale, all scales of a feature side by side.
    features : array of shape (n_used,), optional
        The columns that get kernels; all when None.
    working_memory : float
        Memory for copies of the data, in MiB. Results do not depend on it.
    tolerance : float, optional
        The largest error of a kernel value in `contract_rows`, between 0 and 1, where that is
        faster than the exact sum. None, 0 and anything below 1e-13 mean exact sums only.
    dtype : float64 or float32
        Arithmetic and result of `combine`. Single precision is two to four times as fast, and right
        to 1e-6 of the largest value.
    kernels : FeatureKernels, optional
        Set by `adapt`.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> bank = PerFeatureGaussian().adapt(X)
    >>> bool(np.isclose(bank.combine([1.0, 0.0], X)[0, 1], np.exp(-2.0)))
    True
    >>> bank.evaluate(1, X)
    array([[1., 1.],
           [1., 1.]])
    """

    bandwidth: float | FloatArray | None = None
    scales: tuple[float, ...] = (1.0,)
    features: IntArray | None = None
    working_memory: float = 256
    tolerance: float | None = 1e-6
    dtype: DTypeLike = np.float64
    kernels: FeatureKernels | None = None

    def __post_init__(self) -> None:
        scales = np.asarray(self.scales, dtype=np.float64)
        if scales.ndim != 1 or scales.size == 0 or not np.all((scales > 0) & (scales < np.inf)):
            raise ValueError(
                f"PerFeatureGaussian(scales={self.scales}) must be a tuple of positive numbers, "
                "such as (0.5, 1.0, 2.0). Use (1.0,) for one kernel per feature."
            )
        if self.bandwidth is not None and not np.all(np.asarray(self.bandwidth) > 0):
            raise ValueError(
                f"PerFeatureGaussian(bandwidth={self.bandwidth}) must be positive. Leave it out "
                "to learn it from the training part."
            )
        if not self.working_memory > 0:
            raise ValueError(
                f"PerFeatureGaussian(working_memory={self.working_memory}) must be a positive "
                "number of MiB. Leave it out for 256."
            )
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise ValueError(
                f"PerFeatureGaussian(tolerance={self.tolerance}) must be at least 0 and below 1. "
                "Use None for exact sums, or leave it out for 1e-6."
            )
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise ValueError(
                f"PerFeatureGaussian(dtype={self.dtype}) must be float64 or float32. Leave it out "
                "for float64."
            )

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return int(self._table.columns.size)

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: a Gaussian kernel is 1 at distance 0."""
        return True

    @property
    def columns_suffice(self) -> bool:
        """Always: a kernel reads one column."""
        return True

    @property
    def columns(self) -> IntArray:
        """The sorted input columns that the kernels read."""
        return np.unique(self._table.columns)

    @property
    def kernel_columns(self) -> IntArray:
        """The input column that each kernel reads."""
        return self._table.columns

    @property
    def widths(self) -> FloatArray:
        """``scale * bandwidth`` of every kernel; infinite for the constant kernel."""
        rates = self._table.rates
        # Squared last: the root of a width is always a number, the width itself may overflow.
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((1.0 / rates) ** 2)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> PerFeatureGaussian:
        """The bank with a bandwidth for every feature of the training part."""
        array = check_vectors(X)
        if self.kernels is None:
            used = self._used_columns(array.shape[1])
            columns = np.repeat(used, len(self.scales))
            scales = np.tile(np.asarray(self.scales, dtype=np.float64), used.size)
        elif self.bandwidth is None:
            columns, scales = self.kernels.columns, np.asarray(self.kernels.scales, np.float64)
        else:
            return self
        if self.bandwidth is None:
            roots = root_mean_squared_difference(
                array, sample_weight, working_memory=self.working_memory
            )[columns]
        else:
            given = self._given_bandwidth(columns.size // len(self.scales))
            roots = np.sqrt(np.repeat(given, len(self.scales)))
        rates = invert_roots(np.sqrt(scales) * roots)
        return replace(self, kernels=FeatureKernels(columns, scales, rates))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        return self.select([index]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``; kernels of zero weight are never evaluated."""
        weights = self._check_weights(weights)
        left, right = self._check_samples(X, Y)
        used = np.flatnonzero(weights)
        table, used_weights = self._table.at(used), weights[used]
        total = np.zeros(self._shape(X, Y), dtype=self.dtype)
        for block in self._blocks(used.size, left, right):
            columns, rates = table.columns[block], table.rates[block]
            others = None if right is None else feature_major(right, columns, rates)[0]
            rows, rates = feature_major(left, columns, rates)
            with loops._enough_threads(total.size * rows.shape[0]):
                add_gaussians(total, used_weights[block], rates, rows, others)
        if right is None:
            loops._mirror_lower_inplace(total)
        return total

    def in_single_precision(self) -> Self:
        """The same kernels, combined in single precision."""
        return replace(self, dtype=np.float32)

    def within_memory(self, working_memory: float) -> Self:
        """The same kernels, with copies of the data of a limited size."""
        return replace(self, working_memory=min(self.working_memory, working_memory))

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l: the adjoint of `combine`."""
        left, right = self._check_samples(X, Y)
        matrix = np.ascontiguousarray(self._check_matrix(M, X, Y))
        is_symmetric = right is None
        # K is symmetric with ones on its diagonal: <K, M> = trace M + sum_{j<i} K_ij (M + M')_ij.
        constant = np.trace(matrix) if is_symmetric else 0.0
        matrix = matrix + matrix.T if is_symmetric else matrix
        products = np.empty(self.n_kernels)
        for block in self._blocks(self.n_kernels, left, right):
            columns, rates = self._table.columns[block], self._table.rates[block]
            others = None if right is None else feature_major(right, columns, rates)[0]
            rows, rates = feature_major(left, columns, rates)
            others = rows if others is None else others
            with loops._enough_threads(matrix.size * rates.size):
                bands = loops._contract_tiles(matrix, rates, rows, others, is_symmetric)
            products[block] = constant + bands.sum(axis=1)
        return products

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only."""
        array, _ = self._check_samples(X, None)
        rows, columns = check_pairs(rows, columns)
        check_sample_indices(rows, columns, array.shape[0])
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        for block in self._blocks(self.n_kernels, array, None):
            samples, rates = self._sample_major(array, block)
            with loops._enough_threads(rows.size * rates.size):
                loops._fill_pairs_inplace(out[:, block], rates, samples, rows, columns)
        return out

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l."""
        array, _ = self._check_samples(X, None)
        rows, columns = check_pairs(rows, columns)
        check_sample_indices(rows, columns, array.shape[0])
        factors = check_pair_values(values, rows.size)
        products = np.empty(self.n_kernels)
        for block in self._blocks(self.n_kernels, array, None):
            samples, rates = self._sample_major(array, block)
            with loops._enough_threads(rows.size * rates.size):
                bands = _structured_loops._sum_pairs(factors, rates, samples, rows, columns)
            products[block] = bands.sum(axis=0)
        return products

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples.

        The sum runs over the pairs of samples that share a row, or over factors of the kernels on
        a grid, whichever is faster. The factors are wrong by
        ``tolerance * sum_i |row_weights_i| ||r_i||_1**2`` at most.
        """
        array, _ = self._check_samples(X, None)
        system = SparseRows(*check_rows(rows, row_weights, array.shape[0], mixes))
        grid = self._grid
        merged = merged_pairs(system, grid)
        if merged is not None:
            trace, values, left, right = merged
            return trace + self.contract_pairs(values, X, left, right)
        if grid is None:
            return super().contract_rows(rows, row_weights, X, mixes)
        return self._sum_on_grid(system, array, grid)

    def _sum_on_grid(self, system: SparseRows, array: FloatArray, grid: Grid) -> FloatArray:
        used, products = system.used, np.empty(self.n_kernels)
        system = system.on_used()
        # Values, positions and windows: about nine numbers per sample and kernel.
        for block in iterate_blocks(self.n_kernels, 72 * used.size, self.working_memory):
            table = self._table.at(np.arange(block.start, block.stop))
            values, rates = feature_major(array[used], table.columns, table.rates)
            products[block] = sum_rows_on_grid(system, values, rates, grid)
        return products

    @property
    def _grid(self) -> Grid | None:
        is_exact = self.tolerance is None or self.tolerance < FINEST_TOLERANCE
        return None if is_exact else choose_grid(float(self.tolerance or 1.0))

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading full-width X."""
        chosen = check_indices(indices, self.n_kernels)
        return replace(self, kernels=self._table.at(chosen))

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        kept = np.asarray(columns, dtype=np.intp)
        missing = np.setdiff1d(self.columns, kept)
        if missing.size:
            raise ValueError(
                f"on_columns() lacks column {missing[0]}, which a kernel reads. Keep all of the "
                "bank's `columns`, or select() the other kernels first."
            )
        order = np.argsort(kept, kind="stable")
        positions = order[np.searchsorted(kept, self._table.columns, sorter=order)]
        return replace(self, kernels=replace(self._table, columns=positions))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The feature's name, followed by the scale where a feature has several."""
        names = [
            f"x{column}" if feature_names is None else str(feature_names[column])
            for column in self._table.columns
        ]
        if len(self.scales) == 1:
            return names
        return [f"{n} (width x{s:g})" for n, s in zip(names, self._table.scales, strict=True)]

    @property
    def _table(self) -> FeatureKernels:
        if self.kernels is None:
            raise ValueError(
                "The kernels of this PerFeatureGaussian are not known yet, because they depend on "
                "the training part. Call adapt(X) first and use the bank that it returns."
            )
        return self.kernels

    def _used_columns(self, n_features: int) -> IntArray:
        if self.features is None:
            return np.arange(n_features)
        used = np.asarray(self.features, dtype=np.intp)
        if used.ndim != 1 or np.any((used < 0) | (used >= n_features)):
            raise ValueError(
                f"PerFeatureGaussian(features={self.features}) must list columns of X, 0 to "
                f"{n_features - 1}. Leave it out to use them all."
            )
        return used

    def _given_bandwidth(self, n_used: int) -> FloatArray:
        given = np.asarray(self.bandwidth, dtype=np.float64)
        if given.shape not in ((), (n_used,)):
            raise ValueError(
                f"PerFeatureGaussian(bandwidth=...) has shape {given.shape}, expected one number "
                f"or one per feature, ({n_used},). Leave it out to learn it."
            )
        return np.broadcast_to(given, (n_used,))

    def _check_samples(self, X: Any, Y: Any) -> tuple[FloatArray, FloatArray | None]:
        left = check_vectors(X)
        right = None if Y is None else check_vectors(Y, "Y")
        n_needed = int(self._table.columns.max(initial=-1)) + 1
        n_found = min(left.shape[1], left.shape[1] if right is None else right.shape[1])
        if n_found < n_needed:
            raise ValueError(
                f"The samples have {n_found} columns, but a kernel reads column {n_needed - 1}. "
                "Pass samples with the columns of the training part."
            )
        return left, right

    def _sample_major(self, X: FloatArray, block: slice) -> tuple[FloatArray, FloatArray]:
        samples = np.ascontiguousarray(X[:, self._table.columns[block]], dtype=np.float64)
        values, rates = tame(samples.T, self._table.rates[block])
        return values.T, rates

    def _blocks(
        self, n_kernels: int, left: FloatArray, right: FloatArray | None
    ) -> Iterator[slice]:
        n_values = left.shape[0] + (0 if right is None else right.shape[0])
        # Sums in single precision begin anew with every group of kernels.
        group = GROUP if np.dtype(self.dtype) == np.float32 else 1
        n_groups = -(-n_kernels // group)
        for groups in iterate_blocks(n_groups, 16 * n_values * group, self.working_memory):
            yield slice(groups.start * group, min(groups.stop * group, n_kernels))
