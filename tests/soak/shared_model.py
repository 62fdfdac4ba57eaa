"""Threads or child processes share a model; prints whether all of them get the same answers."""

import multiprocessing
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np

from imkpl import IMKPL

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import jobs

# Enough rows for loops that use more than one thread.
VECTORS = jobs.make_vectors(0, n_samples=300, n_features=12)
SERIES = jobs.make_series(0)
# What forked processes find here.
MODELS = []


def fit_models(n_models):
    """A model of vectors, and one of series."""
    kinds = [(IMKPL(max_kernels=4), VECTORS), (IMKPL("global_alignment"), SERIES)][:n_models]
    settings = {"sparsity": 3, "n_prototypes": 12, "contrast": False, "max_iter": 5}
    return [(model.set_params(**settings).fit(X, y), X) for model, (X, y) in kinds]


def ask(models):
    """What models say, as bytes: given ones, those of the parent (None), or own ones (a number)."""
    models = MODELS if models is None else models
    models = fit_models(models) if isinstance(models, int) else models
    answers = []
    for model, X in models:
        scores = model.explain(X[:20]).evidence.encoding.scores
        answers += [model.decision_function(X), model.transform(X).toarray(), scores]
    return [np.ascontiguousarray(one).tobytes() for one in answers]


def ask_at_once(how, models, n_rounds):
    """What is said to all who ask the same models, or fit their own, at the same time."""
    n_models = len(models)
    if how == "threads":
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(ask, [models] * 8 * n_rounds + [n_models] * 8))
    if how == "loky":
        with joblib.Parallel(n_jobs=2, backend="loky") as parallel:
            return parallel(joblib.delayed(ask)(m) for m in [models, n_models] * n_rounds)
    given = [models, n_models, *([None] if how == "fork" else [])] * n_rounds
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        return list(pool.map(ask, given))


def main(n_models, n_rounds, *ways):
    """Compare what is said in several ways with what is said to one who asks alone."""
    models = fit_models(n_models)
    MODELS.extend(models)
    expected = ask(models)
    found = [one for how in ways for one in ask_at_once(how, models, n_rounds)]
    different = [sum(one[i] != expected[i] for one in found) for i in range(len(expected))]
    verdict = f"different {different}" if any(different) else "same"
    sys.stdout.write(verdict)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
