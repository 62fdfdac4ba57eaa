"""What is printed: answers to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

# Wider than any table, so that nothing is cut where no terminal sets a width.
ENDLESS = 10_000
LINE = re.compile(r"\[\w+\] (.*)")
ROUND = re.compile(r"round (\d+)/(\d+): (.*)")


def clean(text: Any) -> str:
    """Text without anything that a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def say(text: str = "") -> None:
    """Print a part of the answer."""
    _write(sys.stdout, text)


def note(text: str) -> None:
    """Say what was guessed or noticed."""
    _write(sys.stderr, f"note: {text}")


def complain(text: str) -> None:
    """Say what went wrong."""
    _write(sys.stderr, f"imkpl: {' '.join(text.split())}")


def say_json(answer: dict[str, Any]) -> None:
    """Print the whole answer as one JSON object."""
    sys.stdout.write(as_json(answer))


def as_json(answer: dict[str, Any]) -> str:
    """An answer as JSON."""
    return json.dumps(_plain(answer), indent=1, allow_nan=False) + "\n"


def say_table(head: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Print a table; columns of numbers are aligned to the right."""
    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(head):
        is_number = all(not isinstance(row[place], str) for row in cells)
        table.add_column(Text(clean(name)), justify="right" if is_number else "left")
    for row in cells:
        table.add_row(*(Text(clean(cell)) for cell in row))
    # Drawn into text first: a terminal's width must not cut names.
    drawn = io.StringIO()
    Console(file=drawn, width=ENDLESS, color_system=None, legacy_windows=False).print(table)
    if title:
        say(title)
    say("\n".join(line.rstrip() for line in drawn.getvalue().rstrip().splitlines()))


@contextmanager
def progress(title: str) -> Iterator[None]:
    """Show the stages and rounds of a fit as a bar, where somebody watches."""
    screen = sys.stderr
    console = Console(file=screen)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with (
        Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as bars,
        redirect_stderr(_Stages(bars, title, screen)),
    ):
        yield


class _Stages(io.TextIOBase):
    """Takes the lines of a verbose fit; other lines go through."""

    def __init__(self, bars: Progress, title: str, screen: Any) -> None:
        self.bars, self.title, self.screen = bars, title, screen
        self.task = bars.add_task(title, total=None)

    def write(self, text: str) -> int:
        found = LINE.fullmatch(text.strip())
        if found is None:
            return int(self.screen.write(text))
        a_round = ROUND.fullmatch(found[1])
        if a_round is None:
            self.bars.update(self.task, description=f"{self.title}: {found[1]}")
        else:
            total, done = int(a_round[2]), int(a_round[1])
            words = f"{self.title}: round {done}, {a_round[3].split(', ', 1)[-1]}"
            self.bars.update(self.task, total=total, completed=done, description=words)
        return len(text)


def _write(stream: Any, text: str) -> None:
    lines = "\n".join(clean(line) for line in text.split("\n")) + "\n"
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(lines.encode(encoding, errors="replace").decode(encoding))


def _plain(value: Any) -> Any:
    """Lists, dicts, text and numbers that JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
