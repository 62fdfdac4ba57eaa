"""Progress with the time that is left: a bar where rich and a terminal are there, else lines."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Protocol

from imkpl_paper.experiments.spec import Cell
from imkpl_paper.experiments.store import Row

Pair = tuple[str, str, str]


class Progress(Protocol):
    """Is told of every row."""

    def __call__(self, row: Row, n_done: int, n_cells: int, left: float) -> None:
        """Show a row."""


def mean_seconds(rows: Iterable[Row]) -> dict[Pair, float]:
    """How long cells took, by task, data set and method."""
    found: dict[Pair, list[float]] = {}
    for row in rows:
        if row.get("cell_seconds") is not None:
            found.setdefault((row["task"], row["dataset"], row["method"]), []).append(
                float(row["cell_seconds"])
            )
    return {pair: sum(values) / len(values) for pair, values in found.items()}


def estimate_left(cells: Iterable[Cell], known: Mapping[Pair, float], n_jobs: int) -> float:
    """Seconds that cells will take, from what others of their kind took."""
    usual = sum(known.values()) / len(known) if known else 0.0
    total = sum(known.get((cell.task, cell.dataset, cell.method), usual) for cell in cells)
    return total / max(1, n_jobs)


def say_time(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [say_time(s) for s in (12, 150, 9000)]
    ['12 s', '2.5 min', '2.5 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def say_row(row: Row) -> str:
    """A row in a few words."""
    settings = ", ".join(f"{name}={value}" for name, value in row["settings"].items())
    name = f"{row['dataset']}, {row['method']}, split {row['split']}"
    name += f" ({settings})" if settings else ""
    if row["status"] != "done":
        return f"{name}: failed, {row['reason']}"
    what = f"{row['accuracy']:.1f} %" if "accuracy" in row else "done"
    return f"{name}: {what} in {say_time(row['cell_seconds'])}"


@contextmanager
def show_progress(stream: IO[str] | None = None) -> Iterator[Progress]:
    """A place to show progress."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty() and importlib.util.find_spec("rich"):
        with _bar(stream) as bar:
            yield bar
        return

    def show(row: Row, n_done: int, n_cells: int, left: float) -> None:
        stream.write(f"[{n_done}/{n_cells}, {say_time(left)} left] {say_row(row)}\n")
        stream.flush()

    yield show


@contextmanager
def _bar(stream: Any) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]} left"))
    last = TextColumn("{task.description}", markup=False)
    with Bars(*columns, last, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=None, left="?")

        def show(row: Row, n_done: int, n_cells: int, left: float) -> None:
            if row["status"] != "done":
                bar.console.print(say_row(row), markup=False)
            bar.update(
                task,
                completed=n_done,
                total=n_cells,
                left=say_time(left),
                description=say_row(row),
            )

        yield show
