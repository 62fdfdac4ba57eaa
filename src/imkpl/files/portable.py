"""Models for other programs: JSON or ONNX."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np

from imkpl._json import to_json
from imkpl._writing import write_file
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.explanations.portable import describe_model, find_obstacle
from imkpl.files.graph import build_graph
from imkpl.files.store import ModelFileError
from imkpl.model.evidence import Evidence


def export(model: Any, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write a fitted model as JSON or ONNX, for programs that do without this library.

    ONNX (``pip install 'imkpl[onnx]'``) takes columns of numbers only, and has no novelty. The file
    holds the training samples behind the prototypes, and no code.

    Parameters
    ----------
    model : IMKPL or ISKPL
        A fitted model of a table with numbers, categories and missing cells, with
        ``decision="votes"``.
    path : str or path
        Where to write, a name that ends in ``.json`` or ``.onnx``. An existing file is replaced.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ModelFileError
        If the model compares words, series or samples of a user's own, or has
        ``decision="share"``.

    See Also
    --------
    save : Write a model for this library, whatever it reads.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=3, max_kernels=4).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = json.loads(export(model, f"{folder}/wine.json").read_text())
    >>> found["classes"], len(found["features"]), len(found["prototypes"])
    ([0, 1, 2], 4, 3)
    """
    target = pathlib.Path(path)
    ending = target.suffix.lower()
    if ending not in (".json", ".onnx"):
        raise ValueError(f"The path is {target.name}, expected an ending of .json or .onnx.")
    found = describe(model)
    text = json.dumps(found, allow_nan=False)
    write_file(target, build_graph(found) if ending == ".onnx" else f"{text}\n".encode())
    return target


def describe(model: Any) -> dict[str, Any]:
    """A fitted model as dicts, lists, numbers and strings; docs/deployment.md lists the entries."""
    if not isinstance(model, BasePrototypeClassifier) or not model.__sklearn_is_fitted__():
        raise ModelFileError(
            f"{type(model).__name__} cannot be exported: it is not a fitted classifier of "
            "prototypes, such as IMKPL. Fit one, or export the last step of a pipeline, which "
            "reads what the pipeline makes of samples."
        )
    predictor = model._predictor
    nothing = np.empty((0, predictor.mixes.shape[0]))
    evidence = Evidence(predictor, [], nothing, predictor.encode_similarities(nothing))
    explanation = model._explain(evidence, np.arange(0))
    obstacle = find_obstacle(explanation)
    if obstacle is not None:
        raise ModelFileError(
            f"The model cannot be exported: {obstacle}. Keep it with imkpl.save, and predict with "
            "this library."
        )
    found: dict[str, Any] = to_json(describe_model(explanation, model.temperature_))
    return found
