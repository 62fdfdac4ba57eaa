"""One Gaussian kernel per feature: the bank that turns kernel weights into feature weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import require
from imkpl._threads import Loops
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    ColumnwiseKernels,
    Kernels,
    check_pairs,
    check_rows,
    check_sample_weight,
    check_vectors,
    iterate_blocks,
    join_mixes,
    take_samples,
)
from imkpl.kernels.forms import (
    Form,
    Groups,
    check_magnitude,
    group_rows,
    order_groups,
    ordered_records,
    read_few,
    validate_numbers,
)
from imkpl.kernels.normalize import GappedKernels
from imkpl.kernels.sources import (
    ArrayColumns,
    BlockSamples,
    ColumnSource,
    ParquetColumns,
    RowBlocks,
    as_slice,
    has_row_blocks,
    open_source,
    sum_long,
)

loops = Loops("imkpl.kernels._gaussian_loops")

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
# While a model is learned, numbers in units of their widths are multiples of this: far above the
# last digit, far below what a kernel shows. No copy is made of more numbers than this.
ROUNDING, MOST_ROUNDED = 2.0**-30, 2**24
# Largest error of a kernel value in a sum over sparse rows.
TOLERANCE = 1e-6
# Windows start at multiples of this: 32 bytes, so that what one vector instruction stored the next
# can load.
ALIGNMENT = 4
# Over more cells positions would lose digits: samples are then measured from neighbours.
WIDEST_SPAN = 4096
# Work is counted in kernel values summed over pairs (3 to 4 ns on one core). To add or square one
# cell of a window costs 0.2 of them, to place a sample and fill its window 0.55 per cell; to merge
# the pairs of all rows, once for all kernels, about 3 for each entry of each row's own square.
CELL_WORK = 0.2
FILL_WORK = 0.55
MERGE_WORK = 3.0
# Pairs are merged if that takes no longer than this number of kernels on the grid.
MERGE_KERNELS = 32
# Up to this number, pairs are summed exactly: a hundredth of a millisecond per kernel.
FEW_PAIRS = 4096
# So are few kernel values in all, a few milliseconds: no grid needs to be compiled for them.
FEW_SUMMED = 2**20


class VectorInput:
    """Samples that are rows of numbers in a 2-D array."""

    input_kind: ClassVar[str] = "vectors"
    # Products of matrices round differently in another order of memory.
    order: ClassVar[str | None] = "C"
    samples: Any

    @classmethod
    def read(cls, X: Any, form: Form) -> tuple[Any, Form]:
        """Rows of numbers; large ones on disk stay there if kernels read single columns."""
        few = None if form.n_features is None else read_few(X, form)
        if few is not None:
            return few, form
        X = open_source(X) if cls.input_kind == "columns" else X
        if not isinstance(X, ColumnSource):
            is_read_by_columns = cls.input_kind == "columns" and form.n_features is not None
            more: Any = {"ensure_all_finite": "allow-nan"} if is_read_by_columns else {}
            return validate_numbers(*ordered_records(X, form, None), order=cls.order, **more)
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
        return order_groups(samples, rows, group_rows(samples, rows, labels), labels)

    def values(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, self.samples[row].tolist(), strict=True))

    def keys(self, samples: Any = None) -> list[bytes] | None:
        samples = self.samples if samples is None else samples
        if not isinstance(samples, np.ndarray):
            return None
        # Adding zero turns -0 into 0.
        return [row.tobytes() for row in np.ascontiguousarray(samples) + 0.0]


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianKernels(ColumnwiseKernels):
    """Gaussian kernels on one column each, which may be numbers that stand for something else."""

    precision: str = "float64"  # of `combine`

    has_unit_diagonal = reads_cells = True

    def in_single_precision(self) -> Self:
        return replace(self, precision="float32")

    def stretched(self, factors: FloatArray) -> Self:
        return replace(self, rates=self.rates / np.sqrt(factors))

    def expecting(self, expected: FloatArray) -> Kernels:
        return self if self.gaps is None else GappedKernels(self, expected)

    def check(self, form: Form) -> None:
        super().check(form)
        is_known = self.precision in ("float64", "float32")
        require(is_known, "kernels are computed in float64 or float32")


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureKernels(VectorInput, GaussianKernels):
    """Gaussian kernels, each on one column of an array or of a `ColumnSource`."""

    widths: tuple[float, ...] | None = (1.0,)

    input_kind: ClassVar[str] = "columns"
    order: ClassVar[str | None] = None

    def rounded(self) -> Self:
        if not isinstance(self.samples, np.ndarray) or self.samples.size > MOST_ROUNDED:
            return self
        numbers = self.samples[:, self.columns].astype(np.float64)
        numbers = np.round((numbers - numbers[0]) * self.rates / ROUNDING) * ROUNDING
        places, inputs = np.arange(self.n_kernels), self.kernel_columns
        ones = np.ones(self.n_kernels)
        return replace(self, samples=numbers, columns=places, inputs=inputs, rates=ones)

    def combine(self, weights: ArrayLike) -> FloatArray:
        weights = self.check_weights(weights)
        used = np.flatnonzero(weights)
        chosen = self.select(used)
        total, is_square = np.zeros(self.shape, dtype=self.precision), self.others is None
        factors = weights[used].astype(total.dtype)
        for block in chosen._blocks():
            columns, rates = chosen.columns[block], chosen.rates[block]
            rows = feature_major(chosen.samples, columns)
            others = rows if is_square else feature_major(chosen.others, columns)
            if self.precision == "float32":
                rows, others = in_widths(rows, others, rates)
            with loops._enough_threads(total.size * rows.shape[0]):
                parts = factors[block], rates, rows, others, is_square
                loops._combine_inplace(total, *parts)
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
        for block in self._blocks():
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
        for block in self._blocks():
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
        for block in self._blocks():
            samples, rates = self.samples[:, as_slice(self.columns[block])], self.rates[block]
            samples = np.ascontiguousarray(samples, dtype=np.float64)
            sums = np.zeros((-(-rows.size // loops._PAIR_BAND), rates.size))
            with loops._enough_threads(rows.size * rates.size):
                loops._sum_pairs_inplace(sums, factors, rates, samples, rows, columns)
            products[block] = sums.sum(axis=0)
        return products

    def contract_rows(self, rows: Any, row_weights: ArrayLike, mixes: Any = None) -> FloatArray:
        # Over pairs of samples that share a row, or over factors of the kernels on a grid, wrong by
        # ``TOLERANCE * sum_i |row_weights_i| ||r_i||_1**2`` at most.
        system = SparseRows(*check_rows(rows, row_weights, self.shape[0], mixes))
        if system.weights.ndim == 1:
            merged = merged_pairs(system, GRID, self.n_kernels)
            if merged is not None:
                trace, values, left, right = merged
                return trace + self.contract_pairs(values, left, right)
        elif system.used.size**2 * self.n_kernels <= FEW_SUMMED:
            return super().contract_rows(rows, row_weights, mixes)
        used, products = system.used, np.empty((self.n_kernels, *system.weights.shape[1:]))
        system = system.on_used()
        # Values, positions and windows: about nine numbers per sample and kernel.
        for block in self._blocks(72 * used.size):
            values = orient(feature_major(self.samples, self.columns[block], used))
            products[block] = sum_rows_on_grid(system, values, self.rates[block], GRID)
        return products

    @property
    def has_bandwidths(self) -> BoolArray:
        return np.ones(self.n_kernels, dtype=bool)

    @property
    def gaps(self) -> BoolArray | None:
        is_array = isinstance(self.samples, np.ndarray)
        found = np.isnan(self.samples[:, self.columns]) if is_array else np.zeros(0, dtype=bool)
        return found if found.any() else None

    def cells(self, row: int) -> list[Any] | None:
        values = take_samples(self.samples, [row])[:, self.columns]
        return [None if np.isnan(value) else float(value) for value in values[0]]

    def rule(self, index: int) -> dict[str, Any]:
        return {"kind": "number", "rate": float(self.rates[index])}

    def numbers(self) -> FloatArray:
        return np.asarray(self.samples[:, np.unique(self.columns)])

    def ranges(self) -> FloatArray | None:
        if isinstance(self.samples, BlockSamples):
            return np.asarray(self.samples.ranges[self.input_columns])
        return super().ranges()

    def check(self, form: Form) -> None:
        super().check(form)
        require(self.widths is None or min(self.widths) > 0, "widths are not positive")

    def select(self, indices: ArrayLike) -> Self:
        selected = super().select(indices)
        # Few columns of a file are read once.
        n_blocks = len(list(iterate_blocks(selected.n_kernels, 32 * len(self.samples))))
        return selected.narrowed() if self._is_in_file and n_blocks <= 1 else selected

    @property
    def _is_in_file(self) -> bool:
        is_file = isinstance(self.samples, ArrayColumns | ParquetColumns)
        return is_file and self.others is None

    def _blocks(self, n_bytes: int | None = None) -> Iterator[slice | IntArray]:
        """Kernels that are computed together; of a file, columns that lie together."""
        n_values = self.shape[0] + (0 if self.others is None else self.shape[1])
        # Sums in single precision start again with every group of kernels.
        group = loops._SINGLE_GROUP if self.precision == "float32" else 1
        n_groups = -(-self.n_kernels // group)
        order = np.argsort(self.columns, kind="stable") if self._is_in_file else None
        for groups in iterate_blocks(n_groups, (n_bytes or 16 * n_values) * group):
            block = slice(groups.start * group, min(groups.stop * group, self.n_kernels))
            yield block if order is None else order[block]


@dataclass(frozen=True, eq=False)
class PerFeatureGaussian(BaseKernelBank):
    """A Gaussian kernel on each feature alone, so that a kernel's weight is a feature's weight.

    ``K_l(x, y) = exp(-(x_l - y_l)**2 / (scale * bandwidth_l))``, where ``bandwidth_l`` is the mean
    squared difference of feature l over all ordered pairs of training samples, twice its variance.
    A feature that is constant in the training part gets the constant kernel 1.

    Parameters
    ----------
    scales : tuple of float, optional
        Factors on the bandwidth: the widths in which a feature is compared. A model weighs several
        of them and adds them up, so that a feature keeps one weight; `on` gives kernels of the
        first. By default folds choose among 1, 0.3, and four of them from 1 to 0.03.

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

    scales: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.scales is not None:
            check_scales("PerFeatureGaussian", self.scales, "feature")

    def on(self, X: Any, sample_weight: ArrayLike | None = None) -> FeatureKernels:
        samples = check_vectors(X)
        roots = root_mean_squared_difference(samples, sample_weight)
        first = 1.0 if self.scales is None else float(self.scales[0])
        return FeatureKernels(
            samples=samples,
            columns=np.arange(samples.shape[1]),
            rates=invert_roots(np.sqrt(first) * roots),
            widths=self.scales and tuple(scale / first for scale in self.scales),
        )


