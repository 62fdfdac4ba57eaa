"""Threads or child processes share a model; prints whether all of them get the same answers."""

import argparse
import multiprocessing
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numba
import numpy as np

from imkpl import IMKPL, TimeSeriesIMKPL

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import jobs

# Enough rows for loops that use more than one thread.
VECTORS = jobs.make_vectors(0, n_samples=300, n_features=12)
SERIES = jobs.make_series(0)
# What child processes that were forked find here.
MODELS = []


def fit_models(seed=0):
    """A model of vectors and one of series."""
    vectors = IMKPL(sparsity=3, max_kernels=4, random_state=seed).fit(*VECTORS)
    return [(vectors, VECTORS[0]), (TimeSeriesIMKPL(sparsity=2).fit(*SERIES), SERIES[0])]


def ask_all(models):
    """What models say, as bytes."""
    answers = []
    for model, X in models:
        explanation = model.explain(X[:20])
        codes = model.transform(X)
        codes = codes.toarray() if hasattr(codes, "toarray") else codes
        evidence = explanation.evidence.encoding.scores
        answers += [model.decision_function(X), model.predict(X), codes, evidence]
    return [np.ascontiguousarray(one).tobytes() for one in answers]


def ask_inherited(_):
    """In a forked process: the model of the parent."""
    return ask_all(MODELS)


def fit_and_ask(seed):
    """In any process or thread: a model of its own."""
    return ask_all(fit_models(seed))


def ask_sent(models):
    """In any process: a model that was sent there."""
    return ask_all(models)


def run_threads(models, n_rounds):
    """Eight threads ask one model at the same time, then fit models of their own."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask_all, [models] * 8 * n_rounds))
        fitted = list(pool.map(fit_and_ask, [0] * 8))
    return [*found, *fitted]


def run_processes(method, models, n_rounds):
    """A pool of two processes asks the model, and fits one of its own."""
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(ask_sent, [models] * 2 * n_rounds))
        if method == "fork":
            found += pool.map(ask_inherited, range(2 * n_rounds))
        fitted = list(pool.map(fit_and_ask, [0] * 2))
    return [*found, *fitted]


def run_joblib(models, n_rounds):
    """The same with joblib's own processes."""
    import joblib

    with joblib.Parallel(n_jobs=2, backend="loky") as parallel:
        found = parallel(joblib.delayed(ask_sent)(models) for _ in range(2 * n_rounds))
        found += parallel(joblib.delayed(fit_and_ask)(0) for _ in range(2))
    return found


def count_different(found, expected):
    """How often each answer is another one, by its place."""
    return [sum(one[i] != expected[i] for one in found) for i in range(len(expected))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["threads", "fork", "spawn", "forkserver", "loky"])
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    models = fit_models()
    MODELS.extend(models)
    expected = ask_all(models)
    if options.how == "threads":
        found = run_threads(models, options.rounds)
    elif options.how == "loky":
        found = run_joblib(models, options.rounds)
    else:
        found = run_processes(options.how, models, options.rounds)
    different = count_different(found, expected)
    verdict = f"different {different}" if any(different) else "same"
    sys.stdout.write(f"{numba.threading_layer()} {verdict}")


if __name__ == "__main__":
    main()
