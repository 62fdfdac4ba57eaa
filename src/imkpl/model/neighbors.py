"""Neighbourhoods: the nearest samples of the same class and of other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.blocks import take_samples
from imkpl.kernels.sharded import Cluster
from imkpl.model._neighbor_loops import _find_nearest_inplace

# Number of blocks of samples if a cluster shares the work.
SPREAD_BLOCKS = 16
# Same-class and other-class neighbours, one row per sample, and the number of each.
Tables: TypeAlias = tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a sample and a neighbour, sorted by sample."""

    rows: IntArray  # the sample of each pair, ascending
    columns: IntArray  # its neighbour, nearest first
    n_samples: int  # the number of all samples, including those without pairs

    @property
    def counts(self) -> IntArray:
        """The number of neighbours of every sample."""
        return np.bincount(self.rows, minlength=self.n_samples)


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Nearest neighbours of the same class, without the sample itself, and of other classes."""

    same: Pairs
    other: Pairs


def find_neighborhoods(
    kernel: FloatArray,
    labels: IntArray,
    n_same: int,
    n_other: int,
    samples: IntArray | None = None,
) -> Neighborhoods:
    """The nearest same-class and other-class samples of all or some samples.

    With a unit diagonal the nearest samples are those with the largest kernel values. In a class of
    m samples there are at most m - 1 same-class neighbours; the only sample of a class is its own
    neighbour.
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
    """`find_neighborhoods` in blocks of samples on a cluster, without the whole kernel matrix."""
    listed = np.arange(labels.size) if samples is None else samples
    blocks = [(block,) for block in np.array_split(listed, min(SPREAD_BLOCKS, listed.size))]
    tables = cluster.map(
        _find_nearest_of_block, blocks, bank.plain(), weights, X, labels, n_same, n_other
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
    everyone = bank.take(X, np.arange(labels.size))
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
    """The neighbours of the listed samples; `rows` are their rows in the kernel."""
    sizes = np.bincount(labels)
    widest = max(1, int(sizes.max()) - 1), labels.size - int(sizes[sizes > 0].min())
    same = np.empty((listed.size, min(n_same, widest[0])), dtype=np.intp)
    other = np.empty((listed.size, min(n_other, widest[1])), dtype=np.intp)
    counts = np.empty((2, listed.size), dtype=np.intp)
    _find_nearest_inplace(kernel, rows, labels, listed, same, other, *counts)
    return same, other, counts


def _list_pairs(tables: list[Tables], listed: IntArray, n_samples: int) -> Neighborhoods:
    """Padded tables of the neighbours of consecutive samples as lists of pairs."""
    pairs = []
    for kind in (0, 1):
        table = np.concatenate([block[kind] for block in tables])
        counts = np.concatenate([block[2][kind] for block in tables])
        is_filled = np.arange(table.shape[1]) < counts[:, None]
        pairs.append(Pairs(np.repeat(listed, counts), table[is_filled], n_samples))
    return Neighborhoods(*pairs)
