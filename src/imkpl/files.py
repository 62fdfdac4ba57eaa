"""Models as files: `save` and `load`, which never execute anything, and `export` for others.

A model file holds arrays and one JSON text with a checksum, never a pickle. The fields of a class
and their annotations say what it may hold, and its method `check` what belongs together. New
kernels or a new bank are a new name in `PARTS`.
"""

import json
import math
import os
import pathlib
import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from imkpl import __version__, estimators, kernels
from imkpl._checks import check_nonnegative, import_extra, require, shorten
from imkpl._json import to_json
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl._writing import digest, write_file
from imkpl.estimators._base import BasePrototypeModel
from imkpl.estimators._input import is_auto
from imkpl.estimators._pipeline import at_threshold
from imkpl.explanations.exports import describe_model, find_obstacle
from imkpl.kernels.alignment import ChannelKernel, SeriesKernels
from imkpl.kernels.custom import StackKernels, VectorFunctionKernels
from imkpl.kernels.forms import Form
from imkpl.kernels.normalize import AveragedKernels, NormalizedKernels
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.kernels.table import Documents, TableKernels, WordKernels
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Encoder, Predictor
from imkpl.model.votes import ValueVotes, Votes
from imkpl.series import SeriesSet
from imkpl.tables import Column, Table

__all__ = ["ModelFileError", "export", "load", "save"]

FORMAT, VERSION = "imkpl model", 2
# The arrays beside those of the model: the JSON text, and the digest of all other arrays.
TEXT, DIGEST = "imkpl.json", "imkpl.digest"
# Bytes of the text that no model has.
MAX_TEXT = 2**26
# Settings of scikit-learn that are not saved: `set_fit_request`, `set_output`, and callbacks.
NOT_LEARNED = frozenset({"_skl_callbacks", "_metadata_request", "_sklearn_output_config"})

Arrays = dict[str, np.ndarray[Any, Any]]
# In annotations: numbers that may be missing or infinite; numbers or text.
Numbers = NDArray[np.number[Any]]
Labels = NDArray[np.generic]

ESTIMATORS: Mapping[str, type[Any]] = {
    name: getattr(estimators, name) for name in ("IMKPL", "ISKPL", "IMKPLRegressor")
}

# Frozen data classes, written field by field.
PARTS: Mapping[str, type[Any]] = {
    one.__name__: one
    for one in (
        kernels.Averaged, kernels.Gaussian, kernels.GlobalAlignment, kernels.KernelStack,
        kernels.NamedKernel, kernels.PerColumn, kernels.PerFeatureGaussian,
        kernels.PerWord, kernels.Precomputed, AveragedKernels, ChannelKernel, Column,
        Documents, Encoder, FeatureKernels, Form, NormalizedKernels, Predictor, SeriesKernels,
        SeriesSet, StackKernels, Table, TableKernels, ValueVotes, VectorFunctionKernels, Votes,
        WordKernels,
    )
}  # fmt: skip

# Where an annotation does not say what a file may hold.
HINTS: Mapping[tuple[type, str], Any] = {
    (kernels.Averaged, "groups"): dict[str, Sequence[int | str]],
    (kernels.KernelStack, "kernels"): tuple[kernels.Gaussian | kernels.NamedKernel, ...],
    (AveragedKernels, "shares"): sp.csr_array,
    (Form, "names"): Labels | None,
    (Predictor, "ranges"): Numbers | None,
    (SeriesSet, "values"): Numbers,
    (TableKernels, "fills"): Numbers,
    (Table, "values"): Numbers,
}

