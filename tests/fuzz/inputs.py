"""Input of every kind: matrices, labels and weights with anything in them, in any form."""

import datetime
import decimal
import fractions

import numpy as np
import scipy.sparse as sp

LARGEST = np.finfo(np.float64).max


class Source:
    """Choices between whole numbers, from which everything else is made.

    `draw(low, high)` gives a whole number, both ends included.
    """

    def __init__(self, draw):
        self.whole = draw

    def pick(self, options):
        """One of the options."""
        options = list(options)
        return options[self.whole(0, len(options) - 1)]

    def chance(self, percent):
        """True in so many of a hundred cases."""
        return self.whole(0, 99) >= 100 - percent

    def generator(self):
        """A generator of random arrays."""
        return np.random.default_rng(self.whole(0, 2**32 - 1))


def from_seed(seed):
    """Choices by a seed: the same in every process."""
    generator = np.random.default_rng(seed)
    return Source(lambda low, high: int(generator.integers(low, high, endpoint=True)))


def _steps(rng, n):
    return rng.integers(-3, 4, n).astype(float)


# From a generator and a number of rows to a column. The first are harmless.
COLUMNS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "whole": _steps,
    "two values": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda rng, n: np.full(n, 3.0),
    "negative zeros": lambda rng, n: rng.choice([0.0, -0.0], n),
    "one outlier": lambda rng, n: np.append(1e9, np.zeros(n))[:n],
    "offset": lambda rng, n: 1e15 + _steps(rng, n),
    "denormal": lambda rng, n: 5e-324 * np.abs(_steps(rng, n)),
    "tiny": lambda rng, n: 1e-300 * rng.standard_normal(n),
    "huge": lambda rng, n: 1e300 * rng.standard_normal(n),
    "largest": lambda rng, n: rng.choice([-LARGEST, 0.0, LARGEST], n),
    "constant largest": lambda rng, n: np.full(n, LARGEST),
    "huge range": lambda rng, n: rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-300, 300, n),
}
BROKEN = (np.nan, np.inf, -np.inf)


