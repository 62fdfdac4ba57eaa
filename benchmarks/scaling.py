"""What a fit of 10^8 samples on a Dask cluster would cost: measured constants times formulas.

``make scaling`` measures the constants on one core and prints the tables (see docs/scaling.md).
tests/scale/test_scaling.py compares the formulas for tasks and bytes with a real fit.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import timeit
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import dask.array as da
import numpy as np

from imkpl import IMKPL
from imkpl.estimators import _landmarks
from imkpl.estimators._landmarks import MAX_CALIBRATION, MAX_CODED, LabelledPursuit
from imkpl.estimators._partitions import FEWEST_VALUES, VALUES_PER_SAMPLE, _columns_of
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels.sharded import _find_largest, _sum_moments, _take_all
from imkpl.model.landmarks import MOST_POOLED, POOLED_VALUES
from imkpl.scale.dask import _on_rows, _summarize, compute, make_tasks

# Bytes of a number.
FLOAT = 8
# Assumed: 10 Gbit/s between machines, four rounds of learning; 16 is `DaskBank(n_blocks=)`.
BYTES_PER_SECOND, N_ROUNDS, N_BLOCKS = 1.25e9, 4, 16
WORKERS = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Size:
    """The size of a problem; classes are of one size, and so are partitions."""

    n_samples: int = 10**8
    n_features: int = 10**4
    n_parts: int = 10**4
    n_classes: int = 10
    n_landmarks: int = 4000
    # Of the fitted model, as found in a fit of 2000 landmarks with 5000 features.
    n_support: int = 614
    n_live: int = 619
    n_prototypes: int = 100

    @property
    def n_pooled(self) -> int:
        """The number of samples among which landmarks are drawn."""
        wanted = max(4 * self.n_landmarks, POOLED_VALUES // self.n_features)
        return min(self.n_samples, MOST_POOLED, wanted)


@dataclass(frozen=True)
class Pass:
    """A function that runs on partitions; all figures are per task."""

    stage: str
    name: str
    n_tasks: int
    count: float  # how many times the constant of this function
    result_bytes: float
    sent_bytes: float = 0.0
    common_bytes: float = 0.0  # sent once to every worker


def count_touched(n_rows: int, n_parts: int) -> int:
    """Expected number of partitions that hold some of the given number of random rows."""
    return round(n_parts * (1 - (1 - 1 / n_parts) ** n_rows))


def list_passes(size: Size) -> list[Pass]:
    """All passes over the partitions, in the order of a fit."""
    f, P, n = size.n_features, size.n_parts, size.n_samples / size.n_parts
    row, own, values = FLOAT * f, FLOAT * n, n * f
    width = min(f, max(VALUES_PER_SAMPLE, FEWEST_VALUES // size.n_samples))

    def fetch(stage: str, n_rows: int) -> Pass:
        touched = count_touched(n_rows, P)
        each = n_rows / touched
        return Pass(stage, "take_all", touched, each * f, each * row, FLOAT * each)

    passes = [
        Pass("read", "summarize", P, values, 2 * own + 2 * row),
        Pass("sort", "columns_of", P, values, own * width, own, FLOAT * width),
        fetch("bandwidths", 1),
        Pass("bandwidths", "find_largest", P, values, row, own, row),
        # Sums in extended precision have 16 bytes.
        *2 * [Pass("bandwidths", "sum_moments", P, values, 4 * row, 2 * own, 3 * row)],
    ]
    # Landmarks are drawn twice, from samples that stand for all, and then fetched.
    passes += 2 * [fetch("landmarks", size.n_pooled), fetch("landmarks", size.n_landmarks)]
    passes.append(fetch("calibration", size.n_support))
    per_sample = size.n_support * size.n_live
    model = FLOAT * (per_sample + size.n_prototypes**2)
    n_spaced = min(MAX_CALIBRATION, size.n_samples - size.n_landmarks)
    n_tasks = min(P, n_spaced)
    each = n_spaced / n_tasks
    sizes = FLOAT * each * size.n_prototypes, FLOAT * each, model
    passes.append(Pass("calibration", "similarities", n_tasks, each * per_sample, *sizes))
    if size.n_samples > MAX_CODED:
        return passes
    # Landmarks have codes already; a code is a value, a column and the end of its row.
    coded = n - size.n_landmarks / P
    sizes = 3 * FLOAT * coded, 2 * FLOAT * coded, model
    return [*passes, Pass("codes", "LabelledPursuit", P, coded * per_sample, *sizes)]


def estimate(size: Size, constants: dict[str, float], n_workers: int) -> dict[str, float]:
    """Seconds of every stage.

    Workers and scheduler run in parallel; transfers and the client come on top.
    """
    reading = FLOAT * size.n_samples / size.n_parts * size.n_features / constants["disk"]
    found: dict[str, float] = defaultdict(float)
    for step in list_passes(size):
        n_used = min(n_workers, step.n_tasks)
        working = ceil(step.n_tasks / n_used) * (reading + constants[step.name] * step.count)
        # Reading and computing are tasks of their own.
        scheduling, sent = 2 * step.n_tasks * constants["task"], step.n_tasks * step.sent_bytes
        moved = sent + step.n_tasks * step.result_bytes + n_used * step.common_bytes
        found[step.stage] += max(working, scheduling)
        found[step.stage] += sent * constants["byte"] + moved / BYTES_PER_SECOND
        found[step.stage] += constants.get(f"client: {step.name}", 0.0) * size.n_samples
    pairs, n_busy = size.n_landmarks**2 / 2, min(N_BLOCKS, n_workers)
    # The client draws twice, in all kernels and in those that are live; then all learn.
    drawn = size.n_pooled * size.n_landmarks / size.n_classes * (size.n_features + size.n_live)
    values = pairs * (2 * size.n_features + N_ROUNDS * size.n_live)
    found["learning"] = constants["combine"] * (drawn + values / n_busy)
    found["sort"] += constants["client: sort"] * size.n_samples
    found["end"] += constants["client: end"] * size.n_samples
    return dict(found)


def make_data(n_samples: int, n_features: int, n_classes: int) -> tuple[Any, Any]:
    """Two Gaussian groups per class that differ in at most forty features."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2 * n_classes, size=n_samples)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :40] += rng.standard_normal((2 * n_classes, min(40, n_features)))[groups]
    return X, groups % n_classes


