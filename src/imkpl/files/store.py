"""Save a model to one file and load it, without pickle."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from imkpl import __version__
from imkpl.archives.atomic import write_file
from imkpl.archives.document import pack_document, unpack_document
from imkpl.files.errors import MODEL_FILE, ModelFileError, misfit
from imkpl.files.read_tree import TreeReader
from imkpl.files.write_tree import TreeWriter


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to a file that is safe to open.

    The file holds JSON and arrays, never code, and has a checksum. It is written as a whole or not
    at all; the same model gives the same bytes.

    Parameters
    ----------
    model : IMKPL, ISKPL, IMKPLCV, IMKPLSelector, MultiLabelIMKPL or TimeSeriesIMKPL
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
    entries = {"imkpl_version": __version__, "model": tree}
    packed = pack_document(entries, writer.arrays, MODEL_FILE)
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
        return _read(content)
    except ModelFileError as error:
        raise ModelFileError(f"{source} cannot be loaded: {error}") from error
    except MemoryError:
        raise
    # Files can be made to fail in any step; to those who load them it is one kind of failure.
    except Exception as error:
        problem = f"its content does not fit together ({type(error).__name__}: {error})"
        raise misfit(f"{source} cannot be loaded: {problem}") from error


def _read(content: bytes) -> Any:
    document, arrays = unpack_document(content, MODEL_FILE)
    if document["model"]["type"] != "estimator":
        raise misfit("it holds something that is not a model")
    return TreeReader(arrays).read(document["model"])
