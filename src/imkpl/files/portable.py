"""Models for other programs: a dict of numbers as JSON, or a graph as ONNX."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np

from imkpl._json import to_json
from imkpl._writing import write_file
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.explanations.exports import describe_model, find_obstacle
from imkpl.files.store import ModelFileError
from imkpl.model.evidence import Evidence
from imkpl.model.predictor import Compared

# Read by onnxruntime 1.14 and later.
OPSET, IR_VERSION = 18, 8
# Below all logarithms of votes.
LOWEST = -1e300


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
    compared = Compared(nothing, nothing, np.empty(0))
    evidence = Evidence(predictor, [], compared, predictor.encode_compared(compared))
    explanation = model._explain(evidence, np.arange(0))
    obstacle = find_obstacle(explanation)
    if obstacle is not None:
        raise ModelFileError(
            f"The model cannot be exported: {obstacle}. Keep it with imkpl.save, and predict with "
            "this library."
        )
    found: dict[str, Any] = to_json(describe_model(explanation, model.temperature_))
    return found


def build_graph(found: dict[str, Any]) -> bytes:
    """An ONNX file that predicts as the model that `describe` described.

    The input "X" holds double numbers, NaN where missing. The outputs are "label", "probabilities",
    "scores" and "contributions": (n_rows, n_prototypes, n_features + 2), what each adds to the
    score of the prototype's class. Their names are in the metadata.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError(
            "ONNX files need onnx, which is not installed. Install it with pip install "
            "'imkpl[onnx]', or export to .json."
        ) from error
    features, kernels, prototypes = found["features"], found["kernels"], found["prototypes"]
    categories = [feature["column"] for feature in features if feature["kind"] == "category"]
    if categories:
        raise ModelFileError(
            f"The model cannot be exported to ONNX: column {categories[0]!r} holds categories, and "
            "the graph takes one array of numbers. Export it to .json."
        )
    columns = list(dict.fromkeys(feature["column"] for feature in features))
    places = np.array([columns.index(features[one["feature"]]["column"]) for one in kernels])
    kinds = np.array([one["kind"] for one in kernels])
    is_mark = kinds != "number"
    fills = np.array([one.get("fill", np.nan) for one in kernels])
    cells = np.array([case["cells"] for case in found["support"]], dtype=float)
    given = cells[:, [one["feature"] for one in kernels]]
    # What kernels read: a number, or 1 for a missing cell and 0 for others.
    filled = np.where(np.isnan(given), fills, given)
    support = np.where(kinds == "missing", np.isnan(given), filled)
    rates, weights = (np.array([float(one[key]) for one in kernels]) for key in ("rate", "weight"))
    owners = np.eye(len(features))[[one["feature"] for one in kernels]]
    classes = np.array([one["class"] for one in prototypes])
    bonuses = np.array([float(one["bonus"]) for one in prototypes])
    mixes = np.zeros((len(prototypes), len(support)))
    for j, one in enumerate(prototypes):
        mixes[j, one["samples"]] = one["parts"]
        mixes[j, one["contrast_samples"]] -= one["contrast_parts"]
    others = np.where(np.eye(len(found["classes"]))[:, classes] > 0, 0.0, LOWEST)
    labels = np.array(found["classes"])
    if labels.dtype.kind != "i":
        labels = np.array([str(label) for label in found["classes"]], dtype=object)

    nodes: list[Any] = []
    constants: list[Any] = []

    def add(kind: str, *inputs: Any, name: str = "", n_outputs: int = 1, **more: Any) -> str:
        """The name of the first output of a new node; arrays among its inputs are constants."""
        names = []
        for one in inputs:
            names.append(one if isinstance(one, str) else f"constant{len(constants)}")
            if not isinstance(one, str):
                constants.append(numpy_helper.from_array(np.asarray(one), names[-1]))
        first = name or f"node{len(nodes)}"
        outputs = [first, *(f"{first}_{place}" for place in range(1, n_outputs))]
        nodes.append(helper.make_node(kind, names, outputs, **more))
        return first

    last, first = np.array([2]), np.array([1])
    sharpness = np.array(float(found["sharpness"]))
    new = add("Gather", "X", places, axis=1)
    numbers = add("Where", is_mark, np.array(0.0), new)
    read = add("Where", add("IsNaN", new), np.where(is_mark, 1.0, fills), numbers)
    # (n_rows, n_support, n_kernels), then the same by prototypes.
    gaps = add("Mul", add("Sub", add("Unsqueeze", read, first), support), rates)
    values = add("Exp", add("Neg", add("Mul", gaps, gaps)))
    parts = add("Mul", add("MatMul", mixes, values), weights)
    similarities = add("ReduceSum", parts, last, keepdims=0)
    logs = add("Mul", add("Add", similarities, bonuses), sharpness)
    # The logarithm of the sum of the votes for every class.
    own = add("Add", add("Unsqueeze", logs, first), others)
    largest = add("ReduceMax", own, last)
    sums = add("ReduceSum", add("Exp", add("Sub", own, largest)), last)
    totals = add("Squeeze", add("Add", largest, add("Log", sums)), last)
    two = add("TopK", totals, np.array([2]), axis=1, n_outputs=2)
    leads = add("Sub", totals, add("Gather", two, first, axis=1))
    scores = add("Div", leads, sharpness, name="scores")
    temperature = np.array(float(found["temperature"]))
    add("Softmax", add("Mul", scores, temperature), axis=1, name="probabilities")
    add("Gather", labels, add("ArgMax", scores, axis=1, keepdims=0), name="label")
    # The prototypes of a class share its score as they share its votes. Features and bonuses count
    # relative to those of the runner-up, and the rest is what is left.
    voices = add("Exp", add("Sub", logs, add("Gather", totals, classes, axis=1)))
    bonus = np.pad(bonuses[:, np.newaxis], ((0, 0), (len(features), 0)))
    words = add("Add", add("MatMul", parts, np.pad(owners, ((0, 0), (0, 1)))), bonus)
    second = add("Equal", classes, add("Gather", f"{two}_1", first, axis=1))
    heard = add("Mul", add("Cast", second, to=TensorProto.DOUBLE), voices)
    words = add("Sub", words, add("MatMul", add("Unsqueeze", heard, first), words))
    own_scores = add("Unsqueeze", add("Gather", scores, classes, axis=1), last)
    rest = add("Sub", own_scores, add("ReduceSum", words, last))
    whole_words = add("Concat", words, rest, axis=2)
    add("Mul", whole_words, add("Unsqueeze", voices, last), name="contributions")

    double, n_classes = TensorProto.DOUBLE, len(found["classes"])
    kind = TensorProto.INT64 if labels.dtype.kind == "i" else TensorProto.STRING
    whole = [
        helper.make_tensor_value_info(name, one, ["n_rows", *axes])
        for name, one, axes in (
            ("X", double, [len(columns)]),
            ("label", kind, []),
            ("probabilities", double, [n_classes]),
            ("scores", double, [n_classes]),
            ("contributions", double, [len(prototypes), len(features) + 2]),
        )
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "imkpl", whole[:1], whole[1:], constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="imkpl",
    )
    model.ir_version = IR_VERSION
    names = {
        "columns": columns,
        "classes": found["classes"],
        "features": [*(feature["name"] for feature in features), "bonus", "everything else"],
        "prototypes": [found["classes"][label] for label in classes],
    }
    helper.set_model_props(model, {key: json.dumps(value) for key, value in names.items()})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
