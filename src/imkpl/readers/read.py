"""Samples and classes from a file: one to learn from, or one for a fitted model."""

from __future__ import annotations

import os
import pathlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from imkpl._checks import quote, take_fields
from imkpl._writing import digest
from imkpl.readers import column_roles as roles
from imkpl.readers.cells import ENDING, read_cells
from imkpl.readers.check import find_left_out, find_problems, join_alike
from imkpl.readers.column_roles import Finding
from imkpl.readers.formats import (
    InputError,
    RawFile,
    ReadOptions,
    count,
    join_labels,
    list_names,
    parse_file,
)
from imkpl.readers.logs import read_log
from imkpl.readers.times import find_time_column, read_months, split_by_time

# Options that name columns of a table to learn from: what they are for, and how to read them.
ROLES = ("target", "id_column", "group", "site", "time", "eligible", "drop")
KINDS = ("categories", "numbers")
MAX_SUBGROUPS = 20
# In a file for a fitted model, this many cells of a column of numbers may be something else.
FEW_ODD = 3


@dataclass(frozen=True, eq=False)
class DataFile:
    """Samples and labels from a file, with notes on what was guessed."""

    samples: Any  # pandas.DataFrame of floats and texts
    y: Any  # class labels; None if there are none
    ids: Any  # row names: the values of a column, or numbers from 1
    target: str | None = None  # name of the target column
    notes: tuple[str, ...] = ()  # what was guessed, in sentences
    dropped: Mapping[str, str] = field(default_factory=dict)  # the reason for each column
    groups: Any = None  # which rows belong together
    eligible: Any = None  # which rows may be shown in prototypes
    subgroups: Mapping[str, Any] = field(default_factory=dict)  # texts in columns that divide rows
    id_column: str | None = None  # where `ids` come from
    group_column: str | None = None  # where `groups` come from
    sites: Any = None  # where rows come from
    site_column: str | None = None  # where `sites` come from
    later: Any = None  # which rows are held out because of their time
    time_column: str | None = None  # where `later` comes from
    months: tuple[str, ...] = ()  # columns of dates, with the first day
    class_order: tuple[str, ...] = ()  # the classes, if they have an order
    findings: tuple[Finding, ...] = ()  # what deserves attention before a fit
    style: tuple[str, str] = (",", ".")  # separator and decimal mark of the file

    @property
    def is_value(self) -> bool:
        """Whether the target is a number to predict."""
        return bool(self.y is not None and self.y.dtype.kind == "f")

    @property
    def strata(self) -> Any:
        """The classes, or fifths of the values, of which parts of the rows have the same shares."""
        if not self.is_value:
            return self.y
        return np.searchsorted(np.quantile(self.y, [0.2, 0.4, 0.6, 0.8]), self.y)

    def take(self, rows: Any) -> DataFile:
        """The same columns and notes for the rows at some places, or in a mask."""
        rows = np.arange(len(self))[rows]
        names = ("y", "ids", "groups", "sites", "later", "eligible")
        taken = take_fields(self, names, rows)
        subgroups = {name: texts[rows] for name, texts in self.subgroups.items()}
        samples = self.samples.iloc[rows] if self.is_table else self.samples[rows]
        return replace(self, samples=samples, subgroups=subgroups, **taken)

    @property
    def is_table(self) -> bool:
        """Whether samples are rows of a data frame; they may be series or cells."""
        return hasattr(self.samples, "iloc")

    def hash_samples(self) -> Any:
        """A number for every sample, the same for equal ones."""
        from pandas.util import hash_array, hash_pandas_object

        if not self.is_table:
            X = getattr(self.samples, "X", self.samples)
            rows = (X[[i]].toarray() if hasattr(X, "toarray") else X[i] for i in range(len(self)))
            return hash_array(np.array([one.tobytes().hex() for one in rows], object))
        return hash_pandas_object(self.samples, index=False).to_numpy()

    def fingerprint(self) -> str:
        """A digest of all samples and classes in their order, without the row names."""
        from pandas import Series
        from pandas.util import hash_pandas_object

        if not self.is_table:
            return digest(*map(bytes, (self.hash_samples(), str(self.y.tolist()).encode()))).hex()
        columns = [*(cells for _, cells in self.samples.items()), Series(self.y)]
        hashed = (hash_pandas_object(cells, index=False).to_numpy() for cells in columns)
        return digest(*map(str.encode, self.samples), *map(bytes, hashed)).hex()

    def __len__(self) -> int:
        return len(self.samples)


@dataclass(frozen=True)
class ExpectedColumns:
    """What a fitted model reads."""

    names: tuple[str, ...]  # all columns that it was fitted to, in their order
    live: tuple[str, ...]  # the columns that it uses; others may be missing from a file
    categories: Mapping[str, tuple[Any, ...]]  # those of each live column of categories
    reads_missing: bool  # whether cells may be missing


