"""Tables in text files: encoding, separator, decimal mark, header and missing cells are guessed."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import pathlib
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from imkpl._checks import quote, shorten
from imkpl.readers.data_file import InputError, RawFile, ReadOptions, list_names
from imkpl.tables import MISSING_TEXTS

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|", "\\t": "\t"}
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "white space"}
# Of several separators that fit equally well, the first is used.
ORDER = "\t;|, "
# Share of lines that must agree on the number of cells.
MOST_LINES = 0.9
# Lines that are inspected to guess the separator and the decimal mark.
MAX_INSPECTED = 200
# The csv module has one limit of the size of cells for all threads.
LIMIT_LOCK = threading.Lock()
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
BLANK_TOP = re.compile(r"\A([\s,;|\"]*\n)+")
WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
# The same with a limit sign before or a unit after it.
QUANTITY_WITH_COMMA = re.compile(r"([<>≤≥]=?)?\s*[+-]?\d*,\d+([eE][+-]?\d+)?(\s*[^\W\d]\S*|\s*%)?")
WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def parse_text(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a table from a text file."""
    content, notes = decode(path)
    raw = parse_content(path, content, options)
    separator, decimal = raw.style
    note = (
        f"{path.name}: cells separated by {NAMES.get(separator, quote(separator))}"
        f"{', decimal comma' if decimal == ',' else ''}."
    )
    return replace(raw, notes=(*notes, note, *raw.notes))


def parse_content(path: pathlib.Path, content: str, options: ReadOptions) -> RawFile:
    """Read a table from text; what is guessed about its cells is noted."""
    import pandas as pd

    notes = []
    # Spreadsheets leave lines of separators above a table.
    content = BLANK_TOP.sub("", content.replace("\r\n", "\n").replace("\r", "\n"))
    nonblank = (line for line in io.StringIO(content) if line.strip())
    lines = list(itertools.islice(nonblank, MAX_INSPECTED))
    if not lines:
        raise InputError(
            f"{path.name} has only blank lines, expected rows of data. Check how it was made."
        )
    no_rows = InputError(
        f"{path.name} has a header and no rows, expected rows of data below it. Check how it was "
        "made."
    )
    # A single line may be very long.
    if len(lines) == 1:
        raise no_rows
    with _cells_of_any_size(content):
        separator = _find_separator(lines, options.separator, path)
        titles = _find_titles(lines, separator)
        for title in titles:
            content = BLANK_TOP.sub("", content[content.index(title) + len(title) :])
            notes.append(f"{quote(title.strip(separator + ' '))} above the table is not read.")
        inspected = _list_rows(lines[len(titles) :], separator)
        width = _check_widths(content, separator, path)
    decimal = _find_decimal(inspected, separator)
    is_headed = _has_header(inspected, options)
    names, more = _name_columns(inspected[0], width, is_headed=is_headed)

    def read_table(**more: Any) -> Any:
        return pd.read_csv(
            io.StringIO(content),
            sep=r"\s+" if separator == " " else separator,
            decimal=decimal,
            header=0 if is_headed else None,
            names=names,
            index_col=False,
            na_values=sorted(MISSING_TEXTS),
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
            **more,
        )

    try:
        frame = read_table()
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        if "out of memory" in str(error):
            raise MemoryError from error
        raise InputError(
            f"{path.name} cannot be read as a table ({shorten(str(error).strip())}). Check quotes "
            "and separators, or save it as CSV again."
        ) from error
    if len(frame) == 0:
        raise no_rows
    if decimal == ",":
        frame = _read_commas(frame)
    return RawFile(
        frame,
        notes=(*notes, *more),
        style=(separator, decimal),
        read_exact=lambda wanted: read_table(usecols=wanted, dtype=str),
    )


@contextmanager
def _cells_of_any_size(content: str) -> Iterator[None]:
    """Lift the limit of the csv module: at a wrong separator, a whole line can be one cell."""
    with LIMIT_LOCK:
        limit = csv.field_size_limit(max(len(content), csv.field_size_limit()))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _read_commas(frame: Any) -> Any:
    """Decimal points for commas in columns that also hold text, which pandas does not convert."""
    for name in frame.columns:
        if frame[name].dtype.kind not in "iufb":
            frame[name] = [
                cell.replace(",", ".", 1)
                if isinstance(cell, str) and QUANTITY_WITH_COMMA.fullmatch(cell.strip())
                else cell
                for cell in frame[name].tolist()
            ]
    return frame


def decode(path: pathlib.Path) -> tuple[str, list[str]]:
    """The text in a file, and notes on its encoding."""
    content = path.read_bytes()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace"), [f"{path.name}: encoding UTF-16."]
    if b"\0" in content or content.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path.name} is not a text file, expected a table as text. Save it as CSV, or give it "
            "the ending of its format."
        )
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        note = f"{path.name}: not in UTF-8, read as Latin-1; check letters with accents."
        return content.decode("latin-1"), [note]


