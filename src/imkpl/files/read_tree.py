"""From a tree of plain values back to a model; whatever a tree asks for is looked up in a table."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl.archives.arrays import is_boundless, is_plain
from imkpl.files.errors import ModelFileError, misfit
from imkpl.files.registry import ESTIMATORS, NUMBER_TYPES, PARTS, SCALARS
from imkpl.files.routing import set_requests
from imkpl.files.write_tree import CSR_PARTS, MAX_DEPTH, NOT_LEARNED

# A letter for the kind and a size, such as <f8 or <M8[ns]; no records.
SIMPLE_DTYPE = re.compile(r"[<>|][a-zA-Z]\d*(\[\w+\])?")
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class TreeReader:
    """Reads what `TreeWriter` wrote.

    Parameters
    ----------
    arrays : mapping of str to array
        The arrays beside the tree.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays
        self._readers: Mapping[Any, Callable[[Any, int], Any]] = {
            "array": self._read_array,
            "csr": self._read_csr,
            "dict": self._read_dict,
            "dtype": lambda node, _: _read_dtype(node["value"]),
            "estimator": self._read_estimator,
            "float": lambda node, _: FLOATS[node["value"]],
            "number type": lambda node, _: NUMBER_TYPES[node["name"]],
            "objects": self._read_objects,
            "part": self._read_part,
            "scalar": self._read_scalar,
            "tuple": lambda node, depth: tuple(self._read_items(node, depth)),
        }

    def read(self, node: Any, depth: int = 0) -> Any:
        """The value of a node."""
        # A tuple is a node with a list in it: two levels here for one level of values.
        if depth > 2 * MAX_DEPTH:
            raise misfit(f"values are nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, list):
            return [self.read(one, depth + 1) for one in node]
        if not isinstance(node, dict):
            return node
        reader = self._readers.get(node.get("type"))
        if reader is None:
            raise misfit(f"it holds a value of type {node.get('type')!r}, which is not known")
        return reader(node, depth + 1)

    def _read_named(self, nodes: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.read(node, depth) for name, node in nodes.items()}

    def _read_items(self, node: dict[str, Any], depth: int) -> list[Any]:
        # Whatever else there may be is not made to be gone through.
        if not isinstance(node["items"], list):
            raise misfit(f"the items of a {node['type']!r} are not a list")
        return [self.read(one, depth + 1) for one in node["items"]]

    def _read_dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        return {self.read(key, depth): self.read(value, depth) for key, value in node["items"]}

    def _read_array(self, node: dict[str, Any], depth: int) -> np.ndarray[Any, Any]:
        if node["name"] not in self._arrays:
            raise misfit(f"array {node['name']!r} is missing")
        return self._arrays[node["name"]]

    def _read_objects(self, node: dict[str, Any], depth: int) -> np.ndarray[Any, Any]:
        items, shape = self._read_items(node, depth), tuple(node["shape"])
        if math.prod(shape) != len(items) or is_boundless(shape):
            raise misfit(f"{len(items)} values are declared to have the shape {shape}")
        return np.fromiter(items, dtype=object, count=len(items)).reshape(shape)

    def _read_scalar(self, node: dict[str, Any], depth: int) -> np.generic:
        value = self.read(node["value"], depth)
        if not isinstance(value, bool | int | float | str):
            raise misfit(f"it holds the {node['name']!r} of something that is not one")
        scalar: np.generic = SCALARS[node["name"]](value)
        return scalar

    def _read_csr(self, node: dict[str, Any], depth: int) -> sp.csr_array:
        data, indices, indptr = (self.read(node[name], depth) for name in CSR_PARTS)
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(node["shape"]))
        # The constructor chooses a type for indices; the written one is kept.
        matrix.indices, matrix.indptr = indices, indptr
        # Compiled loops trust the indices, so every one of them is checked.
        matrix.check_format(full_check=True)
        return matrix

    def _read_part(self, node: dict[str, Any], depth: int) -> Any:
        kind = _look_up(PARTS, node["class"])
        _check_names(node["fields"], [field.name for field in fields(kind)], kind.__name__)
        return kind(**self._read_named(node["fields"], depth))

    def _read_estimator(self, node: dict[str, Any], depth: int) -> Any:
        kind = _look_up(ESTIMATORS, node["class"])
        known = list(inspect.signature(kind).parameters)
        _check_names(node["parameters"], known, kind.__name__)
        model = kind(**self._read_named(node["parameters"], depth))
        learned = self._read_named(node["attributes"], depth)
        for name in learned:
            if name in known or name in NOT_LEARNED or _is_code(kind, name):
                raise misfit(f"it would replace {name!r} of {kind.__name__}")
        vars(model).update(learned)
        set_requests(model, node["requests"])
        return model


def _is_code(kind: type[Any], name: str) -> bool:
    """Whether it is a method or a property."""
    return hasattr(type(inspect.getattr_static(kind, name, None)), "__get__")


def _read_dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text) if SIMPLE_DTYPE.fullmatch(text) else None
    if dtype is None or not is_plain(dtype):
        raise misfit(f"it holds values of type {text!r}, expected plain numbers or text")
    return dtype


def _look_up(table: Mapping[str, type[Any]], name: str) -> type[Any]:
    if name not in table:
        raise ModelFileError(
            f"it holds a {name!r}, which this version of imkpl does not know. Update imkpl."
        )
    return table[name]


def _check_names(given: Mapping[str, Any], known: list[str], owner: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ModelFileError(
            f"it sets {unknown[0]!r} of {owner}, which this version of imkpl does not know. "
            "Update imkpl."
        )