# Fitted attributes with their types, and the names of their axes: of classifiers, of regressors,
# and of all. Those that `Form.attributes` lists are not in the file.
OF_CLASSES: Mapping[str, tuple[Any, str]] = {
    "classes_": (Labels, "classes"),
    "prototype_classes_": (Labels, "prototypes"),
    "class_shares_": (FloatArray, "prototypes classes"),
    "support_classes_": (Labels, "support"),
    "class_prior_": (FloatArray, "classes"),
    "class_weight_": (FloatArray, "classes"),
    "temperature_": (float, ""),
}
OF_VALUES: Mapping[str, tuple[Any, str]] = {
    "prototype_values_": (FloatArray, "prototypes"),
    "support_targets_": (FloatArray, "support"),
    "residuals_": (FloatArray, "residuals"),
}
LEARNED: Mapping[str, tuple[Any, str]] = {
    "prototypes_": (sp.csr_array, "prototypes train"),
    "contrasts_": (sp.csr_array, "prototypes train"),
    "codes_": (sp.csr_array, "train prototypes"),
    "kernel_weights_": (FloatArray, "kernels"),
    "kernel_evidence_": (FloatArray, "kernels"),
    "expected_false_kernels_": (float, ""),
    "kernel_names_": (list[str], "kernels"),
    "support_": (IntArray, "support"),
    "support_ids_": (Labels, "support"),
    "novelty_threshold_": (float, ""),
    "history_": (dict[str, Numbers], ""),
    "n_iter_": (int, ""),
    "eligible_": (BoolArray | None, "train"),
    "n_groups_": (int | None, ""),
    "provenance_": (dict[str, Any], ""),
    "_form": (Form, ""),
    "_predictor": (Predictor, ""),
    "_kernel_columns": (IntArray | None, "kernels"),
    "_channel_weights": (FloatArray | None, "features"),
    "_channel_evidence": (FloatArray | None, "features"),
}

# The types of arrays, and of single values, that an annotation allows.
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
CELLS = (bool, int, float, str, types.NoneType)
SINGLE: Mapping[Any, Any] = {float: (int, float), np.generic: CELLS, Hashable: CELLS}


def _find_fields(kind: type[Any]) -> Mapping[str, Any]:
    """What each field of a part may hold."""
    hints = get_type_hints(kind)
    if hasattr(kind, "sample_type"):
        hints["samples"] = kind.sample_type
    names = (field.name for field in fields(kind) if field.init)
    return {name: HINTS.get((kind, name), hints[name]) for name in names}


FIELDS: Mapping[str, Mapping[str, Any]] = {name: _find_fields(one) for name, one in PARTS.items()}
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    name: {k: hint for k, hint in get_type_hints(one.__init__).items() if k != "return"}
    for name, one in ESTIMATORS.items()
}
ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    name: {k: hint for k, (hint, _) in {**LEARNED, **own}.items()}
    for name, own in zip(ESTIMATORS, (OF_CLASSES, OF_CLASSES, OF_VALUES), strict=True)
}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says: finite numbers; indices from 0 on one axis."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if hasattr(origin, "__value__"):  # an alias, as NDArray is from NumPy 2.5 on
        return fits(value, origin.__value__[inner] if inner else origin.__value__)
    if origin in (Union, types.UnionType):
        return any(fits(value, member) for member in inner)
    if origin in (dict, Mapping):
        is_dict = isinstance(value, dict)
        return is_dict and all(all(map(fits, pair, inner)) for pair in value.items())
    if origin not in (np.ndarray, tuple, list, Sequence):
        is_right = isinstance(value, SINGLE.get(hint, origin))
        return is_right and (hint is not float or math.isfinite(value))
    if isinstance(value, np.ndarray):
        item = get_args(inner[1])[0] if origin is np.ndarray else inner[0]
        return _holds(value, get_origin(item) or item)
    if origin is np.ndarray or not isinstance(value, list | tuple):
        return False
    parts = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
    return len(parts) == len(value) and all(map(fits, value, parts))


def _holds(array: np.ndarray[Any, Any], item: Any) -> bool:
    """Whether an array has entries of a type."""
    if array.dtype.kind not in KINDS.get(item, ""):
        return False
    if array.dtype.kind == "O":
        return all(isinstance(one, SINGLE.get(item, item)) for one in array)
    if item is np.integer:
        return array.ndim == 1 and bool(array.min(initial=0) >= 0)
    return item is not np.floating or bool(np.isfinite(array).all())


