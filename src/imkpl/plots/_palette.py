"""Colours and markers of classes, and the texts of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Okabe and Ito's eight colours, which readers of every kind of colour vision tell apart. Yellow
# comes last: it is pale on white paper.
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#000000",
    "#F0E442",
)
# Eleven and eight have no common divisor, so that 88 classes differ in colour or marker, and the
# first eight in both. Stars are left for prototypes.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Bars and lines that belong to no class.
NEUTRAL = "#595959"
REST = "#BFBFBF"
# Dark and light ends that differ in lightness for everyone.
DIVERGING, SEQUENTIAL = "PuOr_r", "Blues"

LONGEST_NAME = 28


def class_color(place: int) -> str:
    """The colour of a class."""
    return COLORS[place % len(COLORS)]


def class_marker(place: int) -> str:
    """The marker of a class."""
    return MARKERS[place % len(MARKERS)]


def shorten(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name in one line, without its middle if it is long.

    Examples
    --------
    >>> shorten("mean corpuscular haemoglobin concentration", 20)
    'mean corpusc…tration'
    """
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    n_last = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"


def shorten_all(names: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Shortened names that are as distinct as the names were.

    Examples
    --------
    >>> shorten_all(["sensor of the left hand", "sensor of the lost hand", "foot"], 11)
    ['sensor…hand (1)', 'sensor…hand (2)', 'foot']
    """
    short = [shorten(name, longest) for name in names]
    whole: dict[str, list[str]] = {}
    for text, name in zip(short, names, strict=True):
        known = whole.setdefault(text, [])
        if str(name) not in known:
            known.append(str(name))
    return [
        text if len(whole[text]) == 1 else f"{text} ({whole[text].index(str(name)) + 1})"
        for text, name in zip(short, names, strict=True)
    ]


def literal(text: str) -> str:
    """A text that matplotlib draws as it is."""
    escaped = text.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
