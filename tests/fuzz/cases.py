"""Kinds of cases: functions of a source of choices that say what came of a case, or raise."""

import functools
import io
import math
import pathlib
import tempfile

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone

import imkpl
from fuzz import oracle
from fuzz.inputs import BROKEN, COLUMNS, HOSTILE, MARKUP, SAME, draw_labels, draw_matrix, wrap
from imkpl import IMKPL, ISKPL
from imkpl.kernels import FunctionKernel, Gaussian, PerFeatureGaussian
from imkpl.readers import ReadOptions, read_training_file

FITTED, REFUSED = "fitted", "refused"
VECTOR_KERNELS = ("per_feature_gaussian", "per_column", "rbf", "laplacian", ["rbf", "linear"])
DECISIONS = ("votes", "share")
RULES = ("margin", "lp", "large_margin")
SETTINGS = {
    "sparsity": (3, 1, 2, 10, 10**9),
    "n_neighbors": (1, 2, 4, 3),
    "code_sparsity": (20, 1, 3),
    "learning_code_sparsity": (1, 3),
    "decision": DECISIONS,
    "weight_rule": RULES,
    "max_kernels": (None, 1, 2, 10**6),
    "n_prototypes": (None, 4, 2, 1000),
    "discrimination": (0.5, 0.0, 1e-12, 1e12, 1e300),
    "separation": (100.0, 0.0, 1e-12, 1e12, 1e300),
    "interpretability": (1.2, 0.0, 1e-12, 1e12, 1e300),
    "class_weight": (None, "balanced", {0: 1e-300}, {0: 1e300}, {"a": 2}, {7: 1.0}),
    "solver": ("auto", "exact", "landmarks"),
    "n_landmarks": (None, 1, 4, 6),
    "max_iter": (20, 1, 3),
    "tol": (1e-3, 0.0, 1.0, 1e300),
    "n_jobs": (None, 1, 2, -1, 0),
    "random_state": (None, 0, 2**32 - 1),
}


def draw_settings(source, model):
    """The model with a few settings changed."""
    chosen = {name: source.pick(SETTINGS[name]) for name in SETTINGS if source.chance(25)}
    known = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def judge_fit(model, X, y, weight, places, n):
    """Fit, and ask the model about what it was fitted to."""
    _, error = oracle.attempt(lambda: model.fit(X, y, weight), X, y, weight)
    if error is not None:
        return REFUSED
    oracle.check_learned(model)
    oracle.check_measures(model, places)
    _, error = oracle.attempt(lambda: oracle.check_answers(model, X, n), X)
    oracle.require(error is None, f"the model refuses what fit took: {error}")
    return FITTED


def judge_new(source, model, X):
    """Ask a fitted model about other samples of the same kind, or of any kind."""
    new = draw_matrix(source, smallest=1, widest=X.shape[1] + 1)
    if source.chance(70):
        new = np.resize(new, (max(new.shape[0], 1), X.shape[1])) if new.size else X[:1]
    form, wrapped = wrap(source, new)
    n_new = len(new) - (form == "one row short")
    oracle.attempt(lambda: oracle.check_answers(model, wrapped, n_new), wrapped)


def vector_case(source):
    """A model of vectors on any matrix with any labels in any form."""
    kernels = source.pick(VECTOR_KERNELS)
    model = source.pick(
        [IMKPL(kernels, n_neighbors=source.whole(1, 3), sparsity=3), ISKPL(kernels, sparsity=3)]
    )
    model = draw_settings(source, model)
    X = draw_matrix(source)
    form, wrapped = wrap(source, X)
    places, y, weight = draw_labels(source, len(X))
    outcome = judge_fit(model, wrapped, y, weight, places, len(X))
    if outcome == FITTED:
        judge_new(source, model, X)
        if form in SAME and weight is None and source.chance(25):
            with oracle.watched():
                twin = clone(model).fit(np.array(X), y)
                same = np.array_equal(twin.decision_function(X), model.decision_function(wrapped))
            oracle.require(same, "another form of the same numbers gives another model")
    return outcome


