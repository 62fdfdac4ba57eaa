"""Parsers for every format but text, and the choice between them by the ending of a file."""

from __future__ import annotations

import csv
import datetime
import io
import pathlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.readers.data_file import InputError, RawFile, ReadOptions, count
from imkpl.readers.text import decode, parse_content, parse_text
from imkpl.series import as_number, read_series, read_ts

# A spreadsheet may take this many times the size of its file in memory, and always a GiB.
MOST_TIMES, MOST_BYTES = 64, 2**30
# Cells that the table in a spreadsheet may have, and the last row of a sheet.
MOST_CELLS, LAST_ROW = 2**25, 2**20
FEWER_CELLS = "Delete cells far from the table, or save the sheet as CSV."
# More empty rows than this one after the other are skipped; fewer count in the numbers of rows.
MOST_EMPTY = 100
ARFF_TYPE = re.compile(r"numeric|real|int|date|string|relational", re.IGNORECASE)
# The opening quote of a cell, by separator, and its text up to a closing quote.
ARFF_OPENED = {",": re.compile(r"\s*+['\"]"), "\t": re.compile(r" *+['\"]")}
ARFF_CLOSED = {
    "'": re.compile(r"([^'\\]*+(?:\\.[^'\\]*+)*+)'"),
    '"': re.compile(r'([^"\\]*+(?:\\.[^"\\]*+)*+)"'),
}
DATE = "date"


def parse_file(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a file by its ending."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file. Pass a file in it.")
    if not path.exists():
        raise InputError(f"{path} does not exist. Check the name and the folder.")
    ending = path.suffix.lower()
    parse = PARSERS.get(ending)
    if parse is None:
        found = f"ends in {ending}" if ending else "has no ending"
        advice = ADVICE.get(ending, "Convert it, or rename it if only the ending is wrong.")
        raise InputError(f"{path.name} {found}, expected {FORMATS}. {advice}")
    if options.separator is not None and parse is not parse_text:
        raise InputError(
            f"--separator is for text files such as .csv, but {path.name} is not one. Leave it out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty, expected rows of data. Check how it was made.")
    try:
        return parse(path, options)
    except MemoryError as error:
        raise _too_large(path) from error


@contextmanager
def _refused_if_damaged(path: pathlib.Path, kind: str) -> Iterator[None]:
    """A damaged file can fail anywhere; to whoever reads it, that is one kind of failure."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{path.name} cannot be read as a {kind} file: it is damaged, incomplete or in another "
            "format. Write it again."
        ) from error


def parse_arff(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse an ARFF file, the format of Weka and OpenML; categories become text."""
    import pandas as pd

    text, notes = decode(path)
    kinds: dict[str, Any] = {}
    rows: list[list[Any]] = []
    written: list[list[str]] = []
    separator, where, has_weights = "", "", False
    stripped = enumerate(map(str.strip, io.StringIO(text, newline=None)), start=1)
    lines = iter([(number, line) for number, line in stripped if line and line[0] != "%"])
    try:
        for number, line in lines:
            where = f"line {number}: "
            if line[:5].lower() == "@data":
                break
            if line[:10].lower() == "@attribute":
                name, kind = _read_attribute(path, line[10:].strip())
                _refuse_repeated(path, [*kinds.keys() & {name}, name])
                kinds[name] = kind
        else:
            where = ""
            raise ValueError("no line @data")
        for number, line in lines:
            where, separator = f"line {number}: ", separator or ("," if "," in line else "\t")
            cells = _split_cells(line, separator)
            # Weka allows a weight in braces after the cells.
            if len(cells) == len(kinds) + 1 and cells[-1][:1] == "{":
                cells, has_weights = cells[:-1], True
            rows.append(_read_row(cells, list(kinds.values())))
            written.append(cells)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"{path.name} cannot be read as an ARFF file ({where}{error}). Check its header, or "
            "save the data as CSV."
        ) from error
    if not rows:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    columns = {
        # Whatever the dates are, such a column is left out.
        name: np.full(len(rows), "NaT", dtype="datetime64[s]") if kind is DATE else list(cells)
        for (name, kind), cells in zip(kinds.items(), zip(*rows, strict=True), strict=True)
    }
    nominal = [name for name, kind in kinds.items() if isinstance(kind, set)]
    notes += [f"{path.name}: weights of rows ignored."] * has_weights
    target = nominal[-1] if nominal else None
    exact = dict(zip(kinds, zip(*written, strict=True), strict=True))
    return RawFile(
        pd.DataFrame(columns),
        target=target,
        notes=tuple(notes),
        read_exact=lambda wanted: pd.DataFrame({name: exact[name] for name in wanted}),
    )


