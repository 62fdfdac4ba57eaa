"""Threads and processes share a model, and each gets what one thread alone gets."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parent / "shared_model.py"
# A pool that hangs is a failure, on a slow machine too.
PATIENCE = 900


def run(how, layer, rounds):
    environment = os.environ | {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, SCRIPT, how, "--rounds", str(rounds)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba has no {layer} here.")
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# Numba's "workqueue" ends the process when two threads run loops at the same time.
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_eight_threads_get_what_one_thread_gets(layer):
    assert run("threads", layer, rounds=1) == f"{layer} same"


# GNU OpenMP ends a forked process that runs a loop after its parent did.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no fork here.")
@pytest.mark.parametrize("layer", ["omp"])
def test_forked_processes_get_what_their_parent_gets(layer):
    assert run("fork", layer, rounds=1) == f"{layer} same"


@pytest.mark.soak
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
@pytest.mark.parametrize("how", ["threads", "fork", "spawn", "forkserver", "loky"])
def test_threads_and_processes_get_the_same_for_long(how, layer):
    assert run(how, layer, rounds=25) == f"{layer} same"
