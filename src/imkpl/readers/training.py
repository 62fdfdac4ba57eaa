"""A file to learn from."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np

from imkpl.readers.columns import IDENTIFIER, find_reason_to_drop, read_column, refuse_infinite
from imkpl.readers.data_file import DataFile, InputError, RawFile, count, list_names
from imkpl.readers.identifiers import find_identifier, looks_like_identifier, read_identifiers
from imkpl.readers.options import ReadOptions
from imkpl.readers.parse import parse_file
from imkpl.readers.target import as_label_array, check_classes, find_target, read_classes


def read_training_file(
    path: str | os.PathLike[str], options: ReadOptions | None = None
) -> DataFile:
    """Read samples and their classes, leave out columns that say nothing, and say what was done.

    Parameters
    ----------
    path : str or path
        A file ``.csv``, ``.tsv``, ``.parquet``, ``.feather``, ``.npz``, ``.mat``, ``.arff`` or
        ``.ts``.
    options : ReadOptions, optional
        The target and whatever else should not be guessed.

    Returns
    -------
    DataFile
        Rows without a class are left out.
    """
    path, options = pathlib.Path(path), options or ReadOptions()
    raw = parse_file(path, options)
    if not hasattr(raw.samples, "columns"):
        return _read_series(path, raw, options)
    frame, notes = drop_empty_rows(raw)
    names = [str(name) for name in frame.columns]
    if raw.labels is not None:
        target, column = options.y_key or "y", as_series(raw.labels)[frame.index]
    else:
        target = find_target(names, options.target, raw.target, path.name)
        column = frame[target]
    labels, note = read_classes(column, target)
    others = {target} if raw.labels is None else set()
    identifier = find_identifier(frame, options.id_column, others, path.name)
    if identifier is not None and identifier in others:
        raise InputError(
            f"Column {identifier!r} is both --target and --id, expected two columns. Change one."
        )
    ids = frame.index.to_numpy() + 1
    if identifier is not None:
        ids = read_identifiers(frame[identifier], identifier)
        others.add(identifier)
        if options.id_column is None:
            notes.append(f"Column {identifier!r} names the rows: every value differs.")
    has_class = np.array([label is not None for label in labels], dtype=bool)
    if not has_class.all():
        notes.append(f"{count(int((~has_class).sum()), 'row')} without a class left out.")
    check_classes(labels[has_class], target)
    kept, dropped, more = _keep_columns(frame.drop(columns=list(others)), has_class, path.name)
    if not kept:
        reasons = [*more, *([] if identifier is None else [f"{identifier!r} names the rows."])]
        raise InputError(
            f"No column of {path.name} is left to learn from: "
            f"{' '.join(reasons) or 'it has no others.'} Add columns of numbers or of categories."
        )
    samples = _build_frame(kept, ids[has_class])
    split = raw.split if has_class.all() and len(frame) == len(raw.samples) else None
    return DataFile(
        samples=samples,
        y=as_label_array(labels[has_class]),
        ids=ids[has_class],
        target=target,
        notes=(*notes, note, *more),
        dropped=dropped,
        split=split,
    )


def drop_empty_rows(raw: RawFile) -> tuple[Any, list[str]]:
    """The rows of a table in which something stands."""
    frame, notes = raw.samples.reset_index(drop=True), list(raw.notes)
    is_empty = frame.isna().all(axis=1).to_numpy(dtype=bool)
    if raw.labels is None and is_empty.any():
        notes.append(f"{count(int(is_empty.sum()), 'empty row')} left out.")
        frame = frame[~is_empty]
    return frame, notes


def as_series(values: Any) -> Any:
    """An array as a column of pandas."""
    import pandas as pd

    return pd.Series(values.tolist())


def _read_series(path: pathlib.Path, raw: RawFile, options: ReadOptions) -> DataFile:
    if raw.labels is None:
        raise InputError(
            f"{path.name} has time series without classes, expected a class for each. Name the "
            "array of labels with --y-key, or use a .ts file with a class label."
        )
    if options.id_column is not None:
        raise InputError(
            f"--id names a column, but {path.name} holds time series, which have none. Leave it "
            "out."
        )
    labels, note = read_classes(as_series(raw.labels), options.y_key or "y")
    if None in labels.tolist():
        row = labels.tolist().index(None)
        raise InputError(
            f"Time series {row + 1} of {path.name} has no class, expected one for each. Leave it "
            "out of the file."
        )
    check_classes(labels, options.y_key or "y")
    n_series = len(raw.samples)
    return DataFile(
        samples=raw.samples,
        y=as_label_array(labels),
        ids=np.arange(1, n_series + 1),
        target=options.y_key or "y",
        notes=(*raw.notes, note),
        split=raw.split,
    )


def _keep_columns(
    frame: Any, rows: Any, file: str
) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Columns to learn from, reasons for leaving out others, and notes about both."""
    kept, dropped, notes = {}, {}, []
    for place, name in enumerate(frame.columns):
        cells = frame.iloc[:, place][rows]
        column = read_column(cells, str(name))
        reason = find_reason_to_drop(column)
        if not reason and looks_like_identifier(cells, str(name)):
            # Whole numbers; different texts have a reason already.
            reason = IDENTIFIER
        if reason:
            dropped[str(name)] = reason
            continue
        refuse_infinite(column.values, str(name), file)
        kept[str(name)] = column.values
        if column.note:
            notes.append(column.note)
    by_reason: dict[str, list[str]] = {}
    for name, reason in dropped.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        plural = "" if len(names) == 1 else "s"
        notes.append(f"Column{plural} {list_names(names)} left out: {reason}.")
    return kept, dropped, notes


def _build_frame(columns: dict[str, Any], ids: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(ids.tolist(), dtype=ids.dtype), copy=True)
