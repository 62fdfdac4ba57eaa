"""Cases for functions of arrays: solvers, measures, and sums of kernels."""

import numpy as np
import scipy.sparse as sp

from fuzz import oracle
from fuzz.estimators import FITTED, REFUSED
from fuzz.matrices import BROKEN, draw_matrix
from fuzz.wrappings import wrap
from imkpl.measures import discrimination_score, interpretability_score, n_selected_kernels
from imkpl.solvers import (
    minimize_on_simplex,
    project_onto_simplex,
    solve_nqp,
    solve_nqp_batch,
)


def _draw_gram(source):
    """A Gram matrix, sometimes of nearly equal columns, sometimes not one at all."""
    rng = source.generator()
    n = source.whole(1, 8)
    A = rng.standard_normal((source.whole(1, 8), n))
    if source.chance(30):
        A = A[:, [0] * n] + 10.0 ** -source.whole(3, 16) * A
    A *= 10.0 ** rng.uniform(-source.whole(0, 6), 6, n)
    H = A.T @ A * 10.0 ** source.pick([0, 0, 0, -300, -100, 100, 290])
    change = source.pick(["none"] * 8 + ["nan", "skew", "negative", "cut", "float32", "zero"])
    with np.errstate(all="ignore"):
        if change in ("nan",):
            H[0, 0] = BROKEN[source.pick(BROKEN)]
        if change == "skew":
            H = H + np.triu(np.abs(H).max() * rng.random((n, n)), 1)
        H = {"negative": -H, "cut": H[:, 1:], "zero": 0 * H}.get(change, H)
        if change == "float32":
            H = H.astype(np.float32)
    c = rng.standard_normal(n) * 10.0 ** source.pick([0, 0, 0, -300, 100, 290])
    if source.chance(10):
        c[0] = source.pick([np.nan, np.inf, 0.0, -1e308])
    return H, c


def solver_case(source):
    """Quadratic problems with few non-zeros: feasible, never worse than nothing, or a sentence."""
    H, c = _draw_gram(source)
    sparsity = source.pick([1, 2, 3, 100, 0, -1, 1.5, None, True])
    found, error = oracle.attempt(lambda: solve_nqp(H, c, sparsity), H, c)
    batch, second = oracle.attempt(lambda: solve_nqp_batch(H, c[None], sparsity), H, c)
    oracle.require((error is None) == (second is None), f"one refuses: {error} / {second}")
    if error is not None:
        return REFUSED
    for x in (np.asarray(found.x), batch.x.toarray()[0]):
        oracle.require(np.isfinite(x).all() and np.all(x >= 0), "not feasible")
        oracle.require(np.count_nonzero(x) <= sparsity, "too many non-zeros")
        with np.errstate(all="ignore"):
            value = 0.5 * x @ H.astype(float) @ x + c.astype(float) @ x
            size = np.abs(c.astype(float)) @ x
        slack = 1e-4 if H.dtype == np.float32 else 1e-9
        oracle.require(not value > slack * size, f"worse than zero by {value}")
    return FITTED


def simplex_case(source):
    """Minima and projections on the simplex, or a sentence."""
    H, c = _draw_gram(source)
    total = source.pick([1.0, 2.0, 1e-300, 1e300, 0.0, -1.0, np.nan])
    points, error = oracle.attempt(lambda: project_onto_simplex(c, total), c)
    if error is None:
        x = np.asarray(points)
        oracle.require(np.isfinite(x).all() and np.all(x >= 0), "not on the simplex")
        oracle.require(np.isclose(x.sum(), total, rtol=1e-9), f"sums to {x.sum()}, not {total}")
    if H.ndim == 2 and H.shape[0] == H.shape[1]:
        found, other = oracle.attempt(
            lambda: minimize_on_simplex(lambda x: (0.5 * x @ H @ x + c @ x, H @ x + c), c.size), H
        )
        if other is None:
            x = np.asarray(found.x)
            oracle.require(np.isfinite(x).all() and np.all(x >= 0), "not on the simplex")
    return REFUSED if error is not None else FITTED


def measure_case(source):
    """IP, DR and counts between their bounds, or a sentence."""
    rng = source.generator()
    mixes = draw_matrix(source, smallest=1, largest=8)
    if source.chance(70):
        mixes = np.abs(np.clip(mixes, -1e100, 1e100))
    n = mixes.shape[1]
    labels = rng.integers(0, 3, n)
    owners = rng.integers(0, 3, n)
    _, wrapped = wrap(source, mixes)
    if source.chance(30):
        wrapped = sp.csr_array(mixes)
    K = None
    if source.chance(60):
        X = rng.standard_normal((n, 2))
        K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    absolute = source.chance(30)
    ip, error = oracle.attempt(
        lambda: interpretability_score(wrapped, labels, K, absolute=absolute), wrapped, labels, K
    )
    if error is None:
        oracle.require(0 <= ip <= 100, f"IP is {ip}")
    dr, other = oracle.attempt(
        lambda: discrimination_score(wrapped, rng.integers(0, 3, len(mixes)), owners), wrapped
    )
    if other is None:
        oracle.require(0 <= dr <= 100, f"DR is {dr}")
    weights = mixes[:1].ravel()
    count, _ = oracle.attempt(lambda: n_selected_kernels(weights), weights)
    oracle.require(count is None or 0 <= count <= weights.size, "a wrong count")
    return REFUSED if error is not None and other is not None else FITTED
