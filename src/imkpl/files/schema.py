"""What a fitted model consists of: every attribute and field, with its type and shape.

A model is checked against these tables when it is saved and when it is loaded. What they do not
list cannot be in a model file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl.kernels.views import VIEWS, count_numbers
from imkpl.model.objective import ObjectiveParts

# The lengths of axes by name, learned from the first value that has them.
Sizes = dict[str, int]
# Raises a ValueError unless a value, found in a place, is what it should be.
Rule = Callable[[Any, str, Sizes], None]

CELLS = (str, bool, int, float, np.generic, type(None))
SETTING_TYPES = (str, type, np.dtype)
BANKS = ("Averaged", "GlobalAlignment", "KernelStack", "Normalized", "PerColumn",
         "PerFeatureGaussian", "PerWord", "Precomputed", "VarianceNormalized")  # fmt: skip


def _rule(expected: str, holds: Callable[[Any, Sizes], Any]) -> Rule:
    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not holds(value, sizes):
            known = ", ".join(f"{name}={size}" for name, size in sizes.items() if name in expected)
            hint = f" with {known}" if known else ""
            raise ValueError(f"{where} is {_describe(value)}, expected {expected}{hint}")

    return check


def _describe(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, np.ndarray | sp.csr_array):
        return f"a {kind} of {value.dtype} and shape {value.shape}"
    size = f" of length {len(value)}" if isinstance(value, list | tuple | dict) else ""
    return f"a {kind}{size}"


def _has_shape(shape: tuple[int, ...], axes: tuple[str, ...], sizes: Sizes) -> bool:
    """Whether an array has these axes, of the length that other arrays gave them."""
    return len(shape) == len(axes) and all(
        axis == "any" or sizes.setdefault(axis, size) == size
        for axis, size in zip(axes, shape, strict=True)
    )


def _is_whole(value: Any, low: int = 0) -> bool:
    return isinstance(value, Integral) and low <= int(value) < 2**63


def _is_plain(value: Any) -> bool:
    """Whether a value consists of dicts with names, lists and cells."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, CELLS)


def _numbers(*axes: str, low: float = -math.inf, finite: bool = True) -> Rule:
    def holds(value: Any, sizes: Sizes) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.kind in "biuf"
            and _has_shape(value.shape, axes, sizes)
            and bool(not finite or np.isfinite(value).all())
            and not (value < low).any()
        )

    word = "finite numbers" if finite else "numbers"
    limit = "" if low == -math.inf else f" of {low:g} or more"
    return _rule(f"{word}{limit} of shape ({', '.join(axes)})", holds)


def _indices(axis: str, below: str) -> Rule:
    """Whole numbers from 0 up to the length of another axis, if that is known."""

    def holds(value: Any, sizes: Sizes) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.kind in "iu"
            and _has_shape(value.shape, (axis,), sizes)
            and value.min(initial=0) >= 0
            and value.max(initial=-1) < sizes.get(below, math.inf)
        )

    return _rule(f"indices of shape ({axis}) below {below}", holds)


def _owners(axis: str, of: str) -> Rule:
    """Indices in order that name every place of another axis."""

    def holds(value: Any, sizes: Sizes) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.kind in "iu"
            and _has_shape(value.shape, (axis,), sizes)
            and np.array_equal(np.unique(value), np.arange(sizes.get(of, 0)))
            and bool((np.diff(value) >= 0).all())
        )

    return _rule(f"indices of all {of} in order, of shape ({axis})", holds)


def _labels(axis: str, kinds: str = "biufUSO", cells: tuple[Any, ...] = CELLS) -> Rule:
    def holds(value: Any, sizes: Sizes) -> bool:
        is_right = isinstance(value, np.ndarray) and value.dtype.kind in kinds
        if not is_right or not _has_shape(value.shape, (axis,), sizes):
            return False
        return value.dtype.kind != "O" or all(isinstance(cell, cells) for cell in value)

    return _rule(f"labels of shape ({axis})", holds)


def _flags(axis: str) -> Rule:
    return _rule(
        f"truth values of shape ({axis})",
        lambda value, sizes: (
            isinstance(value, np.ndarray)
            and value.dtype.kind == "b"
            and _has_shape(value.shape, (axis,), sizes)
        ),
    )


