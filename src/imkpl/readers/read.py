"""Samples and classes from a file: one to learn from, or one for a fitted model."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.kernels import ParquetColumns
from imkpl.kernels.sharded import MAX_EXACT
from imkpl.readers.check import find_problems
from imkpl.readers.columns import (
    IDENTIFIER,
    TARGET_NAMES,
    as_label_array,
    as_numbers,
    as_texts,
    check_classes,
    find_codes,
    find_identifier,
    find_missing,
    find_reason_to_drop,
    find_target,
    looks_like_identifier,
    read_classes,
    read_column,
    read_flags,
    read_identifiers,
    refuse_infinite,
    require_column,
    unknown_target,
)
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

# Options that name columns of a table to learn from; the first are wishes about rows.
WISHES = ("eligible", "pin", "ban")
COLUMN_OPTIONS = (*WISHES, "group", "drop", "categories", "numbers")
MAX_SUBGROUPS = 20
# Bytes that a table may take in memory; rows of a larger one stay in their file if they can.
LARGEST_FILE = 2**30
# Cells that are looked at before a whole column.
LOOKED_AT = 20


@dataclass(frozen=True)
class ExpectedColumns:
    """What a fitted model reads.

    Parameters
    ----------
    names : tuple of str
        All columns that it was fitted to, in their order.
    live : tuple of str
        The columns that it uses; others may be missing from a file.
    categories : mapping of str to tuple
        Categories of each live column of categories.
    reads_missing : bool
        Whether cells may be missing.

    Examples
    --------
    >>> expected = ExpectedColumns(("kg", "color"), ("color",), {"color": ("red", "blue")}, True)
    >>> expected.live, expected.categories["color"]
    (('color',), ('red', 'blue'))
    """

    names: tuple[str, ...]
    live: tuple[str, ...]
    categories: Mapping[str, tuple[Any, ...]]
    reads_missing: bool


def read_training_file(
    path: str | os.PathLike[str], options: ReadOptions | None = None, *, in_parts: bool = False
) -> DataFile:
    """Read samples and their classes, drop columns of no use, and note what was guessed.

    Parameters
    ----------
    path : str or path
        A file ``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``, ``.feather``, ``.npz``, ``.mat``,
        ``.arff`` or ``.ts``.
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
    tall = open_tall(path, options) if in_parts else None
    if tall is not None:
        return _read_tall(path, tall, options)
    raw = parse_file(path, options)
    if not hasattr(raw.samples, "columns"):
        data = _read_series(path, raw, options, needs_target=True)
        check_classes(data.y, data.target or "y")
        return replace(data, findings=find_problems(data, None))
    frame, notes = _drop_empty_rows(raw)
    subgroups = _read_subgroups(frame, options.by, path.name)
    frame = _apply_options(frame, options, path.name)
    if raw.labels is not None:
        target, column = options.y_key or "y", _as_series(raw.labels)[frame.index]
    else:
        names = [str(name) for name in frame.columns]
        target = find_target(names, options.target, raw.target, path.name)
        column = frame[target]
    labels, note = read_classes(column, target)
    others = {target} if raw.labels is None else set()
    _check_roles(dict.fromkeys(others, "--target"), options)
    groups = None
    if options.group is not None:
        texts = enumerate(as_texts(frame[options.group]))
        # A row of nobody belongs to itself.
        groups = np.array([f"row {i}" if one is None else f"group {one}" for i, one in texts])
        others.add(options.group)
    wished = {name: getattr(options, name) for name in WISHES if getattr(options, name) is not None}
    wishes = {name: read_flags(frame[column], column, name) for name, column in wished.items()}
    others.update(wished.values())
    for name, flags in wishes.items():
        what = {"pin": "pinned", "ban": "banned"}.get(name, name)
        text = f"{int(flags.sum())} of {count(len(flags), 'row')} {what}"
        notes.append(f"Column {quote(wished[name])}: {text}.")
    identifier, ids = _name_rows(frame, options, others, path.name, notes)
    if identifier is not None and options.id_column is None:
        # Names may be those of persons, and a model keeps them.
        ids = frame.index.to_numpy() + 1
        notes[-1] += f" Rows are numbered; --id {quote(identifier)} keeps the names."
    if identifier is not None:
        others.add(identifier)
    rows = _rows_with_class(labels, notes)
    check_classes(labels[rows], target)
    kept, dropped, findings = _keep_columns(
        frame.drop(columns=list(others)), rows, path.name, options
    )
    more = _note_columns(dropped, findings)
    if not kept:
        reasons = [*more, *([] if identifier is None else [f"{quote(identifier)} names the rows."])]
        raise InputError(
            f"No column of {path.name} is left to learn from: "
            f"{' '.join(reasons) or 'it has no others.'} Add columns of numbers or of categories."
        )
    data = DataFile(
        samples=_build_frame(kept, ids[rows]),
        y=as_label_array(labels[rows]),
        ids=ids[rows],
        target=target,
        notes=(*notes, note, *more),
        dropped=dropped,
        split=raw.split if rows.all() and len(frame) == len(raw.samples) else None,
        groups=None if groups is None else groups[rows],
        wishes={name: flags[rows] for name, flags in wishes.items()},
        subgroups={name: texts[rows] for name, texts in subgroups.items()},
        id_column=identifier,
        group_column=options.group,
    )
    frame, is_blank = frame[rows], data.samples.isna().all(axis=1).to_numpy()
    if is_blank.any():
        text = f"{count(int(is_blank.sum()), 'row')} without a value to learn from left out."
        data, frame = data.take(np.flatnonzero(~is_blank)), frame[~is_blank]
        data = replace(data, notes=(*data.notes, text))
        check_classes(data.y, target)
    return replace(data, findings=(*find_problems(data, frame), *findings))