def path_case(source):
    """A path over numbers of features on any matrix with any labels in any form."""
    kernels = source.pick(VECTOR_KERNELS[:3])
    model = IMKPL(kernels, sparsity=2, n_prototypes=4, n_neighbors=source.whole(1, 2))
    sizes, cv = source.pick([(1, 2), [2], None]), source.pick([2, 3, 1])
    X = draw_matrix(source)
    wrapped = wrap(source, X)[1]
    places, y, _ = draw_labels(source, len(X))
    found, error = oracle.attempt(lambda: imkpl.path(model, wrapped, y, sizes, cv), wrapped, y)
    if error is not None:
        return REFUSED
    scores = found.split_scores
    oracle.require(np.all((scores >= 0) & (scores <= 1)), "accuracies outside 0 to 1")
    oracle.require(found.chosen in found.sizes, "the chosen size is none of those tried")
    oracle.check_learned(found.model)
    oracle.check_measures(found.model, places)
    return FITTED


CELLS = {
    "text": lambda rng, n: rng.choice(["red", "green", "blue"], n).astype(object),
    "hostile": lambda rng, n: np.array(HOSTILE + MARKUP, dtype=object)[rng.integers(0, 16, n)],
    "bool": lambda rng, n: rng.integers(0, 2, n).astype(bool).astype(object),
    "whole": lambda rng, n: np.array([int(i) for i in rng.integers(0, 5, n)], dtype=object),
    "each its own": lambda rng, n: np.array([f"id{i}" for i in range(n)], dtype=object),
    "missing": lambda rng, n: np.full(n, None, dtype=object),
    "mixed": lambda rng, n: np.array([1, "1", True, 1.0, None, "a"], object)[rng.integers(0, 6, n)],
    "beyond all floats": lambda rng, n: np.array([10**400 + int(i) for i in range(n)], object),
    "bytes": lambda rng, n: np.array([b"a", b"\xff"], dtype=object)[rng.integers(0, 2, n)],
    "complex": lambda rng, n: np.array([1j] * n, dtype=object),
    "lists": lambda rng, n: np.fromiter(([i] for i in range(n)), dtype=object, count=n),
}


