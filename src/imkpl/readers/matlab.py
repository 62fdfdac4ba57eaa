"""Whether a MATLAB file is whole: scipy's compiled reader trusts the sizes and types in it."""

from __future__ import annotations

import struct
import zlib

HEADER = 128
COMPRESSED, MATRIX = 15, 14
# Whole numbers, floats, matrices, compressed elements and text, in the format's own numbers.
KNOWN_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, MATRIX, COMPRESSED, 16, 17, 18})
# Cells, structures, objects, text, sparse and full matrices.
KNOWN_CLASSES = frozenset(range(1, 16))
FLAGS_TYPE, FLAGS_SIZE, DIMENSIONS_TYPE = 6, 8, 5
# Deeper cells in cells are no table.
MAX_DEPTH = 8
MAX_BYTES = 2**32


def is_whole(content: bytes) -> bool:
    """Whether every element of a file of version 5 to 7 lies within the file.

    Parameters
    ----------
    content : bytes
        The file.

    Returns
    -------
    bool
        False for a file that was cut short or altered in its structure.
    """
    mark = content[HEADER - 2 : HEADER]
    if mark not in (b"IM", b"MI"):
        return False
    order = "<" if mark == b"IM" else ">"
    try:
        return _walk(content[HEADER:], order, 0, at_top=True)
    except (struct.error, zlib.error):
        return False


def _walk(content: bytes, order: str, depth: int, *, at_top: bool = False) -> bool:
    """Whether bytes are a sequence of elements."""
    place = 0
    while place < len(content):
        kind, start, size = _read_tag(content, place, order)
        end = start + size
        is_small = start == place + 4
        if kind not in KNOWN_TYPES or end > len(content) or depth > MAX_DEPTH:
            return False
        if (is_small and size > 4) or (at_top and kind not in (COMPRESSED, MATRIX)):
            return False
        body = content[start:end]
        if kind == COMPRESSED:
            unpacker = zlib.decompressobj()
            body = unpacker.decompress(body, MAX_BYTES)
            if not unpacker.eof or not _walk(body, order, depth + 1, at_top=True):
                return False
            place = end
            continue
        if kind == MATRIX and size and not _is_matrix(body, order, depth):
            return False
        # Elements begin at multiples of eight; a small one is eight bytes with its tag.
        place = place + 8 if is_small else end + (-size) % 8
    return True


def _is_matrix(body: bytes, order: str, depth: int) -> bool:
    """Whether a matrix begins with flags of a known class and with dimensions."""
    kind, start, size = _read_tag(body, 0, order)
    if kind != FLAGS_TYPE or size != FLAGS_SIZE:
        return False
    (flags,) = struct.unpack_from(f"{order}I", body, start)
    second, start, size = _read_tag(body, start + size, order)
    if flags & 0xFF not in KNOWN_CLASSES or second != DIMENSIONS_TYPE or size % 4 or size < 8:
        return False
    return _walk(body, order, depth + 1)


def _read_tag(content: bytes, place: int, order: str) -> tuple[int, int, int]:
    """Type, first byte and number of bytes of an element."""
    first, second = struct.unpack_from(f"{order}II", content, place)
    if first >> 16:
        return first & 0xFFFF, place + 4, first >> 16
    return first, place + 8, second
