"""Compiled sums over Gaussian kernels on single features.

Values arrive kernel-major: row l of `values` holds the feature that kernel l reads, so that the
innermost loops run over contiguous samples. Kernel l is ``exp(-((x - y) * rates[l])**2)``.

Each entry of a matrix is summed over the kernels in their order by one thread, and each
contraction over tiles of fixed size: the results are the same bits for any number of threads.
"""

from contextlib import AbstractContextManager

import numpy as np
from numba import njit, prange

from imkpl._threads import ParallelLoop, limited_threads

# Reassociation lets LLVM vectorise a sum over a row; its order is fixed when the loop is compiled.
_SUM_FLAGS = {"reassoc", "contract", "nsz", "arcp"}

# A tile of outputs (16 x 256 doubles) stays in the first-level cache while the kernels pass by.
_ROW_TILE = 16
_COLUMN_TILE = 256
_MIRROR_TILE = 64
# Rows of the contracted matrix that stay in the second-level cache while 32 kernels pass by.
_CONTRACT_ROWS = 32
_CONTRACT_KERNELS = 32

# Below so many kernel values (about a millisecond) waking other threads costs more than it saves.
_SERIAL_VALUES = 2**20

_LOG2_E = 1.4426950408889634
# ln 2 in two parts: n * _LN2_HIGH is exact for |n| < 2**20.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2**52 leaves the nearest integer in the low bits of the mantissa.
_ROUNDER = 6755399441055744.0
# exp(-600) is 0 to any sum. Times a weight or an entry of a matrix it is still a normal number,
# where that of exp(-708) is not: with many distant samples that made sums five times as slow.
_LARGEST = 600.0


# No reassociation here: (_ROUNDER - x) - _ROUNDER would be simplified to -x.
@njit(cache=True, fastmath={"contract", "nsz"})
def _exp_minus(t):  # type: ignore[no-untyped-def]
    # exp(-t), t >= 0, as 2**n exp(r) with |r| <= ln(2)/2, without branches: LLVM vectorises it.
    t = min(t, _LARGEST)
    shifted = _ROUNDER - t * _LOG2_E
    n = shifted - _ROUNDER
    r = (-t - n * _LN2_HIGH) - n * _LN2_LOW
    # 1 + r + r**2 q(r) is exactly 1 at r = 0; q is the Chebyshev series cut at degree 9: 2e-17.
    q = 2.5105217695684516e-08
    q = q * r + 2.7620089481954584e-07
    q = q * r + 2.7557255398338715e-06
    q = q * r + 2.4801521293463865e-05
    q = q * r + 0.0001984126987482231
    q = q * r + 0.0013888888917215588
    q = q * r + 0.008333333333326134
    q = q * r + 0.04166666666662412
    q = q * r + 0.1666666666666667
    q = q * r + 0.5
    q = q * r + 1.0
    q = q * r + 1.0
    # The biased exponent n + 1023, moved into place, is 2**n; the shift drops _ROUNDER's own bits.
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return q * np.int64(bits).view(np.float64)


@njit(cache=True)
def _exp_minus_all(t):  # type: ignore[no-untyped-def]
    out = np.empty_like(t)
    for i in range(t.shape[0]):
        out[i] = _exp_minus(t[i])
    return out


@njit(cache=True, fastmath=_SUM_FLAGS)
def _add_row_inplace(row, weight, rate, value, values):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        scaled = (value - values[j]) * rate
        row[j] += weight * _exp_minus(scaled * scaled)


@njit(cache=True)
def _add_rows_inplace(out, weights, rates, left, right, first, last, n_columns):  # type: ignore[no-untyped-def]
    for start in range(0, n_columns, _COLUMN_TILE):
        stop = min(start + _COLUMN_TILE, n_columns)
        for kernel in range(weights.shape[0]):
            values = right[kernel, start:stop]
            for i in range(first, last):
                _add_row_inplace(
                    out[i, start:stop], weights[kernel], rates[kernel], left[kernel, i], values
                )


