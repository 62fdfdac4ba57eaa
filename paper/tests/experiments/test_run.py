import contextlib
import json
import multiprocessing
import os
import signal
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.killed_run import make_table, make_table_in_a_group
from imkpl_paper._imkpl import listening
from imkpl_paper.experiments import run
from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.plan import Cell
from imkpl_paper.experiments.protocol import limited_time, measure
from imkpl_paper.experiments.run import RowStore, current_rows

N_CELLS = 20


def start(folder, n_jobs):
    # Forked from a process that has imported everything once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["imkpl_paper.experiments"])
    process = context.Process(target=make_table_in_a_group, args=(folder, n_jobs))
    process.start()
    return process


def lines_in(path):
    return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.mark.faults
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups")
@pytest.mark.parametrize(("n_jobs", "moments"), [(1, (0, 9)), (2, (3,))])
def test_killed_runs_lose_the_cells_under_way_only(tmp_path, n_jobs, moments):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    for moment in moments:
        process = start(killed, n_jobs)
        # The kill falls into a cell, at its end, or between two rows, as chance has it.
        while len(lines_in(killed / "rows.jsonl")) < moment or not (killed / "log.txt").exists():
            assert process.is_alive()
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert not (killed / "page.md").exists()
    last = start(killed, n_jobs)
    last.join()
    assert last.exitcode == 0
    # A kill costs one cell per process at most.
    assert len(lines_in(killed / "log.txt")) <= N_CELLS + n_jobs * len(moments)
    make_table(whole, 1)
    assert len(lines_in(whole / "log.txt")) == N_CELLS
    assert (killed / "page.md").read_text() == (whole / "page.md").read_text()


def row_of(cell, **more):
    row = {"key": cell.key, "task": cell.task, "dataset": cell.dataset, "method": cell.method}
    row |= {"split": cell.split, "settings": dict(cell.settings), "status": "done"}
    return row | {"fingerprint": METHODS[cell.method].fingerprint, "cell_seconds": 2.0} | more


def cells(n_cells):
    return [Cell("judge", "wine", "1-NN", split) for split in range(n_cells)]


