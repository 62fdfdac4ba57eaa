"""A whole fit on simulated machines, call by call."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scaling.events import Machines, Simulation, Task, Timeline, longest_path, trace_back
from scaling.graphs import tasks_of_blocks, tasks_of_parts, tasks_of_sum
from scaling.passes import FLOAT, Pass, Size, draw_rounds, list_passes

# Fewer kernel values than this are computed by the client (`DaskBank(least_values=)`).
LEAST_VALUES = 2**24
# The pursuit that chooses kernels looks at so many candidates at most.
MAX_CANDIDATES = 2000


@dataclass
class Step:
    """One call of the cluster and what the client does before it.

    Parameters
    ----------
    stage, name : str
        Which.
    client_seconds : float
        Before the call.
    tasks : mapping
        Tasks by their keys; none if the client computes alone.
    repeats : int
        How many times in a row.
    """

    stage: str
    name: str
    client_seconds: float
    tasks: Mapping[Hashable, Task] = field(default_factory=dict)
    repeats: int = 1


@dataclass
class Outcome:
    """How long a stage took, and for what.

    Parameters
    ----------
    seconds : float
        From its begin to its end.
    client_seconds : float
        Of these, those of the client alone.
    busy : float
        Seconds of all workers in tasks.
    n_calls, n_tasks : int
        How many.
    chain : dict
        What the end of the stage waited for.
    unbounded : float
        Seconds with any number of workers, without transfers and scheduler.
    client_bytes, scheduler_bytes, worker_bytes : float
        Traffic.
    peak_bytes : float
        The most that one worker held.
    """

    seconds: float = 0.0
    client_seconds: float = 0.0
    busy: float = 0.0
    n_calls: int = 0
    n_tasks: int = 0
    chain: dict[str, float] = field(default_factory=dict)
    unbounded: float = 0.0
    client_bytes: float = 0.0
    scheduler_bytes: float = 0.0
    worker_bytes: float = 0.0
    peak_bytes: float = 0.0


def list_steps(
    size: Size, measured: Mapping[str, Any], *, is_persisted: bool = False
) -> Iterator[Step]:
    """The calls of a fit, in their order.

    Parameters
    ----------
    size : Size
        Of the problem.
    measured : mapping
        Constants, as in results/scaling.json.
    is_persisted : bool
        Whether partitions are read once, and kept by the workers.

    Yields
    ------
    Step
        One after the other.
    """
    rate = measured["disk"]["bytes_per_second"]
    reading = size.part_bytes / rate
    if is_persisted:
        step = Pass("persist", "persist", size.n_parts, True, "take", 0.0, 0.0)
        yield Step("persist", "persist", 0.0, tasks_of_parts(step, 0.0, reading, 0.0, False))
    passes = list_passes(size)
    begun = [step.stage for step in passes].index("calibration")
    rounds = iter(draw_rounds(size.n_landmarks, size.n_classes))
    for number, step in enumerate(passes):
        if number == begun:
            yield from list_landmark_steps(size, measured)
        if number and passes[number - 1].name == "columns_of":
            yield Step("order", "sort", _per_sample(measured, "sort") * size.n_samples)
        yield _step_of_pass(step, size, measured, reading, is_persisted)
        is_draw = step.stage == "landmarks" and step.name == "as_they_are"
        if is_draw and number < begun - 1:
            yield _compare_candidates(next(rounds)[0], size, measured)
    yield Step("codes", "put together", _per_sample(measured, "rest") * size.n_samples)


def _step_of_pass(
    step: Pass, size: Size, measured: Mapping[str, Any], reading: float, is_persisted: bool
) -> Step:
    constant = measured["workers"][step.term]
    held = replace(step, held_bytes=constant["held"] * step.held_bytes)
    tasks = tasks_of_parts(
        held, constant["seconds"] * step.count, reading, size.part_bytes, is_persisted
    )
    # What travels with tasks is pickled and read by client and scheduler.
    sent = step.sent_bytes * step.n_tasks * measured["scheduler"]["seconds_per_byte"]
    client = _per_sample(measured, step.name) * size.n_samples
    return Step(step.stage, step.name, client + sent, tasks)


def _per_sample(measured: Mapping[str, Any], name: str) -> float:
    return float(measured["client"].get(name, {"seconds": 0.0})["seconds"])


def _compare_candidates(drawn: int, size: Size, measured: Mapping[str, Any]) -> Step:
    """Candidates of every class with each other, class after class."""
    n_values = drawn**2 * size.n_features
    seconds = measured["workers"]["nearest"]["seconds"] * n_values / 2
    if n_values < LEAST_VALUES:
        return Step("landmarks", "candidates", seconds * size.n_classes)
    columns, matrix = FLOAT * drawn * size.n_features / 16, FLOAT * drawn**2
    tasks = tasks_of_sum(seconds / 16, drawn**2 * 1e-9, columns, matrix)
    return Step("landmarks", "candidates", 0.0, tasks, repeats=size.n_classes)


def list_landmark_steps(size: Size, measured: Mapping[str, Any]) -> Iterator[Step]:
    """What is learned from the landmarks, as a real fit did it, with times and bytes scaled.

    Parameters
    ----------
    size : Size
        Of the problem.
    measured : mapping
        With the calls of a real fit under "landmarks".

    Yields
    ------
    Step
        One after the other.
    """
    record = measured["landmarks"]
    m, f = size.n_landmarks / record["n_landmarks"], size.n_features / record["n_features"]
    live = size.n_live / record["n_live"]
    candidates = min(size.n_features, MAX_CANDIDATES) / min(record["n_features"], MAX_CANDIDATES)
    work = {
        "contract_rows_of_block": m * f,
        "find_nearest_of_block": m * m * f,
        "sum_pairs_of_block": m * f,
        "pairs_of_block": m * candidates,
        "combine_band": m * m * live,
    }
    result = {"find_nearest_of_block": m, "pairs_of_block": m * candidates, "combine_band": m * m}
    for call in record["calls"]:
        name = call["name"]
        if name == "combine_band":
            # From here on only live kernels are left.
            work["contract_rows_of_block"], f = m * live, live
        tasks = tasks_of_blocks(
            name,
            call["counts"][name],
            call["seconds"][name] * work[name],
            call["sent_bytes"][name] * m * f,
            call["sent_bytes"]["job"] * m * f,
            call["result_bytes"] * result.get(name, f),
        )
        yield Step("learning", name, call["client_seconds"] * m * candidates, tasks)


def simulate(steps: Iterator[Step], machines: Machines) -> dict[str, Outcome]:
    """All steps, one after the other, summed up by stage.

    Parameters
    ----------
    steps : iterator of Step
        What the client asks for.
    machines : Machines
        Who computes.

    Returns
    -------
    dict
        Outcomes of the stages, in their order.
    """
    found: dict[str, Outcome] = {}
    for step in steps:
        outcome = found.setdefault(step.stage, Outcome())
        outcome.client_seconds += step.client_seconds
        outcome.seconds += step.client_seconds
        outcome.unbounded += step.client_seconds
        waits = [("client", step.client_seconds)]
        if step.tasks:
            line = Simulation(step.tasks, machines).run()
            _count(outcome, step, line)
            waits += [(what, step.repeats * t) for what, t in trace_back(step.tasks, line)]
        for what, seconds in waits:
            outcome.chain[what] = outcome.chain.get(what, 0.0) + seconds
    return found


def _count(outcome: Outcome, step: Step, line: Timeline) -> None:
    """Add what a call took."""
    outcome.n_calls += step.repeats
    outcome.n_tasks += step.repeats * len(line.runs)
    outcome.seconds += step.repeats * line.ended
    outcome.busy += step.repeats * line.busy
    outcome.unbounded += step.repeats * longest_path(step.tasks)[0]
    outcome.client_bytes += step.repeats * line.client_bytes
    outcome.scheduler_bytes += step.repeats * line.scheduler_bytes
    outcome.worker_bytes += step.repeats * line.worker_bytes
    outcome.peak_bytes = max(outcome.peak_bytes, line.peak_bytes)
