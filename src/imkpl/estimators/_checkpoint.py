"""Resuming a fit that was killed: what it keeps in a folder, and how it goes on from there.

A checkpoint holds what took long and is small: landmarks, the scores of splits, and after every
round prototypes, codes, kernel weights and the objective. All else is computed again, by the same
calls and so with the same result, to the last bit.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import string
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from imkpl._archive import (
    Arrays,
    FileKind,
    pack_document,
    rephrase,
    unpack_document,
    write_file,
)
from imkpl._checks import shorten
from imkpl._hash import hash_values
from imkpl._typing import FloatArray, IntArray
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import Problem, State

# Settings that do not change the result, or only how far it gets.
SILENT = frozenset({"checkpoint", "cv", "max_iter", "n_jobs", "verbose"})
LIBRARIES = ("imkpl", "numpy", "scipy", "scikit-learn", "numba")
ENDING = ".checkpoint"
# File names have this many digits of every digest, files have all.
NAME_DIGITS = 16
REMEDY = "Delete it, and the fit starts again with what else is in the folder."
# The arrays of every stage, with the kinds of their types; numbers after a name count splits.
STAGES: Mapping[str, Mapping[str, str]] = {
    "landmarks": {"indices": "i", "weights": "f"},
    "round": {
        "history": "f",
        "weights": "f",
        "log_strengths": "f",
        **{
            f"{name}_{part}": kind
            for name in ("prototypes", "codes")
            for part, kind in (("data", "f"), ("indices", "iu"), ("indptr", "iu"))
        },
    },
    "size": {"n_prototypes": "i"},
    "sizes": {"sizes": "i"},
    "split": {"scores": "f", "n_kernels": "iu", "n_prototypes": "iu"},
}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the file and says what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from imkpl import IMKPL
    >>> X, y = [[0.0], [1.0], [9.0], [8.0]], ["low", "low", "high", "high"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = IMKPL(n_prototypes=2, checkpoint=folder).fit(X, y)
    ...     for path in pathlib.Path(folder).iterdir():
    ...         _ = path.write_bytes(b"something else")
    ...     model.fit(X, y)
    Traceback (most recent call last):
        ...
    imkpl.estimators._checkpoint.CheckpointError: ...round.checkpoint cannot be used: ...
    """


CHECKPOINT_FILE = FileKind(
    name="checkpoint",
    document="checkpoint.json",
    format_version=2,
    error=CheckpointError,
    not_one="it is not a checkpoint. Move it away, or choose another folder as checkpoint.",
    remedy=REMEDY,
    source=REMEDY,
)


