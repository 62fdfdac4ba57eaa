"""Compiled recursions of the global alignment kernel, many pairs side by side.

A task is up to `_LANES` pairs, often of one series with many others. The values of the others are
interleaved, so that every inner loop runs over neighbours in memory and LLVM vectorises it: local
kernels and recursion alike. Where the first series of the pairs differ they are interleaved too.

The recursion ``A_ij = k_ij (A_i-1,j + A_i,j-1 + A_i-1,j-1)`` grows and decays without limit. It
runs in tiles of `_BAND` rows and `_BLOCK` columns. The numbers that enter a tile are brought to one
exponent per pair; within a tile they cannot grow by more than 2**61, and what falls below `_TINY`
there was that much smaller than its neighbours. A result is a mantissa and an exponent of two.
Where all squared distances of a pair are small (`NEAR`), so that local kernels are at least 1/2,
the exponential is a short polynomial, and tiles have `_NEAR_BAND` rows: there numbers grow and
decay by no more than 2**150.

Of a pair with a reach only cells fewer steps than that from the diagonal count, and what else is in
the same block of columns at these distances: which cells these are depends on the pair alone.

Pairs do not influence each other, so the results are the same bits for any number of threads and
any grouping of the pairs, as long as they stay clear of `_TINY`.
"""

from contextlib import AbstractContextManager

import numpy as np
from numba import njit

from imkpl._threads import ParallelLoop, limited_threads

# Pairs side by side: two vectors of eight doubles, or four of four.
_LANES = 16
# Rows of a tile (36 x 16 doubles each) stay in the first-level cache.
_BAND = 16
_NEAR_BAND = 128
_BLOCK = 36
# Bytes in a line of the cache: vectors that cross lines are passed on slowly from row to row.
_LINE = 64
# A larger squared distance counts as this, 60 log(2), so that local kernels stay above 2**-61. It
# changes a normalised kernel by about 1e-18 per pair of time steps, less than rounding.
_LARGEST = 41.588830833596715
# Added to every cell of a tile, where the largest number that enters is between 1 and 2: far below
# rounding, and enough that no number falls below the normal ones, which are slow.
_TINY = 2.0**-900
# Squared distances up to which the polynomials of `_step_near_inplace` and `_step_nearest_inplace`
# hold. A pair is of level 0, 1 or 2: the number of these that its distances do not exceed.
NEAR, NEAREST = 0.3, 0.08
# Stands for no limit on the reach.
_FAR = 2**40
# The exponent of a number that is zero.
_NOTHING = -(2**50)

# With fewer cells (about a millisecond) waking other threads costs more than it saves.
_SERIAL_CELLS = 2**19

_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
# Adding 1.5 * 2**52 leaves the nearest integer in the low bits of the mantissa.
_ROUNDER = 6755399441055744.0


# No reassociation here: (x + _ROUNDER) - _ROUNDER would be simplified to x.
@njit(cache=True, fastmath={"contract", "nsz"})
def _twice_exp(t):  # type: ignore[no-untyped-def]
    # 2 exp(t), t >= 0, as 2**(n + 1) exp(r) with |r| <= ln(2)/2, without branches: LLVM vectorises
    # it. Of t up to 42 the product n * ln(2) loses nothing that matters, so ln(2) has one part.
    t = min(t, _LARGEST)
    shifted = t * _LOG2_E + _ROUNDER
    r = t - (shifted - _ROUNDER) * _LN2
    # 1 + r + r**2 q(r) is exactly 1 at r = 0; q interpolates at nine Chebyshev points: 1e-15.
    q = 2.761379582951087e-07
    q = q * r + 2.762510202030097e-06
    q = q * r + 2.480153640869555e-05
    q = q * r + 0.00019841208756970206
    q = q * r + 0.0013888888905871405
    q = q * r + 0.008333333353717163
    q = q * r + 0.041666666666651364
    q = q * r + 0.16666666666648303
    q = q * r + 0.5
    q = q * r + 1.0
    q = q * r + 1.0
    # The biased exponent moved into place; the shift drops _ROUNDER's own bits.
    bits = (np.float64(shifted).view(np.int64) + np.int64(1024)) << np.int64(52)
    return q * np.int64(bits).view(np.float64)


