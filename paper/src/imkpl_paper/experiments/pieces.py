"""What a page is made of: tables and figures as plain values, for Markdown and HTML alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """The text in one place of a table.

    Parameters
    ----------
    text : str
        As it is, not escaped.
    is_bold : bool
        Whether it is among the best.
    """

    text: str
    is_bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    caption : str
        A heading; may be empty.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of Entry
        As many entries as columns in each.
    notes : tuple of str
        Shown right below.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure.

    Parameters
    ----------
    name : str
        A file name without ending.
    caption : str
        What it shows.
    svg : bytes
        The drawing.
    """

    name: str
    caption: str
    svg: bytes


@dataclass(frozen=True)
class Section:
    """An item of the page.

    Parameters
    ----------
    name : str
        Of the item.
    title : str
        A heading.
    printed : str
        What it is called in the paper.
    pieces : tuple of Table or Picture
        What is shown, in order.
    notes : tuple of str
        Shown below.
    """

    name: str
    title: str
    printed: str
    pieces: tuple[Table | Picture, ...]
    notes: tuple[str, ...] = ()


def entries(*texts: str) -> tuple[Entry, ...]:
    """A row of plain texts."""
    return tuple(Entry(text) for text in texts)
