"""The constant of every term, measured on this machine at several sizes.

Seconds are those of the processor, on one core: other people's work does not count. The constant is
that of the largest size; the ratio says how well it predicts the others.
"""

from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from imkpl import IMKPL
from imkpl.estimators import _landmarks
from imkpl.estimators._landmarks import LabelledPursuit
from imkpl.estimators._sharded import _columns_of
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels.sharded import _as_they_are, _find_largest, _fold_moments
from imkpl.model.landmarks import nearest_landmarks
from imkpl.scale.samples import OnRows, _summarize
from scaling.full import make_data, watch_fit
from scaling.watch import Call

# Samples and features of a block, and landmarks or support samples that it is compared with.
BLOCKS = [(1000, 1000, 20), (2000, 2000, 20), (4000, 2000, 40)]
# Samples of fits that tell what the client does per sample.
FITS = [20_000, 80_000, 320_000]

Row = dict[str, Any]


def measure_workers() -> dict[str, Row]:
    """Seconds per unit of work of every function that runs on partitions.

    Returns
    -------
    dict
        A row per term.
    """
    rows: dict[str, Row] = {}
    for term, make in _worker_terms().items():
        cases = []
        for n_rows, n_features, n_others in BLOCKS:
            run, count, formula = make(n_rows, n_features, n_others)
            run()
            cases.append({"count": int(count), "seconds": _processor_time(run)})
        held = _peak_bytes(run) / float(formula)
        rows[term] = {**_with_ratios(cases), "held": held}
    return rows


def _worker_terms() -> dict[str, Callable[[int, int, int], Any]]:
    """Terms, each with a function of the size: what to run, the work, and the bytes of a block."""

    def on_rows(function: Any, arguments: Callable[..., Any]) -> Any:
        def make(n_rows: int, n_features: int, n_others: int) -> Any:
            block = np.random.default_rng(0).standard_normal((n_rows, n_features))
            common, per_row = arguments(block)
            call, local = OnRows(function), np.arange(n_rows)
            return lambda: call(block, local, per_row, *common), block.size, block.nbytes

        return make

    def moments(block: Any) -> Any:
        zeros, size = np.zeros(block.shape[1]), (1 / len(block), len(block))
        return (zeros, zeros + 5.0, zeros, *size), [np.full(len(block), 1 / len(block))]

    def summarize(n_rows: int, n_features: int, n_others: int) -> Any:
        block = np.random.default_rng(0).standard_normal((n_rows, n_features))
        return lambda: _summarize(block), block.size, block.nbytes

    return {
        "summarize": summarize,
        "columns": on_rows(_columns_of, lambda block: ((np.arange(8),), [])),
        "take": on_rows(_as_they_are, lambda block: ((), [])),
        "largest": on_rows(_find_largest, lambda block: ((np.zeros(block.shape[1]),), [])),
        "moments": on_rows(_fold_moments, moments),
        "nearest": _make_nearest,
        "similarity": _make_similarity,
        "pursuit": _make_pursuit,
    }


def _make_nearest(n_rows: int, n_features: int, n_others: int) -> Any:
    X, y = make_data(n_rows, n_features, 2)
    bank = PerFeatureGaussian().adapt(X)
    average, landmarks = np.full(n_features, 1 / n_features), {0: X[:n_others], 1: X[-n_others:]}
    call, local = OnRows(nearest_landmarks), np.arange(n_rows)
    formula = X.nbytes + 8 * n_rows * n_others
    return (
        lambda: call(X, local, [y], bank, average, landmarks),
        X.size * n_others,
        formula,
    )


