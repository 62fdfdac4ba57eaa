"""What the cells of a column are: numbers, categories, or nothing to learn from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl.readers.data_file import InputError, count, list_names

# From this share of numbers on, a column is one of numbers, and other cells are missing.
MOSTLY = 0.8
# So many other cells are missing for a model of numbers also in a short file.
FEW_ODD = 3
# From this share of different texts on, a column names its rows rather than describes them.
NEARLY_UNIQUE = 0.9
IDENTIFIER = "every value differs (it looks like an identifier)"
MISSING = frozenset(
    ["", "-", "--", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "NULL", "null", "?", "#N/A"]
)
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d{2}.*)?"
)


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column after its kind was found.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Floats with NaN, or text with None.
    note : str
        What was guessed; empty where nothing was.
    reason : str
        Why the column is left out; empty where it is kept.
    """

    values: Any
    note: str = ""
    reason: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds categories."""
        return bool(self.values.dtype == object)

    @property
    def is_missing(self) -> Any:
        """Which cells are missing."""
        return find_missing(self.values)


def find_missing(values: Any) -> Any:
    """Which cells are missing."""
    if values.dtype == object:
        return np.array([cell is None for cell in values], dtype=bool)
    return np.isnan(values)


def read_column(series: Any, name: str) -> ReadColumn:
    """Find the kind of a column."""
    kind = series.dtype.kind
    if kind in "iuf":
        return ReadColumn(_as_floats(series))
    if kind in "Mm":
        return ReadColumn(np.full(len(series), np.nan), reason=f"it holds {_dates()}")
    texts = as_texts(series)
    present = [text for text in texts if text is not None]
    if kind != "b" and str(series.dtype) != "category" and present:
        numbers = [_as_number(text) for text in present]
        n_numbers = sum(number is not None for number in numbers)
        if n_numbers >= MOSTLY * len(present):
            return _as_mostly_numbers(texts, name)
        if all(DATE.fullmatch(text) for text in present):
            return ReadColumn(texts, reason=f"it holds {_dates()}")
    return ReadColumn(texts)


def as_texts(series: Any) -> Any:
    """The cells of a column as text, without white space around them."""
    is_missing = series.isna().to_numpy(dtype=bool)
    values = series.astype(object).tolist()
    texts = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        if not is_missing[place]:
            text = _show(value)
            texts[place] = None if text in MISSING and text != "-" else text
    if "+" not in texts:
        texts[texts == "-"] = None
    return texts


def as_numbers(series: Any, name: str, path_name: str) -> ReadColumn:
    """The cells of a column as numbers, whatever they look like."""
    if series.dtype.kind in "iuf":
        return ReadColumn(_as_floats(series))
    texts = as_texts(series)
    present = [text for text in texts if text is not None]
    others = [text for text in present if _as_number(text) is None]
    if len(others) > max(FEW_ODD, (1 - MOSTLY) * len(present)):
        raise InputError(
            f"Column {name!r} of {path_name} holds text such as {others[0]!r}, but the model was "
            "fitted to numbers there. Check that the columns of the two files mean the same."
        )
    return _as_mostly_numbers(texts, name)


def find_reason_to_drop(column: ReadColumn) -> str:
    """Why nothing can be learned from a column."""
    if column.reason:
        return column.reason
    is_missing = column.is_missing
    if is_missing.all():
        return "it has no values"
    present = column.values[~is_missing]
    if not is_missing.any() and bool((present == present[0]).all()):
        return f"the same value, {_show(present[0])!r}, everywhere"
    if column.is_text:
        n_distinct, n_present = len(set(present.tolist())), present.size
        if n_distinct == n_present:
            return IDENTIFIER
        if n_distinct >= NEARLY_UNIQUE * n_present:
            return f"{n_distinct} of {n_present} texts differ (it looks like free text)"
    return ""


def refuse_infinite(values: Any, name: str, path_name: str) -> None:
    """Raise where a number has no size."""
    if values.dtype != object and np.isinf(values).any():
        raise InputError(
            f"Column {name!r} of {path_name} has an infinite number in row "
            f"{int(np.argmax(np.isinf(values))) + 1}, expected finite numbers. Empty that cell if "
            "the value is not known."
        )


def _as_floats(series: Any) -> Any:
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _as_mostly_numbers(texts: Any, name: str) -> ReadColumn:
    others: list[str] = []
    values = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        number = None if text is None else _as_number(text)
        if number is not None:
            values[place] = number
        elif text is not None:
            others.append(text)
    if not others:
        return ReadColumn(values)
    listed = list_names(list(dict.fromkeys(others)))
    verb = "is no number" if len(others) == 1 else "are no numbers"
    note = f"Column {name!r}: {count(len(others), 'cell')} ({listed}) {verb}, taken as missing."
    return ReadColumn(values, note)


def _as_number(text: str) -> float | None:
    # Python reads 1_000 as a number; people use it in names.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _show(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _dates() -> str:
    return "dates (make columns of what matters in them: age, month or weekday)"
