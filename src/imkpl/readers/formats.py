"""From a file to a table: the choice of a parser by the ending, and the parsers.

In text, encoding, separator, decimal mark, header and missing cells are guessed. Parquet and
Feather files are read by pyarrow; a spreadsheet is read as if it had been saved as text.
"""

import codecs
import csv
import datetime
import io
import itertools
import pathlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from imkpl._checks import quote, shorten
from imkpl.tables import MISSING_TEXTS

# Names listed in a message; the rest are counted.
MAX_NAMES = 8
# A spreadsheet may take this many times the size of its file in memory, and always a GiB.
MOST_TIMES, MOST_BYTES = 64, 2**30
# Cells that the table in a spreadsheet may have, and the last row of a sheet.
MOST_CELLS, LAST_ROW = 2**25, 2**20
# More empty rows than this one after the other are skipped; fewer count in the numbers of rows.
MOST_EMPTY = 100
# Of several separators that fit equally well, the first is used: commas also occur in numbers.
SEPARATORS = {"tab": "\t", "semicolon": ";", "pipe": "|", "comma": ",", "space": " "}
# Share of lines that must agree on the number of cells.
MOST_LINES = 0.9
# Lines that are inspected to guess the separator and the decimal mark.
MAX_INSPECTED = 200
# At a wrong separator, a whole line can be one cell; this is as much as every system allows.
LONGEST_CELL = 2**31 - 1
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
BLANK_TOP = re.compile(r"\A([\s,;|\"]*\n)+")
# A number with a decimal mark, perhaps with a limit sign before or a unit after it.
DECIMAL = re.compile(r"([<>≤≥]=?)?\s*[+-]?\d*(?P<mark>[.,])\d+([eE][+-]?\d+)?(\s*[^\W\d]\S*|\s*%)?")


class InputError(ValueError):
    """A file, or a request about one, that cannot be used.

    Its message says what was found, what was expected and what to do.

    Examples
    --------
    >>> from imkpl.readers import read_training_file
    >>> read_training_file("nowhere.csv")
    Traceback (most recent call last):
        ...
    imkpl.readers.formats.InputError: nowhere.csv does not exist. Check the name and the folder.
    """


@dataclass(frozen=True)
class ReadOptions:
    """Everything about a file that should not be guessed.

    Parameters
    ----------
    target : str, optional
        Column of the class labels, or of values.
    classify, regress : bool
        Whether the target holds classes, or values. By default numbers of many values are values.
    id_column : str, optional
        Column of the row names.
    separator : str, optional
        Separator of cells in a text file: a character, or "tab", "comma", "semicolon", "space" or
        "pipe".
    group : str, optional
        Column that says which rows belong together, such as those of one person.
    site : str, optional
        Column of the places that rows come from, such as hospitals.
    time, after : str, optional
        Column of the times of rows, and the time from which on they are held out.
    series : str, optional
        Column of the trials that rows are time steps of; `time` is then the time of the steps.
    eligible : str, optional
        Column of yes and no: which rows may be shown in prototypes.
    by : tuple of str
        Columns whose values divide the rows into subgroups, whatever else they are used for.
    drop : tuple of str
        Columns to leave out.
    categories, numbers : tuple of str
        Columns to read as categories, or as numbers.
    missing : tuple of str
        Cells that mean a missing value, such as "-999".
    not_measured : tuple of str
        Columns that a file for a model may lack: their cells are missing.
    transpose : bool
        Whether the file has a row per feature and a column per sample.
    labels : str, optional
        A second file, with a row per sample: its name and its class.
    merge_spellings : bool
        Whether texts that differ in case, spaces and hyphens only are one category.
    ordered : tuple of str
        Columns whose categories have an order, such as "stage=I,II,III", or the classes in order.
    months : tuple of str
        Columns of dates, to be read as months since the first, or since "visit=2024-01-01".
    known_names : tuple of str
        Columns that the file should have; a first line with one of them is a header.

    Examples
    --------
    >>> options = ReadOptions(target="diagnosis", drop=("name",), missing=("-999",))
    >>> options.target, options.group
    ('diagnosis', None)
    """

    target: str | None = None
    classify: bool = False
    regress: bool = False
    id_column: str | None = None
    separator: str | None = None
    group: str | None = None
    site: str | None = None
    time: str | None = None
    after: str | None = None
    series: str | None = None
    eligible: str | None = None
    by: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    transpose: bool = False
    labels: str | None = None
    merge_spellings: bool = False
    ordered: tuple[str, ...] = ()
    months: tuple[str, ...] = ()
    known_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawFile:
    """A parsed file, before anything is decided about its columns."""

    table: Any  # pandas.DataFrame with all columns
    # Some columns of it, with the characters or the whole numbers that are in the file.
    read_exact: Callable[[list[str]], Any]
    notes: tuple[str, ...] = ()
    style: tuple[str, str] = (",", ".")  # separator and decimal mark of a text file