def _read_attribute(path: pathlib.Path, text: str) -> tuple[str, Any]:
    """The name of an attribute, and its set of categories or its type."""
    if text.startswith(("'", '"')):
        name, end = _read_quoted(text, 0)
        kind = text[end:].strip()
    else:
        name, kind = (*text.split(None, 1), "", "")[:2]
    if kind.startswith("{") and "}" in kind:
        listed = kind[1 : kind.rindex("}")]
        return name, set(_split_cells(listed, "," if "," in listed else "\t"))
    found = ARFF_TYPE.match(kind)
    if found is None:
        raise ValueError(f"attribute {quote(name)} has the type {quote(kind)}")
    kind = found[0].lower()
    if kind in ("string", "relational"):
        raise InputError(
            f"Attribute {quote(name)} of {path.name} is of type {kind}, expected numbers or "
            "categories in braces. Remove it, or save the data as CSV."
        )
    return name, DATE if kind == DATE else float


def _read_row(cells: list[str], kinds: list[Any]) -> list[Any]:
    if len(cells) != len(kinds):
        found = "a sparse row" if cells[0][:1] == "{" else f"{len(cells)} cells"
        raise ValueError(f"{found}, expected {len(kinds)} cells")
    row: list[Any] = []
    for cell, kind in zip(cells, kinds, strict=True):
        if cell == "?" or kind is DATE:
            row.append(np.nan if kind is float else None)
        elif kind is float:
            try:
                row.append(as_number(cell))
            except ValueError as error:
                raise ValueError(f"{quote(cell)} is not a number") from error
        elif cell in kind:
            row.append(cell)
        else:
            raise ValueError(f"{quote(cell)} is not among the categories of its attribute")
    return row


def _split_cells(line: str, separator: str) -> list[str]:
    """The cells of a line; quoted ones may contain separators."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    cells, end = [], -1
    while end < len(line):
        start = end + 1
        opened = ARFF_OPENED[separator].match(line, start)
        cell, closed = _read_quoted(line, opened.end() - 1) if opened else ("", start)
        end = line.find(separator, closed)
        end = end if end >= 0 else len(line)
        rest = line[closed:end].strip()
        if opened and rest:
            raise ValueError(f"{quote(rest)} follows a closing quote")
        cells.append(cell if opened else rest)
    return cells


def _read_quoted(text: str, start: int) -> tuple[str, int]:
    """The text between quotes, and where it ends."""
    found = ARFF_CLOSED[text[start]].match(text, start + 1)
    if found is None:
        raise ValueError("a quote is not closed")
    return re.sub(r"\\(.)", r"\1", found[1]), found.end()


def parse_parquet(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a Parquet or Feather file."""
    try:
        from pyarrow import feather, parquet
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by pyarrow, which is not installed. Install it with "
            "pip install 'imkpl[cli,parquet]', or save the table as CSV."
        ) from error
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    with _refused_if_damaged(path, "Parquet" if is_parquet else "Feather"):
        if is_parquet:
            # Neither can a table with two columns of one name be read, nor is it damaged.
            _refuse_repeated(path, parquet.read_schema(path).names)
            table = parquet.read_table(path, partitioning=None)
        else:
            table = feather.read_table(path)
        # Damaged offsets would lead pandas to memory outside of the table.
        table.validate(full=True)
        # Without the metadata of pandas an index is a column like any other.
        frame = table.to_pandas(ignore_metadata=True)
    if len(frame) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    names = ["index" if name == "__index_level_0__" else str(name) for name in frame.columns]
    _refuse_repeated(path, names)
    frame.columns = names
    table = table.rename_columns(names)

    def read_exact(wanted: list[str]) -> Any:
        return table.select(wanted).to_pandas(ignore_metadata=True, integer_object_nulls=True)

    return RawFile(frame, read_exact=read_exact)


