"""Labels as people have them, and as nobody should."""

import datetime

import numpy as np

# Text that turns writing round, is empty, is invisible, is very long, or looks like something else.
HOSTILE = ["", "\u202e", "nan", "a" * 10_000, "\x00", " ", "None", "0", "\u00e9", "e\u0301", "\n"]
MARKUP = ["<script>alert(1)</script>", "{{ 1 }}", "%s", "$x$", "'; DROP TABLE"]
DAY = datetime.date(2020, 2, 29)


def _objects(values):
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return out


def _pandas(values, **options):
    import pandas as pd

    return pd.Series(values, index=[7] * len(values), **options)


def _polars(values):
    import polars as pl

    return pl.Series("y", values)


# From places of the classes (0, 1, 2, ...) to labels. The first are harmless.
NAMINGS = {
    "numbers": lambda y: y,
    "list": lambda y: y.tolist(),
    "text": lambda y: np.array(["b", "a", "c", "d"])[y % 4],
    "negative": lambda y: -y,
    "whole floats": lambda y: y.astype(float),
    "bool": lambda y: y % 2 == 0,
    "hostile text": lambda y: _objects([HOSTILE[i % len(HOSTILE)] for i in y]),
    "more hostile text": lambda y: np.array([HOSTILE[-1 - i % 9] for i in y]),
    "markup": lambda y: [MARKUP[i % len(MARKUP)] for i in y],
    "bytes": lambda y: np.array([b"a", b"b\xff", b"", b"c"])[y % 4],
    "None and text": lambda y: _objects([None if i == 0 else f"c{i}" for i in y]),
    "numbers and text": lambda y: _objects([i if i % 2 else f"c{i}" for i in y]),
    "bool and numbers": lambda y: _objects([True if i == 1 else int(i) for i in y]),
    "tuples": lambda y: _objects([(int(i), "a") for i in y]),
    "nan": lambda y: np.where(y == 0, np.nan, y),
    "infinite": lambda y: np.where(y == 0, np.inf, y),
    "fractions": lambda y: y + 0.5,
    "both zeros": lambda y: np.where(y == 0, -0.0, np.maximum(y - 1.0, 0)),
    "numbers beyond 64 bits": lambda y: _objects([2**70 + int(i) for i in y]),
    "dates": lambda y: np.datetime64("2020-02-29") + y,
    "date objects": lambda y: _objects([DAY + datetime.timedelta(int(i)) for i in y]),
    "durations": lambda y: y.astype("m8[s]"),
    "complex": lambda y: y + 1j,
    "column": lambda y: y[:, None],
    "two columns": lambda y: np.column_stack([y, y]),
    "one short": lambda y: y[1:],
    "int8": lambda y: y.astype(np.int8),
    "uint64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "float16": lambda y: y.astype(np.float16),
    "big-endian": lambda y: y.astype(">i4"),
    "object numbers": lambda y: _objects([int(i) for i in y]),
    "masked": lambda y: np.ma.masked_equal(y, 0),
    "pandas": lambda y: _pandas(y),
    "pandas categories": lambda y: _pandas([f"c{i}" for i in y], dtype="category"),
    "pandas with missing": lambda y: _pandas([None if i == 0 else i for i in y], dtype="Int64"),
    "polars": lambda y: _polars([f"c{i}" for i in y]),
    "lists": lambda y: [[int(i)] * (1 + int(i)) for i in y],
    "dict": lambda y: {0: y},
    "none": lambda y: None,
    "text alone": lambda y: "a" * len(y),
    "matrix": lambda y: np.asmatrix(y).T,
    "read-only": lambda y: _locked(y),
    "strided": lambda y: np.repeat(y, 2)[::2],
}


def _locked(y):
    y = y.copy()
    y.flags.writeable = False
    return y


def draw_places(source, n):
    """Places of classes: one to four classes, in any order, sometimes with one sample each."""
    n_classes = source.whole(2, 4)
    if source.chance(4):
        n_classes = 1
    rng = source.generator()
    y = rng.permutation(np.arange(n) % n_classes)
    if n > 2 and source.chance(5):
        y[rng.integers(n)] = n_classes
    if source.chance(2):
        y = np.arange(n)
    return y


def name_places(source, y):
    """Labels for places of classes, and what they are."""
    name = "numbers" if source.chance(60) else source.pick(NAMINGS)
    return name, NAMINGS[name](y)


WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(0, 3, n),
    "any": lambda rng, n: rng.random(n),
    "list": lambda rng, n: rng.random(n).tolist(),
    "zeros": lambda rng, n: np.zeros(n),
    "one": lambda rng, n: np.eye(1, n)[0] if n else np.ones(0),
    "number": lambda rng, n: 2.0,
    "negative": lambda rng, n: -rng.random(n),
    "tiny": lambda rng, n: 1e-300 * rng.random(n),
    "denormal": lambda rng, n: np.full(n, 5e-324),
    "huge": lambda rng, n: 1e300 * rng.random(n),
    "largest": lambda rng, n: np.full(n, np.finfo(float).max),
    "huge range": lambda rng, n: 10.0 ** rng.uniform(-300, 300, n),
    "nan": lambda rng, n: np.where(np.arange(n) == 1, np.nan, 1.0),
    "infinite": lambda rng, n: np.where(np.arange(n) == 1, np.inf, 1.0),
    "one short": lambda rng, n: np.ones(max(n - 1, 0)),
    "column": lambda rng, n: np.ones((n, 1)),
    "text": lambda rng, n: np.full(n, "a"),
    "objects": lambda rng, n: np.full(n, None),
    "complex": lambda rng, n: np.full(n, 1j),
}


def draw_weight(source, n):
    """Sample weights, mostly none."""
    if not source.chance(30):
        return "none", None
    name = source.pick(WEIGHTS)
    return name, WEIGHTS[name](source.generator(), n)