def _rows(*axes: str) -> Rule:
    return _rule(
        f"a sparse array of finite numbers of shape ({', '.join(axes)})",
        lambda value, sizes: (
            isinstance(value, sp.csr_array)
            and value.dtype.kind == "f"
            and _has_shape(value.shape, axes, sizes)
            and np.isfinite(value.data).all()
        ),
    )


def _count(axis: str) -> Rule:
    """A number that is the length of an axis."""
    return _rule(
        f"the number of {axis}",
        lambda value, sizes: _is_whole(value) and _has_shape((int(value),), (axis,), sizes),
    )


def _index(below: str) -> Rule:
    return _rule(
        f"an index below {below}",
        lambda value, sizes: _is_whole(value) and value < sizes.get(below, 0),
    )


def _choice(*options: Any) -> Rule:
    return _rule(
        f"one of {options}", lambda value, _: any(value is o or value == o for o in options)
    )


def _or_none(rule: Rule) -> Rule:
    def check(value: Any, where: str, sizes: Sizes) -> None:
        if value is not None:
            rule(value, where, sizes)

    return check


def _text_or(rule: Rule) -> Rule:
    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str):
            rule(value, where, sizes)

    return check


def _listed(kinds: type | tuple[type, ...], rule: Rule, axis: str = "any") -> Rule:
    """A list of values that follow a rule."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        is_list = isinstance(value, kinds)
        if not is_list or not _has_shape((len(value),), (axis,), sizes):
            raise ValueError(f"{where} is {_describe(value)}, expected one value per {axis}")
        for place, one in enumerate(value):
            rule(one, f"{where}[{place}]", sizes)

    return check


def _mapping(rules: Mapping[str, Rule]) -> Rule:
    """A dict with exactly these names."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict) or set(value) != set(rules):
            raise ValueError(f"{where} is {_describe(value)}, expected {', '.join(rules)}")
        for name, rule in rules.items():
            rule(value[name], f"{where}[{name!r}]", sizes)

    return check


def _named(rule: Rule) -> Rule:
    """A dict from any names to values that follow a rule."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{where} is {_describe(value)}, expected a dict with names")
        for one in value.values():
            rule(one, where, sizes)

    return check


def _part(*names: str, shares_sizes: bool = False) -> Rule:
    """A part of one of these classes; one that shares sizes has the axes of its owner."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        kind = type(value).__name__
        if kind not in names:
            raise ValueError(f"{where} is {_describe(value)}, expected one of {', '.join(names)}")
        own = sizes if shares_sizes else {}
        for name, rule in PART_FIELDS[kind].items():
            rule(getattr(value, name), f"{where}.{name}", own)
        if kind == "Predictor":
            _check_predictor(value, where, sizes)

    return check


def _fitted(value: Any, where: str, sizes: Sizes) -> None:
    """A fitted estimator inside another, which was checked when it was made."""
    if type(value).__name__ not in ATTRIBUTES or "_predictor" not in vars(value):
        raise ValueError(f"{where} is {_describe(value)}, expected a fitted estimator")
    _count("features")(value.n_features_in_, f"{where}.n_features_in_", sizes)
    sizes["classes"], sizes["prototypes"] = value.classes_.size, value.prototypes_.shape[0]


TEXT = _rule("text", lambda value, _: isinstance(value, str | os.PathLike))
NUMBER = _rule("a number", lambda value, _: isinstance(value, Real))
WHOLE = _rule("a whole number", lambda value, _: _is_whole(value))
POSITIVE = _rule("a positive whole number", lambda value, _: _is_whole(value, 1))
SHARE = _rule(
    "a number from 0 to 1", lambda value, _: isinstance(value, Real) and 0 <= float(value) <= 1
)
FLAG = _rule("true or false", lambda value, _: isinstance(value, bool | np.bool_))
CELL = _rule("a number or text", lambda value, _: isinstance(value, CELLS))
KEY = _rule("a name or a whole number", lambda value, _: isinstance(value, str) or _is_whole(value))
NUMBER_TYPE = _rule("a type of numbers", lambda value, _: isinstance(value, SETTING_TYPES))
PLAIN = _rule(
    "names with plain values", lambda value, _: isinstance(value, dict) and _is_plain(value)
)
# What users pass as settings may be a list, a tuple or an array.
SEQUENCE = (list, tuple, np.ndarray)
SCALES = _listed(SEQUENCE, NUMBER)
WIDTHS = _rule(
    "a number or one per column",
    lambda value, _: (
        isinstance(value, Real)
        or (
            isinstance(value, SEQUENCE)
            and np.ndim(value) <= 1
            and np.asarray(value).dtype.kind in "iuf"
        )
    ),
)
COLUMNS = _listed(SEQUENCE, KEY)
BANK = _part(*BANKS)
PER_CHANNEL = _listed(tuple, _listed(tuple, NUMBER), "kernels")

