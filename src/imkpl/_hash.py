"""One hash for data and settings, the same in every process.

Functions and classes of the user count with their code and with all that the code can see: default
values, closures, and the global names that it reads. Those of installed libraries count with their
names and the version of the library.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib.metadata
import pathlib
import pickle
import platform
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher

# With these, code reads what its names do not show.
HIDDEN_READERS = frozenset({"__import__", "eval", "exec", "globals", "input", "open"})
FUNCTIONS = (types.FunctionType, staticmethod, classmethod, property)
# What functools.lru_cache makes of a function.
CACHED = type(functools.cache(len))
ERRORS = (TypeError, AttributeError, ValueError, RecursionError, pickle.PicklingError)
ADVICE = (
    "Use FunctionKernel(function, version='1') for the kernel, and another version whenever it "
    "would compute something else; or leave out checkpoint."
)


def hash_values(value: Any) -> str:
    """A digest of a value: arrays count with all their values, functions with all they can see.

    Examples
    --------
    >>> hash_values({"a": np.zeros(2)}) == hash_values({"a": np.zeros(2)})
    True
    >>> hash_values((1, 2)) == hash_values([1, 2])
    False
    """
    try:
        return str(_Hasher("sha1", coerce_mmap=True).hash(value))
    except _UnseenError as error:
        raise TypeError(f"{error}. {ADVICE}") from error
    except ERRORS as error:
        raise TypeError(
            f"A {type(value).__name__} cannot be hashed ({error}), expected data, kernels and "
            "settings that can be pickled where checkpoint= is given. Leave out checkpoint, or "
            "pass something else."
        ) from error


class _UnseenError(Exception):
    """Code reads something that cannot be hashed."""


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """joblib's hash, but code counts with what it can see, and data classes with their fields."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        # The number of every function and class that was met; they may call each other.
        self._met: dict[int, tuple[int, Any]] = {}

    def save(self, obj: Any) -> None:
        if isinstance(obj, CACHED):
            obj = obj.__wrapped__
        if callable(obj) and hasattr(obj, "py_func"):
            # A function that numba has compiled.
            obj = obj.py_func
        is_class = isinstance(obj, type) and not _is_installed(obj.__module__)
        if is_class or isinstance(obj, types.FunctionType):
            if id(obj) in self._met:
                obj = ("met before", self._met[id(obj)][0])
            else:
                self._met[id(obj)] = len(self._met), obj
                (self._save_class if is_class else self._save_function)(obj)
                return
        elif isinstance(obj, types.ModuleType):
            obj = ("module", obj.__name__, _find_version(obj.__name__))
        elif isinstance(obj, types.CodeType):
            obj = ("code", obj.co_code, obj.co_consts, obj.co_names)
        elif isinstance(obj, np.ndarray) and not obj.flags.c_contiguous:
            obj = np.ascontiguousarray(obj)
        elif type(obj) is dict:
            # joblib passes over values of a dict that cannot be pickled.
            obj = ("dict", sorted(obj.items(), key=lambda item: repr(item[0])))
        elif is_dataclass(obj) and not isinstance(obj, type):
            # Not its state, which may hold what it has computed so far.
            kept = {f.name: getattr(obj, f.name) for f in fields(obj) if f.compare}
            kept.update(getattr(obj, "_hashed_fields", {}))
            obj = (type(obj), list(kept.items()))
        super().save(obj)

    def _save_function(self, function: types.FunctionType) -> None:
        module, name = function.__globals__.get("__name__"), function.__qualname__
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.save(("function", function.__code__, function.__defaults__, function.__kwdefaults__))
        self._save_seen(f"The function {name} reads", _read_cells(cells))
        if _is_installed(module):
            self.save(_find_version(str(module)))
        else:
            self._save_seen(f"The function {name} reads", _read_globals(function))

    def _save_class(self, kind: type) -> None:
        self.save(("class", kind.__qualname__, kind.__bases__))
        own = {
            name: value
            for name, value in sorted(vars(kind).items())
            # Other names of this form are set by Python.
            if isinstance(value, FUNCTIONS) or not name.startswith(("__", "_abc_"))
        }
        for name, value in own.items():
            parts = [value]
            if isinstance(value, property):
                parts = [value.fget, value.fset]
            elif isinstance(value, staticmethod | classmethod):
                parts = [value.__func__]
            elif isinstance(value, types.MemberDescriptorType):
                parts = []
            self._save_seen(f"The class {kind.__qualname__} has", [(name, one) for one in parts])

    def _save_seen(self, who: str, values: Iterable[tuple[str, Any]]) -> None:
        """Save what code can see; errors say which name it has there."""
        for name, value in values:
            self.save(name)
            try:
                self.save(value)
            except ERRORS as error:
                raise _UnseenError(
                    f"{who} {name!r}, of type {type(value).__name__}, which cannot be hashed "
                    f"({error}), so that a checkpoint could not tell when it changes"
                ) from error


def _read_cells(cells: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        # A name that is bound later.
        except ValueError:
            yield name, None


def _read_globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The global names in the code of a function, with their values."""
    for name, is_module in sorted(set(_read_names(function.__code__))):
        if is_module:
            yield name, types.ModuleType(name)
        elif name in function.__globals__:
            yield name, function.__globals__[name]
        elif name in HIDDEN_READERS and hasattr(builtins, name):
            raise _UnseenError(
                f"The function {function.__qualname__} calls {name}, through which it may read "
                "what a checkpoint cannot see"
            )


def _read_names(code: types.CodeType) -> Iterator[tuple[str, bool]]:
    """Global names that code and the code inside it use, and whether it imports them as modules."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            yield step.argval, step.opname == "IMPORT_NAME"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _read_names(constant)


def _is_installed(module: Any) -> bool:
    """Whether a module belongs to Python or to a library, which has a version."""
    root = str(module or "builtins").partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    files = [getattr(sys.modules.get(name), "__file__", None) for name in (root, str(module))]
    parts = {part for file in files if file is not None for part in pathlib.Path(file).parts}
    return not parts.isdisjoint({"site-packages", "dist-packages"})


def _find_version(module: str) -> str:
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return platform.python_version()
    version = getattr(sys.modules.get(root), "__version__", None)
    if version is None:
        names = importlib.metadata.packages_distributions().get(root, ())
        version = next((importlib.metadata.version(name) for name in names), None)
    if version is None:
        raise TypeError(f"the module {module} has no __version__")
    return str(version)


def digest(*parts: bytes, size: int = 16, key: bytes = b"") -> bytes:
    """A digest of byte strings and of how they are divided, the same in every process."""
    import hashlib

    found = hashlib.blake2b(digest_size=size, key=key)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
