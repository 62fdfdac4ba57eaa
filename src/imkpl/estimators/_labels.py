"""Labels that cannot be classes are refused in words, before other libraries stumble over them."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

KINDS = (str, bytes, Number, np.generic)
FORMS = "expected one label per sample, such as [0, 1, 1] or ['a', 'b', 'b']"


def check_labels(y: Any) -> None:
    """Raise unless y is a list of labels that can be sorted."""
    if y is None or hasattr(y, "toarray"):
        return
    is_listed = hasattr(y, "__len__") or hasattr(y, "__array__")
    if isinstance(y, str | bytes | dict | set | frozenset) or not is_listed:
        raise TypeError(f"y is of type {type(y).__name__}, {FORMS}. Pass a list or an array.")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(
            f"y has {np.ma.count_masked(y)} masked labels, {FORMS}. Leave out samples whose class "
            "is not known."
        )
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y cannot be read as a list of labels, {FORMS}. Labels must be numbers or text, not "
            "lists."
        ) from error
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        what = "NaN" if np.isnan(labels).any() else "infinity"
        raise ValueError(
            f"Input y contains {what}, {FORMS}. Leave out samples whose class is not known."
        )
    if labels.dtype.kind in "mM":
        raise ValueError(
            f"y holds labels of type {labels.dtype}, expected numbers or text. Use [str(label) for "
            "label in y]."
        )
    if labels.dtype != object or labels.ndim != 1:
        return
    distinct = {type(label): label for label in labels.tolist()}
    if any(label is None or label != label for label in distinct.values()):
        raise ValueError(
            f"y contains missing labels (None or NaN), {FORMS}. Leave out samples whose class is "
            "not known."
        )
    others = [kind.__name__ for kind in distinct if not issubclass(kind, KINDS)]
    if others:
        raise ValueError(
            f"y holds labels of type {others[0]}, expected numbers or text. Use [str(label) for "
            "label in y]."
        )
    is_text = [issubclass(kind, str) for kind in distinct]
    if any(is_text) and not all(is_text):
        kinds = " and ".join(sorted(kind.__name__ for kind in distinct))
        raise ValueError(
            f"y mixes labels of types {kinds}, which have no common order, expected one type. Use "
            "[str(label) for label in y]."
        )