def check_learned(kind: str, values: Mapping[str, Any]) -> None:
    """Raise a ValueError unless these are the attributes of a fitted model."""
    learned = {**LEARNED, **(OF_VALUES if kind == "IMKPLRegressor" else OF_CLASSES)}
    missing = sorted(set(learned) - {"provenance_"} - set(values))
    require(not missing, f"{kind} lacks {missing[:1]}, which every fit sets")
    form, predictor, history = values["_form"], values["_predictor"], values["history_"]
    form.check(kind)
    predictor.check(form)
    sizes = dict(zip(("prototypes", "support"), predictor.mixes.shape, strict=True))
    sizes |= {"features": form.n_features, "classes": predictor.encoder.class_shares.shape[1]}
    sizes |= {"rounds": values["n_iter_"]}
    shaped = [(name, values[name], axes) for name, (_, axes) in learned.items() if axes]
    shaped += [(f"history_[{name}]", terms, "rounds") for name, terms in history.items()]
    for name, value, axes in shaped:
        if value is not None:
            # Axes of the same name have the same length.
            shape = value.shape if hasattr(value, "shape") else (len(value),)
            known = map(sizes.setdefault, axes.split(), shape)
            is_right = tuple(known) == shape and len(shape) == len(axes.split())
            require(is_right, f"{kind}.{name} has the shape {shape}, expected {axes} of {sizes}")
    for name in ("kernel_weights_", "kernel_evidence_", "_channel_weights", "_channel_evidence"):
        check_nonnegative(np.asarray(values[name] if values[name] is not None else 0.0), name)
    for name in {"class_prior_", "class_weight_"} & set(learned):
        check_nonnegative(values[name], name)
        require(values[name].min() > 0, f"{kind}.{name} has a class of 0, expected more")
    require(sizes["classes"] >= 2, f"{kind}.classes_ has {sizes['classes']} classes")
    names = {field.name for field in fields(ObjectiveParts)} | {"total"}
    require(set(history) == names, f"{kind}.history_ has other terms than {sorted(names)}")
    for name, indices, limit in (
        ("support_", values["support_"], "train"),
        ("_predictor.rows", predictor.rows, "train"),
        ("_kernel_columns", values["_kernel_columns"], "features"),
    ):
        is_right = indices is None or indices.max(initial=-1) < sizes[limit]
        require(is_right, f"{kind}.{name} are no indices below {sizes[limit]}")


# An array without values takes no bytes, however many rows it declares.
MAX_EMPTY_ROWS = 2**24
LAST_CHARACTER = 0x10FFFF
CSR_PARTS = ("data", "indices", "indptr")
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
REMEDY = (
    "Expected None, numbers of at most 64 bits, text, lists, tuples, dicts, arrays and kernels of "
    "imkpl: a whole number as random_state, and kernels='precomputed' with the values of a "
    "function. Set it to one of these before saving; pickle keeps functions, for readers who trust "
    "the file."
)


