"""Real Dask clusters on this machine: the scheduler's cost per task, and sleeping tasks.

Sleeping needs no processor, so that the time of a graph of sleeping tasks can be compared with what
the simulator says, however busy the machine is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import numpy as np

from imkpl.scale.cluster import DaskCluster
from imkpl.scale.samples import DaskSamples
from scaling.events import Machines, Simulation
from scaling.graphs import tasks_of_parts
from scaling.passes import Pass

# Partitions of the graphs whose tasks do nothing, and bytes that travel with every task.
EMPTY = [(100, 8), (400, 8), (400, 80_000), (2000, 8)]
# Partitions, seconds to read one, and seconds of its task.
SLEEPS = [(8, 2.0, 5.0), (15, 1.5, 3.0), (40, 0.5, 1.0), (60, 0.1, 0.2)]


@contextmanager
def two_workers() -> Iterator[Any]:
    """A client of two workers, in processes of one thread.

    Yields
    ------
    distributed.Client
        Connected; the scheduler is in this process.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def measure_scheduler(client: Any) -> dict[str, Any]:
    """Processor time of client and scheduler per task, and per byte that travels with it.

    Parameters
    ----------
    client : distributed.Client
        Of a cluster whose scheduler is in this process.

    Returns
    -------
    dict
        Seconds per task and per byte, and the cases.
    """
    _map_parts(client, 10, 0.0, np.zeros(1))
    cases = []
    for n_parts, n_bytes in EMPTY:
        begun = time.process_time()
        _map_parts(client, n_parts, 0.0, np.zeros(n_parts * n_bytes // 8))
        seconds = time.process_time() - begun
        # One task reads, one computes.
        cases.append({"count": 2 * n_parts, "bytes": n_parts * n_bytes, "seconds": seconds})
    # The scheduler's work per task grows with the graph: the largest counts.
    per_task = cases[-1]["seconds"] / cases[-1]["count"]
    per_byte = max(0.0, (cases[2]["seconds"] - cases[1]["seconds"]) / cases[2]["bytes"])
    for case in cases:
        case["ratio"] = case["seconds"] / (per_task * case["count"] + per_byte * case["bytes"])
    return {"seconds": per_task, "seconds_per_byte": per_byte, "cases": cases}


def compare_sleeping(client: Any, overhead: float) -> list[dict[str, float]]:
    """Wall time of sleeping tasks beside what the simulator says.

    Parameters
    ----------
    client : distributed.Client
        Of two workers.
    overhead : float
        Seconds of the scheduler per task.

    Returns
    -------
    list of dict
        One for every graph.
    """
    rows = []
    for n_parts, reading, working in SLEEPS:
        begun = time.perf_counter()
        _map_parts(client, n_parts, reading, np.zeros(n_parts), working)
        found = time.perf_counter() - begun
        step = Pass("sleep", "sleep", n_parts, True, "sleep", 1.0, result_bytes=8.0)
        tasks = tasks_of_parts(step, working, reading, 8.0, is_persisted=False)
        line = Simulation(tasks, Machines(2, overhead=overhead)).run()
        row = {"n_parts": n_parts, "read": reading, "work": working, "found": found}
        rows.append({**row, "simulated": line.ended, "ratio": found / line.ended})
    return rows


def _map_parts(
    client: Any, n_parts: int, reading: float, per_row: Any, working: float = 0.0
) -> None:
    """`DaskSamples.map` over partitions that take their time."""
    load = dask.delayed(sleep_and_load, pure=False)
    n_rows = per_row.size
    samples = DaskSamples(
        cluster=DaskCluster(client),
        parts=tuple(load(reading, n_rows // n_parts) for _ in range(n_parts)),
        starts=np.arange(n_parts + 1) * (n_rows // n_parts),
        all_digests=None,
        varying_columns=np.arange(1),
        n_features=1,
        rows=np.arange(n_parts * (n_rows // n_parts)),
    )
    samples.map(sleep_and_answer, working)


def sleep_and_load(seconds: float, n_rows: int) -> Any:
    """A partition, after some time.

    Parameters
    ----------
    seconds : float
        How long.
    n_rows : int
        How many rows of zeros.

    Returns
    -------
    array of shape (n_rows, 1)
        The partition.
    """
    time.sleep(seconds)
    return np.zeros((n_rows, 1))


def sleep_and_answer(block: Any, seconds: float) -> float:
    """A number, after some time.

    Parameters
    ----------
    block : array
        The partition.
    seconds : float
        How long.

    Returns
    -------
    float
        One value of it.
    """
    time.sleep(seconds)
    return float(block[0, 0])
