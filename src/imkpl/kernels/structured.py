"""Sums over sparse rows, ``sum_i w_i r_i K r_i'``: which way is cheaper, and both of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import _gaussian_loops, _structured_loops
from imkpl.kernels.checks import join_mixes
from imkpl.kernels.grid import Grid, place_on_grid

# Work is counted in kernel values summed over pairs (3 to 4 ns on one core). To add or square one
# cell of a window costs 0.2 of them, to place a sample and fill its window 0.55 per cell; to merge
# the pairs of all rows, once for all kernels, about 3 for each entry of each row's own square.
CELL_WORK = 0.2
FILL_WORK = 0.55
MERGE_WORK = 3.0
# Pairs are merged where that takes no longer than so many kernels on the grid.
MERGE_KERNELS = 32
# So few pairs are summed exactly in any case: it takes a hundredth of a millisecond per kernel.
FEW_PAIRS = 4096


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows over samples and mixes of samples, with a weight each.

    Parameters
    ----------
    rows : csr_array of shape (n_rows, n_samples + n_mixes)
        The rows.
    weights : array of shape (n_rows,)
        A factor for each row.
    mixes : csr_array of shape (n_mixes, n_samples), optional
        What the last n_mixes columns of `rows` stand for.
    """

    rows: sp.csr_array
    weights: FloatArray
    mixes: sp.csr_array | None = None

    @cached_property
    def whole(self) -> sp.csr_array:
        """The rows over the samples alone."""
        return join_mixes(self.rows, self.mixes)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int((self.rows if self.mixes is None else self.mixes).shape[1])

    def merge_work(self) -> float:
        """The work of `merge`, or a little more where a row names a sample twice."""
        lengths = np.ones(self.rows.shape[1])
        if self.mixes is not None:
            lengths[self.n_samples :] = np.diff(self.mixes.indptr)
        sizes = self.rows.astype(bool).astype(np.float64) @ lengths
        return MERGE_WORK * float(sizes @ sizes)

    def grid_work(self, grid: Grid) -> float:
        """The work of one kernel on the grid."""
        n_mixed = int(np.count_nonzero(self.rows.indices >= self.n_samples))
        n_windows = self.rows.nnz + (0 if self.mixes is None else self.mixes.nnz)
        # A mix of samples, or a row of them, fills about two windows.
        n_windows += n_mixed + 2 * self.rows.shape[0]
        return float(grid.width * (CELL_WORK * n_windows + FILL_WORK * self.used.size))

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

    def without_mixes(self) -> SparseRows:
        """The same rows with the mixes written out."""
        return SparseRows(self.whole, self.weights)

    def merge(self) -> tuple[float, FloatArray, IntArray, IntArray]:
        """``rows' diag(weights) rows`` as its trace and the pairs above its diagonal."""
        whole = self.whole
        matrix = sp.csr_array(whole.T @ (whole * self.weights[:, np.newaxis]))
        upper = sp.coo_array(sp.triu(matrix, 1))
        left, right = (index.astype(np.intp) for index in upper.coords)
        return float(matrix.trace()), 2.0 * upper.data, left, right


def merged_pairs(
    rows: SparseRows, grid: Grid | None
) -> tuple[float, FloatArray, IntArray, IntArray] | None:
    """The merged pairs of the rows where summing over them is the cheaper way, else None."""
    if grid is None:
        return rows.merge() if rows.merge_work() <= MERGE_WORK * rows.used.size**2 else None
    work = rows.grid_work(grid)
    if rows.merge_work() > max(MERGE_KERNELS * work, MERGE_WORK * FEW_PAIRS):
        return None
    merged = rows.merge()
    return merged if merged[1].size <= max(work, FEW_PAIRS) else None


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
    sums = np.empty(rates.size)
    for chosen, part in _split_by_span(rows, n_cells, grid):
        with _gaussian_loops._enough_threads(chosen.size * part.rows.nnz * grid.width):
            sums[chosen] = _structured_loops._sum_rows(
                _csr_parts(part.rows),
                part.weights,
                _csr_parts(part.mixes),
                starts[chosen],
                offsets[chosen],
                n_cells[chosen],
                grid.width,
                grid.spacing,
                grid.scale,
            )
    return np.where(is_finite, sums, np.nan)


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
        parts.append((np.flatnonzero(~is_narrow), rows.without_mixes()))
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