def measure_workers(n_rows: int, n_features: int, n_others: int) -> dict[str, float]:
    """Seconds per unit of work of every function that runs on partitions."""
    X, y = make_data(n_rows, n_features, 2)
    bank, zeros = PerFeatureGaussian().adapt(X), np.zeros(n_features)
    average, new = zeros + 1 / n_features, X[:n_others]
    model = IMKPL(sparsity=10, max_iter=1).fit(X[:400, :60], y[:400])
    predictor, share = model._predictor, np.full(n_rows, 1 / n_rows)
    pursuit = LabelledPursuit(predictor, model.support_classes_, 0.5, 1)
    per_sample = model.support_.size * np.count_nonzero(model.kernel_weights_)
    runs: dict[str, tuple[float, Any, *tuple[Any, ...]]] = {
        "summarize": (X.size, _summarize),
        "columns_of": (X.size, _columns_of, np.arange(8)),
        "take_all": (X.size, _take_all),
        "find_largest": (X.size, _find_largest, zeros),
        "sum_moments": (X.size, _sum_moments, zeros, zeros + 5, zeros, share),
        "combine": (X.size * n_others, lambda block: bank.combine(average, block, new)),
        "similarities": (n_rows * per_sample, predictor.similarities),
        "LabelledPursuit": (n_rows * per_sample, pursuit, y),
    }
    found = {}
    for name, (count, function, *common) in runs.items():
        run = partial(_on_rows, X, np.arange(n_rows), [], function, *common)
        # The first of three runs compiles.
        found[name] = min(timeit.repeat(run, timer=time.process_time, number=1, repeat=3)) / count
    return found


