"""From a model to a tree of plain values, and its arrays beside it."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl.archives.arrays import is_plain
from imkpl.files.errors import ModelFileError
from imkpl.files.registry import ESTIMATORS, NUMBER_TYPES, PARTS, SCALARS
from imkpl.files.routing import find_requests

# Deeper trees are not models: a list that contains itself has no end.
MAX_DEPTH = 40
# What scikit-learn keeps on an estimator beside what was learned. Callbacks are code that only
# `fit` runs; requests are written in their own place.
NOT_LEARNED = frozenset({"_skl_callbacks", "_metadata_request"})
CSR_PARTS = ("data", "indices", "indptr")

REMEDIES: Mapping[str, str] = {
    "random_state": "Use a whole number: set_params(random_state=0).",
    "cv": "Use a number of folds, or a list of pairs of index arrays (train, test).",
    "kernels": (
        "Use the kernels of imkpl.kernels, names such as 'rbf', or kernels='precomputed' with the "
        "values of the function. Pickle keeps functions, for readers who trust the file."
    ),
}
GENERAL_REMEDY = (
    "Expected None, numbers, text, lists, tuples, dicts, arrays of these, CSR arrays, and the "
    "estimators and kernels of imkpl. Set it to one of these before saving."
)


class TreeWriter:
    """Writes values as JSON can hold them; arrays are put aside and referred to by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        # An array that is met twice is written once. As long as it is kept here, no other array
        # can have its identity.
        self._known: dict[int, tuple[str, Any]] = {}

    def write_estimator(self, model: Any, where: str = "", depth: int = 0) -> dict[str, Any]:
        """An estimator as a node."""
        kind = type(model)
        if ESTIMATORS.get(kind.__name__) is not kind:
            raise ModelFileError(
                f"A model of class {kind.__name__} cannot be saved, expected one of "
                f"{', '.join(ESTIMATORS)}. Save the model inside of it, or the whole with skops or "
                "pickle."
            )
        prefix = f"{where}." if where else ""

        def write(values: dict[str, Any]) -> dict[str, Any]:
            return {
                name: self.write(value, f"{prefix}{name}", kind.__name__, depth + 1)
                for name, value in sorted(values.items())
            }

        parameters = model.get_params(deep=False)
        unlearned = NOT_LEARNED | set(parameters)
        learned = {name: value for name, value in vars(model).items() if name not in unlearned}
        return {
            "type": "estimator",
            "class": kind.__name__,
            "parameters": write(parameters),
            "attributes": write(learned),
            "requests": find_requests(model),
        }

    def write(self, value: Any, where: str, owner: str, depth: int = 0) -> Any:
        """Any value as a node."""
        if depth > MAX_DEPTH:
            raise ModelFileError(
                f"{owner} cannot be saved: {where[:80]} is nested more than {MAX_DEPTH} levels "
                "deep. Check whether a list contains itself."
            )

        def write(inner: Any, place: str) -> Any:
            return self.write(inner, f"{where}{place}", owner, depth + 1)

        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"type": "float", "value": str(value)}
        if isinstance(value, pathlib.PurePath):
            return str(value)
        if kind is list:
            return [write(one, f"[{i}]") for i, one in enumerate(value)]
        if kind is tuple:
            return {"type": "tuple", "items": [write(one, f"[{i}]") for i, one in enumerate(value)]}
        if kind is dict:
            pairs = [[write(k, f" key {k!r}"), write(v, f"[{k!r}]")] for k, v in value.items()]
            return {"type": "dict", "items": pairs}
        if PARTS.get(kind.__name__) is kind:
            inner = {f.name: write(getattr(value, f.name), f".{f.name}") for f in fields(value)}
            return {"type": "part", "class": kind.__name__, "fields": inner}
        if ESTIMATORS.get(kind.__name__) is kind:
            return self.write_estimator(value, where, depth)
        node = self._write_numpy(value, write)
        if node is None:
            raise _refuse(value, where, owner)
        return node

    def _write_numpy(self, value: Any, write: Callable[[Any, str], Any]) -> dict[str, Any] | None:
        """Arrays, single values and types of NumPy, CSR arrays of SciPy; None for all else."""
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            if value.dtype.kind == "O":
                items = [write(one, f"[{i}]") for i, one in enumerate(value.ravel().tolist())]
                return {"type": "objects", "shape": list(value.shape), "items": items}
            if is_plain(value.dtype):
                return {"type": "array", "name": self._put_aside(value)}
        if type(value) is sp.csr_array:
            parts = {name: write(getattr(value, name), f".{name}") for name in CSR_PARTS}
            return {"type": "csr", "shape": list(value.shape), **parts}
        if isinstance(value, np.generic) and _scalar_name(value) in SCALARS:
            return {"type": "scalar", "name": _scalar_name(value), "value": write(value.item(), "")}
        if isinstance(value, np.dtype) and is_plain(value):
            return {"type": "dtype", "value": value.str}
        if isinstance(value, type) and value in NUMBER_TYPES.values():
            return {"type": "number type", "name": value.__name__}
        return None

    def _put_aside(self, array: np.ndarray[Any, Any]) -> str:
        if id(array) not in self._known:
            name = str(len(self._known))
            self._known[id(array)] = name, array
            self.arrays[name] = np.asarray(array)
        return self._known[id(array)][0]


def _scalar_name(value: np.generic) -> str:
    # The name of the type of a text has its length in it.
    return "str_" if isinstance(value, np.str_) else value.dtype.name


def _refuse(value: Any, where: str, owner: str) -> ModelFileError:
    kind, name = type(value).__name__, getattr(value, "__name__", None)
    found = f"of type {kind}" if name is None else f"the {kind} {name}"
    if isinstance(value, np.ndarray):
        found = f"an array ({kind}) of {value.dtype}"
    names = re.split(r"[.\[]", where)
    remedy = next((REMEDIES[name] for name in names if name in REMEDIES), GENERAL_REMEDY)
    return ModelFileError(
        f"{owner} cannot be saved: {where} is {found}, and a model file holds plain values, no "
        f"code. {remedy}"
    )