def root_mean_squared_difference(X: Any, sample_weight: ArrayLike | None = None) -> FloatArray:
    """``sqrt(sum_ij w_i w_j (x_i - x_j)**2)`` of each feature; exactly 0 for a constant one."""
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


def check_scales(owner: str, scales: Any, unit: str) -> None:
    """Refuse scales of a bank that are not positive."""
    array = np.asarray(scales, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(
            f"{owner}(scales={scales}) must be a tuple of positive numbers, such as "
            f"(0.5, 1.0, 2.0). Use (1.0,) for one kernel per {unit}."
        )


def orient(values: FloatArray) -> FloatArray:
    """Rows of which the first number that is not in the middle of the range is above it."""
    if values.size == 0:
        return values
    middle = (values.min(axis=1) + values.max(axis=1)) / 2
    is_apart = values != middle[:, np.newaxis]
    first = values[np.arange(len(values)), is_apart.argmax(axis=1)]
    return np.where(first < middle, -1.0, 1.0)[:, np.newaxis] * values


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


def in_widths(
    rows: FloatArray, others: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values in single precision, in units of the widths of their kernels."""
    # A sample so far away that it is infinite is like no other.
    with np.errstate(over="ignore"):
        left, right = rows * rates[:, None], others * rates[:, None]
        # Numbers near 0 are the exact ones. The centre is that of the others, so that a row of the
        # result does not depend on the other rows.
        centre = right.mean(axis=1, keepdims=True)
        return (left - centre).astype(np.float32), (right - centre).astype(np.float32)


# Sums over sparse rows


class Grid(NamedTuple):
    """A trapezoidal rule for ``exp(-(u - v)**2)``, and the window of it that a sample keeps.

    ``sqrt(4 / pi) * integral of exp(-2 (u - t)**2) exp(-2 (v - t)**2) dt`` on the grid ``t = j h``
    is an inner product, wrong by the factor ``1 + 2 exp(-pi**2 / (4 h**2))`` at most, by Poisson's
    formula. Points beyond the n nearest carry ``sqrt(2) exp(-(n h)**2 / 2)`` at most. Both errors
    are alike for ``h**2 = pi / (sqrt(2) n)``: ``|K - Z Z'| <= (2 + sqrt(8)) exp(-pi n / sqrt(8))``.
    """

    n_points: int  # the grid points nearest to a sample that its window contains at least; even
    spacing: float  # of neighbouring grid points, in units of the kernel's width
    scale: float  # the factor on every entry of Z
    width: int  # the number of cells in a window, which starts at a multiple of `ALIGNMENT`


def choose_grid(tolerance: float) -> Grid:
    """The smallest window whose error is within the tolerance."""
    needed = np.log((2.0 + np.sqrt(8.0)) / tolerance) * np.sqrt(8.0) / np.pi
    n_points = max(ALIGNMENT, ALIGNMENT * int(np.ceil(needed / ALIGNMENT)))
    spacing = float(np.sqrt(np.pi / (np.sqrt(2.0) * n_points)))
    scale = float(np.sqrt(spacing * np.sqrt(4.0 / np.pi)))
    return Grid(n_points, spacing, scale, n_points + ALIGNMENT)


def place_on_grid(
    values: FloatArray, rates: FloatArray, grid: Grid
) -> tuple[IntArray, FloatArray, IntArray]:
    """Where the window of every sample starts, and where in its window the sample lies."""
    starts, offsets = np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape)
    if values.size == 0:
        return starts, offsets, np.full(rates.size, grid.width)
    # The window begins n_points / 2 - 1 points before the grid point left of the sample.
    lead = grid.n_points // 2 - 1
    is_wide = np.zeros(rates.size, dtype=bool)
    with loops._enough_threads(values.size):
        limits = grid.spacing, lead, ALIGNMENT, WIDEST_SPAN
        loops._place_narrow_inplace(is_wide, starts, offsets, values, rates, limits)
    for kernel in np.flatnonzero(is_wide):
        starts[kernel], offsets[kernel] = _place_in_groups(values[kernel], rates[kernel], grid)
        offsets[kernel] += lead
    return starts, offsets, starts.max(axis=1) + grid.width


def _place_in_groups(values: FloatArray, rate: float, grid: Grid) -> tuple[IntArray, FloatArray]:
    """First cells and offsets within groups so far apart that the kernel between them is 0."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    scale = 1.0 / grid.spacing
    with np.errstate(over="ignore"):
        is_first = np.append(True, np.diff(ordered) * rate * scale > grid.width)
    group = np.cumsum(is_first) - 1
    positions = (ordered - ordered[is_first][group]) * rate * scale
    firsts = np.floor(positions / ALIGNMENT).astype(np.int64) * ALIGNMENT
    sizes = firsts[np.append(is_first[1:], True)] + grid.width
    starts, offsets = np.empty(values.size, dtype=np.int64), np.empty(values.size)
    starts[order] = firsts + (np.cumsum(sizes) - sizes)[group]
    offsets[order] = positions - firsts
    return starts, offsets


GRID = choose_grid(TOLERANCE)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows over samples and mixes of samples, with a weight each."""

    rows: sp.csr_array  # (n_rows, n_samples + n_mixes)
    weights: FloatArray  # (n_rows,) or (n_rows, n_sums)
    mixes: sp.csr_array | None = None  # (n_mixes, n_samples): the last columns of `rows`

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int((self.rows if self.mixes is None else self.mixes).shape[1])

    @cached_property
    def used(self) -> IntArray:
        """The sorted samples that the rows and mixes name."""
        is_used = np.zeros(self.rows.shape[1], dtype=bool)
        is_used[self.rows.indices] = True
        if self.mixes is not None:
            is_used[self.mixes.indices] = True
        return np.flatnonzero(is_used[: self.n_samples])

    def on_used(self) -> SparseRows:
        """The same rows over the used samples alone."""
        kept = np.append(self.used, np.arange(self.n_samples, self.rows.shape[1]))
        mixes = None if self.mixes is None else self.mixes[:, self.used]
        return SparseRows(self.rows[:, kept], self.weights, mixes)


def merged_pairs(
    rows: SparseRows, grid: Grid, n_kernels: int
) -> tuple[float, FloatArray, IntArray, IntArray] | None:
    """Trace of ``rows' diag(weights) rows`` and pairs above its diagonal; None if not cheaper."""
    # A mix of samples, or a row of them, fills about two windows of the grid.
    lengths, n_windows = np.ones(rows.rows.shape[1]), rows.rows.nnz + 2 * rows.rows.shape[0]
    if rows.mixes is not None:
        lengths[rows.n_samples :] = np.diff(rows.mixes.indptr)
        n_windows += rows.mixes.nnz + np.count_nonzero(rows.rows.indices >= rows.n_samples)
    sizes = rows.rows.astype(bool).astype(np.float64) @ lengths
    merge_work = MERGE_WORK * float(sizes @ sizes)
    grid_work = float(grid.width * (CELL_WORK * n_windows + FILL_WORK * rows.used.size))
    few = max(FEW_PAIRS, FEW_SUMMED // max(1, n_kernels))
    if merge_work > max(MERGE_KERNELS * grid_work, MERGE_WORK * few):
        return None
    whole = join_mixes(rows.rows, rows.mixes)
    matrix = sp.csr_array(whole.T @ (whole * rows.weights[:, np.newaxis]))
    upper = sp.coo_array(sp.triu(matrix, 1))
    if upper.nnz > max(grid_work, few):
        return None
    left, right = (index.astype(np.intp) for index in upper.coords)
    return float(matrix.trace()), 2.0 * upper.data, left, right


def sum_rows_on_grid(
    rows: SparseRows, values: FloatArray, rates: FloatArray, grid: Grid
) -> FloatArray:
    """``sum_i w_i r_i K_l r_i'`` with every kernel in factors on the grid."""
    # What is not a number must not become the index of a cell.
    is_finite = np.isfinite(values).all(axis=1) & np.isfinite(rates)
    if not is_finite.all():
        values = np.where(is_finite[:, np.newaxis], values, 0.0)
        rates = np.where(is_finite, rates, 0.0)
    starts, offsets, n_cells = place_on_grid(values, rates, grid)
    weights = rows.weights if rows.weights.ndim == 2 else rows.weights[:, np.newaxis]
    sums = np.empty((rates.size, weights.shape[1]))
    for chosen, part in _split_by_span(rows, n_cells, grid):
        found = np.empty((chosen.size, sums.shape[1]))
        most_cells = int(n_cells[chosen].max(initial=0))
        # Windows of samples, then of mixes.
        n_columns = values.shape[1], 0 if part.mixes is None else part.mixes.shape[0]
        sizes = np.repeat([grid.width, most_cells], n_columns)
        places = np.concatenate(([0], np.cumsum(sizes)))
        with loops._enough_threads(chosen.size * part.rows.nnz * grid.width):
            windows = places, most_cells, grid.width, grid.spacing, grid.scale
            placed = starts[chosen], offsets[chosen]
            parts = _csr_parts(part.rows), weights, _csr_parts(part.mixes)
            loops._sum_rows_inplace(found, *parts, placed, windows)
        sums[chosen] = found
    sums[~is_finite] = np.nan
    return sums.reshape(rates.size, *rows.weights.shape[1:])


def _split_by_span(
    rows: SparseRows, n_cells: IntArray, grid: Grid
) -> list[tuple[IntArray, SparseRows]]:
    """Which kernels keep the mixes, and which are cheaper with the mixes written out."""
    if rows.mixes is None:
        return [(np.arange(n_cells.size), rows)]
    # A mix takes all cells at most; written out, it takes one window per sample.
    is_narrow = n_cells * rows.mixes.shape[0] <= grid.width * rows.mixes.nnz
    parts = [(np.flatnonzero(is_narrow), rows)]
    if not is_narrow.all():
        whole = join_mixes(rows.rows, rows.mixes)
        parts.append((np.flatnonzero(~is_narrow), SparseRows(whole, rows.weights)))
    return [(chosen, part) for chosen, part in parts if chosen.size]


def _csr_parts(array: sp.csr_array | None) -> tuple[IntArray, IntArray, FloatArray]:
    if array is None:
        return np.zeros(1, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    return array.indptr.astype(np.intp), array.indices.astype(np.intp), array.data
