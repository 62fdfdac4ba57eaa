"""What a user may say about a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """Everything about a file that is not guessed.

    Parameters
    ----------
    target : str, optional
        The column with the classes.
    id_column : str, optional
        The column that names the rows.
    separator : str, optional
        What stands between cells in a text file: a character, or "tab", "comma", "semicolon",
        "space" or "pipe".
    x_key, y_key : str, optional
        Names of the arrays with samples and labels in ``.npz`` and ``.mat`` files.
    known_names : tuple of str
        Columns that the file should have; the first line of a text file with one is a header.
    """

    target: str | None = None
    id_column: str | None = None
    separator: str | None = None
    x_key: str | None = None
    y_key: str | None = None
    known_names: tuple[str, ...] = ()
