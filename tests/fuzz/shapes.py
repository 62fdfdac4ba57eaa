"""Cases for tables, series, stacks of kernels and parameters: what is not a matrix of vectors."""

import math

import numpy as np
import scipy.sparse as sp

from fuzz import oracle
from fuzz.estimators import FITTED, REFUSED, SETTINGS, draw_settings, judge_fit
from fuzz.labels import HOSTILE, MARKUP, draw_places, draw_weight, name_places
from fuzz.matrices import COLUMNS, draw_matrix
from fuzz.wrappings import SAME
from imkpl import IMKPL, IMKPLCV, ISKPL, IMKPLSelector, TimeSeriesIMKPL
from imkpl.kernels import FunctionKernel, Gaussian, PerFeatureGaussian

CELLS = {
    "text": lambda rng, n: rng.choice(["red", "green", "blue"], n).astype(object),
    "hostile": lambda rng, n: np.array(HOSTILE + MARKUP, dtype=object)[rng.integers(0, 16, n)],
    "bool": lambda rng, n: rng.integers(0, 2, n).astype(bool).astype(object),
    "whole": lambda rng, n: np.array([int(i) for i in rng.integers(0, 5, n)], dtype=object),
    "each its own": lambda rng, n: np.array([f"id{i}" for i in range(n)], dtype=object),
    "missing": lambda rng, n: np.full(n, None, dtype=object),
    "mixed": lambda rng, n: np.array([1, "1", True, 1.0, None, "a"], object)[rng.integers(0, 6, n)],
    "numbers beyond 64 bits": lambda rng, n: np.array([2**70 + int(i) for i in range(n)], object),
    "beyond all floats": lambda rng, n: np.array([10**400 + int(i) for i in range(n)], object),
    "bytes": lambda rng, n: np.array([b"a", b"\xff"], dtype=object)[rng.integers(0, 2, n)],
    "complex": lambda rng, n: np.array([1j] * n, dtype=object),
    "lists": lambda rng, n: np.fromiter(([i] for i in range(n)), dtype=object, count=n),
    "long text": lambda rng, n: np.array(["a" * 5000, "b" * 5000], object)[rng.integers(0, 2, n)],
}


