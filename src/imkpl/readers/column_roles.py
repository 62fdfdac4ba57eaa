"""What the columns of a table are: numbers, categories, the target, row names, or useless."""

import difflib
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._checks import quote, shorten
from imkpl.readers.formats import InputError, ReadOptions, count, list_names
from imkpl.tables import MISSING_TEXTS

# From this share of numbers on, a column is numeric and its other cells are missing.
MOSTLY = 0.8
# From this share of distinct texts on, a column names its rows rather than describes them.
NEARLY_UNIQUE = 0.9
# A number with a limit sign, a unit, or both. A single letter is a unit only after a space.
QUANTITY = re.compile(
    r"(?P<limit>[<>≤≥]=?)?\s*(?P<number>[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r"(?P<unit>%|\s+[^\W\d_]\S*|\s*[%°][^\d\s]*|[^\W\d_][^\d\s]+)?"
)
IDENTIFIER = "all values differ, as in an identifier (--id keeps it as the name of rows)"
DATES = "dates (derive columns such as age, month or weekday)"
DURATIONS = "times or durations (derive numbers, such as hours)"
NESTED = "lists or records (derive a column from each part)"
TOO_LONG = (
    "whole numbers of more than 15 digits (are they names: --categories, or amounts: --numbers)"
)
# What pandas calls cells that are neither numbers nor text.
OTHER_KINDS = {
    **dict.fromkeys(("datetime64", "datetime", "date", "period"), DATES),
    **dict.fromkeys(("timedelta64", "timedelta", "time"), DURATIONS),
    "mixed": NESTED,
}
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d{2}.*)?"
)
# Usual names of columns of whole numbers that name rows; floats never do.
ID_NAME = re.compile(
    r"(?i:(.*[_ .-])?(id|ids|identifier|index|nr|accession|barcode))|\w*ID|column 1"
)
# A whole number as programs write it, also as a float; a float holds up to 15 digits exactly.
PLAIN = re.compile(r"(0|-?[1-9]\d{0,14})(\.0)?")
# Numbers between these may be names, and not every whole number there is a float.
INEXACT, LARGEST_NAME = 2.0**53, 2.0**64
TARGET_NAMES = {"class", "target", "label", "labels", "y", "diagnosis", "outcome"}
# Up to this many different numbers are classes, however often each occurs.
FEW_CLASSES = 20
# Whole numbers that occur less often on average are amounts rather than classes.
ROWS_PER_CLASS = 5
# Classes and cells in a message.
SHOWN_CLASSES, SHOWN = 6, 3
# What to do about cells of a column of numbers.
CELL_ADVICE = {
    "units": "Write the unit into the name of the column, and the number alone into its cells.",
    "limits": "If your field uses another value, such as half the limit, write that into the "
    "cells.",
    "not numbers": "Correct or empty them, or say that they mean missing: --missing {}.",
    "nearly numbers": "Write the number alone, such as {}, or empty the cells.",
}
YES, NO = ("yes", "y", "true", "1"), ("no", "n", "false", "0")


