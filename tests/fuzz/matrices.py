"""Matrices with what real and hostile columns have in them."""

import numpy as np

LARGEST = np.finfo(np.float64).max
DENORMAL = 5e-324


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
    "denormal": lambda rng, n: DENORMAL * np.abs(_steps(rng, n)),
    "tiny": lambda rng, n: 1e-300 * rng.standard_normal(n),
    "small": lambda rng, n: 1e-160 * rng.standard_normal(n),
    "large": lambda rng, n: 1e160 * rng.standard_normal(n),
    "huge": lambda rng, n: 1e300 * rng.standard_normal(n),
    "largest": lambda rng, n: rng.choice([-LARGEST, 0.0, LARGEST], n),
    "constant largest": lambda rng, n: np.full(n, LARGEST),
    "huge range": lambda rng, n: rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-300, 300, n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n) ** 3,
}
BROKEN = {"nan": np.nan, "infinity": np.inf, "minus infinity": -np.inf}


def draw_matrix(source, *, smallest=4, largest=24, widest=6, allow_broken=True):
    """A matrix (n, d) whose first column may tell the classes apart, and rows may repeat."""
    n = source.whole(smallest, largest)
    if source.chance(3):
        n = source.whole(0, 2)
    d = source.whole(1, widest)
    if source.chance(2):
        d = 0
    rng = source.generator()
    columns = []
    for _ in range(d):
        # Most columns are plain, so that many cases come to a fit.
        name = "normal" if source.chance(70) else source.pick(COLUMNS)
        columns.append(COLUMNS[name](rng, n))
    X = np.column_stack(columns) if columns else np.empty((n, 0))
    if n > 1 and d > 0:
        if source.chance(20):
            X = X[rng.integers(0, max(1, n // 2), n)]
        if source.chance(10):
            X[:, rng.integers(d)] = X[:, rng.integers(d)]
        if allow_broken and source.chance(10):
            X[rng.integers(n), rng.integers(d)] = BROKEN[source.pick(BROKEN)]
    return X
