"""Normalised global alignment kernels of many pairs of series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import _alignment_loops as loops
from imkpl.series import SeriesSet

# Pairs held at a time: their indices, mantissas and exponents take 50 bytes each.
MOST_PAIRS = 2**20


@dataclass(frozen=True, eq=False)
class SelfSimilarities:
    """``A(x, x)`` of series as mantissas and exponents of two; as numbers they would overflow.

    Parameters
    ----------
    mantissas : array of shape (n_series,)
        Positive numbers.
    exponents : int array of shape (n_series,)
        The value is ``mantissas * 2.0**exponents``.
    """

    mantissas: FloatArray
    exponents: IntArray


def find_self_similarities(series: SeriesSet, width: int) -> SelfSimilarities:
    """The alignment kernel of every series with itself, before normalisation."""
    everyone = np.arange(len(series))
    return SelfSimilarities(*_align(series, series, everyone, everyone, width))


def align_pairs(
    left: SeriesSet,
    right: SeriesSet,
    rows: IntArray,
    columns: IntArray,
    width: int,
    norms: tuple[SelfSimilarities, SelfSimilarities],
) -> FloatArray:
    """Normalised kernels of the listed pairs."""
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    values = np.empty(rows.size)
    for start in range(0, rows.size, MOST_PAIRS):
        part = slice(start, start + MOST_PAIRS)
        mantissas, exponents = _align(left, right, rows[part], columns[part], width)
        values[part] = _normalize(mantissas, exponents, norms, rows[part], columns[part])
    return values


def align_cross(left: SeriesSet, right: SeriesSet, width: int) -> FloatArray:
    """Normalised kernels between two sets."""
    norms = find_self_similarities(left, width), find_self_similarities(right, width)
    values = np.empty((len(left), len(right)))
    step = max(1, MOST_PAIRS // max(1, len(right)))
    for start in range(0, len(left), step):
        rows = np.arange(start, min(start + step, len(left)))
        pairs = np.repeat(rows, len(right)), np.tile(np.arange(len(right)), rows.size)
        found = align_pairs(left, right, *pairs, width, norms)
        values[rows] = found.reshape(rows.size, len(right))
    return values


def align_triangle(
    series: SeriesSet, width: int, norms: SelfSimilarities, first: int, last: int
) -> FloatArray:
    """Normalised kernels of some rows with all series before them: a band of a triangle."""
    counts = np.arange(first, last)
    rows = np.repeat(counts, counts)
    columns = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return align_pairs(series, series, rows, columns, width, (norms, norms))


def _align(
    left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray, width: int
) -> tuple[FloatArray, IntArray]:
    """Mantissas and exponents of pairs, computed in an order in which lanes are full and alike."""
    above, beside = left.lengths[rows], right.lengths[columns]
    n_runs = np.count_nonzero(np.diff(rows)) + 1
    is_shared = bool(n_runs * loops._LANES <= rows.size)
    # Rows come in runs. Within a run of equally long columns there is nothing to sort.
    is_sorted = is_shared and beside.min() == beside.max()
    order = None if is_sorted else np.lexsort((beside, rows) if is_shared else (beside, above))
    if order is not None:
        rows, columns = rows[order], columns[order]
    mantissas, exponents = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    with loops._enough_threads(float(above @ beside.astype(np.float64))):
        loops._align_tasks_inplace(
            mantissas,
            exponents,
            left.values,
            left.starts,
            right.values,
            right.starts,
            rows,
            columns,
            _find_bounds(rows, is_shared=is_shared),
            width,
        )
    if order is None:
        return mantissas, exponents
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return mantissas[place], exponents[place]


def _find_bounds(rows: IntArray, *, is_shared: bool) -> IntArray:
    """Where tasks begin and end: after every 16 pairs, and where a shared row changes."""
    places = np.arange(rows.size)
    if is_shared:
        is_first = np.concatenate(([True], np.diff(rows) != 0))
        places = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return np.append(np.flatnonzero(places % loops._LANES == 0), rows.size)


def _normalize(
    mantissas: FloatArray,
    exponents: IntArray,
    norms: tuple[SelfSimilarities, SelfSimilarities],
    rows: IntArray,
    columns: IntArray,
) -> FloatArray:
    left, right = norms
    roots = np.sqrt(left.mantissas)[rows] * np.sqrt(right.mantissas)[columns]
    # Twice the exponent of the result, which may be a half; far below zero where nothing is alike.
    doubled = 2 * exponents - left.exponents[rows] - right.exponents[columns]
    doubled = np.clip(doubled, -(2**14), 2**14)
    halves = np.where(doubled % 2 == 1, np.sqrt(2.0), 1.0)
    values = np.ldexp(mantissas / roots * halves, (doubled // 2).astype(np.int32))
    # Cauchy and Schwarz, but for the last bit.
    return np.asarray(np.minimum(values, 1.0))
