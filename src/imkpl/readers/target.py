"""Which column holds the classes, and what the classes are."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from imkpl.readers.columns import as_texts
from imkpl.readers.data_file import InputError, count, list_names

USUAL = ("class", "target", "label", "labels", "y", "diagnosis", "outcome")
# Up to so many different numbers are taken for classes without looking at how often they occur.
FEW_CLASSES = 20
# Whole numbers that occur less often on average are amounts rather than classes.
ROWS_PER_CLASS = 5
SHOWN_CLASSES = 6


def find_target(names: list[str], given: str | None, marked: str | None, file: str) -> str:
    """The column that holds the classes."""
    if given is not None:
        require_column(names, given, file, "--target")
        return given
    if marked is not None:
        return marked
    usual = [name for name in names if name.lower() in USUAL]
    if len(usual) == 1:
        return usual[0]
    raise InputError(
        f"It is not known which column of {file} holds the classes. Say so with --target NAME; its "
        f"columns are {list_names(names)}."
    )


def require_column(names: list[str], wanted: str, file: str, option: str) -> None:
    """Raise if there is no column of that name, and name those that are nearly called so."""
    if wanted in names:
        return
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), list(lowered), n=3, cutoff=0.6)
    if close:
        hint = f"Did you mean {' or '.join(repr(lowered[name]) for name in close)}?"
    else:
        hint = f"Its columns are {list_names(names)}."
    raise InputError(f"{file} has no column {wanted!r} ({option}). {hint}")


def read_classes(column: Any, name: str) -> tuple[Any, str]:
    """Class labels from a column."""
    is_missing = column.isna().to_numpy(dtype=bool)
    labels = np.empty(len(column), dtype=object)
    if column.dtype.kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        _refuse_amounts(numbers[~is_missing], name)
        is_whole = bool(np.all(np.mod(numbers[~is_missing], 1) == 0))
        for place in np.flatnonzero(~is_missing):
            labels[place] = int(numbers[place]) if is_whole else f"{numbers[place]:g}"
        return labels, _say_classes(labels, name, are_numbers=True)
    labels = as_texts(column)
    present = [label for label in labels if label is not None]
    if len(set(present)) == len(present) > 2:
        raise InputError(
            f"Target {name!r} has a different value in each of its {len(present)} rows, expected a "
            "few classes. Name the column with the classes with --target."
        )
    return labels, _say_classes(labels, name, are_numbers=False)


def check_classes(labels: Any, name: str) -> None:
    """Raise unless there are two classes to tell apart."""
    found = list(dict.fromkeys(labels.tolist()))
    if not found:
        raise InputError(
            f"Target {name!r} has no values, expected a class in every row. Name another column "
            "with --target."
        )
    if len(found) == 1:
        raise InputError(
            f"Target {name!r} has one class, {str(found[0])!r}, expected at least two to tell "
            "apart. Add rows of another class, or name another column with --target."
        )


def as_label_array(labels: Any) -> Any:
    """Labels of one type: whole numbers or text."""
    values = labels.tolist()
    if all(isinstance(label, int) for label in values):
        return np.array(values)
    return np.array([str(label) for label in values])


def _refuse_amounts(numbers: Any, name: str) -> None:
    distinct = np.unique(numbers)
    is_whole = bool(np.all(np.mod(distinct, 1) == 0))
    most = numbers.size / ROWS_PER_CLASS if is_whole else FEW_CLASSES
    if distinct.size <= FEW_CLASSES and (is_whole or distinct.size * 2 <= numbers.size):
        return
    if distinct.size > most or not is_whole:
        raise InputError(
            f"Target {name!r} has {distinct.size} different numbers in {numbers.size} rows, from "
            f"{distinct[0]:g} to {distinct[-1]:g}; this is a classifier and needs classes. Make "
            "groups of them (such as low and high), or write classes as text."
        )


def _say_classes(labels: Any, name: str, *, are_numbers: bool) -> str:
    found = sorted({label for label in labels if label is not None}, key=str)
    if are_numbers:
        found = sorted(found)
        shown = "/".join(str(label) for label in found[:SHOWN_CLASSES])
        more = "/..." if len(found) > SHOWN_CLASSES else ""
        return f"Target {name!r}: {count(len(found), 'number')} {shown}{more} taken as classes."
    return f"Target {name!r}: {count(len(found), 'class')} {list_names(found)}."
