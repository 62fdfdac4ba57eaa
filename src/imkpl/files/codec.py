"""Values as JSON with arrays beside it, and back; annotations say what may come back."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Union, get_args, get_origin

import numpy as np
import scipy.sparse as sp

from imkpl._checks import require, shorten
from imkpl.files.contents import FIELDS, PARTS

Arrays = dict[str, np.ndarray[Any, Any]]

# Levels of lists in lists that no model has.
MAX_DEPTH = 40
# An array without values takes no bytes, however many rows it declares.
MAX_EMPTY_ROWS = 2**24
LAST_CHARACTER = 0x10FFFF
CSR_PARTS = ("data", "indices", "indptr")
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# NumPy scalars: a Python value and its type say everything about them.
CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
SCALARS = {"str": np.str_} | {np.dtype(code).name: np.dtype(code).type for code in CODES}

REMEDIES: Mapping[str, str] = {
    "random_state": "Use a whole number: set_params(random_state=0).",
    "kernels": (
        "Use the kernels of imkpl.kernels, names such as 'rbf', or kernels='precomputed' with the "
        "values of the function. Pickle keeps functions, for readers who trust the file."
    ),
}
GENERAL_REMEDY = (
    "Expected None, numbers of at most 64 bits, text, lists, tuples, dicts, arrays and kernels of "
    "imkpl. Set it to one of these before saving."
)


def write(value: Any, where: str, arrays: Arrays, depth: int = 0) -> Any:
    """A value as JSON; an array is put beside it, under the name of its place."""
    if depth > MAX_DEPTH:
        raise ValueError(
            f"{where[:80]} is nested more than {MAX_DEPTH} levels deep. Check whether a list "
            "contains itself"
        )

    def inside(inner: Any, place: str) -> Any:
        return write(inner, f"{where}{place}", arrays, depth + 1)

    def all_of(values: Iterable[Any]) -> list[Any]:
        return [inside(one, f"[{place}]") for place, one in enumerate(values)]

    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if kind in (types.NoneType, bool, str) or (kind is int and -(2**63) <= value < 2**64):
        return value
    if kind is list:
        return all_of(value)
    if kind is tuple:
        return {"tuple": all_of(value)}
    if kind is dict:
        return {"dict": [[inside(k, "{}"), inside(v, f"[{k!r}]")] for k, v in value.items()]}
    if PARTS.get(kind.__name__) is kind:
        return {
            kind.__name__: {n: inside(getattr(value, n), f".{n}") for n in FIELDS[kind.__name__]}
        }
    if kind is sp.csr_array:
        arrays.update({f"{where}.{name}": getattr(value, name) for name in CSR_PARTS})
        return {"csr": list(value.shape)}
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        if value.dtype.kind == "O" and value.ndim == 1:
            return {"objects": all_of(value.tolist())}
        if value.dtype.kind == "U":
            # One number per character.
            codes = np.frombuffer(value.astype(value.dtype.newbyteorder("<")).tobytes(), "<u4")
            arrays[where] = codes.reshape(*value.shape, value.dtype.itemsize // 4)
            return {"array": "text"}
        if value.dtype.name in SCALARS:
            # The same order in memory gives the same bits of sums.
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            arrays[where] = np.asarray(value.T if order == "F" else value, order="C")
            return {"array": order}
    for name, one in SCALARS.items():
        if kind is one:
            return {"scalar": [name, inside(value.item(), "")]}
    found = f"of type {kind.__name__}"
    if isinstance(value, np.ndarray):
        found = f"an array ({kind.__name__}) of {value.dtype}"
    elif hasattr(value, "__name__"):
        found = f"the {kind.__name__} {value.__name__}"
    remedies = (REMEDIES.get(name) for name in re.split(r"[.\[]", where))
    raise ValueError(
        f"{where} is {found}, and a model file holds plain values, no code. "
        f"{next(filter(None, remedies), GENERAL_REMEDY)}"
    )


def read(node: Any, hint: Any, where: str, arrays: Arrays, depth: int = 0) -> Any:
    """The value of a node, if it is what the annotation says; its arrays are taken away."""
    value = _read(node, where, arrays, depth)
    if not _fits(value, hint):
        found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
        expected = hint.__name__ if isinstance(hint, type) else hint
        raise ValueError(f"{where[:200]} is {shorten(found)}, expected {expected}")
    return value


def read_fields(
    nodes: Any, hints: Mapping[str, Any], owner: str, prefix: str, arrays: Arrays, depth: int = 0
) -> dict[str, Any]:
    """The values of an object whose names are known."""
    require(isinstance(nodes, dict), f"{owner} has no names")
    unknown = sorted(set(nodes) - set(hints))
    require(not unknown, f"{owner} has {unknown[:1]}, which this version of imkpl does not set")
    return {
        name: read(node, hints[name], f"{prefix}{name}", arrays, depth)
        for name, node in nodes.items()
    }


def _read(node: Any, where: str, arrays: Arrays, depth: int) -> Any:
    require(depth <= MAX_DEPTH, f"{where[:80]} is nested more than {MAX_DEPTH} levels deep")

    def all_of(nodes: Any) -> list[Any]:
        require(isinstance(nodes, list), f"{where} has no list")
        return [_read(one, f"{where}[{i}]", arrays, depth + 1) for i, one in enumerate(nodes)]

    def take(name: str) -> np.ndarray[Any, Any]:
        require(name in arrays, f"the array {name!r} is missing")
        # Every array has one place.
        array = arrays.pop(name)
        is_right = 0 not in array.shape or max(array.shape) <= MAX_EMPTY_ROWS
        require(is_right, f"{name} declares the shape {array.shape}, but has no values")
        return array

    if isinstance(node, list):
        return all_of(node)
    if not isinstance(node, dict):
        return node
    require(len(node) == 1, f"{where} has the entries {shorten(str(list(node)))}, expected one")
    ((tag, found),) = node.items()
    if tag in PARTS:
        return PARTS[tag](**read_fields(found, FIELDS[tag], tag, f"{where}.", arrays, depth + 1))
    match tag:
        case "tuple":
            return tuple(all_of(found))
        case "dict":
            values = {}
            for key_node, value_node in found:
                key = _read(key_node, where, arrays, depth + 1)
                require(isinstance(key, CELLS), f"{where} has a key that is no single value")
                values[key] = _read(value_node, f"{where}[{key!r}]", arrays, depth + 1)
            require(len(values) == len(found), f"{where} has a key twice")
            return values
        case "objects":
            items = all_of(found)
            return np.fromiter(items, dtype=object, count=len(items))
        case "scalar":
            name, value = found
            require(isinstance(value, bool | int | float | str), f"{where} is no single value")
            return SCALARS[name](value)
        case "float":
            return FLOATS[found]
        case "csr":
            data, indices, indptr = (take(f"{where}.{name}") for name in CSR_PARTS)
            is_right = data.dtype.kind == "f" and indices.dtype.kind == indptr.dtype.kind == "i"
            require(is_right and np.isfinite(data).all(), f"{where} has no finite numbers")
            matrix = sp.csr_array((data, indices, indptr), shape=tuple(found))
            # The constructor may convert the indices; their type is kept.
            matrix.indices, matrix.indptr = indices, indptr
            # Compiled loops trust the indices, so each one is checked.
            matrix.check_format(full_check=True)
            return matrix
        case "array":
            array = take(where)
            if found == "text":
                is_right = array.dtype == np.uint32 and array.max(initial=0) <= LAST_CHARACTER
                require(is_right and array.ndim and array.shape[-1], f"{where} is not text")
                return array.view(f"<U{array.shape[-1]}")[..., 0]
            return array.T if found == "F" else array
    raise ValueError(
        f"{where} holds a {shorten(repr(tag))}, which this version of imkpl does not know"
    )


# Kinds of arrays, and single values, that an annotation allows.
KINDS: Mapping[Any, str] = {
    np.generic: "biufUO",
    np.number: "biuf",
    np.floating: "iuf",
    np.integer: "iu",
    np.bool_: "b",
    float: "iuf",
    int: "iu",
    str: "UO",
}
CELLS = (bool, int, float, str, types.NoneType, np.generic)
PLAIN: Mapping[Any, tuple[type, ...]] = {
    int: (int, np.integer, np.bool_),
    float: (int, float, np.integer, np.floating),
    str: (str,),
    bool: (bool, np.bool_),
    np.generic: CELLS,
    Hashable: CELLS,
}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says: finite numbers; indices from 0 on one axis."""
    if hint in (Any, object):
        return hint is Any or _is_plain(value)
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, member) for member in inner)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            _fits(one, part)
            for pair in value.items()
            for one, part in zip(pair, inner, strict=True)
        )
    if origin not in (np.ndarray, tuple, list, Sequence):
        is_right = isinstance(value, PLAIN.get(hint, origin))
        return is_right and (hint is not float or math.isfinite(value))
    if isinstance(value, np.ndarray):
        item = get_args(inner[1])[0] if origin is np.ndarray else inner[0]
        return _holds(value, get_origin(item) or item)
    if origin is np.ndarray or not isinstance(value, list | tuple):
        return False
    parts = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
    return len(parts) == len(value) and all(map(_fits, value, parts))


def _holds(array: np.ndarray[Any, Any], item: Any) -> bool:
    """Whether an array has entries of a type."""
    if array.dtype.kind not in KINDS.get(item, ""):
        return False
    if array.dtype.kind == "O":
        return all(isinstance(one, PLAIN[item]) for one in array)
    if item is np.integer:
        return array.ndim == 1 and bool(array.min(initial=0) >= 0)
    return item is not np.floating or bool(np.isfinite(array).all())


def _is_plain(value: Any) -> bool:
    """Whether a value consists of dicts with names, lists and cells."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    return all(map(_is_plain, value)) if isinstance(value, list) else isinstance(value, CELLS)