@dataclass(frozen=True)
class Finding:
    """Something about a data file that a person should know before fitting."""

    kind: str  # what it is about, such as "units" or "equal rows"
    text: str  # what was found, in a sentence
    advice: str = ""  # what to do about it
    columns: tuple[str, ...] = ()  # the columns concerned
    needs_action: bool = True  # False if the file can be used as it is


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column whose kind is known."""

    values: Any  # floats with NaN, or text with None
    findings: tuple[Finding, ...] = ()  # what was guessed about its cells
    reason: str = ""  # why to drop the column
    others: tuple[str, ...] = ()  # cells of a column of numbers that are none

    @property
    def is_text(self) -> bool:
        """Whether it holds categories."""
        return bool(self.values.dtype == object)


def read_column(series: Any, name: str, kind: str | None = None) -> ReadColumn:
    """Find out whether a column holds numbers, categories or dates, unless `kind` says so."""
    if series.dtype.kind in "iuf" and kind != "categories":
        return ReadColumn(_as_floats(series))
    reason = find_other_kind(series)
    if reason:
        return ReadColumn(np.full(len(series), np.nan), reason=reason)
    texts = as_texts(series)
    if kind == "numbers":
        return _as_mostly_numbers(texts, name)
    if kind is None and series.dtype.kind != "b" and str(series.dtype) != "category":
        present = texts[~find_missing(texts)]
        values, _, _, with_limit = _parse_quantities(present)
        n_numbers = int((~np.isnan(values)).sum())
        # Of categories such as "<65" and ">=65", all are limits.
        if n_numbers > 2 * len(with_limit) and n_numbers >= MOSTLY * present.size:
            return _as_mostly_numbers(texts, name)
        if present.size and all(DATE.fullmatch(text) for text in present):
            return ReadColumn(texts, reason=DATES)
    return ReadColumn(texts)


def find_other_kind(series: Any) -> str:
    """What a column holds that is neither numbers nor categories; empty if it holds these."""
    from pandas.api.types import infer_dtype

    if series.dtype.kind in "iufb":
        return ""
    return OTHER_KINDS.get(infer_dtype(series.astype(object), skipna=True), "")


def as_texts(series: Any) -> Any:
    """Cells as text without surrounding white space; None if missing."""
    cells = zip(series.isna().tolist(), series.astype(object).tolist(), strict=True)
    texts = np.array([None if is_missing else _show(cell) for is_missing, cell in cells], object)
    # A dash beside a plus is a category.
    missing = {*MISSING_TEXTS, "--"} | (set() if "+" in texts else {"-"})
    texts[[text in missing for text in texts]] = None
    return texts


def keep_names(column: Any, exact: Any) -> Any:
    """A column of names: the exact cells as text, unless no number loses a character."""
    texts = as_texts(exact)
    texts[column.isna().to_numpy()] = None
    if column.dtype.kind in "iuf" and _are_plain(texts):
        return column
    return column.__class__(texts, index=column.index, dtype=object)


def _are_plain(texts: Any, ending: str = "") -> bool:
    """Whether all cells are whole numbers that a float holds, written without more than needed."""
    present = [text for text in texts if text is not None]
    return all(PLAIN.fullmatch(text) and text.endswith(ending) for text in present)


def find_reason_to_drop(column: ReadColumn, *, is_wanted: bool = False) -> str:
    """Why nothing can be learned from a column; empty if something can."""
    if column.reason:
        return column.reason
    is_missing = find_missing(column.values)
    if is_missing.all():
        return "no values"
    present = column.values[~is_missing]
    if not (column.is_text or is_wanted) and INEXACT <= abs(present).max() < LARGEST_NAME:
        return TOO_LONG
    if not is_missing.any() and bool((present == present[0]).all()):
        return f"always {quote(_show(present[0]))}"
    if is_wanted or not column.is_text:
        return ""
    n_distinct, n_present = len(set(present.tolist())), present.size
    if n_distinct == n_present:
        return IDENTIFIER
    is_free = n_distinct >= NEARLY_UNIQUE * n_present
    return f"{n_distinct} of {n_present} values differ, as in free text" if is_free else ""


def find_codes(cells: Any, codes: set[str]) -> Any:
    """Which cells are one of the codes, as a text or as a number."""
    if cells.dtype.kind in "iuf":
        numbers = _parse_numbers(np.array(list(codes), dtype=object))
        return np.isin(_as_floats(cells), numbers[~np.isnan(numbers)])
    return np.array([text in codes for text in as_texts(cells)], dtype=bool)


def refuse_infinite(values: Any, name: str, file: str) -> None:
    """Raise if a column of numbers has an infinite one."""
    if values.dtype != object and np.isinf(values).any():
        raise InputError(
            f"Column {quote(name)} of {file} has an infinite number in row "
            f"{int(np.argmax(np.isinf(values))) + 1}, expected finite numbers. Empty that cell if "
            "the value is not known."
        )


def find_missing(values: Any) -> Any:
    """Which cells are NaN or None."""
    import pandas as pd

    return pd.isna(values)


def _as_floats(series: Any) -> Any:
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _parse_numbers(texts: Any) -> Any:
    import pandas as pd

    return pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(np.float64)


def _parse_quantities(texts: Any) -> tuple[Any, str, list[str], list[str]]:
    """Numbers, their unit, and the cells with a unit and with a limit, which count as the limit."""
    values = _parse_numbers(texts).copy()
    others = [place for place in np.flatnonzero(np.isnan(values)) if texts[place] is not None]
    matches = {place: QUANTITY.fullmatch(texts[place]) for place in others}
    found = {place: match for place, match in matches.items() if match}
    units = Counter(match["unit"].strip() for match in found.values() if match["unit"])
    unit = units.most_common(1)[0][0] if units else ""
    with_unit: list[str] = []
    with_limit: list[str] = []
    for place, match in found.items():
        # 5 mmol/l is not 5 mg/dl.
        if match["unit"] and match["unit"].strip() != unit:
            continue
        values[place] = float(match["number"])
        (with_limit if match["limit"] else with_unit).append(texts[place])
    return values, unit, with_unit, with_limit


def _as_mostly_numbers(texts: Any, name: str) -> ReadColumn:
    values, unit, with_unit, with_limit = _parse_quantities(texts)
    others = [text for text in texts[np.isnan(values)] if text is not None]
    verb = "is not a number" if len(others) == 1 else "are not numbers"
    findings = []
    for kind, cells, text in (
        ("units", with_unit, f"read as numbers, without {quote(unit)}."),
        ("limits", with_limit, "read as the limit itself."),
        ("not numbers", others, f"{verb}, read as missing."),
    ):
        if cells:
            shown = list_names(list(dict.fromkeys(cells))[:SHOWN])
            said = f"Column {quote(name)}: {count(len(cells), 'cell')} ({shown}) {text}"
            # "about 4" is a number, "unclear" may be a word for a missing one.
            number = re.search(r"\d+(\.\d+)?", cells[0]) if kind == "not numbers" else None
            advice, cell = CELL_ADVICE[kind], quote(cells[0])
            if number is not None:
                advice, cell = CELL_ADVICE["nearly numbers"], number[0]
            findings.append(Finding(kind, said, advice.format(cell), (name,)))
    return ReadColumn(values, tuple(findings), others=tuple(others))


def _show(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def read_flags(series: Any, name: str, option: str) -> Any:
    """Which cells of a column say yes; empty ones say no."""
    texts = [None if one is None else one.lower() for one in as_texts(series)]
    for row, text in zip(series.index, texts, strict=True):
        if text not in (None, *YES, *NO):
            raise InputError(
                f"Column {quote(name)} ({option}) has {quote(str(text))} in row {row + 1}, "
                "expected yes or no, true or false, 1 or 0, or an empty cell for no. Correct it."
            )
    return np.array([text in YES for text in texts], dtype=bool)


def read_sites(column: Any, notes: list[str]) -> Any:
    """The sites of rows; those without one are a site of their own."""
    texts, where = as_texts(column), f"Column {quote(column.name)} (--site)"
    names = np.array(["missing" if text is None else text for text in texts])
    found = np.unique(names)
    if found.size < 2 or found.size == names.size:
        held = f"always {quote(names[0])}" if found.size < 2 else "another value in every row"
        raise InputError(
            f"{where} has {held}, expected at least two sites of several rows each, such as "
            "hospitals. Name another column, or leave --site out; persons are --group."
        )
    n_missing = int(find_missing(texts).sum())
    if n_missing:
        notes.append(f"{where}: {count(n_missing, 'row')} without one count as site 'missing'.")
    return names


def require_column(names: Sequence[str], wanted: str, file: str, option: str) -> None:
    """Raise if there is no column of that name, with suggestions."""
    if wanted in names:
        return
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), list(lowered), n=3, cutoff=0.6)
    if close:
        hint = f"Did you mean {' or '.join(quote(lowered[name]) for name in close)}?"
    else:
        hint = list_columns(names)
    raise InputError(f"{file} has no column {quote(wanted)} ({option}). {hint}")


def list_columns(names: Sequence[str]) -> str:
    """A sentence with the columns of a file."""
    if len(names) == 1:
        return f"Its only column is {quote(names[0])}; if these are several, check --separator."
    return f"Its columns are {list_names(names)}."


def find_identifier(frame: Any, others: set[Any]) -> str | None:
    """The column of row names, if there is one beside the others."""
    free = [name for name in frame.columns if name not in others]
    found = [name for name in free if looks_like_identifier(frame[name], name)]
    # Text says more than a number.
    found.sort(key=lambda name: frame[name].dtype.kind in "iu")
    return found[0] if found else None


def looks_like_identifier(column: Any, name: str) -> bool:
    """Whether a column names its rows."""
    kind = column.dtype.kind
    if kind in "fb" or len(column) < 2 or find_other_kind(column):
        return False
    if kind in "iu":
        numbers = column.to_numpy()
        counts_rows = numbers[0] in (0, 1) and bool(np.all(np.diff(numbers) == 1))
        return counts_rows or (ID_NAME.fullmatch(name) is not None and bool(column.is_unique))
    if not column.is_unique:
        return False
    found = read_column(column, name)
    if not found.is_text or found.reason or None in found.values:
        return False
    return len(set(found.values)) == len(column)


def read_identifiers(column: Any, name: str) -> Any:
    """Row names from a column in which every cell is present and unique."""
    texts = as_texts(column)
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is None:
            found, wanted, advice = f"is empty in row {row + 1}", "a name", "Fill it"
        elif text in first:
            found = f"has {quote(text)} in rows {first[text] + 1} and {row + 1}"
            wanted, advice = "a unique name", "Use another column"
        else:
            first[text] = row
            continue
        raise InputError(
            f"Column {quote(name)} (--id) {found}, expected {wanted} for every row. {advice}, or "
            "leave out --id to number the rows."
        )
    return np.array([int(text) for text in texts]) if column.dtype.kind in "iu" else texts


def guess_target(names: Iterable[str], file: str) -> str:
    """The only column of a usual name."""
    found = [name for name in names if name.lower() in TARGET_NAMES]
    if len(found) != 1:
        raise InputError(
            f"{file} does not say which column holds the classes. Name it with --target. "
            f"{list_columns(list(names))}"
        )
    return found[0]


def read_target(column: Any, name: str, names: Any, options: ReadOptions) -> tuple[Any, str]:
    """Classes or values (None if missing) of a column, of which the names are kept, and a note."""
    labels = as_texts(names)
    present = [label for label in labels if label is not None]
    # Floats are written as "1.0", also beside a text for a missing class.
    is_plain = names.dtype.kind in "iuf" or (bool(present) and _are_plain(labels, ".0"))
    is_number = is_plain or column.dtype.kind in "iuf"
    if options.regress and options.classify:
        raise InputError("--classify and --regress exclude each other. Leave out one.")
    numbers = _as_floats(column) if column.dtype.kind in "iuf" else _parse_numbers(labels)
    known = numbers[~np.isnan(numbers)]
    if options.regress and known.size < len(present):
        raise InputError(
            f"Target {quote(name)} holds text, expected numbers for --regress. Leave it out."
        )
    if options.regress or (is_number and not options.classify and _are_amounts(known)):
        values = np.array([None if np.isnan(one) else float(one) for one in numbers], object)
        span = f"{known.min():g} to {known.max():g}" if known.size else "no values"
        how = "" if options.regress else " With --classify they are classes."
        return values, f"Target {quote(name)}: numbers, {span}, to be predicted as values.{how}"
    if is_plain:
        labels = np.array([None if one is None else int(float(one)) for one in labels], object)
        found = sorted({label for label in labels if label is not None})
        shown = "/".join(shorten(str(label)) for label in found[:SHOWN_CLASSES])
        more = "/..." if len(found) > SHOWN_CLASSES else ""
        listed = f"{count(len(found), 'number')} {shown}{more} read as classes"
        return labels, f"Target {quote(name)}: {listed}."
    found = sorted(set(present))
    if len(found) == len(present) > 2 and not is_number:
        raise InputError(
            f"Target {quote(name)} has a different value in each of its {len(present)} rows, "
            "expected a few classes. Name the column with the classes with --target."
        )
    return labels, f"Target {quote(name)}: {count(len(found), 'class')} {list_names(found)}."


def _are_amounts(numbers: Any) -> bool:
    """Whether numbers are values rather than classes: many, or with decimals."""
    distinct = np.unique(numbers)
    is_whole = bool(np.all(np.mod(distinct, 1) == 0))
    if distinct.size <= FEW_CLASSES and (is_whole or distinct.size * 2 <= numbers.size):
        return False
    return not is_whole or distinct.size > numbers.size / ROWS_PER_CLASS


def check_classes(labels: Any, name: str, least: int = 2) -> None:
    """Raise unless there are at least two classes, or one."""
    found = list(dict.fromkeys(labels.tolist()))
    if not found:
        raise InputError(
            f"Target {quote(name)} has no values, expected a class in every row. Name another "
            "column with --target."
        )
    if len(found) < least:
        raise InputError(
            f"Target {quote(name)} has one class, {quote(str(found[0]))}, expected at least two. "
            "Add rows of another class, or name another column with --target."
        )


def as_label_array(labels: Any) -> Any:
    """Labels of one type: integers or text; values as they are."""
    values = labels.tolist()
    if all(isinstance(label, float) for label in values):
        return np.array(values)
    is_whole = all(isinstance(label, int) for label in values)
    return np.array(values if is_whole else [str(label) for label in values])


def spell(text: str) -> str:
    """A text without what spellings differ in: case, spaces, hyphens, the encoding of accents."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    # Signs are kept where they say something, as in CD4+ and CD4-.
    return re.sub(r"[\s_]+|(?<=\w)-(?=\w)", "", plain)