def _find_separator(lines: list[str], given: str | None, path: pathlib.Path) -> str:
    if given is not None:
        separator = SEPARATORS.get(given, given)
        if len(separator) != 1 or separator in '"\r\n':
            raise InputError(
                f"--separator is {quote(given)}, expected one character, or tab, comma, semicolon, "
                "space or pipe. In a shell, quote it."
            )
        return separator
    found = {}
    for separator in ORDER:
        rows = _list_rows(lines, separator)
        if not rows:
            # Lines of nothing but this separator.
            continue
        widths = Counter(len(row) for row in rows)
        width, n_lines = max(widths.items(), key=lambda item: (item[1], item[0]))
        # The last line may end in the middle of quotes, so most lines must agree, not all.
        agrees = n_lines >= MOST_LINES * len(rows)
        # R writes no name above the row names.
        header = {width: 2, width - 1: 1}.get(len(rows[0]), 0)
        if width > 1:
            found[separator] = (agrees, header, width)
    if "," in found and any(_explains_commas(lines, one, found) for one in "\t;|"):
        del found[","]
    # White space also occurs inside cells, so it only counts if nothing else is found.
    if len(found) > 1:
        found.pop(" ", None)
    return max(found, key=lambda separator: found[separator]) if found else ","


def _find_titles(lines: list[str], separator: str) -> list[str]:
    """Lines above the table that have a single text in a file of three columns or more."""
    widths = Counter(len(cells) for cells in _list_rows(lines, separator))
    titles: list[str] = []
    if separator == " " or not widths or max(widths, key=widths.__getitem__) < 3:
        return titles
    for line in lines[:-1]:
        cells = [cell for row in _list_rows([line], separator) for cell in row if cell.strip()]
        is_text = len(cells) == 1 and not NUMBER.fullmatch(cells[0].strip())
        if not is_text or '"' in line:
            break
        titles.append(line.rstrip("\n"))
    return titles


def _explains_commas(lines: list[str], separator: str, found: dict[str, Any]) -> bool:
    """Whether all lines agree on this separator and commas occur in numbers only."""
    if not found.get(separator, (False,))[0]:
        return False
    cells = [cell.strip() for row in _list_rows(lines, separator)[1:] for cell in row]
    with_comma = [cell for cell in cells if "," in cell]
    return bool(with_comma) and all(WITH_COMMA.fullmatch(cell) for cell in with_comma)


def _split(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every line but, like pandas, those of white space."""
    if separator == " ":
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for cells in reader:
            if cells[1:] or "".join(cells).strip():
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            f"Line {reader.line_num} cannot be split into cells ({shorten(str(error))}). Check its "
            "quotes."
        ) from error


def _list_rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    """The cells of every line that has some."""
    return [cells for _, cells in _split(lines, separator) if any(map(str.strip, cells))]


def _find_decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    n_comma = sum(WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    n_point = sum(WITH_POINT.fullmatch(cell) is not None for cell in cells)
    return "," if n_comma > n_point else "."


def _has_header(rows: list[list[str]], options: ReadOptions) -> bool:
    """Whether the first line has a known name, or no numbers where the next line has some."""
    first = [cell.strip() for cell in rows[0]]
    known = {options.target, options.id_column, *options.known_names}
    if known & set(first) or len(rows) == 1:
        return True
    pairs = list(zip(first, rows[1], strict=False))
    numeric = [cell for cell, below in pairs if NUMBER.fullmatch(below.strip())]
    if not numeric:
        return not any(NUMBER.fullmatch(cell) for cell in first)
    return sum(NUMBER.fullmatch(cell) is not None for cell in numeric) * 2 < len(numeric)


def _check_widths(content: str, separator: str, path: pathlib.Path) -> int:
    """Number of columns; every line must have as many, though the header may lack one."""
    widths = [(number, len(cells)) for number, cells in _split(io.StringIO(content), separator)]
    expected = widths[1][1] if len(widths) > 1 else widths[0][1]
    for place, (number, width) in enumerate(widths):
        # R writes no name above the row names.
        if width != expected and not (place == 0 and width == expected - 1):
            expected, width = (widths[0][1], width) if place else (width, widths[1][1])
            number = number if place else widths[1][0]
            raise InputError(
                f"Line {number} of {path.name} has {width} cells, expected {expected} as in the "
                "first line. Quote cells that contain the separator, or set --separator."
            )
    return expected


def _name_columns(
    first: list[str], width: int, *, is_headed: bool
) -> tuple[list[str], tuple[str, ...]]:
    if not is_headed:
        places = [f"x{place}" for place in range(width)]
        return places, (f"The first line holds data: columns are named x0 to x{width - 1}.",)
    given = [""] * (width - len(first)) + [cell.strip() for cell in first]
    repeated: list[str] = []
    # The numbers that were tried for a name are all taken, so that none is tried twice.
    numbers: dict[str, Iterator[int]] = {}
    written, names = set(given), dict[str, int]()
    for place, cell in enumerate(given):
        name = cell or f"column {place + 1}"
        if name in names:
            repeated.append(name)
            tried = (f"{name}_{n}" for n in numbers.setdefault(name, itertools.count(2)))
            name = next(one for one in tried if one not in names and one not in written)
        names[name] = place
    if not repeated:
        return list(names), ()
    listed = list_names(list(dict.fromkeys(repeated)))
    return list(names), (f"Several columns are named {listed}; all but the first got a number.",)