def parse_xlsx(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse the first sheet of a spreadsheet that has cells, as if it had been saved as text."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by openpyxl, which is not installed. Install it with "
            "pip install 'imkpl[cli]', or save the sheet as CSV in the spreadsheet program."
        ) from error
    with _refused_if_damaged(path, ".xlsx"):
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(info.file_size for info in archive.infolist())
        if n_bytes > max(MOST_TIMES * path.stat().st_size, MOST_BYTES):
            raise _too_large(path)
        book = load_workbook(path, read_only=True, data_only=True)
        # What is hidden is read if nothing else has cells.
        sheets = sorted(book.worksheets, key=lambda one: one.sheet_state != "visible")
        rows = []
        for sheet in sheets:
            _refuse_uncalculated(path, sheet)
            rows = _read_sheet(path, sheet)
            if rows:
                break
        book.close()
    if not rows:
        raise InputError(f"{path.name} has no cells, expected rows of data. Check how it was made.")
    places = sorted({place for row in rows for place, cell in enumerate(row) if cell})
    if len(rows) * len(places) > MOST_CELLS:
        raise _too_large(path, FEWER_CELLS)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    for row in rows:
        writer.writerow([row[place] if place < len(row) else "" for place in places])
    raw = parse_content(path, content.getvalue(), replace(options, separator="comma"))
    is_visible = sheet.sheet_state == "visible"
    note = f"{path.name}: {'' if is_visible else 'hidden '}sheet {quote(str(sheet.title))}"
    n_alike = sum((one.sheet_state == "visible") == is_visible for one in sheets)
    if n_alike > 1:
        note += f", the first of {n_alike}; save another one as CSV to use it"
    return replace(raw, notes=(f"{note}.", *raw.notes))


def _read_sheet(path: pathlib.Path, sheet: Any) -> list[list[str]]:
    """The cells of a sheet as text, every row up to its last one."""
    sheet.reset_dimensions()
    rows: list[list[str]] = []
    n_cells = n_empty = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_show_cell(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        n_cells += len(cells)
        if n_cells > MOST_CELLS or number > LAST_ROW:
            raise _too_large(path, FEWER_CELLS)
        if cells:
            rows += [[] for _ in range(n_empty) if rows and n_empty <= MOST_EMPTY] + [cells]
        n_empty = 0 if cells else n_empty + 1
    return rows


def _refuse_uncalculated(path: pathlib.Path, sheet: Any) -> None:
    """Raise if a formula has no value; one whose value is an empty text is marked as text."""
    from openpyxl.xml.functions import iterparse

    with sheet._get_source() as source:
        for _, element in iterparse(source):
            kind = element.tag.rpartition("}")[2]
            if kind == "c" and element.find("{*}f") is not None and element.get("t") != "str":
                if not element.findtext("{*}v"):
                    raise InputError(
                        f"Cell {element.get('r')} of {path.name} (sheet {quote(str(sheet.title))}) "
                        "has a formula that was never calculated, expected its value. Open the "
                        "file in a spreadsheet program, save it there, and pass it again."
                    )
            elif kind == "row":
                element.clear()


def _show_cell(cell: Any) -> str:
    """A cell of a spreadsheet as text; dates as in ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    return str(cell)


def _refuse_repeated(path: pathlib.Path, names: list[str]) -> None:
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InputError(
            f"{path.name} has two columns named {quote(repeated)}, expected unique names. Rename "
            "one of them."
        )


def parse_ts(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a .ts file of the UEA and UCR archives."""
    try:
        X, labels = read_ts(path)
        series = read_series(X)
    except ValueError as error:
        raise InputError(str(error)) from error
    note = f"{path.name}: {len(series)} time series of {count(series.n_channels, 'channel')}."
    return RawFile(series, None if labels is None else np.asarray(labels), notes=(note,))


def _too_large(
    path: pathlib.Path,
    advice: str = "Use fewer rows or columns, or a machine with more memory.",
) -> InputError:
    return InputError(f"{path.name} does not fit into memory, expected a file that does. {advice}")


FORMATS = ".csv, .tsv, .xlsx, .parquet, .feather, .arff or .ts"
PARSERS: Mapping[str, Callable[[pathlib.Path, ReadOptions], RawFile]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), parse_text),
    **dict.fromkeys((".xlsx", ".xlsm"), parse_xlsx),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow"), parse_parquet),
    ".arff": parse_arff,
    ".ts": parse_ts,
}
ADVICE = {
    **dict.fromkeys((".xls", ".ods"), "Save the sheet as .xlsx or CSV in the spreadsheet program."),
    **dict.fromkeys((".gz", ".zip"), "Unpack it first."),
    **dict.fromkeys(
        (".pkl", ".pickle"),
        "Pickle files can run code and are never opened; save the data as Parquet or CSV.",
    ),
    **dict.fromkeys((".npz", ".npy", ".mat"), "Read it in Python, and save a table as Parquet."),
    ".imkpl": "That is the ending of a model; pass the data file here.",
}