# With Python's rules for division there would be a test for zero in these loops, and no vectors.
@njit(cache=True, forceinline=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _step_inplace(below, above, squares, value, others):  # type: ignore[no-untyped-def]
    # The next row of the recursion, by local kernels e / (2 - e) = 1 / (2 exp(t) - 1), e = exp(-t),
    # of squared distances t: `squares` plus those of `value` to `others`. The rows have the column
    # before the tile in front. What is read of `below` was written one column of lanes ago, far
    # enough for vectors.
    for i in range(squares.shape[0]):
        difference = value - others[i]
        divisor = _twice_exp(squares[i] + difference * difference) - 1.0
        total = below[i] + (above[i] + above[i + _LANES] + _TINY)
        below[i + _LANES] = total / divisor


@njit(cache=True, forceinline=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _step_near_inplace(below, above, squares, value, others):  # type: ignore[no-untyped-def]
    # For t up to NEAR, 2 exp(t) - 1 is 1 + t p(t); p interpolates at eight Chebyshev points: 2e-15.
    for i in range(squares.shape[0]):
        difference = value - others[i]
        t = squares[i] + difference * difference
        p = 5.671280324510594e-05
        p = p * t + 0.0003932782049128092
        p = p * t + 0.0027786883552230767
        p = p * t + 0.01666653780048752
        p = p * t + 0.08333334321193275
        p = p * t + 0.33333333296203377
        p = p * t + 1.0000000000053106
        p = p * t + 1.9999999999999876
        kernel = 1.0 / (p * t + 1.0)
        below[i + _LANES] = (below[i] + (above[i] + above[i + _LANES] + _TINY)) * kernel


@njit(cache=True, forceinline=True, fastmath={"contract", "nsz"})
def _step_nearest_inplace(below, above, squares, value, others):  # type: ignore[no-untyped-def]
    # For t up to NEAREST, 1 / (2 exp(t) - 1) is 1 + t p(t), with nine points: 3e-15.
    for i in range(squares.shape[0]):
        difference = value - others[i]
        t = squares[i] + difference * difference
        p = -23.733730655204198
        p = p * t + 24.995111635961052
        p = p * t - 18.606913045458658
        p = p * t + 13.000994438331881
        p = p * t - 9.016466982105726
        p = p * t + 6.249996928435304
        p = p * t - 4.333333309563769
        p = p * t + 2.9999999999289484
        p = p * t - 1.999999999999965
        kernel = p * t + 1.0
        below[i + _LANES] = (below[i] + (above[i] + above[i + _LANES] + _TINY)) * kernel


@njit(cache=True, forceinline=True, fastmath={"contract", "nsz"})
def _add_squares_inplace(t, value, others):  # type: ignore[no-untyped-def]
    for i in range(t.shape[0]):
        difference = value - others[i]
        t[i] += difference * difference


@njit(cache=True, fastmath={"contract", "nsz"})
def _add_squares_of_lanes_inplace(t, values, others):  # type: ignore[no-untyped-def]
    for start in range(0, t.shape[0], _LANES):
        for lane in range(_LANES):
            difference = values[lane] - others[start + lane]
            t[start + lane] += difference * difference


@njit(cache=True, forceinline=True)
def _fill_squares_inplace(t, one, is_shared, place, others, begin, n_channels):  # type: ignore[no-untyped-def]
    # Channels stand one after the other in `one` and in `others`; the last may be left out.
    n_cells = t.shape[0]
    _clear_inplace(t, 0)
    for channel in range(n_channels - is_shared):
        here = channel * (others.shape[0] // n_channels) + begin
        there = channel * (one.shape[0] // n_channels)
        columns = others[here : here + n_cells]
        if is_shared:
            _add_squares_inplace(t, one[there + place], columns)
        else:
            there += place * _LANES
            _add_squares_of_lanes_inplace(t, one[there : there + _LANES], columns)


@njit(cache=True, forceinline=True)
def _copy_inplace(target, to, source, start, n_copied):  # type: ignore[no-untyped-def]
    for i in range(n_copied):
        target[to + i] = source[start + i]


@njit(cache=True, forceinline=True)
def _clear_inplace(target, start):  # type: ignore[no-untyped-def]
    for i in range(start, target.shape[0]):
        target[i] = 0


@njit(cache=True)
def _exponent(value):  # type: ignore[no-untyped-def]
    return (np.float64(value).view(np.int64) >> np.int64(52)) - np.int64(1023)


@njit(cache=True)
def _power(exponent):  # type: ignore[no-untyped-def]
    # 2**exponent, and 0 below the normal numbers.
    if exponent < -1022:
        return 0.0
    bits = (np.int64(min(exponent, 1023)) + np.int64(1023)) << np.int64(52)
    return np.int64(bits).view(np.float64)


@njit(cache=True, fastmath={"nnan", "nsz"})
def _find_largest_inplace(largest, values):  # type: ignore[no-untyped-def]
    _copy_inplace(largest, 0, values, 0, _LANES)
    for start in range(_LANES, values.shape[0], _LANES):
        for lane in range(_LANES):
            largest[lane] = max(largest[lane], values[start + lane])


@njit(cache=True)
def _scale_inplace(values, factors):  # type: ignore[no-untyped-def]
    for start in range(0, values.shape[0], _LANES):
        for lane in range(_LANES):
            values[start + lane] *= factors[lane]


@njit(cache=True)
def _join_exponents_inplace(top, side, top_exponents, side_exponents, factors):  # type: ignore[no-untyped-def]
    # Bring the row above a tile and the column on its left to one exponent per lane, at which the
    # largest number is between 1 and 2.
    _find_largest_inplace(factors[0], top)
    _find_largest_inplace(factors[1], side)
    for lane in range(_LANES):
        above = beside = _NOTHING
        if factors[0, lane] > 0:
            above = top_exponents[lane] + _exponent(factors[0, lane])
        if factors[1, lane] > 0:
            beside = side_exponents[lane] + _exponent(factors[1, lane])
        joint = max(above, beside)
        factors[0, lane] = _power(top_exponents[lane] - joint)
        factors[1, lane] = _power(side_exponents[lane] - joint)
        top_exponents[lane] = side_exponents[lane] = joint
    _scale_inplace(top, factors[0])
    _scale_inplace(side, factors[1])


@njit(cache=True)
def _empty(n_values):  # type: ignore[no-untyped-def]
    # Begins with a line of the cache.
    values = np.empty(n_values + _LINE // 8)
    first = -values.ctypes.data % _LINE // 8
    return values[first : first + n_values]


@njit(cache=True)
def _pack_lanes(values, starts, members, n_lanes, n_steps):  # type: ignore[no-untyped-def]
    # Values of several series interleaved, channel after channel. A shorter one repeats its last
    # value, which no cell before its end sees; the last series fills the lanes that are left.
    n_channels = values.shape[0]
    packed = _empty(n_channels * n_steps * n_lanes)
    for channel in range(n_channels):
        begin = channel * n_steps * n_lanes
        for lane in range(n_lanes):
            series = members[min(lane, members.shape[0] - 1)]
            first, last = starts[series], starts[series + 1] - 1
            for j in range(n_steps):
                packed[begin + j * n_lanes + lane] = values[channel, min(first + j, last)]
    return packed


@njit(cache=True, forceinline=True)
def _run_row_inplace(below, above, side, r, squares, value, others, level):  # type: ignore[no-untyped-def]
    _copy_inplace(below, 0, side, (r + 1) * _LANES, _LANES)
    if level == 2:
        _step_nearest_inplace(below, above, squares, value, others)
    elif level == 1:
        _step_near_inplace(below, above, squares, value, others)
    else:
        _step_inplace(below, above, squares, value, others)
    # The column before the tile has been used up to here; the tile's last takes its place.
    _copy_inplace(side, r * _LANES, above, squares.shape[0], _LANES)


@njit(cache=True)
def _run_tile_inplace(buffers, side, series, top, n_rows, begin, n_cells):  # type: ignore[no-untyped-def]
    # The first buffer holds the column before the tile and the row above it, `side` the column
    # before it from the row above on. `side` leaves as the tile's last column; the last row is
    # returned. Rows take turns in two buffers: swapping arrays would count references.
    even, odd, sums, zeros = buffers
    one, is_shared, others, n_channels, level = series
    # Of a shared series the last channel is left to the step; otherwise the step adds nothing.
    n_summed = n_channels - is_shared
    squares, columns = (sums if n_summed > 0 else zeros)[:n_cells], zeros[:n_cells]
    if is_shared:
        first = n_summed * (others.shape[0] // n_channels) + begin
        columns = others[first : first + n_cells]
    for r in range(n_rows):
        if n_summed > 0:
            _fill_squares_inplace(squares, one, is_shared, top + r, others, begin, n_channels)
        value = one[n_summed * (one.shape[0] // n_channels) + top + r] if is_shared else zeros[0]
        if r % 2 == 0:
            _run_row_inplace(odd, even, side, r, squares, value, columns, level)
        else:
            _run_row_inplace(even, odd, side, r, squares, value, columns, level)
    last = even if n_rows % 2 == 0 else odd
    _copy_inplace(side, n_rows * _LANES, last, n_cells, _LANES)
    return last


@njit(cache=True)
def _run_band_inplace(bottom, exponents, buffers, side, series, top, n_band, reach):  # type: ignore[no-untyped-def]
    # Some more rows of A: `bottom` is the last one, in units of 2**exponents per block of columns.
    row = buffers[0]
    side_exponents, factors = np.zeros(_LANES, dtype=np.int64), np.empty((2, _LANES))
    _clear_inplace(side, 0)
    if top == 0:
        # The empty alignment, before the first cell.
        for lane in range(_LANES):
            side[lane] = 1
    for block in range(exponents.shape[0]):
        begin, end = block * _BLOCK * _LANES, min((block + 1) * _BLOCK * _LANES, bottom.shape[0])
        n_cells = end - begin
        # Rows of the band within reach of the block.
        first = max(0, block * _BLOCK - reach - top)
        last = min(n_band, (block + 1) * _BLOCK + reach - top)
        if last < 0:
            continue
        if first >= n_band:
            break
        above, beside = bottom[begin:end], side[first * _LANES : (last + 1) * _LANES]
        _join_exponents_inplace(above, beside, exponents[block], side_exponents, factors)
        _copy_inplace(row, 0, beside, 0, _LANES)
        _copy_inplace(row, _LANES, above, 0, n_cells)
        lowest = _run_tile_inplace(
            buffers, beside, series, top + first, last - first, begin, n_cells
        )
        if last < n_band:
            _clear_inplace(above, 0)
        else:
            _copy_inplace(above, 0, lowest, _LANES, n_cells)


@njit(cache=True)
def _find_stop(top, n_rows, row_ends):  # type: ignore[no-untyped-def]
    # A band ends where a series ends: there its result is read.
    stop = top + n_rows
    for end in row_ends:
        if top < end < stop:
            stop = end
    return stop


@njit(cache=True)
def _align_lanes_inplace(results, series, row_ends, column_ends, reach):  # type: ignore[no-untyped-def]
    # `series` are what is compared: (one, is_shared, others, n_channels, level).
    (mantissas, powers), level = results, series[4]
    n_rows, n_columns = row_ends.max(), column_ends.max()
    n_band = _NEAR_BAND if level > 0 else _BAND
    size = (_BLOCK + 1) * _LANES
    rows = _empty(4 * size)
    _clear_inplace(rows, 0)
    buffers = rows[:size], rows[size : 2 * size], rows[2 * size : 3 * size], rows[3 * size :]
    side = _empty((min(n_band, n_rows) + 1) * _LANES)
    bottom = _empty(n_columns * _LANES)
    _clear_inplace(bottom, 0)
    exponents = np.full(((n_columns + _BLOCK - 1) // _BLOCK, _LANES), _NOTHING)
    top = np.int64(0)
    while top < n_rows:
        stop = _find_stop(top, n_band, row_ends)
        _run_band_inplace(bottom, exponents, buffers, side, series, top, stop - top, reach)
        for lane in range(row_ends.shape[0]):
            if row_ends[lane] == stop:
                place = column_ends[lane] - 1
                mantissas[lane] = bottom[place * _LANES + lane]
                powers[lane] = exponents[place // _BLOCK, lane]
        top = stop


@ParallelLoop(lambda bounds, *_: bounds.size - 1)
def _align_tasks_inplace(first_task, last_task, bounds, found, sets, rows, columns, kinds):  # type: ignore[no-untyped-def]
    # Task t are the pairs bounds[t] to bounds[t + 1], at most _LANES, of one kind.
    (mantissas, powers), (left, left_starts, right, right_starts) = found, sets
    for task in range(first_task, last_task):
        first, last = bounds[task], bounds[task + 1]
        # Four times the reach, plus the level.
        reach = kinds[first] // 4 if kinds[first] >= 4 else _FAR
        ours, theirs = rows[first:last], columns[first:last]
        row_ends = left_starts[ours + 1] - left_starts[ours]
        column_ends = right_starts[theirs + 1] - right_starts[theirs]
        is_shared = np.all(ours == ours[0])
        one = _pack_lanes(left, left_starts, ours, 1 if is_shared else _LANES, row_ends.max())
        others = _pack_lanes(right, right_starts, theirs, _LANES, column_ends.max())
        series = one, is_shared, others, left.shape[0], kinds[first] % 4
        results = mantissas[first:last], powers[first:last]
        _align_lanes_inplace(results, series, row_ends, column_ends, reach)


# All alignments of one pair of series, in log space. Slower than the tiles above, but every cell is
# kept: which cells the alignments pass is what explains a similarity.


@njit(cache=True)
def _log_sum(a, b, c):  # type: ignore[no-untyped-def]
    largest = max(a, b, c)
    return largest + np.log(np.exp(a - largest) + np.exp(b - largest) + np.exp(c - largest))


@njit(cache=True)
def _log_alignments(local):  # type: ignore[no-untyped-def]
    # log A_ij with a row and a column before the first; `local` holds logs of local kernels.
    n, m = local.shape
    total = np.full((n + 1, m + 1), -np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = local[i, j] + _log_sum(
                total[i, j], total[i, j + 1], total[i + 1, j]
            )
    return total


@njit(cache=True)
def _visits(local, total):  # type: ignore[no-untyped-def]
    # How likely an alignment passes each cell. An alignment that passes a cell came from one of
    # three, with the shares that these have in the sum.
    n, m = local.shape
    visits = np.zeros((n, m))
    visits[n - 1, m - 1] = 1.0
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            if visits[i, j] == 0.0:
                continue
            before = total[i + 1, j + 1] - local[i, j]
            for di, dj in ((1, 1), (1, 0), (0, 1)):
                if i >= di and j >= dj:
                    share = np.exp(total[i + 1 - di, j + 1 - dj] - before)
                    visits[i - di, j - dj] += visits[i, j] * share
    return visits


def _enough_threads(n_cells: float) -> AbstractContextManager[int]:
    # The compiled code is the same for one thread and for many, and so are its results.
    return limited_threads(1 if n_cells < _SERIAL_CELLS else None)