def read_training_file(
    path: str | os.PathLike[str], options: ReadOptions | None = None
) -> DataFile:
    """Read samples and their classes, drop columns of no use, and note what was guessed.

    Parameters
    ----------
    path : str or path
        A file ``.csv``, ``.tsv``, ``.xlsx``, ``.parquet`` or ``.feather``.
    options : ReadOptions, optional
        The target and whatever else should not be guessed.

    Returns
    -------
    DataFile
        The samples; rows without a class are left out.
    """
    path, options = pathlib.Path(path), options or ReadOptions()
    if options.series is not None or path.suffix.lower() == ENDING:
        data = (read_cells if options.series is None else read_log)(path, options)
        roles.check_classes(data.y, str(data.target))
        return data
    raw = _parse(path, options)
    whole, notes = _drop_empty_rows(raw)
    left = [name for name in whole.columns if name not in options.drop]
    roles.refuse_turned(whole, options.target, path.name)
    target = options.target or roles.guess_target(left, path.name)
    _check_uses(list(whole.columns), replace(options, target=target), path.name)
    frame = _empty_cells(whole.drop(columns=list(options.drop)), options.missing)
    column = frame[target]
    frame = _keep_names(raw, frame, [target, options.group, options.site, *options.categories])
    names = frame[target]
    if options.merge_spellings and names.dtype.kind not in "iufb":
        column = names = names.__class__(roles.merge_spellings(roles.as_texts(names)), names.index)
    labels, note = roles.read_target(column, target, names, options)
    # Names that are not asked for may be those of persons, and a model would keep them.
    ids = _name_rows(raw, frame, options.id_column)
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
    sites = None if options.site is None else roles.read_sites(frame[options.site], notes)
    used = {target, options.group, options.site, options.eligible, options.id_column}
    when = find_time_column(frame, options, path.name, used, notes)
    used = (used | {when}) - {None}
    frame, starts = read_months(frame, options.months, notes)
    left = frame.drop(columns=list(used))
    kept, dropped, findings = _keep_columns(left, path.name, options, target)
    steps = [text.removeprefix(f"{target}=").split(",") for text in options.ordered]
    order = [name for one in steps for name in one if not any("=" in name for name in one)]
    if not kept:
        reasons = " ".join(one.text for one in find_left_out(dropped)) or "it has no others."
        raise InputError(
            f"No column of {path.name} is left to learn from: {reasons} Add columns of numbers or "
            "of categories."
        )
    data = DataFile(
        _build_frame(kept, ids),
        roles.as_label_array(labels),
        ids,
        target=target,
        notes=(*notes, note),
        dropped=dropped,
        groups=groups,
        eligible=eligible,
        subgroups=_read_subgroups(_keep_names(raw, whole[rows], options.by), options.by, path.name),
        id_column=options.id_column,
        group_column=options.group,
        sites=sites,
        site_column=options.site,
        months=starts,
        class_order=tuple(order),
    )
    is_blank = data.samples.isna().all(axis=1).to_numpy()
    if is_blank.any():
        text = f"{count(int(is_blank.sum()), 'row')} without a value to learn from left out."
        data, frame = data.take(~is_blank), frame[~is_blank]
        data = replace(data, notes=(*data.notes, text))
        roles.check_classes(data.y, target)
    if when is not None:
        data = split_by_time(data, frame[when], str(options.after), path.name)
    findings = [*find_problems(data, frame), *findings]
    return replace(data, findings=tuple(join_alike(findings)))