def list_names(names: Sequence[Any]) -> str:
    """Quoted names, the first few of many."""
    shown = [quote(str(name)) for name in names[:MAX_NAMES]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def count(number: int, noun: str) -> str:
    """A number and its noun, such as "1 row" or "3 classes"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith(('s', 'x')) else 's'}"


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
        raise InputError(
            f"{path.name} {found}, expected {FORMATS}. Unpack it, rename it if only its "
            "ending is wrong, or save its table as CSV."
        )
    if options.separator is not None and parse is not parse_text:
        raise InputError(
            f"--separator is for text files such as .csv, but {path.name} is not one. Leave it out."
        )
    if path.stat().st_size == 0:
        raise _has_no(path, "no content")
    try:
        raw = parse(path, options)
        return turn(path, raw, options) if options.transpose else raw
    except (InputError, PermissionError):
        raise
    except MemoryError as error:
        raise InputError(
            f"{path.name} does not fit into memory: it is too large, or damaged and states a wrong "
            "size. Use fewer rows or columns, or write it again."
        ) from error
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by {error.name}, which is not installed. Install it with "
            "pip install 'imkpl[cli,parquet]', or save the table as CSV."
        ) from error
    except Exception as error:
        # A damaged file can fail anywhere; to whoever reads it, that is one kind of failure. What
        # is said about text has the number of a line.
        is_text = parse is parse_text
        said = f" ({shorten(str(error).strip())})" if is_text else ""
        advice = "Check its quotes, or write it again." if is_text else "Write it again."
        raise InputError(
            f"{path.name} cannot be read as a {ending} file{said}: it is damaged, incomplete or in "
            f"another format. {advice}"
        ) from error


def turn(path: pathlib.Path, raw: RawFile, options: ReadOptions) -> RawFile:
    """The table with its first column as the header, as if it had been saved like that."""
    names = list(raw.table.columns)
    cells = raw.read_exact(names).astype(object)
    cells = cells.where(cells.notna(), "")
    content = io.StringIO()
    writer = csv.writer(content, delimiter="\t", lineterminator="\n")
    writer.writerow(["sample", *cells[names[0]]])
    writer.writerows([name, *cells[name]] for name in names[1:])
    turned = parse_content(path, content.getvalue(), replace(options, separator="tab"))
    note = f"{path.name}: its {len(cells)} rows are read as columns, its columns as rows."
    return replace(turned, notes=(*raw.notes, note, *turned.notes), style=raw.style)


def join_labels(raw: RawFile, options: ReadOptions) -> RawFile:
    """The table with the columns of a second file, joined by the names of samples."""
    path = pathlib.Path(str(options.labels))
    other, table = parse_file(path, ReadOptions()).table, raw.table
    pairs = [
        (int(table[left].astype(str).isin(other[right].astype(str)).sum()), left, right)
        for left in table.columns
        for right in other.columns
        if table[left].dtype.kind not in "fb" and other[right].is_unique
    ]
    n_found, left, right = max(pairs, key=lambda one: one[0], default=(0, "", ""))
    if 2 * n_found < len(table):
        raise InputError(
            f"{path.name} (--labels) names {n_found} of {len(table)} samples of the table, "
            "expected most of them. Write their names as in the table, in a column of their own."
        )
    added = other.set_index(other[right].astype(str)).drop(columns=right)
    added = added.drop(columns=[name for name in added if name in table])
    joined = added.reindex(table[left].astype(str)).set_axis(table.index)
    note = f"{path.name}: {list_names(list(added))} of {n_found} samples, by {quote(str(left))}."

    def read_exact(wanted: list[str]) -> Any:
        here = [name for name in wanted if name not in joined]
        rest = {name: joined[name].astype(object) for name in wanted if name in joined}
        return (raw.read_exact(here) if here else table[[]]).assign(**rest)[wanted]

    import pandas as pd

    whole = pd.concat([table, joined], axis=1)
    return replace(raw, table=whole, read_exact=read_exact, notes=(*raw.notes, note))


def parse_text(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a table from a text file."""
    content, notes = _decode(path)
    raw = parse_content(path, content, options)
    separator, decimal = raw.style
    known = {one: f"{name}s" for name, one in SEPARATORS.items()}
    more = ", decimal comma" if decimal == "," else ""
    note = f"{path.name}: cells separated by {known.get(separator, quote(separator))}{more}."
    return replace(raw, notes=(*notes, note, *raw.notes))


def parse_content(path: pathlib.Path, content: str, options: ReadOptions) -> RawFile:
    """Read a table from text; what is guessed about its cells is noted."""
    import pandas as pd

    notes = []
    # Spreadsheets leave lines of separators above a table.
    content = BLANK_TOP.sub("", content.replace("\r\n", "\n").replace("\r", "\n"))
    nonblank = (line for line in io.StringIO(content) if line.strip())
    lines = list(itertools.islice(nonblank, MAX_INSPECTED))
    # A single line may be very long.
    if len(lines) < 2:
        raise _has_no(path, "a header and no rows" if lines else "only blank lines")
    csv.field_size_limit(LONGEST_CELL)
    separator = _find_separator(lines, options.separator)
    titles = _find_titles(lines, separator)
    for title in titles:
        content = BLANK_TOP.sub("", content[content.index(title) + len(title) :])
        notes.append(f"{quote(title.strip(separator + ' '))} above the table is not read.")
    inspected = _list_rows(lines[len(titles) :], separator)
    width = _check_widths(content, separator, path)
    decimal = _find_decimal(inspected, separator)
    is_headed = _has_header(inspected, options)
    names, repeated = _name_columns(inspected[0], width, is_headed=is_headed)
    if not is_headed:
        notes.append(f"The first line holds data: columns are named x0 to x{width - 1}.")
    if repeated:
        # Which of them is meant by an option, nobody knows.
        named = {options.target, options.id_column, options.group, options.eligible}
        named |= {options.site, options.time}
        named.update(options.by, options.drop, options.categories, options.numbers)
        for name in repeated:
            if name in named:
                raise _has_repeated(path, name)
        listed = list_names(repeated)
        notes.append(f"Several columns are named {listed}; all but the first got a number.")

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

    frame = read_table()
    if len(frame) == 0:
        raise _has_no(path, "a header and no rows")
    if decimal == ",":
        # Those of columns that also hold text are not converted by pandas.
        for name, cells in frame.items():
            if cells.dtype.kind not in "iufb":
                frame[name] = [
                    cell.replace(",", ".", 1) if _find_mark(cell) == "," else cell for cell in cells
                ]
    return RawFile(
        frame,
        lambda wanted: read_table(usecols=wanted, dtype=str),
        notes=tuple(notes),
        style=(separator, decimal),
    )


def _decode(path: pathlib.Path) -> tuple[str, list[str]]:
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


def _find_separator(lines: list[str], given: str | None) -> str:
    if given is not None:
        separator = SEPARATORS.get(given, given)
        if len(separator) != 1 or separator in '"\r\n':
            raise InputError(
                f"--separator is {quote(given)}, expected one character, or tab, comma, semicolon, "
                "space or pipe. In a shell, quote it."
            )
        return separator
    found: dict[str, tuple[bool, int]] = {}
    for separator in SEPARATORS.values():
        rows = _list_rows(lines, separator)
        widths = ((n_lines, width) for width, n_lines in Counter(map(len, rows)).items())
        n_lines, width = max(widths, default=(0, 0))
        # White space also occurs inside cells, so it only counts if nothing else is found.
        if width > 1 and not (found and separator == " "):
            # R writes no name above the row names.
            header = {width: 2, width - 1: 1}.get(len(rows[0]), 0)
            # The last line may end in the middle of quotes, so most lines must agree, not all.
            found[separator] = (n_lines >= MOST_LINES * len(rows), header)
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


def _split(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every line but, like pandas, those of white space."""
    if separator == " ":
        lines = (" ".join(line.split()) for line in lines)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    for cells in reader:
        if cells[1:] or "".join(cells).strip():
            yield reader.line_num, cells


def _list_rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    """The cells of every line that has some."""
    return [cells for _, cells in _split(lines, separator) if any(map(str.strip, cells))]


def _find_decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    marks = Counter(_find_mark(cell) for row in rows for cell in row)
    return "," if marks[","] > marks["."] else "."


def _find_mark(cell: Any) -> str:
    """The decimal mark of a cell; empty if it has none or is no number."""
    match = DECIMAL.fullmatch(cell.strip()) if isinstance(cell, str) else None
    return match["mark"] if match else ""


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
    expected = widths[0][1]
    # R writes no name above the row names.
    expected += len(widths) > 1 and widths[1][1] == expected + 1
    for number, width in widths[1:]:
        if width != expected:
            raise InputError(
                f"Line {number} of {path.name} has {count(width, 'cell')}, expected {expected} as "
                "in the lines above. Close its quotes, quote cells that contain the separator, or "
                "set --separator."
            )
    return expected


def _name_columns(first: list[str], width: int, *, is_headed: bool) -> tuple[list[str], list[str]]:
    """A name for every column, and the names that are given to several."""
    if not is_headed:
        return [f"x{place}" for place in range(width)], []
    given = [""] * (width - len(first)) + [cell.strip() for cell in first]
    names: dict[str, str] = {}
    for place, cell in enumerate(given, start=1):
        name = cell or f"column {place}"
        while name in names:
            name = f"{name} (column {place})"
        names[name] = cell
    repeated = dict.fromkeys(cell for name, cell in names.items() if cell and cell != name)
    return list(names), list(repeated)


def parse_parquet(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a Parquet or Feather file."""
    from pyarrow import feather, parquet

    if path.suffix.lower() in (".parquet", ".pq"):
        with parquet.ParquetFile(path) as file:
            table = file.read()
    else:
        table = feather.read_table(path)
    # Damaged offsets would lead pandas to memory outside of the table.
    table.validate(full=True)
    # Without the metadata of pandas an index is a column like any other.
    names = ["index" if one == "__index_level_0__" else one for one in table.column_names]
    for name, times in Counter(names).items():
        if times > 1:
            raise _has_repeated(path, name)
    table = table.rename_columns(names)
    frame = table.to_pandas(ignore_metadata=True)
    if len(frame) == 0:
        raise _has_no(path, "no rows")

    def read_exact(wanted: list[str]) -> Any:
        return table.select(wanted).to_pandas(ignore_metadata=True, integer_object_nulls=True)

    return RawFile(frame, read_exact)


def parse_xlsx(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse the first sheet of a spreadsheet that has cells, as if it had been saved as text."""
    from openpyxl import load_workbook

    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(info.file_size for info in archive.infolist())
    if n_bytes > max(MOST_TIMES * path.stat().st_size, MOST_BYTES):
        raise _too_large(path)
    book = load_workbook(path, read_only=True, data_only=True)
    # What is hidden is read if nothing else has cells.
    sheets = sorted(book.worksheets, key=lambda one: one.sheet_state != "visible")
    rows: list[list[str]] = []
    for sheet in sheets:
        _refuse_uncalculated(path, sheet)
        rows = _read_sheet(path, sheet)
        if rows:
            break
    book.close()
    if not rows:
        raise _has_no(path, "no cells")
    places = sorted({place for row in rows for place, cell in enumerate(row) if cell})
    if len(rows) * len(places) > MOST_CELLS:
        raise _too_large(path)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    for row in rows:
        writer.writerow([row[place] if place < len(row) else "" for place in places])
    raw = parse_content(path, content.getvalue(), replace(options, separator="comma"))
    hidden = "hidden " * (sheet.sheet_state != "visible")
    others = "; to use another one, save it as CSV" * (len(sheets) > 1)
    note = f"{path.name}: {hidden}sheet {quote(str(sheet.title))}{others}."
    return replace(raw, notes=(note, *raw.notes))


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
            raise _too_large(path)
        if cells:
            rows += [[]] * (n_empty if rows and n_empty <= MOST_EMPTY else 0) + [cells]
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


def _has_no(path: pathlib.Path, found: str) -> InputError:
    return InputError(f"{path.name} has {found}, expected rows of data. Check how it was made.")


def _has_repeated(path: pathlib.Path, name: str) -> InputError:
    return InputError(
        f"{path.name} has two columns named {quote(name)}, expected unique names. Rename one of "
        "them."
    )


def _too_large(path: pathlib.Path) -> InputError:
    return InputError(
        f"{path.name} does not fit into memory, expected a file that does. Delete cells far from "
        "the table, or save the sheet as CSV."
    )


FORMATS = ".csv, .tsv, .xlsx, .parquet, .feather or .h5ad"
PARSERS: Mapping[str, Callable[[pathlib.Path, ReadOptions], RawFile]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), parse_text),
    **dict.fromkeys((".xlsx", ".xlsm"), parse_xlsx),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow"), parse_parquet),
}
