"""Save a model to one file and load it, without pickle."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from imkpl import __version__
from imkpl.files.archive import DOCUMENT, pack, unpack, write_file
from imkpl.files.arrays import read_array, write_array
from imkpl.files.errors import ModelFileError, misfit
from imkpl.files.read_tree import TreeReader
from imkpl.files.write_tree import TreeWriter

FORMAT = "imkpl model"
FORMAT_VERSION = 1


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to a file that is safe to open.

    The file holds JSON and arrays, never code, and has a checksum. It is written as a whole or not
    at all; the same model gives the same bytes.

    Parameters
    ----------
    model : IMKPL, ISKPL, IMKPLCV, IMKPLSelector, TimeSeriesIMKPL or SkeletonLieGroup
        What to save. Parameters that are code, such as a function as a kernel, cannot be saved.
        Callbacks are left out.
    path : str or path
        Where to, usually with the ending ``.imkpl``. A file that is there is replaced.

    See Also
    --------
    load : The way back.

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
    writer = TreeWriter()
    tree = writer.write_estimator(model)
    content, entries = {}, {}
    for name, array in writer.arrays.items():
        content[_member(name)], entries[name] = write_array(array)
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "imkpl_version": __version__,
        "model": tree,
        "arrays": entries,
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    packed = pack({DOCUMENT: text.encode("ascii"), **content})
    target = pathlib.Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder. Pass the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"The folder {target.parent} of {target.name} is not there. Make it, or save elsewhere."
        )
    write_file(target, packed)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; nothing in the file is ever executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        A model that predicts, to the last bit, what the saved one does.

    Raises
    ------
    ModelFileError
        If it is not a model file, or was cut short, altered, or written by a newer version.

    See Also
    --------
    save : The way there.
    """
    source = pathlib.Path(path)
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder. Pass the file that imkpl.save wrote.")
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{source} is not there. Pass the file that imkpl.save wrote."
        ) from None
    try:
        return _read(unpack(content))
    except ModelFileError as error:
        raise ModelFileError(f"{source} cannot be loaded: {error}") from error
    except MemoryError:
        raise
    # Files can be made to fail in any step; to those who load them it is one kind of failure.
    except Exception as error:
        problem = f"its content does not fit together ({type(error).__name__}: {error})"
        raise misfit(f"{source} cannot be loaded: {problem}") from error


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def _read(members: Mapping[str, bytes]) -> Any:
    document = json.loads(
        members[DOCUMENT], object_pairs_hook=_read_object, parse_constant=_refuse_constant
    )
    _check_version(document)
    entries = document["arrays"]
    extra = sorted(set(members) - {DOCUMENT} - {_member(name) for name in entries})
    if extra:
        raise misfit(f"it has a member {extra[0]!r} that belongs to no array")
    missing = [name for name in entries if _member(name) not in members]
    if missing:
        raise misfit(f"array {missing[0]!r} is missing")
    arrays = {name: read_array(members[_member(name)], entries[name], name) for name in entries}
    if document["model"]["type"] != "estimator":
        raise misfit("it holds something that is not a model")
    return TreeReader(arrays).read(document["model"])


def _check_version(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise misfit("model.json is not that of imkpl")
    version = document["format_version"]
    if type(version) is not int or version < 1:
        raise misfit(f"its format version is {version!r}, expected a whole number from 1")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"imkpl {document.get('imkpl_version')} wrote it in version {version} of the format, "
            f"and imkpl {__version__} reads version {FORMAT_VERSION}. Update imkpl."
        )


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise misfit("a name stands twice in model.json")
    return found


def _refuse_constant(text: str) -> Any:
    raise misfit(f"model.json holds {text}, expected plain numbers")
