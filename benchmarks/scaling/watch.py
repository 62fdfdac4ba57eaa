"""A client without a cluster: runs the tasks of a fit here, and notes what they cost."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import cloudpickle
import dask
from dask._expr import FinalizeCompute
from dask.base import collections_to_expr
from dask.callbacks import Callback


def kind_of(key: Any) -> str:
    """What a task of imkpl.scale does: its function, "job" for what it gets, "part" for the rest.

    Parameters
    ----------
    key : str or tuple
        Its key; names of functions are followed by 32 digits.

    Returns
    -------
    str
        The kind.
    """
    words = str(key).split("-")
    if words[0] == "job":
        return "job"
    is_ours = len(words) == 3 and len(words[1]) == 32 and words[2].isdigit()
    return words[0] if is_ours else "part"


def graph_of(tasks: list[Any]) -> dict[Any, Any]:
    """The tasks that a Dask client would send, after the same optimisation.

    Parameters
    ----------
    tasks : list of Delayed
        What is to be computed.

    Returns
    -------
    dict
        Nodes with their `dependencies`.
    """
    expression = FinalizeCompute(collections_to_expr(tasks, True)).optimize()
    return dict(expression.__dask_graph__())


@dataclass
class Call:
    """One call of the cluster.

    Parameters
    ----------
    name : str
        The function of most of its tasks.
    client_seconds : float
        Processor time of the client since the call before.
    seconds : dict
        Processor time of the tasks of every kind.
    counts : dict
        Tasks of every kind.
    result_bytes : int
        What the client gets, pickled.
    sent_bytes : dict
        What the client sends for tasks of every kind, pickled.
    """

    name: str
    client_seconds: float
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    result_bytes: int = 0
    sent_bytes: dict[str, int] = field(default_factory=dict)


class WatchedClient:
    """Computes tasks in this process.

    Parameters
    ----------
    log : file, optional
        Where calls are written as they come.
    sizes : bool
        Whether to note how much is sent and returned, which takes as much memory.
    """

    def __init__(self, log: Any = None, sizes: bool = True) -> None:
        self.calls: list[Call] = []
        self.log, self.sizes = log, sizes
        self.left = time.process_time()

    def compute(self, tasks: list[Any]) -> list[Any]:
        """Results of tasks, in their order."""
        waited = time.process_time() - self.left
        graph = graph_of(tasks)
        counts = Counter(kind_of(key) for key in graph)
        name = max((kind for kind in counts if kind not in ("job", "part")), key=counts.__getitem__)
        call = Call(name, waited, counts=dict(counts))
        seconds, begun = Counter[str](), 0.0

        def begin(key: Any, graph: Any, state: Any) -> None:
            nonlocal begun
            begun = time.process_time()

        def end(key: Any, result: Any, graph: Any, state: Any, worker: Any) -> None:
            seconds[kind_of(key)] += time.process_time() - begun

        with Callback(pretask=begin, posttask=end):
            found = list(dask.get(graph, [task.key for task in tasks]))
        call.seconds = dict(seconds)
        if self.sizes:
            call.result_bytes = sum(len(pickle.dumps(result)) for result in found)
            sent = Counter[str]()
            for key, node in graph.items():
                if kind_of(key) != "part":
                    sent[kind_of(key)] += len(cloudpickle.dumps(node))
            call.sent_bytes = dict(sent)
        self.calls.append(call)
        if self.log is not None:
            print(asdict(call), file=self.log, flush=True)
        self.left = time.process_time()
        return found

    def gather(self, found: list[Any]) -> list[Any]:
        """The results, which are here already."""
        return found


@contextmanager
def watched(client: Any) -> Iterator[None]:
    """Let fits find this client instead of one that is connected.

    Parameters
    ----------
    client : WatchedClient
        Or anything else with `compute` and `gather`.

    Yields
    ------
    None
        While it is in use.
    """
    from imkpl.scale import dask as bank_module
    from imkpl.scale import samples as samples_module

    modules = (samples_module, bank_module)
    before = [module.find_client for module in modules]
    for module in modules:
        module.find_client = lambda given=None: client if given is None else given
    try:
        yield
    finally:
        for module, finder in zip(modules, before, strict=True):
            module.find_client = finder