def _fitted(n_rows: int, n_features: int, n_others: int) -> Any:
    """A small model, and how many kernel values it needs per sample."""
    X, y = make_data(n_rows, n_features, 5)
    kept = min(60, n_features)
    model = IMKPL(sparsity=n_others // 4, max_iter=1).fit(X[:400, :kept], y[:400])
    predictor = model._predictor
    return X, y, model, predictor, model.support_.size * np.count_nonzero(model.kernel_weights_)


def _make_similarity(n_rows: int, n_features: int, n_others: int) -> Any:
    X, _, model, predictor, per_sample = _fitted(n_rows, n_features, n_others)
    call, local = OnRows(predictor.similarities), np.arange(n_rows)
    formula = X.nbytes + 8 * n_rows * model.support_.size
    return lambda: call(X, local, []), n_rows * per_sample, formula


def _make_pursuit(n_rows: int, n_features: int, n_others: int) -> Any:
    X, y, model, predictor, per_sample = _fitted(n_rows, n_features, n_others)
    labels = np.searchsorted(model.classes_, model.support_classes_)
    call, local = OnRows(LabelledPursuit(predictor, labels, 0.5, 1)), np.arange(n_rows)
    formula = X.nbytes + 8 * n_rows * (model.support_.size + 2 * model.prototypes_.shape[0])
    return lambda: call(X, local, [y]), n_rows * per_sample, formula


def measure_client() -> tuple[dict[str, Row], Row]:
    """Seconds of the client per sample before every call of the cluster, and bytes per sample.

    Returns
    -------
    seconds : dict
        A row for every function that the cluster is asked for, "sort" for what follows the fetched
        columns, and "rest" for what follows the last call.
    held : dict
        The largest sum of the client's arrays, per sample.
    """
    found: dict[str, list[Row]] = defaultdict(list)
    # With few calibration samples their cost, which does not grow, is not in the way.
    with patch.object(_landmarks, "MAX_CALIBRATION", 500):
        # Compiles the loops.
        _fit_parts(FITS[0] // 4)
        for n_samples in FITS:
            calls, _, rest = watch_fit(n_samples, 10, 10, 200, 16, max_iter=1, sizes=False)
            for name, seconds in _client_seconds([c for c in calls if "part" in c.counts]).items():
                found[name].append({"count": n_samples, "seconds": seconds})
            found["rest"].append({"count": n_samples, "seconds": rest})
        peaks = [_peak_bytes(partial(_fit_parts, n_samples)) for n_samples in FITS[:2]]
    rows = {}
    for name, cases in found.items():
        (n_first, first), (n_last, last) = (
            (c["count"], c["seconds"]) for c in (cases[0], cases[-1])
        )
        slope = max(0.0, (last - first) / (n_last - n_first))
        # What does not grow with the samples is taken off.
        rows[name] = _with_ratios(cases, slope, last - slope * n_last)
    # The data, 10 numbers per sample, are in the same process here.
    slope = (peaks[1] - peaks[0]) / (FITS[1] - FITS[0]) - 80
    return rows, {"samples": FITS[:2], "bytes": peaks, "bytes_per_sample": slope}


def _client_seconds(calls: list[Call]) -> dict[str, float]:
    """Seconds before a call of every function; "sort" is what follows the fetched columns."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for before, call in pairwise([calls[0], *calls]):
        name = "sort" if before.name == "columns_of" else call.name
        seconds[name].append(call.client_seconds)
    # Before one of the calls that fetch samples the model is learned: the median leaves that out.
    return {name: float(np.median(values)) for name, values in seconds.items()}


def _fit_parts(n_samples: int) -> None:
    watch_fit(n_samples, 10, 10, 200, 128, max_iter=1, sizes=False)


def measure_disk(n_bytes: int = 2**28) -> Row:
    """How fast a file is read that is not in memory.

    Parameters
    ----------
    n_bytes : int
        Its length.

    Returns
    -------
    dict
        Bytes per second.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "block.npy"
        np.save(path, np.random.default_rng(0).standard_normal(n_bytes // 8))
        rates = []
        for _ in range(3):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begun = time.perf_counter()
            np.load(path)
            rates.append(n_bytes / (time.perf_counter() - begun))
    return {"bytes_per_second": float(np.median(rates)), "all": rates}


def _processor_time(run: Callable[[], Any], repeats: int = 2) -> float:
    """The shortest of some runs."""
    found = []
    for _ in range(repeats):
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
    return min(found)


def _peak_bytes(run: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        run()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _with_ratios(cases: list[Row], constant: float | None = None, fixed: float = 0.0) -> Row:
    """A constant, and how far each case is from what it predicts."""
    if constant is None:
        constant = cases[-1]["seconds"] / cases[-1]["count"]
    for case in cases:
        predicted = fixed + constant * case["count"]
        case["ratio"] = case["seconds"] / predicted if predicted > 0 else float("nan")
    return {"seconds": constant, "fixed": fixed, "cases": cases}
