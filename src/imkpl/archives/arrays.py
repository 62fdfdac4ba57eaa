"""Arrays as the bytes of .npy files, never as pickles."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from imkpl.archives.kind import FileKind

# Booleans, numbers, text, bytes, dates and spans of time: values whose bytes are all there is.
PLAIN_KINDS = "biufcUSMm"
# An array without values takes no bytes, however many rows it declares; going through its rows
# takes for ever. No model has more rows of nothing.
MOST_EMPTY = 2**24


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be written as they are."""
    # Arrays of text of length 0 have no bytes, so that nothing would limit their declared shape.
    return dtype.kind in PLAIN_KINDS and dtype.itemsize > 0


def is_boundless(shape: Sequence[int]) -> bool:
    """Whether an array of this shape has no values, and rows beyond number."""
    return 0 in shape and max(shape) > MOST_EMPTY


def write_array(array: np.ndarray[Any, Any]) -> tuple[bytes, dict[str, Any]]:
    """An array as the content of an .npy file, and its entry in the list of arrays."""
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
    is_wrong = min(shape, default=0) < 0 or is_boundless(shape)
    if is_wrong or math.prod(shape) * dtype.itemsize != len(content) - start:
        raise kind.misfit(
            f"array {name!r} declares the shape {shape}, which does not fit its {len(content)} "
            "bytes"
        )
    order: Any = "F" if is_fortran else "C"
    view = np.ndarray(shape, dtype, buffer=content, offset=start, order=order)
    return view.copy(order=order)