def _draw_column(source, rng, n):
    if source.chance(50):
        cells = COLUMNS["normal" if source.chance(60) else source.pick(COLUMNS)](rng, n)
        cells = cells.astype(object)
    else:
        name = "text" if source.chance(40) else source.pick(CELLS)
        cells = CELLS[name](rng, n)
    if n and source.chance(30):
        cells = cells.copy()
        cells[rng.integers(0, n, max(1, n // 4))] = source.pick([None, np.nan, math.inf])
    return cells


def _as_frame(columns, source):
    import pandas as pd

    names = source.pick([None, ["", "\u202e", "<b>", "nan", "x0", "a" * 99]])
    names = [f"c{i}" for i in range(len(columns))] if names is None else names[: len(columns)]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    change = source.pick(["objects", "inferred", "nullable", "categories", "polars", "pyarrow"])
    if change == "inferred":
        return frame.infer_objects()
    if change == "nullable":
        return frame.convert_dtypes()
    if change == "categories":
        return frame.astype(dict.fromkeys(names[:1], "category"))
    if change == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_pandas(frame.infer_objects())
    if change == "polars":
        import polars as pl

        return pl.from_pandas(frame.infer_objects())
    return frame


def table_case(source):
    """A model of columns on a table of anything."""
    n, d = source.whole(4, 20), source.whole(1, 5)
    rng = source.generator()
    columns = [_draw_column(source, rng, n) for _ in range(d)]
    X = np.empty((n, d), dtype=object)
    for place, cells in enumerate(columns):
        for row, cell in enumerate(cells):
            X[row, place] = cell
    if source.chance(50):
        try:
            X = _as_frame(columns, source)
        except Exception:
            # What the library of frames cannot hold cannot be given to us in one.
            return "no case"
    elif source.chance(40):
        X = X.tolist()
    kind = source.pick([IMKPL, ISKPL])
    model = draw_settings(source, kind("per_column", sparsity=2), SETTINGS)
    if "n_neighbors" in model.get_params():
        model.set_params(n_neighbors=1)
    places = draw_places(source, n)
    _, y = name_places(source, places)
    _, weight = draw_weight(source, n)
    return judge_fit(source, model, X, "table", y, weight, places, n)


def stack_case(source):
    """A model of precomputed kernels on a stack of anything."""
    X = draw_matrix(source, allow_broken=False, widest=3)
    n = len(X)
    with np.errstate(all="ignore"):
        scaled = X / np.maximum(np.abs(X).max(axis=0, initial=1.0), 1e-300)
        stack = np.exp(-((scaled[:, None] - scaled) ** 2))
    rng = source.generator()
    change = source.pick(
        ["none"] * 6
        + ["float32", "list", "Fortran", "read-only", "one kernel", "ones", "eye", "not symmetric"]
        + ["twice", "negative", "nan", "moved", "cut", "object", "indefinite", "empty", "sparse"]
    )
    changes = {
        "float32": lambda K: K.astype(np.float32),
        "list": lambda K: K.tolist(),
        "Fortran": np.asfortranarray,
        "one kernel": lambda K: K[..., 0] if K.shape[2] else K,
        "ones": np.ones_like,
        "eye": lambda K: np.repeat(np.eye(n)[..., None], 2, axis=2),
        "not symmetric": lambda K: K + 0.1 * rng.random(K.shape),
        "twice": lambda K: 2 * K,
        "negative": lambda K: -K,
        "nan": lambda K: np.where(K == 1, K, np.nan),
        "moved": lambda K: np.moveaxis(K, -1, 0),
        "cut": lambda K: K[:, :-1],
        "object": lambda K: K.astype(object),
        "indefinite": lambda K: np.where(np.eye(n)[..., None] > 0, 1.0, -0.9) * np.ones(K.shape),
        "empty": lambda K: K[:0, :0],
        "sparse": lambda K: sp.csr_array(K[..., 0]) if K.shape[2] else K,
        "read-only": lambda K: SAME["read-only"](K),
    }
    X = changes.get(change, lambda K: K)(stack)
    kind = source.pick([IMKPL, ISKPL])
    model = draw_settings(source, kind("precomputed", sparsity=2), SETTINGS)
    if "n_neighbors" in model.get_params():
        model.set_params(n_neighbors=1)
    places = draw_places(source, n)
    _, y = name_places(source, places)
    _, weight = draw_weight(source, n)
    return judge_fit(source, model, X, change, y, weight, places, n)


def series_case(source):
    """A model of time series on series of anything."""
    rng = source.generator()
    n, channels = source.whole(4, 12), source.whole(1, 3)
    lengths = np.full(n, source.whole(1, 12))
    if source.chance(60):
        lengths = rng.integers(1, 12, n)
    column = "normal" if source.chance(60) else source.pick(COLUMNS)
    series = [
        np.stack([COLUMNS[column](rng, int(length)) for _ in range(channels)]) for length in lengths
    ]
    if source.chance(20):
        series[rng.integers(n)].flat[0] = source.pick([np.nan, np.inf, -np.inf])
    change = source.pick(
        [
            "list",
            "list",
            "list",
            "array",
            "lists",
            "object",
            "flat",
            "transposed",
            "empty one",
            "text",
            "none",
            "masked",
            "ragged",
        ]
    )
    changes = {
        "array": lambda s: np.stack([np.resize(one, (channels, 8)) for one in s]),
        "lists": lambda s: [one.tolist() for one in s],
        "object": lambda s: np.array([*s, None], dtype=object)[:-1],
        "flat": lambda s: [one[0] for one in s],
        "transposed": lambda s: [one.T for one in s],
        "empty one": lambda s: [*s[:-1], np.empty((channels, 0))],
        "text": lambda s: [one.astype(str) for one in s],
        "none": lambda s: [None for _ in s],
        "masked": lambda s: np.ma.masked_less(changes["array"](s), 0),
        "ragged": lambda s: [[[1.0], [1.0, 2.0]] for _ in s],
    }
    X = changes.get(change, lambda s: s)(series)
    model = TimeSeriesIMKPL(sparsity=2, n_neighbors=1)
    model = draw_settings(source, model, ["decision", "weight_rule", "max_kernels", "tol"])
    places = draw_places(source, n)
    _, y = name_places(source, places)
    _, weight = draw_weight(source, n)
    return judge_fit(source, model, X, change, y, weight, places, n)


HOSTILE_VALUES = [
    math.nan, math.inf, -math.inf, -1, 0, 0.5, True, None, "", "a", "\u202e", [], [1], (), {}, 1j,
    2**70, -(2**70), 1e300, 5e-324, np.float32(1), np.int8(3), np.nan, np.array([1, 2]), b"a",
    object, print, 1, 2, "balanced", "precomputed", {0: math.nan}, {0: -1}, {0: "a"}, [None],
    Gaussian(), PerFeatureGaussian(scales=(0.5, 2.0)), ["rbf", "nothing"], lambda a, b: a @ b.T,
    lambda a, b: None, lambda a, b: np.full((len(a), len(b)), np.nan), lambda a, b: 1 / 0 * a,
    FunctionKernel(lambda x, y: float(x @ y), pairwise=True), (1, 2), ("a",), 10**6,
]  # fmt: skip


def parameter_case(source):
    """A model on good data, with parameters of any kind."""
    kind = source.pick([IMKPL, ISKPL, IMKPLSelector, IMKPLCV])
    model = kind(cv=2, sparsity=(1, 2)) if kind is IMKPLCV else kind()
    names = sorted(set(model.get_params(deep=False)) - {"verbose"})
    for _ in range(source.whole(1, 2)):
        model.set_params(**{source.pick(names): source.pick(HOSTILE_VALUES)})
    rng = source.generator()
    places = np.arange(16) % 2
    X = rng.standard_normal((16, 3))
    X[:, 0] += places
    try:
        return judge_fit(source, model, X, "array", places, None, places, 16)
    except ZeroDivisionError:
        # The error of a function that the user gave is the user's.
        return REFUSED


def keeping_case(source):
    """A fitted model as a file and back: the same answers, or a sentence why not."""
    import pathlib
    import tempfile

    import imkpl

    rng = source.generator()
    places = draw_places(source, 16)
    X = rng.standard_normal((16, 3))
    _, y = name_places(source, places)
    model = source.pick([IMKPL, ISKPL])(sparsity=2)
    model = draw_settings(source, model, SETTINGS)
    _, error = oracle.attempt(lambda: model.fit(X, y), X, y)
    if error is not None:
        return REFUSED
    before = model.decision_function(X)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.imkpl"
        _, error = oracle.attempt(lambda: imkpl.save(model, path))
        if error is not None:
            return REFUSED
        twin, error = oracle.attempt(lambda: imkpl.load(path))
        oracle.require(error is None, f"what was saved cannot be loaded: {error}")
    oracle.require(np.array_equal(before, twin.decision_function(X)), "another model after loading")
    pairs = zip(model.classes_.tolist(), twin.classes_.tolist(), strict=True)
    oracle.require(all(a == b and type(a) is type(b) for a, b in pairs), "other labels")
    return FITTED
