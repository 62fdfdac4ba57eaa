"""A model as an ONNX graph: probabilities, and what every prototype and feature adds to a score."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from imkpl.files.store import ModelFileError

# Read by onnxruntime 1.14 and later.
OPSET, IR_VERSION = 18, 8
# Below all logarithms of votes.
LOWEST = -1e300


def build_graph(found: dict[str, Any]) -> bytes:
    """An ONNX file that predicts as the model that `portable.describe` described.

    The input "X" holds double numbers, NaN where missing. The outputs are "label", "probabilities",
    "scores" and "contributions": (n_rows, n_prototypes, n_features), what each adds to the score of
    the prototype's class. Their names are in the metadata.
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
    for feature in features:
        if feature["kind"] == "category":
            raise ModelFileError(
                f"The model cannot be exported to ONNX: column {feature['column']!r} holds "
                "categories, and the graph takes one array of numbers. Export it to .json."
            )
    columns = list(dict.fromkeys(feature["column"] for feature in features))
    places = np.array([columns.index(features[one["feature"]]["column"]) for one in kernels])
    is_mark = np.array([one["kind"] != "number" for one in kernels])
    fills = np.array([one.get("fill", np.nan) for one in kernels])
    # What kernels read: a number, or 1 for a missing cell and 0 for others.
    support = np.array(
        [[_read(one, case["cells"]) for one in kernels] for case in found["support"]]
    )
    rates, weights = (np.array([float(one[key]) for one in kernels]) for key in ("rate", "weight"))
    owners = np.eye(len(features))[[one["feature"] for one in kernels]]
    classes = np.array([one["class"] for one in prototypes])
    bonuses = np.array([float(one["bonus"]) for one in prototypes])
    mixes = np.zeros((len(prototypes), len(support)))
    for j, one in enumerate(prototypes):
        mixes[j, one["samples"]] = one["parts"]
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
    cells = add("Gather", "X", places, axis=1)
    numbers = add("Where", is_mark, np.array(0.0), cells)
    read = add("Where", add("IsNaN", cells), np.where(is_mark, 1.0, fills), numbers)
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
    # The prototypes of a class share its score as they share its votes, and features a prototype's
    # part as they share its similarity, with the rest by weight.
    voices = add("Exp", add("Sub", logs, add("Gather", totals, classes, axis=1)))
    rest = add("Unsqueeze", add("Sub", add("Gather", scores, classes, axis=1), similarities), last)
    words = add("MatMul", add("Add", parts, add("Mul", rest, weights)), owners)
    add("Mul", words, add("Unsqueeze", voices, last), name="contributions")

    double, n_classes = TensorProto.DOUBLE, len(found["classes"])
    kind = TensorProto.INT64 if labels.dtype.kind == "i" else TensorProto.STRING
    outputs = {
        "label": (kind, []),
        "probabilities": (double, [n_classes]),
        "scores": (double, [n_classes]),
        "contributions": (double, [len(prototypes), len(features)]),
    }
    describe = helper.make_tensor_value_info
    ends = [describe(name, one, ["n_rows", *axes]) for name, (one, axes) in outputs.items()]
    starts = [describe("X", double, ["n_rows", len(columns)])]
    model = helper.make_model(
        helper.make_graph(nodes, "imkpl", starts, ends, constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="imkpl",
    )
    model.ir_version = IR_VERSION
    names = {
        "columns": columns,
        "classes": found["classes"],
        "features": [feature["name"] for feature in features],
        "prototypes": [found["classes"][label] for label in classes],
    }
    helper.set_model_props(model, {key: json.dumps(value) for key, value in names.items()})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _read(kernel: dict[str, Any], cells: list[Any]) -> float:
    """What a kernel reads in the cells of a support sample."""
    cell = cells[kernel["feature"]]
    if kernel["kind"] == "missing":
        return float(cell is None)
    return float(kernel["fill"] if cell is None else cell)
