"""One Gaussian kernel per feature: the bank that turns kernel weights into feature weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._checks import require
from imkpl._threads import Loops
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    ColumnwiseKernels,
    check_magnitude,
    check_pairs,
    check_rows,
    check_sample_weight,
    check_vectors,
    iterate_blocks,
    take_samples,
)
from imkpl.kernels.blocks import BlockSamples, RowBlocks, sum_long
from imkpl.kernels.forms import (
    Form,
    Groups,
    find_ranges,
    group_rows,
    ordered_records,
    read_few,
    validate_numbers,
)
from imkpl.kernels.sources import ColumnSource, as_slice, has_row_blocks, open_source
from imkpl.kernels.sparse_rows import (
    FEW_SUMMED,
    SparseRows,
    choose_grid,
    merged_pairs,
    sum_rows_on_grid,
)

loops = Loops("imkpl.kernels._gaussian_loops")

# A finer tolerance than this is below the rounding of long sums.
FINEST_TOLERANCE = 1e-13
# Largest error of a squared distance, in bandwidths, that the expanded square may make.
DISTANCE_TOLERANCE = 1e-11
# Below it numbers lose digits, and the inverse of most is infinite.
SMALLEST_ROOT = float(np.finfo(np.float64).tiny)
# Rows of a symmetric matrix that are mirrored at a time.
MIRROR_ROWS = 64
# Kernel values of pairs that are computed at a time.
PAIR_VALUES = 2**22
# Up to this number of kernel values new samples are compared in NumPy, without compiled loops.
FEW_VALUES = 2**16


class VectorInput:
    """Samples that are rows of numbers in a 2-D array."""

    input_kind: ClassVar[str] = "vectors"
    # Products of matrices round differently in another order of memory.
    order: ClassVar[str | None] = "C"
    samples: Any

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Any, Form]:
        """Rows of numbers; large ones on disk stay there if kernels read single columns."""
        few = read_few(X, form)
        if few is not None:
            return few, form
        X = open_source(X) if cls.input_kind == "columns" else X
        if not isinstance(X, ColumnSource):
            with ordered_records(X, form, None) as rows:
                return validate_numbers(rows, form, order=cls.order)
        samples = RowBlocks.of(X) if has_row_blocks(X) else X
        if form.n_features is None:
            samples = samples.summarized() if isinstance(samples, RowBlocks) else samples
            return samples, form.learn(X.shape[1], X.feature_names)
        if X.shape[1] != form.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, expected {form.n_features} as in fit. Pass data "
                "with the columns of the training part."
            )
        return samples, form

    @classmethod
    def find_equal(cls, samples: Any, rows: IntArray, labels: IntArray) -> Groups:
        if isinstance(samples, BlockSamples):
            return samples.view(rows).find_equal(labels)
        if isinstance(samples, ColumnSource):
            # Columns on disk are not read to compare samples: each is one of its own.
            return np.arange(rows.size), np.arange(rows.size)
        return group_rows(samples, rows, labels)

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, self.samples[row].tolist(), strict=True))

    def keys(self, samples: Any = None) -> list[bytes] | None:
        samples = self.samples if samples is None else samples
        if not isinstance(samples, np.ndarray):
            return None
        # Adding zero turns -0 into 0.
        return [row.tobytes() for row in np.ascontiguousarray(samples) + 0.0]


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureKernels(VectorInput, ColumnwiseKernels):
    """Gaussian kernels, each on one column of the samples.

    Samples are an array, or columns that are read from where they are (`ColumnSource`).
    """

    scales: FloatArray  # the factor on each bandwidth; rates are 1 / sqrt(scale * bandwidth)
    has_scales: bool = False  # whether a feature has several kernels
    tolerance: float | None = 1e-6  # the largest error of a kernel value in `contract_rows`
    precision: str = "float64"  # of `combine`

    input_kind: ClassVar[str] = "columns"
    per_kernel = ("columns", "rates", "scales")
    order: ClassVar[str | None] = None
    has_unit_diagonal = True

    @property
    def widths(self) -> FloatArray:
        """``scale * bandwidth`` of every kernel; infinite for the constant kernel."""
        return invert_rates(self.rates)

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        names = super().kernel_names(feature_names)
        if not self.has_scales:
            return names
        return [f"{n} (width x{s:g})" for n, s in zip(names, self.scales, strict=True)]

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights = self.check_weights(weights)
        used = np.flatnonzero(weights)
        columns, rates, factors = self.columns[used], self.rates[used], weights[used]
        total, is_square = np.zeros(self.shape, dtype=self.precision), self.others is None
        add = _add_single if total.dtype == np.float32 else loops._combine_inplace
        for block in self._blocks(used.size):
            rows = feature_major(self.samples, columns[block])
            others = rows if is_square else feature_major(self.others, columns[block])
            with loops._enough_threads(total.size * rows.shape[0]):
                add(total, factors[block], rates[block], rows, others, is_square)
        if is_square:
            mirror_lower(total)
        return total

    def combine_few(self, weights: FloatArray) -> FloatArray:
        sides = self.samples, self.others
        if self.others is None or self.shape[0] * self.shape[1] * weights.size > FEW_VALUES:
            return self.combine(weights)
        new, old = (np.ascontiguousarray(side[:, self.columns], float) for side in sides)
        with np.errstate(over="ignore"):
            scaled = (new[:, np.newaxis] - old) * self.rates
            return np.asarray(np.exp(-(scaled**2)) @ weights, dtype=self.precision)

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix, is_symmetric = np.ascontiguousarray(self.check_matrix(M)), self.others is None
        # K is symmetric with ones on its diagonal: <K, M> = trace M + sum_{j<i} K_ij (M + M')_ij.
        constant = np.trace(matrix) if is_symmetric else 0.0
        matrix = matrix + matrix.T if is_symmetric else matrix
        products = np.empty(self.n_kernels)
        for block in self._blocks(self.n_kernels):
            columns, rates = self.columns[block], self.rates[block]
            rows = feature_major(self.samples, columns)
            others = rows if is_symmetric else feature_major(self.others, columns)
            sums = np.zeros((rates.size, -(-matrix.shape[0] // loops._CONTRACT_ROWS)))
            with loops._enough_threads(matrix.size * rates.size):
                loops._contract_tiles_inplace(sums, matrix, rates, rows, others, is_symmetric)
            products[block] = constant + sums.sum(axis=1)
        return products

    def pairs(self, rows: ArrayLike, columns: ArrayLike, dtype: Any = np.float64) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.shape[0])
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        for block in self._blocks(self.n_kernels):
            samples, rates = self.samples[:, as_slice(self.columns[block])], self.rates[block]
            samples = np.ascontiguousarray(samples, dtype=np.float64)
            step = max(1, PAIR_VALUES // max(1, rates.size))
            for start in range(0, rows.size, step):
                part = slice(start, start + step)
                # The loop is compiled for one type and layout of the result only.
                values = np.empty((rows[part].size, rates.size))
                with loops._enough_threads(values.size):
                    loops._fill_pairs_inplace(values, rates, samples, rows[part], columns[part])
                out[part, block] = values
        return out

    def contract_pairs(self, values: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        rows, columns = check_pairs(rows, columns, self.shape[0], values)
        factors = np.ascontiguousarray(values, dtype=np.float64)
        products = np.empty(self.n_kernels)
        for block in self._blocks(self.n_kernels):
            samples, rates = self.samples[:, as_slice(self.columns[block])], self.rates[block]
            samples = np.ascontiguousarray(samples, dtype=np.float64)
            sums = np.zeros((-(-rows.size // loops._PAIR_BAND), rates.size))
            with loops._enough_threads(rows.size * rates.size):
                loops._sum_pairs_inplace(sums, factors, rates, samples, rows, columns)
            products[block] = sums.sum(axis=0)
        return products

    def contract_rows(self, rows: Any, row_weights: ArrayLike, mixes: Any = None) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples.

        The sum runs over the pairs of samples that share a row, or over factors of the kernels on
        a grid, whichever is faster. The factors are wrong by
        ``tolerance * sum_i |row_weights_i| ||r_i||_1**2`` at most.
        """
        system = SparseRows(*check_rows(rows, row_weights, self.shape[0], mixes))
        is_exact = self.tolerance is None or self.tolerance < FINEST_TOLERANCE
        grid = None if is_exact else choose_grid(float(self.tolerance or 1.0))
        if system.weights.ndim == 1:
            merged = merged_pairs(system, grid, self.n_kernels)
            if merged is not None:
                trace, values, left, right = merged
                return trace + self.contract_pairs(values, left, right)
        elif system.used.size**2 * self.n_kernels <= FEW_SUMMED:
            grid = None
        if grid is None:
            return super().contract_rows(rows, row_weights, mixes)
        used, products = system.used, np.empty((self.n_kernels, *system.weights.shape[1:]))
        system = system.on_used()
        # Values, positions and windows: about nine numbers per sample and kernel.
        for block in iterate_blocks(self.n_kernels, 72 * used.size):
            values = feature_major(self.samples, self.columns[block], used)
            products[block] = sum_rows_on_grid(system, values, self.rates[block], grid)
        return products

    def in_single_precision(self) -> Self:
        return replace(self, precision="float32")

    def cells(self, row: int) -> list[Any] | None:
        values = take_samples(self.samples, [row])[:, self.columns]
        return np.asarray(values[0], dtype=np.float64).tolist()  # type: ignore[no-any-return]

    def rule(self, index: int) -> dict[str, Any]:
        return {"kind": "number", "rate": float(self.rates[index])}

    def ranges(self) -> FloatArray:
        if isinstance(self.samples, BlockSamples):
            return np.asarray(self.samples.ranges[self.input_columns])
        return find_ranges(np.asarray(self.samples[:, np.unique(self.columns)]))

    def check(self, form: Form) -> None:
        super().check(form)
        check_precision(self.precision)

    def _blocks(self, n_kernels: int) -> Iterator[slice]:
        n_values = self.shape[0] + (0 if self.others is None else self.shape[1])
        # Sums in single precision start again with every group of kernels.
        group = loops._SINGLE_GROUP if self.precision == "float32" else 1
        n_groups = -(-n_kernels // group)
        for groups in iterate_blocks(n_groups, 16 * n_values * group):
            yield slice(groups.start * group, min(groups.stop * group, n_kernels))


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
    tolerance : float, optional
        The largest error of a kernel value in `contract_rows`, between 0 and 1, where that is
        faster than the exact sum. None, 0 and anything below 1e-13 mean exact sums only.
    dtype : float64 or float32
        Arithmetic and result of `combine`. Single precision is two to four times as fast, and right
        to 1e-6 of the largest value.

    Examples
    --------
    >>> kernels = PerFeatureGaussian().on(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> bool(np.isclose(kernels.combine([1.0, 0.0])[0, 1], np.exp(-2.0)))
    True
    >>> kernels.evaluate(1)
    array([[1., 1.],
           [1., 1.]])
    """

    kind = FeatureKernels

    bandwidth: float | FloatArray | None = None
    scales: tuple[float, ...] = (1.0,)
    features: IntArray | None = None
    tolerance: float | None = 1e-6
    dtype: DTypeLike = "float64"

    def __post_init__(self) -> None:
        check_widths("PerFeatureGaussian", self.scales, self.bandwidth, "feature")
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
        object.__setattr__(self, "dtype", np.dtype(self.dtype).name)

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> FeatureKernels:
        samples = check_vectors(X)
        n_features, n_scales = samples.shape[1], len(self.scales)
        used = np.arange(n_features) if self.features is None else np.asarray(self.features)
        if (
            used.ndim != 1
            or used.dtype.kind not in "iu"
            or not np.isin(used, range(n_features)).all()
        ):
            raise ValueError(
                f"PerFeatureGaussian(features={self.features}) must list columns of X, 0 to "
                f"{n_features - 1}. Leave it out to use them all."
            )
        if self.bandwidth is None:
            roots = root_mean_squared_difference(samples, sample_weight)[used]
        else:
            roots = read_roots("PerFeatureGaussian", self.bandwidth, used.size, "feature")
        scales = np.tile(np.asarray(self.scales, dtype=np.float64), used.size)
        return FeatureKernels(
            samples=samples,
            columns=np.repeat(used, n_scales),
            rates=invert_roots(np.sqrt(scales) * np.repeat(roots, n_scales)),
            scales=scales,
            has_scales=n_scales > 1,
            tolerance=self.tolerance,
            precision=str(self.dtype),
        )


def root_mean_squared_difference(X: Any, sample_weight: ArrayLike | None = None) -> FloatArray:
    """The root of the mean squared difference of each feature over all ordered pairs.

    ``sqrt(sum_ij w_i w_j (x_i - x_j)**2) = sqrt(2 var(x))`` for weights that sum to one. It is
    exactly zero for a constant feature and keeps its digits under large offsets.
    """
    if isinstance(X, BlockSamples):
        return X.root_mean_squared_difference(check_sample_weight(sample_weight, len(X)))
    array = check_vectors(X)
    shares = check_sample_weight(sample_weight, array.shape[0])
    present = np.flatnonzero(shares)
    shares = shares[present]
    roots = np.empty(array.shape[1])
    for block in iterate_blocks(array.shape[1], 40 * max(present.size, 1)):
        values = array[present, block].T.astype(np.float64, order="C")
        check_magnitude(float(np.abs(values).max(initial=0.0)))
        # Measured from one of the samples, a constant feature is exactly zero.
        values -= values[:, :1].copy()
        largest = np.abs(values).max(axis=1, initial=0.0)
        values /= np.where(largest > 0, largest, 1.0)[:, np.newaxis]
        values -= sum_long(values * shares, axis=1)[:, np.newaxis]
        # The second pass corrects the rounding of the mean.
        rest, squares = (sum_long(terms * shares, axis=1) for terms in (values, values**2))
        variance = squares - rest**2
        roots[block] = np.where(largest > 0, largest * np.sqrt(2.0 * np.maximum(variance, 0)), 0)
    return roots


def squared_distances(left: FloatArray, right: FloatArray, bandwidth: float = 1.0) -> FloatArray:
    """Squared distances of all rows to all others, right to a small part of a bandwidth."""
    # Distances do not change with the origin, and the expanded square is exact near it.
    center = right.mean(axis=0)
    left, right = left - center, right - center
    left_norms = np.einsum("ij,ij->i", left, left)
    right_norms = np.einsum("ij,ij->i", right, right)
    largest = max(left_norms.max(initial=0.0), right_norms.max(initial=0.0))
    if largest * np.finfo(np.float64).eps > DISTANCE_TOLERANCE * bandwidth:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right, "sqeuclidean"))
    distances = left @ (-2.0 * right.T)
    distances += left_norms[:, np.newaxis]
    distances += right_norms
    return np.maximum(distances, 0.0, out=distances)


def invert_roots(roots: FloatArray) -> FloatArray:
    """``1 / roots``, and 0 where a root is 0 or denormal: the constant kernel 1."""
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots >= SMALLEST_ROOT)


def check_widths(owner: str, scales: Any, bandwidth: Any, unit: str) -> None:
    """Refuse scales and bandwidths of a bank that are not positive."""
    array = np.asarray(scales, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(
            f"{owner}(scales={scales}) must be a tuple of positive numbers, such as "
            f"(0.5, 1.0, 2.0). Use (1.0,) for one kernel per {unit}."
        )
    if bandwidth is not None and not np.all(np.asarray(bandwidth) > 0):
        raise ValueError(
            f"{owner}(bandwidth={bandwidth}) must be positive. Leave it out to learn it from the "
            "training part."
        )


def read_roots(owner: str, bandwidth: Any, n_widths: int, unit: str) -> FloatArray:
    """The roots of bandwidths that were given, one for each of `n_widths` units."""
    given = np.asarray(bandwidth, dtype=np.float64)
    if given.shape not in ((), (n_widths,)):
        raise ValueError(
            f"{owner}(bandwidth=...) has shape {given.shape}, expected one number or "
            f"({n_widths},): one per {unit}. Leave it out to learn it."
        )
    return np.sqrt(np.broadcast_to(given, (n_widths,)))


def check_precision(name: str) -> None:
    """Raise unless this is a type of numbers to compute with."""
    require(name in ("float64", "float32"), "kernels are computed in float64 or float32")


def invert_rates(rates: FloatArray) -> FloatArray:
    """The squared widths of kernels; infinite where a rate is 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((1.0 / rates) ** 2)


def feature_major(X: FloatArray, columns: IntArray, rows: IntArray | None = None) -> FloatArray:
    """The listed columns, of the listed rows if not of all, as contiguous rows."""
    found = X[:, as_slice(columns)]
    found = found if rows is None or rows.size == len(X) else found[rows]
    return np.ascontiguousarray(found.T, dtype=np.float64)


def mirror_lower(matrix: FloatArray) -> None:
    """Copy what is below the diagonal to the place above it."""
    # A band at a time, because writing along a column of a large matrix misses the cache.
    for start in range(0, len(matrix), MIRROR_ROWS):
        stop = min(start + MIRROR_ROWS, len(matrix))
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
        corner, above = matrix[start:stop, start:stop], np.triu_indices(stop - start, 1)
        corner[above] = corner.T[above]


def _add_single(
    total: FloatArray,
    weights: FloatArray,
    rates: FloatArray,
    rows: FloatArray,
    others: FloatArray,
    lower: bool,
) -> None:
    """Add ``sum_l weights_l exp(-((x_l - y_l) rates_l)**2)`` in single precision."""
    # A sample so far away that it is infinite is like no other.
    with np.errstate(over="ignore"):
        left, right = rows * rates[:, None], others * rates[:, None]
        # Numbers near 0 are the exact ones. The centre is that of y, so that a row of the result
        # does not depend on the other rows.
        centre = right.mean(axis=1, keepdims=True)
        left, right = ((values - centre).astype(np.float32) for values in (left, right))
    loops._combine_single_inplace(total, weights.astype(np.float32), left, right, lower)