def merge_spellings(cells: Any) -> Any:
    """Texts in the most frequent of their spellings."""
    usual: dict[str, Any] = {}
    for cell, _ in Counter(cell for cell in cells.tolist() if cell is not None).most_common():
        usual.setdefault(spell(str(cell)), cell)
    found = [None if cell is None else usual[spell(str(cell))] for cell in cells.tolist()]
    return np.array(found, dtype=object)


def order_categories(cells: Any, order: list[str], name: str) -> Any:
    """Cells as categories with an order."""
    import pandas as pd

    others = sorted(set(cells.tolist()) - {None, *order})
    if others:
        option = shlex.quote(f"{name}={','.join([*order, *others])}")
        raise InputError(
            f"Column {quote(name)} has {list_names(others)}, which --ordered does not list. List "
            f"all of them, such as --ordered {option}."
        )
    return pd.Categorical(cells, order, ordered=True)


def refuse_turned(frame: Any, target: str | None, file: str) -> None:
    """Raise if a table lies on its side: its first column names features."""
    names = list(frame.columns)
    if target in names or len(names) < 3 or (target is None and TARGET_NAMES & set(names)):
        return
    first, others = as_texts(frame[names[0]]), frame.dtypes.iloc[1:]
    is_named = frame.dtypes.iloc[0].kind not in "iufb" and len(set(first)) == len(first)
    has_target = target in first if target else bool(TARGET_NAMES & set(first))
    are_numbers = all(dtype.kind in "iuf" for dtype in others) and len(frame) > len(names)
    if is_named and (has_target or are_numbers):
        more = "" if has_target else ", with the classes in a second file: --labels FILE"
        raise InputError(
            f"The first column of {file} names features, and its rows are not samples: the table "
            f"lies on its side. Add --transpose{more}."
        )