def test_only_what_is_missing_is_run(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    first, second, third = cells(3)
    store.append(row_of(first))
    store.append(row_of(second, status="failed", reason="no"))
    store.append(row_of(third, fingerprint="of another source"))
    assert run.find_missing([first, second, third], store) == [third]
    assert run.find_missing([first, second, third], store, retry_failed=True) == [second, third]
    assert run.find_missing([first, second, third], store, any_version=True) == []


def test_an_interrupt_keeps_the_rows_before_it(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")

    def fake(cell, limit=None):
        if cell.split == 2:
            raise KeyboardInterrupt
        return row_of(cell)

    with pytest.raises(KeyboardInterrupt):
        run.run_cells(cells(4), store, measure=fake)
    assert [row["split"] for row in store.read()] == [0, 1]
    assert [cell.split for cell in run.find_missing(cells(4), store)] == [2, 3]


def test_progress_tells_what_is_left(tmp_path):
    announced = []
    store = RowStore(tmp_path / "rows.jsonl")
    with listening(announced.append):
        n_failed = run.run_cells(
            cells(3),
            store,
            measure=lambda cell, limit: (
                row_of(cell, accuracy=91.26)
                if cell.split
                else row_of(cell, status="failed", reason="ValueError: no")
            ),
        )
    assert n_failed == 1
    assert [one.message for one in announced] == [
        "1/3, 4 s left: wine, 1-NN, split 0 failed: ValueError: no",
        "2/3, 2 s left: wine, 1-NN, split 1: 91.3 % in 2 s",
        "3/3, 0 s left: wine, 1-NN, split 2: 91.3 % in 2 s",
    ]
    assert [(one.done, one.total) for one in announced] == [(1, 3), (2, 3), (3, 3)]


def test_time_left_is_known_by_data_set_and_method():
    known = {("judge", "wine", "1-NN"): 2.0, ("judge", "Isolet", "IMKPL"): 40.0}
    left = [
        Cell("judge", "wine", "1-NN", 0),
        Cell("judge", "Isolet", "IMKPL", 0),
        Cell("judge", "digits", "PS", 0),
    ]
    # A kind that was not seen yet counts as the mean of the others.
    assert run.estimate_left(left, known, 1) == 2 + 40 + 21
    assert run.estimate_left(left, known, 2) == (2 + 40 + 21) / 2
    assert run.estimate_left(left, {}, 1) == 0


def test_a_failure_is_a_row_with_a_reason(monkeypatch):
    method = METHODS["1-NN"]

    def broken(study, settings, seed):
        raise MemoryError("too\n  large")

    monkeypatch.setitem(METHODS, "1-NN", type(method)("1-NN", broken))
    row = measure(Cell("judge", "wine", "1-NN", 0))
    assert (row["status"], row["reason"]) == ("failed", "MemoryError: too large")
    assert "accuracy" not in row


def sleep_twice():
    with contextlib.suppress(Exception):
        time.sleep(5)
    time.sleep(5)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_cell_that_takes_too_long_is_given_up():
    with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"), limited_time(0.01):
        time.sleep(5)
    with pytest.raises(TimeoutError), limited_time(0.01):
        sleep_twice()
    # The timer is off, and what was in its place is back.
    time.sleep(0.02)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def end_the_process(cell, limit=None):
    os._exit(9)


@pytest.mark.faults
def test_a_killed_worker_is_reported(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    with pytest.raises(ChildProcessError, match="most likely for lack of memory"):
        run.run_cells(cells(3), store, n_jobs=2, measure=end_the_process)


# What JSON and UTF-8 have no place for is replaced when a row is written.
TEXT = st.text(st.characters(exclude_categories=["C"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1e6, 1e6) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(
    st.dictionaries(TEXT, VALUES, max_size=3).map(lambda d: {**d, "fingerprint": "f"}),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    # Thousands of appends: whether they have reached the disk does not matter here.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield tmp_path_factory.mktemp("rows")


@settings(max_examples=2, deadline=None)
@given(rows=ROWS)
def test_a_file_cut_at_any_byte_loses_the_last_row_only_and_can_be_appended_to(folder, rows):
    path = folder / "rows.jsonl"
    path.unlink(missing_ok=True)
    store = RowStore(path)
    ends = [0]
    for number, row in enumerate(rows):
        store.append({**row, "key": f"k{number}"})
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    expected = [{**row, "key": f"k{number}"} for number, row in enumerate(rows)]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        # The line break at the end of a row is no part of it.
        n_whole = sum(size >= end - 1 for end in ends[1:])
        assert store.read() == expected[:n_whole]
        store.append({"key": "new", "fingerprint": "f"})
        assert store.read() == [*expected[:n_whole], {"key": "new", "fingerprint": "f"}]


def test_a_file_that_is_not_there_has_no_rows(tmp_path):
    assert RowStore(tmp_path / "none.jsonl").read() == []


def test_of_rows_with_the_same_key_and_source_the_last_one_counts(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    for fingerprint, value in [("a", 1), ("b", 2), ("a", 3)]:
        store.append({"key": "k", "fingerprint": fingerprint, "value": value})
    assert [row["value"] for row in store.read()] == [2, 3]


def test_lines_that_are_no_rows_are_ignored(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'[1]\n{"no": "key"}\n\xff\xfe\n{"key": "k"}\n\n')
    assert RowStore(path).read() == [{"key": "k"}]


def test_what_json_does_not_have_becomes_null(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    store.append({"key": "k", "x": float("nan"), "deep": [{"y": float("nan")}], "z": (1, 2.5)})
    (row,) = store.read()
    assert row == {"key": "k", "x": None, "deep": [{"y": None}], "z": [1, 2.5]}
    json.dumps(row, allow_nan=False)


def test_rows_of_another_source_count_only_when_asked_for():
    today = METHODS["1-NN"].fingerprint
    rows = [
        {"key": "a", "method": "1-NN", "fingerprint": today, "value": 1},
        {"key": "a", "method": "1-NN", "fingerprint": "old", "value": 2},
        {"key": "b", "method": "1-NN", "fingerprint": "old", "value": 3},
        {"key": "b", "method": "1-NN", "fingerprint": "older", "value": 4},
    ]
    assert {k: r["value"] for k, r in current_rows(rows).items()} == {"a": 1}
    found = current_rows(rows, any_version=True)
    assert {k: r["value"] for k, r in found.items()} == {"a": 1, "b": 4}
    assert [bool(found[k].get("is_older")) for k in "ab"] == [False, True]


def test_cells_have_different_keys_unless_they_are_equal():
    cells = [
        Cell(task, dataset, method, split, chosen)
        for task in ("judge", "embed")
        for dataset in ("wine", "digits")
        for method in ("IMKPL", "ISKPL")
        for split in (0, 1)
        for chosen in ((), (("sparsity", 1),), (("sparsity", 2),), (("max_kernels", None),))
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    assert Cell("judge", "wine", "IMKPL", 0).key == Cell("judge", "wine", "IMKPL", 0).key
