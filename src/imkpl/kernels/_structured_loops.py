"""Compiled sums of Gaussian kernels on single features over few pairs and over sparse rows.

Kernel l is ``exp(-((x - y) * rates[l])**2)``. Pairs are summed in bands of fixed size, and rows one
after the other for each kernel: the results are the same bits for any number of threads.
"""

import numpy as np
from numba import njit, prange

from imkpl._threads import ParallelLoop
from imkpl.kernels._gaussian_loops import _exp_minus

# No reassociation: Numba optimises the body of a parallel loop once more when it is stored in its
# cache, and with it sums had other last bits in the process that compiled them than in all others.
_FLAGS = {"contract", "nsz"}

# Pairs in one partial sum, and kernels whose sums stay in the first-level cache meanwhile.
_PAIR_BAND = 8192
_PAIR_KERNELS = 256
# Kernels that share one allocation of scratch memory.
_ROW_KERNELS = 4


@njit(cache=True, fastmath=_FLAGS)
def _add_pair_inplace(sums, value, rates, left, right):  # type: ignore[no-untyped-def]
    for kernel in range(sums.shape[0]):
        scaled = (left[kernel] - right[kernel]) * rates[kernel]
        sums[kernel] += value * _exp_minus(scaled * scaled)


@ParallelLoop
def _sum_pairs(values, rates, samples, rows, columns):  # type: ignore[no-untyped-def]
    # One partial sum per band and kernel; `samples` is sample-major, so that kernels vectorise.
    n_pairs, n_kernels = values.shape[0], rates.shape[0]
    n_bands = (n_pairs + _PAIR_BAND - 1) // _PAIR_BAND
    n_groups = (n_kernels + _PAIR_KERNELS - 1) // _PAIR_KERNELS
    partial = np.zeros((n_bands, n_kernels))
    for task in prange(n_bands * n_groups):
        band = task % n_bands
        first = (task // n_bands) * _PAIR_KERNELS
        last = min(first + _PAIR_KERNELS, n_kernels)
        sums = partial[band, first:last]
        for pair in range(band * _PAIR_BAND, min((band + 1) * _PAIR_BAND, n_pairs)):
            _add_pair_inplace(
                sums,
                values[pair],
                rates[first:last],
                samples[rows[pair], first:last],
                samples[columns[pair], first:last],
            )
    return partial


@ParallelLoop
def _place_narrow_inplace(starts, offsets, values, rates, spacing, lead, alignment, widest):  # type: ignore[no-untyped-def]
    # Positions of the samples in grid points from the lowest one, for kernels that span no more
    # than `widest` of them; returns which kernels span more.
    n_kernels, n_samples = values.shape
    is_wide = np.zeros(n_kernels, dtype=np.bool_)
    for kernel in prange(n_kernels):
        row, rate = values[kernel], rates[kernel]
        # Differences of halves cannot overflow, and what a denormal number loses does not matter.
        lowest = 0.5 * row.min()
        is_wide[kernel] = (0.5 * row.max() - lowest) * rate * (2.0 / spacing) > widest
        if not is_wide[kernel]:
            for sample in range(n_samples):
                position = (0.5 * row[sample] - lowest) * rate * (2.0 / spacing)
                first = np.int64(position / alignment) * alignment
                starts[kernel, sample] = first
                offsets[kernel, sample] = position - first + lead
    return is_wide


@njit(cache=True, fastmath=_FLAGS)
def _fill_windows_inplace(store, offsets, width, spacing, scale):  # type: ignore[no-untyped-def]
    # scale * exp(-2 (u - t)**2) at the grid points t of the window around u = offset * spacing.
    curvature = 2.0 * spacing * spacing
    for sample in range(offsets.shape[0]):
        window = store[sample * width : (sample + 1) * width]
        for point in range(window.shape[0]):
            distance = offsets[sample] - point
            window[point] = scale * _exp_minus(curvature * distance * distance)


# Loops that add windows are written out: as functions of their own they take four times longer.
@njit(cache=True, fastmath=_FLAGS)
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


@njit(cache=True, fastmath=_FLAGS)
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


@njit(cache=True, fastmath=_FLAGS)
def _sum_squares(rows, row_weights, firsts, lengths, places, store, cells):  # type: ignore[no-untyped-def]
    # sum_i row_weights_i || r_i Z ||**2; column j of the rows stands for the window
    # store[places[j] : places[j] + lengths[j]] at cell firsts[j]. All cells are zero between rows.
    pointers, columns, values = rows
    total = 0.0
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
        total += row_weights[row] * norm
    return total


@ParallelLoop
def _sum_rows(rows, row_weights, mixes, starts, offsets, n_cells, width, spacing, scale):  # type: ignore[no-untyped-def]
    # `rows` and `mixes` are (pointers, columns, values) of sparse arrays. The first columns of the
    # rows stand for samples, whose windows have `width` cells, the others for mixes of samples.
    n_kernels, n_samples = starts.shape
    n_mixes, most_cells = mixes[0].shape[0] - 1, n_cells.max()
    sums = np.empty(n_kernels)
    for group in prange((n_kernels + _ROW_KERNELS - 1) // _ROW_KERNELS):
        store = np.empty(n_samples * width + n_mixes * most_cells)
        cells = np.zeros(most_cells)
        firsts = np.empty(n_samples + n_mixes, dtype=np.int64)
        lengths = np.full(n_samples + n_mixes, width, dtype=np.int64)
        places = np.arange(n_samples + n_mixes) * width
        places[n_samples:] = n_samples * width + np.arange(n_mixes) * most_cells
        for kernel in range(group * _ROW_KERNELS, min((group + 1) * _ROW_KERNELS, n_kernels)):
            firsts[:n_samples] = starts[kernel]
            _fill_windows_inplace(store, offsets[kernel], width, spacing, scale)
            _fill_mixes_inplace(store, firsts, lengths, places, most_cells, mixes)
            sums[kernel] = _sum_squares(rows, row_weights, firsts, lengths, places, store, cells)
    return sums
