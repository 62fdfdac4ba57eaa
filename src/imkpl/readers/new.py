"""A file for a model that has been fitted: its columns are those of the model."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from imkpl.readers.columns import as_numbers, as_texts, find_missing, refuse_infinite
from imkpl.readers.data_file import DataFile, InputError, RawFile, count, list_names
from imkpl.readers.identifiers import find_identifier, read_identifiers
from imkpl.readers.options import ReadOptions
from imkpl.readers.parse import parse_file
from imkpl.readers.target import as_label_array, read_classes, require_column
from imkpl.readers.training import as_series, drop_empty_rows


@dataclass(frozen=True)
class ExpectedColumns:
    """What a fitted model reads.

    Parameters
    ----------
    names : tuple of str
        All columns that it was fitted to, in their order.
    live : tuple of str
        Those that it looks at; others may be missing from a file.
    categories : mapping of str to tuple
        The categories of each live column that holds categories.
    reads_missing : bool
        Whether cells may be missing.
    """

    names: tuple[str, ...]
    live: tuple[str, ...]
    categories: Mapping[str, tuple[Any, ...]]
    reads_missing: bool


def read_new_file(
    path: str | os.PathLike[str],
    expected: ExpectedColumns | None,
    options: ReadOptions | None = None,
    *,
    needs_target: bool = False,
) -> DataFile:
    """Read samples for a fitted model, with columns matched by name.

    Parameters
    ----------
    path : str or path
        A file of any format that `read_training_file` reads.
    expected : ExpectedColumns or None
        What the model reads; None for one of time series.
    options : ReadOptions, optional
        The target, where its classes are wanted, and whatever else should not be guessed.
    needs_target : bool
        Whether rows without a class are of no use.

    Returns
    -------
    DataFile
        Its columns are `expected.names`; `y` is None unless the target was asked for.
    """
    path, options = pathlib.Path(path), options or ReadOptions()
    known = () if expected is None else expected.live
    raw = parse_file(path, replace(options, known_names=known))
    is_table = hasattr(raw.samples, "columns")
    if is_table != (expected is not None):
        found, wanted = ("a table", "time series") if is_table else ("time series", "a table")
        raise InputError(
            f"{path.name} holds {found}, but the model was fitted to {wanted}. Pass a file of the "
            "kind that it was fitted to."
        )
    if expected is None:
        return _read_series(path, raw, options, needs_target=needs_target)
    return _read_table(path, raw, expected, options, needs_target=needs_target)


def _read_table(
    path: pathlib.Path,
    raw: RawFile,
    expected: ExpectedColumns,
    options: ReadOptions,
    *,
    needs_target: bool,
) -> DataFile:
    frame, notes = drop_empty_rows(raw)
    labels, target = _find_labels(path, raw, frame, options, needs_target=needs_target)
    rows = np.ones(len(frame), dtype=bool)
    if needs_target:
        rows = np.array([label is not None for label in labels], dtype=bool)
        if not rows.all():
            notes.append(f"{count(int((~rows).sum()), 'row')} without a class left out.")
        if not rows.any():
            raise InputError(
                f"Target {target!r} of {path.name} has no values, expected a class in every row. "
                "Name another column with --target."
            )
    frame, labels = frame[rows], None if labels is None else as_label_array(labels[rows])
    used = set(expected.names) | ({target} if target is not None else set())
    identifier = find_identifier(frame, options.id_column, used, path.name)
    ids = frame.index.to_numpy() + 1
    if identifier is not None:
        ids = read_identifiers(frame[identifier], identifier)
        if options.id_column is None:
            notes.append(f"Column {identifier!r} names the rows: every value differs.")
    notes += _compare_columns(path, frame, expected, used | {identifier})
    columns = {}
    for name in expected.names:
        values, note = _read_expected(frame, name, expected, path.name)
        columns[name] = values
        notes += [note] if note else []
    _check_missing(path, columns, expected, ids)
    return DataFile(_build(columns, ids), labels, ids, target, tuple(notes))


def _find_labels(
    path: pathlib.Path, raw: RawFile, frame: Any, options: ReadOptions, *, needs_target: bool
) -> tuple[Any, str | None]:
    names = [str(name) for name in frame.columns]
    if not needs_target:
        return None, options.target or raw.target
    if raw.labels is not None:
        return read_classes(as_series(raw.labels), "y")[0], None
    target = options.target or raw.target
    if target is None:
        raise InputError(
            f"It is not known which column of {path.name} holds the classes. Say so with --target "
            f"NAME; its columns are {list_names(names)}."
        )
    require_column(names, target, path.name, "--target")
    return read_classes(frame[target], target)[0], target


def _compare_columns(
    path: pathlib.Path, frame: Any, expected: ExpectedColumns, used: set[Any]
) -> list[str]:
    """Raise where columns are missing that matter; notes about those that do not."""
    given = [str(name) for name in frame.columns]
    missing = [name for name in expected.names if name not in given]
    needed = [name for name in missing if name in expected.live]
    if needed:
        columns = "the column" if len(needed) == 1 else f"{len(needed)} columns"
        raise InputError(
            f"{path.name} lacks {columns} {list_names(needed)} that the model reads. Add "
            f"{'it' if len(needed) == 1 else 'them'}, or rename columns: those in the file are "
            f"{list_names(given)}."
        )
    notes = []
    if missing:
        plural = "" if len(missing) == 1 else "s"
        notes.append(f"Column{plural} {list_names(missing)} not in the file, and not needed.")
    extra = [name for name in given if name not in used]
    if extra:
        plural = "" if len(extra) == 1 else "s"
        notes.append(f"Column{plural} {list_names(extra)} ignored: not part of the model.")
    return notes


def _read_expected(
    frame: Any, name: str, expected: ExpectedColumns, file: str
) -> tuple[Any, str | None]:
    # What a column holds that the model does not look at makes no difference.
    if name not in expected.live:
        return np.zeros(len(frame)), None
    if name in expected.categories:
        known = {str(category): category for category in expected.categories[name]}
        texts = as_texts(frame[name])
        cells = [None if text is None else known.get(text, text) for text in texts]
        new = list(dict.fromkeys(text for text in texts if text is not None and text not in known))
        note = f"Column {name!r}: {list_names(new)} not seen in training." if new else None
        values = np.empty(len(cells), dtype=object)
        values[:] = cells
        return values, note
    column = as_numbers(frame[name], name, file)
    refuse_infinite(column.values, name, file)
    return column.values, column.note or None


def _check_missing(
    path: pathlib.Path, columns: Mapping[str, Any], expected: ExpectedColumns, ids: Any
) -> None:
    if expected.reads_missing:
        return
    for name in expected.live:
        is_missing = find_missing(columns[name])
        n_missing = int(is_missing.sum())
        if n_missing:
            raise InputError(
                f"Column {name!r} of {path.name} has no number in {count(n_missing, 'row')} "
                f"(first: row {ids[int(np.argmax(is_missing))]}), but the model was fitted to "
                "complete numbers. Fill the cells, leave out the rows, or fit again with "
                "--allow-missing."
            )


def _read_series(
    path: pathlib.Path, raw: RawFile, options: ReadOptions, *, needs_target: bool
) -> DataFile:
    labels = None
    if needs_target:
        if raw.labels is None:
            raise InputError(
                f"{path.name} has time series without classes, expected a class for each. Name "
                "the array of labels with --y-key, or use a .ts file with a class label."
            )
        labels = as_label_array(read_classes(as_series(raw.labels), "y")[0])
    ids = np.arange(1, len(raw.samples) + 1)
    return DataFile(raw.samples, labels, ids, None, tuple(raw.notes), split=raw.split)


def _build(columns: Mapping[str, Any], ids: Any) -> Any:
    import pandas as pd

    index = pd.Index(ids.tolist(), dtype=ids.dtype)
    return pd.DataFrame({name: pd.Series(v, index=index) for name, v in columns.items()})
