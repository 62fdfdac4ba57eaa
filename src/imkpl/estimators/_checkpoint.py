"""A folder that keeps how far a fit has come, and a fit that takes up where it was left."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from imkpl._archive import Arrays, FileKind, pack_document, unpack_document, write_file
from imkpl.estimators._digest import digest

# Settings that change nothing in a round that both fits have. The splits of `cv` count as data.
SILENT = frozenset({"checkpoint", "cv", "max_iter", "n_jobs", "verbose"})
LIBRARIES = ("imkpl", "numpy", "scipy", "scikit-learn", "numba")
ENDING = ".checkpoint"
# Of every digest so many digits stand in the name of a file, and all of them in the file.
NAME_DIGITS = 16


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; its text names the file and says what to do."""


REMEDY = "Delete it, and the fit begins anew with what else is in the folder."
CHECKPOINT_FILE = FileKind(
    name="checkpoint",
    document="checkpoint.json",
    format_version=1,
    error=CheckpointError,
    not_one="it is not a checkpoint. Move it away, or choose another folder as checkpoint.",
    remedy=REMEDY,
    source=REMEDY,
)


class Checkpoint:
    """What one fit keeps, a file for each of its stages.

    The names of the files tell fits apart: other data, other settings or other versions give
    other names, so that many fits, at the same time too, can share a folder.

    Parameters
    ----------
    folder : str or path
        Made when it is not there.
    owner : str
        The class of the estimator.
    parts : mapping of str to str
        Digests of "data", "settings" and "versions".
    """

    def __init__(
        self, folder: str | os.PathLike[str], owner: str, parts: Mapping[str, str]
    ) -> None:
        self.folder, self.parts = pathlib.Path(folder), dict(parts)
        self._owner = owner
        self._stem = "-".join([owner, *(part[:NAME_DIGITS] for part in parts.values())])
        self._check_folder()
        # Damage is found before the work begins.
        self._found = {
            path.name.removesuffix(ENDING).removeprefix(f"{self._stem}-"): self._read(path)
            for path in sorted(self.folder.glob(f"{self._stem}-*{ENDING}"))
        }

    def describe(self) -> str:
        """What was found in the folder, in a few words."""
        if self._found:
            return f"{self.folder} has {', '.join(self._found)} of this fit"
        differing: list[list[str]] = []
        for path in self.folder.glob(f"{self._owner}-*{ENDING}"):
            others = zip(self.parts.items(), path.name.split("-")[1:4], strict=False)
            names = [name for (name, own), other in others if own[:NAME_DIGITS] != other]
            differing.append(names)
        if not differing:
            return f"{self.folder} has no checkpoint yet"
        nearest = min(differing, key=lambda names: len(names))
        return f"{self.folder} has checkpoints of other {' and '.join(nearest)}"

    def recall(self, stage: str) -> Arrays | None:
        """What was kept of a stage."""
        return self._found.get(stage)

    def keep(self, stage: str, arrays: Mapping[str, Any]) -> None:
        """Keep a stage; what was kept of it before stays until the new file is whole."""
        entries = {"imkpl_version": _version("imkpl"), "stage": stage, "parts": self.parts}
        values = {name: np.asarray(value) for name, value in arrays.items()}
        path = self._path(stage)
        try:
            write_file(path, pack_document(entries, values, CHECKPOINT_FILE))
        except OSError as error:
            raise _explained(
                error,
                f"The checkpoint {path} could not be written: {error.strerror or error}. What was "
                "kept before is whole; free some space or make the folder writable, and fit again "
                "to go on from there",
            ) from error

    def refuse(self, stage: str, problem: str) -> CheckpointError:
        """The error of a file whose content does not fit the problem."""
        return CheckpointError(f"{self._path(stage)} cannot be used: {problem}. {REMEDY}")

    def _path(self, stage: str) -> pathlib.Path:
        return self.folder / f"{self._stem}-{stage}{ENDING}"

    def _check_folder(self) -> None:
        """Raise before the work begins if nothing could be kept."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise _explained(
                error,
                f"checkpoint={str(self.folder)!r} is no folder that can be written to: "
                f"{error.strerror or error}. Choose another folder, or leave out checkpoint",
            ) from error

    def _read(self, path: pathlib.Path) -> Arrays:
        try:
            document, arrays = unpack_document(path.read_bytes(), CHECKPOINT_FILE)
            if document["parts"] != self.parts or self._path(document["stage"]) != path:
                raise CHECKPOINT_FILE.misfit("it is of another fit than its name says")
        except CheckpointError as error:
            raise CheckpointError(f"{path} cannot be used: {error}") from error
        except (OSError, MemoryError):
            raise
        # Files can be made to fail in any step.
        except Exception as error:
            problem = f"its content does not fit together ({type(error).__name__}: {error})"
            raise CHECKPOINT_FILE.misfit(f"{path} cannot be used: {problem}") from error
        return arrays


class NoCheckpoint:
    """Keeps nothing, and remembers nothing."""

    def describe(self) -> None:
        """There is nothing to say."""

    def recall(self, stage: str) -> None:
        """Nothing was kept."""

    def keep(self, stage: str, arrays: Mapping[str, Any]) -> None:
        """Keep nothing."""

    def refuse(self, stage: str, problem: str) -> CheckpointError:
        """The error of a file, of which there is none here."""
        return CheckpointError(f"{stage}: {problem}")


Keeper = Checkpoint | NoCheckpoint
NO_CHECKPOINT = NoCheckpoint()


def open_checkpoint(estimator: Any, *data: Any) -> Keeper:
    """Where an estimator keeps how far its fit has come."""
    if estimator.checkpoint is None:
        return NO_CHECKPOINT
    settings = estimator.get_params(deep=False)
    if isinstance(settings["random_state"], np.random.RandomState):
        raise ValueError(
            "random_state is a RandomState, whose draws a fit that is taken up again would not "
            "repeat. Use a whole number with checkpoint, such as random_state=0."
        )
    counted = {name: settings[name] for name in sorted(set(settings) - SILENT)}
    # The size of blocks decides on the order of sums.
    counted["working_memory"] = get_config()["working_memory"]
    versions = {name: _version(name) for name in LIBRARIES} | {"machine": platform.machine()}
    parts = {"data": digest(data), "settings": digest(counted), "versions": digest(versions)}
    return Checkpoint(estimator.checkpoint, type(estimator).__name__, parts)


def recall_or(checkpoint: Keeper, stage: str, find: Callable[[], dict[str, Any]]) -> Arrays:
    """What was kept of a stage, or what is found now and kept."""
    kept = checkpoint.recall(stage)
    if kept is None:
        kept = {name: np.asarray(value) for name, value in find().items()}
        checkpoint.keep(stage, kept)
    return kept


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    # Source that is not installed has no number.
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _explained(error: OSError, sentence: str) -> OSError:
    """An error of the same class and number whose text says what to do."""
    explained = type(error)(f"{sentence}.")
    explained.errno = error.errno
    return explained
