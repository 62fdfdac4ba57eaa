"""Parsers for every format but text, and the choice between them by the ending of a file."""

from __future__ import annotations

import csv
import datetime
import io
import math
import pathlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.readers.data_file import InputError, RawFile, ReadOptions, count, list_names
from imkpl.readers.text import parse_content, parse_text
from imkpl.series import read_series, read_ts

SAMPLES = ("X", "x", "data", "fea", "features")
LABELS = ("y", "Y", "labels", "label", "gnd", "target", "class")
NAMES = ("feature_names", "names", "columns")
IDS = ("ids", "sample_ids", "index")
# An array may take this many times the size of its file in memory, and always a GiB.
MOST_TIMES, MOST_BYTES = 64, 2**30
# The size of a number, as which all others are read.
FLOAT = 8
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
    if (options.x_key or options.y_key) and parse not in (parse_npz, parse_mat):
        raise InputError(
            f"--x-key and --y-key are for .npz and .mat files, but {path.name} is not one. Leave "
            "them out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty, expected rows of data. Check how it was made.")
    try:
        return parse(path, options)
    except MemoryError as error:
        raise too_large(path) from error


@dataclass(frozen=True, eq=False)
class Member:
    """An array in a file, known by its header; its values are read when they are needed."""

    size: int
    n_bytes: int  # in memory
    load: Callable[[], Any]


