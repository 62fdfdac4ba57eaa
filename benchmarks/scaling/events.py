"""Tasks on workers, event by event: how long a graph takes, and what it waits for.

The rules are those of Dask's scheduler, made simple. A worker runs one task at a time. Tasks
without dependencies wait in a queue, in the order of the graph, until a worker has fewer than two
tasks. Any other task goes, when its dependencies are done, to a worker that can start it first;
what that worker lacks it fetches from one that has it. Every worker sends one thing and receives
one thing at a time. The scheduler handles one task at a time, and sends what travels with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from typing import Any

# So many tasks a worker of one thread has at a time: one that runs, and one that waits.
TASKS_AT_HAND = 2


@dataclass(frozen=True)
class Task:
    """One task.

    Parameters
    ----------
    kind : str
        What it does.
    seconds : float
        How long it runs.
    dependencies : tuple of keys
        What it needs.
    result_bytes : float
        What it leaves on its worker.
    sent_bytes : float
        What travels with it from the scheduler.
    working_bytes : float
        What it holds while it runs, beside dependencies and result.
    is_wanted : bool
        Whether the client gets its result.
    home : int or None
        For data that lie on a worker already: on which, counted modulo the number of workers.
    """

    kind: str
    seconds: float
    dependencies: tuple[Hashable, ...] = ()
    result_bytes: float = 0.0
    sent_bytes: float = 0.0
    working_bytes: float = 0.0
    is_wanted: bool = False
    home: int | None = None


@dataclass(frozen=True)
class Machines:
    """What tasks run on.

    Parameters
    ----------
    n_workers : int
        How many; each runs one task at a time.
    bandwidth : float
        Bytes per second of every link.
    latency : float
        Seconds before a transfer begins.
    overhead : float
        Seconds of the scheduler per task.
    """

    n_workers: int
    bandwidth: float = 1.25e9
    latency: float = 1e-3
    overhead: float = 0.0


@dataclass
class Run:
    """When and where a task ran, and what it waited for."""

    worker: int
    begun: float
    ended: float
    # The task that ended last of those it waited for, and what lay between: "worker" if that task
    # kept the worker busy, "transfer" if its result was fetched, "scheduler" otherwise.
    cause: Hashable | None
    waited_for: str


@dataclass
class Timeline:
    """What happened.

    Parameters
    ----------
    runs : dict
        Every task's `Run`.
    ended : float
        When the client has all that it wanted.
    busy : float
        Seconds of all workers in tasks.
    client_bytes, scheduler_bytes, worker_bytes : float
        What the client received, what the scheduler sent, what workers sent each other.
    peak_bytes : float
        The most that one worker held.
    """

    runs: dict[Hashable, Run]
    ended: float = 0.0
    busy: float = 0.0
    client_bytes: float = 0.0
    scheduler_bytes: float = 0.0
    worker_bytes: float = 0.0
    peak_bytes: float = 0.0


@dataclass
class _Worker:
    free: float = 0.0
    # When it will have done all that it was given.
    booked: float = 0.0
    is_busy: bool = False
    previous: Hashable | None = None
    n_tasks: int = 0
    sends: float = 0.0
    receives: float = 0.0
    held: float = 0.0
    queue: list[Any] = field(default_factory=list)


class Simulation:
    """One graph on some machines; `run` gives the timeline.

    Parameters
    ----------
    tasks : mapping
        Tasks by their keys; the order is that in which they are preferred.
    machines : Machines
        What they run on.
    """

    def __init__(self, tasks: Mapping[Hashable, Task], machines: Machines) -> None:
        self.tasks, self.machines = tasks, machines
        self.rank = {key: place for place, key in enumerate(tasks)}
        self.missing = {key: len(task.dependencies) for key, task in tasks.items()}
        self.children: dict[Hashable, list[Hashable]] = {key: [] for key in tasks}
        for key, task in tasks.items():
            for dependency in task.dependencies:
                self.children[dependency].append(key)
        self.uses = {key: len(children) for key, children in self.children.items()}
        self.workers = [_Worker() for _ in range(machines.n_workers)]
        # Who has a result, and from when on; the earliest first.
        self.holders: dict[Hashable, list[tuple[float, int]]] = {}
        self.places: dict[Hashable, dict[int, float]] = {}
        self.events: list[tuple[float, int, Hashable]] = []
        self.roots = [k for k, t in tasks.items() if not t.dependencies and t.home is None][::-1]
        self.scheduler = self.link = 0.0
        # Who is done first; what was pushed before a worker got another task is stale.
        self.by_booking = [(0.0, number) for number in range(machines.n_workers)]
        self.line = Timeline({})

    def run(self) -> Timeline:
        """Run all tasks.

        Returns
        -------
        Timeline
            What happened.
        """
        for key, task in self.tasks.items():
            if task.home is not None:
                number = task.home % len(self.workers)
                self._keep(key, number, 0.0)
                self.line.runs[key] = Run(number, 0.0, 0.0, None, "scheduler")
        for key, task in self.tasks.items():
            if task.home is not None:
                self._release_children(key, 0.0)
        for _ in range(TASKS_AT_HAND):
            for number in range(len(self.workers)):
                self._hand_out(number, 0.0, None)
        while self.events:
            now, _, key = heappop(self.events)
            self._finish(key, now)
        last = max(run.ended for run in self.line.runs.values())
        wanted = sum(task.result_bytes for task in self.tasks.values() if task.is_wanted)
        self.line.client_bytes = wanted
        # Results are gathered when all are there.
        self.line.ended = last + self.machines.latency + wanted / self.machines.bandwidth
        return self.line

    def _hand_out(self, number: int, now: float, cause: Hashable | None) -> None:
        """Give a worker the next task without dependencies, if it has few."""
        if self.roots and self.workers[number].n_tasks < TASKS_AT_HAND:
            self._assign(self.roots.pop(), number, now, cause)

    def _assign(self, key: Hashable, number: int, now: float, cause: Hashable | None) -> None:
        task, worker, machines = self.tasks[key], self.workers[number], self.machines
        worker.n_tasks += 1
        self.scheduler = max(self.scheduler, now) + machines.overhead
        arrived = self.scheduler + machines.latency
        if task.sent_bytes:
            self.link = max(self.link, self.scheduler) + task.sent_bytes / machines.bandwidth
            arrived = self.link + machines.latency
            self.line.scheduler_bytes += task.sent_bytes
        ready, why = arrived, "scheduler"
        for dependency in task.dependencies:
            if number not in self.places[dependency]:
                self._fetch(dependency, number, arrived)
            there = self.places[dependency][number]
            if there > ready:
                ready, why, cause = there, "transfer", dependency
        worker.booked = max(worker.booked, ready) + task.seconds
        heappush(self.by_booking, (worker.booked, number))
        heappush(worker.queue, (self.rank[key], ready, key, cause, why))
        if not worker.is_busy:
            self._start_next(number, now)

    def _fetch(self, key: Hashable, number: int, now: float) -> None:
        """Bring a result to a worker, from who can send it first."""
        holders, worker = self.holders[key], self.workers[number]
        sender = holders[0][1]
        begun = max(now, holders[0][0], self.workers[sender].sends, worker.receives)
        size = self.tasks[key].result_bytes
        ended = begun + self.machines.latency + size / self.machines.bandwidth
        self.workers[sender].sends = worker.receives = ended
        heapreplace(holders, (ended, sender))
        self.line.worker_bytes += size
        self._keep(key, number, ended)

    def _keep(self, key: Hashable, number: int, now: float) -> None:
        heappush(self.holders.setdefault(key, []), (now, number))
        self.places.setdefault(key, {})[number] = now
        worker = self.workers[number]
        worker.held += self.tasks[key].result_bytes
        self.line.peak_bytes = max(self.line.peak_bytes, worker.held)

    def _start_next(self, number: int, now: float) -> None:
        """Let an idle worker begin: of what is there the first in order, else what comes first."""
        worker = self.workers[number]
        worker.is_busy = bool(worker.queue)
        if not worker.queue:
            return
        there = [entry for entry in worker.queue if entry[1] <= max(now, worker.free)]
        entry = min(there) if there else min(worker.queue, key=lambda waiting: waiting[1])
        worker.queue.remove(entry)
        worker.queue.sort()
        _, ready, key, cause, why = entry
        task, begun = self.tasks[key], max(ready, worker.free)
        if worker.free >= ready and worker.previous is not None:
            cause, why = worker.previous, "worker"
        worker.previous, worker.free = key, begun + task.seconds
        self.line.runs[key] = Run(number, begun, worker.free, cause, why)
        self.line.busy += task.seconds
        held = worker.held + task.working_bytes + task.result_bytes
        self.line.peak_bytes = max(self.line.peak_bytes, held)
        heappush(self.events, (worker.free, self.rank[key], key))

    def _finish(self, key: Hashable, now: float) -> None:
        number = self.line.runs[key].worker
        self._keep(key, number, now)
        self.workers[number].n_tasks -= 1
        for dependency in self.tasks[key].dependencies:
            self.uses[dependency] -= 1
            if self.uses[dependency] == 0 and not self.tasks[dependency].is_wanted:
                for place in self.places[dependency]:
                    self.workers[place].held -= self.tasks[dependency].result_bytes
        self._release_children(key, now)
        self._hand_out(number, now, key)
        self._start_next(number, now)

    def _release_children(self, key: Hashable, now: float) -> None:
        for child in self.children[key]:
            self.missing[child] -= 1
            if self.missing[child] == 0:
                self._assign(child, self._choose(child, now), now, key)

    def _choose(self, key: Hashable, now: float) -> int:
        """The worker that can start a task first: one that has something of it, or an idle one."""
        dependencies = self.tasks[key].dependencies
        heaviest = max(dependencies, key=lambda name: self.tasks[name].result_bytes)
        able = set(list(self.places[heaviest])[:8])
        while self.by_booking[0][0] != self.workers[self.by_booking[0][1]].booked:
            heappop(self.by_booking)
        able.add(self.by_booking[0][1])

        def start(number: int) -> tuple[float, int]:
            absent = sum(
                self.tasks[name].result_bytes
                for name in dependencies
                if number not in self.places[name]
            )
            worker = self.workers[number]
            return max(now, worker.booked) + absent / self.machines.bandwidth, number

        return min(able, key=start)


def longest_path(tasks: Mapping[Hashable, Task]) -> tuple[float, list[Hashable]]:
    """The chain of tasks that no number of workers makes shorter.

    Parameters
    ----------
    tasks : mapping
        Tasks by their keys.

    Returns
    -------
    seconds : float
        Its length, without transfers.
    chain : list of keys
        From the first to the last.
    """
    ends: dict[Hashable, float] = {}
    before: dict[Hashable, Hashable | None] = {}
    for first in tasks:
        stack = [first]
        while stack:
            key = stack[-1]
            todo = [name for name in tasks[key].dependencies if name not in ends]
            if todo:
                stack.extend(todo)
                continue
            stack.pop()
            if key not in ends:
                names = tasks[key].dependencies
                before[key] = max(names, key=lambda name: ends[name]) if names else None
                ends[key] = max((ends[name] for name in names), default=0) + tasks[key].seconds
    key: Hashable | None = max(ends, key=lambda name: ends[name])
    seconds, chain = ends[key], []
    while key is not None:
        chain.append(key)
        key = before[key]
    return seconds, chain[::-1]


def trace_back(tasks: Mapping[Hashable, Task], line: Timeline) -> list[tuple[str, float]]:
    """What the end waited for, from the last task back to the start.

    Parameters
    ----------
    tasks : mapping
        The tasks.
    line : Timeline
        How they ran.

    Returns
    -------
    list of (what, seconds)
        In the order of time: kinds of tasks, "transfer", "scheduler", at last "gather". The seconds
        sum to the end of the timeline.
    """
    key: Hashable | None = max(line.runs, key=lambda name: line.runs[name].ended)
    pieces = [("gather", line.ended - line.runs[key].ended)]
    while key is not None:
        run = line.runs[key]
        pieces.append((tasks[key].kind, run.ended - run.begun))
        since = 0.0 if run.cause is None else line.runs[run.cause].ended
        if run.begun > since:
            pieces.append((run.waited_for, run.begun - since))
        key = run.cause
    return pieces[::-1]
