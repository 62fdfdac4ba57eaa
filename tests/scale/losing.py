"""Data and kernels that take their worker down with them, once, when they are told to."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import dask
import dask.array as da
import numpy as np

from imkpl import scale
from imkpl.kernels.normalize import BaseWrapper, LinearKernels

N_PARTS, N_ROWS, N_FEATURES = 4, 60, 6


def die_once(folder):
    """Kill this process if the file `armed` is there; whoever removes it dies."""
    try:
        os.rename(Path(folder) / "armed", Path(folder) / "fired")
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def make_rows(number):
    rng = np.random.default_rng(number)
    X = rng.standard_normal((N_ROWS, N_FEATURES))
    X[:, :3] += 2 * (np.arange(N_ROWS) % 3)[:, None] * np.array([1, -1, 0])
    return X


def load_rows(number, folder):
    # In the middle of a pass: parts before this one are done, parts after it are not.
    if number == N_PARTS // 2:
        die_once(folder)
    return make_rows(number)


def all_rows():
    return np.concatenate([make_rows(number) for number in range(N_PARTS)])


def all_labels():
    return np.tile(np.arange(N_ROWS) % 3, N_PARTS)


def dangerous_array(folder):
    load = dask.delayed(load_rows, pure=False)
    shape = (N_ROWS, N_FEATURES)
    parts = [da.from_delayed(load(i, str(folder)), shape, float) for i in range(N_PARTS)]
    return da.concatenate(parts)


@dataclass(frozen=True)
class DangerousBank(BaseWrapper):
    """The kernels of a bank; on a worker, computing may be deadly."""

    folder: str

    def around(self, kernels):
        return DangerousKernels(kernels, self.folder)


@dataclass(frozen=True, eq=False)
class DangerousKernels(LinearKernels):
    folder: str

    has_unit_diagonal = True

    def spread(self, weights):
        if scale.find_worker() is not None:
            die_once(self.folder)
        return weights

    gather = spread

    def evaluate(self, index):
        return self.kernels.evaluate(index)

    def pairs(self, rows, columns, dtype=np.float64):
        return self.spread(self.kernels.pairs(rows, columns, dtype))


def arm_at(monkeypatch, stage, folder):
    """From the first tasks of this name on, data and kernels kill a worker."""
    compute = scale.compute

    def compute_armed(tasks):
        if stage in str(tasks[0].key) and not (Path(folder) / "fired").exists():
            (Path(folder) / "armed").touch()
        return compute(tasks)

    monkeypatch.setattr(scale, "compute", compute_armed)