class Checkpoint:
    """What one fit keeps, one file per stage.

    The names of the files tell fits apart: other data, settings or versions give other names, so
    that many fits, also at the same time, can share a folder.
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
        """The stages of this fit that were found, or else how the nearest other fit differs."""
        if self._found:
            return f"{self.folder} has {', '.join(self._found)} of this fit"
        differing: list[list[str]] = []
        for path in self.folder.glob(f"{self._owner}-*{ENDING}"):
            others = zip(self.parts.items(), path.name.split("-")[1:4], strict=False)
            differing.append([name for (name, own), other in others if own[:NAME_DIGITS] != other])
        if not differing:
            return f"{self.folder} has no checkpoint yet"
        nearest = min(differing, key=lambda names: len(names))
        return f"{self.folder} has checkpoints of other {' and '.join(nearest)}"

    def load(self, stage: str) -> Arrays | None:
        """What was saved of a stage."""
        return self._found.get(stage)

    def save(self, stage: str, arrays: Mapping[str, Any]) -> None:
        """Save a stage; its older file stays until the new one is complete."""
        entries = {"imkpl_version": _version("imkpl"), "stage": stage, "parts": self.parts}
        values = {name: np.asarray(value) for name, value in arrays.items()}
        write_file(self._path(stage), pack_document(entries, values, CHECKPOINT_FILE))

    def load_or_compute(
        self,
        stage: str,
        compute: Callable[[], dict[str, Any]],
        check: Callable[[Arrays], None] = lambda arrays: None,
    ) -> Arrays:
        """What was saved of a stage and passes the check, or what is computed and saved now."""
        found = self.load(stage)
        if found is None:
            found = {name: np.asarray(value) for name, value in compute().items()}
            self.save(stage, found)
            return found
        try:
            check(found)
        except (KeyError, ValueError) as error:
            raise self._misfit(stage, error) from error
        return found

    def save_round(self, state: State, history: Sequence[ObjectiveParts]) -> None:
        """Save where the search stands after a round."""
        terms = np.array([astuple(parts) for parts in history])
        arrays = {
            "history": terms,
            "weights": state.weights,
            "log_strengths": state.log_strengths,
        }
        for name in ("prototypes", "codes"):
            rows = getattr(state, name)
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}_{part}"] = getattr(rows, part)
        self.save("round", arrays)

    def load_round(
        self, problem: Problem, max_iter: int
    ) -> tuple[State, list[ObjectiveParts]] | None:
        """The state and the history after the last round that was saved."""
        found = self.load("round")
        if found is None or len(found.get("history", ())) > max_iter:
            return None
        try:
            terms = check_floats(found["history"], (-1, len(fields(ObjectiveParts))))
            weights = check_floats(found["weights"], (problem.kernel_indices.size,))
            n_samples, n_prototypes = problem.labels.size, found["prototypes_indptr"].size - 1
            state = State(
                prototypes=_read_rows("prototypes", found, (n_prototypes, n_samples)),
                codes=_read_rows("codes", found, (n_samples, n_prototypes)),
                weights=weights,
                kernel=problem.combine(weights),
                log_strengths=check_floats(found["log_strengths"], (n_prototypes,)),
            )
            return state, [ObjectiveParts(*row) for row in terms.tolist()]
        except MemoryError:
            raise
        # A file with a valid checksum can still have been made to fail in any step.
        except Exception as error:
            raise self._misfit("round", error) from error

    def _misfit(self, stage: str, error: Exception) -> CheckpointError:
        text = shorten(f"{type(error).__name__}: {error}", 500)
        problem = f"its content does not fit the data ({text})"
        return CheckpointError(f"{self._path(stage)} cannot be used: {problem}. {REMEDY}")

    def _path(self, stage: str) -> pathlib.Path:
        return self.folder / f"{self._stem}-{stage}{ENDING}"

    def _check_folder(self) -> None:
        """Raise before the work begins if nothing could be saved."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise rephrase(
                error,
                f"checkpoint={str(self.folder)!r} cannot be written to: "
                f"{error.strerror or error}. Choose another folder, or leave out checkpoint.",
            ) from error

    def _read(self, path: pathlib.Path) -> Arrays:
        try:
            document, arrays = unpack_document(path.read_bytes(), CHECKPOINT_FILE)
            if document["parts"] != self.parts or self._path(document["stage"]) != path:
                raise CHECKPOINT_FILE.misfit("it is of another fit than its name says")
            expected = STAGES[document["stage"].rstrip(string.digits)]
            is_right = set(arrays) == set(expected) and all(
                array.dtype.kind in expected[name] for name, array in arrays.items()
            )
            if not is_right:
                raise CHECKPOINT_FILE.misfit(
                    f"its arrays are not those of a {document['stage']}, expected "
                    f"{', '.join(expected)}"
                )
        except CheckpointError as error:
            raise CheckpointError(f"{path} cannot be used: {shorten(str(error), 500)}") from error
        except (OSError, MemoryError):
            raise
        # Files can be made to fail in any step.
        except Exception as error:
            text = shorten(f"{type(error).__name__}: {error}", 500)
            problem = f"its content does not fit together ({text})"
            raise CHECKPOINT_FILE.misfit(f"{path} cannot be used: {problem}") from error
        return arrays


def open_checkpoint(estimator: Any, *data: Any) -> Checkpoint:
    """The checkpoint of a fit to these data."""
    settings = estimator.get_params(deep=False)
    if isinstance(settings["random_state"], np.random.RandomState):
        raise ValueError(
            "random_state is a RandomState, whose draws a resumed fit would not repeat. Use an "
            "integer with checkpoint, such as random_state=0."
        )
    relevant = {name: settings[name] for name in sorted(set(settings) - SILENT)}
    # The size of blocks decides on the order of sums.
    relevant["working_memory"] = get_config()["working_memory"]
    versions = {name: _version(name) for name in LIBRARIES} | {"machine": platform.machine()}
    parts = {"data": data, "settings": relevant, "versions": versions}
    digests = {name: hash_values(part) for name, part in parts.items()}
    return Checkpoint(estimator.checkpoint, type(estimator).__name__, digests)


def check_floats(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Finite numbers of this shape, in which -1 stands for any length."""
    expected = tuple(
        have if want == -1 else want for have, want in zip(values.shape, shape, strict=False)
    )
    is_right = values.dtype == np.float64 and values.shape == expected and len(shape) == values.ndim
    if not is_right or not np.isfinite(values).all():
        raise ValueError(
            f"an array of {values.dtype} and shape {values.shape}, expected finite numbers and "
            f"shape {shape}"
        )
    return np.asarray(values)


def check_indices(values: IntArray, size: int) -> None:
    """Raise unless these are indices below `size`."""
    is_list = values.ndim == 1 and values.size > 0 and values.dtype == np.intp
    if not is_list or values.min() < 0 or values.max() >= size:
        raise ValueError(f"an array of {values.dtype}, expected numbers from 0 to {size - 1}")


def _read_rows(name: str, found: Arrays, shape: tuple[int, int]) -> sp.csr_array:
    data, indices, indptr = (found[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    check_floats(data, (-1,))
    rows = sp.csr_array((data, indices, indptr), shape=shape)
    # The constructor chooses a type for indices; the one that was saved stays.
    rows.indices, rows.indptr = indices, indptr
    # Compiled loops trust the indices, so every one of them is checked.
    rows.check_format(full_check=True)
    return rows


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    # Source that is not installed has no version.
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
