"""A small life: fit, ask, explain, draw, report, save and load, for every kind of model."""

import gc
import itertools
import json
import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np

import imkpl
from imkpl import IMKPL, ISKPL
from imkpl.kernels import Averaged, PerFeatureGaussian

EVERY = 25


def make_vectors(seed, n_samples=60, n_features=6):
    """Two classes that the first two features tell apart."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n_samples) % 2)
    X = generator.standard_normal((n_samples, n_features))
    X[:, :2] += 3 * y[:, None]
    return X, y


def make_table(seed):
    """Rows with categories and missing cells."""
    X, y = make_vectors(seed)
    rows = [[row[0], "low" if row[1] < 1 else "high", row[2] > 0, row[3]] for row in X.tolist()]
    for row in rows[::7]:
        row[3] = None
    return rows, y


def make_series(seed):
    """Series of two channels, the second of which has a bump in one of two classes."""
    generator = np.random.default_rng(seed)
    y = np.arange(24) % 2
    X = 0.3 * generator.standard_normal((24, 2, 16))
    X[y == 1, 1, 6:10] += 3
    return X, y


def make_stack(seed):
    """Precomputed kernels."""
    X, y = make_vectors(seed)
    return np.exp(-((X[:, None] - X) ** 2)), y


def make_words(seed):
    """Counts of words, most of them 0."""
    X, y = make_vectors(seed)
    return np.maximum(np.round(X), 0), y


# Estimator and data by kind.
KINDS = {
    "vectors": (lambda: IMKPL(sparsity=3, n_prototypes=9, max_kernels=3), make_vectors),
    "one kernel": (lambda: ISKPL(sparsity=3, n_prototypes=9), make_vectors),
    "table": (lambda: IMKPL("per_column", sparsity=2, n_prototypes=6), make_table),
    "series": (lambda: IMKPL("global_alignment", sparsity=2, n_prototypes=6), make_series),
    "landmarks": (
        lambda: IMKPL(
            sparsity=3, n_prototypes=9, solver="landmarks", n_landmarks=30, random_state=0
        ),
        make_vectors,
    ),
    "views": (lambda: IMKPL("per_view", sparsity=2, n_prototypes=6), make_series),
    "words": (lambda: IMKPL("per_word", sparsity=2, n_prototypes=6), make_words),
    "whole samples": (lambda: IMKPL(["linear", "rbf"], sparsity=2, n_prototypes=6), make_vectors),
    "groups": (
        lambda: IMKPL(
            Averaged(PerFeatureGaussian(), {"first": [0, 1], "last": [4, 5]}), n_prototypes=6
        ),
        make_vectors,
    ),
    "stack": (lambda: IMKPL("precomputed", sparsity=3, n_prototypes=9), make_stack),
}


def live_once(kind, seed, folder, *, with_page):
    """One model and whatever one can ask of it; nothing is kept."""
    make_model, make_data = KINDS[kind]
    X, y = make_data(seed)
    model = make_model().fit(X, y)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            getattr(model, method)(X)
    imkpl.save(model, folder / "model.imkpl")
    imkpl.load(folder / "model.imkpl")
    if hasattr(model, "explain"):
        explanation = model.explain(X[:3])
        str(explanation)
        explanation.to_dict()
    if with_page and hasattr(model, "report"):
        model.report(X, y, folder / "page.html", train=(X, y))


def main(n_fits):
    """Print what is held after every so many fits: MiB of memory, and blocks of Python objects."""
    warnings.simplefilter("ignore")
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for done, kind in zip(range(1, n_fits + 1), itertools.cycle(KINDS), strict=False):
            live_once(kind, done, pathlib.Path(folder), with_page=done % EVERY == 0)
            if done % EVERY == 0:
                gc.collect()
                pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
                resident = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
                blocks = sys.getallocatedblocks()
                measured.append({"fits": done, "resident": resident, "blocks": blocks})
    sys.stdout.write(json.dumps(measured))


if __name__ == "__main__":
    main(int(sys.argv[1]))
