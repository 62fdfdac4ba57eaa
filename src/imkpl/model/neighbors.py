"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.base import take_samples
from imkpl.kernels.sharded import Cluster
from imkpl.model._neighbor_loops import _find_nearest_inplace

# Into so many blocks samples are cut where machines share the work.
SPREAD_BLOCKS = 16
# Neighbours of the same class and of others, a row per sample, and how many of each there are.
Tables: TypeAlias = tuple[IntArray, IntArray, IntArray]


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
    tables = [_find_nearest(kernel, listed, listed, labels, n_same, n_other)]
    return _list_pairs(tables, listed, labels.size)


def spread_neighborhoods(
    cluster: Cluster,
    bank: BaseKernelBank,
    weights: FloatArray,
    X: Any,
    labels: IntArray,
    n_same: int,
    n_other: int,
    samples: IntArray | None = None,
) -> Neighborhoods:
    """What `find_neighborhoods` finds, block of samples by block, without the matrix of all pairs."""
    listed = np.arange(labels.size) if samples is None else samples
    blocks = [(block,) for block in np.array_split(listed, min(SPREAD_BLOCKS, listed.size))]
    tables = cluster.map(
        _find_nearest_of_block, blocks, bank._plain(), weights, X, labels, n_same, n_other
    )
    return _list_pairs(tables, listed, labels.size)


def _find_nearest_of_block(
    listed: IntArray,
    bank: BaseKernelBank,
    weights: FloatArray,
    X: Any,
    labels: IntArray,
    n_same: int,
    n_other: int,
) -> Tables:
    everyone = bank._take(X, np.arange(labels.size))
    kernel = bank.combine(weights, take_samples(X, listed), everyone)
    kernel = kernel.astype(np.float64, copy=False)
    return _find_nearest(kernel, np.arange(listed.size), listed, labels, n_same, n_other)


def _find_nearest(
    kernel: FloatArray,
    rows: IntArray,
    listed: IntArray,
    labels: IntArray,
    n_same: int,
    n_other: int,
) -> Tables:
    """The neighbours of listed samples, whose similarities are the given rows of a kernel."""
    sizes = np.bincount(labels)
    widest = max(1, int(sizes.max()) - 1), labels.size - int(sizes[sizes > 0].min())
    same = np.empty((listed.size, min(n_same, widest[0])), dtype=np.intp)
    other = np.empty((listed.size, min(n_other, widest[1])), dtype=np.intp)
    counts = np.empty((2, listed.size), dtype=np.intp)
    _find_nearest_inplace(kernel, rows, labels, listed, same, other, *counts)
    return same, other, counts


def _list_pairs(tables: list[Tables], listed: IntArray, n_samples: int) -> Neighborhoods:
    """Tables of the neighbours of consecutive samples as pairs."""
    same, other = (np.concatenate([table[kind] for table in tables]) for kind in (0, 1))
    counts = np.concatenate([table[2] for table in tables], axis=1)
    return Neighborhoods(
        Pairs(np.repeat(listed, counts[0]), _entries(same, counts[0]), n_samples),
        Pairs(np.repeat(listed, counts[1]), _entries(other, counts[1]), n_samples),
    )


def _entries(table: IntArray, counts: IntArray) -> IntArray:
    """The first counts[i] entries of every row i."""
    return np.asarray(table[np.arange(table.shape[1]) < counts[:, None]])
