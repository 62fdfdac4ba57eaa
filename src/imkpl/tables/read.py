"""Reading tables in the forms in which users have them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np

from imkpl._typing import FloatArray
from imkpl.tables.table import Column, Table

FORMS = (
    "a frame of pandas, polars or pyarrow, an array (n_rows, n_columns), or a list of rows of "
    "equal length"
)
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
ROWS = (list, tuple, np.ndarray)
BOOLS = (bool, np.bool_)
REFUSED = (dict, list, tuple, set, frozenset, np.ndarray, complex, np.complexfloating)
# Larger whole numbers are no floating-point numbers.
LARGEST = int(np.finfo(np.float64).max)
# How pandas calls the types of its marks for missing cells.
MISSING_MARKS = ("NAType", "NaTType")


def read_table(X: Any) -> Table:
    """A table of numbers, categories and missing cells; a `Table` is returned itself.

    Read are frames of pandas, polars and pyarrow, arrays of numbers, text or objects, and lists of
    rows. A column of

    * numbers is numeric, also one of objects whose cells are all numbers;
    * text, of categories (``Categorical``, ``Enum``), of true and false, and of mixed objects is a
      column of categories. Text is never read as numbers;
    * nothing but missing cells is numeric;
    * dates, times or durations is refused: whether the age, the season or the weekday matters is
      for the user to say.

    Missing are None, NaN, null, the ``NA`` and ``NaT`` of pandas, and what a mask of numpy hides.
    An empty text is not missing.

    Parameters
    ----------
    X : frame, array or list
        The table.

    Returns
    -------
    Table
        With a copy of the cells; columns without names are called x0, x1, ...

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
        read = [_read_series(frame[:, place], names[place]) for place in range(len(names))]
        return _collect(read, len(frame))
    array = as_cells(X)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"X is of type {type(X).__name__}, expected {FORMS}. Convert it first.")
    if array.ndim != 2:
        raise ValueError(
            f"X has shape {array.shape}, expected rows and columns. Use X.reshape(-1, 1) for a "
            "single column, X.reshape(1, -1) for a single row."
        )
    return _collect(
        [_read_array(array[:, place], f"x{place}") for place in range(array.shape[1])],
        array.shape[0],
    )


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A frame behind the interface of narwhals; None for anything else."""
    package = type(X).__module__.split(".")[0]
    # Those of polars cannot be the same.
    attribute = {"pandas": "columns", "pyarrow": "column_names"}.get(package, "")
    names = list(getattr(X, attribute, ()))
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"The frame has two columns named {repeated!r}, expected names of their own. Rename "
            "one of them."
        )
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            "X is a lazy frame, which has no rows yet, expected one in memory. Use X.collect()."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def as_cells(X: Any) -> Any:
    """Rows as an array of objects, so that numbers stay numbers beside text, and masks as NaN."""
    if isinstance(X, np.ma.MaskedArray):
        cells = np.array(X.data, dtype=np.float64 if X.dtype.kind in "iuf" else object)
        # Among numbers None is NaN.
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
        # One by one: numpy would look into a cell that holds a list.
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
        if np.isinf(values).any():
            raise ValueError(
                f"Column {column.name!r} has an infinite number in row "
                f"{int(np.argmax(np.isinf(values)))}, expected finite numbers, or NaN for a "
                "missing cell. Replace it."
            )
    return Table(np.column_stack([values for values, _ in read]), tuple(c for _, c in read))


def _read_series(series: nw.Series[Any], name: str) -> tuple[FloatArray, Column]:
    """A column of a frame."""
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.cast(nw.Float64()).to_numpy()
        return np.asarray(values, dtype=np.float64), Column(name, is_whole=dtype.is_integer())
    if dtype.is_temporal():
        raise _refuse_date(name)
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
    """A column of objects: numbers if all of them are, categories otherwise."""
    try:
        # Each NaN is a key of its own, which is found by identity.
        given = dict.fromkeys(cells)
    except TypeError as error:
        raise _refuse_object(name, next(c for c in cells if not _is_hashable(c))) from error
    plain = {cell: None if _is_missing(cell) else _as_plain(cell, name) for cell in given}
    seen = {cell for cell in plain.values() if cell is not None}
    is_other = any(isinstance(c, str) for c in seen) or any(isinstance(c, BOOLS) for c in given)
    if not seen or (may_be_numbers and not is_other):
        numbers = [np.nan if plain[cell] is None else plain[cell] for cell in cells]
        is_whole = bool(seen) and not any(isinstance(cell, float | np.floating) for cell in given)
        return np.array(numbers, dtype=np.float64), Column(name, is_whole=is_whole)
    # Numbers before text, so that the order is that of the categories and not of the rows.
    categories = tuple(sorted(seen, key=lambda cell: (isinstance(cell, str), cell)))
    places: dict[Any, float] = {category: place for place, category in enumerate(categories)}
    places[None] = np.nan
    codes = {cell: places[plain[cell]] for cell in given}
    return np.array([codes[cell] for cell in cells]), Column(name, categories)


def _as_plain(cell: Any, name: str) -> Any:
    """A cell as text, number or truth value."""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, BOOLS):
        return bool(cell)
    if isinstance(cell, Integral):
        if abs(int(cell)) > LARGEST:
            raise ValueError(
                f"Column {name!r} holds a whole number of {len(str(abs(int(cell))))} digits, "
                "expected less than 1.8e308. Divide the column, or make it text."
            )
        return int(cell)
    if isinstance(cell, Real | Decimal):
        number = float(cell)
        return int(number) if number.is_integer() else number
    if isinstance(cell, DATES):
        raise _refuse_date(name)
    if isinstance(cell, REFUSED):
        raise _refuse_object(name, cell)
    return str(cell)


def _is_hashable(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in MISSING_MARKS:
        return True
    is_number = isinstance(cell, Real | Decimal | np.datetime64 | np.timedelta64)
    return bool(is_number and cell != cell)


def _refuse_date(name: str) -> TypeError:
    return TypeError(
        f"Column {name!r} holds dates, times or durations, expected numbers or categories. Say "
        "what of them matters: days since a start, the month, the weekday or the hour, as a "
        "column of numbers or of text."
    )


def _refuse_object(name: str, cell: Any) -> TypeError:
    return TypeError(
        f"Column {name!r} holds a cell of type {type(cell).__name__}, expected numbers, text, true "
        "or false, or None for a missing cell. Make columns of their own of its parts."
    )
