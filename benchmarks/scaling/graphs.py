"""Graphs as imkpl.scale builds them, with times and sizes in place of the work."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np
from dask.order import order

from imkpl.kernels import PerFeatureGaussian
from imkpl.scale import DaskBank
from imkpl.scale.cluster import DaskCluster
from imkpl.scale.samples import DaskSamples, list_parts
from scaling.events import Task
from scaling.passes import Pass
from scaling.watch import graph_of, kind_of

# Kinds and dependencies of tasks, in the order in which Dask prefers them.
Shape = list[tuple[Hashable, str, tuple[Hashable, ...]]]


class _Captured(Exception):  # noqa: N818
    """Carries tasks out of code that waits for their results."""


class _DryClient:
    """Takes tasks, and computes nothing."""

    def compute(self, tasks: list[Any]) -> Any:
        raise _Captured(tasks)


def capture(build: Callable[[Any], Any]) -> list[Any]:
    """The tasks that a piece of code gives to its client.

    Parameters
    ----------
    build : function (client)
        The code.

    Returns
    -------
    list of Delayed
        The tasks of its first call of the cluster.
    """
    try:
        build(_DryClient())
    except _Captured as captured:
        return list(captured.args[0])
    raise ValueError("No task was given to the client, expected code that computes something.")


def shape_of(tasks: list[Any]) -> Shape:
    """Kinds and dependencies of tasks as a client would send them.

    Parameters
    ----------
    tasks : list of Delayed
        What is to be computed.

    Returns
    -------
    list of (key, kind, dependencies)
        In the order in which Dask prefers them.
    """
    graph = graph_of(tasks)
    ranks = order(graph)
    return [
        (key, kind_of(key), tuple(sorted(graph[key].dependencies, key=str)))
        for key in sorted(graph, key=ranks.__getitem__)
    ]


def _work(block: Any, *common: Any) -> None:
    """Stands for what a task does."""


@cache
def shape_of_parts(n_parts: int) -> Shape:
    """The graph of a function of partitions, by `DaskSamples.map`.

    Parameters
    ----------
    n_parts : int
        How many are read. Their contents do not matter here: one number each.

    Returns
    -------
    list of (key, kind, dependencies)
        A task for every partition, one for the function of each, and one for what all get.
    """
    import dask.array as da

    parts = tuple(list_parts(da.zeros((n_parts, 1), chunks=1)))

    def build(client: Any) -> None:
        samples = DaskSamples(
            cluster=DaskCluster(client),
            parts=parts,
            starts=np.arange(n_parts + 1),
            all_digests=None,
            varying_columns=np.arange(1),
            n_features=1,
            rows=np.arange(n_parts),
        )
        samples.map(_work)

    return shape_of(capture(build))


@cache
def shape_of_sum() -> Shape:
    """The graph of a combined kernel of few samples and many features, by `DaskBank.combine`.

    Returns
    -------
    list of (key, kind, dependencies)
        Sixteen blocks of features, and fifteen additions.
    """
    X = np.arange(128.0).reshape(2, 64)
    bank = PerFeatureGaussian().adapt(X)

    def build(client: Any) -> None:
        DaskBank(bank, client=client, least_values=1).combine(np.ones(64), X)

    return shape_of(capture(build))


def tasks_of_parts(
    step: Pass, seconds: float, read_seconds: float, part_bytes: float, is_persisted: bool
) -> dict[Hashable, Task]:
    """The tasks of a pass over partitions.

    Parameters
    ----------
    step : Pass
        Which pass.
    seconds : float
        Of its function, per partition.
    read_seconds : float
        To read a partition.
    part_bytes : float
        Its size.
    is_persisted : bool
        Whether partitions lie in the memory of the workers already.

    Returns
    -------
    dict
        Tasks by their keys.
    """
    tasks: dict[Hashable, Task] = {}
    n_seen = 0
    for key, kind, dependencies in shape_of_parts(step.n_tasks):
        if kind == "part":
            home, spent = (n_seen, 0.0) if is_persisted else (None, read_seconds)
            n_seen += 1
            tasks[key] = Task("read", spent, result_bytes=part_bytes, home=home)
        elif kind == "job":
            tasks[key] = Task(
                "job", 0.0, result_bytes=step.common_bytes, sent_bytes=step.common_bytes
            )
        else:
            tasks[key] = Task(
                step.name,
                seconds,
                dependencies,
                result_bytes=step.result_bytes,
                sent_bytes=step.sent_bytes,
                working_bytes=step.held_bytes,
                is_wanted=True,
            )
    return tasks


def tasks_of_sum(
    seconds: float, add_seconds: float, sent_bytes: float, result_bytes: float
) -> dict[Hashable, Task]:
    """The tasks of a combined kernel of many features.

    Parameters
    ----------
    seconds, add_seconds : float
        Of a block of features, and of an addition.
    sent_bytes, result_bytes : float
        Columns of a block; one matrix.

    Returns
    -------
    dict
        Tasks by their keys.
    """
    shape = shape_of_sum()
    needed = {name for _, _, dependencies in shape for name in dependencies}
    tasks: dict[Hashable, Task] = {}
    for key, kind, dependencies in shape:
        if kind == "job":
            tasks[key] = Task("job", 0.0)
            continue
        is_block = kind == "combine_block"
        tasks[key] = Task(
            kind,
            seconds if is_block else add_seconds,
            dependencies,
            result_bytes=result_bytes,
            sent_bytes=sent_bytes if is_block else 0.0,
            is_wanted=key not in needed,
        )
    return tasks


def tasks_of_blocks(
    name: str,
    n_blocks: int,
    seconds: float,
    sent_bytes: float,
    common_bytes: float,
    result_bytes: float,
) -> dict[Hashable, Task]:
    """The tasks of `DaskBank` and of neighbourhoods that are cut into blocks.

    Parameters
    ----------
    name : str
        The function.
    n_blocks : int
        How many blocks.
    seconds, sent_bytes, common_bytes, result_bytes : float
        Of all blocks together, but for what is common to all.

    Returns
    -------
    dict
        Tasks by their keys.
    """
    tasks = {"job": Task("job", 0.0, result_bytes=common_bytes, sent_bytes=common_bytes)}
    for number in range(n_blocks):
        tasks[number] = Task(
            name,
            seconds / n_blocks,
            ("job",),
            result_bytes=result_bytes / n_blocks,
            sent_bytes=sent_bytes / n_blocks,
            is_wanted=True,
        )
    return tasks
