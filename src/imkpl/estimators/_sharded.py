"""Distinct samples in sorted order, of samples that lie on other machines."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.sharded import ShardedSamples, join_rows

# Values that are fetched at a time to bring samples into order: so many for every sample, or so
# many at all.
VALUES_PER_SAMPLE, FEWEST_VALUES = 8, 2**16


def group_sharded_rows(X: ShardedSamples, labels: IntArray) -> tuple[IntArray, IntArray]:
    """The first of equal samples of a class, in sorted order, and the place of every sample.

    The order is that of the table (class, first column, second column, ...), as it is for samples
    in memory. Digests say which samples are equal. Columns are fetched from the left, a few at a
    time, and only of samples that the columns before do not tell apart.
    """
    low, high = X.digests.T
    order = np.lexsort((low, high, labels))
    keys = labels[order], high[order], low[order]
    is_new = np.append(True, np.logical_or.reduce([key[1:] != key[:-1] for key in keys]))
    # The sort is stable: the first in order is the first of its equals.
    found = order[is_new]
    places = np.empty(labels.size, dtype=np.intp)
    places[order] = np.cumsum(is_new) - 1
    ranks = rank_sharded_rows(X[found], labels[found])
    return found[np.argsort(ranks)], ranks[places]


def rank_sharded_rows(X: ShardedSamples, labels: IntArray) -> IntArray:
    """The place of every sample in the order by class and values."""
    ranks = np.searchsorted(np.sort(labels), labels)
    # Columns that are the same for all do not decide.
    columns, budget = X.varying, max(VALUES_PER_SAMPLE * labels.size, FEWEST_VALUES)
    while columns.size:
        tied = np.flatnonzero(np.bincount(ranks)[ranks] > 1)
        if tied.size == 0:
            break
        width = max(1, budget // tied.size)
        some, columns = columns[:width], columns[width:]
        found = X[tied].map(_columns_of, some)
        ranks[tied] = _refine(ranks[tied], join_rows(found, (tied.size, some.size)))
    return ranks


def _refine(ranks: IntArray, values: FloatArray) -> IntArray:
    """Ranks of tied samples, told apart by values; equal samples stay tied."""
    keys = np.column_stack([ranks, values])
    order = np.lexsort(keys.T[::-1])
    sorted_keys = keys[order]
    is_new = np.append(True, np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1))
    is_new_rank = np.append(True, sorted_keys[1:, 0] != sorted_keys[:-1, 0])
    places = np.arange(ranks.size)
    start = np.maximum.accumulate(np.where(is_new, places, 0))
    start_of_rank = np.maximum.accumulate(np.where(is_new_rank, places, 0))
    refined = np.empty_like(ranks)
    refined[order] = ranks[order] + start - start_of_rank
    return refined


def _columns_of(block: FloatArray, columns: IntArray) -> FloatArray:
    return np.ascontiguousarray(block[:, columns])
