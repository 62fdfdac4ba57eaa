"""Rows that are earlier than some time, to learn from, and later ones, to judge by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import quote
from imkpl.readers import column_roles as roles
from imkpl.readers.formats import InputError, ReadOptions, count, list_names

if TYPE_CHECKING:
    from imkpl.readers.read import DataFile

CLOCK = r"(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?.*)?"
# The year first, perhaps alone or with a month; or last, after day and month in either order.
YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?:[-/.](?P<a>\d{{1,2}})(?:[-/.](?P<b>\d+))?)?{CLOCK}")
YEAR_LAST = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}}){CLOCK}"
)
DAYS_PER_MONTH = 365.25 / 12
# Two digits of a year count from here.
CENTURY = 1969
# Classes are learned from two rows or more.
FEWEST = 2


def find_time_column(
    frame: Any, options: ReadOptions, file: str, used: Iterable[Any], notes: list[str]
) -> str | None:
    """The column of times that is named, or else the only one of dates; None if none is needed."""
    if options.after is None:
        if options.time is not None:
            raise InputError(
                f"--time {options.time} says when rows were, but not from when on they are held "
                "out. Add --after, such as --after 2024."
            )
        return None
    if options.time is not None:
        return options.time
    free: list[str] = [name for name in frame.columns if name not in set(used)]
    found = [name for name in free if roles.read_column(frame[name], name).reason == roles.DATES]
    if len(found) != 1:
        what = f"{len(found)} columns of dates, {list_names(found)}" if found else "none of dates"
        raise InputError(
            f"--after {options.after} needs a column of times, and {file} has {what}. Name it with "
            "--time."
        )
    notes.append(f"Column {quote(found[0])} has the times: it is the only one of dates.")
    return found[0]


def split_by_time(data: DataFile, column: Any, after: str, file: str) -> DataFile:
    """The rows with a mark for later ones, without the later rows of persons known before."""
    name = quote(column.name)
    times, limit = _read_times(column, after)
    is_later = np.array([one >= limit for one in times])
    shown = [
        str(end).removesuffix(" 00:00:00").removesuffix(".0") for end in (min(times), max(times))
    ]
    span = f"column {name} goes from {shown[0]} to {shown[1]}"
    if is_later.all():
        raise InputError(f"No row of {file} is before --after {after}: {span}. Choose a later one.")
    if not is_later.any():
        raise InputError(
            f"No row of {file} is at --after {after} or later: {span}. Choose an earlier one."
        )
    for label in np.unique(data.y):
        n_rows = int(np.sum(data.y[~is_later] == label))
        if n_rows < FEWEST:
            raise InputError(
                f"Class {str(label)!r} has {count(n_rows, 'row')} before --after {after}, expected "
                "at least two to learn from. Choose a later time, or leave that class out."
            )
    data = replace(data, later=is_later, time_column=column.name)
    if data.groups is None:
        return data
    is_known = is_later & np.isin(data.groups, data.groups[~is_later])
    if np.array_equal(is_known, is_later):
        raise InputError(
            f"All rows of {file} from {after} on are of persons with earlier rows (--group), "
            "expected new persons to judge by. Choose another time, or leave out --group."
        )
    if is_known.any():
        text = f"{count(int(is_known.sum()), 'row')} of {int(is_later.sum())} from {after} on"
        note = f"{text} left out: their persons have earlier rows, so they are not new."
        data = replace(data.take(~is_known), notes=(*data.notes, note))
    return data


def _read_times(column: Any, after: str) -> tuple[list[Any], Any]:
    """The times of all rows, and the one that divides them: all numbers, or all dates."""
    texts, name = roles.as_texts(column), quote(column.name)
    numbers: list[Any] = [_read_number(text) for text in texts]
    if None not in numbers:
        number = _read_number(after)
        if number is None:
            raise InputError(
                f"Column {name} has numbers from {min(numbers):g} to {max(numbers):g}, expected a "
                f"number after --after as well, and not {quote(after)}. Write one, such as "
                f"--after {sorted(numbers)[len(numbers) // 2]:g}."
            )
        return numbers, number
    is_day_first = _find_order([*texts, after], name)
    dates: list[Any] = [_read_date(text, is_day_first=is_day_first) for text in texts]
    for row, text, date in zip(column.index, texts, dates, strict=True):
        if date is None:
            held = "nothing" if text is None else quote(text)
            raise InputError(
                f"Column {name} (--time) has {held} in row {row + 1}, expected a year, a number or "
                "a date such as 2024-03-01. Correct it, or delete the row."
            )
    limit = _read_date(after, is_day_first=is_day_first)
    if limit is None:
        raise InputError(
            f"--after {after} is no date, but column {name} has dates. Write one, such as --after "
            f"{sorted(dates)[len(dates) // 2]:%Y-%m-%d}."
        )
    return dates, limit


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _find_order(texts: Iterable[str | None], name: str) -> bool:
    """Whether dates such as 03/04/2024 begin with the day."""
    found = [match for text in texts if (match := YEAR_LAST.fullmatch(text or ""))]
    if any(int(match["a"]) > 12 for match in found) or all(m["mark"] == "." for m in found):
        return True
    if not any(int(match["b"]) > 12 for match in found):
        raise InputError(
            f"Column {name} has dates such as {quote(found[0][0])}, which may begin with the day "
            "or with the month. Write them with the year first, such as 2024-03-01."
        )
    return False


def _read_date(text: str | None, *, is_day_first: bool) -> datetime | None:
    match = YEAR_FIRST.fullmatch(text or "") or YEAR_LAST.fullmatch(text or "")
    if match is None:
        return None
    month, day = int(match["a"] or 1), int(match["b"] or 1)
    if match.re is YEAR_LAST and is_day_first:
        month, day = day, month
    year = int(match["year"])
    if len(match["year"]) == 2:
        year = CENTURY + (year - CENTURY) % 100
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None


def read_months(
    frame: Any, columns: tuple[str, ...], notes: list[str]
) -> tuple[Any, tuple[str, ...]]:
    """A table with columns of dates as months since a day, the first unless it is named."""
    starts = []
    for column in columns:
        name, _, start = column.partition("=")
        roles.require_column(list(frame.columns), name, "The file", "--months")
        texts = roles.as_texts(frame[name])
        is_day_first = _find_order(texts, quote(name)) if any(texts) else False
        dates = [text and _read_date(text, is_day_first=is_day_first) for text in texts]
        wrong = [text for text, date in zip(texts, dates, strict=True) if text and date is None]
        known = [date for date in dates if date]
        if wrong or not known:
            held = quote(wrong[0]) if wrong else "no date"
            raise InputError(
                f"Column {quote(name)} (--months) has {held}, expected dates. Correct it."
            )
        first = datetime.fromisoformat(start) if start else min(known)
        days = [np.nan if not date else (date - first).total_seconds() / 86400 for date in dates]
        frame = frame.assign(**{name: np.array(days) / DAYS_PER_MONTH})
        notes.append(f"Column {quote(name)}: months since {first:%Y-%m-%d}.")
        starts.append(f"{name}={first:%Y-%m-%d}")
    return frame, tuple(starts)
