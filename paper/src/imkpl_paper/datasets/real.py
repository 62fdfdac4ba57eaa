"""Real data sets by name: found in a folder or downloaded, read and checked."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.io import loadmat

from imkpl.series import SeriesSet, read_series
from imkpl_paper._imkpl import IntArray
from imkpl_paper.datasets.registry import DATASETS, DatasetInfo
from imkpl_paper.datasets.ts import read_ts

DOWNLOADS = pathlib.Path("~/.cache/imkpl")
Stored = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples and labels of a data set, with its description.

    Parameters
    ----------
    X : array of shape (n_samples, n_features) or SeriesSet
        The samples.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Class labels; a table of zeros and ones for several labels per sample.
    info : DatasetInfo
        Citation, home and notes.
    train, test : int array or None
        The archive's own split, where it has one.
    extras : dict of arrays
        Everything else in the file, such as subjects or distances.
    """

    X: Any
    y: Any
    info: DatasetInfo
    train: IntArray | None = None
    test: IntArray | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def class_counts(self) -> dict[Any, int]:
        """The number of samples of every class, or with every label."""
        if np.ndim(self.y) == 2:
            return {label: int(count) for label, count in enumerate(np.sum(self.y, axis=0))}
        labels, counts = np.unique(self.y, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        counts = self.class_counts
        what = {"series": "channels", "vectors": "features", "multilabel": "features"}
        n_columns = self.X.n_channels if self.info.kind == "series" else self.X.shape[1]
        sizes = f"{min(counts.values())} to {max(counts.values())} samples each"
        kind = "labels" if self.info.kind == "multilabel" else "classes"
        return (
            f"{self.info.name}: {len(self.X)} samples, {n_columns} {what[self.info.kind]}, "
            f"{len(counts)} {kind} of {sizes}. {self.info.citation}"
        )


def available() -> list[str]:
    """Names of all data sets that `load` knows.

    Returns
    -------
    list of str
        The paper's first.

    Examples
    --------
    >>> available()[:3]
    ['CLL_SUB_111', 'TOX_171', 'Isolet']
    """
    return list(DATASETS)


def load(name: str, *, folder: Any = None, download: bool = True) -> Dataset:
    """A data set by its name.

    It is looked for in `folder`, in the folder that the environment variable IMKPL_DATA names, and
    among earlier downloads, as an npz file or as its public home serves it; else it is downloaded
    from there.

    Parameters
    ----------
    name : str
        One of `available()`.
    folder : path, optional
        Where to look first, and where downloads go; ``~/.cache/imkpl`` by default.
    download : bool
        Whether it may be downloaded.

    Returns
    -------
    Dataset
        Samples, labels, and what is known about them.
    """
    info = _find_info(name)
    named = os.environ.get("IMKPL_DATA")
    given = [pathlib.Path(place) for place in (folder, named) if place]
    downloads = DOWNLOADS.expanduser() if folder is None else pathlib.Path(folder)
    places = dict.fromkeys([*given, downloads])
    for place in places:
        stored = place / f"{info.file}.npz"
        if stored.exists():
            return _build(info, read_npz(stored))
        served = find_served(info, place)
        if served is not None:
            return _build(info, _read_served(info, served))
    names = [str(DOWNLOADS) if place == DOWNLOADS.expanduser() else str(place) for place in places]
    looked = " and ".join(names)
    hint = "" if named else " (IMKPL_DATA is not set)"
    if not info.url:
        raise FileNotFoundError(
            f"{info.name} cannot be downloaded by a program. Looked for {info.file}.npz in "
            f"{looked}{hint}. Get the data from {info.home}, store {_describe_arrays(info)} as "
            f"{info.file}.npz with numpy.savez, and name its folder in IMKPL_DATA."
        )
    if not download:
        raise FileNotFoundError(
            f"{info.name} is not available: looked for {info.file}.npz and {info.served_file} in "
            f"{looked}{hint}. Get {info.url} and name its folder in IMKPL_DATA, or allow the "
            "download."
        )
    return _build(info, _read_served(info, fetch(info, downloads)))


def rarest_label(y: Any) -> IntArray:
    """One class per sample from several labels: the label that the fewest samples have.

    Topics of news are nested, and the rarest of a document's topics is the most specific one. That
    is how the paper's "101 classes" of rcv1 can be understood; the paper does not explain it.

    Parameters
    ----------
    y : array of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    int array of shape (n_samples,)
        The column of the chosen label; -1 for a sample without any.

    Examples
    --------
    >>> rarest_label([[1, 1], [1, 0], [0, 0]]).tolist()
    [1, 0, -1]
    """
    table = np.asarray(y) > 0
    counts = table.sum(axis=0)
    chosen = np.argmin(np.where(table, counts, table.shape[0] + 1), axis=1)
    return np.where(table.any(axis=1), chosen, -1)


def fingerprint(X: Any) -> str:
    """SHA-256 of the samples in single precision, independent of their order and storage.

    Parameters
    ----------
    X : array or SeriesSet
        The samples.

    Returns
    -------
    str
        Hexadecimal.
    """
    digests = []
    for one in X:
        row = np.ascontiguousarray(one, dtype=np.float32)
        # Of the many NaN one is taken, and zero has no sign.
        plain = np.where(np.isnan(row), np.float32(np.nan), row) + np.float32(0)
        digests.append(hashlib.sha256(str(row.shape).encode() + plain.tobytes()).digest())
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def _find_info(name: str) -> DatasetInfo:
    if name in DATASETS:
        return DATASETS[name]
    near = get_close_matches(str(name), DATASETS, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no data set {name!r}.{hint} available() lists all of them.")


def _read_served(info: DatasetInfo, path: pathlib.Path) -> dict[str, Any]:
    return (read_signs if info.name == "AUSLAN" else READERS[path.suffix])(path)


def _describe_arrays(info: DatasetInfo) -> str:
    """The arrays that a file must hold."""
    n_samples, n_columns, n_labels = info.shape
    last = ", n_steps), NaN after the end of a series," if info.kind == "series" else ")"
    labels = f", {n_labels}" if info.kind == "multilabel" else ","
    return f"X of shape ({n_samples}, {n_columns}{last} and y of shape ({n_samples}{labels})"


def _build(info: DatasetInfo, stored: dict[str, Any]) -> Dataset:
    X: Any = as_series(stored) if info.kind == "series" else stored["X"].astype(np.float64)
    y = stored["y"]
    n_columns = X.n_channels if info.kind == "series" else X.shape[1]
    if (len(X), n_columns) != info.shape[:2] or len(y) != len(X):
        raise ValueError(
            f"{info.name} has {len(X)} samples with {n_columns} features or channels and {len(y)} "
            f"labels, expected {info.shape[0]} with {info.shape[1]}. The file is another version "
            f"of the data; see {info.home}."
        )
    if info.checksum and fingerprint(X) != info.checksum:
        raise ValueError(
            f"The samples of {info.name} are not those that were seen when its checksum was taken. "
            f"The file is damaged, or another version of the data; see {info.home}."
        )
    known = {"X", "y", "train_idx", "test_idx", "lengths", "channel_names", "source"}
    extras = {key: value for key, value in stored.items() if key not in known}
    return Dataset(X, y, info, stored.get("train_idx"), stored.get("test_idx"), extras)


def find_served(info: DatasetInfo, folder: pathlib.Path) -> pathlib.Path | None:
    """The file of a data set as its home serves it, if it is in a folder."""
    path = folder / info.served_file
    if not info.url or not path.exists():
        return None
    stored = _checksum_file(path)
    return path if not stored.exists() or _digest(path) == stored.read_text().strip() else None


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
            f"it. Install it with pip install 'imkpl-paper[datasets]', or get {info.url} by hand "
            "and name its folder in IMKPL_DATA."
        ) from error
    name = info.served_file
    stored = _checksum_file(folder / name)
    known = stored.read_text().strip() if stored.exists() else None
    try:
        path = pathlib.Path(
            pooch.retrieve(info.url, known_hash=known, fname=name, path=folder, progressbar=True)
        )
    except ValueError as error:
        raise ValueError(
            f"{folder / name} is not the file that was downloaded first: its checksum differs from "
            f"{stored.name}. Remove both to download {info.name} again."
        ) from error
    # requests, which pooch uses, raises subclasses of OSError for everything about the network.
    except OSError as error:
        raise OSError(
            f"{info.name} could not be downloaded from {info.url} ({type(error).__name__}). Check "
            f"the network, or get {name} by hand and name its folder in IMKPL_DATA; {info.home} "
            "describes the data."
        ) from error
    if known is None:
        stored.write_text(_digest(path))
    return path


def _checksum_file(path: pathlib.Path) -> pathlib.Path:
    """Where the checksum of the first download is kept."""
    return path.with_name(f"{path.name}.sha256")


def _digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
    parts = []
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        for ending in ("_TRAIN.ts", "_TEST.ts"):
            (member,) = (name for name in archive.namelist() if name.endswith(ending))
            # Only the content is taken: a name inside an archive must not choose the place.
            target = pathlib.Path(folder) / f"part{ending}"
            target.write_bytes(archive.read(member))
            parts.append(read_ts(target))
    series = [one for X, _ in parts for one in X]
    sizes = [len(X) for X, _ in parts]
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
