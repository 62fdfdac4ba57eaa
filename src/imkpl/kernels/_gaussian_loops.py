"""Compiled sums over Gaussian kernels on single features.

Values arrive kernel-major: row l of `values` holds the feature that kernel l reads, so that the
innermost loops run over contiguous samples. Kernel l is ``exp(-((x - y) * rates[l])**2)``.

Each entry of a matrix is summed over the kernels in their order by one thread; contractions and
sums over pairs run over tiles of fixed size, and sparse rows one after the other for each kernel:
the results are the same bits for any number of threads.
"""

from contextlib import AbstractContextManager

import numpy as np

from imkpl._threads import ParallelLoop, inner_loop, limited_threads

# Reassociation lets LLVM vectorise a sum over a row; its order is fixed when the loop is compiled.
_SUM_FLAGS = {"reassoc", "contract", "nsz", "arcp"}

# A tile of outputs (16 x 256 doubles) stays in the first-level cache while the kernels pass by.
_ROW_TILE = 16
_COLUMN_TILE = 256
# Rows of the contracted matrix that stay in the second-level cache while 32 kernels pass by.
_CONTRACT_ROWS = 32
_CONTRACT_KERNELS = 32

# With fewer kernel values (a millisecond) waking other threads costs more than it saves.
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
@inner_loop(fastmath={"contract", "nsz"})
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


@inner_loop(fastmath=_SUM_FLAGS)
def _add_row_inplace(row, weight, rate, value, values):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        scaled = (value - values[j]) * rate
        row[j] += weight * _exp_minus(scaled * scaled)


@inner_loop()
def _add_rows_inplace(out, weights, rates, left, right, first, last, n_columns):  # type: ignore[no-untyped-def]
    for start in range(0, n_columns, _COLUMN_TILE):
        stop = min(start + _COLUMN_TILE, n_columns)
        for kernel in range(weights.shape[0]):
            values = right[kernel, start:stop]
            for i in range(first, last):
                _add_row_inplace(
                    out[i, start:stop], weights[kernel], rates[kernel], left[kernel, i], values
                )


@inner_loop(fastmath=_SUM_FLAGS)
def _row_product(row, rate, value, values):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(row.shape[0]):
        scaled = (value - values[j]) * rate
        total += row[j] * _exp_minus(scaled * scaled)
    return total


