"""The one digest of data."""

from __future__ import annotations

import hashlib


def digest(*parts: bytes, size: int = 16, key: bytes = b"") -> bytes:
    """A digest of byte strings and of where one ends and the next begins."""
    found = hashlib.blake2b(digest_size=size, key=key)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