def read_new_file(
    path: str | os.PathLike[str],
    expected: ExpectedColumns | None,
    options: ReadOptions | None = None,
    *,
    needs_target: bool = False,
    classes: Sequence[Any] = (),
) -> DataFile:
    """Read samples for a fitted model; columns are matched by name.

    Parameters
    ----------
    path : str or path
        A file of any format that `read_training_file` reads.
    expected : ExpectedColumns or None
        What the model reads; None for time series.
    options : ReadOptions, optional
        The target, if classes are wanted, and whatever else should not be guessed.
    needs_target : bool
        Whether to read the classes, and to leave out rows without one.
    classes : sequence
        The model's classes: if no target is named, a column that holds them is taken as one.

    Returns
    -------
    DataFile
        Its columns are `expected.names`. `y` is None if there are no classes, and has None for
        rows without one.
    """
    path, options = pathlib.Path(path), options or ReadOptions()
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
        if data.y is None and raw.labels is not None:
            data = replace(data, y=_fit_classes(_as_series(raw.labels), classes))
        return data
    frame, notes = _drop_empty_rows(raw)
    frame = _empty_cells(frame, options.missing)
    labels: Any = None
    target: str | None = options.target or raw.target
    if needs_target:
        labels, target = _find_labels(path, raw, frame, target)
        rows = _rows_with_class(labels, notes)
        if not rows.any():
            raise InputError(
                f"Target {quote(target)} of {path.name} has no values, expected a class in every "
                "row. Name another column with --target."
            )
        frame, labels = frame[rows], as_label_array(labels[rows])
    elif options.target is not None:
        labels, target = _find_labels(path, raw, frame, target)
    elif classes:
        labels, guess = _guess_labels(raw, frame, expected, classes)
        if guess is not None:
            notes.append(f"Column {quote(guess)} holds classes: the accuracy is measured on it.")
        target = guess or target
    used = {*expected.names, *([] if target is None else [target])}
    identifier, ids = _name_rows(frame, options, used, path.name, notes)
    notes += _compare_columns(path, frame, expected, used | {identifier})
    # The model does not look at the values of other columns.
    live, unread = set(expected.live), np.zeros(len(frame))
    columns = {
        name: _read_expected(frame, name, expected, path.name, notes) if name in live else unread
        for name in expected.names
    }
    _check_missing(path, columns, expected, ids)
    return DataFile(
        _build_frame(columns, ids),
        labels,
        ids,
        target,
        tuple(notes),
        subgroups=_read_subgroups(frame, options.by, path.name),
        style=raw.style,
    )


def open_tall(
    path: pathlib.Path, options: ReadOptions, features: Sequence[str] | None = None
) -> ParquetColumns | None:
    """A Parquet file that is larger than `LARGEST_FILE` and has many rows of numbers.

    Others are read into memory, as are those with row names, groups or wishes about cells. Without
    `features`, all columns are in it, the target last.
    """
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
    target = options.target or next((n for n in names if n.lower() in TARGET_NAMES), None)
    kept = features or [name for name in names if name not in {target, *options.drop}]
    if not set(kept) <= set(names):
        return None
    kinds = [file.schema_arrow.field(name).type for name in kept]
    if not all(types.is_integer(kind) or types.is_floating(kind) for kind in kinds):
        return None
    return ParquetColumns(path, features or [*kept, *([] if target is None else [target])])


