"""How many threads the compiled loops may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba import get_num_threads, set_num_threads


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[int]:
    """At most so many threads inside the block; the former limit is back after it.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads; None or a negative number for all that the process may use.

    Yields
    ------
    int
        The number of threads in force.
    """
    before = get_num_threads()
    count = before if n_jobs is None or n_jobs < 0 else max(1, min(n_jobs, before))
    set_num_threads(count)
    try:
        yield count
    finally:
        set_num_threads(before)