def parse_npz(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse an archive of NumPy arrays; pickled objects are not opened."""
    if not zipfile.is_zipfile(path):
        raise _damaged(path, ".npz")
    with _refused_if_damaged(path, ".npz"):
        archive = zipfile.ZipFile(path)
    members = {
        info.filename.removesuffix(".npy"): partial(_open_member, path, archive, info)
        for info in archive.infolist()
        if info.filename.endswith(".npy")
    }
    with archive:
        return _read_arrays(path, members, options)


def _open_member(path: pathlib.Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    """An array of an archive; only its header is unpacked."""
    with archive.open(info) as stream:
        # A header of an array of numbers or text is shorter; one that is not was cut, and fails.
        head = io.BytesIO(stream.read(2**16))
    version = np.lib.format.read_magic(head)
    read_header = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read_header = np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(head)
    n_items = math.prod(shape)
    if n_items * dtype.itemsize > info.file_size and not dtype.hasobject:
        raise _damaged(path, ".npz")

    def load() -> Any:
        if dtype.hasobject:
            raise InputError(
                f"{path.name} holds pickled objects, which can run code and are never opened, "
                "expected arrays of numbers or text. Save with numpy.savez(path, X=X, "
                "y=y.astype(str))."
            )
        with archive.open(info) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    return Member(n_items, n_items * max(dtype.itemsize, FLOAT), load)


def parse_mat(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a MATLAB file up to version 7."""
    from scipy.io import loadmat, whosmat

    def load(name: str) -> Any:
        return _unpack_cells(loadmat(path, variable_names=[name])[name])

    with _refused_if_damaged(path, ".mat"):
        try:
            listed = whosmat(path)
        except NotImplementedError as error:
            raise InputError(
                f"{path.name} is a MATLAB file of version 7.3, expected version 7 or older. Save "
                "it in MATLAB with save('name.mat', 'X', 'Y', '-v7')."
            ) from error
    members = {
        name: partial(Member, math.prod(shape), FLOAT * math.prod(shape), partial(load, name))
        for name, shape, _ in listed
    }
    return _read_arrays(path, members, options)


@contextmanager
def _refused_if_damaged(path: pathlib.Path, kind: str) -> Iterator[None]:
    """A damaged file can fail anywhere; to whoever reads it, that is one kind of failure."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise _damaged(path, kind) from error


def _unpack_cells(value: Any) -> Any:
    """Sparse matrices as arrays, cells of single values as arrays of these."""
    if hasattr(value, "toarray"):
        # Damaged indices would be written to outside of the array.
        value.check_format(full_check=True)
        return value.toarray()
    if isinstance(value, np.ndarray) and value.dtype == object:
        cells = [np.ravel(cell) for cell in value.ravel()]
        if all(cell.size == 1 for cell in cells):
            return np.array([cell[0] for cell in cells]).reshape(value.shape)
    return value


def parse_arff(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse an ARFF file, the format of Weka and OpenML; categories become text."""
    import pandas as pd

    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    names: list[str] = []
    kinds: list[Any] = []
    rows: list[list[Any]] = []
    notes: tuple[str, ...] = ()
    separator = None
    for number, given in enumerate(io.StringIO(text, newline=None), start=1):
        line = given.strip()
        if not line or line[0] == "%":
            continue
        try:
            if separator is not None:
                separator = separator or ("," if "," in line else "\t")
                cells = _split_cells(line, separator)
                # Weka allows a weight in braces after the cells.
                if len(cells) == len(kinds) + 1 and cells[-1][:1] == "{":
                    cells, notes = cells[:-1], (f"{path.name}: weights of rows ignored.",)
                rows.append(_read_row(cells, kinds))
            elif line[:5].lower() == "@data":
                separator = ""
            elif line[:10].lower() == "@attribute":
                name, kind = _read_attribute(path, line[10:].strip())
                names.append(name)
                kinds.append(kind)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(
                f"{path.name} cannot be read as an ARFF file (line {number}: {error}). Check its "
                "header, or save the data as CSV."
            ) from error
    if separator is None:
        raise InputError(
            f"{path.name} cannot be read as an ARFF file (no line @data). Check its header, or "
            "save the data as CSV."
        )
    if not rows:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    _refuse_repeated(path, names)
    columns = [
        # Whatever the dates are, such a column is left out.
        np.full(len(rows), "NaT", dtype="datetime64[s]") if kind is DATE else list(cells)
        for kind, cells in zip(kinds, zip(*rows, strict=True), strict=True)
    ]
    nominal = [name for name, kind in zip(names, kinds, strict=True) if isinstance(kind, set)]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return RawFile(frame, target=nominal[-1] if nominal else None, notes=notes)


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
    return [_read_cell(*pair) for pair in zip(cells, kinds, strict=True)]


def _read_cell(cell: str, kind: Any) -> Any:
    if cell == "?" or kind is DATE:
        return np.nan if kind is float else None
    if kind is float:
        try:
            return float(cell)
        except ValueError as error:
            raise ValueError(f"{quote(cell)} is not a number") from error
    if cell not in kind:
        raise ValueError(f"{quote(cell)} is not among the categories of its attribute")
    return cell


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
            table = parquet.read_table(path, partitioning=None)
        else:
            table = feather.read_table(path)
        # Damaged offsets would lead pandas to memory outside of the table.
        table.validate(full=True)
        # Without the metadata of pandas an index is a column like any other.
        frame = table.to_pandas(ignore_metadata=True)
    if len(frame) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    names = [str(name) for name in frame.columns]
    _refuse_repeated(path, names)
    frame.columns = ["index" if name == "__index_level_0__" else name for name in names]
    return RawFile(frame)


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
            raise too_large(path)
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = {}
        for sheet in book.worksheets:
            sheet.reset_dimensions()
            rows = [[_show_cell(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
            sheets[str(sheet.title)] = rows if any(map(any, rows)) else []
            if any(sheets.values()):
                break
        n_sheets = len(book.worksheets)
        book.close()
    name, rows = list(sheets.items())[-1] if sheets else ("", [])
    if not rows:
        raise InputError(f"{path.name} has no cells, expected rows of data. Check how it was made.")
    width = max(place + 1 for row in rows for place, cell in enumerate(row) if cell)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerows((row + [""] * width)[:width] for row in rows)
    raw = parse_content(path, content.getvalue(), replace(options, separator="comma"))
    note = f"{path.name}: sheet {quote(name)}"
    if n_sheets > 1:
        note += f", the first of {n_sheets}; save another one as CSV to use it"
    return replace(raw, notes=(f"{note}.", *raw.notes))


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


def too_large(path: pathlib.Path) -> InputError:
    """Error for a file that is larger than the memory."""
    return InputError(
        f"{path.name} does not fit into memory, expected a file that does. Use fewer rows or "
        "columns, or a machine with more memory."
    )


def _damaged(path: pathlib.Path, kind: str) -> InputError:
    return InputError(
        f"{path.name} cannot be read as a {kind} file: it is damaged, incomplete or in another "
        "format. Write it again."
    )


def _load(
    path: pathlib.Path,
    arrays: Mapping[str, Callable[[], Member]],
    key: str,
    size: int | None = None,
) -> Any:
    """The values of an array, if there are so many and they do not take far more than the file."""
    kind, n_bytes = path.suffix.lower(), path.stat().st_size
    with _refused_if_damaged(path, kind):
        member = arrays[key]()
        if size is not None and member.size != size:
            return np.empty(0)
        if member.n_bytes > max(MOST_TIMES * n_bytes, MOST_BYTES):
            advice = "numpy.savez" if kind == ".npz" else "full(X) and '-nocompression'"
            raise InputError(
                f"Array {quote(key)} of {path.name} would take {member.n_bytes / 2**30:.3g} GiB "
                f"in memory, {member.n_bytes // n_bytes} times as much as the file, expected at "
                f"most {MOST_TIMES} times as much. If that is right, save it uncompressed, with "
                f"{advice}."
            )
        return np.asarray(member.load())


def _read_arrays(
    path: pathlib.Path, arrays: Mapping[str, Callable[[], Member]], options: ReadOptions
) -> RawFile:
    """Samples, labels, names and split from the arrays of an .npz or .mat file."""
    x_key = _find_key(path, arrays, options.x_key, SAMPLES, "--x-key", "samples")
    X = _load(path, arrays, x_key)
    if X.dtype.kind not in "biuf" or X.ndim not in (2, 3) or X.size == 0:
        raise InputError(
            f"Array {quote(x_key)} of {path.name} has shape {X.shape} and type {X.dtype}, expected "
            "numbers of shape (rows, columns) or (series, channels, steps). Name another with "
            "--x-key."
        )
    y_key = options.y_key or options.target
    if y_key is not None or any(name in arrays for name in LABELS):
        y_key = _find_key(path, arrays, y_key, LABELS, "--y-key", "labels")
        labels = _read_labels(path, y_key, _load(path, arrays, y_key), X.shape[0])
        notes = [f"{path.name}: samples from array {quote(x_key)}, labels from {quote(y_key)}."]
    else:
        labels, notes = None, [f"{path.name}: samples from array {quote(x_key)}."]
    split = _read_split(path, arrays, X.shape[0])
    if X.ndim == 3:
        return RawFile(read_series(X), labels, notes=tuple(notes), split=split)
    import pandas as pd

    names = _read_names(path, arrays, NAMES, X.shape[1])
    if names is None:
        names = [f"x{place}" for place in range(X.shape[1])]
        notes.append(f"Columns are named x0 to x{X.shape[1] - 1}.")
    frame = pd.DataFrame(np.array(X), columns=names)
    ids = _read_names(path, arrays, IDS, X.shape[0])
    if ids is not None and "id" not in names:
        frame.insert(0, "id", ids)
    return RawFile(frame, labels, notes=tuple(notes), split=split)


def _find_key(
    path: pathlib.Path,
    arrays: Mapping[str, Callable[[], Member]],
    given: str | None,
    usual: tuple[str, ...],
    option: str,
    content: str,
) -> str:
    found = next((name for name in (usual if given is None else (given,)) if name in arrays), None)
    if found is None:
        missing = quote(given) if given else f"named {' or '.join(usual[:2])}"
        raise InputError(
            f"{path.name} has no array {missing} for the {content}; its arrays are "
            f"{list_names(sorted(arrays)) or 'none'}. Name the array with {option}."
        )
    return found


def _read_labels(path: pathlib.Path, key: str, labels: Any, n_rows: int) -> Any:
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.shape != (n_rows,) or labels.dtype.kind not in "biufUS":
        raise InputError(
            f"Array {quote(key)} of {path.name} has shape {labels.shape} and type {labels.dtype}, "
            f"expected one label for each of the {n_rows} rows. Name another with --y-key."
        )
    return np.char.decode(labels, "utf-8", "replace") if labels.dtype.kind == "S" else labels


def _read_split(
    path: pathlib.Path, arrays: Mapping[str, Callable[[], Member]], n_rows: int
) -> tuple[Any, Any] | None:
    """Training and test rows from "train_idx" and "test_idx", if these are valid."""
    keys = [key for key in ("train_idx", "test_idx") if key in arrays]
    if len(keys) < 2:
        return None
    train, test = (np.ravel(_load(path, arrays, key)) for key in keys)
    if not all(rows.dtype.kind in "iu" and rows.size for rows in (train, test)):
        return None
    if any(rows.min() < 0 or rows.max() >= n_rows for rows in (train, test)):
        return None
    return None if np.isin(train, test).any() else (train, test)


def _read_names(
    path: pathlib.Path,
    arrays: Mapping[str, Callable[[], Member]],
    keys: tuple[str, ...],
    n_expected: int,
) -> Any:
    """Distinct names from the first array of the right length."""
    for key in keys:
        values = np.ravel(_load(path, arrays, key, n_expected)) if key in arrays else np.empty(0)
        names = [str(value).strip() for value in values.tolist()]
        if len(names) == n_expected and len(set(names)) == n_expected:
            return names
    return None


FORMATS = ".csv, .tsv, .xlsx, .parquet, .feather, .npz, .mat, .arff or .ts"
PARSERS: Mapping[str, Callable[[pathlib.Path, ReadOptions], RawFile]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), parse_text),
    **dict.fromkeys((".xlsx", ".xlsm"), parse_xlsx),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow"), parse_parquet),
    ".npz": parse_npz,
    ".mat": parse_mat,
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
    ".npy": "Save samples and labels together with numpy.savez(path, X=X, y=y).",
    ".imkpl": "That is the ending of a model; pass the data file here.",
}
