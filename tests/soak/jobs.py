"""A life in small: fit, ask, explain, draw, report, save and load, for every kind of model."""

import argparse
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
from imkpl import IMKPL, IMKPLCV, ISKPL, IMKPLSelector, TimeSeriesIMKPL
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection

MEBIBYTE = 2**20


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
    """Series of two channels, of which the second has a bump in one of two classes."""
    generator = np.random.default_rng(seed)
    y = np.arange(24) % 2
    X = 0.3 * generator.standard_normal((24, 2, 16))
    X[y == 1, 1, 6:10] += 3
    return X, y


def make_stack(seed):
    """Kernels that somebody else computed."""
    X, y = make_vectors(seed)
    return np.exp(-((X[:, None] - X) ** 2)), y


# Name, estimator, data. The size of the data changes with the seed, so that no two fits are alike.
KINDS = {
    "vectors": (lambda: IMKPL(sparsity=3, max_kernels=3), make_vectors),
    "one kernel": (lambda: ISKPL(sparsity=3), make_vectors),
    "table": (lambda: IMKPL("per_column", sparsity=2), make_table),
    "series": (lambda: TimeSeriesIMKPL(sparsity=2), make_series),
    "landmarks": (
        lambda: IMKPL(sparsity=3, solver="landmarks", n_landmarks=30, random_state=0),
        make_vectors,
    ),
    "stack": (lambda: IMKPL("precomputed", sparsity=3), make_stack),
    "single precision": (
        lambda: IMKPL(imkpl.kernels.PerFeatureGaussian(dtype="float32"), sparsity=3),
        make_vectors,
    ),
    "path": (lambda: IMKPLCV(sparsity=(1, 2), max_kernels=(1, 2), cv=2), make_vectors),
    "selection": (lambda: IMKPLSelector(IMKPL(sparsity=2, max_kernels=2)), make_vectors),
    "PrototypeSelection": (PrototypeSelection, make_vectors),
    "AKGLVQ": (AKGLVQ, make_vectors),
    "DKMLD": (DKMLD, make_vectors),
    "MIDL": (MIDL, make_vectors),
    "MKLDPL": (MKLDPL, make_vectors),
}
METHODS = ("predict", "predict_proba", "decision_function", "transform")


def live_once(kind, seed, folder, *, with_page):
    """One model, and whatever one can ask of it; nothing is kept."""
    make_model, make_data = KINDS[kind]
    X, y = make_data(seed)
    model = make_model().fit(X, y)
    for method in METHODS:
        if hasattr(model, method):
            getattr(model, method)(X)
    if isinstance(model, IMKPL | ISKPL | IMKPLCV | TimeSeriesIMKPL | IMKPLSelector):
        imkpl.save(model, folder / "model.imkpl")
        imkpl.load(folder / "model.imkpl")
    if hasattr(model, "explain"):
        explanation = model.explain(X[:3])
        str(explanation)
        explanation.to_dict()
    if with_page and hasattr(model, "report"):
        model.report(X, y, folder / "page.html", train=(X, y))
        model.report(X, y, folder / "page.json")
        draw_all(model, X, y)


def draw_all(model, X, y):
    """Every picture, closed after it was drawn as pyplot asks for."""
    import matplotlib.pyplot as plt

    from imkpl import plots

    plots.KernelWeightsDisplay.from_estimator(model)
    plots.ConvergenceDisplay.from_estimator(model)
    plots.CodesDisplay.from_estimator(model, X, y)
    plt.close("all")


def live_many(n_fits, every, folder, page_every):
    """What is held after every so many fits.

    Returns a list of dicts: "fits" so far, "resident" memory of the process in MiB, and the number
    of "blocks" that Python objects occupy.
    """
    measured = []
    kinds = itertools.cycle(KINDS)
    for done in range(1, n_fits + 1):
        live_once(next(kinds), done, folder, with_page=done % page_every == 0)
        if done % every == 0:
            gc.collect()
            held = {"resident": resident_memory(), "blocks": sys.getallocatedblocks()}
            measured.append({"fits": done, **held})
            sys.stderr.write(f"{measured[-1]}\n")
    return measured


def resident_memory():
    """What the process holds in memory now, in MiB."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n_fits", type=int)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--page-every", type=int, default=25)
    options = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "Agg")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        found = live_many(options.n_fits, options.every, pathlib.Path(name), options.page_every)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
