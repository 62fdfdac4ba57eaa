"""The one way to write an output file, completely or not at all, and the one digest of data."""

import contextlib
import hashlib
import os
import pathlib
import secrets
import stat
from collections.abc import Mapping


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


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new one, never a part."""
    write_files({path: content})


def write_files(contents: Mapping[str | os.PathLike[str], bytes]) -> None:
    """Replace several files, all written completely before the first is renamed."""
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


def _write_part(part: pathlib.Path, content: bytes, target: pathlib.Path) -> None:
    """Write a new file with the mode of the one that it will replace."""
    mode = stat.S_IMODE(os.stat(target).st_mode) if target.exists() else None
    # Nobody may read a private file while it is written.
    first_mode = 0o666 if mode is None else 0o600
    with open(part, "xb", opener=lambda name, flags: os.open(name, flags, first_mode)) as file:
        file.write(content)
        file.flush()
        # Without it a power cut may leave the new name on an empty file.
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(part, mode)


def _explained(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """The error with a text that names the file and says what to do."""
    explained = type(error)(
        f"{os.fspath(path)} could not be written: {error.strerror or error}. It is as it was. "
        "Free some space or choose another folder, and try again."
    )
    explained.errno = error.errno
    return explained


def digest(*parts: bytes, size: int = 16) -> bytes:
    """A digest of byte strings and of where one ends and the next begins."""
    found = hashlib.blake2b(digest_size=size)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
