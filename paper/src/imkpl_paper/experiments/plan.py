"""What an experiment is: a declaration (`Item`), and the measurements (`Cell`) that it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.studies import STUDIES, Choice, choose_study

Task = Literal["judge", "embed"]
Value = float | int | str | None
Settings = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Cell:
    """One measurement: a method on one split of a data set.

    Items that need the same measurement share it, because nothing in a cell says which table or
    figure it is for.
    """

    task: Task  # fit and judge on the test part, or fit and map all samples to the plane
    dataset: str  # name of a study
    method: str
    split: int
    settings: Settings = ()  # in place of the study's

    @property
    def key(self) -> str:
        """A short name that no other cell has."""
        text = json.dumps(dict(self.settings), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8] if self.settings else "default"
        return f"{self.task}/{self.dataset}/{self.method}/{self.split}/{digest}"


@dataclass(frozen=True)
class Size:
    """How much of an item is run."""

    datasets: tuple[str, ...]  # names of studies
    methods: tuple[str, ...]
    n_splits: int
    # Settings that are varied one at a time, with their values.
    grid: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    # What a method has on a data set in all of these.
    beside: tuple[tuple[str, str, Settings], ...] = ()

    def find_beside(self, dataset: str, method: str) -> Settings:
        """Settings beside those that are varied."""
        return next((found for d, m, found in self.beside if (d, m) == (dataset, method)), ())


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper, as a declaration."""

    name: str  # such as "table-3"
    title: str
    full: Size  # the paper's data sets and methods
    quick: Size  # small data that need no files; under a minute
    measures: tuple[str, ...]  # columns of a row that are shown
    view: str  # name of the function that makes tables and figures of rows
    task: Task = "judge"
    notes: tuple[str, ...] = ()

    def size(self, quick: bool) -> Size:
        """The full or the quick size."""
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Plan:
    """An item, and what is run for it given the available data and packages."""

    item: Item
    size: Size
    choices: tuple[Choice, ...]  # the study that is run for each one asked for
    skipped: tuple[str, ...]  # why methods cannot be run
    cells: tuple[Cell, ...]


def make_plan(
    item: Item,
    *,
    quick: bool,
    n_splits: int | None = None,
    datasets: Sequence[str] | None = None,
) -> Plan:
    """The cells of an item, split by split.

    All data sets and methods come in the first split already, so that a run that is stopped early
    has a whole table with fewer repetitions, and the remaining time is known soon.
    """
    size = item.size(quick)
    if datasets is not None:
        size = replace(size, datasets=tuple(d for d in size.datasets if d in datasets))
    choices = tuple(choose_study(name) for name in size.datasets)
    used = [choice.name for choice in choices if choice.name]
    kinds = {STUDIES[name].kind for name in used or size.datasets}
    wanted = [name for name in size.methods if METHODS[name].kinds & kinds]
    reasons = {name: METHODS[name].missing() for name in wanted}
    variants: list[Settings] = [((name, value),) for name, values in size.grid for value in values]
    cells = [
        Cell(item.task, dataset, method, split, settings + size.find_beside(dataset, method))
        for split in range(size.n_splits if n_splits is None else n_splits)
        for dataset in used
        for method, reason in reasons.items()
        if not reason and STUDIES[dataset].kind in METHODS[method].kinds
        for settings in variants or [()]
    ]
    skipped = tuple(reason for reason in reasons.values() if reason)
    return Plan(item, size, choices, skipped, tuple(cells))


def unique_cells(plans: Sequence[Plan]) -> list[Cell]:
    """The cells of several items, each once."""
    return list(dict.fromkeys(cell for plan in plans for cell in plan.cells))