@ParallelLoop(lambda sums, *_: sums.shape[1] * -(-sums.shape[0] // _CONTRACT_KERNELS))
def _contract_tiles_inplace(first_task, last_task, sums, matrix, rates, left, right, lower):  # type: ignore[no-untyped-def]
    # One partial sum per kernel and band of rows; with `lower`, only entries left of the diagonal.
    n_rows, n_columns = matrix.shape
    n_kernels, n_bands = sums.shape
    for task in range(first_task, last_task):
        band = task % n_bands
        first = (task // n_bands) * _CONTRACT_KERNELS
        for kernel in range(first, min(first + _CONTRACT_KERNELS, n_kernels)):
            total = 0.0
            for i in range(band * _CONTRACT_ROWS, min((band + 1) * _CONTRACT_ROWS, n_rows)):
                stop = i if lower else n_columns
                total += _row_product(
                    matrix[i, :stop], rates[kernel], left[kernel, i], right[kernel, :stop]
                )
            sums[kernel, band] = total


@inner_loop(fastmath=_SUM_FLAGS)
def _fill_pair_inplace(row, rates, left, right):  # type: ignore[no-untyped-def]
    for kernel in range(row.shape[0]):
        scaled = (left[kernel] - right[kernel]) * rates[kernel]
        row[kernel] = _exp_minus(scaled * scaled)


@ParallelLoop(lambda out, *_: out.shape[0])
def _fill_pairs_inplace(first_pair, last_pair, out, rates, samples, rows, columns):  # type: ignore[no-untyped-def]
    # Here `samples` is sample-major: one pair reads two contiguous rows.
    for pair in range(first_pair, last_pair):
        _fill_pair_inplace(out[pair], rates, samples[rows[pair]], samples[columns[pair]])


# In single precision: four times as fast, right to 1e-6. Values arrive centred and divided by the
# width: kernel l is exp(-(u - v)**2). Short sums are in single precision, long ones in the type of
# the result.

# Number of kernels summed in single precision before they are added to the result.
_SINGLE_GROUP = 32

_LOG2_E_SINGLE = np.float32(1.4426950408889634)
# ln 2 in two parts: n * _LN2_HIGH_SINGLE is exact for |n| < 2**8.
_LN2_HIGH_SINGLE = np.float32(0.693359375)
_LN2_LOW_SINGLE = np.float32(-2.12194440e-4)
# Adding 1.5 * 2**23 leaves the nearest integer in the low bits of the mantissa.
_ROUNDER_SINGLE = np.float32(12582912.0)
# exp(-60) is 0 to any sum, and a normal number also when it is multiplied by a small weight.
_LARGEST_SINGLE = np.float32(60.0)
# exp(r) = 1 + r + r**2 q(r) for |r| <= ln(2) / 2, to the last bit of single precision.
_Q0, _Q1, _Q2 = np.float32(1.3981999e-3), np.float32(8.3334519e-3), np.float32(4.1665796e-2)
_Q3, _Q4, _ONE = np.float32(1.6666665e-1), np.float32(0.5), np.float32(1.0)


# No reassociation here: (_ROUNDER_SINGLE - x) - _ROUNDER_SINGLE would be simplified to -x.
@inner_loop(fastmath={"contract", "nsz"})
def _exp_minus_single(t):  # type: ignore[no-untyped-def]
    t = min(t, _LARGEST_SINGLE)
    shifted = _ROUNDER_SINGLE - t * _LOG2_E_SINGLE
    n = shifted - _ROUNDER_SINGLE
    r = (-t - n * _LN2_HIGH_SINGLE) - n * _LN2_LOW_SINGLE
    q = _Q0
    q = q * r + _Q1
    q = q * r + _Q2
    q = q * r + _Q3
    q = q * r + _Q4
    q = q * r + _ONE
    q = q * r + _ONE
    bits = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    return q * np.int32(bits).view(np.float32)


@inner_loop(fastmath={"contract", "nsz"})
def _add_row_single_inplace(row, weight, value, values):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        difference = value - values[j]
        row[j] += weight * _exp_minus_single(difference * difference)


@inner_loop()
def _add_rows_single_inplace(out, weights, left, right, first, last, n_columns):  # type: ignore[no-untyped-def]
    tile = np.empty((_ROW_TILE, _COLUMN_TILE), dtype=np.float32)
    for start in range(0, n_columns, _COLUMN_TILE):
        stop = min(start + _COLUMN_TILE, n_columns)
        for group in range(0, weights.shape[0], _SINGLE_GROUP):
            tile[:] = 0
            for kernel in range(group, min(group + _SINGLE_GROUP, weights.shape[0])):
                values = right[kernel, start:stop]
                for i in range(first, last):
                    row = tile[i - first, : stop - start]
                    _add_row_single_inplace(row, weights[kernel], left[kernel, i], values)
            for i in range(first, last):
                for j in range(start, stop):
                    out[i, j] += tile[i - first, j - start]


# A short and a long band of the triangle per task: equal work for every thread.
@ParallelLoop(lambda out, *_: -(-out.shape[0] // (2 * _ROW_TILE)))
def _combine_inplace(first_pair, last_pair, out, weights, rates, left, right, lower):  # type: ignore[no-untyped-def]
    # With `lower`, only entries left of the diagonal, and of the tile that it crosses.
    n_rows, n_columns = out.shape
    n_bands = (n_rows + _ROW_TILE - 1) // _ROW_TILE
    for pair in range(first_pair, last_pair):
        for side in range(2):
            band = pair if side == 0 else n_bands - 1 - pair
            if side == 0 or band != pair:
                first = band * _ROW_TILE
                last = min(first + _ROW_TILE, n_rows)
                stop = last if lower else n_columns
                if out.itemsize == 4:
                    _add_rows_single_inplace(out, weights, left, right, first, last, stop)
                else:
                    _add_rows_inplace(out, weights, rates, left, right, first, last, stop)


# Sums over listed pairs and over sparse rows.

# No reassociation: with it sums may have other last bits in the process that compiled them than in
# those that find them in Numba's cache.
_ROW_FLAGS = {"contract", "nsz"}

# Pairs in one partial sum, and kernels whose sums stay in the first-level cache meanwhile.
_PAIR_BAND = 8192
_PAIR_KERNELS = 256


@inner_loop(fastmath=_ROW_FLAGS)
def _add_pair_inplace(sums, value, rates, left, right):  # type: ignore[no-untyped-def]
    for kernel in range(sums.shape[0]):
        scaled = (left[kernel] - right[kernel]) * rates[kernel]
        sums[kernel] += value * _exp_minus(scaled * scaled)


@ParallelLoop(lambda sums, *_: sums.shape[0] * -(-sums.shape[1] // _PAIR_KERNELS))
def _sum_pairs_inplace(first_task, last_task, sums, values, rates, samples, rows, columns):  # type: ignore[no-untyped-def]
    # One partial sum per band and kernel; `samples` is sample-major, so that kernels vectorise.
    n_pairs = values.shape[0]
    n_bands, n_kernels = sums.shape
    for task in range(first_task, last_task):
        band = task % n_bands
        first = (task // n_bands) * _PAIR_KERNELS
        last = min(first + _PAIR_KERNELS, n_kernels)
        for pair in range(band * _PAIR_BAND, min((band + 1) * _PAIR_BAND, n_pairs)):
            _add_pair_inplace(
                sums[band, first:last],
                values[pair],
                rates[first:last],
                samples[rows[pair], first:last],
                samples[columns[pair], first:last],
            )


@ParallelLoop(lambda is_wide, *_: is_wide.size)
def _place_narrow_inplace(first_kernel, last_kernel, is_wide, starts, offsets, values, rates, grid):  # type: ignore[no-untyped-def]
    # Positions of the samples in grid points from the lowest one, for kernels that span no more
    # than `widest` of them, and which kernels span more.
    spacing, lead, alignment, widest = grid
    n_samples = values.shape[1]
    for kernel in range(first_kernel, last_kernel):
        row, rate = values[kernel], rates[kernel]
        lowest, highest = row[0], row[0]
        for value in row:
            lowest, highest = min(lowest, value), max(highest, value)
        is_wide[kernel] = (highest - lowest) * rate * (1.0 / spacing) > widest
        if not is_wide[kernel]:
            for sample in range(n_samples):
                position = (row[sample] - lowest) * rate * (1.0 / spacing)
                first = np.int64(position / alignment) * alignment
                starts[kernel, sample] = first
                offsets[kernel, sample] = position - first + lead


@inner_loop(fastmath=_ROW_FLAGS)
def _fill_windows_inplace(store, offsets, width, spacing, scale):  # type: ignore[no-untyped-def]
    # scale * exp(-2 (u - t)**2) at the grid points t of the window around u = offset * spacing.
    curvature = 2.0 * spacing * spacing
    for sample in range(offsets.shape[0]):
        window = store[sample * width : (sample + 1) * width]
        for point in range(window.shape[0]):
            distance = offsets[sample] - point
            window[point] = scale * _exp_minus(curvature * distance * distance)


# Loops that add windows are written out: as functions of their own they take four times longer.
@inner_loop(fastmath=_ROW_FLAGS)
def _fill_mixes_inplace(store, firsts, lengths, places, n_cells, mixes):  # type: ignore[no-untyped-def]
    # The window of a mix reaches from the first to the last cell of its samples.
    pointers, columns, values = mixes
    n_mixes = pointers.shape[0] - 1
    n_samples = firsts.shape[0] - n_mixes
    for mix in range(n_mixes):
        low, high = n_cells, 0
        for entry in range(pointers[mix], pointers[mix + 1]):
            sample = columns[entry]
            low = min(low, firsts[sample])
            high = max(high, firsts[sample] + lengths[sample])
        low = min(low, high)
        firsts[n_samples + mix], lengths[n_samples + mix] = low, high - low
        place = places[n_samples + mix]
        store[place : place + high - low] = 0.0
        for entry in range(pointers[mix], pointers[mix + 1]):
            sample, value = columns[entry], values[entry]
            start, length = place + firsts[sample] - low, lengths[sample]
            cells = store[start : start + length]
            window = store[places[sample] : places[sample] + length]
            for cell in range(length):
                cells[cell] += value * window[cell]


@inner_loop(fastmath=_ROW_FLAGS)
def _drain_squares(part):  # type: ignore[no-untyped-def]
    # The sum of squares, in four lanes that vectorise as they stand; zeros are left behind.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    n_lanes = part.shape[0] // 4
    for lane in range(n_lanes):
        cell = 4 * lane
        first += part[cell] * part[cell]
        second += part[cell + 1] * part[cell + 1]
        third += part[cell + 2] * part[cell + 2]
        fourth += part[cell + 3] * part[cell + 3]
    for cell in range(4 * n_lanes, part.shape[0]):
        first += part[cell] * part[cell]
    part[:] = 0.0
    return (first + second) + (third + fourth)


@inner_loop(fastmath=_ROW_FLAGS)
def _sum_squares_inplace(sums, rows, row_weights, firsts, lengths, places, store, cells):  # type: ignore[no-untyped-def]
    # sum_i row_weights_i || r_i Z ||**2; column j of the rows stands for the window
    # store[places[j] : places[j] + lengths[j]] at cell firsts[j]. All cells are zero between rows.
    pointers, columns, values = rows
    sums[:] = 0.0
    for row in range(row_weights.shape[0]):
        low, high, n_touched = cells.shape[0], 0, 0
        for entry in range(pointers[row], pointers[row + 1]):
            column, value = columns[entry], values[entry]
            first, length = firsts[column], lengths[column]
            part = cells[first : first + length]
            window = store[places[column] : places[column] + length]
            for cell in range(length):
                part[cell] += value * window[cell]
            low, high, n_touched = min(low, first), max(high, first + length), n_touched + length
        norm = 0.0
        if high - low <= n_touched:
            norm += _drain_squares(cells[min(low, high) : high])
        else:
            # Samples far apart: visit their windows only. What two share is zero the second time.
            for entry in range(pointers[row], pointers[row + 1]):
                first = firsts[columns[entry]]
                norm += _drain_squares(cells[first : first + lengths[columns[entry]]])
        for place in range(sums.shape[0]):
            sums[place] += row_weights[row, place] * norm


@ParallelLoop(lambda sums, *_: sums.shape[0])
def _sum_rows_inplace(first_kernel, last_kernel, sums, rows, row_weights, mixes, samples, windows):  # type: ignore[no-untyped-def]
    # `rows` and `mixes` are (pointers, columns, values) of sparse arrays. The first columns of the
    # rows stand for samples, whose windows have `width` cells, the others for mixes of samples.
    # That of column j begins at places[j] of the store, and the last place is its end.
    (starts, offsets), (places, most_cells, width, spacing, scale) = samples, windows
    n_samples, n_columns = starts.shape[1], places.shape[0] - 1
    store, cells = np.empty(places[n_columns]), np.zeros(most_cells)
    firsts, lengths = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    for kernel in range(first_kernel, last_kernel):
        for sample in range(n_samples):
            firsts[sample], lengths[sample] = starts[kernel, sample], width
        _fill_windows_inplace(store, offsets[kernel], width, spacing, scale)
        _fill_mixes_inplace(store, firsts, lengths, places, most_cells, mixes)
        _sum_squares_inplace(sums[kernel], rows, row_weights, firsts, lengths, places, store, cells)


def _enough_threads(n_values: int) -> AbstractContextManager[int]:
    # The compiled code is the same for one thread and for many, and so are its results.
    return limited_threads(1 if n_values < _SERIAL_VALUES else None)
