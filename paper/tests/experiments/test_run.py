import contextlib
import io
import multiprocessing
import os
import signal
import time

import pytest

from experiments.killed_run import make_table, make_table_in_a_group
from imkpl_paper.experiments import progress, run
from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.protocol import limited_time, measure
from imkpl_paper.experiments.spec import Cell
from imkpl_paper.experiments.store import RowStore

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
    stream = io.StringIO()
    store = RowStore(tmp_path / "rows.jsonl")
    with progress.show_progress(stream) as show:
        n_failed = run.run_cells(
            cells(3),
            store,
            show=show,
            measure=lambda cell, limit: (
                row_of(cell, accuracy=91.26)
                if cell.split
                else row_of(cell, status="failed", reason="ValueError: no")
            ),
        )
    assert n_failed == 1
    assert stream.getvalue().splitlines() == [
        "[1/3, 4 s left] wine, 1-NN, split 0: failed, ValueError: no",
        "[2/3, 2 s left] wine, 1-NN, split 1: 91.3 % in 2 s",
        "[3/3, 0 s left] wine, 1-NN, split 2: 91.3 % in 2 s",
    ]


def test_time_left_is_known_by_data_set_and_method():
    known = {("judge", "wine", "1-NN"): 2.0, ("judge", "Isolet", "IMKPL"): 40.0}
    left = [
        Cell("judge", "wine", "1-NN", 0),
        Cell("judge", "Isolet", "IMKPL", 0),
        Cell("judge", "digits", "PS", 0),
    ]
    # A kind that was not seen yet counts as the mean of the others.
    assert progress.estimate_left(left, known, 1) == 2 + 40 + 21
    assert progress.estimate_left(left, known, 2) == (2 + 40 + 21) / 2
    assert progress.estimate_left(left, {}, 1) == 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar():
    pytest.importorskip("rich")
    stream = Terminal()
    with progress.show_progress(stream) as show:
        show(row_of(cells(1)[0], accuracy=90.0), 1, 2, 30.0)
    assert "1/2" in stream.getvalue()
    assert "30 s left" in stream.getvalue()


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


def test_a_worker_that_is_ended_from_outside_is_said(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    with pytest.raises(ChildProcessError, match="for lack of memory most likely"):
        run.run_cells(cells(3), store, n_jobs=2, measure=end_the_process)


def test_jobs_are_one_per_processor():
    assert 1 <= run.default_jobs() <= (os.cpu_count() or 1)