def read_new_file(
    path: pathlib.Path,
    expected: ExpectedColumns,
    options: ReadOptions,
    *,
    classes: Sequence[Any] | None = (),
    usual_target: str | None = None,
    needs_target: bool = False,
) -> DataFile:
    """Samples for a model of some classes; with `needs_target`, rows without one are left out."""
    raw = _parse(path, replace(options, known_names=expected.live))
    frame, notes = _drop_empty_rows(raw)
    frame = _empty_cells(frame, options.missing)
    labels: Any = None
    spell = roles.spell if options.merge_spellings else str
    target = options.target
    if target is None and usual_target in frame.columns:
        target = usual_target
        notes.append(f"Column {quote(str(target))} is the target: the answers are measured on it.")
    if target is None and needs_target:
        target = roles.guess_target(frame.columns, path.name)
    if target is not None:
        roles.require_column(list(frame.columns), target, path.name, "--target")
        names = _keep_names(raw, frame, [target])[target]
        if classes is None:
            labels = roles.read_target(
                frame[target], target, names, replace(options, regress=True)
            )[0]
        else:
            labels = _match(roles.as_texts(names), frame[target], classes, spell)
            is_asked = needs_target or options.target is not None
            labels = _check_labels(labels, classes, path.name, notes, is_asked=is_asked)
    if needs_target:
        rows = _rows_with_class(labels, notes)
        roles.check_classes(labels[rows], str(target), least=1)
        frame, labels = frame[rows], labels[rows]
    if labels is not None and len({type(label) for label in labels}) == 1:
        labels = np.array(labels.tolist())
    used = {*expected.names, target}
    identifier = options.id_column
    if identifier is None:
        identifier = roles.find_identifier(frame, used)
        if identifier is not None:
            notes.append(f"Column {quote(identifier)} names the rows: all values differ.")
    else:
        roles.require_column(list(frame.columns), identifier, path.name, "--id")
    ids = _name_rows(raw, frame, identifier)
    notes += _compare_columns(path.name, list(frame), expected, used | {identifier}, options)
    absent = [name for name in expected.live if name not in frame.columns]
    frame = frame.assign(**dict.fromkeys(absent, np.nan))
    # The model does not look at the values of columns that are not live.
    frame, _ = read_months(frame, options.months, notes)
    columns = dict.fromkeys(expected.names, np.zeros(len(frame)))
    named = _keep_names(raw, frame, {*options.by, *expected.categories}.difference(absent))
    for name in expected.live:
        if name in expected.categories:
            known = expected.categories[name]
            columns[name] = _read_categories(frame[name], named[name], known, notes, spell)
        else:
            gaps = expected.reads_missing
            columns[name] = _read_numbers(frame[name], path.name, ids, notes, reads_missing=gaps)
    return DataFile(
        _build_frame(columns, ids),
        labels,
        ids,
        target,
        tuple(notes),
        dropped=dict.fromkeys(absent, "not in the file"),
        subgroups=_read_subgroups(named, options.by, path.name),
        style=raw.style,
    )


