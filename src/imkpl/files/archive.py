"""Named pieces of bytes in one sealed file, which is written as a whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pathlib
import secrets
import stat
import zipfile
from collections.abc import Mapping

from imkpl.files.errors import ModelFileError, misfit

# The name of the first member, by which a file is known.
DOCUMENT = "model.json"
# A member of a zip archive starts with these bytes, and its name 30 bytes later.
ZIP_START, NAME_OFFSET = b"PK\x03\x04", 30
# The comment at the end of the archive, followed by the checksum of all that precedes it.
SEAL = b"imkpl model, sha256 "
SEAL_SIZE = len(SEAL) + 64


def pack(members: Mapping[str, bytes]) -> bytes:
    """The content of a file with these members; the same members give the same bytes.

    Parameters
    ----------
    members : mapping of str to bytes
        Names and content; the document comes first.

    Returns
    -------
    bytes
        A zip archive without compression. The last bytes are the checksum of all others.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            # Neither the clock, the system nor its settings show in the file.
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_STORED)
        archive.comment = SEAL + bytes(64)
    content = stream.getvalue()[:-64]
    return content + hashlib.sha256(content).hexdigest().encode()


def unpack(content: bytes) -> dict[str, bytes]:
    """The members of a file, none of them larger than the file.

    Parameters
    ----------
    content : bytes
        The whole file.

    Returns
    -------
    dict of bytes
        By name.
    """
    name = content[NAME_OFFSET : NAME_OFFSET + len(DOCUMENT)]
    if not content.startswith(ZIP_START) or name != DOCUMENT.encode():
        raise ModelFileError(
            "it is not a model file. Expected a file written by imkpl.save; pickles and other "
            "archives are never opened."
        )
    if content[-SEAL_SIZE:-64] != SEAL:
        raise ModelFileError(
            "its end is missing, so it was cut short or added to. Copy it again, or save the "
            "model again."
        )
    if hashlib.sha256(content[:-64]).hexdigest().encode() != content[-64:]:
        raise ModelFileError(
            "it was altered since it was saved: its checksum does not fit. Copy it again, or save "
            "the model again."
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise misfit("two members have the same name, expected each once")
        # Without compression no member is larger than its part of the file.
        is_stored = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not is_stored or sum(info.file_size for info in infos) > len(content):
            raise misfit(
                "its members declare sizes beyond that of the file, or are compressed; expected "
                "them as they are"
            )
        return {info.filename: archive.read(info) for info in infos}


def write_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file whose readers see the old content or the new one, nothing in between.

    Parameters
    ----------
    path : Path
        Where to; through a symbolic link its target is written.
    content : bytes
        The whole content.
    """
    target = pathlib.Path(os.path.realpath(path))
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            # Without it a power cut may leave the new name on an empty file.
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
