"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    weights: FloatArray | None = None  # what each neighbour counts; all alike if None

    @property
    def counts(self) -> IntArray:
        """The number of neighbours of every sample."""
        return np.bincount(self.rows, minlength=self.n_samples)

    @property
    def parts(self) -> FloatArray:
        """What each neighbour counts for its sample; those of a sample sum to one."""
        return 1.0 / self.counts[self.rows] if self.weights is None else self.weights


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Nearest neighbours of the same class, without the sample itself, and of other classes."""

    same: Pairs
    other: Pairs

    def renumbered(self, numbers: IntArray) -> Neighborhoods:
        """The neighbourhoods of samples with other numbers; rows are then in any order."""
        same, other = (
            replace(pairs, rows=numbers[pairs.rows], columns=numbers[pairs.columns])
            for pairs in (self.same, self.other)
        )
        return Neighborhoods(same, other)


def count_others(n_same: int, n_classes: int) -> int:
    """How many other-class neighbours are to be compared with so many of the same class.

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
) -> Neighborhoods:
    """The samples with the largest kernel values in the same class and in others, of all or some.

    The only sample of a class is its own neighbour. With an order, the kernel counts together with
    itself in that order of samples.
    """
    listed = np.arange(labels.size) if samples is None else samples
    sizes = np.bincount(labels)
    widest = max(1, int(sizes.max()) - 1), labels.size - int(sizes[sizes > 0].min())
    same = np.empty((listed.size, min(n_same, widest[0])), dtype=np.intp)
    other = np.empty((listed.size, min(n_other, widest[1])), dtype=np.intp)
    counts = np.empty((2, listed.size), dtype=np.intp)
    no_order = np.empty(0, dtype=np.intp)
    loops._find_nearest_inplace(
        kernel, labels, listed, no_order if order is None else order, same, other, *counts
    )
    found = []
    for table, count in zip((same, other), counts, strict=True):
        columns = table[np.arange(table.shape[1]) < count[:, np.newaxis]]
        found.append(Pairs(np.repeat(listed, count), columns, labels.size))
    return Neighborhoods(*found)
