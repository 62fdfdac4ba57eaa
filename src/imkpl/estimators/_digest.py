"""A digest of any value: the same in another process, another one for another value."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn import get_config

from imkpl.kernels.base import block_rows
from imkpl.kernels.columns import ColumnSource

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def digest(value: Any) -> str:
    """A name for a value.

    Arrays count with all their values, functions with their code and what they close over, data
    that is read by columns with all columns, and any other object with its state, as pickle sees
    it.

    Examples
    --------
    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(2)})
    True
    >>> digest((1, 2)) == digest([1, 2])
    False
    """
    total = hashlib.blake2b(digest_size=20)
    _add(total, value, ())
    return total.hexdigest()


def _add(total: Any, value: Any, around: tuple[int, ...]) -> None:
    """Add a value to a digest; `around` are the values that it is a part of."""
    if id(value) in around:
        # It contains itself; how far up says which.
        _add_text(total, f"again {around[::-1].index(id(value))}")
        return
    kind, inner = type(value), (*around, id(value))
    # The name in front keeps 1, True and "1" apart, and (1, 2) and [1, 2].
    _add_text(total, f"{kind.__module__}.{kind.__qualname__}")
    if isinstance(value, PLAIN) and kind in PLAIN:
        _add_text(total, repr(value))
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        array = np.ascontiguousarray(value)
        _add_text(total, f"{array.dtype.str}{value.shape}")
        # Only numbers are lent out; an empty array has nothing to lend.
        is_lent = array.dtype.kind in "biufc" and array.size > 0
        total.update(array.data if is_lent else array.tobytes())
    elif isinstance(value, ColumnSource):
        _add_columns(total, value)
    elif isinstance(value, np.ndarray):
        _add_all(total, [value.shape, *value.ravel().tolist()], inner)
    elif isinstance(value, list | tuple):
        _add_all(total, value, inner)
    elif isinstance(value, dict):
        _add_all(total, [part for pair in value.items() for part in pair], inner)
    elif isinstance(value, set | frozenset):
        _add_all(total, sorted(digest(one) for one in value), inner)
    elif is_dataclass(value) and not isinstance(value, type):
        # Not its state, which may hold what it has computed so far; nor fields that are left out
        # of comparisons, such as who computes.
        _add_all(total, [getattr(value, f.name) for f in fields(value) if f.compare], inner)
    elif isinstance(value, type | types.ModuleType | np.ufunc):
        _add_text(total, f"{getattr(value, '__module__', '')}.{value.__name__}")
    elif isinstance(value, types.BuiltinFunctionType):
        _add_all(total, [value.__qualname__, value.__self__], inner)
    elif hasattr(value, "py_func"):
        # A function that numba has compiled.
        _add(total, value.py_func, inner)
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
        _add_all(total, parts, inner)
    elif isinstance(value, types.CodeType):
        _add_all(total, [value.co_code, value.co_consts, value.co_names], inner)
    elif isinstance(value, types.MethodType):
        _add_all(total, [value.__self__, value.__func__], inner)
    elif isinstance(value, functools.partial):
        _add_all(total, [value.func, value.args, value.keywords], inner)
    else:
        _add_state(total, value, inner)


def _add_all(total: Any, values: Iterable[Any], around: tuple[int, ...]) -> None:
    parts = list(values)
    _add_text(total, str(len(parts)))
    for part in parts:
        _add(total, part, around)


def _add_text(total: Any, text: str) -> None:
    # The length in front keeps "ab", "c" and "a", "bc" apart.
    encoded = text.encode("utf-8", "surrogatepass")
    total.update(f"{len(encoded)}:".encode() + encoded)


def _add_columns(total: Any, source: ColumnSource) -> None:
    _add_text(total, str(source.shape))
    step = block_rows(8 * max(1, source.shape[0]), get_config()["working_memory"])
    for start in range(0, source.shape[1], step):
        # Column by column, so that the size of blocks does not show.
        values = source[:, start : start + step]
        total.update(np.ascontiguousarray(values.T).tobytes())


def _add_state(total: Any, value: Any, around: tuple[int, ...]) -> None:
    try:
        made_of = value.__reduce_ex__(4)
    except TypeError as error:
        raise TypeError(
            f"A {type(value).__name__} cannot be told from another one ({error}), expected data, "
            "kernels and settings that can be pickled where checkpoint= is given. Leave out "
            "checkpoint, or pass something else."
        ) from error
    if isinstance(made_of, str):
        _add_text(total, made_of)
        return
    # Iterators over items of lists and dicts are read, all else is as it is.
    _add_all(total, [list(p) if hasattr(p, "__next__") else p for p in made_of], around)
