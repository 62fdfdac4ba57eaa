"""What a model file may hold: classes, and the attributes of a fitted model.

The fields of a class and their annotations say what it may contain, and its method `check` what
belongs together. New kernels or a new bank are a new name in `PARTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from imkpl import estimators, kernels
from imkpl._checks import check_nonnegative, require
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels.alignment import SeriesKernels
from imkpl.kernels.custom import VectorFunctionKernels
from imkpl.kernels.forms import Form
from imkpl.kernels.normalize import AveragedKernels, NormalizedKernels
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.kernels.precomputed import StackKernels
from imkpl.kernels.table import TableKernels
from imkpl.kernels.views import ChannelKernel
from imkpl.kernels.words import Documents, WordKernels
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Encoder, Predictor
from imkpl.model.votes import Votes
from imkpl.series import SeriesSet
from imkpl.tables import Column, Table

# In annotations: numbers that may be missing or infinite; numbers or text; a setting for each.
Numbers = NDArray[np.number[Any]]
Labels = NDArray[np.generic]
Bandwidth = float | FloatArray | Sequence[float] | None

ESTIMATORS: Mapping[str, type[Any]] = {
    name: getattr(estimators, name) for name in ("IMKPL", "ISKPL")
}

# Frozen data classes, written field by field.
PARTS: Mapping[str, type[Any]] = {
    one.__name__: one
    for one in (
        kernels.Averaged, kernels.Gaussian, kernels.GlobalAlignment, kernels.KernelStack,
        kernels.NamedKernel, kernels.Normalized, kernels.PerColumn, kernels.PerFeatureGaussian,
        kernels.PerWord, kernels.Precomputed, AveragedKernels, ChannelKernel, Column,
        Documents, Encoder, FeatureKernels, Form, NormalizedKernels, Predictor, SeriesKernels,
        SeriesSet, StackKernels, Table, TableKernels, VectorFunctionKernels, Votes, WordKernels,
    )
}  # fmt: skip

# Where an annotation does not say what a file may hold.
HINTS: Mapping[tuple[type, str], Any] = {
    (kernels.Averaged, "groups"): dict[str, Sequence[int | str]],
    (kernels.GlobalAlignment, "bandwidth"): Bandwidth,
    (kernels.KernelStack, "kernels"): tuple[kernels.Gaussian | kernels.NamedKernel, ...],
    (kernels.PerFeatureGaussian, "bandwidth"): Bandwidth,
    (kernels.PerFeatureGaussian, "dtype"): str,
    (kernels.PerFeatureGaussian, "features"): IntArray | Sequence[int] | None,
    (AveragedKernels, "shares"): sp.csr_array,
    (Form, "names"): Labels | None,
    (Predictor, "ranges"): Numbers | None,
    (SeriesSet, "values"): Numbers,
    (Table, "values"): Numbers,
}

# Fitted attributes with their types, and the names of their axes. Those that `Form.attributes`
# lists are not in the file.
LEARNED: Mapping[str, tuple[Any, str]] = {
    "_sklearn_output_config": (dict[str, str | None], ""),
    "classes_": (Labels, "classes"),
    "prototypes_": (sp.csr_array, "prototypes train"),
    "prototype_classes_": (Labels, "prototypes"),
    "class_shares_": (FloatArray, "prototypes classes"),
    "codes_": (sp.csr_array, "train prototypes"),
    "kernel_weights_": (FloatArray, "kernels"),
    "kernel_evidence_": (FloatArray, "kernels"),
    "expected_false_kernels_": (float, ""),
    "kernel_names_": (list[str], "kernels"),
    "support_": (IntArray, "support"),
    "support_ids_": (Labels, "support"),
    "support_classes_": (Labels, "support"),
    "temperature_": (float, ""),
    "novelty_threshold_": (float, ""),
    "history_": (dict[str, Numbers], ""),
    "n_iter_": (int, ""),
    "eligible_": (BoolArray | None, "train"),
    "provenance_": (dict[str, object], ""),
    "_form": (Form, ""),
    "_predictor": (Predictor, ""),
    "_kernel_columns": (IntArray | None, "kernels"),
    "_channel_weights": (FloatArray | None, "features"),
    "_channel_evidence": (FloatArray | None, "features"),
}
OPTIONAL = frozenset({"provenance_", "_sklearn_output_config"})


def _find_hints(kind: type[Any]) -> Mapping[str, Any]:
    """What each field of a part may hold."""
    hints = get_type_hints(kind)
    if hasattr(kind, "sample_type"):
        hints["samples"] = kind.sample_type
    return {
        field.name: HINTS.get((kind, field.name), hints[field.name])
        for field in fields(kind)
        if field.init
    }


FIELDS: Mapping[str, Mapping[str, Any]] = {name: _find_hints(one) for name, one in PARTS.items()}
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    name: {k: hint for k, hint in get_type_hints(one.__init__).items() if k != "return"}
    for name, one in ESTIMATORS.items()
}


def check_learned(kind: str, values: Mapping[str, Any]) -> None:
    """Raise a ValueError unless these are the attributes of a fitted model."""
    missing = sorted(set(LEARNED) - OPTIONAL - set(values))
    require(not missing, f"{kind} lacks {missing[:1]}, which every fit sets")
    form, predictor, history = values["_form"], values["_predictor"], values["history_"]
    form.check(kind)
    predictor.check(form)
    sizes = dict(zip(("prototypes", "support"), predictor.mixes.shape, strict=True))
    sizes |= {"features": form.n_features, "classes": predictor.encoder.class_shares.shape[1]}
    for name, (_, axes) in LEARNED.items():
        if axes and values[name] is not None:
            _check_shape(f"{kind}.{name}", values[name], axes.split(), sizes)
    for name in ("kernel_weights_", "kernel_evidence_", "_channel_weights", "_channel_evidence"):
        check_nonnegative(np.asarray(values[name] if values[name] is not None else 0.0), name)
    require(sizes["classes"] >= 2, f"{kind}.classes_ has {sizes['classes']} classes")
    names = {field.name for field in fields(ObjectiveParts)} | {"total"}
    require(set(history) == names, f"{kind}.history_ has other terms than {sorted(names)}")
    for name, terms in history.items():
        _check_shape(f"{kind}.history_[{name}]", terms, ["rounds"], {"rounds": values["n_iter_"]})
    for name, indices, limit in (
        ("support_", values["support_"], "train"),
        ("_predictor.rows", predictor.rows, "train"),
        ("_kernel_columns", values["_kernel_columns"], "features"),
    ):
        is_right = indices is None or indices.max(initial=-1) < sizes[limit]
        require(is_right, f"{kind}.{name} are no indices below {sizes[limit]}")


def _check_shape(name: str, value: Any, axes: list[str], sizes: dict[str, int]) -> None:
    """Raise unless axes of the same name have the same length."""
    shape = value.shape if hasattr(value, "shape") else (len(value),)
    expected = [sizes.setdefault(axis, size) for axis, size in zip(axes, shape, strict=False)]
    require(
        list(shape) == expected and len(shape) == len(axes),
        f"{name} has the shape {shape}, expected ({', '.join(axes)}) with "
        f"{', '.join(f'{axis}={sizes.get(axis)}' for axis in axes)}",
    )
