"""Measure, simulate and write docs/scaling.md: ``python -m scaling [step ...]``.

Needs ``PYTHONPATH=benchmarks`` and one thread, ``NUMBA_NUM_THREADS=1``. What was measured is kept
in results/scaling.json, so that steps can be repeated alone.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scaling.events import Machines
from scaling.fit import list_steps, simulate
from scaling.passes import Size

STORE = Path("results/scaling.json")
STEPS = ("constants", "client", "cluster", "landmarks", "simulate", "write")
# Landmarks and features of the fits that are recorded; calls of the last are scaled up.
RECORDED = [(1000, 2500), (2000, 5000)]
# Workers, and whether they keep the partitions; fewer than 100 have no room for 8 TB.
CLUSTERS = [(1, False), (10, False), (100, False), (1000, False), (100, True), (1000, True)]


def real_size(measured: dict[str, Any]) -> Size:
    """The size of docs/scaling.md, with the model that the largest recorded fit found.

    Parameters
    ----------
    measured : dict
        What was measured.

    Returns
    -------
    Size
        10**8 samples of 10**4 features.
    """
    record = measured["landmarks"]
    return Size(
        n_support=record["n_support"], n_live=record["n_live"], n_prototypes=record["n_prototypes"]
    )


def measure(step: str, measured: dict[str, Any]) -> None:
    """One step; what it found is put beside what is known.

    Parameters
    ----------
    step : str
        One of `STEPS`.
    measured : dict
        Changed in place.
    """
    if step == "constants":
        from scaling.constants import measure_disk, measure_workers

        measured.update(workers=measure_workers(), disk=measure_disk())
    elif step == "client":
        from scaling.constants import measure_client

        seconds, held = measure_client()
        measured.update(client=seconds, client_held=held)
    elif step == "cluster":
        from scaling.real import compare_sleeping, measure_scheduler, two_workers

        with two_workers() as client:
            scheduler = measure_scheduler(client)
            rows = compare_sleeping(client, scheduler["seconds"])
        measured.update(scheduler=scheduler, validation=rows)
    elif step == "landmarks":
        from scaling.full import record_landmarks

        smaller, larger = (record_landmarks(*numbers) for numbers in RECORDED)
        measured.update(landmarks=larger, landmarks_before=smaller)
    elif step == "simulate":
        size, found = real_size(measured), []
        for n_workers, is_persisted in CLUSTERS:
            machines = Machines(n_workers, overhead=measured["scheduler"]["seconds"])
            stages = simulate(list_steps(size, measured, is_persisted=is_persisted), machines)
            found.append(
                {
                    "n_workers": n_workers,
                    "is_persisted": is_persisted,
                    "stages": {name: asdict(outcome) for name, outcome in stages.items()},
                }
            )
            print(
                n_workers, is_persisted, sum(stage.seconds for stage in stages.values()), flush=True
            )
        measured["simulated"] = found
    else:
        from scaling.page import write_page

        write_page(measured)


def main() -> None:
    """Run the steps that are named, all by default."""
    parser = argparse.ArgumentParser(description="Measure and simulate fits on a cluster.")
    parser.add_argument("steps", nargs="*", help=f"some of: {', '.join(STEPS)}")
    steps = parser.parse_args().steps or STEPS
    measured = json.loads(STORE.read_text()) if STORE.exists() else {}
    for step in steps:
        if step not in STEPS:
            parser.error(f"There is no step {step!r}, expected some of: {', '.join(STEPS)}.")
        measure(step, measured)
        STORE.parent.mkdir(exist_ok=True)
        STORE.write_text(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
