"""One cell: fit a method on the training part of a split, and judge it on the rest.

Everything is learned on the training part: bandwidths, scaling, kernel weights, prototypes, and the
settings where these are searched for. The methods of the same split see the same samples.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from threadpoolctl import threadpool_limits

from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.kernels import resolve_bank
from imkpl_paper._imkpl import FloatArray, IntArray, limited_threads
from imkpl_paper.experiments.codes import measure_control, measure_short_codes
from imkpl_paper.experiments.maps import EmbeddingDisplay
from imkpl_paper.experiments.methods import METHODS, Method
from imkpl_paper.experiments.plan import Cell
from imkpl_paper.experiments.studies import (
    STUDIES,
    draw_samples,
    load_samples,
    split_samples,
)

Row = dict[str, Any]
N_FOLDS = 5
# Settings are searched on this many samples of the training part, or so many per class.
MOST_SEARCHED = 400
MOST_PER_CLASS = 5
# Rows hold the weights of all kernels if there are no more than this many.
FEW_KERNELS = 50


def measure(cell: Cell, limit: float | None = None) -> Row:
    """The row of a cell, on one thread; a failure is a row as well."""
    method = METHODS[cell.method]
    row: Row = {
        "key": cell.key,
        "task": cell.task,
        "dataset": cell.dataset,
        "method": cell.method,
        "split": cell.split,
        "settings": dict(cell.settings),
        "fingerprint": method.fingerprint,
    }
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with threadpool_limits(1), limited_threads(1), limited_time(limit):
                found = TASKS[cell.task](cell, method)
    except Exception as error:
        text = " ".join(str(error).split())
        row |= {"status": "failed", "reason": f"{type(error).__name__}: {text}"}
    else:
        seen = sorted({f"{one.category.__name__}: {one.message}" for one in caught})
        row |= {"status": "done", **found, "warnings": seen[:5]}
    return row | {"cell_seconds": time.perf_counter() - start}


def judge(cell: Cell, method: Method) -> Row:
    """Accuracy, IP, DR, numbers of kernels and prototypes, and the time of the fit."""
    model, row, test, y_test = fit_cell(cell, method)
    row["accuracy"] = 100 * float(np.mean(find_right(cell, model.predict(test), y_test)))
    row |= describe(model, method, test, y_test)
    if method.group != "ours":
        return row
    X, y = draw_samples(cell.dataset, cell.split)
    train, _ = split_samples(y, cell.split)
    kernels = STUDIES[cell.dataset].kernels
    control = measure_control(model, kernels, X[train], y[train], test, y_test, cell.split)
    return row | measure_short_codes(model, test, y_test) | control


def find_right(cell: Cell, predicted: Any, y_test: Any) -> Any:
    """Which predictions are right: the class, or one of the labels where samples have several."""
    read_labels = STUDIES[cell.dataset].labels
    if read_labels is None:
        return predicted == y_test
    _, test = split_samples(load_samples(cell.dataset).y, cell.split)
    return read_labels()[test, predicted]


def embed(cell: Cell, method: Method) -> Row:
    """Maps of the training samples by the average kernel and by the learned one."""
    X, y = draw_samples(cell.dataset, cell.split)
    train, _ = split_samples(y, cell.split)
    model, row, _, _ = fit_cell(cell, method)
    display = EmbeddingDisplay.compute(model, X[train], y[train], random_state=cell.split)
    maps = {name: _round(getattr(display, name)) for name in MAPS}
    places = {name: np.asarray(getattr(display, name)).tolist() for name in PLACES}
    return row | {"maps": {**maps, **places, "n_kernels": list(display.n_kernels or ())}}


MAPS = ("average", "learned", "average_prototypes", "learned_prototypes")
PLACES = ("labels", "classes", "prototypes", "prototype_classes")
TASKS = {"judge": judge, "embed": embed}


def fit_cell(cell: Cell, method: Method) -> tuple[Any, Row, Any, Any]:
    """A model fitted on the training part, and the time that took."""
    study = STUDIES[cell.dataset]
    X, y = draw_samples(cell.dataset, cell.split)
    train, test = split_samples(y, cell.split)
    warm_up(method.name, study.kind)
    settings = dict(cell.settings)
    model = method.make(study, settings, cell.split)
    row: Row = {"n_train": int(train.size), "n_test": int(test.size)}
    # Where a setting is varied, all others stay where they are.
    if method.grid and not settings:
        some = choose_some(train, y[train], cell.split)
        samples, searched = X[some], study.shrink(some.size / train.size)
        if study.kind == "series":
            samples = stack_kernels(study.kernels, samples)
            searched = replace(searched, kind="vectors", kernels="precomputed")
        candidate = method.make(searched, {}, cell.split)
        tuned = tune(candidate, samples, y[some], method.grid, seed=cell.split)
        model.set_params(**tuned.settings)
        row["tuned"] = dict(tuned.settings)
        row["tuned_accuracy"], row["tuned_fits"] = tuned.accuracy, tuned.n_fits
    # Time of the processor, on one thread: other programs on the machine do not count.
    start, start_cpu = time.perf_counter(), time.process_time()
    model.fit(X[train], y[train])
    row["seconds"] = time.process_time() - start_cpu
    row["wall_seconds"] = time.perf_counter() - start
    return model, row, X[test], y[test]


def choose_some(rows: IntArray, y: Any, seed: int) -> IntArray:
    """The rows on which settings are searched: all, or some of every class in proportion."""
    wanted = max(MOST_SEARCHED, MOST_PER_CLASS * np.unique(y).size)
    if rows.size <= wanted:
        return rows
    return np.asarray(train_test_split(rows, train_size=wanted, stratify=y, random_state=seed)[0])


def stack_kernels(kernels: Any, X: Any) -> Any:
    """All kernel matrices of series, to be computed once for all candidates and folds."""
    table = resolve_bank(kernels).on(X).tabulated()
    stack = np.empty((*table.shape, table.n_kernels), dtype=np.float32)
    for index in range(table.n_kernels):
        stack[..., index] = table.evaluate(index)
    return stack


class Tuned(NamedTuple):
    """What cross-validation has found."""

    settings: dict[str, Any]
    accuracy: float  # mean on the left-out folds, in per cent
    n_fits: int


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[Any]],
    *,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> Tuned:
    """Settings that classify best in cross-validation inside the training part.

    Coordinate search: one setting at a time is varied, the others being the best so far, from the
    settings of the estimator. A candidate has to be better than the current settings by a standard
    error of the differences over the folds, or small data would move every setting at random.
    """
    y = np.asarray(y)
    smallest = int(np.unique(y, return_counts=True)[1].min())
    splitter = StratifiedKFold(max(2, min(n_folds, smallest)), shuffle=True, random_state=seed)
    folds = list(splitter.split(np.zeros(y.size), y))

    def score(settings: Mapping[str, Any]) -> FloatArray:
        model = clone(estimator).set_params(**settings)
        return 100 * np.asarray(cross_val_score(model, X, y, cv=folds, error_score="raise"))

    best = {name: estimator.get_params()[name] for name in grid}
    accuracies, n_candidates = score(best), 1
    for name, values in grid.items():
        others = [value for value in values if value != best[name]]
        for candidate in [{**best, name: value} for value in others]:
            found = score(candidate)
            n_candidates += 1
            gain = found - accuracies
            if gain.mean() > gain.std(ddof=1) / np.sqrt(len(folds)):
                best, accuracies = candidate, found
    return Tuned(best, float(accuracies.mean()), n_candidates * len(folds))


def describe(model: Any, method: Method, X: Any, y: Any) -> Row:
    """Measures of a fitted model beside its accuracy."""
    row: Row = {}
    if "ip" in method.measures:
        row["ip"] = interpretability_scorer(model)
    if "dr" in method.measures:
        row["dr"] = discrimination_scorer(model, X, y)
    if "kernels" in method.measures:
        weights = np.asarray(model.kernel_weights_)
        row["kernels"], row["n_kernels"] = int(np.count_nonzero(weights)), int(weights.size)
        if weights.size <= FEW_KERNELS and method.group == "ours":
            pairs = zip(model.kernel_names_, weights.tolist(), strict=True)
            row["weights"] = {name: weight for name, weight in pairs if weight > 0}
    if "per_class" in method.measures:
        labels, counts = np.unique(np.asarray(model.prototype_classes_), return_counts=True)
        found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        row["per_class"] = {str(label): found.get(label, 0) for label in model.classes_.tolist()}
        row["prototypes"] = int(counts.sum())
        row["samples_per_prototype"] = model.prototypes_.nnz / int(counts.sum())
    if method.group == "ours":
        row["objective"] = np.asarray(model.history_["total"]).tolist()
    return row


@cache
def warm_up(name: str, kind: str) -> None:
    """Compile, or load what was compiled, before the first measured fit in a process."""
    dataset = "synthetic_small" if kind == "series" else "wine"
    X, y = STUDIES[dataset].read()
    # Whatever is wrong shows in the fit that counts.
    with contextlib.suppress(Exception):
        model = METHODS[name].make(STUDIES[dataset], {}, 0).fit(X, y)
        describe(model, METHODS[name], X, model.predict(X))


@contextlib.contextmanager
def limited_time(limit: float | None) -> Iterator[None]:
    """Give up after some seconds, where the system has timers and this is the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    if limit is None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def give_up(signum: int, frame: Any) -> None:
        raise TimeoutError(f"It took longer than {limit:g} s. Allow more with a larger limit.")

    before = signal.signal(signal.SIGALRM, give_up)
    # Repeatedly, because code that catches all errors may have caught the first one.
    signal.setitimer(signal.ITIMER_REAL, limit, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _round(points: Any) -> list[list[float]] | None:
    return None if points is None else np.round(points, 3).tolist()
