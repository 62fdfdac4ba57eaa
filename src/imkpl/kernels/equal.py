"""Which samples are equal: rows sorted and grouped, reading no more columns than are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from imkpl._typing import IntArray

# Maximum number of values fetched to sort samples, per sample or in total; then twice as many.
VALUES_PER_SAMPLE, FEWEST_VALUES = 1, 2**16


# The first of equal samples of a class, in sorted order, and every sample's place among these.
Groups: TypeAlias = tuple[IntArray, IntArray]


def group_rows(table: Any, rows: IntArray | None = None, labels: IntArray | None = None) -> Groups:
    """Which rows of a class are equal, of all rows or of those that are listed."""
    table = table.reshape(len(table), -1)
    rows = np.arange(len(table)) if rows is None else rows
    ranks = np.zeros(rows.size, dtype=np.intp) if labels is None else labels

    def fetch(some: IntArray, columns: IntArray) -> Any:
        return table[rows[some], columns[0] : columns[-1] + 1]

    ranks = rank_rows(ranks, np.arange(table.shape[1]), fetch)
    return np.unique(ranks, return_index=True)[1], ranks


def rank_rows(
    ranks: IntArray, columns: IntArray, fetch: Callable[[IntArray, IntArray], Any]
) -> IntArray:
    """Ranks of rows by known ranks, then by columns; equal rows share a rank.

    Columns are fetched from the left, a few at a time, and only for rows that are still tied: the
    first ones tell most rows apart.
    """
    budget, ranks = max(VALUES_PER_SAMPLE * ranks.size, FEWEST_VALUES), rank_keys([ranks])
    while True:
        tied = np.flatnonzero(np.bincount(ranks)[ranks] > 1)
        if tied.size == 0 or columns.size == 0:
            return ranks
        some, columns = np.split(columns, [max(1, budget // tied.size)])
        within = np.zeros_like(ranks)
        within[tied] = rank_keys([ranks[tied], *fetch(tied, some).T])
        ranks, budget = rank_keys([ranks, within]), 2 * budget


def rank_keys(keys: Sequence[Any]) -> IntArray:
    """Ranks of rows by several keys, the first key first; equal rows share a rank."""
    order = np.lexsort(keys[::-1])
    is_new = np.zeros(order.size, dtype=bool)
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(order.size, dtype=np.intp)
    ranks[order] = np.cumsum(is_new)
    return ranks
