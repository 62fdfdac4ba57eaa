"""Rows of numbers and categories in one array."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imkpl._typing import FloatArray

# A cell as a plain Python object; None is a missing one.
Cell: TypeAlias = str | bool | int | float | None


@dataclass(frozen=True)
class Column:
    """What the numbers in a column of a `Table` mean.

    Parameters
    ----------
    name : str
        What to call it.
    categories : tuple of str, bool, int or float, optional
        The categories that the numbers 0, 1, ... stand for; None for a column of numbers.
    is_whole : bool
        Whether the numbers are shown without a decimal point.
    """

    name: str
    categories: tuple[Hashable, ...] | None = None
    is_whole: bool = False

    def show(self, value: float) -> Cell:
        """The cell that a number of this column stands for.

        Parameters
        ----------
        value : float
            A number of the table.

        Returns
        -------
        str, bool, int, float or None
            The category or the number; None for NaN, a missing cell.
        """
        if np.isnan(value):
            return None
        if self.categories is not None:
            category: Any = self.categories[int(value)]
            return category  # type: ignore[no-any-return]
        return int(value) if self.is_whole else float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Samples in rows, with columns of numbers and columns of categories; made by `read_table`.

    It is indexed as an array would be: ``t[[0, 2]]``, ``t[:5]`` and ``t[mask]`` are tables of some
    rows, ``t[:, [1]]`` is the table of one column. Tables compare by their cells, and their arrays
    are read-only.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Numbers, and places in the list of categories. Missing cells are NaN.
    columns : tuple of Column
        One per column.

    Examples
    --------
    >>> age, sex = Column("age", is_whole=True), Column("sex", categories=("f", "m"))
    >>> table = Table(np.array([[31, 0], [np.nan, 1], [54, 0]]), (age, sex))
    >>> len(table), table.names
    (3, ('age', 'sex'))
    >>> table.display_values(1)
    [None, 'm']
    >>> table[:, [1]].display_values(0)
    ['f']
    """

    values: FloatArray
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"The values of a Table have shape {values.shape}, expected (n_rows, "
                f"{len(self.columns)}): one column for each of `columns`. Use read_table to make "
                "a table."
            )
        values = values.view()
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def ndim(self) -> int:
        """Always 2."""
        return 2

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column."""
        return tuple(column.name for column in self.columns)

    def display_values(self, row: int) -> list[Cell]:
        """The cells of a row as they were given.

        Parameters
        ----------
        row : int
            Which row.

        Returns
        -------
        list of str, bool, int, float or None
            One plain Python object per column; None for a missing cell.
        """
        values = self.values[row].tolist()
        return [column.show(value) for column, value in zip(self.columns, values, strict=True)]

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Table:
        parts = key if isinstance(key, tuple) else (key,)
        parts = tuple(part for part in parts if part is not Ellipsis)
        if len(parts) > 2:
            raise IndexError(
                f"A Table was indexed along {len(parts)} axes, expected rows and columns only."
            )
        rows, columns = (*parts, slice(None), slice(None))[:2]
        # Numpy refuses places outside the table with its own words.
        chosen_rows = np.arange(self.shape[0])[_as_key(rows)]
        chosen_columns = np.arange(self.shape[1])[_as_key(columns)]
        if chosen_rows.ndim != 1 or chosen_columns.ndim != 1:
            raise IndexError(
                "Rows and columns of a Table are chosen by lists, slices or masks, not by single "
                "numbers. Use display_values(row) for the cells of a row."
            )
        values = self.values[rows] if isinstance(rows, slice) else self.values[chosen_rows]
        if not isinstance(columns, slice) or columns != slice(None):
            values = values[:, chosen_columns]
        return Table(values, tuple(self.columns[i] for i in chosen_columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            self.names == other.names
            and len(self) == len(other)
            and all(self.display_values(i) == other.display_values(i) for i in range(len(self)))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays can be written to; the constructor makes them read-only again.
        return Table, (self.values, self.columns)

    def __repr__(self) -> str:
        n_categorical = sum(column.categories is not None for column in self.columns)
        return (
            f"Table({self.shape[0]} rows, {self.shape[1]} columns, {n_categorical} of categories, "
            f"{int(np.isnan(self.values).sum())} missing cells)"
        )


def _as_key(key: Any) -> Any:
    if isinstance(key, slice):
        return key
    array = np.asarray(key)
    # An empty list is an array of float.
    return array if array.size else array.astype(np.intp)
