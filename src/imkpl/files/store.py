"""Models as files that are safe to open: arrays and one JSON text, never a pickle."""

from __future__ import annotations

import json
import math
import os
import pathlib
import stat
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from imkpl import __version__
from imkpl._checks import require, shorten
from imkpl._hash import digest
from imkpl._writing import write_file
from imkpl.estimators._auto import is_auto
from imkpl.files.codec import Arrays, read_fields, write
from imkpl.files.contents import ESTIMATORS, LEARNED, PARAMETERS, PARTS, check_learned
from imkpl.kernels import resolve_bank

FORMAT, VERSION = "imkpl model", 2
# The arrays beside those of the model: the JSON text, and the digest of all other arrays.
TEXT, DIGEST = "imkpl.json", "imkpl.digest"
# Bytes of the text that no model has.
MAX_TEXT = 2**26
# Attributes of scikit-learn that are not learned: callbacks are code that only `fit` runs, and
# metadata requests have a place of their own in the file.
NOT_LEARNED = frozenset({"_skl_callbacks", "_metadata_request"})
ROUTED_METHODS = ("fit", "score")
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
    arrays: Arrays = {}
    try:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "imkpl": __version__,
            "model": _write_model(model, arrays),
        }
        text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
        arrays[TEXT] = np.frombuffer(text, np.uint8)
        arrays[DIGEST] = np.frombuffer(_digest(arrays), np.uint8)
        content: bytes = safetensors.save(arrays)
        # What cannot be read is not written.
        _read_file(content)
    except (ValueError, TypeError) as error:
        problem = shorten(str(error).rstrip("."), 500)
        raise ModelFileError(f"{kind.__name__} cannot be saved: {problem}.") from error
    return content


def _write_model(model: Any, arrays: Arrays) -> dict[str, Any]:
    """An estimator as JSON."""
    parameters = model.get_params(deep=False)
    unlearned = NOT_LEARNED | set(parameters)
    if model.__sklearn_is_fitted__():
        unlearned |= set(model._form.attributes)
    learned = {name: value for name, value in vars(model).items() if name not in unlearned}
    request = vars(model).get("_metadata_request")
    return {
        "class": type(model).__name__,
        "parameters": {name: write(parameters[name], name, arrays) for name in sorted(parameters)},
        "attributes": {name: write(learned[name], name, arrays) for name in sorted(learned)},
        "requests": request
        and {method: dict(getattr(request, method).requests) for method in ROUTED_METHODS},
    }


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
    content = _read_regular(source)
    try:
        return _read_file(content)
    except MemoryError:
        raise
    # A forged file can fail anywhere; to whoever loads it, that is one kind of failure.
    except Exception as error:
        text = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        problem = f"{shorten(text, 500)}. Get a file that imkpl.save wrote."
        if isinstance(error, ModelFileError):
            problem = str(error)
        raise ModelFileError(f"{source} cannot be loaded: {problem}") from error


def trusted_types() -> list[str]:
    """Names of the types in a fitted model that skops does not trust by itself.

    Returns
    -------
    list of str
        For ``skops.io.load(path, trusted=trusted_types())``: the estimators and kernels of this
        library and their parts, SciPy's sparse array and NumPy's dtype. None of them runs code
        from a file.

    Examples
    --------
    >>> "scipy.sparse._csr.csr_array" in trusted_types()
    True
    """
    classes = (*ESTIMATORS.values(), *PARTS.values(), sp.csr_array, np.dtype)
    return sorted(f"{one.__module__}.{one.__qualname__}" for one in classes)


def _read_regular(source: pathlib.Path) -> bytes:
    """The bytes of a file; a pipe would be waited for, and a device read without end."""
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder. Pass a file that imkpl.save wrote.")
    at_once = getattr(os, "O_NONBLOCK", 0)
    try:
        with open(source, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise OSError(
                    f"{source} is a device, a pipe or a socket, expected a regular file. Pass a "
                    "file that imkpl.save wrote."
                )
            return file.read(found.st_size)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{source} does not exist. Pass a file that imkpl.save wrote."
        ) from None