# The fields of the parts of a model, in an order in which sizes are known before they are needed.
PART_FIELDS: Mapping[str, Mapping[str, Rule]] = {
    "Averaged": {
        "bank": BANK,
        "groups": _named(COLUMNS),
        "names": _or_none(_listed(tuple, TEXT, "groups")),
        "shares": _or_none(_rows("groups", "kernels")),
    },
    "ChannelKernels": {
        "channels": _listed(tuple, _listed(tuple, WHOLE), "kernels"),
        "labels": _listed(tuple, TEXT, "kernels"),
        "is_group": _flags("kernels"),
        "views": _listed(tuple, TEXT, "kernels"),
        "windows": _listed(tuple, _listed(tuple, NUMBER), "kernels"),
        "scales": _numbers("kernels"),
        "shares": PER_CHANNEL,
        "units": PER_CHANNEL,
        "rates": _numbers("kernels", low=0),
        "factors": PER_CHANNEL,
        "centers": PER_CHANNEL,
        "length": _or_none(POSITIVE),
    },
    "Column": {"name": TEXT, "categories": _or_none(_listed(tuple, CELL)), "is_whole": FLAG},
    "ColumnKernels": {
        "columns": _indices("kernels", "columns"),
        "is_mark": _flags("kernels"),
        "rates": _numbers("kernels", low=0),
        "fills": _numbers("kernels"),
        "vocabularies": _listed(tuple, _or_none(_listed(tuple, CELL)), "kernels"),
        "labels": _listed(tuple, TEXT, "kernels"),
    },
    "Documents": {
        "counts": _rows("documents", "any"),
        "lengths": _numbers("documents", low=0),
    },
    "Encoder": {
        "gram": _numbers("prototypes", "prototypes"),
        "class_shares": _numbers("prototypes", "classes"),
        "sparsity": POSITIVE,
        "entrance": SHARE,
    },
    "FeatureKernels": {
        "columns": _indices("kernels", "columns"),
        "scales": _numbers("kernels"),
        "rates": _numbers("kernels", low=0),
    },
    "Gaussian": {"bandwidth": _or_none(NUMBER), "learns_bandwidth": FLAG},
    "GlobalAlignment": {
        "scales": SCALES,
        "views": _listed(SEQUENCE, TEXT),
        "windows": _listed(SEQUENCE, POSITIVE),
        "groups": _or_none(_text_or(_named(COLUMNS))),
        "length": _or_none(KEY),
        "triangular": _or_none(POSITIVE),
        "bandwidth": _or_none(WIDTHS),
        "dtype": TEXT,
        "table_dtype": TEXT,
        "cache_dir": _or_none(TEXT),
        "kernels": _or_none(_part("ChannelKernels")),
    },
    "KernelStack": {"kernels": _listed(tuple, _part("Gaussian", "NamedKernel"))},
    "NamedKernel": {"name": TEXT, "params": _named(NUMBER)},
    "Normalized": {"bank": BANK},
    "PerColumn": {
        "categorical": _or_none(COLUMNS),
        "tolerance": _or_none(NUMBER),
        "dtype": NUMBER_TYPE,
        "kernels": _or_none(_part("ColumnKernels")),
    },
    "PerFeatureGaussian": {
        "bandwidth": _or_none(WIDTHS),
        "scales": SCALES,
        "features": _or_none(COLUMNS),
        "tolerance": _or_none(NUMBER),
        "dtype": NUMBER_TYPE,
        "kernels": _or_none(_part("FeatureKernels")),
    },
    "PerWord": {"kernels": _or_none(_part("WordKernels"))},
    "Precomputed": {"kernels": _or_none(COLUMNS)},
    "Predictor": {
        "bank": BANK,
        "weights": _numbers("used", low=0),
        "mixes": _rows("prototypes", "support"),
        "rows": _indices("support", "train"),
        "columns": _or_none(_indices("any", "features")),
        "encoder": _part("Encoder", shares_sizes=True),
        "votes": _or_none(_part("Votes", shares_sizes=True)),
        "ranges": _or_none(_numbers("any", "any", finite=False)),
    },
    "SeriesSet": {
        "values": _numbers("channels", "any", finite=False),
        "starts": _indices("any", "any"),
        "channel_names": _or_none(_listed(tuple, TEXT, "channels")),
    },
    "Table": {
        "values": _numbers("any", "columns", finite=False),
        "columns": _listed(tuple, _part("Column"), "columns"),
    },
    "VarianceNormalized": {
        "bank": BANK,
        "max_samples": POSITIVE,
        "floor": NUMBER,
        "scales": _or_none(_numbers("kernels", low=0)),
    },
    "Votes": {
        "classes": _owners("prototypes", "classes"),
        "bonuses": _numbers("prototypes", low=0),
        "sharpness": _rule(
            "a positive number",
            lambda value, _: isinstance(value, Real) and 0 < float(value) < math.inf,
        ),
    },
    "WordKernels": {
        "columns": _indices("kernels", "columns"),
        "rates": _numbers("kernels", low=0),
    },
}

