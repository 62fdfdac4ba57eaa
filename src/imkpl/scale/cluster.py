"""Functions of pieces of data as tasks of a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from imkpl._threads import limited_threads
from imkpl.kernels.sharded import Cluster

# Compiled loops of one process share their threads: its tasks take turns, and each uses all.
_TURN = threading.Lock()
# What tasks need travels with them, so that they can be run again elsewhere. Dask warns of such
# graphs above 10 MB and recommends to scatter the data, which is lost with the worker that has it.
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}


@dataclass(frozen=True, eq=False)
class Job:
    """A function and what all of its calls get; sent to every worker once.

    Parameters
    ----------
    function : function
        Pure.
    common : tuple
        Its last arguments.
    """

    function: Callable[..., Any]
    common: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class DaskCluster(Cluster):
    """The workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
        Connected to them.
    """

    client: Any

    def map(
        self, function: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], *common: Any
    ) -> list[Any]:
        """A function of every piece, one task each; a piece may hold Delayed objects."""
        return self.compute(make_tasks(function, pieces, *common))

    def compute(self, tasks: list[Any]) -> list[Any]:
        """The results of tasks."""
        import dask

        with dask.config.set(NO_WARNING):
            futures = self.client.compute(tasks)
        found: list[Any] = self.client.gather(futures)
        return found


def make_tasks(
    function: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], *common: Any
) -> list[Any]:
    """One task for every piece, named after the function."""
    from dask.delayed import delayed

    name, run = f"{function.__name__.strip('_')}-{uuid4().hex}", delayed(run_job, pure=False)
    job = delayed(Job(function, common), name=f"job-{name}", traverse=False)
    return [
        run(job, *piece, dask_key_name=f"{name}-{number}") for number, piece in enumerate(pieces)
    ]


def run_job(job: Job, *piece: Any) -> Any:
    """One task."""
    with one_at_a_time():
        return job.function(*piece, *job.common)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait for other tasks of this process, then use as many threads as the worker has."""
    worker = find_worker()
    with _TURN, limited_threads(None if worker is None else worker.state.nthreads):
        yield


def find_worker() -> Any:
    """The worker whose task this is, None outside of tasks."""
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


def find_client(client: Any = None) -> Any:
    """The given client, else the one that is in use."""
    try:
        from distributed import default_client
    except ImportError:
        raise ImportError(
            "Dask is not installed. Install it with pip install 'imkpl[dask]'."
        ) from None
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client, expected one that is connected to a cluster. Start one: "
            "from dask.distributed import Client; client = Client()."
        ) from None
