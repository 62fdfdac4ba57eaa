"""The global alignment kernel of pairs of series, normalised, and which steps it aligns.

Series here are what a kernel compares: nothing is missing, and the local kernel of two steps at a
squared distance t is ``e / (2 - e)`` with ``e = exp(-t)``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from imkpl._threads import Loops
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import require_columns
from imkpl.kernels.per_feature import squared_distances
from imkpl.series import SeriesSet, read_series

if TYPE_CHECKING:
    from imkpl.kernels.alignment import SeriesKernels

loops = Loops("imkpl.kernels._alignment_loops")

# Numbers that may overflow, as mantissas and exponents of two.
Powers: TypeAlias = tuple[FloatArray, IntArray]
# What alignments beyond the reach of a pair may add to a normalised kernel: less than rounding.
MOST_BEYOND = 1e-13
# How far below the bound on the number of alignments the log of a self-similarity may be for a
# reach to be used. Of smooth series it is 2 to 5 below, at the default bandwidth.
MOST_BELOW = 8.0
# Pairs held at a time: their indices, mantissas and exponents take 50 bytes each.
MOST_PAIRS = 2**20
# Cells of alignments in a block, some seconds of work: what is reported.
BLOCK_CELLS = 2**31
# Pairs in a block at most, for the memory of their indices.
BLOCK_PAIRS = 2**22


class Norms(NamedTuple):
    """Alignment kernels of series with themselves, before normalisation."""

    mantissas: FloatArray
    exponents: IntArray
    # How far from the diagonal the alignments of a series with others like it go; 0 for no limit.
    reaches: IntArray


def find_self_similarities(series: SeriesSet) -> Norms:
    """The alignment kernel of every series with itself, before normalisation."""
    everyone = np.arange(len(series))
    # At most exp(a asinh(b / a) + b asinh(a / b)) alignments lead a rows down and b columns right.
    # As many as lead n - r down and n + r right touch the diagonal r columns away on their way n
    # down and n right, by reflection: exp(-sqrt(2) r**2 / n) of the bound for all. Local kernels
    # are at most 1, so this bounds what alignments beyond a reach add.
    steps = series.lengths - 1.0
    budget = np.log(2 / MOST_BEYOND) + MOST_BELOW
    reaches = (4 * np.ceil(np.sqrt(budget * series.lengths / np.sqrt(2)) / 4)).astype(np.int64)
    reaches[reaches > 0.8 * steps] = 0
    mantissas, exponents = _align(series, series, everyone, everyone, reaches)
    below = 2 * np.arcsinh(1.0) * steps - np.log(mantissas) - np.log(2.0) * exponents
    wild = np.flatnonzero((reaches > 0) & (below > MOST_BELOW))
    if wild.size:
        reaches[wild] = 0
        mantissas[wild], exponents[wild] = _align(series, series, wild, wild, reaches[wild])
    return Norms(mantissas, exponents, reaches)


def align_pairs(
    left: SeriesSet,
    right: SeriesSet,
    rows: IntArray,
    columns: IntArray,
    norms: tuple[Norms, Norms],
) -> FloatArray:
    """Normalised kernels of the listed pairs."""
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    values = np.empty(rows.size)
    for start in range(0, rows.size, MOST_PAIRS):
        part = rows[start : start + MOST_PAIRS], columns[start : start + MOST_PAIRS]
        reaches = _find_reaches(left.lengths, right.lengths, norms, *part)
        found = _align(left, right, *part, reaches)
        values[start : start + MOST_PAIRS] = _normalize(found, norms, *part)
    return values


def _find_reaches(
    left: IntArray, right: IntArray, norms: tuple[Norms, Norms], rows: IntArray, columns: IntArray
) -> IntArray:
    """How far from the diagonal the alignments of pairs go, 0 for no limit."""
    own, other = norms[0].reaches[rows], norms[1].reaches[columns]
    # Alignments lead from one diagonal to another, and may go as far to both sides of the two.
    apart = np.abs(left[rows] - right[columns])
    reaches = np.maximum(own, other) + 8 * -(-apart // 16)
    return np.where((own > 0) & (other > 0) & (apart < reaches), reaches, 0)


def are_points(series: SeriesSet) -> bool:
    """Whether all series have one step, as summaries have: their alignment is a local kernel."""
    return bool(series.lengths.max(initial=0) == 1)


def compare_points(left: FloatArray, right: FloatArray) -> FloatArray:
    """Local kernels between the columns of two arrays."""
    e = np.exp(-squared_distances(left.T, right.T))
    return np.asarray(e / (2 - e))


def align_cross(left: SeriesSet, right: SeriesSet) -> FloatArray:
    """Normalised kernels between two sets."""
    if are_points(left) and are_points(right):
        return compare_points(left.values, right.values)
    norms = find_self_similarities(left), find_self_similarities(right)
    rows, columns = np.divmod(np.arange(len(left) * len(right)), len(right))
    return align_pairs(left, right, rows, columns, norms).reshape(len(left), len(right))


def align_bands(series: SeriesSet) -> Iterator[FloatArray]:
    """Normalised kernels of every series with all before it, some seconds of work at a time."""
    norms = find_self_similarities(series)
    for first, last in split_rows(series.lengths):
        counts = np.arange(first, last)
        if are_points(series):
            values = compare_points(series.values[:, first:last], series.values[:, :last])
            yield np.concatenate([row[:count] for row, count in zip(values, counts, strict=True)])
            continue
        rows = np.repeat(counts, counts)
        columns = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        yield align_pairs(series, series, rows, columns, (norms, norms))


def split_rows(lengths: IntArray) -> Iterator[tuple[int, int]]:
    """Rows of a triangle, from the first to the one behind the last, in bands."""
    before = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    first, total = 0, 0.0
    for row, n_cells in enumerate(lengths * before):
        is_full = total + n_cells > BLOCK_CELLS or (row - first) * row > BLOCK_PAIRS
        if row > first and is_full:
            yield first, row
            first, total = row, 0.0
        total += float(n_cells)
    yield first, int(lengths.size)


def _align(
    left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray, reaches: IntArray
) -> Powers:
    """Kernels of pairs before normalisation, computed in an order that fills the lanes."""
    above, beside = left.lengths[rows], right.lengths[columns]
    kinds = 4 * reaches + _find_levels(left, right, rows, columns)
    order, bounds = _arrange(rows, kinds, above, beside)
    rows, columns, kinds = rows[order], columns[order], kinds[order]
    mantissas, exponents = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    with loops._enough_threads(float(above @ beside.astype(np.float64))):
        sets = left.values, left.starts, right.values, right.starts
        found = mantissas, exponents
        loops._align_tasks_inplace(bounds, found, sets, rows, columns, kinds)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return mantissas[place], exponents[place]


def _find_levels(left: SeriesSet, right: SeriesSet, rows: IntArray, columns: IntArray) -> IntArray:
    """How near to each other all steps of two series are, by the ranges of their values."""
    if are_points(left) and are_points(right):
        # Of two single steps, the ranges would take longer than the kernel.
        return np.zeros(rows.size, dtype=np.int64)
    lows, highs = (
        [find.reduceat(part.values, part.starts[:-1], axis=1) for part in (left, right)]
        for find in (np.minimum, np.maximum)
    )
    squares = np.zeros(rows.size)
    for own_low, own_high, low, high in zip(lows[0], highs[0], lows[1], highs[1], strict=True):
        gaps = np.maximum(own_high[rows] - low[columns], high[columns] - own_low[rows])
        squares += gaps * gaps
    limits = np.array([loops.NEAR, loops.NEAREST])
    return np.asarray(np.sum(squares <= limits[:, np.newaxis], axis=0))


def _arrange(
    rows: IntArray, kinds: IntArray, above: IntArray, beside: IntArray
) -> tuple[IntArray, IntArray]:
    """An order of pairs, and where in it tasks of at most 16 pairs of one kind begin and end.

    Tasks of pairs that share a row are faster. Those left over, fewer than 16 of a row and kind,
    come last.
    """
    keys = rows, kinds, beside
    order = np.argsort(
        np.ravel_multi_index(keys, [int(key.max()) + 1 for key in keys]), kind="stable"
    )
    starts = _find_starts(rows[order], kinds[order])
    sizes = np.diff(np.append(starts, rows.size))
    places = np.arange(rows.size) - np.repeat(starts, sizes)
    is_left = places >= np.repeat(sizes - sizes % loops._LANES, sizes)
    full, left = order[~is_left], order[is_left]
    left = left[np.lexsort((beside[left], above[left], kinds[left]))]
    bounds = [np.arange(0, full.size, loops._LANES)]
    if left.size:
        starts = np.append(_find_starts(kinds[left]), left.size)
        for first, last in itertools.pairwise(starts):
            bounds.append(full.size + np.arange(first, last, loops._LANES))
    return np.concatenate([full, left]), np.concatenate([*bounds, [rows.size]])


def _find_starts(*keys: IntArray) -> IntArray:
    """Where some sorted keys change, and the first place."""
    is_changed = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return np.append(0, np.flatnonzero(is_changed) + 1)


def _normalize(
    found: Powers, norms: tuple[Norms, Norms], rows: IntArray, columns: IntArray
) -> FloatArray:
    (mantissas, exponents), (left, right) = found, norms
    roots = np.sqrt(left.mantissas)[rows] * np.sqrt(right.mantissas)[columns]
    # Twice the exponent of the result, which may be a half; far below zero where nothing is alike.
    doubled = 2 * exponents - left.exponents[rows] - right.exponents[columns]
    doubled = np.clip(doubled, -(2**14), 2**14)
    halves = np.where(doubled % 2 == 1, np.sqrt(2.0), 1.0)
    values = np.ldexp(mantissas / roots * halves, (doubled // 2).astype(np.int32))
    # Cauchy and Schwarz, but for the last bit.
    return np.asarray(np.minimum(values, 1.0))


def log_local(x: FloatArray, y: FloatArray) -> FloatArray:
    """Logarithms of the local kernels of all steps of two series (n_channels, length)."""
    log_e = -np.sum((x[:, :, np.newaxis] - y[:, np.newaxis]) ** 2, axis=0)
    return np.asarray(log_e - np.log(2.0 - np.exp(log_e)))


def find_visits(local: FloatArray) -> FloatArray:
    """How likely an alignment passes each pair of steps, by logarithms of local kernels."""
    return np.asarray(loops._visits(local, loops._log_alignments(local)))


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedAlignment:
    """How the alignments of two series share out their similarity over time.

    Parameters
    ----------
    similarity : float
        The normalised kernel.
    visits : array of shape (n_steps_x, n_steps_y)
        How likely an alignment passes each pair of steps, when alignments are drawn by their part
        in the kernel: the gradient of the log kernel by the logs of the local kernels. Between 0
        and 1, and every row and column sums to 1 or more.
    x_times, y_times : array of shape (n_steps_x,) and (n_steps_y,)
        Where the steps that were compared lie in the series, counted in their own steps. Missing
        ones are left out; resampled ones, and differences, lie in between.
    x_agreement, y_agreement : array of shape (n_steps_x,) and (n_steps_y,)
        What the local kernels of an alignment would multiply to if all steps agreed as well as
        this one does with those it is aligned to; between 0 and 1.

    Notes
    -----
    Of a view that sums a channel up, every step of one series stands beside all steps of the other,
    and none agrees better than the others.

    Examples
    --------
    >>> x, y = np.array([[0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 5.0, 0.0]])
    >>> from imkpl.kernels import GlobalAlignment
    >>> expected_alignment(GlobalAlignment(length=None).on([x, y]), 0, x, y)
    ExpectedAlignment(similarity=0.731, 3 x 4 steps)
    """

    similarity: float
    visits: FloatArray
    x_times: FloatArray
    y_times: FloatArray
    x_agreement: FloatArray
    y_agreement: FloatArray

    def __repr__(self) -> str:
        n_x, n_y = self.visits.shape
        return f"ExpectedAlignment(similarity={self.similarity:.3g}, {n_x} x {n_y} steps)"


def expected_alignment(kernels: SeriesKernels, index: int, x: Any, y: Any) -> ExpectedAlignment:
    """Which time steps of two series one kernel aligns, and how well they agree.

    Parameters
    ----------
    kernels : SeriesKernels
        What ``GlobalAlignment().on(X)`` returns.
    index : int
        Which kernel: its place among the kernels.
    x, y : array of shape (n_channels, length)
        Two series with the channels of the kernels' samples.

    Returns
    -------
    ExpectedAlignment
        The alignment. It takes memory in proportion to the product of the lengths.

    Examples
    --------
    >>> x, y = np.array([[0.0, 0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 0.0, 0.0]])
    >>> from imkpl.kernels import GlobalAlignment
    >>> kernels = GlobalAlignment().on(np.stack([x, y]))
    >>> found = expected_alignment(kernels, 0, x, y)
    >>> int(np.argmax(found.visits[2])), bool(np.all(found.visits.sum(axis=1) > 1 - 1e-12))
    (1, True)
    """
    pair = read_series([x, y])
    single = replace(kernels.select([index]), samples=pair[:1], others=pair[1:])
    (kernel,) = single.each
    require_columns(np.array(kernel.channels), pair.n_channels, "channel")
    times = [kernel.find_times(series, single.length) for series in pair]
    similarity = float(single.evaluate(0)[0, 0])
    if not kernel.is_aligned:
        # Every step of one stands beside all of the other, and none agrees better.
        sizes = [each.size for each in times]
        visits = np.full(sizes, 1 / min(sizes))
        return ExpectedAlignment(
            similarity, visits, *times, *(np.full(size, similarity) for size in sizes)
        )
    local = log_local(*kernel.prepare(pair, single.length))
    visits = find_visits(local)
    agreements = []
    for axis in (1, 0):
        mean = (local * visits).sum(axis=axis) / visits.sum(axis=axis)
        agreements.append(np.exp(mean * mean.size))
    return ExpectedAlignment(similarity, visits, *times, *agreements)


def split_losses(kernels: SeriesKernels, index: int, x: SeriesSet, Y: SeriesSet) -> FloatArray:
    """What the similarity of one series to others lacks to 1, by the channels of one kernel.

    The series have the channels of the kernels' samples. A channel has as large a part in it as in
    the squared distance along the alignment, less what series are away from themselves, as their
    alignments pass unequal steps too. An array of shape (n_series, n_channels of the kernel).
    """
    single = replace(kernels.select([index]), samples=x, others=Y)
    (kernel,), lacks = single.each, 1 - single.evaluate(0)[0]

    def measure(left: FloatArray, right: FloatArray) -> FloatArray:
        """The squared distance of two prepared series in every channel, along their alignment."""
        visits = find_visits(log_local(left, right))
        squares = (left[:, :, np.newaxis] - right[:, np.newaxis]) ** 2
        by_row = np.sum(squares * visits, axis=(1, 2))
        return np.asarray(by_row.reshape(len(kernel.channels), -1).sum(axis=1))

    (left,) = kernel.prepare(x, single.length)
    own = measure(left, left)
    distances = np.array(
        [
            np.maximum(measure(left, right) - (own + measure(right, right)) / 2, 0.0)
            for right in kernel.prepare(Y, single.length)
        ]
    )
    totals = distances.sum(axis=1, keepdims=True)
    equal = np.full_like(distances, 1 / distances.shape[1])
    shares = np.divide(distances, totals, out=equal, where=totals > 0)
    return np.asarray(lacks[:, np.newaxis] * shares)