def write(value: Any, where: str, arrays: Arrays) -> Any:
    """A value as JSON; an array is put beside it, under the name of its place."""

    def all_of(values: Any) -> list[Any]:
        return [write(one, f"{where}[{place}]", arrays) for place, one in enumerate(values)]

    value = value.item() if isinstance(value, np.generic) else value
    kind, is_array = type(value), isinstance(value, np.ndarray)
    if kind is float and not math.isfinite(value):
        return {"float": str(value)}
    if kind in CELLS and (kind is not int or -(2**63) <= value < 2**64):
        return value
    if kind is list:
        return all_of(value)
    if kind is tuple:
        return {"tuple": all_of(value)}
    if kind is dict:
        keys = [write(key, where, arrays) for key in value]
        values = [write(one, f"{where}[{key!r}]", arrays) for key, one in value.items()]
        return {"dict": list(zip(keys, values, strict=True))}
    if PARTS.get(kind.__name__) is kind:
        names = FIELDS[kind.__name__]
        parts = {name: write(getattr(value, name), f"{where}.{name}", arrays) for name in names}
        return {kind.__name__: parts}
    if kind is sp.csr_array:
        arrays.update({f"{where}.{name}": getattr(value, name) for name in CSR_PARTS})
        return {"csr": list(value.shape)}
    if is_array and value.dtype.kind == "O" and value.ndim == 1:
        return {"objects": all_of(value)}
    if is_array and value.dtype.kind == "U":
        # One number per character.
        codes = np.frombuffer(value.astype(value.dtype.newbyteorder("<")).tobytes(), "<u4")
        arrays[where] = codes.reshape(*value.shape, value.dtype.itemsize // 4)
        return {"array": "text"}
    is_masked = isinstance(value, np.ma.MaskedArray)
    if is_array and not is_masked and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        # The same order in memory gives the same bits of sums.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        arrays[where] = np.asarray(value.T if order == "F" else value, order="C")
        return {"array": order}
    name = f" ({value.__name__})" if hasattr(value, "__name__") else ""
    raise ValueError(
        f"{where[:200]} is of type {kind.__name__}{name}, and a model file holds plain values, no "
        f"code. {REMEDY}"
    )


def read(node: Any, hint: Any, where: str, arrays: Arrays) -> Any:
    """The value of a node, if it is what the annotation says; its arrays are taken away."""
    value = _read(node, where, arrays)
    if not fits(value, hint):
        found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
        expected = hint.__name__ if isinstance(hint, type) else hint
        raise ValueError(f"{where[:200]} is {shorten(found)}, expected {expected}")
    return value


def read_fields(
    nodes: Any, hints: Mapping[str, Any], owner: str, prefix: str, arrays: Arrays
) -> dict[str, Any]:
    """The values of an object whose names are known."""
    require(isinstance(nodes, dict), f"{owner} has no names")
    unknown = sorted(set(nodes) - set(hints))
    require(not unknown, f"{owner} has {unknown[:1]}, which this version of imkpl does not set")
    return {name: read(one, hints[name], f"{prefix}{name}", arrays) for name, one in nodes.items()}


def _read(node: Any, where: str, arrays: Arrays) -> Any:
    """The value of a node, whatever it is."""

    def all_of(nodes: Any) -> list[Any]:
        require(isinstance(nodes, list), f"{where} has no list")
        return [_read(one, f"{where}[{place}]", arrays) for place, one in enumerate(nodes)]

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
        return PARTS[tag](**read_fields(found, FIELDS[tag], tag, f"{where}.", arrays))
    match tag:
        case "tuple":
            return tuple(all_of(found))
        case "dict":
            values = {}
            for key_node, value_node in found:
                key = _read(key_node, where, arrays)
                require(isinstance(key, CELLS), f"{where} has a key that is no single value")
                values[key] = _read(value_node, f"{where}[{key!r}]", arrays)
            require(len(values) == len(found), f"{where} has a key twice")
            return values
        case "objects":
            items = all_of(found)
            return np.fromiter(items, dtype=object, count=len(items))
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
    imkpl.files.ModelFileError: ... cannot be loaded: it is not a model file, ...
    """


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, to a file that is safe to open.

    The file holds arrays and JSON, never code, and has a checksum. It is written atomically; equal
    models give equal bytes.

    Parameters
    ----------
    model : IMKPL or ISKPL
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
    """What `save` writes; a threshold around the model becomes its costs."""
    model = at_threshold(model)
    kind = type(model)
    if ESTIMATORS.get(kind.__name__) is not kind:
        raise ModelFileError(
            f"A model of class {kind.__name__} cannot be saved, expected one of "
            f"{', '.join(ESTIMATORS)}. Save the model inside it, or the whole with skops or pickle."
        )
    parameters, unlearned = model.get_params(deep=False), NOT_LEARNED
    if model.__sklearn_is_fitted__():
        unlearned |= set(model._form.attributes)
    learned = {name: value for name, value in vars(model).items() if name not in unlearned}
    arrays: Arrays = {}

    def write_all(values: dict[str, Any]) -> dict[str, Any]:
        return {name: write(values[name], name, arrays) for name in sorted(values)}

    try:
        node = {"class": kind.__name__, "parameters": write_all(parameters)}
        node["attributes"] = write_all({k: v for k, v in learned.items() if k not in parameters})
        document = {"format": FORMAT, "version": VERSION, "imkpl": __version__, "model": node}
        text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
        arrays[TEXT] = np.frombuffer(text, np.uint8)
        arrays[DIGEST] = np.frombuffer(_digest(arrays), np.uint8)
        content: bytes = safetensors.save(arrays)
        # What cannot be read is not written.
        _read_file(content)
    # A list that contains itself is nested without end.
    except (ValueError, TypeError, RecursionError) as error:
        problem = shorten(str(error).rstrip("."), 600)
        raise ModelFileError(f"{kind.__name__} cannot be saved: {problem}.") from error
    return content


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
        If the file is not a model file, or was cut short, altered, or written by another version.

    See Also
    --------
    save : Write a model to a file.
    """
    source = pathlib.Path(path)
    if not source.is_file():
        # A pipe would be waited for, and a device read without end.
        kind, problem = OSError, "is a device, a pipe or a socket, expected a regular file"
        if not source.exists():
            kind, problem = FileNotFoundError, "does not exist"
        elif source.is_dir():
            kind, problem = IsADirectoryError, "is a folder"
        raise kind(f"{source} {problem}. Pass a file that imkpl.save wrote.")
    content = source.read_bytes()
    try:
        return _read_file(content)
    except MemoryError:
        raise
    # A forged file can fail anywhere; to whoever loads it, that is one kind of failure.
    except Exception as error:
        text = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        if isinstance(error, SafetensorError):
            text = f"it is not a model file, or was cut short or altered ({error})"
        raise ModelFileError(
            f"{source} cannot be loaded: {shorten(text, 500)}. Expected a file written by "
            "imkpl.save, nothing else is opened. Copy it again, save the model again, or update "
            "imkpl."
        ) from error


def _read_file(content: bytes) -> Any:
    """The model in the content of a file; every step is linear in its size."""
    arrays: Arrays = safetensors.load(content)
    require({TEXT, DIGEST} <= set(arrays), "it is not a model file, but other arrays")
    seal = arrays.pop(DIGEST).tobytes()
    require(seal == _digest(arrays), "it was altered after it was saved: its checksum differs")
    text = arrays.pop(TEXT)
    require(text.size <= MAX_TEXT, f"its text has {text.size} bytes, expected {MAX_TEXT} at most")
    document = json.loads(text.tobytes(), parse_int=_read_whole)
    is_right = isinstance(document, dict) and document.get("format") == FORMAT
    require(is_right, "its text was not written by imkpl")
    version, node = document.get("version"), document["model"]
    require(
        version == VERSION,
        f"imkpl {document.get('imkpl')} wrote it in version {version!r} of the format, and this "
        f"imkpl reads version {VERSION}",
    )
    name = str(node["class"])
    require(name in ESTIMATORS, f"it holds a {shorten(name)}, which this imkpl does not know")
    model = ESTIMATORS[name](**read_fields(node["parameters"], PARAMETERS[name], name, "", arrays))
    model._validate_params()
    if not is_auto(model.kernels):
        kernels.resolve_bank(model.kernels)
    learned = read_fields(node["attributes"], ATTRIBUTES[name], name, "", arrays)
    if learned:
        check_learned(name, learned)
        vars(model).update(learned["_form"].attributes)
    vars(model).update(learned)
    require(not arrays, f"its array {min(arrays, default='')!r} has no place in the model")
    return model


def _digest(arrays: Arrays) -> bytes:
    """The digest of the names, types, shapes and values of arrays."""
    parts: list[bytes] = []
    for name, array in sorted(arrays.items()):
        parts += [f"{name} {array.dtype.name} {array.shape}".encode(), array.tobytes()]
    return digest(*parts, size=32)


def _read_whole(text: str) -> int:
    """A whole number of 64 bits; larger ones could be made to share a hash."""
    value = int(text)
    require(-(2**63) <= value < 2**64, "its text has a number beyond 64 bits")
    return value


# Models for other programs

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
    if not isinstance(model, BasePrototypeModel) or not model.__sklearn_is_fitted__():
        raise ModelFileError(
            f"{type(model).__name__} cannot be exported: it is not a fitted classifier of "
            "prototypes, such as IMKPL. Fit one, or export the last step of a pipeline, which "
            "reads what the pipeline makes of samples."
        )
    explanation = model._explain_nothing()
    obstacle = find_obstacle(explanation)
    if obstacle is not None:
        raise ModelFileError(
            f"The model cannot be exported: {obstacle}. Keep it with imkpl.save, and predict with "
            "this library."
        )
    found: dict[str, Any] = to_json(describe_model(explanation))
    return found


def build_graph(found: dict[str, Any]) -> bytes:
    """An ONNX file that predicts as the model that `describe` described; see docs/deployment.md."""
    onnx = import_extra("onnx", "onnx", "ONNX files need", ", or export to .json")
    TensorProto, helper = onnx.TensorProto, onnx.helper
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
                constants.append(onnx.numpy_helper.from_array(np.asarray(one), names[-1]))
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
    # What is still missing is as similar as expected.
    expected = np.transpose([one.get("expected", np.zeros(len(support))) for one in kernels])
    if any("expected" in one for one in kernels):
        values = add("Where", add("Unsqueeze", add("IsNaN", read), first), expected, values)
    parts = add("Mul", add("MatMul", mixes, values), weights)
    similarities = add("ReduceSum", parts, last, keepdims=0)
    logs = add("Mul", add("Add", similarities, bonuses), sharpness)
    double, n_classes = TensorProto.DOUBLE, len(found["classes"])

    def finish(outputs: Sequence[tuple[str, Any, list[int]]], names: dict[str, Any]) -> bytes:
        """The file of a graph with these outputs; what its columns are called is in the file."""
        whole = [
            helper.make_tensor_value_info(name, one, ["n_rows", *axes])
            for name, one, axes in [("X", double, [len(columns)]), *outputs]
        ]
        model = helper.make_model(
            helper.make_graph(nodes, "imkpl", whole[:1], whole[1:], constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="imkpl",
        )
        model.ir_version = IR_VERSION
        texts = {key: json.dumps(value) for key, value in (names | {"columns": columns}).items()}
        helper.set_model_props(model, texts)
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())

    if found["levels"] is not None:
        add("MatMul", add("Softmax", logs, axis=1, name="shares"), found["levels"], name="value")
        listed = [("value", double, []), ("shares", double, [len(prototypes)])]
        return finish(listed, {"prototypes": found["levels"], "order": found["order"]})
    # The logarithm of the sum of the votes for every class.
    own = add("Add", add("Unsqueeze", logs, first), others)
    largest = add("ReduceMax", own, last)
    sums = add("ReduceSum", add("Exp", add("Sub", own, largest)), last)
    totals = add("Squeeze", add("Add", largest, add("Log", sums)), last)
    two = add("TopK", totals, np.array([2]), axis=1, n_outputs=2)
    leads = add("Sub", totals, add("Gather", two, first, axis=1))
    scores = add("Div", leads, sharpness, name="scores")
    temperature = np.array(float(found["temperature"]))
    shifts = (np.array(found[key], float) for key in ("prior_starts", "head_starts"))
    plain = add("Add", scores, np.subtract(*shifts))
    add("Softmax", add("Mul", plain, temperature), axis=1, name="probabilities")
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

    kind = TensorProto.INT64 if labels.dtype.kind == "i" else TensorProto.STRING
    outputs = [
        ("label", kind, []),
        ("probabilities", double, [n_classes]),
        ("scores", double, [n_classes]),
        ("contributions", double, [len(prototypes), len(features) + 2]),
    ]
    names = {
        "classes": found["classes"],
        "features": [*(feature["name"] for feature in features), "bonus", "several prototypes"],
        "prototypes": [found["classes"][label] for label in classes],
    }
    return finish(outputs, names)
