"""Measure what is missing: cells in parallel processes, rows on disk one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.progress import Progress, estimate_left, mean_seconds
from imkpl_paper.experiments.protocol import measure
from imkpl_paper.experiments.spec import Cell
from imkpl_paper.experiments.store import Row, RowStore, current_rows

Measure = Callable[..., Row]


def default_jobs() -> int:
    """As many cells at a time as this process has processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_missing(
    cells: Sequence[Cell], store: RowStore, *, retry_failed: bool = False, any_version: bool = False
) -> list[Cell]:
    """The cells that have no row that counts."""
    rows = current_rows(store.read(), fingerprints(), any_version=any_version)
    done = {key for key, row in rows.items() if row["status"] == "done" or not retry_failed}
    return [cell for cell in cells if cell.key not in done]


def fingerprints() -> dict[str, str]:
    """Of today's source, for every method."""
    return {name: method.fingerprint for name, method in METHODS.items()}


def run_cells(
    cells: Sequence[Cell],
    store: RowStore,
    *,
    n_jobs: int = 1,
    limit: float | None = None,
    show: Progress | None = None,
    measure: Measure = measure,
) -> int:
    """Measure cells and store their rows as they come.

    A row is on disk before the next one is waited for. What ends the run, whether an interrupt or
    the loss of power, costs the cells under way and no other.
    """
    known = mean_seconds(store.read())
    left = {cell.key: cell for cell in cells}
    n_failed = 0
    for n_done, row in enumerate(_measure_all(cells, n_jobs, partial(measure, limit=limit)), 1):
        store.append(row)
        n_failed += row["status"] != "done"
        left.pop(row["key"])
        known |= mean_seconds([row])
        if show is not None:
            show(row, n_done, len(cells), estimate_left(left.values(), known, n_jobs))
    return n_failed


def _measure_all(
    cells: Sequence[Cell], n_jobs: int, measure_one: Callable[[Cell], Row]
) -> Iterator[Row]:
    if n_jobs == 1 or len(cells) < 2:
        yield from map(measure_one, cells)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Batches of one: a batch is returned as a whole, and would be lost as a whole.
    with parallel_config("loky", n_jobs=min(n_jobs, len(cells)), inner_max_num_threads=1):
        rows = Parallel(return_as="generator_unordered", batch_size=1)(
            delayed(measure_one)(cell) for cell in cells
        )
        try:
            yield from rows
        except TerminatedWorkerError as error:
            raise ChildProcessError(
                "A process was ended from outside, for lack of memory most likely. What was "
                "finished is kept: start again, with fewer jobs."
            ) from error
