"""MATLAB files of version 5 to 7, read with nothing but bounds that are checked.

scipy's compiled reader trusts the sizes in a file, and a damaged one can end the interpreter. Read
here are numbers, text, sparse matrices and cells of these; anything else in a file is named but has
no values. The format: after 128 bytes of header come elements, each with a tag (type and size) and
padded to eight bytes; a matrix is an element of elements: flags, dimensions, name, values.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

HEADER = 128
COMPRESSED, MATRIX = 15, 14
# The format's numbers for types of stored values.
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
STORED |= {12: "i8", 13: "u8"}
TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
# The format's numbers for classes of matrices.
CELL, TEXT, SPARSE = 1, 4, 5
NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
NUMBERS |= {14: "i8", 15: "u8"}
IS_COMPLEX = 0x800
# Deeper cells in cells are no table.
MAX_DEPTH = 8
MAX_BYTES = 2**32
# Types and bytes of elements.
Parts = list[tuple[int, memoryview]]


class DamagedFileError(ValueError):
    """A file that contradicts itself."""


def is_version_5(content: bytes) -> bool:
    """Whether the header is that of version 5 to 7."""
    mark = content[HEADER - 2 : HEADER]
    return mark in (b"IM", b"MI") and b"\x02" not in content[HEADER - 4 : HEADER - 2]


def read_variables(content: bytes) -> dict[str, Any]:
    """The matrices of a file."""
    order = "<" if content[HEADER - 2 : HEADER] == b"IM" else ">"
    found = {}
    for kind, body in _elements(memoryview(content)[HEADER:], order):
        if kind == COMPRESSED:
            body = _inflate(body)
            ((kind, body),) = _elements(body, order)
        _require(kind == MATRIX)
        name, value = _read_matrix(body, order, 0)
        found[name] = value
    return found


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and bytes of every element."""
    place = 0
    while place < len(content):
        _require(place + 8 <= len(content))
        kind, size = struct.unpack_from(f"{order}II", content, place)
        start = place + 8
        if kind >> 16:
            # A small element: size and type share four bytes, and the value the other four.
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            _require(size <= 4)
            following = place + 8
        else:
            # What is compressed is not padded.
            following = start + size + (0 if kind == COMPRESSED else -size % 8)
        _require(start + size <= len(content))
        yield kind, content[start : start + size]
        place = following


def _inflate(body: memoryview) -> memoryview:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise DamagedFileError("compressed values are damaged") from error
    _require(unpacker.eof)
    return memoryview(content)


def _read_matrix(body: memoryview, order: str, depth: int) -> tuple[str, Any]:
    """Name and value of a matrix."""
    _require(depth <= MAX_DEPTH)
    parts = list(_elements(body, order))
    if not parts:
        # An empty cell may have no content at all.
        return "", np.empty((0, 0))
    _require(len(parts) >= 3 and [kind for kind, _ in parts[:3]] == [6, 5, 1])
    flags = _as_array(*parts[0], order)
    _require(flags.size == 2)
    shape = tuple(int(size) for size in _as_array(*parts[1], order))
    _require(len(shape) >= 2 and min(shape) >= 0)
    name = bytes(parts[2][1]).decode("utf-8", "replace")
    kind, values = int(flags[0]) & 0xFF, parts[3:]
    if kind in NUMBERS and not int(flags[0]) & IS_COMPLEX:
        return name, _read_numbers(values, shape, order, NUMBERS[kind])
    if kind == TEXT:
        return name, _read_text(values, shape, order)
    if kind == SPARSE and not int(flags[0]) & IS_COMPLEX:
        return name, _read_sparse(values, shape, order)
    if kind == CELL:
        return name, _read_cells(values, shape, order, depth)
    return name, None


def _as_array(kind: int, body: memoryview, order: str) -> Any:
    _require(kind in STORED)
    dtype = np.dtype(order + STORED[kind])
    _require(len(body) % dtype.itemsize == 0)
    return np.frombuffer(body, dtype)


def _read_numbers(values: Parts, shape: tuple[int, ...], order: str, dtype: str) -> Any:
    _require(len(values) == 1)
    array = _as_array(values[0][0], values[0][1], order)
    _require(array.size == math.prod(shape))
    return array.astype(dtype).reshape(shape, order="F")


def _read_text(values: Parts, shape: tuple[int, ...], order: str) -> Any:
    """One text per row."""
    _require(len(values) == 1 and len(shape) == 2 and values[0][0] in TEXTS)
    kind, body = values[0]
    ending = ("-le" if order == "<" else "-be") if TEXTS[kind] in ("utf-16", "utf-32") else ""
    text = bytes(body).decode(TEXTS[kind] + ending, "replace")
    n_rows, width = shape
    _require(len(text) == n_rows * width)
    return np.array([text[row::n_rows] for row in range(n_rows)], dtype=f"U{max(width, 1)}")


def _read_sparse(values: Parts, shape: tuple[int, ...], order: str) -> Any:
    # It will be made a dense array.
    _require(len(values) == 3 and len(shape) == 2 and 8 * math.prod(shape) <= MAX_BYTES)
    rows, pointers, data = (_as_array(kind, body, order) for kind, body in values)
    _require(pointers.size == shape[1] + 1 and rows.dtype.kind in "iu" and pointers[0] == 0)
    _require(pointers.dtype.kind in "iu" and bool(np.all(pointers[1:] >= pointers[:-1])))
    count = int(pointers[-1])
    _require(count <= min(rows.size, data.size))
    rows = rows[:count].astype(np.int64)
    _require(bool(np.all((rows >= 0) & (rows < shape[0]))))
    data = data[:count].astype(np.float64)
    return sp.csc_array((data, rows, pointers.astype(np.int64)), shape=shape)


def _read_cells(values: Parts, shape: tuple[int, ...], order: str, depth: int) -> Any:
    _require(len(values) == math.prod(shape) and all(kind == MATRIX for kind, _ in values))
    cells = np.empty(len(values), dtype=object)
    for place, (_, body) in enumerate(values):
        cells[place] = _read_matrix(body, order, depth + 1)[1]
    return cells.reshape(shape, order="F")


def _require(holds: bool) -> None:
    if not holds:
        raise DamagedFileError("sizes, types or dimensions contradict each other")