def _draw_column(source, rng, n):
    if source.chance(50):
        name = "normal" if source.chance(60) else source.pick(COLUMNS)
        cells = COLUMNS[name](rng, n).astype(object)
    else:
        cells = CELLS["text" if source.chance(40) else source.pick(CELLS)](rng, n)
    if n and source.chance(30):
        cells = cells.copy()
        cells[rng.integers(0, n, max(1, n // 4))] = source.pick([None, np.nan, math.inf])
    return cells


def _as_frame(source, columns):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    names = source.pick([[f"c{i}" for i in range(5)], ["", "\u202e", "<b>", "nan", "x0"]])
    frame = pd.DataFrame(dict(zip(names, columns, strict=False)))
    forms = {
        "objects": lambda f: f,
        "inferred": lambda f: f.infer_objects(),
        "nullable": lambda f: f.convert_dtypes(),
        "categories": lambda f: f.astype(dict.fromkeys(names[:1], "category")),
        "polars": lambda f: pl.from_pandas(f.infer_objects()),
        "pyarrow": lambda f: pa.Table.from_pandas(f.infer_objects()),
    }
    return forms[source.pick(forms)](frame)


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
            X = _as_frame(source, columns)
        except Exception:
            # What a library of frames cannot hold cannot be given to us in one.
            return "no case"
    elif source.chance(40):
        X = X.tolist()
    model = source.pick([IMKPL("per_column", sparsity=2, n_neighbors=1), ISKPL("per_column")])
    places, y, weight = draw_labels(source, n)
    return judge_fit(draw_settings(source, model), X, y, weight, places, n)


def stack_case(source):
    """A model of precomputed kernels on a stack of anything."""
    X = draw_matrix(source, allow_broken=False, widest=3)
    n, rng = len(X), source.generator()
    with np.errstate(all="ignore"):
        scaled = X / np.maximum(np.abs(X).max(axis=0, initial=1.0), 1e-300)
        stack = np.exp(-((scaled[:, None] - scaled) ** 2))
    changes = {
        "none": lambda K: K,
        "float32": lambda K: K.astype(np.float32),
        "list": lambda K: K.tolist(),
        "Fortran": np.asfortranarray,
        "read-only": SAME["read-only"],
        "one kernel": lambda K: K[..., 0] if K.shape[2] else K,
        "ones": np.ones_like,
        "eye": lambda K: np.repeat(np.eye(n)[..., None], 2, axis=2),
        "not symmetric": lambda K: K + 0.1 * rng.random(K.shape),
        "negative": lambda K: -K,
        "nan": lambda K: np.where(K == 1, K, np.nan),
        "moved": lambda K: np.moveaxis(K, -1, 0),
        "cut": lambda K: K[:, :-1],
        "object": lambda K: K.astype(object),
        "indefinite": lambda K: np.where(np.eye(n)[..., None] > 0, 1.0, -0.9) * np.ones(K.shape),
        "empty": lambda K: K[:0, :0],
        "sparse": lambda K: sp.csr_array(K[..., 0]) if K.shape[2] else K,
    }
    X = changes["none" if source.chance(30) else source.pick(changes)](stack)
    model = source.pick([IMKPL("precomputed", n_neighbors=1), ISKPL("precomputed")])
    places, y, weight = draw_labels(source, n)
    return judge_fit(draw_settings(source, model), X, y, weight, places, n)


def series_case(source):
    """A model of time series on series of anything."""
    rng = source.generator()
    n, channels = source.whole(4, 12), source.whole(1, 3)
    lengths = rng.integers(1, 12, n) if source.chance(60) else np.full(n, source.whole(1, 12))
    column = COLUMNS["normal" if source.chance(60) else source.pick(COLUMNS)]
    series = [np.stack([column(rng, int(m)) for _ in range(channels)]) for m in lengths]
    if source.chance(20):
        series[rng.integers(n)].flat[0] = source.pick(BROKEN)
    changes = {
        "list": lambda s: s,
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
    X = changes["list" if source.chance(30) else source.pick(changes)](series)
    drawn = {name: source.pick(SETTINGS[name]) for name in ("decision", "weight_rule", "tol")}
    model = IMKPL("per_view", sparsity=2, n_neighbors=1, **drawn)
    places, y, weight = draw_labels(source, n)
    return judge_fit(model, X, y, weight, places, n)


HOSTILE_VALUES = [
    math.nan, math.inf, -math.inf, -1, 0, 0.5, True, None, "", "a", "\u202e", [], [1], (), {}, 1j,
    2**70, -(2**70), 1e300, 5e-324, np.float32(1), np.int8(3), np.array([1, 2]), b"a", object,
    print, 1, 2, "balanced", "precomputed", {0: math.nan}, {0: -1}, {0: "a"}, [None], Gaussian(),
    PerFeatureGaussian(scales=(0.5, 2.0)), ["rbf", "nothing"], lambda a, b: a @ b.T,
    lambda a, b: None, lambda a, b: np.full((len(a), len(b)), np.nan), lambda a, b: 1 / 0 * a,
    FunctionKernel(lambda x, y: float(x @ y), pairwise=True), (1, 2), ("a",), 10**6,
]  # fmt: skip


def parameter_case(source):
    """A model on good data, with parameters of any kind."""
    model = source.pick([IMKPL, ISKPL])()
    names = sorted(set(model.get_params(deep=False)) - {"verbose"})
    for _ in range(source.whole(1, 2)):
        model.set_params(**{source.pick(names): source.pick(HOSTILE_VALUES)})
    places = np.arange(16) % 2
    X = source.generator().standard_normal((16, 3))
    X[:, 0] += places
    try:
        return judge_fit(model, X, places, None, places, 16)
    except ZeroDivisionError:
        # The error of a function that the user gave is the user's.
        return REFUSED


# What often stands at a border of what is allowed.
EDGES = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00" * 8]
WORDS = [b"nan", b"inf", b"1e999", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"?", b"@",
         b"{", b"}", b"%", b"\xef\xbb\xbf", b"\xff\xfe", b"@data", b"-", b"9" * 400, b"0x1",
         b"None", b"\xe2\x80\xae", b"=1+1", b":"]  # fmt: skip


@functools.cache
def data_files():
    """Good files by their endings."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)).round(3), np.arange(12) % 2
    frame = pd.DataFrame(X, columns=["a", "b", "c d"]).assign(
        colour=np.where(y, "red", None), kind=np.where(y, "cat", "dog")
    )
    out = {}
    for ending, write in {
        "csv": lambda f: f.write(frame.to_csv(index=False).encode()),
        "tsv": lambda f: f.write(frame.to_csv(index=False, sep="\t").encode()),
        "xlsx": lambda f: frame.to_excel(f, index=False),
        "parquet": frame.to_parquet,
        "feather": frame.to_feather,
    }.items():
        stream = io.BytesIO()
        write(stream)
        out[ending] = stream.getvalue()
    return out


def mutate(source, content):
    """The bytes with one to eight alterations."""
    data = bytearray(content)
    kinds = ["byte", "bit", "edge", "swap"]
    # Half of the files keep their length, so that readers come further than the first size.
    if source.chance(50):
        kinds += ["word", "cut", "drop", "repeat"]
    for _ in range(source.whole(1, 8)):
        place = source.whole(0, max(len(data) - 1, 0))
        other = source.whole(0, max(len(data) - 1, 0))
        kind = source.pick(kinds)
        if kind == "byte" and data:
            data[place] = source.whole(0, 255)
        elif kind == "bit" and data:
            data[place] ^= 1 << source.whole(0, 7)
        elif kind == "edge":
            edge = source.pick(EDGES)
            data[place : place + len(edge)] = edge
        elif kind == "word":
            data[place:place] = source.pick(WORDS)
        elif kind == "cut" and source.chance(30):
            del data[place:]
        elif kind == "drop":
            del data[place : place + source.whole(1, 16)]
        elif kind == "repeat":
            data[place:place] = data[place : place + source.whole(1, 64)] * source.whole(1, 4)
        elif kind == "swap":
            kept = data[place : place + 4]
            data[place : place + 4] = data[other : other + 4]
            data[other : other + 4] = kept
    return bytes(data)


def reader_case(source):
    """A data file that was altered: data or a sentence."""
    ending = source.pick(data_files())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"a.{ending}"
        path.write_bytes(mutate(source, data_files()[ending]))
        data, error = oracle.attempt(lambda: read_training_file(path, ReadOptions(target="kind")))
    if error is not None:
        return REFUSED
    oracle.require(len(data) > 0, "no rows")
    oracle.require(len(data.y) == len(data), "another number of labels")
    oracle.require(len(data.ids) == len(data), "another number of names")
    return FITTED


def law_case(source):
    """Good data: the objective never rises, and threads, blocks, order and scale do not matter."""
    rng = source.generator()
    n, d, n_classes = source.whole(12, 40), source.whole(2, 8), source.whole(2, 3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.standard_normal((n, d))
    X[:, : max(1, d // 2)] += rng.uniform(0, 3) * y[:, None]
    if source.chance(20):
        # Nearly equal samples: condition numbers up to 1e12 and beyond.
        X = X[rng.integers(0, n // 2, n)] + 1e-7 * rng.standard_normal(X.shape)
    model = IMKPL(
        sparsity=source.whole(1, 5),
        decision=source.pick(DECISIONS),
        weight_rule=source.pick(RULES),
        n_neighbors=source.whole(1, 3),
        discrimination=source.pick([0.5, 0.0, 5.0]),
        interpretability=source.pick([1.2, 0.0, 10.0]),
        separation=source.pick([100.0, 0.0, 1.0]),
        tol=source.pick([1e-3, 0.0]),
        n_jobs=1,
    )
    try:
        with oracle.watched(X, y):
            model.fit(X, y)
    except ValueError as error:
        oracle.require("expected" in str(error), f"no sentence: {error}")
        return REFUSED
    total = model.history_["total"]
    rise = np.diff(total) - 1e-9 * np.abs(total[:-1])
    oracle.require(np.all(rise <= 0), f"the objective rises by {rise.max()} for {model!r}")
    oracle.check_learned(model)
    oracle.check_measures(model, y)
    scores = model.decision_function(X)
    with oracle.watched(X, y):
        oracle.check_answers(model, X, n)
        with config_context(working_memory=0.01):
            other = clone(model).set_params(n_jobs=2).fit(X, y).decision_function(X)
        oracle.require(np.array_equal(other, scores), f"threads or blocks matter for {model!r}")
        rows = rng.permutation(n)
        other = clone(model).fit(X[rows], y[rows]).decision_function(X)
        oracle.require(np.array_equal(other, scores), f"the order of samples matters for {model!r}")
        powers = 2.0 ** rng.permutation(np.linspace(0, 40, d).round())
        other = clone(model).fit(X * powers, y).decision_function(X * powers)
        oracle.require(np.array_equal(other, scores), f"the scale of features matters: {model!r}")
    return "held"


KINDS = {
    "vectors": vector_case,
    "paths": path_case,
    "tables": table_case,
    "stacks": stack_case,
    "series": series_case,
    "parameters": parameter_case,
    "readers": reader_case,
    "laws": law_case,
}
# Cases of a kind that `make fuzz` runs for one of the others: slow ones fewer.
SHARES = {"paths": 0.3, "series": 0.5, "readers": 6, "vectors": 3}
