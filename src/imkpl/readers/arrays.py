"""Arrays in .npz files and in files of MATLAB."""

from __future__ import annotations

import pathlib
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from imkpl.readers.data_file import InputError, RawFile, list_names
from imkpl.readers.matlab import is_version_5, read_variables
from imkpl.readers.options import ReadOptions
from imkpl.series import read_series

SAMPLES = ("X", "x", "data", "fea", "features")
LABELS = ("y", "Y", "labels", "label", "gnd", "target", "class")
NAMES = ("feature_names", "names", "columns")
IDS = ("ids", "sample_ids", "index")


def parse_npz(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read an archive of numpy arrays; pickled objects in it are not opened."""
    if not zipfile.is_zipfile(path):
        raise _damaged(path, ".npz")
    try:
        # Opened here, because numpy leaves a file open that it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            known = {name: archive[name] for name in archive.files}
    # Files can be made to fail in any step; to those who read them it is one kind of failure.
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise _damaged(path, ".npz") from error
        raise InputError(
            f"{path.name} holds pickled objects, which can run code and are never opened, expected "
            "arrays of numbers or text. Save with numpy.savez(path, X=X, y=y.astype(str))."
        ) from error
    return _collect(path, known, options)


def parse_mat(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a file of MATLAB up to version 7."""
    from scipy.io import loadmat

    content = path.read_bytes()
    try:
        found = read_variables(content) if is_version_5(content) else loadmat(path)
        known = {name: _unpack(value) for name, value in found.items() if name[:2] != "__"}
    except NotImplementedError as error:
        raise InputError(
            f"{path.name} is in version 7.3 of MATLAB's format, expected 7 or older. Save it in "
            "MATLAB with save('name.mat', 'X', 'Y', '-v7')."
        ) from error
    except Exception as error:
        raise _damaged(path, ".mat") from error
    return _collect(path, known, options)


def _damaged(path: pathlib.Path, ending: str) -> InputError:
    return InputError(
        f"{path.name} cannot be read as a {ending} file: it is damaged, cut short or of another "
        "format. Write it again."
    )


def _unpack(value: Any) -> Any:
    """Matrices as arrays, cells with text as text."""
    if hasattr(value, "toarray"):
        # Damaged indices would be written to outside of the array.
        value.check_format(full_check=True)
        return value.toarray()
    if isinstance(value, np.ndarray) and value.dtype == object:
        cells = [np.ravel(cell) for cell in value.ravel()]
        if all(cell.size == 1 for cell in cells):
            return np.array([cell[0] for cell in cells]).reshape(value.shape)
    return value


def _collect(path: pathlib.Path, known: Mapping[str, Any], options: ReadOptions) -> RawFile:
    x_key = _find(path, known, options.x_key, SAMPLES, "--x-key", "samples")
    y_key = options.y_key or options.target
    y_key = _find(path, known, y_key, LABELS, "--y-key", "labels", is_optional=y_key is None)
    X = np.asarray(known[str(x_key)])
    if X.dtype.kind not in "biuf" or X.ndim not in (2, 3) or X.size == 0:
        raise InputError(
            f"Array {x_key!r} of {path.name} has shape {X.shape} and type {X.dtype}, expected "
            "numbers of shape (rows, columns), or (series, channels, steps). Name another with "
            "--x-key."
        )
    notes = [f"{path.name}: samples from array {x_key!r}."]
    labels = None
    if y_key is not None:
        labels = _read_labels(path, y_key, np.asarray(known[y_key]), X.shape[0])
        notes = [f"{path.name}: samples from array {x_key!r}, labels from {y_key!r}."]
    split = _read_split(known, X.shape[0])
    if X.ndim == 3:
        return RawFile(read_series(X), labels, notes=tuple(notes), split=split)
    frame, named = _as_frame(X, known)
    return RawFile(frame, labels, notes=(*notes, *named), split=split)


def _find(
    path: pathlib.Path,
    known: Mapping[str, Any],
    given: str | None,
    usual: tuple[str, ...],
    option: str,
    what: str,
    *,
    is_optional: bool = False,
) -> str | None:
    if given is not None and given in known:
        return given
    found = None if given is not None else next((name for name in usual if name in known), None)
    if found is None and not is_optional:
        missing = f"no array {given!r}" if given else f"no array named {' or '.join(usual[:2])}"
        raise InputError(
            f"{path.name} has {missing} for the {what}; its arrays are "
            f"{list_names(sorted(known)) or 'none'}. Say which with {option} NAME."
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


def _read_split(known: Mapping[str, Any], n_rows: int) -> tuple[Any, Any] | None:
    """Rows to train and to test on, where they are named as in our data folder."""
    pair = [np.ravel(known[key]) for key in ("train_idx", "test_idx") if key in known]
    is_split = len(pair) == 2 and all(rows.dtype.kind in "iu" and rows.size for rows in pair)
    if not is_split or any(rows.min() < 0 or rows.max() >= n_rows for rows in pair):
        return None
    train, test = pair
    return None if np.isin(train, test).any() else (train, test)


def _as_frame(X: Any, known: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    import pandas as pd

    names = _read_texts(known, NAMES, X.shape[1])
    notes: tuple[str, ...] = ()
    if names is None:
        names = [f"x{place}" for place in range(X.shape[1])]
        notes = (f"Columns are called x0 to x{X.shape[1] - 1}.",)
    frame = pd.DataFrame(np.array(X), columns=names)
    ids = _read_texts(known, IDS, X.shape[0])
    if ids is not None and "id" not in names:
        frame.insert(0, "id", ids)
    return frame, notes


def _read_texts(known: Mapping[str, Any], keys: tuple[str, ...], n_expected: int) -> Any:
    """Distinct names from the first array that has as many."""
    for key in keys:
        values = np.ravel(np.asarray(known[key])) if key in known else np.empty(0)
        texts = [str(value).strip() for value in values.tolist()]
        if len(texts) == n_expected and len(set(texts)) == n_expected:
            return texts
    return None
