"""Which column names the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from imkpl.readers.columns import as_texts, read_column
from imkpl.readers.data_file import InputError
from imkpl.readers.target import require_column

# What columns of whole numbers are called that name rows; floats never do.
USUAL = re.compile(r"(?i:(.*[_ .-])?(id|ids|identifier|index|nr|accession|barcode))|\w*ID|column 1")


def find_identifier(frame: Any, given: str | None, others: set[str], file: str) -> str | None:
    """The column that names the rows."""
    if given is not None:
        require_column([str(name) for name in frame.columns], given, file, "--id")
        return given
    found = [
        name
        for name in frame.columns
        if name not in others and looks_like_identifier(frame[name], str(name))
    ]
    # What somebody wrote says more than a number.
    found.sort(key=lambda name: frame[name].dtype.kind in "iu")
    return str(found[0]) if found else None


def looks_like_identifier(column: Any, name: str) -> bool:
    """Whether a column names its rows."""
    kind = column.dtype.kind
    if kind in "fbMm" or len(column) < 2:
        return False
    if kind in "iu":
        numbers = column.to_numpy()
        counts_rows = numbers[0] in (0, 1) and bool(np.all(np.diff(numbers) == 1))
        return counts_rows or (USUAL.fullmatch(name) is not None and bool(column.is_unique))
    if not column.is_unique:
        return False
    found = read_column(column, name)
    if not found.is_text or found.reason or None in found.values:
        return False
    return len(set(found.values)) == len(column)


def read_identifiers(column: Any, name: str) -> Any:
    """The names of the rows."""
    texts = as_texts(column)
    if any(text is None for text in texts):
        row = next(place for place, text in enumerate(texts) if text is None)
        raise InputError(
            f"Column {name!r} (--id) is empty in row {row + 1}, expected a name for every row. "
            "Fill it, or leave out --id to number the rows."
        )
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text in first:
            raise InputError(
                f"Column {name!r} (--id) has {text!r} in rows {first[text] + 1} and {row + 1}, "
                "expected a name of its own for every row. Take another column, or leave out --id "
                "to number the rows."
            )
        first[text] = row
    if column.dtype.kind in "iu":
        return np.array([int(text) for text in texts])
    return np.array(texts, dtype=object)
