"""Compiled sums over Gaussian kernels in single precision: four times as fast, right to 1e-6.

Values arrive kernel-major, centred and divided by the width: kernel l is ``exp(-(u - v)**2)``. Sums
are short in single precision and long in the type of the result; as in `_gaussian_loops`, results
are the same bits for any number of threads.
"""

import numpy as np
from numba import njit, prange

from imkpl._threads import ParallelLoop
from imkpl.kernels._gaussian_loops import _COLUMN_TILE, _ROW_TILE

# So many kernels are summed in single precision before they are added to the result.
_GROUP = 32

_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts: n * _LN2_HIGH is exact for |n| < 2**8.
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
# Adding 1.5 * 2**23 leaves the nearest integer in the low bits of the mantissa.
_ROUNDER = np.float32(12582912.0)
# exp(-60) is 0 to any sum, and a normal number also when it is multiplied by a small weight.
_LARGEST = np.float32(60.0)
# exp(r) = 1 + r + r**2 q(r) for |r| <= ln(2) / 2, to the last bit of single precision.
_Q0, _Q1, _Q2 = np.float32(1.3981999e-3), np.float32(8.3334519e-3), np.float32(4.1665796e-2)
_Q3, _Q4, _ONE = np.float32(1.6666665e-1), np.float32(0.5), np.float32(1.0)


# No reassociation here: (_ROUNDER - x) - _ROUNDER would be simplified to -x.
@njit(cache=True, fastmath={"contract", "nsz"})
def _exp_minus(t):  # type: ignore[no-untyped-def]
    t = min(t, _LARGEST)
    shifted = _ROUNDER - t * _LOG2_E
    n = shifted - _ROUNDER
    r = (-t - n * _LN2_HIGH) - n * _LN2_LOW
    q = _Q0
    q = q * r + _Q1
    q = q * r + _Q2
    q = q * r + _Q3
    q = q * r + _Q4
    q = q * r + _ONE
    q = q * r + _ONE
    bits = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    return q * np.int32(bits).view(np.float32)


@njit(cache=True)
def _exp_minus_all(t):  # type: ignore[no-untyped-def]
    out = np.empty_like(t)
    for i in range(t.shape[0]):
        out[i] = _exp_minus(t[i])
    return out


@njit(cache=True, fastmath={"contract", "nsz"})
def _add_row_inplace(row, weight, value, values):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        difference = value - values[j]
        row[j] += weight * _exp_minus(difference * difference)


@njit(cache=True)
def _add_rows_inplace(out, weights, left, right, first, last, n_columns):  # type: ignore[no-untyped-def]
    # The index of a parallel loop is unsigned; its difference to another would be a float.
    first, last = np.int64(first), np.int64(last)
    tile = np.empty((_ROW_TILE, _COLUMN_TILE), dtype=np.float32)
    for start in range(0, n_columns, _COLUMN_TILE):
        stop = min(start + _COLUMN_TILE, n_columns)
        for group in range(0, weights.shape[0], _GROUP):
            tile[:] = 0
            for kernel in range(group, min(group + _GROUP, weights.shape[0])):
                values = right[kernel, start:stop]
                for i in range(first, last):
                    row = tile[i - first, : stop - start]
                    _add_row_inplace(row, weights[kernel], left[kernel, i], values)
            for i in range(first, last):
                for j in range(start, stop):
                    out[i, j] += tile[i - first, j - start]


@ParallelLoop
def _combine_cross_inplace(out, weights, left, right):  # type: ignore[no-untyped-def]
    n_rows, n_columns = out.shape
    for tile in prange((n_rows + _ROW_TILE - 1) // _ROW_TILE):
        first = tile * _ROW_TILE
        last = min(first + _ROW_TILE, n_rows)
        _add_rows_inplace(out, weights, left, right, first, last, n_columns)


@ParallelLoop
def _combine_lower_inplace(out, weights, values):  # type: ignore[no-untyped-def]
    n_rows = out.shape[0]
    n_tiles = (n_rows + _ROW_TILE - 1) // _ROW_TILE
    # A short and a long band of the triangle per task: equal work for every thread.
    for pair in prange((n_tiles + 1) // 2):
        for side in range(2):
            tile = pair if side == 0 else n_tiles - 1 - pair
            if side == 0 or tile != pair:
                first = tile * _ROW_TILE
                last = min(first + _ROW_TILE, n_rows)
                _add_rows_inplace(out, weights, values, values, first, last, last)
