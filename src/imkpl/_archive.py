"""Files of one JSON document and its arrays, with a checksum, written atomically.

Model files (:mod:`imkpl.files`) and checkpoints (:mod:`imkpl.estimators`) are zip archives of this
form. Nothing in them is a pickle, and nothing is compressed: no member is larger than its part of
the file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import pathlib
import re
import secrets
import stat
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]

# A member of a zip archive starts with these bytes, and its name 30 bytes later.
ZIP_START, NAME_OFFSET = b"PK\x03\x04", 30
# Hexadecimal digits of the checksum.
DIGITS = 64
# Booleans, numbers, text, bytes, dates and time spans: types whose bytes are all there is.
PLAIN_KINDS = "biufcUSMm"
# An array without values takes no bytes, however many rows it declares; going through its rows
# takes for ever. No model has more rows of nothing.
MAX_EMPTY_ROWS = 2**24
# Numbers with more digits are beyond all that is computed with.
MAX_DIGITS = 400
LONG_NUMBER = re.compile(rb"(?<![-+.\deE])[-+.\deE]{%d}" % (MAX_DIGITS + 1))
# Lists and objects take memory, whatever they hold; a document that was written has fewer.
MIN_NODES, BYTES_PER_NODE = 10_000, 8
JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"')


@dataclass(frozen=True)
class FileKind:
    """A kind of file, and what its error messages say."""

    name: str  # what such a file is called, such as "model"
    document: str  # name of the first member, by which a file is recognised
    format_version: int  # the version that is written, and the newest that is read
    error: type[ValueError]
    not_one: str  # what to say about a file of another kind
    remedy: str  # what to do about a file that was cut short or altered
    source: str  # where to get a valid file

    @property
    def format(self) -> str:
        """Entry "format" of the document."""
        return f"imkpl {self.name}"

    @property
    def seal(self) -> bytes:
        """Comment at the end of the archive; the checksum of everything before it follows."""
        return f"{self.format}, sha256 ".encode()

    def misfit(self, problem: str) -> ValueError:
        """Error for a file that this library cannot have written."""
        return self.error(f"{problem}. {self.source}")


def check_target(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path, if a regular file can be written there; checked before long work."""
    target = pathlib.Path(path)
    folder = pathlib.Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"The folder {folder} of {target.name} does not exist. Create it, or choose another."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"The folder {folder} of {target.name} is not writable. Choose another, or change its "
            "permissions."
        )
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise _explained(error, target) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{target} is a folder. Pass the name of a file in it.")
    if not stat.S_ISREG(mode):
        raise OSError(
            f"{target} is a device, a pipe or a socket, expected a regular file or a new name. "
            "Choose another name."
        )
    return target


def write_file(path: str | os.PathLike[str], content: bytes | Iterable[bytes]) -> None:
    """Replace a file in one step: readers see the old content or the new one, never a part.

    The content may come in pieces. Symbolic links are followed, and an existing file keeps its
    mode. A process that is killed may leave a file ``.*.part`` behind.
    """
    write_files({path: content})