@ParallelLoop
def _combine_cross_inplace(out, weights, rates, left, right):  # type: ignore[no-untyped-def]
    n_rows, n_columns = out.shape
    for tile in prange((n_rows + _ROW_TILE - 1) // _ROW_TILE):
        first = tile * _ROW_TILE
        last = min(first + _ROW_TILE, n_rows)
        _add_rows_inplace(out, weights, rates, left, right, first, last, n_columns)


@ParallelLoop
def _combine_lower_inplace(out, weights, rates, values):  # type: ignore[no-untyped-def]
    n_rows = out.shape[0]
    n_tiles = (n_rows + _ROW_TILE - 1) // _ROW_TILE
    # A short and a long band of the triangle per task: equal work for every thread.
    for pair in prange((n_tiles + 1) // 2):
        for side in range(2):
            tile = pair if side == 0 else n_tiles - 1 - pair
            if side == 0 or tile != pair:
                first = tile * _ROW_TILE
                last = min(first + _ROW_TILE, n_rows)
                _add_rows_inplace(out, weights, rates, values, values, first, last, last)


@ParallelLoop
def _mirror_lower_inplace(out):  # type: ignore[no-untyped-def]
    # Square tiles, because writing along a column of a large matrix misses the cache every time.
    n_rows = out.shape[0]
    for tile in prange((n_rows + _MIRROR_TILE - 1) // _MIRROR_TILE):
        last = min((tile + 1) * _MIRROR_TILE, n_rows)
        for start in range(0, last, _MIRROR_TILE):
            for i in range(tile * _MIRROR_TILE, last):
                for j in range(start, min(start + _MIRROR_TILE, i)):
                    out[j, i] = out[i, j]


@njit(cache=True, fastmath=_SUM_FLAGS)
def _row_product(row, rate, value, values):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(row.shape[0]):
        scaled = (value - values[j]) * rate
        total += row[j] * _exp_minus(scaled * scaled)
    return total


@ParallelLoop
def _contract_tiles(matrix, rates, left, right, lower):  # type: ignore[no-untyped-def]
    # One partial sum per kernel and band of rows; with `lower`, only entries left of the diagonal.
    n_rows, n_columns = matrix.shape
    n_kernels = rates.shape[0]
    n_bands = (n_rows + _CONTRACT_ROWS - 1) // _CONTRACT_ROWS
    n_groups = (n_kernels + _CONTRACT_KERNELS - 1) // _CONTRACT_KERNELS
    partial = np.zeros((n_kernels, n_bands))
    for task in prange(n_groups * n_bands):
        band = task % n_bands
        first = (task // n_bands) * _CONTRACT_KERNELS
        for kernel in range(first, min(first + _CONTRACT_KERNELS, n_kernels)):
            total = 0.0
            for i in range(band * _CONTRACT_ROWS, min((band + 1) * _CONTRACT_ROWS, n_rows)):
                stop = i if lower else n_columns
                total += _row_product(
                    matrix[i, :stop], rates[kernel], left[kernel, i], right[kernel, :stop]
                )
            partial[kernel, band] = total
    return partial


@njit(cache=True, fastmath=_SUM_FLAGS)
def _fill_pair_inplace(row, rates, left, right):  # type: ignore[no-untyped-def]
    for kernel in range(row.shape[0]):
        scaled = (left[kernel] - right[kernel]) * rates[kernel]
        row[kernel] = _exp_minus(scaled * scaled)


@ParallelLoop
def _fill_pairs_inplace(out, rates, samples, rows, columns):  # type: ignore[no-untyped-def]
    # Here `samples` is sample-major: one pair reads two contiguous rows.
    for pair in prange(rows.shape[0]):
        _fill_pair_inplace(out[pair], rates, samples[rows[pair]], samples[columns[pair]])


def _enough_threads(n_values: int) -> AbstractContextManager[int]:
    # The compiled code is the same for one thread and for many, and so are its results.
    return limited_threads(1 if n_values < _SERIAL_VALUES else None)
