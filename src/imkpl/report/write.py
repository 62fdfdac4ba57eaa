"""Reports as files."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from datetime import datetime
from typing import Any

from imkpl.report.summarize import summarize


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    created: datetime | None = None,
) -> pathlib.Path:
    """Describe a model and its decisions on one page.

    The page is a single file that works without a network: what the model is, its prototypes and
    the real samples behind them, its features, how often it is right, and the reasons for its
    decisions.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
    X : samples
        Samples that it has not seen, in the form that was given to `fit`.
    y : array-like of shape (n_samples,) or None
        Their classes. Without them the page says nothing about accuracy.
    path : str or path
        Where to write. A name that ends in ``.json`` gives the numbers of the page as JSON.
    train : tuple (X, y), optional
        What the model was fitted to: for the distributions of features, the map, and equal samples.
    title : str, optional
        The heading.
    created : datetime, optional
        When the report was made; now by default.

    Returns
    -------
    pathlib.Path
        The file, which is replaced as a whole or not at all.
    """
    target = _check_target(path)
    if target.suffix.lower() not in (".html", ".htm", ".json"):
        raise ValueError(
            f"A report cannot be written to {target.name!r}, expected a name that ends in .html, "
            "or in .json for its numbers. Rename it."
        )
    found = summarize(model, X, y, train=train, title=title, created=created)
    if target.suffix.lower() == ".json":
        return save_json(found, target)
    from imkpl.report.render import render_report

    return _replace(target, render_report(found))


def save_json(found: dict[str, Any], path: str | os.PathLike[str]) -> pathlib.Path:
    """Save the numbers of a report.

    Parameters
    ----------
    found : dict
        What `summarize` gave.
    path : str or path
        Where to write.

    Returns
    -------
    pathlib.Path
        The file, which is replaced as a whole or not at all.
    """
    target = _check_target(path)
    return _replace(target, json.dumps(found, allow_nan=False, ensure_ascii=False, indent=1) + "\n")


def _check_target(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path, before anything is computed in vain."""
    target = pathlib.Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"{target} is a folder, expected the name of a file. Add one, such as "
            f"{target / 'report.html'}."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent} to write {target.name} to. Create it, or choose "
            "another."
        )
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"The folder {target.parent} cannot be written to. Choose another, or change its "
            "permissions."
        )
    return target


def _replace(target: pathlib.Path, text: str) -> pathlib.Path:
    """Write beside the target and move it there, so that no reader sees half a file."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # A temporary file is private; a report has the permissions of any new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return target
