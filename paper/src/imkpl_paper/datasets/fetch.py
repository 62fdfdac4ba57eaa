"""Downloads: once, checked, with progress, and with a plain sentence when there is no network."""

from __future__ import annotations

import hashlib
import pathlib

from imkpl_paper.datasets.registry import DatasetInfo


def find_served(info: DatasetInfo, folder: pathlib.Path) -> pathlib.Path | None:
    """The file of a data set as its home serves it, if it is in a folder."""
    path = folder / info.served_file
    if not info.url or not path.exists():
        return None
    seal = _seal(path)
    return path if not seal.exists() or _digest(path) == seal.read_text().strip() else None


def fetch(info: DatasetInfo, folder: pathlib.Path) -> pathlib.Path:
    """The file of a data set as its home serves it, downloaded if it is not there yet.

    The archives publish no checksums. The one of the first download is kept beside the file, so
    that a file that changes later is noticed; what it holds is checked by `load`.
    """
    try:
        import pooch
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{info.name} is not in the data folder, and pooch is not installed, which downloads "
            f"it. Install it with pip install 'imkpl[datasets]', or get {info.url} by hand and "
            "name its folder in IMKPL_DATA."
        ) from error
    name = info.served_file
    seal = _seal(folder / name)
    known = seal.read_text().strip() if seal.exists() else None
    try:
        path = pathlib.Path(
            pooch.retrieve(info.url, known_hash=known, fname=name, path=folder, progressbar=True)
        )
    except ValueError as error:
        raise ValueError(
            f"{folder / name} is not the file that was downloaded first: its checksum differs from "
            f"{seal.name}. Remove both to download {info.name} again."
        ) from error
    # requests, which pooch uses, raises subclasses of OSError for everything about the network.
    except OSError as error:
        raise OSError(
            f"{info.name} could not be downloaded from {info.url} ({type(error).__name__}). Check "
            f"the network, or get {name} by hand and name its folder in IMKPL_DATA; {info.home} "
            "describes the data."
        ) from error
    if known is None:
        seal.write_text(_digest(path))
    return path


def _seal(path: pathlib.Path) -> pathlib.Path:
    """Where the checksum of the first download is kept."""
    return path.with_name(f"{path.name}.sha256")


def _digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
