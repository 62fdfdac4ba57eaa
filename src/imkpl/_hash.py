"""One hash for data and settings, the same in every process."""

from __future__ import annotations

import pickle
import types
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher


def hash_values(value: Any) -> str:
    """A digest of a value: arrays count with all their values, functions with their code.

    Examples
    --------
    >>> hash_values({"a": np.zeros(2)}) == hash_values({"a": np.zeros(2)})
    True
    >>> hash_values((1, 2)) == hash_values([1, 2])
    False
    """
    try:
        return str(_Hasher("sha1", coerce_mmap=True).hash(value))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise TypeError(
            f"A {type(value).__name__} cannot be hashed ({error}), expected data, kernels and "
            "settings that can be pickled where checkpoint= is given. Leave out checkpoint, or "
            "pass something else."
        ) from error


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """joblib's hash, but functions count with their code, and data classes with their fields."""

    def save(self, obj: Any) -> None:
        if hasattr(obj, "py_func"):
            # A function that numba has compiled.
            obj = obj.py_func
        if isinstance(obj, types.FunctionType):
            cells = [cell.cell_contents for cell in obj.__closure__ or ()]
            obj = ("function", obj.__code__, obj.__defaults__, obj.__kwdefaults__, cells)
        elif isinstance(obj, types.CodeType):
            obj = ("code", obj.co_code, obj.co_consts, obj.co_names)
        elif isinstance(obj, np.ndarray) and not obj.flags.c_contiguous:
            obj = np.ascontiguousarray(obj)
        elif type(obj) is dict:
            # joblib passes over values of a dict that cannot be pickled.
            obj = ("dict", sorted(obj.items(), key=lambda item: repr(item[0])))
        elif is_dataclass(obj) and not isinstance(obj, type):
            # Not its state, which may hold what it has computed so far.
            kept = [(f.name, getattr(obj, f.name)) for f in fields(obj) if f.compare]
            obj = (type(obj).__qualname__, kept)
        super().save(obj)
