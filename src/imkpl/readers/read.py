"""Samples and classes from a file: one to learn from, or one for a fitted model."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.kernels import ParquetColumns
from imkpl.kernels.sources import MAX_EXACT
from imkpl.readers import column_roles as roles
from imkpl.readers.check import find_left_out, find_problems
from imkpl.readers.data_file import (
    DataFile,
    Finding,
    InputError,
    RawFile,
    ReadOptions,
    count,
    list_names,
)
from imkpl.readers.formats import parse_file

# Options that name columns of a table to learn from.
COLUMN_OPTIONS = ("eligible", "group", "drop", "categories", "numbers")
MAX_SUBGROUPS = 20
# Bytes that a table may take in memory; rows of a larger one stay in their file if they can.
LARGEST_FILE = 2**30
# Cells that are looked at before a whole column.
LOOKED_AT = 20


@dataclass(frozen=True)
class ExpectedColumns:
    """What a fitted model reads."""

    names: tuple[str, ...]  # all columns that it was fitted to, in their order
    live: tuple[str, ...]  # the columns that it uses; others may be missing from a file
    categories: Mapping[str, tuple[Any, ...]]  # those of each live column of categories
    reads_missing: bool  # whether cells may be missing


def read_training_file(
    path: str | os.PathLike[str], options: ReadOptions | None = None, *, in_parts: bool = False
) -> DataFile:
    """Read samples and their classes, drop columns of no use, and note what was guessed.

    Parameters
    ----------
    path : str or path
        A file ``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``, ``.feather``, ``.arff`` or ``.ts``.
    options : ReadOptions, optional
        The target and whatever else should not be guessed.
    in_parts : bool, default=False
        Whether rows of a large Parquet file of complete numbers may stay there.

    Returns
    -------
    DataFile
        The samples; rows without a class are left out.
    """
    path, options = pathlib.Path(path), options or ReadOptions()
    on_disk = open_on_disk(path, options) if in_parts else None
    if on_disk is not None:
        return _read_on_disk(path, on_disk, options)
    raw = parse_file(path, options)
    if not hasattr(raw.samples, "columns"):
        data = _read_series(path, raw, options, needs_target=True)
        roles.check_classes(data.y, data.target or "y")
        return replace(data, findings=find_problems(data, None))
    whole, notes = _drop_empty_rows(raw)
    frame = _apply_options(whole, options, path.name)
    target = roles.find_target(list(frame.columns), options.target, raw.target, path.name)
    column = frame[target]
    frame = _keep_names(raw, frame, [target, options.group, *options.categories])
    labels, note = roles.read_classes(column, target, frame[target])
    _check_roles(target, options)
    others = {target, options.group, options.eligible}
    identifier, ids = _name_rows(raw, frame, options, others, path.name, notes)
    if identifier is not None and options.id_column is None:
        # Names may be those of persons, and a model keeps them.
        ids = frame.index.to_numpy() + 1
        notes[-1] += f" Rows are numbered; --id {quote(identifier)} keeps the names."
    rows = _rows_with_class(labels, notes)
    frame, labels, ids = frame[rows], labels[rows], ids[rows]
    roles.check_classes(labels, target)
    groups = eligible = None
    if options.group is not None:
        texts = enumerate(roles.as_texts(frame[options.group]))
        # A row of nobody belongs to itself.
        groups = np.array([f"row {i}" if one is None else f"group {one}" for i, one in texts])
    if options.eligible is not None:
        eligible = roles.read_flags(frame[options.eligible], options.eligible, "--eligible")
        shown = f"{int(eligible.sum())} of {count(len(eligible), 'row')} eligible"
        notes.append(f"Column {quote(options.eligible)}: {shown}.")
    left = frame.drop(columns=list({*others, identifier} - {None}))
    kept, dropped, findings = _keep_columns(raw, left, path.name, options)
    more = [one.text for one in (*findings, *find_left_out(dropped))]
    if not kept:
        reasons = [*more, *([] if identifier is None else [f"{quote(identifier)} names the rows."])]
        raise InputError(
            f"No column of {path.name} is left to learn from: "
            f"{' '.join(reasons) or 'it has no others.'} Add columns of numbers or of categories."
        )
    data = DataFile(
        _build_frame(kept, ids),
        roles.as_label_array(labels),
        ids,
        target=target,
        notes=(*notes, note, *more),
        dropped=dropped,
        groups=groups,
        eligible=eligible,
        subgroups=_read_subgroups(_keep_names(raw, whole[rows], options.by), options.by, path.name),
        id_column=identifier,
        group_column=options.group,
    )
    is_blank = data.samples.isna().all(axis=1).to_numpy()
    if is_blank.any():
        text = f"{count(int(is_blank.sum()), 'row')} without a value to learn from left out."
        data, frame = data.take(~is_blank), frame[~is_blank]
        data = replace(data, notes=(*data.notes, text))
        roles.check_classes(data.y, target)
    return replace(data, findings=(*find_problems(data, frame), *findings))


def read_new_file(
    path: pathlib.Path,
    expected: ExpectedColumns | None,
    options: ReadOptions,
    *,
    needs_target: bool = False,
    classes: Sequence[Any] = (),
) -> DataFile:
    """Read samples for a fitted model: time series, or columns that are matched by name.

    With `needs_target`, rows without a class are left out. Otherwise, if no target is named, a
    column of the model's `classes` is taken as one; rows without a class have None. Cells are the
    classes that they are as text, or else as numbers.
    """
    known = () if expected is None else expected.live
    raw = parse_file(path, replace(options, known_names=known))
    is_table = hasattr(raw.samples, "columns")
    if is_table != (expected is not None):
        found, wanted = ("a table", "time series") if is_table else ("time series", "a table")
        raise InputError(
            f"{path.name} holds {found}, but the model was fitted to {wanted}. Pass a file of the "
            "same kind."
        )
    if expected is None:
        data = _read_series(path, raw, options, needs_target=needs_target)
        if raw.labels is None:
            return data
        names = _as_series(raw.labels)
        if data.y is None:
            return replace(data, y=_as_known_classes(names, names, classes))
        return replace(data, y=_match(data.y, names, classes))
    frame, notes = _drop_empty_rows(raw)
    frame = _empty_cells(frame, options.missing)
    labels: Any = None
    target: str | None = options.target or raw.target
    if needs_target or options.target is not None:
        target = roles.find_target(list(frame.columns), options.target, raw.target, path.name, ())
        names = _keep_names(raw, frame, [target])[target]
        labels, _ = roles.read_classes(frame[target], target, names)
        labels = _match(labels, frame[target], classes)
        if needs_target:
            rows = _rows_with_class(labels, notes)
            roles.check_classes(labels[rows], target, f" of {path.name}", least=1)
            frame, labels = frame[rows], labels[rows]
    elif classes:
        fitting = _find_known_classes(raw, frame, expected, classes)
        # Of two such columns, nobody knows which one is meant.
        if len(fitting) == 1:
            ((target, labels),) = fitting.items()
            notes.append(f"Column {quote(target)} holds classes: the accuracy is measured on it.")
    used = {*expected.names, target}
    identifier, ids = _name_rows(raw, frame, options, used, path.name, notes)
    notes += _compare_columns(path, frame, expected, used | {identifier})
    # The model does not look at the values of other columns.
    live, unread = set(expected.live), np.zeros(len(frame))
    named = _keep_names(raw, frame, [*options.by, *(live & set(expected.categories))])
    columns = {
        name: _read_expected(frame[name], named[name], name, expected, path.name, ids, notes)
        if name in live
        else unread
        for name in expected.names
    }
    return DataFile(
        _build_frame(columns, ids),
        labels,
        ids,
        target,
        tuple(notes),
        subgroups=_read_subgroups(named, options.by, path.name),
        style=raw.style,
    )


def open_on_disk(
    path: pathlib.Path, options: ReadOptions, features: Sequence[str] | None = None
) -> ParquetColumns | None:
    """A large Parquet file of numbers: these features, or all with the target last; else None."""
    if path.suffix.lower() not in (".parquet", ".pq") or find_spec("pyarrow") is None:
        return None
    others = {one.name for one in fields(ReadOptions)} - {"target", "drop"}
    if not path.is_file() or any(getattr(options, name) for name in others):
        return None
    from pyarrow import ArrowException, parquet, types

    try:
        file = parquet.ParquetFile(path)
    except (ArrowException, OSError):
        return None
    n_rows, names = file.metadata.num_rows, file.schema_arrow.names
    if 8 * n_rows * len(names) <= LARGEST_FILE or n_rows <= max(MAX_EXACT, len(names)):
        return None
    target = options.target or next((n for n in names if n.lower() in roles.TARGET_NAMES), None)
    kept = features or [name for name in names if name not in {target, *options.drop}]
    if len(set(names)) < len(names) or not set(kept) <= set(names):
        return None
    kinds = [file.schema_arrow.field(name).type for name in kept]
    if not all(types.is_integer(kind) or types.is_floating(kind) for kind in kinds):
        return None
    return ParquetColumns(path, features or [*kept, *([] if target is None else [target])])


def _read_on_disk(path: pathlib.Path, file: ParquetColumns, options: ReadOptions) -> DataFile:
    """Samples that stay in their file, and their classes."""
    target = roles.find_target(list(file.feature_names or ()), options.target, None, path.name)
    samples, column = file.split(target)
    labels, note = roles.read_classes(_as_series(column), target)
    notes = [f"{len(labels)} rows stay in the file and are read a block at a time.", note]
    rows = np.flatnonzero(_rows_with_class(labels, notes))
    roles.check_classes(labels[rows], target)
    data = DataFile(
        samples if rows.size == len(labels) else samples[rows],
        roles.as_label_array(labels[rows]),
        rows + 1,
        target=target,
        notes=tuple(notes),
        dropped=dict.fromkeys(options.drop, "not wanted"),
    )
    return replace(data, findings=find_problems(data, None))


def _read_series(
    path: pathlib.Path, raw: RawFile, options: ReadOptions, *, needs_target: bool
) -> DataFile:
    for option, named in {"id": options.id_column, **vars(options)}.items():
        if named and option in ("id", "by", *COLUMN_OPTIONS):
            raise InputError(
                f"--{option} names a column, but {path.name} holds time series, which have none. "
                "Leave it out."
            )
    ids = np.arange(1, len(raw.samples) + 1)
    if not needs_target:
        return DataFile(raw.samples, None, ids, None, raw.notes)
    if raw.labels is None:
        raise InputError(
            f"{path.name} has time series without classes, expected a class for each. Use a file "
            "with class labels."
        )
    labels, note = roles.read_classes(_as_series(raw.labels), "y")
    if None in labels.tolist():
        raise InputError(
            f"Time series {labels.tolist().index(None) + 1} of {path.name} has no class, expected "
            "one for each. Remove it from the file."
        )
    return DataFile(raw.samples, roles.as_label_array(labels), ids, "y", (*raw.notes, note))


def _drop_empty_rows(raw: RawFile) -> tuple[Any, list[str]]:
    """Rows with at least one value, and notes."""
    frame, notes = raw.samples.reset_index(drop=True), list(raw.notes)
    is_empty = frame.isna().all(axis=1).to_numpy(dtype=bool)
    if is_empty.any():
        notes.append(f"{count(int(is_empty.sum()), 'empty row')} left out.")
    return frame[~is_empty], notes


def _apply_options(frame: Any, options: ReadOptions, file: str) -> Any:
    """The table without the columns and cells that the user does not want."""
    for option in COLUMN_OPTIONS:
        named = getattr(options, option)
        for name in [named] if isinstance(named, str) else named or ():
            roles.require_column(list(frame.columns), name, file, f"--{option}")
    used = {options.target, options.id_column, options.group, options.eligible}
    for name in options.drop:
        if name in used:
            raise InputError(
                f"Column {quote(name)} is to be dropped (--drop) and used by another option. Leave "
                "out one of the two."
            )
    return _empty_cells(frame.drop(columns=list(options.drop)), options.missing)


def _check_roles(target: str, options: ReadOptions) -> None:
    """Raise if a column has two uses; the rows of a person may be named after the person."""
    group = None if options.group == options.id_column else options.group
    names = target, options.id_column, group, options.eligible
    taken: dict[str, str] = {}
    for option, name in zip(("--target", "--id", "--group", "--eligible"), names, strict=True):
        if name is not None and taken.setdefault(name, option) != option:
            raise InputError(
                f"Column {quote(name)} is both {taken[name]} and {option}, expected two columns. "
                "Change one."
            )


def _read_subgroups(frame: Any, columns: tuple[str, ...], file: str) -> dict[str, Any]:
    """The texts in columns that divide the rows."""
    found = {}
    for column in columns:
        roles.require_column(list(frame.columns), column, file, "--by")
        texts = roles.as_texts(frame[column])
        found[column] = np.array(["missing" if one is None else one for one in texts], object)
        n_values = len(set(found[column].tolist()))
        if n_values > MAX_SUBGROUPS:
            raise InputError(
                f"Column {quote(column)} (--by) has {n_values} different values, expected at most "
                f"{MAX_SUBGROUPS} subgroups. Add a column of ranges, such as 40 to 59."
            )
    return found


def _empty_cells(frame: Any, codes: tuple[str, ...]) -> Any:
    """The table with missing cells in the place of codes for them."""
    if not codes:
        return frame
    wanted = {code.strip() for code in codes}
    return frame.apply(lambda cells: cells.mask(roles.find_codes(cells, wanted)))


def _keep_names(raw: RawFile, frame: Any, names: Iterable[Any]) -> Any:
    """The table with the characters of the file in columns that name something."""
    given = [name for name in dict.fromkeys(names) if name in frame.columns]
    wanted = [name for name in given if not roles.find_other_kind(frame[name])]
    if not wanted or raw.read_exact is None:
        return frame
    exact, frame = raw.read_exact(wanted).loc[frame.index], frame.copy(deep=False)
    for name in wanted:
        frame[name] = roles.keep_names(frame[name], exact[name])
    return frame


def _match(names: Any, column: Any, known: Iterable[Any]) -> Any:
    """What is known under the name of each cell, else under its number, else the name itself."""
    called = {str(one): one for one in known}
    is_text = bool(called) and all(isinstance(one, str) for one in called.values())
    found = [
        None if name is None else called.get(str(name), called.get(number, name))
        for name, number in zip(names.tolist(), roles.as_texts(column), strict=True)
    ]
    return np.array([str(one) if is_text and one is not None else one for one in found], object)


def _rows_with_class(labels: Any, notes: list[str]) -> Any:
    has_class = np.array([label is not None for label in labels], dtype=bool)
    if not has_class.all():
        notes.append(f"{count(int((~has_class).sum()), 'row')} without a class left out.")
    return has_class


def _name_rows(
    raw: RawFile, frame: Any, options: ReadOptions, others: set[Any], file: str, notes: list[str]
) -> tuple[str | None, Any]:
    """The column of row names, if there is one, and the names."""
    identifier = roles.find_identifier(frame, options.id_column, others, file)
    if identifier is None:
        return None, frame.index.to_numpy() + 1
    if options.id_column is None:
        notes.append(f"Column {quote(identifier)} names the rows: all values differ.")
    names = _keep_names(raw, frame, [identifier])[identifier]
    return identifier, roles.read_identifiers(names, identifier)


def _keep_columns(
    raw: RawFile, frame: Any, file: str, options: ReadOptions
) -> tuple[dict[str, Any], dict[str, str], list[Finding]]:
    """Columns to learn from, reasons for dropping others, and what was guessed about cells."""
    kinds = {
        **dict.fromkeys(options.categories, "categories"),
        **dict.fromkeys(options.numbers, "numbers"),
    }
    kept, dropped = {}, {}
    findings: list[Finding] = []
    columns = {name: roles.read_column(frame[name], name, kinds.get(name)) for name in frame}
    numbers = {name: column.values for name, column in columns.items() if not column.is_text}
    large = [name for name, cells in numbers.items() if (np.abs(cells) >= roles.INEXACT).any()]
    exact = raw.read_exact(large).loc[frame.index] if large and raw.read_exact else {}
    for name, column in columns.items():
        reason = roles.find_reason_to_drop(column, is_wanted=name in kinds)
        if name in exact and roles.are_merged(exact[name]):
            reason = roles.TOO_LONG
        cells = frame[name]
        if not reason and name not in kinds and roles.looks_like_identifier(cells, name):
            reason = roles.IDENTIFIER
        if reason:
            dropped[name] = reason
            continue
        roles.refuse_infinite(column.values, name, file)
        kept[name] = column.values
        findings += column.findings
    return kept, dropped, findings


def _find_known_classes(
    raw: RawFile, frame: Any, expected: ExpectedColumns, classes: Sequence[Any]
) -> dict[str, Any]:
    """Columns that hold nothing but classes of the model, and these."""
    known = set(expected.names)
    others = [name for name in frame.columns if name not in known]
    # Numbers are classes in a column with a usual name alone.
    if not all(isinstance(label, str) for label in classes):
        others = [name for name in others if name.lower() in roles.TARGET_NAMES]
    # Most columns show with their first cells that they hold something else.
    # TRUE is parsed as True.
    codes = {None, *map(str, classes), *(str(label).capitalize() for label in classes)}
    heads = {name: frame[name].head(LOOKED_AT) for name in others}
    others = [
        n for n, cells in heads.items() if (roles.find_codes(cells, codes) | cells.isna()).all()
    ]
    named = _keep_names(raw, frame, others)
    found = {name: _as_known_classes(named[name], frame[name], classes) for name in others}
    return {name: labels for name, labels in found.items() if labels is not None}


def _as_known_classes(names: Any, column: Any, classes: Sequence[Any]) -> Any:
    """The cells of a column as classes, or None if it holds anything else."""
    labels = _match(roles.as_texts(names), column, classes)
    present = {label for label in labels.tolist() if label is not None}
    return labels if present and present <= set(classes) else None


def _compare_columns(
    path: pathlib.Path, frame: Any, expected: ExpectedColumns, used: set[Any]
) -> list[str]:
    """Raise if a needed column is missing; notes about others that are missing or extra."""
    given = list(frame.columns)
    present, live = set(given), set(expected.live)
    missing = [name for name in expected.names if name not in present]
    needed = [name for name in missing if name in live]
    if needed:
        columns = "the column" if len(needed) == 1 else f"{len(needed)} columns"
        raise InputError(
            f"{path.name} lacks {columns} {list_names(needed)} that the model reads. Add "
            f"{'it' if len(needed) == 1 else 'them'}, or rename columns: those in the file are "
            f"{list_names(given)}."
        )
    extra = [name for name in given if name not in used]
    return [
        f"Column{'s' * (len(names) > 1)} {list_names(names)} {text}."
        for names, text in (
            (missing, "not in the file, and not needed"),
            (extra, "ignored: not part of the model"),
        )
        if names
    ]


def _read_expected(
    column: Any,
    names: Any,
    name: str,
    expected: ExpectedColumns,
    file: str,
    ids: Any,
    notes: list[str],
) -> Any:
    """The cells of a column that the model reads, as numbers or as categories."""
    if name in expected.categories:
        known = {None, *expected.categories[name]}
        cells = _match(roles.as_texts(names), column, expected.categories[name])
        new = list(dict.fromkeys(cell for cell in cells.tolist() if cell not in known))
        if new:
            notes.append(f"Column {quote(name)}: {list_names(new)} not seen in training.")
        return cells
    read = roles.as_numbers(column, name, file)
    roles.refuse_infinite(read.values, name, file)
    notes += [finding.text for finding in read.findings]
    is_missing = roles.find_missing(read.values)
    if is_missing.any() and not expected.reads_missing:
        raise InputError(
            f"Column {quote(name)} of {file} has no number in "
            f"{count(int(is_missing.sum()), 'row')} (first: row {ids[int(np.argmax(is_missing))]}),"
            " but the model was fitted to complete numbers. Fill the cells, leave out the rows, or "
            "fit again with --allow-missing."
        )
    return read.values


def _as_series(values: Any) -> Any:
    import pandas as pd

    return pd.Series(values.tolist())


def _build_frame(columns: Mapping[str, Any], ids: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(ids.tolist(), dtype=ids.dtype), copy=True)
