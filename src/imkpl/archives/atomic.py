"""Files that are written as a whole or not at all, whenever the process ends."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import platform
import secrets
import stat
import time

# A file that is older was left by a process that was killed, whatever machine it ran on.
SECONDS_OF_A_DAY = 86400.0


def write_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file whose readers see the old content or the new one, nothing in between."""
    target = pathlib.Path(os.path.realpath(path))
    part = name_part(target.parent)
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
    _sync_folder(target.parent)


def name_part(folder: pathlib.Path) -> pathlib.Path:
    """A name for a file that is not to stay."""
    return folder / f".{machine_name()}-{os.getpid()}-{secrets.token_hex(8)}.part"


def remove_leftovers(folder: pathlib.Path) -> None:
    """Remove what killed processes have left half written."""
    for path in folder.glob(".*-*-*.part"):
        machine, process = path.name[1:].split("-")[:2]
        is_dead = machine == machine_name() and process.isdecimal()
        is_dead = is_dead and not _is_running(int(process))
        # Another process may have been faster.
        with contextlib.suppress(OSError):
            if is_dead or time.time() - path.stat().st_mtime > SECONDS_OF_A_DAY:
                path.unlink()


def machine_name() -> str:
    """A name for this machine, eight hexadecimal digits."""
    return hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()


def _sync_folder(folder: pathlib.Path) -> None:
    # Without it a power cut may take the new name back. Where folders cannot be opened (Windows) or
    # synchronised (some network drives), the file is there all the same.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_running(process: int) -> bool:
    # On Windows the signal 0 would end the process.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # It belongs to someone else, or is no number of a process.
        return True
    return True
