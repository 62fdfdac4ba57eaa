"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from dataclasses import dataclass

import numpy as np

from imkpl._threads import Loops
from imkpl._typing import FloatArray, IntArray

loops = Loops("imkpl.model._neighbor_loops")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a sample and a neighbour, sorted by sample."""

    rows: IntArray  # the sample of each pair, ascending
    columns: IntArray  # its neighbour, nearest first
    n_samples: int  # the number of all samples, including those without pairs
    parts: FloatArray  # what each neighbour counts for its sample; those of a sample sum to one


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Nearest neighbours of the same class, of other persons, and of other classes."""

    same: Pairs
    other: Pairs


def space_evenly(n: int, limit: int) -> IntArray:
    """The numbers below n, or as many of them as are allowed, evenly spaced."""
    return np.linspace(0, n - 1, min(n, limit)).round().astype(np.intp)


def rank_typical(average: FloatArray) -> IntArray:
    """Samples from the most typical in the average kernel to the least, whatever their order."""
    sums = average.sum(axis=1)
    return np.argsort(-np.round(sums / sums.max(), 9), kind="stable")


def count_others(n_same: int, n_classes: int) -> int:
    """How many other-class neighbours to compare with `n_same` of the same class.

    With classes of equal size, the nearest of both kinds are the same part of all that there are:
    if they were not, a kernel without meaning would be nearer to one of them by the choice alone.
    With many classes fewer do, at least one for every class, so that rare classes are among them.
    """
    return min(n_same * (n_classes - 1), 2 * n_same + n_classes)


def find_neighborhoods(
    kernel: FloatArray,
    labels: IntArray,
    n_same: int,
    n_other: int,
    samples: IntArray | None = None,
    order: IntArray | None = None,
    persons: IntArray | None = None,
) -> Neighborhoods:
    """The nearest samples of other persons, in a kernel or in it plus itself in another order."""
    listed = np.arange(labels.size) if samples is None else samples
    sizes = np.bincount(labels)
    widest = max(1, int(sizes.max()) - 1), labels.size - int(sizes[sizes > 0].min())
    same = np.empty((listed.size, min(n_same, widest[0])), dtype=np.intp)
    other = np.empty((listed.size, min(n_other, widest[1])), dtype=np.intp)
    counts = np.empty((2, listed.size), dtype=np.intp)
    no_order = np.empty(0, dtype=np.intp)
    persons = np.arange(labels.size) if persons is None else persons
    loops._find_nearest_inplace(
        kernel, labels, persons, listed, no_order if order is None else order, same, other, *counts
    )
    found = []
    for table, count in zip((same, other), counts, strict=True):
        columns = table[np.arange(table.shape[1]) < count[:, np.newaxis]]
        rows, parts = np.repeat(listed, count), np.repeat(1.0 / count, count)
        found.append(Pairs(rows, columns, labels.size, parts))
    return Neighborhoods(*found)
