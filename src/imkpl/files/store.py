"""Models as files that are safe to open: arrays and one JSON text, never a pickle."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from imkpl import __version__
from imkpl._checks import require, shorten
from imkpl._writing import digest, write_file
from imkpl.estimators._input import is_auto
from imkpl.files.contents import (
    ATTRIBUTES,
    ESTIMATORS,
    PARAMETERS,
    Arrays,
    check_learned,
    read_fields,
    write,
)
from imkpl.kernels import resolve_bank

FORMAT, VERSION = "imkpl model", 2
# The arrays beside those of the model: the JSON text, and the digest of all other arrays.
TEXT, DIGEST = "imkpl.json", "imkpl.digest"
# Bytes of the text that no model has.
MAX_TEXT = 2**26
# Attributes of scikit-learn that are not saved: callbacks are code that only `fit` runs.
NOT_LEARNED = frozenset({"_skl_callbacks", "_metadata_request"})
OUTPUT = "_sklearn_output_config"


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that does not hold a model.

    Its message says what was found, what was expected and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from imkpl import load
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    imkpl.files.store.ModelFileError: ... cannot be loaded: it is not a model file, ...
    """


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, to a file that is safe to open.

    The file holds arrays and JSON, never code, and has a checksum. It is written atomically; equal
    models give equal bytes.

    Parameters
    ----------
    model : IMKPL or ISKPL
        The model. Parameters that are code, such as a function used as a kernel, cannot be saved.
        Callbacks are left out.
    path : str or path
        Name of the file, usually with the ending ``.imkpl``. An existing file is replaced.

    See Also
    --------
    load : Read the model again.

    Examples
    --------
    >>> import os, tempfile
    >>> from imkpl import IMKPL, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.imkpl")
    ...     save(IMKPL(sparsity=5), path)
    ...     load(path)
    IMKPL(sparsity=5)
    """
    write_file(path, model_bytes(model))


def model_bytes(model: Any) -> bytes:
    """What `save` writes."""
    kind = type(model)
    if ESTIMATORS.get(kind.__name__) is not kind:
        raise ModelFileError(
            f"A model of class {kind.__name__} cannot be saved, expected one of "
            f"{', '.join(ESTIMATORS)}. Save the model inside it, or the whole with skops or pickle."
        )
    parameters, unlearned = model.get_params(deep=False), NOT_LEARNED
    if model.__sklearn_is_fitted__():
        unlearned |= set(model._form.attributes)
    learned = {name: value for name, value in vars(model).items() if name not in unlearned}
    arrays: Arrays = {}

    def write_all(values: dict[str, Any]) -> dict[str, Any]:
        return {name: write(values[name], name, arrays) for name in sorted(values)}

    try:
        node = {"class": kind.__name__, "parameters": write_all(parameters)}
        node["attributes"] = write_all({k: v for k, v in learned.items() if k not in parameters})
        document = {"format": FORMAT, "version": VERSION, "imkpl": __version__, "model": node}
        text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
        arrays[TEXT] = np.frombuffer(text, np.uint8)
        arrays[DIGEST] = np.frombuffer(_digest(arrays), np.uint8)
        content: bytes = safetensors.save(arrays)
        # What cannot be read is not written.
        _read_file(content)
    # A list that contains itself is nested without end.
    except (ValueError, TypeError, RecursionError) as error:
        problem = shorten(str(error).rstrip("."), 600)
        raise ModelFileError(f"{kind.__name__} cannot be saved: {problem}.") from error
    return content


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save` wrote; nothing in the file is ever executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model, which predicts what the saved one does, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or was cut short, altered, or written by another version.

    See Also
    --------
    save : Write a model to a file.
    """
    source = pathlib.Path(path)
    if not source.is_file():
        # A pipe would be waited for, and a device read without end.
        kind, problem = OSError, "is a device, a pipe or a socket, expected a regular file"
        if not source.exists():
            kind, problem = FileNotFoundError, "does not exist"
        elif source.is_dir():
            kind, problem = IsADirectoryError, "is a folder"
        raise kind(f"{source} {problem}. Pass a file that imkpl.save wrote.")
    content = source.read_bytes()
    try:
        return _read_file(content)
    except MemoryError:
        raise
    # A forged file can fail anywhere; to whoever loads it, that is one kind of failure.
    except Exception as error:
        text = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        if isinstance(error, SafetensorError):
            text = f"it is not a model file, or was cut short or altered ({error})"
        raise ModelFileError(
            f"{source} cannot be loaded: {shorten(text, 500)}. Expected a file written by "
            "imkpl.save, nothing else is opened. Copy it again, save the model again, or update "
            "imkpl."
        ) from error


def _read_file(content: bytes) -> Any:
    """The model in the content of a file; every step is linear in its size."""
    arrays: Arrays = safetensors.load(content)
    require({TEXT, DIGEST} <= set(arrays), "it is not a model file, but other arrays")
    seal = arrays.pop(DIGEST).tobytes()
    require(seal == _digest(arrays), "it was altered after it was saved: its checksum differs")
    text = arrays.pop(TEXT)
    require(text.size <= MAX_TEXT, f"its text has {text.size} bytes, expected {MAX_TEXT} at most")
    document = json.loads(text.tobytes(), parse_int=_read_whole)
    is_right = isinstance(document, dict) and document.get("format") == FORMAT
    require(is_right, "its text was not written by imkpl")
    version, node = document.get("version"), document["model"]
    require(
        version == VERSION,
        f"imkpl {document.get('imkpl')} wrote it in version {version!r} of the format, and this "
        f"imkpl reads version {VERSION}",
    )
    name = str(node["class"])
    require(name in ESTIMATORS, f"it holds a {shorten(name)}, which this imkpl does not know")
    model = ESTIMATORS[name](**read_fields(node["parameters"], PARAMETERS[name], name, "", arrays))
    model._validate_params()
    if not is_auto(model.kernels):
        resolve_bank(model.kernels)
    learned = read_fields(node["attributes"], ATTRIBUTES, name, "", arrays)
    if set(learned) - {OUTPUT}:
        check_learned(name, learned)
        vars(model).update(learned["_form"].attributes)
    vars(model).update(learned)
    require(not arrays, f"its array {min(arrays, default='')!r} has no place in the model")
    return model


def _digest(arrays: Arrays) -> bytes:
    """The digest of the names, types, shapes and values of arrays."""
    parts: list[bytes] = []
    for name, array in sorted(arrays.items()):
        parts += [f"{name} {array.dtype.name} {array.shape}".encode(), array.tobytes()]
    return digest(*parts, size=32)


def _read_whole(text: str) -> int:
    """A whole number of 64 bits; larger ones could be made to share a hash."""
    value = int(text)
    require(-(2**63) <= value < 2**64, "its text has a number beyond 64 bits")
    return value
