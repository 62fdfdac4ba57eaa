"""What a model file may hold: classes, fitted attributes, and the sizes that have to agree.

The fields of a class and their annotations say what it may contain. A new kernel or bank is a new
name in `PARTS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from imkpl import estimators
from imkpl._typing import BoolArray, FloatArray, IntArray
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
)
from imkpl.kernels.alignment import ChannelKernels
from imkpl.kernels.base import KernelTable
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.kernels.table import ColumnKernels
from imkpl.kernels.views import VIEWS, count_numbers
from imkpl.kernels.words import Documents, WordKernels
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Encoder, Predictor
from imkpl.model.votes import Votes
from imkpl.series import SeriesSet
from imkpl.tables import Column, Table

# In annotations: numbers that may be missing or infinite; numbers or text.
Numbers = NDArray[np.number[Any]]
Labels = NDArray[np.generic]

ESTIMATORS: Mapping[str, type[Any]] = {
    name: getattr(estimators, name) for name in ("IMKPL", "ISKPL")
}

# Frozen data classes, written field by field.
PARTS: Mapping[str, type[Any]] = {
    one.__name__: one
    for one in (
        Averaged, ChannelKernels, Column, ColumnKernels, Documents, Encoder, FeatureKernels,
        Gaussian, GlobalAlignment, KernelStack, NamedKernel, Normalized, PerColumn,
        PerFeatureGaussian, PerWord, Precomputed, Predictor, SeriesSet, Table, VarianceNormalized,
        Votes, WordKernels,
    )
}  # fmt: skip

# Where an annotation does not say what a file may hold.
HINTS: Mapping[tuple[type, str], Any] = {
    (Averaged, "groups"): dict[str, Sequence[int | str]],
    (Averaged, "shares"): sp.csr_array | None,
    (GlobalAlignment, "bandwidth"): float | FloatArray | Sequence[float] | None,
    (KernelStack, "kernels"): tuple[Gaussian | NamedKernel, ...],
    (PerFeatureGaussian, "bandwidth"): float | FloatArray | Sequence[float] | None,
    (PerFeatureGaussian, "features"): IntArray | Sequence[int] | None,
    (Precomputed, "kernels"): IntArray | Sequence[int] | None,
    (Predictor, "ranges"): Numbers | None,
    (Predictor, "samples"): FloatArray | IntArray | Table | SeriesSet | Documents,
    (SeriesSet, "values"): Numbers,
    (Table, "values"): Numbers,
}

# Fitted attributes with their types, and the names of their axes.
LEARNED: Mapping[str, tuple[Any, str]] = {
    "n_features_in_": (int, "features"),
    "feature_names_in_": (Labels, "features"),
    "n_channels_in_": (int, "features"),
    "_n_stacked": (int, "stacked"),
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
    "n_iter_": (int, "rounds"),
    "eligible_": (BoolArray | None, "train"),
    "_kernel_columns": (IntArray | None, "kernels"),
    "_channel_weights": (FloatArray | None, "features"),
    "_channel_evidence": (FloatArray | None, "features"),
    "provenance_": (dict[str, object], ""),
    "_predictor": (Predictor, ""),
}
OPTIONAL = frozenset(
    {"feature_names_in_", "n_channels_in_", "_n_stacked", "provenance_", "_sklearn_output_config"}
)
# Negative numbers in these are not what a fit learns.
NONNEGATIVE = frozenset(
    {"bonuses", "kernel_evidence_", "kernel_weights_", "lengths", "rates", "scales", "weights"}
    | {"_channel_evidence", "_channel_weights"}
)
# No model reads more columns; arrays of this length are made when it is asked about them.
MAX_COLUMNS = 2**24

Sizes = dict[str, int]


def _find_hints(kind: type[Any]) -> Mapping[str, Any]:
    """What each field of a part may hold."""
    hints = get_type_hints(kind)
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


def require(is_right: Any, problem: str) -> None:
    """Raise unless something holds."""
    if not is_right:
        raise ValueError(problem)


def agree(owner: str, values: Mapping[str, Any], axes: Mapping[str, str], sizes: Sizes) -> None:
    """Raise unless the axes of the same name have the same length, and no number is below 0."""
    for name, text in axes.items():
        value = values.get(name)
        if value is None:
            continue
        if isinstance(value, int | np.integer):
            shape: tuple[int, ...] = (int(value),)
        else:
            shape = value.shape if hasattr(value, "shape") else (len(value),)
        expected = tuple(sizes.setdefault(a, n) for a, n in zip(text.split(), shape, strict=False))
        require(
            shape == expected and len(shape) == len(text.split()),
            f"{owner}.{name} has the shape {shape}, expected ({', '.join(text.split())}) with "
            f"{', '.join(f'{axis}={sizes.get(axis)}' for axis in text.split())}",
        )
    for name in NONNEGATIVE & set(values):
        is_array = isinstance(values[name], np.ndarray)
        is_right = not is_array or not (values[name] < 0).any()
        require(is_right, f"{owner}.{name} has numbers below 0")


def check_part(part: Any) -> None:
    """Raise a ValueError unless the fields of a part belong together."""
    kind, values = type(part).__name__, {f.name: getattr(part, f.name) for f in fields(part)}
    axes: dict[str, str] = {}
    if isinstance(part, KernelTable):
        axes = {name: "kernels" for name, one in values.items() if not isinstance(one, int)}
    elif isinstance(part, Documents):
        axes = {"counts": "documents words", "lengths": "documents"}
    agree(kind, values, axes, {})
    if isinstance(part, ChannelKernels):
        _check_channels(part)
    elif isinstance(part, Table):
        for place, column in enumerate(part.columns):
            codes = part.values[:, place]
            codes = codes[~np.isnan(codes)]
            options = codes if column.categories is None else np.arange(len(column.categories))
            require(
                np.isfinite(codes).all() and np.isin(codes, options).all(),
                f"a Table has numbers that stand for no category of {column.name!r}",
            )
    elif isinstance(part, Votes):
        steps = np.diff(part.classes, prepend=0)
        require(part.sharpness > 0, f"the sharpness is {part.sharpness}, expected more than 0")
        require(np.isin(steps, (0, 1)).all(), "the prototypes are not sorted by class")
    elif isinstance(part, Encoder):
        require(part.sparsity >= 1, "a code has no prototypes")


def _check_channels(part: ChannelKernels) -> None:
    """Raise unless all that a kernel has per channel is there."""
    require(set(part.views) <= set(VIEWS), "there are unknown views of series")
    require(
        all(0 <= start < end <= 1 for start, end in part.windows),
        "there are windows that are no parts of time",
    )
    require(
        min((min(c, default=-1) for c in part.channels), default=0) >= 0, "a channel is missing"
    )
    counts = [len(channels) for channels in part.channels]
    for each in (part.units, part.factors):
        require([*map(len, each)] == counts, "there is not one number per channel")
    sized = zip(counts, part.views, part.centers, strict=True)
    require(
        all(n * count_numbers(view) == len(center) for n, view, center in sized),
        "there is not one center per number",
    )
    require(part.length is None or part.length > 0, "series have no length")


def check_learned(kind: str, values: Mapping[str, Any]) -> None:
    """Raise a ValueError unless these are the attributes of a fitted model."""
    missing = sorted(set(LEARNED) - OPTIONAL - set(values))
    require(not missing, f"{kind} lacks {missing[:1]}, which every fit sets")
    sizes: Sizes = {}
    agree(kind, values, {name: axes for name, (_, axes) in LEARNED.items() if axes}, sizes)
    require(1 <= sizes["features"] <= MAX_COLUMNS, f"{kind}.n_features_in_ is out of range")
    require(sizes["classes"] >= 2, f"{kind}.classes_ has {sizes['classes']} classes")
    history = values["history_"]
    names = {field.name for field in fields(ObjectiveParts)} | {"total"}
    require(set(history) == names, f"{kind}.history_ has other terms than {sorted(names)}")
    agree("history_", history, dict.fromkeys(history, "rounds"), sizes)
    for name, limit in (("support_", "train"), ("_kernel_columns", "features")):
        _check_below(f"{kind}.{name}", values[name], sizes[limit])
    _check_predictor(values["_predictor"], sizes)


def _check_below(name: str, indices: IntArray | None, limit: float) -> None:
    if indices is not None:
        is_right = indices.ndim == 1 and indices.min(initial=0) >= 0
        require(
            is_right and indices.max(initial=-1) < limit, f"{name} are no indices below {limit}"
        )


def _check_predictor(predictor: Predictor, sizes: Sizes) -> None:
    """Raise unless kernels, support samples and their indices belong together."""
    bank, samples, columns = predictor.bank, predictor.samples, predictor.columns
    axes = {"weights": "used", "mixes": "prototypes support", "rows": "support"}
    agree("Predictor", vars(predictor), axes, sizes)
    encoder = {"gram": "prototypes prototypes", "class_shares": "prototypes classes"}
    agree("Encoder", vars(predictor.encoder), encoder, sizes)
    votes = predictor.votes
    if votes is not None:
        agree("Votes", vars(votes), {"classes": "prototypes", "bonuses": "prototypes"}, sizes)
        is_right = votes.classes.max(initial=-1) == sizes["classes"] - 1
        require(is_right, "a class has no prototypes")
    _check_below("Predictor.rows", predictor.rows, sizes["train"])
    _check_below("Predictor.columns", columns, sizes["features"])
    require(bank.n_kernels == sizes["used"], "there are not as many weights as kernels")
    while hasattr(bank, "bank"):
        inner = bank.bank.n_kernels
        scales, shares = getattr(bank, "scales", None), getattr(bank, "shares", None)
        require(scales is None or scales.shape == (inner,), "scales are of other kernels")
        require(shares is None or shares.shape[1] == inner, "shares are of other kernels")
        bank = bank.bank
    require(len(samples) == sizes["support"], "there are not as many support samples as rows")
    expected = {"series": SeriesSet, "tables": Table, "words": Documents}.get(
        bank.reads, np.ndarray
    )
    require(isinstance(samples, expected), f"samples are no {expected.__name__}")
    table: Any = getattr(bank, "kernels", None)
    width: float
    if bank.reads == "similarities":
        require(samples.dtype.kind in "iu", "support samples of similarities are no indices")
        _check_below("Predictor.samples", samples, sizes["features"])
        used, width = np.asarray(table), sizes.get("stacked", math.inf)
    elif bank.reads == "series":
        width = samples.n_channels
        used = np.array([channel for channels in table.channels for channel in channels])
    else:
        width, used = samples.shape[1], getattr(table, "columns", np.zeros(0))
        is_right = expected is not np.ndarray or (samples.dtype.kind == "f" and samples.ndim == 2)
        require(is_right, "samples are no rows of numbers")
    require(columns is None or columns.size == width, "samples have not as many columns as listed")
    ranges = predictor.ranges
    require(ranges is None or ranges.shape == (width, 2), "there is not one range per column")
    _check_below("the columns of kernels", used, width)
