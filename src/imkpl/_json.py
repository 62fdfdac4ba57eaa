"""Values that JSON, and a page, can hold."""

import math
import re
from typing import Any, ClassVar

import numpy as np

# Neither XML nor UTF-8 can hold these: control characters, lone surrogates, non-characters.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def to_json(value: Any, digits: int | None = None) -> Any:
    """The value as plain dicts, lists, text and finite numbers; NaN is None, infinity the word."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    match value:
        case str():
            return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        case None | bool() | int():
            return value
        case float() if math.isnan(value):
            return None
        case float() if math.isinf(value):
            return str(value)
        case float():
            return value if digits is None else float(f"{value:.{digits}g}")
        case dict():
            return {str(key): to_json(part, digits) for key, part in value.items()}
        case list() | tuple():
            return [to_json(part, digits) for part in value]
    return to_json(str(value), digits)


class Described:
    """A dataclass that becomes a dict: its fields but for the model, and some properties."""

    _also: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Convert to dicts, lists, numbers and strings.

        Returns
        -------
        dict
            One entry per field, but for a model; ready for JSON.
        """
        names = [name for name in vars(self) if name != "model"]
        values = {name: getattr(self, name) for name in [*names, *self._also]}
        found: dict[str, Any] = to_json(values)
        return found
