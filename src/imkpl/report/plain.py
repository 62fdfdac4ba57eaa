"""Values that JSON can hold."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

# More digits than anyone reads, and half the size of a page.
DIGITS = 6
# Neither XML nor UTF-8 can hold these: control characters, halves of pairs, non-characters.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def as_json_ready(value: Any) -> Any:
    """The same value from plain dicts, lists, strings and finite numbers of six digits.

    NaN becomes None, infinity the word, and a character that no page can hold a replacement.

    Examples
    --------
    >>> as_json_ready({"a": np.array([1 / 3, np.nan]), 2: (np.int64(1), float("-inf"))})
    {'a': [0.333333, None], '2': [1, '-inf']}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    match value:
        case str():
            return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        case None | bool() | int():
            return value
        case float():
            return _round(value)
        case dict():
            return {str(key): as_json_ready(part) for key, part in value.items()}
        case list() | tuple():
            return [as_json_ready(part) for part in value]
    return as_json_ready(str(value))


def _round(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
