"""Models as files that are safe to open: JSON and arrays with a checksum, never a pickle.

A model is written as a tree of plain values with its arrays beside it (`TreeWriter`) and read back
(`TreeReader`). A file may name the classes of the registry below and nothing else.
"""

from __future__ import annotations

import inspect
import math
import os
import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl import __version__, estimators
from imkpl._archive import (
    FileKind,
    has_too_many_empty_rows,
    is_plain,
    pack_document,
    unpack_document,
    write_file,
)
from imkpl._checks import shorten
from imkpl.estimators._auto import is_auto
from imkpl.files.schema import ATTRIBUTES, check_attributes, check_kernels
from imkpl.kernels import (
    Averaged,
    Gaussian,
    GlobalAlignment,
    KernelStack,
    NamedKernel,
    Normalized,
    PerColumn,
    PerFeatureGaussian,
    PerWord,
    Precomputed,
    VarianceNormalized,
    resolve_bank,
)
from imkpl.kernels.alignment import ChannelKernels
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.kernels.table import ColumnKernels
from imkpl.kernels.words import Documents, WordKernels
from imkpl.model.predictor import Encoder, Predictor
from imkpl.model.votes import Votes
from imkpl.series import SeriesSet
from imkpl.tables import Column, Table


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that does not hold a model.

    Its message says what was found, what was expected and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from imkpl import load
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    imkpl.files.store.ModelFileError: ... cannot be loaded: it is not a model file. ...
    """


MODEL_FILE = FileKind(
    name="model",
    document="model.json",
    format_version=1,
    error=ModelFileError,
    not_one=(
        "it is not a model file. Expected a file written by imkpl.save; pickles and other archives "
        "are never opened."
    ),
    remedy="Copy it again, or save the model again.",
    source="Get a file that imkpl.save wrote.",
)


def _by_name(*classes: type) -> Mapping[str, type[Any]]:
    return {one.__name__: one for one in classes}


# Frozen dataclasses, written field by field. A new kernel or bank is a new line here.
PARTS = _by_name(
    Averaged,
    ChannelKernels,
    Column,
    ColumnKernels,
    Documents,
    Encoder,
    FeatureKernels,
    Gaussian,
    GlobalAlignment,
    KernelStack,
    NamedKernel,
    Normalized,
    PerColumn,
    PerFeatureGaussian,
    PerWord,
    Precomputed,
    Predictor,
    SeriesSet,
    Table,
    VarianceNormalized,
    Votes,
    WordKernels,
)

# NumPy scalars: a Python value and its type say everything about them.
SCALARS: Mapping[str, type[Any]] = {
    "str_": np.str_,
    **{
        np.dtype(code).name: np.dtype(code).type
        for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    },
}

# Types that the `dtype` of a bank may be, besides a name.
NUMBER_TYPES = _by_name(float, np.float32, np.float64)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, to a file that is safe to open.

    The file holds JSON and arrays, never code, and has a checksum. It is written atomically; equal
    models give equal bytes.

    Parameters
    ----------
    model : IMKPL, ISKPL, IMKPLCV, IMKPLSelector, MultiLabelIMKPL or TimeSeriesIMKPL
        The model. Parameters that are code, such as a function used as a kernel, cannot be saved.
        Callbacks are left out.
    path : str or path
        Name of the file, usually with the ending ``.imkpl``. An existing file is replaced.

    See Also
    --------
    load : Read the model again.

    Examples
    --------
    >>> import os, tempfile
    >>> from imkpl import IMKPL, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.imkpl")
    ...     save(IMKPL(sparsity=5), path)
    ...     load(path)
    IMKPL(sparsity=5)
    """
    write_file(path, model_bytes(model))