def draw_matrix(source, *, smallest=4, largest=24, widest=6, allow_broken=True):
    """A matrix (n, d) with columns of any kind, in which rows and columns may repeat."""
    n = source.whole(0, 2) if source.chance(3) else source.whole(smallest, largest)
    d = 0 if source.chance(2) else source.whole(1, widest)
    rng = source.generator()
    X = np.empty((n, d))
    for place in range(d):
        # Most columns are plain, so that many cases come to a fit.
        name = "normal" if source.chance(70) else source.pick(COLUMNS)
        X[:, place] = COLUMNS[name](rng, n)
    if n > 1 and d > 0:
        if source.chance(20):
            X = X[rng.integers(0, max(1, n // 2), n)]
        if source.chance(10):
            X[:, rng.integers(d)] = X[:, rng.integers(d)]
        if allow_broken and source.chance(10):
            X[rng.integers(n), rng.integers(d)] = source.pick(BROKEN)
    return X


def _objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _series(values, **options):
    import pandas as pd

    return pd.Series(values, index=[7] * len(values), **options)


def _polars_series(values):
    import polars as pl

    return pl.Series("y", values)


# Text that turns writing round, is empty, invisible or very long, or looks like something else.
HOSTILE = ["", "\u202e", "nan", "a" * 10_000, "\x00", " ", "None", "0", "\u00e9", "e\u0301", "\n"]
MARKUP = ["<script>alert(1)</script>", "{{ 1 }}", "%s", "$x$", "'; DROP TABLE"]
DAY = datetime.date(2020, 2, 29)
# From class numbers (0, 1, 2, ...) to labels. The first are harmless.
NAMINGS = {
    "numbers": lambda y: y,
    "list": lambda y: y.tolist(),
    "text": lambda y: np.array(["b", "a", "c", "d"])[y % 4],
    "negative": lambda y: -y,
    "bool": lambda y: y % 2 == 0,
    "hostile text": lambda y: _objects([HOSTILE[i % len(HOSTILE)] for i in y]),
    "markup": lambda y: [MARKUP[i % len(MARKUP)] for i in y],
    "bytes": lambda y: np.array([b"a", b"b\xff", b"", b"c"])[y % 4],
    "None and text": lambda y: _objects([None if i == 0 else f"c{i}" for i in y]),
    "numbers and text": lambda y: _objects([i if i % 2 else f"c{i}" for i in y]),
    "bool and numbers": lambda y: _objects([True if i == 1 else int(i) for i in y]),
    "tuples": lambda y: np.fromiter(((int(i), "a") for i in y), dtype=object, count=len(y)),
    "nan": lambda y: np.where(y == 0, np.nan, y),
    "infinite": lambda y: np.where(y == 0, np.inf, y),
    "fractions": lambda y: y + 0.5,
    "both zeros": lambda y: np.where(y == 0, -0.0, np.maximum(y - 1.0, 0)),
    "numbers beyond 64 bits": lambda y: _objects([2**70 + int(i) for i in y]),
    "dates": lambda y: np.datetime64("2020-02-29") + y,
    "date objects": lambda y: _objects([DAY + datetime.timedelta(int(i)) for i in y]),
    "complex": lambda y: y + 1j,
    "column": lambda y: y[:, None],
    "two columns": lambda y: np.column_stack([y, y]),
    "one short": lambda y: y[1:],
    "uint64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "big-endian": lambda y: y.astype(">i4"),
    "masked": lambda y: np.ma.masked_equal(y, 0),
    "pandas": lambda y: _series(y),
    "pandas categories": lambda y: _series([f"c{i}" for i in y], dtype="category"),
    "pandas with missing": lambda y: _series([None if i == 0 else i for i in y], dtype="Int64"),
    "polars": lambda y: _polars_series([f"c{i}" for i in y]),
    "lists": lambda y: [[int(i)] * (1 + int(i)) for i in y],
    "dict": lambda y: {0: y},
    "none": lambda y: None,
    "text alone": lambda y: "a" * len(y),
    "read-only": _read_only,
}
WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(0, 3, n),
    "list": lambda rng, n: rng.random(n).tolist(),
    "zeros": lambda rng, n: np.zeros(n),
    "one": lambda rng, n: np.eye(1, n)[0] if n else np.ones(0),
    "number": lambda rng, n: 2.0,
    "negative": lambda rng, n: -rng.random(n),
    "denormal": lambda rng, n: np.full(n, 5e-324),
    "largest": lambda rng, n: np.full(n, LARGEST),
    "huge range": lambda rng, n: 10.0 ** rng.uniform(-300, 300, n),
    "nan": lambda rng, n: np.where(np.arange(n) == 1, np.nan, 1.0),
    "infinite": lambda rng, n: np.where(np.arange(n) == 1, np.inf, 1.0),
    "one short": lambda rng, n: np.ones(max(n - 1, 0)),
    "column": lambda rng, n: np.ones((n, 1)),
    "text": lambda rng, n: np.full(n, "a"),
    "objects": lambda rng, n: np.full(n, None),
    "complex": lambda rng, n: np.full(n, 1j),
}


def draw_labels(source, n):
    """Class numbers (sometimes one class, or one sample each), labels for them, and weights."""
    n_classes = 1 if source.chance(4) else source.whole(2, 4)
    rng = source.generator()
    places = rng.permutation(np.arange(n) % n_classes)
    if n > 2 and source.chance(5):
        places[rng.integers(n)] = n_classes
    if source.chance(2):
        places = np.arange(n)
    name = "numbers" if source.chance(60) else source.pick(NAMINGS)
    weight = WEIGHTS[source.pick(WEIGHTS)](source.generator(), n) if source.chance(30) else None
    return places, NAMINGS[name](places), weight


NAMES = ["", "\u202e", "a" * 500, "x0", " ", "nan", "<b>", "\n", "\u00e9", "0"]


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


def _each(X, change):
    out = np.empty(X.shape, dtype=object)
    for place in np.ndindex(X.shape):
        out[place] = change(X[place])
    return out


class Subclass(np.ndarray):
    """An array of another class."""


# These hold the same numbers, so that the model must be the same.
SAME = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
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
# These hold other numbers, something that is not a number, or no table at all.
OTHER = {
    "matrix": np.asmatrix,
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: np.nan_to_num(X).clip(-100, 100).astype(np.int8),
    "uint64": lambda X: np.nan_to_num(np.abs(X)).clip(0, 1e18).astype(np.uint64),
    "bool": lambda X: X > 0,
    "frame with names": lambda X: _frame(X, NAMES[: X.shape[1]]),
    "frame with mixed names": lambda X: _frame(
        X, [None, 1, "a", (2, "b"), 3.5, b"c"][: X.shape[1]]
    ),
    "frame with equal names": lambda X: _frame(X, ["a"] * X.shape[1]),
    "frame of nullable": lambda X: _frame(X).convert_dtypes(),
    "frame of text": lambda X: _frame(X.astype(str)),
    "frame of categories": lambda X: _frame(X).astype("category"),
    "polars": _polars,
    "lazy polars": lambda X: _polars(X).lazy(),
    "pyarrow": _arrow,
    "masked": lambda X: np.ma.array(X, mask=np.arange(X.size).reshape(X.shape) % 5 == 1),
    "csr": sp.csr_array,
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


def wrap(source, X):
    """The name of a form, and X in it."""
    forms = SAME if source.chance(75) else OTHER
    name = source.pick(forms)
    with np.errstate(all="ignore"):
        return name, forms[name](X)
