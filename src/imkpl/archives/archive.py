"""Named pieces of bytes in one sealed archive."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

from imkpl.archives.kind import FileKind

# A member of a zip archive starts with these bytes, and its name 30 bytes later.
ZIP_START, NAME_OFFSET = b"PK\x03\x04", 30
# Hexadecimal digits of the checksum.
DIGITS = 64


def pack(members: Mapping[str, bytes], kind: FileKind) -> bytes:
    """The content of a file with these members; the same members give the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            # Neither the clock, the system nor its settings show in the file.
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_STORED)
        archive.comment = kind.seal + bytes(DIGITS)
    content = stream.getvalue()[:-DIGITS]
    return content + hashlib.sha256(content).hexdigest().encode()


def unpack(content: bytes, kind: FileKind) -> dict[str, bytes]:
    """The members of a file, none of them larger than the file."""
    name = content[NAME_OFFSET : NAME_OFFSET + len(kind.document)]
    if not content.startswith(ZIP_START) or name != kind.document.encode():
        raise kind.error(kind.not_one)
    if content[-DIGITS - len(kind.seal) : -DIGITS] != kind.seal:
        raise kind.error(f"its end is missing, so it was cut short or added to. {kind.remedy}")
    if hashlib.sha256(content[:-DIGITS]).hexdigest().encode() != content[-DIGITS:]:
        raise kind.error(
            f"it was altered since it was saved: its checksum does not fit. {kind.remedy}"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise kind.misfit("two members have the same name, expected each once")
        # Without compression no member is larger than its part of the file.
        is_stored = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not is_stored or sum(info.file_size for info in infos) > len(content):
            raise kind.misfit(
                "its members declare sizes beyond that of the file, or are compressed; expected "
                "them as they are"
            )
        return {info.filename: archive.read(info) for info in infos}
