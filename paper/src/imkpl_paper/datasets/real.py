"""Real data sets by name."""

from __future__ import annotations

import hashlib
import os
import pathlib
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from imkpl._typing import IntArray
from imkpl_paper.datasets.fetch import fetch, find_served
from imkpl_paper.datasets.formats import READERS, as_series, read_npz, read_signs
from imkpl_paper.datasets.registry import DATASETS, DatasetInfo

DOWNLOADS = pathlib.Path("~/.cache/imkpl")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples and labels of a data set, and what is known about it.

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
    told = [str(DOWNLOADS) if place == DOWNLOADS.expanduser() else str(place) for place in places]
    looked = " and ".join(told)
    hint = "" if named else " (IMKPL_DATA is not set)"
    if not info.url:
        raise FileNotFoundError(
            f"{info.name} cannot be downloaded by a program. Looked for {info.file}.npz in "
            f"{looked}{hint}. Get the data from {info.home}, store {_say_arrays(info)} as "
            f"{info.file}.npz with numpy.savez, and name its folder in IMKPL_DATA."
        )
    if not download:
        raise FileNotFoundError(
            f"{info.name} is not at hand: looked for {info.file}.npz and {info.served_file} in "
            f"{looked}{hint}. Get {info.url} and name its folder in IMKPL_DATA, or allow the "
            "download."
        )
    return _build(info, _read_served(info, fetch(info, downloads)))


def rarest_label(y: Any) -> IntArray:
    """One class per sample from several labels: the label that the fewest samples have.

    Topics of news are nested, and the rarest of a document's topics is the most specific one. That
    is how the paper's "101 classes" of rcv1 can be read; it does not say how it reads them.

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
    """SHA-256 of the samples in single precision, whatever their order and however stored.

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


def _say_arrays(info: DatasetInfo) -> str:
    """The arrays that a file made by hand has to hold."""
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