def model_bytes(model: Any) -> bytes:
    """What `save` writes."""
    writer = TreeWriter()
    tree = writer.write_estimator(model)
    entries = {"imkpl_version": __version__, "model": tree}
    return pack_document(entries, writer.arrays, MODEL_FILE)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save` wrote; nothing in the file is ever executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model, which predicts what the saved one does, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or was cut short, altered, or written by a newer version.

    See Also
    --------
    save : Write a model to a file.
    """
    source = pathlib.Path(path)
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder. Pass a file that imkpl.save wrote.")
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{source} does not exist. Pass a file that imkpl.save wrote."
        ) from None
    try:
        document, arrays = unpack_document(content, MODEL_FILE)
        if document["model"]["type"] != "estimator":
            raise MODEL_FILE.misfit("it holds something that is not a model")
        return TreeReader(arrays).read(document["model"])
    except ModelFileError as error:
        raise ModelFileError(f"{source} cannot be loaded: {shorten(str(error), 500)}") from error
    except MemoryError:
        raise
    # A forged file can fail anywhere; to whoever loads it, that is one kind of failure.
    except Exception as error:
        text = shorten(f"{type(error).__name__}: {error}", 500)
        problem = f"its content is inconsistent ({text})"
        raise MODEL_FILE.misfit(f"{source} cannot be loaded: {problem}") from error


def trusted_types() -> list[str]:
    """Names of the types in a fitted model that skops does not trust by itself.

    Returns
    -------
    list of str
        For ``skops.io.load(path, trusted=trusted_types())``: the estimators and kernels of this
        library and their parts, SciPy's sparse array and NumPy's dtype. None of them runs code
        from a file.

    Examples
    --------
    >>> "scipy.sparse._csr.csr_array" in trusted_types()
    True
    """
    models = (getattr(estimators, name) for name in ATTRIBUTES)
    classes = (*models, *PARTS.values(), sp.csr_array, np.dtype)
    return sorted(f"{one.__module__}.{one.__qualname__}" for one in classes)


# Deeper trees are not models; a list that contains itself has no end.
MAX_DEPTH = 40
# Attributes of scikit-learn that are not learned: callbacks are code that only `fit` runs, and
# metadata requests have a place of their own in the file.
NOT_LEARNED = frozenset({"_skl_callbacks", "_metadata_request"})
# An estimator may hold another, before and after it was fitted.
MAX_ESTIMATORS = 8
# Every mention of an array takes time, though no memory.
MAX_VALUES, MAX_MENTIONS = 2**24, 16
CSR_PARTS = ("data", "indices", "indptr")
ROUTED_METHODS = ("fit", "score")

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
    """Turns values into JSON; arrays are collected in `arrays` and referred to by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        # An array that occurs twice is written once. While it is kept here, no other array can
        # have its id.
        self._known: dict[int, tuple[str, Any]] = {}

    def write_estimator(self, model: Any, where: str = "", depth: int = 0) -> dict[str, Any]:
        """An estimator as a node."""
        kind = type(model)
        if not _is_estimator(kind):
            raise ModelFileError(
                f"A model of class {kind.__name__} cannot be saved, expected one of "
                f"{', '.join(ATTRIBUTES)}. Save the model inside it, or the whole with skops or "
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
        node = {
            "type": "estimator",
            "class": kind.__name__,
            "parameters": write(parameters),
            "attributes": write(learned),
            "requests": _find_requests(model),
        }
        try:
            _check_model(model, learned)
        except ValueError as error:
            raise ModelFileError(
                f"{kind.__name__} cannot be saved: {error}. Set what is wrong with set_params, or "
                "fit the model again."
            ) from error
        return node

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
        if _is_estimator(kind):
            return self.write_estimator(value, where, depth)
        node = self._write_numpy(value, write)
        if node is None:
            raise _refuse(value, where, owner)
        return node

    def _write_numpy(self, value: Any, write: Callable[[Any, str], Any]) -> dict[str, Any] | None:
        """Node of an array, a scalar, a type or a CSR array; None for anything else."""
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            if value.dtype.kind == "O":
                items = [write(one, f"[{i}]") for i, one in enumerate(value.ravel().tolist())]
                return {"type": "objects", "shape": list(value.shape), "items": items}
            if is_plain(value.dtype):
                return {"type": "array", "name": self._collect(value)}
        if type(value) is sp.csr_array:
            parts = {name: write(getattr(value, name), f".{name}") for name in CSR_PARTS}
            return {"type": "csr", "shape": list(value.shape), **parts}
        if isinstance(value, np.generic):
            # The name of a text type contains its length.
            name = "str_" if isinstance(value, np.str_) else value.dtype.name
            if name in SCALARS:
                return {"type": "scalar", "name": name, "value": write(value.item(), "")}
        if isinstance(value, np.dtype) and is_plain(value):
            return {"type": "dtype", "value": value.str}
        if isinstance(value, type) and value in NUMBER_TYPES.values():
            return {"type": "number type", "name": value.__name__}
        return None

    def _collect(self, array: np.ndarray[Any, Any]) -> str:
        if id(array) not in self._known:
            name = str(len(self._known))
            self._known[id(array)] = name, array
            self.arrays[name] = np.asarray(array)
        return self._known[id(array)][0]


def _find_requests(model: Any) -> dict[str, dict[str, Any]]:
    """What `set_fit_request` and `set_score_request` were told."""
    request = vars(model).get("_metadata_request")
    if request is None:
        return {}
    return {method: dict(getattr(request, method).requests) for method in ROUTED_METHODS}


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


# A letter for the kind and a size, such as <f8 or <M8[ns]; no records.
SIMPLE_DTYPE = re.compile(r"[<>|][a-zA-Z]\d*(\[\w+\])?")
# Fields of parts in older files that did not change what a model says, and are gone.
FORMER_FIELDS = frozenset({"working_memory"})
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class TreeReader:
    """Reads what `TreeWriter` wrote; whatever a node names is looked up in a table."""

    def __init__(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays
        self._n_estimators = 0
        self._n_values = MAX_VALUES + MAX_MENTIONS * sum(one.size for one in arrays.values())
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
            raise MODEL_FILE.misfit(f"values are nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, list):
            return [self.read(one, depth + 1) for one in node]
        if not isinstance(node, dict):
            return node
        reader = self._readers.get(node.get("type"))
        if reader is None:
            raise MODEL_FILE.misfit(
                f"it holds a value of type {node.get('type')!r}, which is not known"
            )
        return reader(node, depth + 1)

    def _read_named(self, nodes: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.read(node, depth) for name, node in nodes.items()}

    def _read_items(self, node: dict[str, Any], depth: int) -> list[Any]:
        if not isinstance(node["items"], list):
            raise MODEL_FILE.misfit(f"the items of a {node['type']!r} are not a list")
        return [self.read(one, depth + 1) for one in node["items"]]

    def _read_dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        return {self.read(key, depth): self.read(value, depth) for key, value in node["items"]}

    def _read_array(self, node: dict[str, Any], depth: int) -> np.ndarray[Any, Any]:
        if node["name"] not in self._arrays:
            raise MODEL_FILE.misfit(f"array {node['name']!r} is missing")
        array = self._arrays[node["name"]]
        self._n_values -= array.size
        if self._n_values < 0:
            raise MODEL_FILE.misfit(f"array {node['name']!r} occurs over and over again")
        return array

    def _read_objects(self, node: dict[str, Any], depth: int) -> np.ndarray[Any, Any]:
        items, shape = self._read_items(node, depth), tuple(node["shape"])
        if math.prod(shape) != len(items) or has_too_many_empty_rows(shape):
            raise MODEL_FILE.misfit(f"{len(items)} values are declared to have the shape {shape}")
        return np.fromiter(items, dtype=object, count=len(items)).reshape(shape)

    def _read_scalar(self, node: dict[str, Any], depth: int) -> np.generic:
        value = self.read(node["value"], depth)
        if not isinstance(value, bool | int | float | str):
            raise MODEL_FILE.misfit(f"it holds a {node['name']!r} that is not a single value")
        scalar: np.generic = SCALARS[node["name"]](value)
        return scalar

    def _read_csr(self, node: dict[str, Any], depth: int) -> sp.csr_array:
        data, indices, indptr = (self.read(node[name], depth) for name in CSR_PARTS)
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(node["shape"]))
        # The constructor may convert the indices; their type is kept.
        matrix.indices, matrix.indptr = indices, indptr
        # Compiled loops trust the indices, so each one is checked.
        matrix.check_format(full_check=True)
        return matrix

    def _read_part(self, node: dict[str, Any], depth: int) -> Any:
        kind = _look_up(PARTS, node["class"])
        values = {k: v for k, v in node["fields"].items() if k not in FORMER_FIELDS}
        _check_names(values, [field.name for field in fields(kind)], kind.__name__)
        return kind(**self._read_named(values, depth))

    def _read_estimator(self, node: dict[str, Any], depth: int) -> Any:
        learned_names = list(_look_up(ATTRIBUTES, node["class"]))
        kind = getattr(estimators, node["class"])
        self._n_estimators += 1
        if self._n_estimators > MAX_ESTIMATORS:
            raise MODEL_FILE.misfit(f"it holds more than {MAX_ESTIMATORS} estimators")
        known = list(inspect.signature(kind).parameters)
        _check_names(node["parameters"], known, kind.__name__)
        _check_names(node["attributes"], learned_names, kind.__name__)
        model = kind(**self._read_named(node["parameters"], depth))
        learned = self._read_named(node["attributes"], depth)
        _check_model(model, learned)
        vars(model).update(learned)
        _set_requests(model, node["requests"])
        return model


def _check_model(model: Any, learned: Mapping[str, Any]) -> None:
    """Raise a ValueError unless parameters and attributes are those of such a model."""
    model._validate_params()
    if hasattr(model, "kernels") and not is_auto(model.kernels):
        resolve_bank(model.kernels)
        check_kernels(model.kernels)
    check_attributes(type(model).__name__, learned)


def _set_requests(model: Any, requests: dict[str, dict[str, Any]]) -> None:
    if not requests:
        return
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        for method in ROUTED_METHODS:
            if requests.get(method):
                getattr(model, f"set_{method}_request")(**requests[method])


def _read_dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text) if SIMPLE_DTYPE.fullmatch(text) else None
    if dtype is None or not is_plain(dtype):
        raise MODEL_FILE.misfit(f"it holds values of type {text!r}, expected plain numbers or text")
    return dtype


def _is_estimator(kind: type) -> bool:
    return kind.__name__ in ATTRIBUTES and getattr(estimators, kind.__name__) is kind


def _look_up(table: Mapping[str, Any], name: str) -> Any:
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
