"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.model._neighbor_loops import _find_nearest_inplace


@dataclass(frozen=True, eq=False)
class Pairs:
    """A list of (sample, neighbour) pairs, sorted by sample.

    Parameters
    ----------
    rows : array of shape (n_pairs,)
        The sample of each pair, ascending.
    columns : array of shape (n_pairs,)
        Its neighbour, nearest first.
    n_samples : int
        How many samples there are; one may have no pair at all.
    """

    rows: IntArray
    columns: IntArray
    n_samples: int

    @property
    def counts(self) -> IntArray:
        """The number of neighbours of every sample."""
        return np.bincount(self.rows, minlength=self.n_samples)


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The neighbour pairs on which the kernels are to separate the classes (N and its bar).

    Parameters
    ----------
    same : Pairs
        Every sample with its nearest samples of the same class, itself excluded.
    other : Pairs
        Every sample with its nearest samples of other classes.
    """

    same: Pairs
    other: Pairs


def find_neighborhoods(
    kernel: FloatArray,
    labels: IntArray,
    n_same: int,
    n_other: int,
    samples: IntArray | None = None,
) -> Neighborhoods:
    """The nearest same-class and other-class samples of every sample, or of those that are listed.

    With a unit diagonal the nearest samples are those of largest kernel value. A class of m
    samples gives its members at most m - 1 same-class neighbours; the only sample of a class
    stands in for its own neighbour.

    Examples
    --------
    >>> kernel = np.exp(-np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    >>> found = find_neighborhoods(kernel, np.array([0, 0, 1, 1]), 1, 1)
    >>> found.same.columns, found.other.columns
    (array([1, 0, 3, 2]), array([2, 2, 1, 1]))
    """
    listed = np.arange(labels.size) if samples is None else samples
    sizes = np.bincount(labels)
    widest = max(1, int(sizes.max()) - 1), labels.size - int(sizes[sizes > 0].min())
    same = np.empty((listed.size, min(n_same, widest[0])), dtype=np.intp)
    other = np.empty((listed.size, min(n_other, widest[1])), dtype=np.intp)
    counts = np.empty((2, listed.size), dtype=np.intp)
    _find_nearest_inplace(kernel, listed, labels, listed, same, other, *counts)
    found = []
    for table, count in zip((same, other), counts, strict=True):
        columns = table[np.arange(table.shape[1]) < count[:, np.newaxis]]
        found.append(Pairs(np.repeat(listed, count), columns, labels.size))
    return Neighborhoods(*found)
