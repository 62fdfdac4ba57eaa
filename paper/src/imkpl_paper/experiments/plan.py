"""What an item needs: which data and methods are at hand, and the cells that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.spec import Cell, Item, Size, list_cells
from imkpl_paper.experiments.studies import STUDIES, Choice, choose_study


@dataclass(frozen=True)
class Plan:
    """An item with what is run for it.

    Parameters
    ----------
    item : Item
        The declaration.
    size : Size
        Its full or quick size.
    choices : tuple of Choice
        The study that is run for each that was asked for.
    skipped : tuple of str
        Sentences about methods that cannot be run.
    cells : tuple of Cell
        Everything to be measured.
    """

    item: Item
    size: Size
    choices: tuple[Choice, ...]
    skipped: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that have cells, in the order of the declaration."""
        used = {cell.method for cell in self.cells}
        return tuple(name for name in self.size.methods if name in used)


def make_plan(
    item: Item,
    *,
    quick: bool,
    n_splits: int | None = None,
    datasets: Sequence[str] | None = None,
) -> Plan:
    """The cells of an item, given what is at hand."""
    size = item.size(quick)
    if datasets is not None:
        size = replace(size, datasets=tuple(d for d in size.datasets if d in datasets))
    choices = tuple(choose_study(name) for name in size.datasets)
    used = [choice.name for choice in choices if choice.name]
    kinds = {STUDIES[name].kind for name in used or size.datasets}
    wanted = [name for name in size.methods if METHODS[name].kinds & kinds]
    reasons = {name: METHODS[name].missing() for name in wanted}
    skipped = tuple(reason for reason in reasons.values() if reason)
    usable = [name for name, reason in reasons.items() if not reason]
    cells = [
        cell
        for cell in list_cells(item.task, size, used, usable, n_splits)
        if STUDIES[cell.dataset].kind in METHODS[cell.method].kinds
    ]
    return Plan(item, size, choices, skipped, tuple(cells))


def unique_cells(plans: Sequence[Plan]) -> list[Cell]:
    """The cells of several items, each once."""
    return list(dict.fromkeys(cell for plan in plans for cell in plan.cells))
