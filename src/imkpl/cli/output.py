"""What is printed (answers to standard output, the rest to standard error) and what is written."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table
from rich.text import Text

from imkpl._checks import printable
from imkpl._json import to_json
from imkpl._progress import Progress, listening
from imkpl._writing import check_target
from imkpl.readers import InputError

# Wider than any table, so that nothing is cut off.
ENDLESS = 10_000
# A spreadsheet takes a cell that starts with one of these for a formula, unless it is a number.
FORMULA_STARTS = tuple("=+-@\t\r\n")
# The second has the numbers of the page.
REPORT_ENDINGS = (".html", ".json")


def echo(*lines: str) -> None:
    """Print lines of the answer, an empty one by default."""
    _write(sys.stdout, *(lines or [""]))


def echo_note(text: str) -> None:
    """Print what was guessed or noticed."""
    _write(sys.stderr, f"note: {text}")


def echo_error(text: str) -> None:
    """Print what went wrong, in one line."""
    _write(sys.stderr, f"imkpl: {' '.join(text.split())}")


def echo_traceback(text: str) -> None:
    """Print where an error was raised."""
    _write(sys.stderr, *(f"| {line}" for line in text.rstrip().split("\n")))


def echo_json(answer: dict[str, Any]) -> None:
    """Print the whole answer as one JSON object."""
    sys.stdout.write(format_json(answer))


def format_json(answer: dict[str, Any]) -> str:
    """An answer as JSON, in ASCII without control characters."""
    text = json.dumps(to_json(answer), indent=1, allow_nan=False) + "\n"
    return text.replace("\x7f", "\\u007f")


def echo_table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    most: int | None = None,
    more: str = " (see --json)",
) -> None:
    """Print the first rows of a table; columns of numbers are aligned to the right."""
    cells = rows[:most]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(head):
        is_number = all(not isinstance(row[place], str) for row in cells)
        table.add_column(Text(printable(name)), justify="right" if is_number else "left")
    for row in cells:
        table.add_row(*(Text(printable(cell)) for cell in row))
    # Drawn into a string first: the width of a terminal must not cut names.
    drawn = io.StringIO()
    Console(file=drawn, width=ENDLESS, color_system=None, legacy_windows=False).print(table)
    echo(*(line.rstrip() for line in drawn.getvalue().rstrip().splitlines()))
    if len(rows) > len(cells):
        echo(f"... and {len(rows) - len(cells)} more{more}")


@contextmanager
def progress_bar(title: str) -> Iterator[None]:
    """Show what the block announces as progress bars, if standard error is a terminal."""
    console = Console(file=sys.stderr)
    times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *times)
    with ProgressBar(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        # One bar per source: the folds, and the fit under way.
        tasks: dict[str, TaskID] = {}

        def show(progress: Progress) -> None:
            if progress.source not in tasks:
                tasks[progress.source] = bar.add_task(title, total=None)
            bar.update(
                tasks[progress.source],
                description=f"{title}: {printable(progress.message)}",
                total=progress.total,
                completed=progress.done,
            )

        with listening(show):
            yield


def _write(stream: Any, *lines: str) -> None:
    """Write lines; a line break within one, which is part of a name, is escaped."""
    text = "".join(f"{printable(line)}\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding))


def format_csv(frame: Any, path: Path, *, is_safe: bool, style: tuple[str, str]) -> str:
    """A table as CSV; cells that a spreadsheet would run get an apostrophe or at least a note."""
    from pandas.api.types import is_numeric_dtype

    found: list[str] = []

    def quote(cell: Any) -> Any:
        if not isinstance(cell, str) or not _is_formula(cell):
            return cell
        found.append(cell)
        return f"'{cell}"

    quoted = frame.apply(lambda cells: cells if is_numeric_dtype(cells) else cells.map(quote))
    quoted.columns = [quote(name) for name in frame.columns]
    if found and not is_safe:
        cells = "1 cell" if len(found) == 1 else f"{len(found)} cells"
        echo_note(
            f"A spreadsheet may run {cells} of {path.name}, such as {found[0][:40]!r}. Add "
            "--spreadsheet-safe to put an apostrophe before them."
        )
    separator = "\t" if style[0] == " " else style[0]
    table = quoted if is_safe else frame
    return str(table.to_csv(index=False, lineterminator="\n", sep=separator, decimal=style[1]))


def _is_formula(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.startswith(FORMULA_STARTS)
    return False


def check_outputs(
    outputs: Mapping[tuple[str, tuple[str, ...]], Path], inputs: Iterable[Path], *, force: bool
) -> None:
    """Raise before a long fit if a result, by its option and endings, could not be written."""
    taken = {path.resolve() for path in inputs}
    for (option, endings), path in outputs.items():
        if path.resolve() in taken:
            raise InputError(
                f"{path} is already read or written by this command. Choose another name."
            )
        if path.is_dir():
            raise InputError(f"{path} is a folder, expected a file. Name a file in it.")
        if path.exists() and not force:
            raise InputError(
                f"{path} already exists. Choose another name, or replace it with --force."
            )
        check_target(path)
        taken.add(path.resolve())
        check_ending(option, path, endings)
        if endings == REPORT_ENDINGS and find_spec("jinja2") is None:
            raise InputError(
                "A report needs jinja2, which is not installed. Install it with "
                "pip install 'imkpl[cli]'."
            )


def check_ending(option: str, path: Path, endings: Sequence[str]) -> None:
    """Raise if a file would be written in an unknown format."""
    if endings and path.suffix.lower() not in endings:
        raise InputError(
            f"{option} is {path.name}, expected a name that ends in {' or '.join(endings)}."
        )
