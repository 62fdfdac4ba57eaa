"""What an experiment is: a declaration of data, methods, measures and repetitions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Task = Literal["judge", "embed"]
Value = float | int | None
Settings = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Cell:
    """One measurement: a method on one split of a data set.

    Items that need the same measurement share it, because nothing in a cell says which table or
    figure it is for.

    Parameters
    ----------
    task : {"judge", "embed"}
        Fit and judge on the test part, or fit and map all samples to the plane.
    dataset : str
        Name of a study.
    method : str
        Name of a method.
    split : int
        Number of the random split.
    settings : tuple of pairs
        Settings in the place of the study's, by name.
    """

    task: Task
    dataset: str
    method: str
    split: int
    settings: Settings = ()

    @property
    def key(self) -> str:
        """A short name that no other cell has."""
        text = json.dumps(dict(self.settings), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8] if self.settings else "default"
        return f"{self.task}/{self.dataset}/{self.method}/{self.split}/{digest}"


@dataclass(frozen=True)
class Size:
    """How much of an item is run.

    Parameters
    ----------
    datasets : tuple of str
        Names of studies.
    methods : tuple of str
        Names of methods.
    n_splits : int
        Random splits per data set.
    grid : tuple of (str, tuple of values)
        Settings that are varied one at a time, the others being those of the study.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    n_splits: int
    grid: tuple[tuple[str, tuple[Value, ...]], ...] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper, as a declaration.

    Parameters
    ----------
    name : str
        What it is asked for by, such as "table-3".
    title : str
        A heading.
    full : Size
        The paper's data sets and methods.
    quick : Size
        Small data that come with scikit-learn or are made on the spot; under a minute.
    measures : tuple of str
        Columns of a row that are shown.
    renderer : str
        Name of the function that makes tables and figures of rows.
    task : {"judge", "embed"}
        What is done in a cell.
    notes : tuple of str
        What a reader has to know; shown below.
    """

    name: str
    title: str
    full: Size
    quick: Size
    measures: tuple[str, ...]
    renderer: str
    task: Task = "judge"
    notes: tuple[str, ...] = field(default_factory=tuple)

    def size(self, quick: bool) -> Size:
        """The full or the quick size."""
        return self.quick if quick else self.full


def list_cells(
    task: Task,
    size: Size,
    datasets: Sequence[str],
    methods: Sequence[str],
    n_splits: int | None = None,
) -> Iterator[Cell]:
    """The cells of an item, split by split.

    All data sets and methods come in the first split already, so that a run that is stopped early
    has a whole table with fewer repetitions, and the time that is left is known soon.
    """
    variants: list[Settings] = [((name, value),) for name, values in size.grid for value in values]
    for split in range(size.n_splits if n_splits is None else n_splits):
        for dataset in datasets:
            for method in methods:
                for settings in variants or [()]:
                    yield Cell(task, dataset, method, split, settings)
