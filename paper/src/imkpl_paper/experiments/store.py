"""Rows on disk: appended one by one, never lost but for the one being written."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


class RowStore:
    """Rows in a file of JSON lines.

    A row is one write to a file that is opened for appending, so that a process that is killed
    leaves whole lines and at most one part of a line, which is ignored on reading. Of several rows
    with the same key and fingerprint the last one counts.

    Parameters
    ----------
    path : path
        The file; it need not exist.
    """

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)

    def append(self, row: Row) -> None:
        """Add a row, which is on disk when this returns."""
        line = json.dumps(_without_nan(row), ensure_ascii=False, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # What a killed process has left of a line must not spoil this one.
            if self._ends_within_line(handle):
                line = "\n" + line
            rest = line.encode()
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self) -> list[Row]:
        """All rows, in the order in which they were written, each key and fingerprint once."""
        if not self.path.exists():
            return []
        found: dict[tuple[Any, Any], Row] = {}
        for line in self.path.read_bytes().split(b"\n"):
            row = _parse(line)
            if row is not None:
                place = (row.get("key"), row.get("fingerprint"))
                found.pop(place, None)
                found[place] = row
        return list(found.values())

    @staticmethod
    def _ends_within_line(handle: int) -> bool:
        if os.fstat(handle).st_size == 0:
            return False
        os.lseek(handle, -1, os.SEEK_END)
        return os.read(handle, 1) != b"\n"


def current_rows(
    rows: Iterable[Row], fingerprints: dict[str, str], *, any_version: bool = False
) -> dict[str, Row]:
    """The row that counts for every key: the last one of today's source."""
    found: dict[str, Row] = {}
    for row in rows:
        is_current = fingerprints.get(str(row.get("method"))) == row.get("fingerprint")
        key = str(row.get("key"))
        if is_current:
            found[key] = row
        elif any_version and (key not in found or found[key].get("is_older")):
            found[key] = {**row, "is_older": True}
    return found


def _parse(line: bytes) -> Row | None:
    # A part of a line is no object: its closing brace is missing.
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "key" in row else None


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value