WISHES = ("eligible", "pin", "ban")
HISTORY = (*(field.name for field in fields(ObjectiveParts)), "total")
INPUT: Mapping[str, Rule] = {
    "n_features_in_": _count("features"),
    "feature_names_in_": _labels("features", "OU", (str,)),
}
OUTPUT: Mapping[str, Rule] = {
    "_sklearn_output_config": _mapping({"transform": _choice(None, "default", "pandas", "polars")})
}
MODEL: Mapping[str, Rule] = {
    **INPUT,
    **OUTPUT,
    "n_channels_in_": _count("features"),
    "_n_stacked": _count("stacked"),
    "classes_": _labels("classes"),
    "prototypes_": _rows("prototypes", "train"),
    "prototype_classes_": _labels("prototypes"),
    "class_shares_": _numbers("prototypes", "classes"),
    "codes_": _rows("train", "prototypes"),
    "kernel_weights_": _numbers("kernels", low=0),
    "kernel_evidence_": _numbers("kernels", low=0),
    "expected_false_kernels_": NUMBER,
    "kernel_names_": _listed(list, TEXT, "kernels"),
    "support_": _indices("support", "train"),
    "support_ids_": _labels("support"),
    "support_classes_": _labels("support"),
    "temperature_": NUMBER,
    "novelty_threshold_": NUMBER,
    "history_": _mapping(dict.fromkeys(HISTORY, _numbers("rounds", finite=False))),
    "n_iter_": _count("rounds"),
    "sample_wishes_": _or_none(_mapping(dict.fromkeys(WISHES, _flags("train")))),
    "_kernel_columns": _or_none(_indices("kernels", "features")),
    "_channel_weights": _or_none(_numbers("features", low=0)),
    "_channel_evidence": _or_none(_numbers("features", low=0)),
    "provenance_": PLAIN,
    "_predictor": _part("Predictor", shares_sizes=True),
}
PATH: Mapping[str, Rule] = {
    "max_kernels": _labels("settings", "iuO", (type(None), int)),
    "sparsity": _numbers("settings", low=1),
    **dict.fromkeys(("n_kernels", "n_prototypes", "mean_score"), _numbers("settings")),
    # A single split has no standard error.
    "standard_error": _numbers("settings", finite=False),
    "split_scores": _numbers("settings", "splits"),
}

# The attributes of every estimator that can be saved; a fitted one has all but the optional ones.
ATTRIBUTES: Mapping[str, Mapping[str, Rule]] = {
    **dict.fromkeys(("IMKPL", "ISKPL", "TimeSeriesIMKPL"), MODEL),
    "IMKPLCV": {
        **MODEL,
        "max_kernels_": _or_none(POSITIVE),
        "sparsity_": POSITIVE,
        "path_": _mapping(PATH),
        "best_index_": _index("settings"),
        "chosen_index_": _index("settings"),
    },
    "IMKPLSelector": {**INPUT, **OUTPUT, "estimator_": _fitted},
    "MultiLabelIMKPL": {
        **INPUT,
        "estimator_": _fitted,
        "classes_": _labels("labels"),
        "label_shares_": _or_none(_numbers("classes", "labels")),
        "prototype_labels_": _or_none(_numbers("prototypes", "labels")),
        "threshold_": _or_none(NUMBER),
    },
}
OPTIONAL = frozenset({"feature_names_in_", "n_channels_in_", "_n_stacked", "provenance_", *OUTPUT})


