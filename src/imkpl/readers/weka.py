"""ARFF files, the format of Weka and OpenML."""

from __future__ import annotations

import io
import pathlib
import re

import numpy as np

from imkpl.readers.data_file import InputError, RawFile
from imkpl.readers.options import ReadOptions

ATTRIBUTE = re.compile(r"\s*@attribute\s+(.*\S)\s+(string|relational)\s*$", re.IGNORECASE)


def parse_arff(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read an ARFF file; attributes of categories become text."""
    import pandas as pd
    from scipy.io import arff

    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for line in text.splitlines():
        found = ATTRIBUTE.fullmatch(line)
        if found:
            raise InputError(
                f"Attribute {found[1]} of {path.name} is of type {found[2].lower()}, expected "
                "numbers or categories in braces. Remove it, or save the data as CSV."
            )
    try:
        rows, meta = arff.loadarff(io.StringIO(text))
    except Exception as error:
        raise InputError(
            f"{path.name} cannot be read as an ARFF file ({error}). Check its header, or save the "
            "data as CSV."
        ) from error
    names, kinds = meta.names(), meta.types()
    columns = {}
    for name, kind in zip(names, kinds, strict=True):
        values = rows[name]
        if kind == "nominal":
            cells = [_as_text(cell) for cell in values.tolist()]
            columns[name] = np.array([None if cell == "?" else cell for cell in cells], object)
        else:
            columns[name] = values
    nominal = [name for name, kind in zip(names, kinds, strict=True) if kind == "nominal"]
    if len(rows) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    return RawFile(pd.DataFrame(columns), target=nominal[-1] if nominal else None)


def _as_text(cell: bytes | str) -> str:
    return cell.decode("utf-8", errors="replace") if isinstance(cell, bytes) else str(cell)
