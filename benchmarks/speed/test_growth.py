"""How time and memory grow: exponents fitted over several sizes."""

from __future__ import annotations

from functools import partial

import alone
import data
import numpy as np
import pytest
from weight_step import make_state

from imkpl import IMKPL
from imkpl.model.updates import kernel_costs
from shared import timed


def exponent(sizes, values):
    """The slope of log(value) over log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def listed(sizes, values, digits=2):
    return ", ".join(
        f"{size:,}: {value:.{digits}g}" for size, value in zip(sizes, values, strict=True)
    )


@pytest.mark.parametrize("code_sparsity", [1, 4])
def test_weight_step(code_sparsity, record):
    sizes, found = [1000, 2000, 4000, 8000, 16000], []
    for n_samples in sizes:
        X = data.make_shifts(n_samples, 200)[0]
        case = make_state(X, n_samples // 20, 10, code_sparsity)
        kernel_costs(*case)
        found.append(np.median([timed(partial(kernel_costs, *case))[0] for _ in range(5)]))
    slope = exponent(sizes, found)
    record(
        f"growth of the weight step with N, 200 features, codes of {code_sparsity}",
        asked="exponent at most 1.15",
        found=f"{slope:.2f}",
        met=slope <= 1.15,
        details=f"seconds: {listed(sizes, found)}",
    )


GROWTHS = {
    "N, exact, 50 features": ([1000, 2000, 4000, 8000], "n_samples", {"n_features": 50}),
    "N, landmarks, 50 features": (
        [25_000, 50_000, 100_000, 200_000],
        "n_samples",
        {"n_features": 50},
    ),
    "features, 1000 samples": (
        [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000],
        "n_features",
        {"n_samples": 1000},
    ),
}


@pytest.mark.parametrize("name", GROWTHS)
def test_whole_fit(name, record):
    sizes, what, rest = GROWTHS[name]
    runs = [alone.run_alone("fit", kind="clusters", **{what: size}, **rest) for size in sizes]
    times = [run["seconds"] for run in runs]
    memory = [run["gigabytes"] for run in runs]
    record(
        f"growth of a whole fit with {name}",
        asked="exponent at most 1" if what == "n_features" else "",
        found=f"time {exponent(sizes, times):.2f}, memory {exponent(sizes, memory):.2f}",
        met=what != "n_features" or exponent(sizes, times) <= 1,
        details=f"seconds: {listed(sizes, times)}; peak GB of the process: {listed(sizes, memory)}",
    )


def test_rows_of_a_file(record, tmp_path):
    sizes, runs = [20_000, 100_000, 500_000, 2_500_000], []
    for n_samples in sizes:
        data.write_tall(tmp_path / "tall.parquet", n_samples)
        runs.append(alone.run_alone("fit_tall", path=str(tmp_path / "tall.parquet")))
        (tmp_path / "tall.parquet").unlink()
    times, memory = ([run[key] for run in runs] for key in ("processor", "gigabytes"))
    accuracy = [run["accuracy"] for run in runs]
    record(
        "growth of a whole fit with the rows of a Parquet file, 100 features",
        asked="",
        found=f"time {exponent(sizes, times):.2f}, memory {exponent(sizes, memory):.2f}",
        met=True,
        details=f"processor seconds: {listed(sizes, times, 3)}; peak GB of the process: "
        f"{listed(sizes, memory)}; accuracy: {listed(sizes, accuracy, 3)}",
    )


def test_predict(record):
    model = IMKPL().fit(*data.make_wine_like(2000))
    sizes, found = [12_500, 25_000, 50_000, 100_000], []
    for n_samples in sizes:
        X, _ = data.make_wine_like(n_samples, seed=1)
        model.predict(X)
        found.append(timed(partial(model.predict, X))[0])
    record(
        "growth of `predict` with samples",
        asked="",
        found=f"time {exponent(sizes, found):.2f}",
        met=True,
        details=f"seconds: {listed(sizes, found)}",
    )
