"""Tables with columns of numbers, columns of categories and missing cells."""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from numbers import Integral, Real
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from imkpl._checks import LARGEST, find_places, list_some, quote
from imkpl._typing import FloatArray

__all__ = ["Column", "Table", "read_table"]

# Texts that stand for a missing cell in a file. In memory an empty text is a category. "none" is
# not on the list: it is a common category.
MISSING_TEXTS = frozenset(
    {"", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "NULL", "null", "?", "#N/A", "#NA"}
)
# A cell as a Python object; None if it is missing.
Cell: TypeAlias = str | bool | int | float | None

DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
# The period of pandas, a span of time, which is not a date to Python.
PERIOD = "Period"
ROWS = (list, tuple, np.ndarray)
BOOLS = (bool, np.bool_)
# Text is searched for numbers in this number of rows. More than a few numbers, or one with a
# decimal point, are no categories; a number with leading zeros is a code.
LOOKED_AT, FEW = 1000, 10
NUMBER_TEXT = re.compile(r"(?=.*\d)[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
NO_CELLS = MISSING_TEXTS | {"None", "<NA>"}
# How the warning about such text begins.
NUMBERS_AS_TEXT = "Text that looks like numbers"
REFUSED = (dict, list, tuple, set, frozenset, np.ndarray, complex, np.complexfloating)


@dataclass(frozen=True)
class Column:
    """What the numbers in a column of a `Table` mean.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : tuple of str, bool, int or float, optional
        The categories for which the numbers 0, 1, ... stand; None for a column of numbers.
    is_whole : bool
        Whether to show the numbers as integers.
    is_ordered : bool
        Whether the categories have an order, in which they are compared.

    Examples
    --------
    >>> Column("age", is_whole=True).show(31.0), Column("sex", categories=("f", "m")).show(1.0)
    (31, 'm')
    """

    name: str
    categories: tuple[Hashable, ...] | None = None
    is_whole: bool = False
    is_ordered: bool = False

    def show(self, value: float) -> Cell:
        """The cell for which a number stands, as a Python object; None for NaN, a missing cell."""
        if np.isnan(value):
            return None
        if self.categories is not None:
            return self.categories[int(value)]  # type: ignore[return-value]
        return int(value) if self.is_whole else float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of samples, with columns of numbers and of categories; made by `read_table`.

    Tables are indexed like arrays: ``t[[0, 2]]``, ``t[:5]`` and ``t[mask]`` select rows,
    ``t[:, [1]]`` selects a column. Their arrays are read-only.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Numbers, and indices into the categories. Missing cells are NaN.
    columns : tuple of Column
        One per column.

    Examples
    --------
    >>> age, sex = Column("age", is_whole=True), Column("sex", categories=("f", "m"))
    >>> table = Table(np.array([[31, 0], [np.nan, 1], [54, 0]]), (age, sex))
    >>> table.names, table.display_values(1), table[:, [1]].display_values(0)
    (('age', 'sex'), [None, 'm'], ['f'])
    """

    values: FloatArray
    columns: tuple[Column, ...]

    ndim = 2

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64).view()
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"The values of a Table have shape {values.shape}, expected (n_rows, "
                f"{len(self.columns)}): one for each of `columns`. Make tables with read_table."
            )
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column."""
        return tuple(column.name for column in self.columns)

    def display_values(self, row: int) -> list[Cell]:
        """The cells of a row as they were given, as Python objects; None for a missing cell."""
        values = self.values[row].tolist()
        return [column.show(value) for column, value in zip(self.columns, values, strict=True)]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Table:
        keys = key if isinstance(key, tuple) else (key, slice(None))
        rows, columns = map(find_places, keys, self.shape)
        if rows.ndim != 1 or columns.ndim != 1:
            raise IndexError(
                "Rows and columns of a Table are selected by lists, slices or masks, not by single "
                "numbers. Use display_values(row) for the cells of a row."
            )
        return Table(self.values[np.ix_(rows, columns)], tuple(self.columns[i] for i in columns))

    def __repr__(self) -> str:
        n_categorical = sum(column.categories is not None for column in self.columns)
        return (
            f"Table({self.shape[0]} rows, {self.shape[1]} columns, {n_categorical} of categories, "
            f"{int(np.isnan(self.values).sum())} missing cells)"
        )


def read_table(X: Any) -> Table:
    """Read a table of numbers, categories and missing cells; a `Table` is returned unchanged.

    Columns of numbers, and of missing cells only, are numeric. Text, categories, booleans and mixed
    objects are categories; text is never converted to numbers. Dates, times and durations are
    refused, because only the user knows whether the age, the season or the weekday matters.
    Missing cells are None, NaN, null, the ``NA`` and ``NaT`` of pandas, and masked entries of NumPy
    arrays. An empty text is not missing.

    Parameters
    ----------
    X : frame, array or list
        A frame of pandas, polars or pyarrow, an array, or a list of rows.

    Returns
    -------
    Table
        A copy of the cells; columns without names are called x0, x1, ...

    Examples
    --------
    >>> table = read_table([[31, "f"], [None, "m"], [54.5, None]])
    >>> table
    Table(3 rows, 2 columns, 1 of categories, 2 missing cells)
    >>> [table.display_values(row) for row in range(3)]
    [[31.0, 'f'], [None, 'm'], [54.5, None]]
    """
    if isinstance(X, Table):
        return X
    frame = as_frame(X)
    if frame is not None:
        names = frame.columns
        if not all(isinstance(name, str) for name in names):
            names = [f"x{place}" for place in range(len(names))]
        refuse_dates(frame)
        read = [_read_series(frame[:, place], names[place]) for place in range(len(names))]
        return _collect(read, len(frame))
    array = as_cells(X)
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"X is of type {type(X).__name__}, expected a frame of pandas, polars or pyarrow, an "
            "array (n_rows, n_columns), or a list of rows of equal length. Convert it first."
        )
    if array.ndim != 2:
        raise ValueError(
            f"X has shape {array.shape}, expected rows and columns. Use X.reshape(-1, 1) for a "
            "single column, X.reshape(1, -1) for a single row."
        )
    read = [_read_array(cells, f"x{place}") for place, cells in enumerate(array.T)]
    return _collect(read, array.shape[0])


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, or the NA or NaT of pandas (whatever its class is called)."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    is_number = isinstance(cell, Real | Decimal | np.datetime64 | np.timedelta64)
    return bool(is_number and cell != cell)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """The frame wrapped by narwhals, which refuses repeated names; None if X is not a frame."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame, expected a frame in memory. Use X.collect().")
    return frame if isinstance(frame, nw.DataFrame) else None


def warn_of_text(X: Any) -> None:
    """Warn of columns of text with nothing but numbers, each of which counts as a category."""
    frame, columns = as_frame(X), list[tuple[str, list[Any]]]()
    if frame is not None:
        # Who says that they are categories needs no warning.
        texts = (nw.String, nw.Object)
        places = [p for p, dtype in enumerate(frame.schema.values()) if isinstance(dtype, texts)]
        columns = [(str(frame.columns[p]), frame[:LOOKED_AT, p].to_list()) for p in places]
    elif isinstance(X, ROWS):
        cells = as_cells(X[:LOOKED_AT])
        if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "OU":
            columns = [(f"x{place}", column.tolist()) for place, column in enumerate(cells.T)]
    names = [quote(name) for name, cells in columns if _is_text_of_numbers(cells)]
    if names:
        warnings.warn(
            f"{NUMBERS_AS_TEXT} is read as categories, which are equal or not, without order: "
            f"column{'s' * (len(names) > 1)} {list_some(names)}. Convert it "
            "with X.astype(float), or with pd.to_numeric column by column. If these are "
            "categories, say so with the dtype 'category'.",
            stacklevel=2,
        )


def _is_text_of_numbers(cells: list[Any]) -> bool:
    """Whether a column is text, and each of it is a number."""
    if not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return False
    texts = {cell.strip() for cell in cells if isinstance(cell, str)} - NO_CELLS
    is_number = all(map(NUMBER_TEXT.fullmatch, texts))
    return is_number and (len(texts) > FEW or any("." in text for text in texts))


def refuse_dates(frame: nw.DataFrame[Any]) -> None:
    """Raise if a column of a frame holds dates, times, durations or periods."""
    kinds = getattr(nw.to_native(frame), "dtypes", ())
    for (name, dtype), kind in zip_longest(frame.schema.items(), kinds):
        if dtype.is_temporal() or type(kind).__name__ == f"{PERIOD}Dtype":
            raise _refuse_date(name)


def as_cells(X: Any) -> Any:
    """Lists of rows as an array of objects, which keeps numbers beside text; masks as NaN."""
    if isinstance(X, np.ma.MaskedArray):
        cells = np.array(X.data, dtype=np.float64 if X.dtype.kind in "iuf" else object)
        # NumPy converts None to NaN in an array of numbers.
        cells[np.ma.getmaskarray(X)] = None
        return cells
    is_rows = isinstance(X, list | tuple) and all(isinstance(row, ROWS) for row in X)
    if not is_rows or len(X) == 0:
        return X
    widths = [len(row) for row in X]
    if len(set(widths)) > 1:
        other = next(place for place, width in enumerate(widths) if width != widths[0])
        raise ValueError(
            f"Row {other} has {widths[other]} cells, expected {widths[0]} as in the first row. Use "
            "None for a missing cell."
        )
    cells = np.empty((len(X), widths[0]), dtype=object)
    for place, row in enumerate(X):
        # One by one, because NumPy would unpack a cell that holds a list.
        for column, cell in enumerate(row):
            cells[place, column] = cell
    return cells


def _collect(read: list[tuple[FloatArray, Column]], n_rows: int) -> Table:
    if not read or n_rows == 0:
        raise ValueError(
            f"X has {n_rows} rows and {len(read)} columns, expected at least one of each. Check "
            "how it was selected."
        )
    for values, column in read:
        is_huge = np.abs(values) > LARGEST
        if is_huge.any():
            row = int(np.argmax(is_huge))
            raise _refuse_huge(column.name, f"{values[row]:.3g} in row {row}")
    return Table(np.column_stack([values for values, _ in read]), tuple(c for _, c in read))


def _read_series(series: nw.Series[Any], name: str) -> tuple[FloatArray, Column]:
    """A column of a frame."""
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.cast(nw.Float64()).to_numpy()
        return np.asarray(values, dtype=np.float64), Column(name, is_whole=dtype.is_integer())
    kind = getattr(nw.to_native(series), "dtype", None)
    if getattr(kind, "ordered", False):
        categories = tuple(_as_python(one, name) for one in kind.categories.tolist())  # type: ignore[union-attr]
        places: dict[Any, float] = {one: place for place, one in enumerate(categories)}
        cells = [np.nan if is_missing(c) else places[_as_python(c, name)] for c in series.to_list()]
        return np.array(cells, dtype=np.float64), Column(name, categories, is_ordered=True)
    may_be_numbers = not isinstance(dtype, nw.Categorical | nw.Enum)
    return _read_cells(series.to_list(), name, may_be_numbers=may_be_numbers)


def _read_array(cells: Any, name: str) -> tuple[FloatArray, Column]:
    """A column of an array."""
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64), Column(name, is_whole=cells.dtype.kind in "iu")
    if cells.dtype.kind in "Mm":
        raise _refuse_date(name)
    return _read_cells(cells.tolist(), name)


def _read_cells(
    cells: Sequence[Any], name: str, *, may_be_numbers: bool = True
) -> tuple[FloatArray, Column]:
    """A column of objects: numeric if all of them are numbers, otherwise of categories."""
    for cell in cells:
        if isinstance(cell, REFUSED):
            raise TypeError(
                f"Column {quote(name)} holds a cell of type {type(cell).__name__}, expected "
                "numbers, text, booleans, or None for a missing cell. Split it into columns."
            )
    # Every NaN is a key of its own, found by identity.
    given = dict.fromkeys(cells)
    converted = {cell: None if is_missing(cell) else _as_python(cell, name) for cell in given}
    seen = {cell for cell in converted.values() if cell is not None}
    is_other = any(isinstance(c, str) for c in seen) or any(isinstance(c, BOOLS) for c in given)
    if not seen or (may_be_numbers and not is_other):
        numbers = [np.nan if converted[cell] is None else converted[cell] for cell in cells]
        is_whole = bool(seen) and not any(isinstance(cell, float | np.floating) for cell in given)
        return np.array(numbers, dtype=np.float64), Column(name, is_whole=is_whole)
    # Sorted, numbers before text, so that the order does not depend on the rows.
    categories = tuple(sorted(seen, key=lambda cell: (isinstance(cell, str), cell)))
    places: dict[Any, float] = {category: place for place, category in enumerate(categories)}
    places[None] = np.nan
    codes = {cell: places[converted[cell]] for cell in given}
    return np.array([codes[cell] for cell in cells]), Column(name, categories)


def _as_python(cell: Any, name: str) -> Any:
    """A cell as str, bool, int or float."""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, BOOLS):
        return bool(cell)
    if isinstance(cell, Real | Decimal):
        try:
            number = float(cell)
        except OverflowError as error:
            raise _refuse_huge(name, "hundreds of digits") from error
        if isinstance(cell, Integral):
            return int(cell)
        return int(number) if number.is_integer() else number
    if isinstance(cell, DATES) or type(cell).__name__ == PERIOD:
        raise _refuse_date(name)
    return str(cell)


def _refuse_huge(name: str, size: str) -> ValueError:
    return ValueError(
        f"Column {quote(name)} holds a number of {size}, expected numbers up to {LARGEST:.0e}, "
        "whose squares do not overflow, or NaN for a missing cell. Replace it, rescale the column, "
        "or convert it to text."
    )


def _refuse_date(name: str) -> TypeError:
    return TypeError(
        f"Column {quote(name)} holds dates, times or durations, expected numbers or categories. "
        "Convert it to what matters (days since a start, the month, the weekday or the hour), as a "
        "column of numbers or of text."
    )