def check_attributes(kind: str, attributes: Mapping[str, Any]) -> None:
    """Raise a ValueError unless these are the fitted attributes of such an estimator."""
    rules, sizes = ATTRIBUTES[kind], Sizes()
    unknown = sorted(set(attributes) - set(rules))
    if unknown:
        raise ValueError(f"{kind} has the attribute {unknown[0]!r}, which no fit sets")
    missing = sorted(set(rules) - OPTIONAL - set(attributes))
    if missing and set(attributes) - set(OUTPUT):
        raise ValueError(f"{kind} lacks {missing[0]!r}, which every fit sets")
    for name, rule in rules.items():
        if name in attributes:
            rule(attributes[name], f"{kind}.{name}", sizes)


def check_kernels(kernels: Any) -> None:
    """Raise a ValueError unless the fields of these kernels are what they should be."""
    for kernel in kernels if isinstance(kernels, list | tuple) else [kernels]:
        if not isinstance(kernel, str):
            _part(*BANKS, "Gaussian", "NamedKernel")(kernel, "kernels", {})


def _check_predictor(predictor: Any, where: str, sizes: Sizes) -> None:
    """Raise unless kernels, support samples and their indices belong together."""

    def require(is_right: Any, problem: str) -> None:
        if not is_right:
            raise ValueError(f"{where} {problem}")

    bank, samples, columns = predictor.bank, predictor.samples, predictor.columns
    require(bank.n_kernels == sizes["used"], "has not as many weights as kernels")
    while hasattr(bank, "bank"):
        inner = bank.bank.n_kernels
        for factors in (getattr(bank, "scales", None), getattr(bank, "shares", None)):
            require(factors is None or factors.shape[-1] == inner, "has factors of other kernels")
        bank = bank.bank
    require(len(samples) == sizes["support"], "has not as many support samples as rows")
    if bank.reads == "similarities":
        _indices("support", "features")(samples, f"{where}.samples", sizes)
        used, width = np.asarray(bank.kernels), sizes.get("stacked", math.inf)
    elif bank.reads == "series":
        _part("SeriesSet")(samples, f"{where}.samples", {})
        table, width = bank.kernels, samples.n_channels
        require(set(table.views) <= set(VIEWS), "has unknown views")
        is_window = [len(w) == 2 and 0 <= w[0] < w[1] <= 1 for w in table.windows]
        require(all(is_window), "has windows that are no parts of time")
        sized = zip(table.channels, table.views, table.centers, strict=True)
        require(
            all(len(c) * count_numbers(v) == len(center) for c, v, center in sized),
            "has not one center per number",
        )
        counts = [len(channels) for channels in table.channels]
        for each in (table.units, table.factors):
            require([*map(len, each)] == counts, "has not one number per channel")
        used = np.array([channel for channels in table.channels for channel in channels])
    else:
        rules = {"tables": _part("Table"), "words": _part("Documents")}
        rule = rules.get(bank.reads, _numbers("support", "any"))
        rule(samples, f"{where}.samples", sizes)
        if bank.reads == "tables":
            _check_categories(samples, f"{where}.samples")
        width = samples.shape[1]
        used = getattr(getattr(bank, "kernels", None), "columns", np.zeros(0))
    require(columns is None or columns.size == width, "has not as many columns as its samples")
    ranges = predictor.ranges
    require(ranges is None or ranges.shape == (width, 2), "has not one range per column")
    require(used.max(initial=-1) < width, "has kernels of columns that its samples have not")


def _check_categories(table: Any, where: str) -> None:
    for place, column in enumerate(table.columns):
        codes = table.values[:, place]
        codes = codes[~np.isnan(codes)]
        if column.categories is None:
            is_right = np.isfinite(codes).all()
        else:
            is_right = np.isin(codes, np.arange(len(column.categories))).all()
        if not is_right:
            raise ValueError(f"{where} has numbers that stand for no category of {column.name!r}")
