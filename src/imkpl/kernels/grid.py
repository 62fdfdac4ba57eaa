"""Factors of Gaussian kernels on one feature, ``K = Z Z'`` up to a tolerance, with short rows.

For u and v in units of the kernel's width,

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

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import _gaussian_loops, _structured_loops

# Windows start at multiples of this: 32 bytes, so that what one vector instruction stored the next
# can load.
ALIGNMENT = 4
# Beyond so many cells positions would lose digits: samples are then measured from neighbours.
WIDEST_SPAN = 4096


@dataclass(frozen=True)
class Grid:
    """A trapezoidal rule and the window of it that a sample keeps.

    Parameters
    ----------
    n_points : int
        The grid points nearest to a sample that its window contains at least; even.
    """

    n_points: int

    @property
    def spacing(self) -> float:
        """The distance of neighbouring grid points, in units of the kernel's width."""
        return float(np.sqrt(np.pi / (np.sqrt(2.0) * self.n_points)))

    @property
    def scale(self) -> float:
        """The factor on every entry of Z."""
        return float(np.sqrt(self.spacing * np.sqrt(4.0 / np.pi)))

    @property
    def width(self) -> int:
        """The number of cells in a window, which starts at a multiple of `ALIGNMENT`."""
        return self.n_points + ALIGNMENT

    @property
    def error(self) -> float:
        """A bound on ``|K - Z Z'|`` in every entry."""
        return float((2.0 + np.sqrt(8.0)) * np.exp(-np.pi * self.n_points / np.sqrt(8.0)))


def choose_grid(tolerance: float) -> Grid:
    """The smallest window whose error is within the tolerance.

    Examples
    --------
    >>> grid = choose_grid(1e-6)
    >>> grid.n_points, grid.error < 1e-6
    (16, True)
    """
    needed = np.log((2.0 + np.sqrt(8.0)) / tolerance) * np.sqrt(8.0) / np.pi
    return Grid(max(ALIGNMENT, ALIGNMENT * int(np.ceil(needed / ALIGNMENT))))


def place_on_grid(
    values: FloatArray, rates: FloatArray, grid: Grid
) -> tuple[IntArray, FloatArray, IntArray]:
    """Where the window of every sample starts, and where in its window the sample lies."""
    starts, offsets = np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape)
    if values.size == 0:
        return starts, offsets, np.full(rates.size, grid.width)
    # The window begins n_points / 2 - 1 points before the grid point left of the sample.
    lead = grid.n_points // 2 - 1
    with _gaussian_loops._enough_threads(values.size):
        is_wide = _structured_loops._place_narrow_inplace(
            starts, offsets, values, rates, grid.spacing, lead, ALIGNMENT, WIDEST_SPAN
        )
    for kernel in np.flatnonzero(is_wide):
        starts[kernel], offsets[kernel] = _place_in_groups(values[kernel], rates[kernel], grid)
        offsets[kernel] += lead
    return starts, offsets, starts.max(axis=1) + grid.width


def _place_in_groups(values: FloatArray, rate: float, grid: Grid) -> tuple[IntArray, FloatArray]:
    """First cells and offsets, measured within groups of samples whose windows may meet.

    Groups are so far apart that the kernel between them is below the error of the grid.
    """
    halves = 0.5 * values
    order = np.argsort(halves, kind="stable")
    ordered = halves[order]
    scale = 2.0 / grid.spacing
    with np.errstate(over="ignore"):
        is_first = np.append(True, np.diff(ordered) * rate * scale > grid.width)
    group = np.cumsum(is_first) - 1
    positions = (ordered - ordered[is_first][group]) * rate * scale
    firsts = np.floor(positions / ALIGNMENT).astype(np.int64) * ALIGNMENT
    sizes = firsts[np.append(is_first[1:], True)] + grid.width
    starts, offsets = np.empty(halves.size, dtype=np.int64), np.empty(halves.size)
    starts[order] = firsts + (np.cumsum(sizes) - sizes)[group]
    offsets[order] = positions - firsts
    return starts, offsets
