"""Files that are written: checked before the work, written as a whole or not at all."""

from __future__ import annotations

import os
import pathlib
import secrets
from collections.abc import Sequence

from imkpl.readers import InputError


def check_outputs(
    outputs: Sequence[pathlib.Path | None],
    inputs: Sequence[pathlib.Path | None] = (),
    *,
    force: bool,
) -> None:
    """Raise before a long fit if its result could not be written."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise InputError(
                f"{path} is read or written for something else in the same command. Choose "
                "another name."
            )
        taken.add(path.resolve())
        _check_output(path, force=force)


def check_ending(option: str, path: pathlib.Path | None, endings: Sequence[str]) -> None:
    """Raise if a file would be written in a format that there is not."""
    if path is not None and path.suffix.lower() not in endings:
        raise InputError(
            f"{option} is {path.name}, expected a name that ends in {' or '.join(endings)}."
        )


def write_text(path: pathlib.Path, text: str) -> None:
    """Write a file in UTF-8, as a whole or not at all."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _check_output(path: pathlib.Path, *, force: bool) -> None:
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected the name of a file. Name a file in it.")
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{path} cannot be written: {folder} is a file, expected a folder. Choose another name."
        )
    if not folder.exists():
        raise InputError(
            f"{path} cannot be written: the folder {folder} is not there. Make it, or choose "
            "another."
        )
    if path.exists() and not force:
        raise InputError(
            f"{path} is already there. Choose another name, or replace it with --force."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written: you may not write to the folder {folder}. Choose another."
        )
