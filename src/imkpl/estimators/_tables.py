"""Reading tables as scikit-learn reads arrays: the same checks, the same words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, validate_data

from imkpl.tables import Table, as_cells, as_frame, read_table

# How numpy and scikit-learn put it when they meet a missing cell or text among numbers.
NOT_NUMBERS = re.compile(r"Input X contains NaN|could not convert string|NAType")
# How numpy puts it when something else than rows of numbers is made an array.
NOT_A_TABLE = re.compile(r"setting an array element|float\(\) argument|Cannot cast|inhomogeneous")
HINT = 'IMKPL(kernels="per_column") reads tables with categories and missing cells.'


def read_training_table(estimator: Any, X: Any, y: ArrayLike) -> tuple[Table, Any]:
    """A table and labels given to `fit`."""
    if _has_columns(X):
        labels = validate_data(estimator, y=y)
        # The checks of arrays would turn a frame into one array of objects.
        validate_data(estimator, X, y, skip_check_array=True)
        check_consistent_length(X, labels)
        return _require_two(read_table(X)), labels
    cells, labels = validate_data(
        estimator, as_cells(X), y, dtype=None, ensure_all_finite=False, ensure_min_samples=2
    )
    return read_table(cells), labels


def read_new_table(estimator: Any, X: Any) -> Table:
    """A table of new samples, with the columns that `fit` has seen."""
    if _has_columns(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return read_table(X)
    cells = as_cells(X)
    return read_table(
        validate_data(estimator, cells, reset=False, dtype=None, ensure_all_finite=False)
    )


@contextmanager
def plain_words(X: Any) -> Iterator[None]:
    """Say in plain words what cannot be read as numbers, and which kernels read it."""
    frame = as_frame(X)
    if frame is not None and not frame.columns:
        raise ValueError("X has no columns, expected at least one. Check how it was selected.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked cells, expected all of them. Fill them with "
            f"X.filled(value), or leave out these samples. {HINT}"
        )
    try:
        # Sums over huge numbers overflow where scikit-learn looks for infinite ones.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        if NOT_NUMBERS.search(str(error)) is not None:
            raise type(error)(f"{error}\n{HINT}") from error
        if NOT_A_TABLE.search(str(error)) is None:
            raise
        raise type(error)(
            f"X is of type {type(X).__name__} and cannot be read as numbers, expected an array of "
            "shape (n_samples, n_features), a data frame, or a list of rows of equal length. "
            # scikit-learn's checks look for the words of the conversion.
            f"Convert it first ({error})."
        ) from error


def _has_columns(X: Any) -> bool:
    return isinstance(X, Table) or as_frame(X) is not None


def _require_two(table: Table) -> Table:
    if len(table) < 2:
        raise ValueError("X has 1 row, expected at least 2 to learn from. Check how it was chosen.")
    return table
