"""The simulator of docs/scaling.md, by hand and by its laws."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.events import Machines, Simulation, Task, longest_path, trace_back

FREE = {"bandwidth": 1e300, "latency": 0.0, "overhead": 0.0}


def chain(*seconds):
    return {
        number: Task("work", length, (number - 1,) if number else ())
        for number, length in enumerate(seconds)
    }


def fork_join(n_branches, seconds):
    tasks = {"first": Task("first", 1.0)}
    for number in range(n_branches):
        tasks[number] = Task("branch", seconds, ("first",), result_bytes=8.0)
    return {**tasks, "last": Task("last", 2.0, tuple(range(n_branches)))}


@st.composite
def graphs(draw):
    n_tasks = draw(st.integers(1, 12))
    tasks = {}
    for number in range(n_tasks):
        before = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        seconds = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
        tasks[number] = Task(
            "work", seconds, tuple(sorted(before)), result_bytes=draw(st.sampled_from([0.0, 10.0]))
        )
    return tasks


def test_a_chain_takes_the_sum_of_its_tasks_on_any_number_of_workers():
    for n_workers in (1, 3):
        line = Simulation(chain(1.0, 2.0, 4.0), Machines(n_workers, **FREE)).run()
        assert line.ended == 7.0
    assert longest_path(chain(1.0, 2.0, 4.0)) == (7.0, [0, 1, 2])


@pytest.mark.parametrize(("n_workers", "expected"), [(1, 1 + 6 * 5 + 2), (2, 18), (3, 13), (6, 8)])
def test_a_fork_and_join_takes_what_it_takes_by_hand(n_workers, expected):
    line = Simulation(fork_join(6, 5.0), Machines(n_workers, **FREE)).run()
    assert line.ended == expected
    assert line.busy == 33


def test_transfers_take_latency_and_bytes_over_bandwidth():
    # The branch that ran elsewhere is fetched: 0.5 s + 8 bytes at 4 bytes/s.
    machines = Machines(2, bandwidth=4.0, latency=0.5)
    tasks = {
        "left": Task("work", 1.0, result_bytes=8.0),
        "right": Task("work", 1.0, result_bytes=8.0),
        "sum": Task("add", 1.0, ("left", "right")),
    }
    line = Simulation(tasks, machines).run()
    assert line.runs["sum"].begun == pytest.approx(0.5 + 1.0 + 0.5 + 0.5 + 2.0)
    assert line.worker_bytes == 8.0


def test_the_scheduler_hands_out_one_task_after_the_other():
    tasks = {number: Task("work", 0.0) for number in range(50)}
    line = Simulation(tasks, Machines(100, overhead=0.1, latency=0.0)).run()
    assert line.ended == pytest.approx(5.0)


def test_what_all_workers_need_spreads_like_a_rumour():
    # One second per copy, and each who has it sends it on: 1, 2, 4, 8 workers after 0, 1, 2, 3 s.
    tasks = {"job": Task("job", 0.0, result_bytes=1.0)}
    for number in range(8):
        tasks[f"part{number}"] = Task("part", 0.0, home=number, result_bytes=100.0)
        tasks[number] = Task("run", 0.0, ("job", f"part{number}"))
    line = Simulation(tasks, Machines(8, bandwidth=1.0, latency=0.0)).run()
    assert line.ended == pytest.approx(3.0)
    assert line.worker_bytes == 7.0


def test_data_stay_where_they_lie():
    tasks = {}
    for number in range(6):
        tasks[f"part{number}"] = Task("part", 0.0, home=number, result_bytes=1e9)
        tasks[number] = Task("run", 1.0, (f"part{number}",))
    line = Simulation(tasks, Machines(3, latency=0.0)).run()
    assert line.ended == 2.0
    assert line.worker_bytes == 0.0
    assert line.peak_bytes == 2e9


def test_a_worker_holds_its_task_and_the_one_that_waits_not_all_partitions():
    tasks = {"job": Task("job", 0.0)}
    for number in range(40):
        tasks[f"part{number}"] = Task("part", 1.0, result_bytes=100.0)
        tasks[number] = Task("run", 1.0, ("job", f"part{number}"), working_bytes=50.0)
    line = Simulation(tasks, Machines(2, overhead=1e-3)).run()
    assert line.peak_bytes <= 2 * 100.0 + 50.0
    assert line.ended == pytest.approx(40.0, rel=0.05)


@given(graphs(), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_schedule_beats_the_longest_path_or_the_total_work(tasks, n_workers, is_free):
    costs = FREE if is_free else {"bandwidth": 5.0, "latency": 0.1, "overhead": 0.05}
    line = Simulation(tasks, Machines(n_workers, **costs)).run()
    total = sum(task.seconds for task in tasks.values())
    assert set(line.runs) == set(tasks)
    assert line.busy == pytest.approx(total)
    assert line.ended >= longest_path(tasks)[0] - 1e-9
    assert line.ended >= total / n_workers - 1e-9
    if n_workers == 1 and is_free:
        assert line.ended == pytest.approx(total)


@given(graphs(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_no_two_tasks_share_a_worker_and_none_begins_before_what_it_needs(tasks, n_workers):
    machines = Machines(n_workers, bandwidth=5.0, latency=0.1, overhead=0.05)
    runs = Simulation(tasks, machines).run().runs
    for key, task in tasks.items():
        assert all(runs[name].ended <= runs[key].begun for name in task.dependencies)
    for number in range(n_workers):
        own = sorted((r.begun, r.ended) for r in runs.values() if r.worker == number)
        assert all(before[1] <= after[0] + 1e-12 for before, after in pairwise(own))


@given(graphs(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_what_the_end_waited_for_adds_up_to_the_whole_time(tasks, n_workers):
    line = Simulation(tasks, Machines(n_workers, bandwidth=5.0, latency=0.1, overhead=0.05)).run()
    assert sum(seconds for _, seconds in trace_back(tasks, line)) == pytest.approx(line.ended)