class LocalClient:
    """Runs graphs here; records name, number of tasks, results and the client's time before."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, list[Any], float]] = []
        self.left = time.process_time()

    def compute(self, tasks: list[Any]) -> list[Any]:
        """Results of the tasks."""
        before = time.process_time() - self.left
        found = list(dask.compute(*tasks, scheduler="synchronous"))
        self.calls.append((tasks[0].key.split("-")[0], len(tasks), found, before))
        self.left = time.process_time()
        return found

    gather = staticmethod(list)


def record_fit(size: Size) -> tuple[LocalClient, IMKPL]:
    """A fit on partitions in this process, call by call."""
    X, y = make_data(size.n_samples, size.n_features, size.n_classes)
    client, model = LocalClient(), IMKPL(n_landmarks=size.n_landmarks, max_iter=1)
    with patch("distributed.default_client", lambda: client):
        model.fit(da.from_array(X, chunks=(ceil(size.n_samples / size.n_parts), -1)), y)
    return client, model


def measure_client(sizes: tuple[int, int]) -> dict[str, float]:
    """Seconds of the client per sample and call: the slope between two sizes."""
    found = []
    for n_samples in (sizes[0], *sizes):  # the first fit compiles
        # Few calibration samples, whose cost does not grow, leave the growth visible.
        with patch.object(_landmarks, "MAX_CALIBRATION", 500):
            client, _ = record_fit(Size(n_samples, 10, 16, 10, 200))
        times = defaultdict(list, end=[time.process_time() - client.left])
        for (before, *_), (name, _, _, seconds) in pairwise([("", 0, [], 0.0), *client.calls]):
            times["sort" if before == "columns_of" else name].append(seconds)
        # Before these the model is learned and calibrated, which takes as long for more samples.
        names = set(times) - {"take_all", "LabelledPursuit"}
        found.append({name: float(np.mean(times[name])) for name in names})
    slope = {name: (found[2][name] - found[1][name]) / (sizes[1] - sizes[0]) for name in found[2]}
    return {f"client: {name}": max(0.0, seconds) for name, seconds in sorted(slope.items())}


def measure_scheduler(n_tasks: int, n_bytes: int = 10**6) -> dict[str, float]:
    """Seconds of client and scheduler, both in this process, per task and per byte sent."""
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    found = []
    with LocalCluster(2, processes=True, **settings) as cluster, Client(cluster) as client:
        for count, size in ((n_tasks, FLOAT), (n_tasks, FLOAT), (n_tasks // 10, n_bytes)):
            tasks = make_tasks(np.size, [(np.zeros(size // FLOAT),) for _ in range(count)])
            begun = time.process_time()
            compute(client, tasks)
            found.append((time.process_time() - begun) / count)
    return {"task": found[1], "byte": max(0.0, found[2] - found[1]) / n_bytes}


def measure_disk(n_bytes: int) -> dict[str, float]:
    """Bytes per second of a file that is not cached."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "block.npy"
        np.save(path, np.random.default_rng(0).standard_normal(n_bytes // FLOAT))
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begun = time.perf_counter()
        np.load(path)
        return {"disk": n_bytes / (time.perf_counter() - begun)}


def format_seconds(seconds: float) -> str:
    """Two digits, in a unit that reads well."""
    units = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs")]
    factor, unit = next((u for u in units if seconds >= 2 * u[0]), (1e-9, "ns"))
    return f"{seconds / factor:.{0 if seconds >= 10 * factor else 1}f} {unit}"


def list_rows(size: Size, constants: dict[str, float]) -> Iterator[list[str]]:
    """Rows of three tables: constants, passes, and the time of every stage."""
    yield ["constant", "value"]
    for name, value in constants.items():
        yield [name, f"{value / 1e6:.0f} MB/s" if name == "disk" else format_seconds(value)]
    yield ["stage", "call", "tasks", "time per task", "GB to workers", "GB to the client"]
    for step in list_passes(size):
        sent = step.n_tasks * step.sent_bytes + min(100, step.n_tasks) * step.common_bytes
        seconds, found = constants[step.name] * step.count, step.n_tasks * step.result_bytes
        numbers = f"{step.n_tasks:,}", format_seconds(seconds), f"{sent / 1e9:.2g}"
        yield [step.stage, step.name, *numbers, f"{found / 1e9:.2g}"]
    yield ["stage", *(f"{n_workers} workers" for n_workers in WORKERS)]
    times = [estimate(size, constants, n_workers) for n_workers in WORKERS]
    for stage in times[0]:
        yield [stage, *(format_seconds(found[stage]) for found in times)]
    yield ["total", *(format_seconds(sum(found.values())) for found in times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure on small problems")
    quick = parser.parse_args().quick
    constants = measure_workers(500, 500, 10) if quick else measure_workers(4000, 2000, 40)
    constants |= measure_client((5000, 10_000) if quick else (20_000, 160_000))
    constants |= measure_scheduler(100 if quick else 2000)
    constants |= measure_disk(2**22 if quick else 2**28)
    for row in list_rows(Size(), constants):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
