"""How many threads the compiled loops may use, and how they share them with the rest of a program.

A loop with `prange` runs on a threading layer of Numba. Two of the three layers end the whole
process where a program does what is ordinary elsewhere: "workqueue", the one of installations
without OpenMP or TBB, when two Python threads run loops at the same time, and GNU OpenMP when a
loop runs in a process that was forked after its parent ran one. `ParallelLoop` guards against both.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property, update_wrapper
from types import FunctionType
from typing import Any

from numba import get_num_threads, njit, set_num_threads
from numba.np.ufunc.parallel import threading_layer
from threadpoolctl import ThreadpoolController

# One loop at a time on a layer that bears no more.
_TURN = threading.Lock()
# Whether this process was forked from one that had already started OpenMP's threads. They are not
# in this process, but OpenMP counts on them.
_IS_ORPHAN = False


class ParallelLoop:
    """Compiles a loop that any thread may call, also in a process that was forked; a decorator.

    Parameters
    ----------
    function : function
        To be compiled, with loops over `prange` in which every result is computed by one thread.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._parallel = njit(cache=True, parallel=True)(function)

    def __call__(self, *args: Any) -> Any:
        """Run the loop."""
        if _IS_ORPHAN:
            return self._serial(*args)
        if _layer() in ("omp", "tbb"):
            return self._parallel(*args)
        with _TURN:
            return self._parallel(*args)

    @cached_property
    def _serial(self) -> Any:
        function = self._function
        # Numba's cache on disk knows functions by name, whether or not they are parallel.
        name = f"{function.__name__}_serial"
        twin = FunctionType(function.__code__, function.__globals__, name)
        twin.__qualname__, twin.__module__ = name, function.__module__
        return njit(cache=True)(twin)


def _layer() -> str | None:
    """The threading layer; None until the first loop has started it."""
    try:
        return str(threading_layer())  # type: ignore[no-untyped-call]
    except ValueError:
        return None


def _enter_child() -> None:
    """After a fork, in the child: a turn that a thread of the parent had is over."""
    global _TURN, _IS_ORPHAN
    _TURN = threading.Lock()
    _IS_ORPHAN = _IS_ORPHAN or _layer() == "omp"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_enter_child)


@contextmanager
def limited_threads(n_jobs: int | None, *, pin_blas: bool = False) -> Iterator[int]:
    """Limit the number of threads of compiled loops inside the block.

    Matrix products of BLAS round differently with another number of threads, whatever `n_jobs` is.
    `pin_blas` gives them one thread, so that a fit has the same bits on one core and on many.
    """
    before = get_num_threads()
    count = before if n_jobs is None or n_jobs < 0 else max(1, min(n_jobs, before))
    set_num_threads(count)
    try:
        with _blas_libraries().limit(limits=1, user_api="blas") if pin_blas else nullcontext():
            yield count
    finally:
        set_num_threads(before)


@cache
def _blas_libraries() -> ThreadpoolController:
    # Looking for them takes milliseconds; NumPy and SciPy have loaded theirs by now.
    return ThreadpoolController()
