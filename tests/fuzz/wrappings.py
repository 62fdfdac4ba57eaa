"""The same numbers in every form in which they can arrive, and forms that hold something else."""

import decimal
import fractions

import numpy as np
import scipy.sparse as sp

NAMES = ["", "\u202e", "a" * 500, "x0", " ", "nan", "<b>", "\n", "\u00e9", "0"]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X, names=None, **options):
    import pandas as pd

    index = [f"r{i // 2}" for i in range(len(X))]
    return pd.DataFrame(X, columns=names, index=index, **options)


def _polars(X):
    import polars as pl

    return pl.DataFrame({NAMES[i]: X[:, i] for i in range(X.shape[1])})


def _arrow(X):
    import pyarrow as pa

    return pa.table({f"c{i}": X[:, i] for i in range(X.shape[1])})


class Subclass(np.ndarray):
    """An array of another class."""


# These hold the same numbers, so that the model must be the same.
SAME = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
    "tuple of rows": lambda X: tuple(map(tuple, X.tolist())),
    "rows in a list": lambda X: list(X),
    "objects": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "unmasked": lambda X: np.ma.array(X),
    "subclass": lambda X: X.view(Subclass),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f8"),
    "frame": _frame,
}
# These hold other numbers, something that is no number, or no table at all.
OTHER = {
    "matrix": np.asmatrix,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int8": lambda X: np.nan_to_num(X).clip(-100, 100).astype(np.int8),
    "uint64": lambda X: np.nan_to_num(np.abs(X)).clip(0, 1e18).astype(np.uint64),
    "bool": lambda X: X > 0,
    "frame with names": lambda X: _frame(X, NAMES[: X.shape[1]]),
    "frame with numbers as names": lambda X: _frame(X, [i - 1 for i in range(X.shape[1])]),
    "frame with mixed names": lambda X: _frame(
        X, [None, 1, "a", (2, "b"), 3.5, b"c"][: X.shape[1]]
    ),
    "frame with equal names": lambda X: _frame(X, ["a"] * X.shape[1]),
    "frame of float32": lambda X: _frame(X, dtype="float32"),
    "frame of nullable": lambda X: _frame(X).convert_dtypes(),
    "frame of objects": lambda X: _frame(X.astype(object)),
    "frame of text": lambda X: _frame(X.astype(str)),
    "frame of categories": lambda X: _frame(X).astype("category"),
    "polars": _polars,
    "lazy polars": lambda X: _polars(X).lazy(),
    "pyarrow": _arrow,
    "masked": lambda X: np.ma.array(X, mask=np.arange(X.size).reshape(X.shape) % 5 == 1),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "text": lambda X: X.astype(str),
    "bytes": lambda X: X.astype(str).astype("S"),
    "complex": lambda X: X + 1j,
    "dates": lambda X: np.nan_to_num(X).clip(-1e9, 1e9).astype("M8[s]"),
    "decimals": lambda X: _each(X, lambda x: decimal.Decimal(float(x))),
    "fractions": lambda X: _each(X, lambda x: fractions.Fraction(0) if x != x else x),
    "None among numbers": lambda X: _each(X, lambda x: None if x < 0 else x),
    "text among numbers": lambda X: _each(X, lambda x: "a" if x < 0 else x),
    "lists in cells": lambda X: _each(X, lambda x: [x]),
    "records": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", "U3")]),
    "one axis": lambda X: X.ravel(),
    "three axes": lambda X: X[:, :, None],
    "one row short": lambda X: X[1:],
    "ragged": lambda X: [row[: i % 3] for i, row in enumerate(X.tolist())],
    "none": lambda X: None,
    "text alone": lambda X: "abc",
    "number": lambda X: 3.0,
    "dict": lambda X: {"a": X},
    "rows to come": lambda X: (row for row in X.tolist()),
    "set": lambda X: set(X.ravel().tolist()),
}


def _each(X, change):
    out = np.empty(X.shape, dtype=object)
    for place in np.ndindex(X.shape):
        out[place] = change(X[place])
    return out


def wrap(source, X):
    """X in some form, and which."""
    forms = SAME if source.chance(75) else OTHER
    name = source.pick(forms)
    with np.errstate(all="ignore"):
        return name, forms[name](X)
