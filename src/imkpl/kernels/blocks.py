"""Samples in blocks: how many fit into memory, and how to pick some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from imkpl._typing import IntArray


def block_rows(n_bytes_per_row: float, budget: float) -> int:
    """The number of rows that fit into a memory budget, at least one.

    Examples
    --------
    >>> block_rows(1024, 1)
    1024
    >>> block_rows(1e9, 1)
    1
    """
    return max(1, int(budget * 2**20 / max(n_bytes_per_row, 1.0)))


def iterate_blocks(n_rows: int, n_bytes_per_row: float, budget: float) -> Iterator[slice]:
    """Slices that cover `n_rows` rows in order, each within the memory budget in MiB.

    Examples
    --------
    >>> list(iterate_blocks(3, 2**20, 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = block_rows(n_bytes_per_row, budget)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def take_samples(X: Any, indices: IntArray) -> Any:
    """The listed samples of an array (or anything with a shape), or of a sequence.

    Examples
    --------
    >>> take_samples(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if getattr(X, "shape", None) is None:
        return [X[int(i)] for i in indices]
    return X[indices]


def count_samples(X: Any) -> int:
    """The number of samples of an array or a sequence."""
    shape = getattr(X, "shape", None)
    return int(len(X) if shape is None else shape[0])
