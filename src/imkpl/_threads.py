"""How many threads the compiled loops may use, and how the tasks of a loop are shared among them.

Loops are compiled without Numba's own threads, which take two to three times as long to compile,
end the process when two Python threads use them at a time on one layer, and end a forked process on
another. A compiled loop releases the interpreter's lock, so that ordinary threads share its tasks.

Importing Numba takes a third of a second, so that the files of loops are imported when a loop is
first called (`Loops`).
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, update_wrapper
from importlib import import_module
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController

_N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
# As many as there are cores, or as the environment variable NUMBA_NUM_THREADS says.
N_THREADS = max(1, int(os.environ.get("NUMBA_NUM_THREADS") or _N_CORES or 1))
# Parts of a loop per thread: more even out tasks of unequal length.
_PARTS = 4
# The limit set by this Python thread.
_LIMIT = threading.local()


class Loops:
    """The compiled loops of a file, which is imported when one of them is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """A loop, or a constant of the file."""
        return getattr(import_module(self._module), name)


def inner_loop(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile what only loops call, a third faster without an entrance from Python; a decorator."""
    from numba import njit

    flags: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    return njit(**flags)  # type: ignore[no-any-return]


class ParallelLoop:
    """Compiles a loop whose tasks any thread may run; a decorator.

    `count` has the number of tasks, from the arguments of the loop. The loop takes two arguments
    more: the first task, and the one after the last. Every result must be computed by one task.
    """

    def __init__(self, count: Callable[..., int]) -> None:
        self._count = count

    def __call__(self, function: Callable[..., Any]) -> Callable[..., None]:
        """Compile a loop."""
        from numba import njit

        compiled, count = njit(cache=True, nogil=True)(function), self._count

        def run(*args: Any) -> None:
            n_tasks = count(*args)
            n_threads = min(count_threads(), n_tasks)
            if n_threads <= 1:
                compiled(0, n_tasks, *args)
                return
            n_parts = min(n_tasks, _PARTS * n_threads)
            ends = [n_tasks * part // n_parts for part in range(n_parts + 1)]
            parts = iter(list(pairwise(ends)))

            def work() -> None:
                for first, last in parts:
                    compiled(first, last, *args)

            helpers = [_pool().submit(work) for _ in range(n_threads - 1)]
            try:
                work()
            finally:
                for helper in helpers:
                    # One that has not begun would find nothing to do.
                    if not helper.cancel():
                        helper.result()

        return update_wrapper(run, function)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(N_THREADS, thread_name_prefix="imkpl")


if hasattr(os, "register_at_fork"):
    # The threads of the parent are not in the child.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def count_threads() -> int:
    """How many threads a loop called by this Python thread may use."""
    return int(getattr(_LIMIT, "n_threads", N_THREADS))


@contextmanager
def limited_threads(n_jobs: int | None, *, pin_blas: bool = False) -> Iterator[int]:
    """Limit threads of compiled loops; `pin_blas` gives BLAS one, for the same bits anywhere."""
    before = count_threads()
    count = before if n_jobs is None or n_jobs < 0 else max(1, min(n_jobs, before))
    _LIMIT.n_threads = count
    try:
        with _PINNED if pin_blas else nullcontext():
            yield count
    finally:
        _LIMIT.n_threads = before


class PinnedBlas:
    """BLAS with one thread while any Python thread fits.

    The limit is global, and only the thread that has set it can lift it: a thread of its own does.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = threading.Lock(), 0

    def __enter__(self) -> None:
        """Limit BLAS, if this is the first fit."""
        with self._lock:
            if self._n_inside == 0:
                limit = _blas_libraries().limit
                self._limiter = (
                    _keeper().submit(lambda: limit(limits=1, user_api="blas").__enter__()).result()
                )
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        """Lift the limit, if this was the last fit."""
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _keeper().submit(self._limiter.__exit__, None, None, None).result()


@cache
def _keeper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="imkpl-blas")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keeper.cache_clear)
_PINNED = PinnedBlas()


@cache
def _blas_libraries() -> ThreadpoolController:
    # Looking for them takes milliseconds; NumPy and SciPy have loaded theirs by now.
    return ThreadpoolController()
