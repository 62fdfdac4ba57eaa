"""The formats in which data sets are published."""

from __future__ import annotations

import io
import pathlib
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.io import loadmat

from imkpl.series import SeriesSet, read_series

Stored = dict[str, Any]


def read_npz(path: pathlib.Path) -> Stored:
    """The arrays of an npz file; nothing in it is executed."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def read_mat(path: pathlib.Path) -> Stored:
    """Samples X and labels Y of the feature selection repository."""
    arrays = loadmat(path)
    return {"X": np.asarray(arrays["X"], dtype=np.float32), "y": np.ravel(arrays["Y"])}


def read_archive(path: pathlib.Path) -> Stored:
    """Training and test part of the UEA and UCR archives, one after the other."""
    from aeon.datasets import load_from_ts_file

    parts = []
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        for ending in ("_TRAIN.ts", "_TEST.ts"):
            (member,) = (name for name in archive.namelist() if name.endswith(ending))
            # Only the content is taken: a name inside an archive must not choose the place.
            target = pathlib.Path(folder) / f"part{ending}"
            target.write_bytes(archive.read(member))
            parts.append(load_from_ts_file(str(target)))
    series = [np.asarray(one) for X, _ in parts for one in X]
    sizes = [len(labels) for _, labels in parts]
    return {
        "X": SeriesSet.from_list(series),
        "y": np.concatenate([labels for _, labels in parts]),
        "train_idx": np.arange(sizes[0]),
        "test_idx": np.arange(sizes[0], sum(sizes)),
    }


def read_signs(path: pathlib.Path) -> Stored:
    """The Australian signs: a folder per session, a file of 22 columns per recording."""
    series, labels, sessions = [], [], []
    with zipfile.ZipFile(path) as outer:
        (member,) = (name for name in outer.namelist() if name.endswith("tctodd.tar.gz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(member))) as inner:
            files = sorted(
                (one for one in inner.getmembers() if one.name.endswith(".tsd")),
                key=lambda one: one.name,
            )
            for file in files:
                content = inner.extractfile(file)
                if content is None:
                    continue
                # Files are named after the sign and the repetition: alive-1.tsd.
                place = pathlib.PurePosixPath(file.name)
                labels.append(place.stem.rsplit("-", 1)[0])
                sessions.append(place.parent.name)
                series.append(np.loadtxt(content, dtype=np.float32, ndmin=2).T)
    return {
        "X": SeriesSet.from_list(series),
        "y": np.array(labels),
        "session": np.array(sessions),
    }


READERS: dict[str, Callable[[pathlib.Path], Stored]] = {
    ".npz": read_npz,
    ".mat": read_mat,
    ".zip": read_archive,
}


def as_series(stored: Stored) -> SeriesSet:
    """The samples of stored series, without what was added after their ends."""
    series = read_series(stored["X"])
    names = stored.get("channel_names")
    if names is None:
        return series
    return SeriesSet(series.values, series.starts, tuple(str(name) for name in names))
