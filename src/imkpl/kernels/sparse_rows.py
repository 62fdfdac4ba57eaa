"""Sums of Gaussian kernels over sparse rows, ``sum_i w_i r_i K r_i'``: over pairs or on a grid.

Few pairs of samples that share a row are merged and summed exactly. Many are summed by factors of
the kernels, ``K = Z Z'`` up to a tolerance, with short rows. For u and v in units of the kernel's
width,

``exp(-(u - v)**2) = sqrt(4 / pi) * integral of exp(-2 (u - t)**2) exp(-2 (v - t)**2) dt``,

and the trapezoidal rule on the grid ``t = j h`` turns the integral into an inner product. By
Poisson's summation formula the rule is wrong by the factor ``1 + 2 exp(-pi**2 / (4 h**2))`` at most
(plus terms far smaller). A sample keeps only the n grid points nearest to it; those left out are
more than ``n h / 2`` away and carry ``sqrt(2) exp(-(n h)**2 / 2)`` at most, from either side. Both
errors are alike for ``h**2 = pi / (sqrt(2) n)``, and then

``|K - Z Z'| <= (2 + sqrt(8)) exp(-pi n / sqrt(8))`` for every entry.

Nothing depends on the range of the data: a sample far from all others has a window of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from imkpl._threads import Loops
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import join_mixes

loops = Loops("imkpl.kernels._gaussian_loops")

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


class Grid(NamedTuple):
    """A trapezoidal rule and the window of it that a sample keeps."""

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
    """First cells and offsets, measured within groups of samples whose windows may meet.

    Groups are so far apart that the kernel between them is below the error of the grid.
    """
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
        n_mixes = 0 if self.mixes is None else self.mixes.shape[0]
        kept = np.append(self.used, self.n_samples + np.arange(n_mixes))
        mixes = None if self.mixes is None else _renumber(self.mixes, self.used)
        return SparseRows(_renumber(self.rows, kept), self.weights, mixes)


def merged_pairs(
    rows: SparseRows, grid: Grid | None, n_kernels: int
) -> tuple[float, FloatArray, IntArray, IntArray] | None:
    """``rows' diag(weights) rows`` as its trace and the pairs above its diagonal.

    None where summing over these pairs is not the cheaper way.
    """
    # A mix of samples, or a row of them, fills about two windows of the grid.
    lengths, n_windows = np.ones(rows.rows.shape[1]), rows.rows.nnz + 2 * rows.rows.shape[0]
    if rows.mixes is not None:
        lengths[rows.n_samples :] = np.diff(rows.mixes.indptr)
        n_windows += rows.mixes.nnz + np.count_nonzero(rows.rows.indices >= rows.n_samples)
    sizes = rows.rows.astype(bool).astype(np.float64) @ lengths
    merge_work = MERGE_WORK * float(sizes @ sizes)
    most_work, most_pairs = MERGE_WORK * rows.used.size**2, np.inf
    if grid is not None:
        grid_work = float(grid.width * (CELL_WORK * n_windows + FILL_WORK * rows.used.size))
        few = max(FEW_PAIRS, FEW_SUMMED // max(1, n_kernels))
        most_work = max(MERGE_KERNELS * grid_work, MERGE_WORK * few)
        most_pairs = max(grid_work, few)
    if merge_work > most_work:
        return None
    whole = join_mixes(rows.rows, rows.mixes)
    matrix = sp.csr_array(whole.T @ (whole * rows.weights[:, np.newaxis]))
    upper = sp.coo_array(sp.triu(matrix, 1))
    if upper.nnz > most_pairs:
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


def _renumber(array: sp.csr_array, kept: IntArray) -> sp.csr_array:
    places = np.zeros(array.shape[1], dtype=np.intp)
    places[kept] = np.arange(kept.size)
    indices = places[array.indices]
    return sp.csr_array((array.data, indices, array.indptr), shape=(array.shape[0], kept.size))