def _read_file(content: bytes) -> Any:
    """The model in the content of a file; every step is linear in its size."""
    if content.startswith(b"PK\x03\x04") and content[30:40] == b"model.json":
        raise ModelFileError(
            "an earlier version of imkpl wrote it, in a format that is not read any more. Fit the "
            "model again and save it, or load the file with that version."
        )
    try:
        arrays: Arrays = safetensors.load(content)
    except SafetensorError as error:
        raise ModelFileError(
            f"it is not a model file, or was cut short or altered ({shorten(str(error), 200)}). "
            "Expected a file written by imkpl.save; pickles and archives are never opened. Copy it "
            "again, or save the model again."
        ) from error
    if not {TEXT, DIGEST} <= set(arrays):
        raise ModelFileError(
            "it is not a model file, but other arrays. Expected a file written by imkpl.save."
        )
    seal = arrays.pop(DIGEST)
    if seal.tobytes() != _digest(arrays):
        raise ModelFileError(
            "it was altered after it was saved: its checksum does not match. Copy it again, or "
            "save the model again."
        )
    text = arrays.pop(TEXT)
    require(text.size <= MAX_TEXT, f"its text has {text.size} bytes, expected {MAX_TEXT} at most")
    document = _parse(text.tobytes())
    require(isinstance(document, dict), "its text is not an object")
    require(document.get("format") == FORMAT, "its text was not written by imkpl")
    version = document.get("version")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"imkpl {document.get('imkpl')} wrote it in version {version} of the format, and this "
            f"imkpl reads version {VERSION}. Update imkpl."
        )
    require(version == VERSION, f"the version of its format is {version!r}, expected {VERSION}")
    model = _read_model(document["model"], arrays)
    require(not arrays, f"its array {min(arrays, default='')!r} has no place in the model")
    return model


def _read_model(node: Any, arrays: Arrays) -> Any:
    """The estimator of a node."""
    kind = ESTIMATORS.get(str(node["class"]))
    if kind is None:
        raise ModelFileError(
            f"it holds a {shorten(repr(node['class']))}, which this version of imkpl does not "
            "know. Update imkpl."
        )
    name = kind.__name__
    model = kind(**read_fields(node["parameters"], PARAMETERS[name], name, "", arrays))
    model._validate_params()
    if not is_auto(model.kernels):
        resolve_bank(model.kernels)
    hints = {one: hint for one, (hint, _) in LEARNED.items()}
    learned = read_fields(node["attributes"], hints, name, "", arrays)
    if set(learned) - {OUTPUT}:
        check_learned(name, learned)
        vars(model).update(learned["_form"].attributes)
    vars(model).update(learned)
    if node["requests"]:
        from sklearn import config_context

        with config_context(enable_metadata_routing=True):
            for method in ROUTED_METHODS:
                getattr(model, f"set_{method}_request")(**node["requests"][method])
    return model


def _digest(arrays: Arrays) -> bytes:
    """The digest of the names, types, shapes and values of arrays."""
    parts: list[bytes] = []
    for name, array in sorted(arrays.items()):
        parts += [f"{name} {array.dtype.name} {array.shape}".encode(), array.tobytes()]
    return digest(*parts, size=32)


def _parse(text: bytes) -> Any:
    """The value of a JSON text: names occur once, and numbers are finite and have 64 bits."""

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        require(len(found) == len(pairs), "a name occurs twice in an object of its text")
        return found

    def read_number(text: str) -> float:
        value = float(text)
        require(math.isfinite(value), f"its text has the number {text}, expected finite numbers")
        return value

    def read_whole(text: str) -> int:
        value = int(text)
        require(-(2**63) <= value < 2**64, "its text has a number beyond 64 bits")
        return value

    return json.loads(
        text,
        object_pairs_hook=read_object,
        parse_float=read_number,
        parse_int=read_whole,
        parse_constant=read_number,
    )
