"""Parsers for every format but text, and the choice between them by the ending of a file."""

from __future__ import annotations

import io
import pathlib
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from imkpl.readers.data_file import InputError, RawFile, ReadOptions, count, list_names
from imkpl.readers.text import parse_text
from imkpl.series import read_series

SAMPLES = ("X", "x", "data", "fea", "features")
LABELS = ("y", "Y", "labels", "label", "gnd", "target", "class")
NAMES = ("feature_names", "names", "columns")
IDS = ("ids", "sample_ids", "index")
ARFF_TEXT = re.compile(r"\s*@attribute\s+(.*\S)\s+(string|relational)\s*$", re.IGNORECASE)


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
    return parse(path, options)


def parse_npz(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse an archive of NumPy arrays; pickled objects are not opened."""
    if not zipfile.is_zipfile(path):
        raise _damaged(path, ".npz")
    try:
        # Opened here, because numpy leaves a file open that it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    # A damaged file can fail anywhere; to whoever reads it, that is one kind of failure.
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise _damaged(path, ".npz") from error
        raise InputError(
            f"{path.name} holds pickled objects, which can run code and are never opened, expected "
            "arrays of numbers or text. Save with numpy.savez(path, X=X, y=y.astype(str))."
        ) from error
    return _read_arrays(path, arrays, options)


def parse_mat(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a MATLAB file up to version 7."""
    from scipy.io import loadmat

    try:
        found = loadmat(path)
        arrays = {name: _unpack_cells(found[name]) for name in found if not name.startswith("__")}
    except NotImplementedError as error:
        raise InputError(
            f"{path.name} is a MATLAB file of version 7.3, expected version 7 or older. Save it in "
            "MATLAB with save('name.mat', 'X', 'Y', '-v7')."
        ) from error
    except Exception as error:
        raise _damaged(path, ".mat") from error
    return _read_arrays(path, arrays, options)


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
    from scipy.io import arff

    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for line in text.splitlines():
        found = ARFF_TEXT.fullmatch(line)
        if found:
            raise InputError(
                f"Attribute {found[1]} of {path.name} is of type {found[2].lower()}, expected "
                "numbers or categories in braces. Remove it, or save the data as CSV."
            )
    try:
        rows, meta = arff.loadarff(io.StringIO(text))
    except Exception as error:
        raise InputError(
            f"{path.name} cannot be read as an ARFF file ({error}). Check its header, or save the "
            "data as CSV."
        ) from error
    if len(rows) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    frame = pd.DataFrame(rows)
    nominal = [name for name in meta.names() if meta[name][0] == "nominal"]
    for name in nominal:
        cells = [cell.decode("utf-8", errors="replace") for cell in rows[name].tolist()]
        frame[name] = [None if cell == "?" else cell for cell in cells]
    return RawFile(frame, target=nominal[-1] if nominal else None)


def parse_parquet(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a Parquet or Feather file."""
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by pyarrow, which is not installed. Install it with "
            "pip install 'imkpl[cli]'."
        ) from error
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        if is_parquet:
            table = parquet.read_table(path, partitioning=None)
        else:
            table = feather.read_table(path)
        # Damaged offsets would lead pandas to memory outside of the table.
        table.validate(full=True)
        # Without the metadata of pandas an index is a column like any other.
        frame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged(path, "Parquet" if is_parquet else "Feather") from error
    if len(frame) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    names = [str(name) for name in frame.columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(
            f"{path.name} has two columns named {repeated!r}, expected unique names. Rename one of "
            "them."
        )
    frame.columns = ["index" if name == "__index_level_0__" else name for name in names]
    return RawFile(frame)


def parse_ts(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Parse a .ts file of the UEA and UCR archives."""
    try:
        from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by aeon, which is not installed. Install it with "
            "pip install 'imkpl[series]'."
        ) from error
    try:
        loaded = load_from_ts_file(str(path))
    except Exception as error:
        raise InputError(
            f"{path.name} cannot be read as a .ts file ({error}). Check its header and its rows."
        ) from error
    X, labels = loaded if isinstance(loaded, tuple) else (loaded, None)
    series = read_series(X)
    if labels is not None and len(labels) != len(series):
        labels = None
    note = f"{path.name}: {len(series)} time series of {count(series.n_channels, 'channel')}."
    return RawFile(series, None if labels is None else np.asarray(labels), notes=(note,))


def _damaged(path: pathlib.Path, kind: str) -> InputError:
    return InputError(
        f"{path.name} cannot be read as a {kind} file: it is damaged, incomplete or in another "
        "format. Write it again."
    )


def _read_arrays(path: pathlib.Path, arrays: Mapping[str, Any], options: ReadOptions) -> RawFile:
    """Samples, labels, names and split from the arrays of an .npz or .mat file."""
    x_key = _find_key(path, arrays, options.x_key, SAMPLES, "--x-key", "samples")
    X = np.asarray(arrays[x_key])
    if X.dtype.kind not in "biuf" or X.ndim not in (2, 3) or X.size == 0:
        raise InputError(
            f"Array {x_key!r} of {path.name} has shape {X.shape} and type {X.dtype}, expected "
            "numbers of shape (rows, columns) or (series, channels, steps). Name another with "
            "--x-key."
        )
    y_key = options.y_key or options.target
    if y_key is not None or any(name in arrays for name in LABELS):
        y_key = _find_key(path, arrays, y_key, LABELS, "--y-key", "labels")
        labels = _read_labels(path, y_key, np.asarray(arrays[y_key]), X.shape[0])
        notes = [f"{path.name}: samples from array {x_key!r}, labels from {y_key!r}."]
    else:
        labels, notes = None, [f"{path.name}: samples from array {x_key!r}."]
    split = _read_split(arrays, X.shape[0])
    if X.ndim == 3:
        return RawFile(read_series(X), labels, notes=tuple(notes), split=split)
    import pandas as pd

    names = _read_names(arrays, NAMES, X.shape[1])
    if names is None:
        names = [f"x{place}" for place in range(X.shape[1])]
        notes.append(f"Columns are named x0 to x{X.shape[1] - 1}.")
    frame = pd.DataFrame(np.array(X), columns=names)
    ids = _read_names(arrays, IDS, X.shape[0])
    if ids is not None and "id" not in names:
        frame.insert(0, "id", ids)
    return RawFile(frame, labels, notes=tuple(notes), split=split)


def _find_key(
    path: pathlib.Path,
    arrays: Mapping[str, Any],
    given: str | None,
    usual: tuple[str, ...],
    option: str,
    content: str,
) -> str:
    found = next((name for name in (usual if given is None else (given,)) if name in arrays), None)
    if found is None:
        missing = f"no array {given!r}" if given else f"no array named {' or '.join(usual[:2])}"
        raise InputError(
            f"{path.name} has {missing} for the {content}; its arrays are "
            f"{list_names(sorted(arrays)) or 'none'}. Name the array with {option}."
        )
    return found


def _read_labels(path: pathlib.Path, key: str, labels: Any, n_rows: int) -> Any:
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.shape != (n_rows,) or labels.dtype.kind not in "biufUS":
        raise InputError(
            f"Array {key!r} of {path.name} has shape {labels.shape} and type {labels.dtype}, "
            f"expected one label for each of the {n_rows} rows. Name another with --y-key."
        )
    return np.char.decode(labels, "utf-8", "replace") if labels.dtype.kind == "S" else labels


def _read_split(arrays: Mapping[str, Any], n_rows: int) -> tuple[Any, Any] | None:
    """Training and test rows from "train_idx" and "test_idx", if these are valid."""
    pair = [np.ravel(arrays[key]) for key in ("train_idx", "test_idx") if key in arrays]
    is_split = len(pair) == 2 and all(rows.dtype.kind in "iu" and rows.size for rows in pair)
    if not is_split or any(rows.min() < 0 or rows.max() >= n_rows for rows in pair):
        return None
    train, test = pair
    return None if np.isin(train, test).any() else (train, test)


def _read_names(arrays: Mapping[str, Any], keys: tuple[str, ...], n_expected: int) -> Any:
    """Distinct names from the first array of the right length."""
    for key in keys:
        values = np.ravel(np.asarray(arrays[key])) if key in arrays else np.empty(0)
        names = [str(value).strip() for value in values.tolist()]
        if len(names) == n_expected and len(set(names)) == n_expected:
            return names
    return None


FORMATS = ".csv, .tsv, .parquet, .feather, .npz, .mat, .arff or .ts"
PARSERS: Mapping[str, Callable[[pathlib.Path, ReadOptions], RawFile]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), parse_text),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow"), parse_parquet),
    ".npz": parse_npz,
    ".mat": parse_mat,
    ".arff": parse_arff,
    ".ts": parse_ts,
}
ADVICE = {
    **dict.fromkeys((".xls", ".xlsx", ".ods"), "Save the sheet as CSV in the spreadsheet program."),
    **dict.fromkeys((".gz", ".zip"), "Unpack it first."),
    **dict.fromkeys(
        (".pkl", ".pickle"),
        "Pickle files can run code and are never opened; save the data as Parquet or CSV.",
    ),
    ".npy": "Save samples and labels together with numpy.savez(path, X=X, y=y).",
    ".imkpl": "That is the ending of a model; pass the data file here.",
}
