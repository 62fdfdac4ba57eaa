"""Logs with a row per time step: rows of one trial, in the order of time, become a series."""

from __future__ import annotations

import pathlib
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import quote
from imkpl.readers import column_roles as roles
from imkpl.readers.column_roles import Finding
from imkpl.readers.formats import InputError, ReadOptions, list_names, parse_file
from imkpl.series import read_series

if TYPE_CHECKING:
    from imkpl.readers.read import DataFile

# Trials of fewer steps on average are no series.
FEWEST_STEPS = 5


def read_log(
    path: pathlib.Path, options: ReadOptions, channels: tuple[str, ...] | None = None
) -> DataFile:
    """A series for every value of the column of trials; free columns of numbers are channels."""
    from imkpl.readers.read import DataFile

    if options.after is not None or options.site is not None or options.eligible is not None:
        raise InputError(
            "--series takes neither --after nor --site nor --eligible. Leave them out, or measure "
            "on a file of later trials with imkpl predict."
        )
    raw = parse_file(path, options)
    frame, names = raw.table, list(raw.table.columns)
    target = options.target
    if channels is None and target is None:
        target = roles.guess_target(names, path.name)
    target = target if channels is None or target in names else None
    # --time is the time of steps here.
    used = {"--series": options.series, "--time": options.time, "--group": options.group}
    used["--target"] = target
    taken = {name for name in used.values() if name is not None}
    for flag, name in used.items():
        if name is not None:
            roles.require_column(names, name, path.name, flag)
    trials = roles.as_texts(frame[options.series])
    if None in trials:
        row = 1 + trials.tolist().index(None)
        raise InputError(
            f"Column {quote(str(options.series))} (--series) is empty in row {row}, expected the "
            "trial that every row belongs to. Fill it, or delete the row."
        )
    read = {
        name: roles.read_column(frame[name], name)
        for name in names
        if name not in {*taken, *options.drop} and (channels is None or name in channels)
    }
    kept = {name: one.values for name, one in read.items() if not one.is_text and not one.reason}
    lacking = [name for name in channels or () if name not in kept]
    if lacking or not kept:
        what = f"channels {list_names(lacking)}" if lacking else "columns of numbers"
        raise InputError(f"{path.name} has no {what}. {roles.list_columns(names)}")
    kept = {name: kept[name] for name in channels} if channels else kept
    _, first, owners = np.unique(trials, return_index=True, return_inverse=True)
    order = np.argsort(first)
    table = frame.__class__(kept).assign(**{"trial ": np.argsort(order)[owners]})
    time = None
    if options.time is not None:
        time, table["time "] = "time ", roles.read_column(frame[options.time], options.time).values
    samples = read_series(table, series="trial ", time=time)
    labels = None if target is None else _one_per_trial(frame[target], trials, target)
    groups = None
    if options.group is not None:
        groups = _one_per_trial(frame[options.group], trials, options.group)
    return DataFile(
        samples,
        labels if labels is None else roles.as_label_array(labels),
        trials[np.sort(first)],
        target=target,
        notes=(*raw.notes, _describe(samples, str(options.series), list(kept))),
        dropped={name: "text" for name in read if name not in kept},
        groups=groups,
        group_column=options.group,
        style=raw.style,
    )


def _one_per_trial(column: Any, trials: Any, name: str) -> Any:
    """The value of each trial, in the order of the trials."""
    found: dict[str, Any] = {}
    for trial, value in zip(trials, roles.as_texts(column), strict=True):
        if value is None or found.setdefault(trial, value) != value:
            held = "an empty cell" if value is None else f"{found[trial]!r} and {value!r}"
            raise InputError(
                f"Column {quote(name)} has {held} in trial {quote(trial)} (--series), expected one "
                "value for all steps of a trial. Divide the trial where it changes."
            )
    labels = list(found.values())
    is_whole = all(roles.PLAIN.fullmatch(label) for label in labels)
    return np.array([int(float(label)) if is_whole else label for label in labels], dtype=object)


def _describe(samples: Any, trial: str, channels: list[str]) -> str:
    low, high = int(samples.lengths.min()), int(samples.lengths.max())
    span = f"{low} to {high}" if low < high else f"{low}"
    return (
        f"{len(samples)} series of {span} steps by column {quote(trial)}; channels: "
        f"{list_names(channels)}."
    )


def find_log(data: DataFile, columns: dict[str, Any], codes: Any) -> Iterator[Finding]:
    """Rows that are steps of trials: blocks in which the class is constant and a number rises."""
    classes, labels = np.unique(data.y, return_inverse=True)
    is_new, names = np.diff(codes, axis=1) != 0, list(columns)
    n_blocks = 1 + is_new.sum(axis=1)
    is_trial = (n_blocks == codes.max(axis=1, initial=0) + 1) & (n_blocks >= 2 * classes.size)
    # The class changes only from one trial to the next.
    is_trial &= is_new[:, np.diff(labels) != 0].all(axis=1)
    is_trial &= FEWEST_STEPS * n_blocks <= len(data)
    for trial in np.flatnonzero(is_trial).tolist():
        inside = ~is_new[trial]
        for time, cells in columns.items():
            steps = np.diff(cells) if cells.dtype.kind in "iuf" else np.zeros(inside.size)
            if (steps[inside] > 0).all() and not (steps > 0).all():
                options = f"--series {shlex.quote(names[trial])} --time {shlex.quote(time)}"
                yield Finding(
                    "log",
                    f"Every row looks like one time step: column {quote(time)} rises within each "
                    f"of {n_blocks[trial]} values of {quote(names[trial])}, which have one class.",
                    f"Then read the trials as series: add {options} to imkpl fit.",
                    (names[trial], time),
                )
                return
