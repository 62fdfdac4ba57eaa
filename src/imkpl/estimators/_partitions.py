"""Samples in the partitions of Dask collections: read for `fit`, grouped, and answered lazily."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import wants_data_frame
from imkpl.kernels.sharded import ShardedSamples, join_rows

Method = TypeVar("Method", bound=Callable[..., Any])
# Maximum number of values fetched to sort samples, per sample or in total; then twice as many.
VALUES_PER_SAMPLE, FEWEST_VALUES = 1, 2**16


def is_partitioned(X: Any) -> bool:
    """Whether this is a Dask collection; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def in_memory(values: Any) -> Any:
    """Labels, weights or names; those of a Dask collection are fetched."""
    if not is_partitioned(values):
        return values
    from imkpl.scale.dask import fetch_values

    return fetch_values(values)


def row_index(X: Any) -> Any:
    """The index of a partitioned data frame, as a frame without columns."""
    index = getattr(X, "index", None)
    return None if index is None else in_memory(X[[]])


def refuse_partitions(X: Any, where: str) -> None:
    """Raise an error if X is a Dask collection."""
    if is_partitioned(X):
        raise ValueError(
            f"{where} got a Dask collection, expected samples in memory. Pass X.compute() of the "
            "samples you need."
        )


def by_partition(method: Method) -> Method:
    """Make a method answer Dask collections lazily, partition by partition; a decorator."""

    @wraps(method)
    def answer(self: Any, X: Any, **options: Any) -> Any:
        if not is_partitioned(X):
            return method(self, X, **options)
        check_is_fitted(self)
        if self._predictor.bank.reads not in ("vectors", "columns"):
            refuse_partitions(X, f"{method.__name__} with kernels that do not read vectors")
        from imkpl.scale.dask import answer_lazily, example_of

        # The number and the names of features are checked now, not when the answer is computed.
        validate_data(self, example_of(X), dtype=np.float64, reset=False)
        if method.__name__ == "transform" and wants_data_frame(self):
            raise ValueError(
                "transform got a Dask collection while set_output asks for a data frame, expected "
                "the default output: codes are sparse blocks. Use set_output(transform='default')."
            )
        return answer_lazily(self, method.__name__, X, options)

    return answer  # type: ignore[return-value]


def group_sharded_rows(X: ShardedSamples, labels: IntArray) -> tuple[IntArray, IntArray]:
    """The first of equal samples of a class, in sorted order, and the place of every sample.

    The order is that of samples in memory: by class, first column, second column, ... Digests tell
    which samples are equal.
    """
    groups = _rank([labels, *X.digests.T])
    first = np.unique(groups, return_index=True)[1]
    distinct = X[first]

    def fetch(rows: IntArray, columns: IntArray) -> FloatArray:
        return join_rows(distinct[rows].map(_columns_of, columns), (rows.size, columns.size))

    ranks = rank_rows(labels[first], X.varying, fetch)
    return first[np.argsort(ranks)], ranks[groups]


def group_rows(
    table: Any, rows: IntArray | None = None, labels: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """The first of equal rows of a class, in sorted order, and the place of every row."""
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
    budget, ranks = max(VALUES_PER_SAMPLE * ranks.size, FEWEST_VALUES), _rank([ranks])
    while True:
        tied = np.flatnonzero(np.bincount(ranks)[ranks] > 1)
        if tied.size == 0 or columns.size == 0:
            return ranks
        some, columns = np.split(columns, [max(1, budget // tied.size)])
        within = np.zeros_like(ranks)
        within[tied] = _rank([ranks[tied], *fetch(tied, some).T])
        ranks, budget = _rank([ranks, within]), 2 * budget


def _rank(keys: Sequence[Any]) -> IntArray:
    """Ranks of rows by several keys, the first key first; equal rows share a rank."""
    order = np.lexsort(keys[::-1])
    is_new = np.zeros(order.size, dtype=bool)
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(order.size, dtype=np.intp)
    ranks[order] = np.cumsum(is_new)
    return ranks


def _columns_of(block: FloatArray, columns: IntArray) -> FloatArray:
    return np.ascontiguousarray(block[:, columns])