def write_files(contents: Mapping[str | os.PathLike[str], bytes | Iterable[bytes]]) -> None:
    """Replace several files that belong together, each as by `write_file`.

    All are written completely before the first is renamed: if one cannot be written, none changes.
    """
    targets = [pathlib.Path(os.path.realpath(check_target(path))) for path in contents]
    parts = [target.with_name(f".{secrets.token_hex(8)}.part") for target in targets]
    path: str | os.PathLike[str] = ""
    try:
        for path, part, target in zip(contents, parts, targets, strict=True):
            _write_part(part, contents[path], target)
        for part, path in zip(parts, targets, strict=True):
            os.replace(part, path)
    except BaseException as error:
        for part in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)
        if isinstance(error, OSError):
            raise _explained(error, path) from error
        raise
    # Without it a power cut may take the new names back. Where folders cannot be opened (Windows)
    # or synchronised (some network drives), the files are there all the same.
    for parent in {target.parent for target in targets}:
        with contextlib.suppress(OSError):
            folder = os.open(parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _write_part(part: pathlib.Path, content: bytes | Iterable[bytes], target: pathlib.Path) -> None:
    """Write a new file with the mode of the one that it will replace."""
    mode = stat.S_IMODE(os.stat(target).st_mode) if target.exists() else None
    # Nobody may read a private file while it is written.
    first_mode = 0o666 if mode is None else 0o600
    with open(part, "xb", opener=lambda name, flags: os.open(name, flags, first_mode)) as file:
        file.writelines([content] if isinstance(content, bytes) else content)
        file.flush()
        # Without it a power cut may leave the new name on an empty file.
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(part, mode)


# What to do about an error of the system.
REMEDIES: Mapping[int | None, str] = {
    **dict.fromkeys((errno.ENOSPC, errno.EFBIG), "Free some space or choose another disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Make its folder writable or choose another"),
    errno.EROFS: "Choose another folder",
    errno.ENAMETOOLONG: "Choose a shorter name",
}


def _explained(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """The error with a text that names the file and says what to do."""
    remedy = REMEDIES.get(error.errno, "Check the disk or choose another folder")
    return rephrase(
        error,
        f"{os.fspath(path)} could not be written: {error.strerror or error}. It is as it was. "
        f"{remedy}, and try again.",
    )


def rephrase(error: OSError, sentence: str) -> OSError:
    """An error of the same class and number with another text."""
    other = type(error)(sentence)
    other.errno = error.errno
    return other


def pack_document(
    entries: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], kind: FileKind
) -> bytes:
    """Content of a file with these entries in its document and these arrays beside it."""
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
    """Document and arrays of a file that `pack_document` made."""
    members = unpack(content, kind)

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise kind.misfit(f"a name occurs twice in {kind.document}")
        return found

    def refuse_constant(text: str) -> Any:
        raise kind.misfit(f"{kind.document} holds {text}, expected plain numbers")

    def read_float(text: str) -> float:
        value = float(text)
        if math.isinf(value):
            raise kind.misfit(f"{kind.document} holds the number {text}, which is too large")
        return value

    text = members[kind.document]
    limit = MIN_NODES + len(text) // BYTES_PER_NODE
    if _count_nodes(text) > limit and _count_nodes(JSON_TEXT.sub(b"", text)) > limit:
        raise kind.misfit(f"{kind.document} consists of little more than brackets")
    if LONG_NUMBER.search(text) and LONG_NUMBER.search(JSON_TEXT.sub(b"", text)):
        raise kind.misfit(f"{kind.document} holds a number of more than {MAX_DIGITS} digits")
    document = json.loads(
        text, object_pairs_hook=read_object, parse_constant=refuse_constant, parse_float=read_float
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


def _count_nodes(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def _check_version(document: Any, kind: FileKind) -> None:
    if not isinstance(document, dict) or document.get("format") != kind.format:
        raise kind.misfit(f"{kind.document} was not written by imkpl")
    version = document["format_version"]
    if type(version) is not int or version < 1:
        raise kind.misfit(f"its format version is {version!r}, expected a whole number from 1")
    if version > kind.format_version:
        raise kind.error(
            f"imkpl {document.get('imkpl_version')} wrote it in version {version} of the format, "
            f"and this imkpl reads version {kind.format_version}. Update imkpl."
        )


def pack(members: Mapping[str, bytes], kind: FileKind) -> bytes:
    """An archive of these members and its checksum; equal members give equal bytes."""
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
    """Members of an archive whose checksum holds."""
    name = content[NAME_OFFSET : NAME_OFFSET + len(kind.document)]
    if not content.startswith(ZIP_START) or name != kind.document.encode():
        raise kind.error(kind.not_one)
    if content[-DIGITS - len(kind.seal) : -DIGITS] != kind.seal:
        raise kind.error(f"its end is missing, so it was cut short or appended to. {kind.remedy}")
    if hashlib.sha256(content[:-DIGITS]).hexdigest().encode() != content[-DIGITS:]:
        raise kind.error(
            f"it was altered after it was saved: its checksum does not match. {kind.remedy}"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise kind.misfit("two members have the same name, expected each once")
        is_stored = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not is_stored or sum(info.file_size for info in infos) > len(content):
            raise kind.misfit(
                "its members are compressed or declare sizes beyond that of the file, expected "
                "them uncompressed"
            )
        return {info.filename: archive.read(info) for info in infos}


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be written as they are."""
    # Text of length 0 has no bytes, so that nothing would limit a declared shape.
    return dtype.kind in PLAIN_KINDS and dtype.itemsize > 0


def has_too_many_empty_rows(shape: Sequence[int]) -> bool:
    """Whether an array of this shape has no values but more rows than any model."""
    return 0 in shape and max(shape) > MAX_EMPTY_ROWS


def write_array(array: np.ndarray[Any, Any]) -> tuple[bytes, dict[str, Any]]:
    """Content of an .npy file, and its entry in the document's list of arrays."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    content = stream.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    return content, {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def read_array(
    content: bytes, entry: Mapping[str, Any], kind: FileKind, name: str = ""
) -> np.ndarray[Any, Any]:
    """The array in an .npy file, if it is what its entry says.

    Nothing is allocated before the declared size is known to be that of the content.
    """
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise kind.misfit(f"the checksum of array {name!r} is not the one in {kind.document}")
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise kind.misfit(f"array {name!r} is not in version 1.0 of the .npy format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if not is_plain(dtype):
        raise kind.misfit(f"array {name!r} is of type {dtype}, expected plain numbers or text")
    if [dtype.str, list(shape)] != [entry["dtype"], entry["shape"]]:
        raise kind.misfit(f"type and shape of array {name!r} are not those in {kind.document}")
    start = stream.tell()
    is_wrong = min(shape, default=0) < 0 or has_too_many_empty_rows(shape)
    if is_wrong or math.prod(shape) * dtype.itemsize != len(content) - start:
        raise kind.misfit(
            f"array {name!r} declares the shape {shape}, which does not match its {len(content)} "
            "bytes"
        )
    order: Any = "F" if is_fortran else "C"
    view = np.ndarray(shape, dtype, buffer=content, offset=start, order=order)
    return view.copy(order=order)