def _parse(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """The table of a file, and of a second one with labels."""
    raw = parse_file(path, options)
    return raw if options.labels is None else join_labels(raw, options)


def _drop_empty_rows(raw: RawFile) -> tuple[Any, list[str]]:
    """Rows with at least one value, and notes."""
    frame, notes = raw.table.reset_index(drop=True), list(raw.notes)
    is_empty = frame.isna().all(axis=1).to_numpy(dtype=bool)
    if is_empty.any():
        notes.append(f"{count(int(is_empty.sum()), 'empty row')} left out.")
    return frame[~is_empty], notes


def _check_uses(names: list[str], options: ReadOptions, file: str) -> None:
    """Raise if an option names no column, or a column has two roles."""
    taken: dict[str, str] = {}
    for option in (*ROLES, *KINDS):
        named, flag = getattr(options, option), f"--{option.removesuffix('_column')}"
        for name in [named] if isinstance(named, str) else named or ():
            roles.require_column(names, name, file, flag)
            other = taken.setdefault(name, flag) if option in ROLES else flag
            # The rows of a person may be named after the person.
            if other != flag and {other, flag} != {"--id", "--group"}:
                raise InputError(
                    f"Column {quote(name)} is both {other} and {flag}, expected two columns. "
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
    if not wanted:
        return frame
    exact, frame = raw.read_exact(wanted).loc[frame.index], frame.copy(deep=False)
    for name in wanted:
        frame[name] = roles.keep_names(frame[name], exact[name])
    return frame


def _match(names: Any, column: Any, known: Iterable[Any], spell: Callable[[str], str] = str) -> Any:
    """What is known under the name of each cell, else under its number, else the name itself."""
    called = {spell(str(one)): one for one in known}
    is_text = bool(called) and all(isinstance(one, str) for one in called.values())
    found = [
        None if name is None else called.get(spell(str(name)), called.get(number, name))
        for name, number in zip(names.tolist(), roles.as_texts(column), strict=True)
    ]
    return np.array([str(one) if is_text and one is not None else one for one in found], object)


def _check_labels(
    labels: Any, classes: Sequence[Any], file: str, notes: list[str], *, is_asked: bool
) -> Any:
    """The labels, unless none of them is a class: that is refused, or noted."""
    found = [label for label in dict.fromkeys(labels.tolist()) if label is not None]
    new = [label for label in found if label not in set(classes)]
    if new and len(new) == len(found):
        text = (
            f"{file} has none of the model's classes: found {list_names(new)}, expected "
            f"{list_names(classes)}. Name the column with the classes with --target."
        )
        if is_asked:
            raise InputError(text)
        notes.append(text)
        return None
    if new:
        were = "was not a class" if len(new) == 1 else "were not classes"
        notes.append(f"{list_names(new)} {were} in training; such rows count as errors.")
    return labels


def _rows_with_class(labels: Any, notes: list[str]) -> Any:
    has_class = np.array([label is not None for label in labels], dtype=bool)
    if not has_class.all():
        notes.append(f"{count(int((~has_class).sum()), 'row')} without a class left out.")
    return has_class


def _name_rows(raw: RawFile, frame: Any, column: str | None) -> Any:
    """The names of rows in a column, or their numbers."""
    if column is None:
        return frame.index.to_numpy() + 1
    return roles.read_identifiers(_keep_names(raw, frame, [column])[column], column)


def _keep_columns(
    frame: Any, file: str, options: ReadOptions, target: str
) -> tuple[dict[str, Any], dict[str, str], list[Finding]]:
    """Columns to learn from, reasons for dropping others, and what was guessed about cells."""
    pairs = (text.partition("=") for text in options.ordered if "=" in text)
    orders = {name: steps.split(",") for name, _, steps in pairs if name != target}
    for name in orders:
        roles.require_column(list(frame.columns), name, file, "--ordered")
    kinds = {
        **dict.fromkeys([*options.categories, *orders], "categories"),
        **dict.fromkeys(options.numbers, "numbers"),
    }
    kept, dropped = {}, {}
    findings: list[Finding] = []
    for name, cells in frame.items():
        column = roles.read_column(cells, name, kinds.get(name))
        reason = roles.find_reason_to_drop(column, is_wanted=name in kinds)
        if not reason and name not in kinds and roles.looks_like_identifier(cells, name):
            reason = roles.IDENTIFIER
        if reason:
            dropped[name] = reason
            continue
        roles.refuse_infinite(column.values, name, file)
        values = column.values
        if options.merge_spellings and column.is_text:
            values = roles.merge_spellings(values)
        kept[name] = (
            roles.order_categories(values, orders[name], name) if name in orders else values
        )
        findings += column.findings
    return kept, dropped, findings


def _compare_columns(
    file: str,
    given: list[str],
    expected: ExpectedColumns,
    used: set[Any],
    options: ReadOptions,
) -> list[str]:
    """Raise if a needed column is missing; a note about those that are not part of the model."""
    present = set(given)
    needed = [name for name in expected.live if name not in present]
    if expected.reads_missing:
        needed = [name for name in needed if name not in options.not_measured]
    if needed:
        raise InputError(
            f"{file} lacks {count(len(needed), 'column')} that the model reads: "
            f"{list_names(needed)}. Add or rename columns, or say that it was not measured: "
            f"--not-measured {shlex.quote(needed[0])}. {roles.list_columns(given)}"
        )
    extra = [name for name in given if name not in used]
    said = f"Column{'s' * (len(extra) > 1)} {list_names(extra)} ignored: not part of the model."
    return [said] if extra else []


def _read_categories(
    column: Any,
    names: Any,
    known: Iterable[Any],
    notes: list[str],
    spell: Callable[[str], str] = str,
) -> Any:
    """The cells of a column of categories; a note lists those that are not known."""
    cells = _match(roles.as_texts(names), column, known, spell)
    old = {None, *known}
    new = [cell for cell in dict.fromkeys(cells.tolist()) if cell not in old]
    if new:
        notes.append(f"Column {quote(column.name)}: {list_names(new)} not seen in training.")
    return cells


def _read_numbers(
    column: Any, file: str, ids: Any, notes: list[str], *, reads_missing: bool
) -> Any:
    """The cells of a column that must be numeric; a few other cells are missing."""
    read = roles.read_column(column, column.name, "numbers")
    notes += [finding.text for finding in read.findings]
    is_missing, n_others = roles.find_missing(read.values), len(read.others)
    n_present = n_others + int((~is_missing).sum())
    where = f"Column {quote(column.name)} of {file}"
    if read.reason or n_others > max(FEW_ODD, (1 - roles.MOSTLY) * n_present):
        held = read.reason or f"text such as {quote(read.others[0])}"
        raise InputError(
            f"{where} holds {held}, but the model was fitted to numbers there. Correct the "
            "cells, or check that the columns of both files mean the same."
        )
    roles.refuse_infinite(read.values, column.name, file)
    if is_missing.any() and not reads_missing:
        raise InputError(
            f"{where} has no number in {count(int(is_missing.sum()), 'row')} (first: row "
            f"{ids[int(np.argmax(is_missing))]}), but the model cannot do without. Fill the cells, "
            "leave out the rows, or fit again."
        )
    return read.values


def _build_frame(columns: Mapping[str, Any], ids: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(ids.tolist(), dtype=ids.dtype), copy=True)