def _read_tall(path: pathlib.Path, tall: ParquetColumns, options: ReadOptions) -> DataFile:
    """Samples that stay in their file, and their classes."""
    names = list(tall.feature_names or ())
    target = find_target(names, options.target, None, path.name)
    samples, column = tall.split(target)
    labels, note = read_classes(_as_series(column), target)
    notes = [f"{len(labels)} rows stay in the file and are read a block at a time.", note]
    rows = np.flatnonzero(_rows_with_class(labels, notes))
    check_classes(labels[rows], target)
    data = DataFile(
        samples if rows.size == len(labels) else samples[rows],
        as_label_array(labels[rows]),
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
    ids, notes = np.arange(1, len(raw.samples) + 1), list(raw.notes)
    if not needs_target:
        return DataFile(raw.samples, None, ids, None, tuple(notes))
    if raw.labels is None:
        raise InputError(
            f"{path.name} has time series without classes, expected a class for each. Name the "
            "array of labels with --y-key, or use a .ts file with class labels."
        )
    target = options.y_key or "y"
    labels, note = read_classes(_as_series(raw.labels), target)
    if None in labels.tolist():
        row = labels.tolist().index(None)
        raise InputError(
            f"Time series {row + 1} of {path.name} has no class, expected one for each. Remove it "
            "from the file."
        )
    return DataFile(
        raw.samples, as_label_array(labels), ids, target, (*notes, note), split=raw.split
    )


def _drop_empty_rows(raw: RawFile) -> tuple[Any, list[str]]:
    """Rows with at least one value, and notes."""
    frame, notes = raw.samples.reset_index(drop=True), list(raw.notes)
    is_empty = frame.isna().all(axis=1).to_numpy(dtype=bool)
    if raw.labels is None and is_empty.any():
        notes.append(f"{count(int(is_empty.sum()), 'empty row')} left out.")
        frame = frame[~is_empty]
    return frame, notes


def _apply_options(frame: Any, options: ReadOptions, file: str) -> Any:
    """The table without the columns and cells that the user does not want."""
    names = [str(name) for name in frame.columns]
    for option in COLUMN_OPTIONS:
        named = getattr(options, option)
        for name in [named] if isinstance(named, str) else named or ():
            require_column(names, name, file, f"--{option}")
    used = [options.target, options.id_column, options.group, options.eligible, options.pin]
    for name in options.drop:
        if name in (*used, options.ban):
            raise InputError(
                f"Column {quote(name)} is to be dropped (--drop) and used by another option. Leave "
                "out one of the two."
            )
    return _empty_cells(frame.drop(columns=list(options.drop)), options.missing)


def _check_roles(taken: dict[str, str], options: ReadOptions) -> None:
    """Raise if a column has two uses; the rows of a person may be named after the person."""
    for option in ("id", "group", *WISHES):
        name = options.id_column if option == "id" else getattr(options, option)
        if name is None or (option == "group" and name == options.id_column):
            continue
        if name in taken:
            raise InputError(
                f"Column {quote(name)} is both {taken[name]} and --{option}, expected two columns. "
                "Change one."
            )
        taken[name] = f"--{option}"


def _read_subgroups(frame: Any, columns: tuple[str, ...], file: str) -> dict[str, Any]:
    """The texts in columns that divide the rows."""
    found = {}
    for column in columns:
        require_column([str(name) for name in frame.columns], column, file, "--by")
        texts = as_texts(frame[column])
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
    return frame.apply(lambda cells: cells.mask(find_codes(cells, wanted)))


def _rows_with_class(labels: Any, notes: list[str]) -> Any:
    has_class = np.array([label is not None for label in labels], dtype=bool)
    if not has_class.all():
        notes.append(f"{count(int((~has_class).sum()), 'row')} without a class left out.")
    return has_class


def _name_rows(
    frame: Any, options: ReadOptions, others: set[Any], file: str, notes: list[str]
) -> tuple[str | None, Any]:
    """The column of row names, if there is one, and the names."""
    identifier = find_identifier(frame, options.id_column, others, file)
    if identifier is None:
        return None, frame.index.to_numpy() + 1
    if options.id_column is None:
        notes.append(f"Column {quote(identifier)} names the rows: all values differ.")
    return identifier, read_identifiers(frame[identifier], identifier)


def _keep_columns(
    frame: Any, rows: Any, file: str, options: ReadOptions
) -> tuple[dict[str, Any], dict[str, str], list[Finding]]:
    """Columns to learn from, reasons for dropping others, and what was guessed about cells."""
    kinds = {
        **dict.fromkeys(options.categories, "categories"),
        **dict.fromkeys(options.numbers, "numbers"),
    }
    kept, dropped = {}, {}
    findings: list[Finding] = []
    for place, name in enumerate(frame.columns):
        cells = frame.iloc[:, place][rows]
        column = read_column(cells, str(name), kinds.get(name))
        reason = find_reason_to_drop(column, is_wanted=name in kinds)
        if not reason and name not in kinds and looks_like_identifier(cells, str(name)):
            reason = IDENTIFIER
        if reason:
            dropped[str(name)] = reason
            continue
        refuse_infinite(column.values, str(name), file)
        kept[str(name)] = column.values
        findings += column.findings
    return kept, dropped, findings


def _note_columns(dropped: Mapping[str, str], findings: list[Finding]) -> list[str]:
    """Notes about columns that are left out, and about cells of others."""
    notes = [finding.text for finding in findings]
    reasons: dict[str, list[str]] = {}
    for name, reason in dropped.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        notes.append(f"Column{'s' * (len(names) > 1)} {list_names(names)} left out: {reason}.")
    return notes


def _find_labels(
    path: pathlib.Path, raw: RawFile, frame: Any, target: str | None
) -> tuple[Any, str | None]:
    if raw.labels is not None:
        return read_classes(_as_series(raw.labels), "y")[0], None
    names = [str(name) for name in frame.columns]
    if target is None:
        raise unknown_target(names, path.name)
    require_column(names, target, path.name, "--target")
    return read_classes(frame[target], target)[0], target


def _guess_labels(
    raw: RawFile, frame: Any, expected: ExpectedColumns, classes: Sequence[Any]
) -> tuple[Any, str | None]:
    """Labels beside the samples, or the only column that holds nothing but classes of the model.

    Numbers are classes in a column with a usual name alone.
    """
    if raw.labels is not None:
        return _fit_classes(_as_series(raw.labels)[frame.index], classes), None
    others = [name for name in frame.columns if name not in expected.names]
    if not all(isinstance(label, str) for label in classes):
        others = [name for name in others if str(name).lower() in TARGET_NAMES]
    found = {name: _fit_classes(frame[name], classes) for name in others}
    fitting = {str(name): labels for name, labels in found.items() if labels is not None}
    if len(fitting) != 1:
        return None, None
    ((name, labels),) = fitting.items()
    return labels, name


def _fit_classes(column: Any, classes: Sequence[Any]) -> Any:
    """The cells of a column as classes, or None if it holds anything else."""
    known = {str(label): label for label in classes}
    # Most columns show with their first cells that they hold something else.
    for cells in (column.head(LOOKED_AT), column):
        texts = as_texts(cells)
        if not {text for text in texts if text is not None} <= set(known):
            return None
    if not any(text is not None for text in texts):
        return None
    return np.array([known.get(text) for text in texts], dtype=object)


def _compare_columns(
    path: pathlib.Path, frame: Any, expected: ExpectedColumns, used: set[Any]
) -> list[str]:
    """Raise if a needed column is missing; notes about others that are missing or extra."""
    given = [str(name) for name in frame.columns]
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
    notes = []
    if missing:
        plural = "s" * (len(missing) > 1)
        notes.append(f"Column{plural} {list_names(missing)} not in the file, and not needed.")
    extra = [name for name in given if name not in used]
    if extra:
        plural = "s" * (len(extra) > 1)
        notes.append(f"Column{plural} {list_names(extra)} ignored: not part of the model.")
    return notes


def _read_expected(
    frame: Any, name: str, expected: ExpectedColumns, file: str, notes: list[str]
) -> Any:
    if name not in expected.categories:
        column = as_numbers(frame[name], name, file)
        refuse_infinite(column.values, name, file)
        notes += [finding.text for finding in column.findings]
        return column.values
    known = {str(category): category for category in expected.categories[name]}
    texts = as_texts(frame[name])
    new = list(dict.fromkeys(text for text in texts if text is not None and text not in known))
    if new:
        notes.append(f"Column {quote(name)}: {list_names(new)} not seen in training.")
    return np.array([known.get(text, text) for text in texts], dtype=object)


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
                f"Column {quote(name)} of {path.name} has no number in {count(n_missing, 'row')} "
                f"(first: row {ids[int(np.argmax(is_missing))]}), but the model was fitted to "
                "complete numbers. Fill the cells, leave out the rows, or fit again with "
                "--allow-missing."
            )


def _as_series(values: Any) -> Any:
    import pandas as pd

    return pd.Series(values.tolist())


def _build_frame(columns: Mapping[str, Any], ids: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(ids.tolist(), dtype=ids.dtype), copy=True)
