"""Blocks of numbers on disk that are either whole or not there."""

from __future__ import annotations

import hashlib
import os
import pathlib
import warnings
from typing import Any

import numpy as np

from imkpl._archive import write_file
from imkpl._typing import FloatArray

MAGIC = b"imkpl block 1\n"
DIGEST_SIZE = 32


def fingerprint(*parts: Any) -> str:
    """A name for some content: other content has another name.

    Examples
    --------
    >>> fingerprint("a", np.zeros(3)) == fingerprint("a", np.zeros(3))
    True
    >>> fingerprint("a", np.zeros(3)) == fingerprint("a", np.zeros(3, dtype=np.float32))
    False
    """
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        array = np.ascontiguousarray(part) if isinstance(part, np.ndarray) else None
        described = repr(part) if array is None else f"{array.dtype.str}{array.shape}"
        # The length in front keeps "ab", "c" and "a", "bc" apart.
        digest.update(f"{len(described)}:{described}".encode())
        if array is not None:
            digest.update(array.data if array.size else b"")
    return digest.hexdigest()


class BlockCache:
    """A folder of blocks. A block that was cut short, or changed since, counts as missing.

    Parameters
    ----------
    folder : str
        Where the blocks are; made when it is not there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = pathlib.Path(folder)
        self._is_writable = True

    def read_into(self, out: FloatArray, name: str) -> bool:
        """Fill an array with a block."""
        try:
            content = self._path(name).read_bytes()
        except OSError:
            return False
        payload = content[len(MAGIC) + DIGEST_SIZE :]
        is_whole = len(payload) == out.nbytes and content == _sealed(payload)
        if is_whole:
            out[:] = np.frombuffer(payload, dtype=out.dtype.newbyteorder("<"))
        return is_whole

    def write(self, values: FloatArray, name: str) -> None:
        """Keep a block; a reader sees all of it or nothing, whenever the process ends.

        A folder that cannot be written to is a warning: the values are known all the same.
        """
        if not self._is_writable:
            return
        payload = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._path(name), _sealed(payload))
        except OSError as error:
            self._is_writable = False
            warnings.warn(
                f"Kernel values could not be kept in {self._folder}: {error}. The result does not "
                "depend on them. Choose another cache_dir, or free some space.",
                stacklevel=2,
            )

    def _path(self, name: str) -> pathlib.Path:
        return self._folder / f"{name}.block"


def _sealed(payload: bytes) -> bytes:
    return MAGIC + hashlib.blake2b(payload, digest_size=DIGEST_SIZE).digest() + payload
