"""Parquet and Feather files, read by pyarrow."""

from __future__ import annotations

import pathlib
from typing import Any

from imkpl.readers.data_file import InputError, RawFile
from imkpl.readers.options import ReadOptions


def parse_parquet(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a Parquet file."""
    _require_pyarrow(path)
    import pyarrow.parquet as pq

    return _read(path, "Parquet", lambda: pq.read_table(path, partitioning=None))


def parse_feather(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a Feather file."""
    _require_pyarrow(path)
    import pyarrow.feather as feather

    return _read(path, "Feather", lambda: feather.read_table(path))


def _read(path: pathlib.Path, kind: str, read: Any) -> RawFile:
    import pyarrow as pa

    try:
        table = read()
        # Damaged offsets would lead pandas to memory that is not the table's.
        table.validate(full=True)
        # Without the notes of pandas an index is a column like others.
        frame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path.name} cannot be read as a {kind} file: it is damaged, cut short or of another "
            "format. Write it again."
        ) from error
    if len(frame) == 0:
        raise InputError(f"{path.name} has no rows, expected some. Check how it was made.")
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{path.name} has two columns named {repeated!r}, expected names of their own. Rename "
            "one of them."
        )
    renamed = {"__index_level_0__": "index"}
    frame.columns = [renamed.get(name, name) for name in names]
    return RawFile(frame)


def _require_pyarrow(path: pathlib.Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{path.name} is read by pyarrow, which is not installed. Install it with "
            "pip install 'imkpl[cli]'."
        ) from error
