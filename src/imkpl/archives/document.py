"""A JSON document and its arrays as one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from imkpl.archives.archive import pack, unpack
from imkpl.archives.arrays import read_array, write_array
from imkpl.archives.kind import FileKind

Arrays = dict[str, np.ndarray[Any, Any]]


def pack_document(
    entries: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], kind: FileKind
) -> bytes:
    """The content of a file."""
    content, listed = {}, {}
    for name, array in arrays.items():
        content[_member(name)], listed[name] = write_array(array)
    document = {
        "format": kind.format,
        "format_version": kind.format_version,
        **entries,
        "arrays": listed,
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    return pack({kind.document: text.encode("ascii"), **content}, kind)


def unpack_document(content: bytes, kind: FileKind) -> tuple[dict[str, Any], Arrays]:
    """What `pack_document` was given."""
    members = unpack(content, kind)

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise kind.misfit(f"a name stands twice in {kind.document}")
        return found

    def refuse_constant(text: str) -> Any:
        raise kind.misfit(f"{kind.document} holds {text}, expected plain numbers")

    document = json.loads(
        members[kind.document], object_pairs_hook=read_object, parse_constant=refuse_constant
    )
    _check_version(document, kind)
    entries = document["arrays"]
    extra = sorted(set(members) - {kind.document} - {_member(name) for name in entries})
    if extra:
        raise kind.misfit(f"it has a member {extra[0]!r} that belongs to no array")
    missing = [name for name in entries if _member(name) not in members]
    if missing:
        raise kind.misfit(f"array {missing[0]!r} is missing")
    arrays = {
        name: read_array(members[_member(name)], entries[name], kind, name) for name in entries
    }
    return document, arrays


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def _check_version(document: Any, kind: FileKind) -> None:
    if not isinstance(document, dict) or document.get("format") != kind.format:
        raise kind.misfit(f"{kind.document} is not that of imkpl")
    version = document["format_version"]
    if type(version) is not int or version < 1:
        raise kind.misfit(f"its format version is {version!r}, expected a whole number from 1")
    if version > kind.format_version:
        raise kind.error(
            f"imkpl {document.get('imkpl_version')} wrote it in version {version} of the format, "
            f"and this imkpl reads version {kind.format_version}. Update imkpl."
        )
