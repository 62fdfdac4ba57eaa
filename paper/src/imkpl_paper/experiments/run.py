"""Measure what is missing: cells in parallel processes, rows on disk one by one."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from imkpl_paper._imkpl import announce, to_json
from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.plan import Cell
from imkpl_paper.experiments.protocol import Row, measure

Kind = tuple[str, str, str]


class RowStore:
    """Rows in a file of JSON lines, which need not exist yet.

    A row is one write to a file that is opened for appending, so that a process that is killed
    leaves whole lines and at most one part of a line, which is ignored on reading. Of several rows
    with the same key and fingerprint the last one counts.
    """

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)

    def append(self, row: Row) -> None:
        """Add a row, which is on disk when this returns."""
        line = json.dumps(to_json(row), ensure_ascii=False, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            # A killed process may have left a part of a line.
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else "\n" + line
            rest = line.encode()
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())

    def read(self) -> list[Row]:
        """All rows, in the order in which they were written, each key and fingerprint once."""
        if not self.path.exists():
            return []
        found: dict[tuple[Any, Any], Row] = {}
        for line in self.path.read_bytes().split(b"\n"):
            # A part of a line is no JSON: its closing brace is missing.
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and "key" in row:
                place = (row["key"], row.get("fingerprint"))
                found.pop(place, None)
                found[place] = row
        return list(found.values())


def current_rows(rows: Iterable[Row], *, any_version: bool = False) -> dict[str, Row]:
    """The last row of today's source for every key; an older one if `any_version` and no other."""
    fingerprints = {name: method.fingerprint for name, method in METHODS.items()}
    found: dict[str, Row] = {}
    for row in rows:
        is_current = fingerprints.get(str(row.get("method"))) == row.get("fingerprint")
        key = str(row.get("key"))
        if is_current:
            found[key] = row
        elif any_version and (key not in found or found[key].get("is_older")):
            found[key] = {**row, "is_older": True}
    return found


def find_missing(
    cells: Sequence[Cell], store: RowStore, *, retry_failed: bool = False, any_version: bool = False
) -> list[Cell]:
    """The cells that have no row that counts."""
    rows = current_rows(store.read(), any_version=any_version)
    done = {key for key, row in rows.items() if row["status"] == "done" or not retry_failed}
    return [cell for cell in cells if cell.key not in done]


def run_cells(
    cells: Sequence[Cell],
    store: RowStore,
    *,
    n_jobs: int = 1,
    limit: float | None = None,
    measure: Callable[..., Row] = measure,
) -> int:
    """Measure cells, store and announce their rows as they come, and return how many failed.

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
        seconds = format_seconds(estimate_left(left.values(), known, n_jobs))
        message = f"{n_done}/{len(cells)}, {seconds} left: {format_row(row)}"
        announce("reproduce", message, n_done, len(cells))
    return n_failed


def _measure_all(
    cells: Sequence[Cell], n_jobs: int, measure_one: Callable[[Cell], Row]
) -> Iterator[Row]:
    if n_jobs == 1 or len(cells) < 2:
        yield from map(measure_one, cells)
        return
    # Batches of one: a batch is returned as a whole, and would be lost as a whole.
    with parallel_config("loky", n_jobs=min(n_jobs, len(cells)), inner_max_num_threads=1):
        rows = Parallel(return_as="generator_unordered", batch_size=1)(
            delayed(measure_one)(cell) for cell in cells
        )
        try:
            yield from rows
        except TerminatedWorkerError as error:
            raise ChildProcessError(
                "A worker process was killed, most likely for lack of memory. Finished cells are "
                "kept: start again, with fewer jobs."
            ) from error


def mean_seconds(rows: Iterable[Row]) -> dict[Kind, float]:
    """How long cells took on average, by task, data set and method."""
    found: dict[Kind, list[float]] = {}
    for row in rows:
        if row.get("cell_seconds") is not None:
            kind = (row["task"], row["dataset"], row["method"])
            found.setdefault(kind, []).append(float(row["cell_seconds"]))
    return {kind: sum(values) / len(values) for kind, values in found.items()}


def estimate_left(cells: Iterable[Cell], known: Mapping[Kind, float], n_jobs: int) -> float:
    """Seconds that cells will take; a kind that was not seen yet takes the mean of the others."""
    usual = sum(known.values()) / len(known) if known else 0.0
    total = sum(known.get((cell.task, cell.dataset, cell.method), usual) for cell in cells)
    return total / max(1, n_jobs)


def format_seconds(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [format_seconds(s) for s in (12, 150, 9000)]
    ['12 s', '2.5 min', '2.5 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def format_row(row: Row) -> str:
    """A row in a few words."""
    settings = ", ".join(f"{name}={value}" for name, value in row["settings"].items())
    name = f"{row['dataset']}, {row['method']}, split {row['split']}"
    name += f" ({settings})" if settings else ""
    if row["status"] != "done":
        return f"{name} failed: {row['reason']}"
    result = f"{row['accuracy']:.1f} %" if "accuracy" in row else "done"
    return f"{name}: {result} in {format_seconds(row['cell_seconds'])}"
