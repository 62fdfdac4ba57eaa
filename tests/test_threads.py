"""Threads that share the tasks of a compiled loop."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from imkpl import _threads
from imkpl._threads import ParallelLoop, count_threads, limited_threads


@ParallelLoop(lambda counts: counts.size)
def count_visits(first, last, counts):
    for task in range(first, last):
        counts[task] += 1


@pytest.fixture
def many_threads(monkeypatch):
    """As if there were five cores."""
    monkeypatch.setattr(_threads._LIMIT, "n_threads", 5, raising=False)


@pytest.mark.parametrize("n_tasks", [0, 1, 3, 20, 1001])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_task_runs_once(many_threads, n_tasks, n_threads):
    counts = np.zeros(n_tasks, dtype=np.int64)
    with limited_threads(n_threads):
        count_visits(counts)
    assert_array_equal(counts, 1)


def test_loops_may_run_at_the_same_time(many_threads):
    def visit(_):
        counts = np.zeros(5000, dtype=np.int64)
        with limited_threads(3):
            count_visits(counts)
        return counts

    with ThreadPoolExecutor(8) as pool:
        for counts in pool.map(visit, range(40)):
            assert_array_equal(counts, 1)


def test_limits_are_nested_and_belong_to_one_python_thread(many_threads):
    with limited_threads(3):
        assert count_threads() == 3
        with limited_threads(4) as n_threads:
            assert n_threads == count_threads() == 3
        with limited_threads(-1) as n_threads:
            assert n_threads == 3
        with limited_threads(0) as n_threads:
            assert n_threads == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(count_threads).result() == _threads.N_THREADS
    assert count_threads() == 5


def test_an_error_in_a_task_reaches_the_caller(many_threads):
    @ParallelLoop(lambda counts: counts.size)
    def fail(first, last, counts):
        for task in range(first, last):
            if counts[task] == 0:
                raise ValueError("a task has failed")

    counts = np.ones(40, dtype=np.int64)
    fail(counts)
    counts[[7, 33]] = 0
    with pytest.raises(ValueError, match="a task has failed"):
        fail(counts)
