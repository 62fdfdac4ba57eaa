"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from imkpl._typing import FloatArray, IntArray


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
    kernel: FloatArray, labels: IntArray, n_same: int, n_other: int
) -> Neighborhoods:
    """The nearest same-class and other-class samples of every sample.

    With a unit diagonal the nearest samples are those of largest kernel value. A class of m
    samples gives its members at most m - 1 same-class neighbours; the only sample of a class
    stands in for its own neighbour.

    Parameters
    ----------
    kernel : array of shape (n_samples, n_samples)
        The combined kernel.
    labels : int array of shape (n_samples,)
        Class of each sample, counted from 0.
    n_same, n_other : int
        Wanted sizes of the two neighbourhoods.

    Returns
    -------
    Neighborhoods
        The pairs.

    Examples
    --------
    >>> kernel = np.exp(-np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    >>> found = find_neighborhoods(kernel, np.array([0, 0, 1, 1]), 1, 1)
    >>> found.same.columns, found.other.columns
    (array([1, 0, 3, 2]), array([2, 2, 1, 1]))
    """
    n_samples = labels.size
    same, other = [], []
    for label in range(int(labels.max()) + 1):
        members, rest = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        within = kernel[np.ix_(members, members)].copy()
        np.fill_diagonal(within, -np.inf)
        same.append((members, members, within, max(1, min(n_same, members.size - 1))))
        other.append((members, rest, kernel[np.ix_(members, rest)], min(n_other, rest.size)))
    return Neighborhoods(_nearest(same, n_samples), _nearest(other, n_samples))


def _nearest(blocks: Sequence[tuple[IntArray, IntArray, FloatArray, int]], n_samples: int) -> Pairs:
    rows, columns = [], []
    for members, candidates, similarity, n_kept in blocks:
        # A stable sort: among equally near samples the first one counts.
        nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :n_kept]
        rows.append(np.repeat(members, n_kept))
        columns.append(candidates[nearest].ravel())
    all_rows, all_columns = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(all_rows, kind="stable")
    return Pairs(all_rows[order], all_columns[order], n_samples)
