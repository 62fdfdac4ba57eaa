"""Checks of arrays that raise a sentence: what was wrong, what was expected, how to fix it."""

import importlib
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from imkpl._typing import FloatArray

# Sums of squares of larger numbers may overflow.
LARGEST = 1e150
# Names and values in messages are cut to this many characters.
LONGEST_QUOTE = 80


def require(is_right: Any, problem: str) -> None:
    """Raise a ValueError unless something holds."""
    if not is_right:
        raise ValueError(problem)


def import_extra(name: str, extra: str, needs: str, otherwise: str = "") -> Any:
    """A module that only some need, or a sentence about how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{needs} {name.partition('.')[0]}, which is not installed. Install it with "
            f"pip install 'imkpl[{extra}]'{otherwise}."
        ) from error


def check_nonnegative(values: FloatArray, name: str) -> None:
    """Raise unless all values are finite and not negative."""
    # A comparison with NaN is false, so that NaN is caught as well.
    if not np.all((values >= 0) & (values < np.inf)):
        raise ValueError(
            f"Some {name} are negative, NaN or infinite, expected finite values of 0 or more. "
            "Take them from a fitted model as they are."
        )


def find_places(key: Any, size: int) -> Any:
    """The places that an index selects of `size`; NumPy raises for places that do not exist."""
    if isinstance(key, slice):
        return np.arange(size)[key]
    array = np.asarray(key)
    # An empty list selects nothing.
    return np.arange(size)[array if array.size else array.astype(np.intp)]


def take_fields(one: Any, names: Iterable[str], places: Any) -> dict[str, Any]:
    """Some entries of each of these fields of a dataclass; None stays None."""
    found = {name: getattr(one, name) for name in names}
    return {name: part if part is None else part[places] for name, part in found.items()}


def list_some(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shorten(text: str, longest: int = LONGEST_QUOTE) -> str:
    """A text for a message, cut to about 80 characters."""
    if len(text) <= longest:
        return text
    # The last character closes quotes and brackets.
    end = "" if text[-1].isalnum() else text[-1]
    return f"{text[: longest - 4]}...{end}"


def quote(value: Any) -> str:
    """A value from the user as it is written in code, cut to about 80 characters."""
    # The rest of a long text would only be written to be cut off again.
    cut = value[:LONGEST_QUOTE] if isinstance(value, str | bytes) else value
    try:
        return shorten(repr(cut))
    except ValueError:
        return "a number of thousands of digits"


def printable(text: Any) -> str:
    """Text in one line, without characters that a terminal would obey: these are escaped."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def describe_lookalikes(labels: Any) -> str:
    """A sentence about two labels that look the same but are not; empty if there are none."""
    seen: dict[str, str] = {}
    for label in labels:
        if isinstance(label, str):
            other = seen.setdefault(unicodedata.normalize("NFC", label.strip()).strip(), label)
            if other != label:
                # In ASCII, texts that look alike differ.
                return (
                    f"Labels {shorten(ascii(other))} and {shorten(ascii(label))} look alike but "
                    "differ in spaces or in how their accents are encoded, so they count as two "
                    "classes. Write them the same way if they mean the same."
                )
    return ""
