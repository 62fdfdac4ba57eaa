"""Tables of rows: what was measured, beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imkpl_paper.experiments.codes import LENGTHS
from imkpl_paper.experiments.compare import Correction, find_best, summarize
from imkpl_paper.experiments.plan import Plan
from imkpl_paper.experiments.protocol import Row
from imkpl_paper.experiments.published import published_values
from imkpl_paper.experiments.studies import STUDIES, Choice

Pieces = tuple["Table | Picture", ...]
NOTHING = "\N{EN DASH}"
PAPER_COLUMNS = ("paper", "difference")


@dataclass(frozen=True)
class Entry:
    """The text in one place of a table, not escaped."""

    text: str
    is_bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table; every row has one entry per column."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure."""

    name: str  # a file name without ending
    caption: str
    image: bytes
    ending: str = "svg"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.{self.ending}"


def entries(*texts: str) -> tuple[Entry, ...]:
    """A row of plain texts."""
    return tuple(Entry(text) for text in texts)


@dataclass(frozen=True)
class Measure:
    """How a column of rows is shown."""

    title: str
    digits: int = 1
    larger_is_better: bool = True
    style: str = "f"  # "f" for fixed digits, "g" for significant ones
    is_control: bool = False  # no method is the best in it

    def format(self, value: float) -> str:
        """A number in the digits of this measure."""
        return f"{value:.{self.digits}{self.style}}"


MEASURES = {
    "accuracy": Measure("Acc (%)", 2),
    "kernels": Measure("kernels", 0, larger_is_better=False),
    "ip": Measure("IP (%)", 1),
    "dr": Measure("DR (%)", 1),
    **{f"dr_{n}": Measure(f"DR, codes of {n}", 1) for n in LENGTHS},
    **{f"control_dr_{n}": Measure("at random", 1, is_control=True) for n in LENGTHS},
    "control_dr": Measure("at random", 1, is_control=True),
    "prototypes": Measure("prototypes", 0, larger_is_better=False),
    "samples_per_prototype": Measure("samples each", 1, larger_is_better=False),
    "seconds": Measure("seconds", 3, larger_is_better=False, style="g"),
}


@dataclass(frozen=True)
class Found:
    """The rows of an item."""

    plan: Plan
    rows: Mapping[str, Row] = field(repr=False)  # by key
    correction: Correction = "none"  # of the test that decides what is bold

    def pick(self, dataset: str, method: str, **settings: Any) -> list[Row]:
        """Rows of a data set and method that are done, by split."""
        wanted = tuple(settings.items())
        cells = [
            cell
            for cell in self.plan.cells
            if (cell.dataset, cell.method, cell.settings) == (dataset, method, wanted)
        ]
        rows = [self.rows[cell.key] for cell in cells if cell.key in self.rows]
        return sorted((row for row in rows if row["status"] == "done"), key=lambda r: r["split"])

    def failures(self) -> list[str]:
        """What failed, each reason once."""
        found: dict[tuple[str, str, str], int] = {}
        for cell in self.plan.cells:
            row = self.rows.get(cell.key, {})
            if row.get("status") == "failed":
                place = (cell.method, cell.dataset, row["reason"])
                found[place] = found.get(place, 0) + 1
        return [f"{m} failed on {d} ({n} cells). {why}" for (m, d, why), n in found.items()]


def values_by_split(rows: Sequence[Row], name: str) -> dict[int, float]:
    """A measure by split."""
    return {row["split"]: float(row[name]) for row in rows if row.get(name) is not None}


def show_measures(found: Found) -> Pieces:
    """For every data set, methods against measures, with the paper's numbers."""
    return tuple(_one_dataset(found, choice) for choice in found.plan.choices)


def _one_dataset(found: Found, choice: Choice) -> Table:
    plan, names = found.plan, found.plan.item.measures
    published = published_values(plan.item.name, choice.asked)
    rows = {m: found.pick(choice.name, m) for m in plan.size.methods} if choice.name else {}
    values = {n: {m: values_by_split(r, n) for m, r in rows.items()} for n in names}
    bold = {
        n: find_best(
            values[n], larger_is_better=MEASURES[n].larger_is_better, correction=found.correction
        )
        for n in names
        if not MEASURES[n].is_control
    }
    has_paper = {n: any(n in theirs for theirs in published.values()) for n in names}
    header = ["method"]
    for name in names:
        header += [MEASURES[name].title, *(PAPER_COLUMNS if has_paper[name] else ())]
    lines = []
    for method in plan.size.methods:
        line = [Entry(method)]
        for name in names:
            line.append(
                _own_entry(name, values[name].get(method, {}), method in bold.get(name, ()))
            )
            if has_paper[name]:
                paper = published.get(printed_name(method), {}).get(name)
                line += _paper_entries(name, values[name].get(method, {}), paper)
        n_splits = len(rows.get(method, ()))
        if n_splits or method in published:
            lines.append((*line, Entry(str(n_splits))))
    return Table(dataset_heading(choice), (*header, "splits"), tuple(lines), dataset_notes(choice))


def printed_name(method: str) -> str:
    """The name that a method has in the paper's tables."""
    return method.removesuffix(" tuned").partition(",")[0]


def _own_entry(name: str, values: Mapping[int, float], is_bold: bool) -> Entry:
    if not values:
        return Entry(NOTHING)
    measure, summary = MEASURES[name], summarize(list(values.values()))
    spread = f" ± {measure.format(summary.spread)}" if summary.n_splits > 1 else ""
    return Entry(measure.format(summary.mean) + spread, is_bold)


def _paper_entries(
    name: str, values: Mapping[int, float], paper: float | None
) -> tuple[Entry, ...]:
    if paper is None:
        return entries(NOTHING, NOTHING)
    measure = MEASURES[name]
    theirs = f"{paper:g}"
    if not values:
        return entries(theirs, NOTHING)
    mean = summarize(list(values.values())).mean
    if measure.style == "g":
        return entries(theirs, f"{mean / paper:.2g} times")
    return entries(theirs, f"{mean - paper:+.{measure.digits}f}")


def dataset_heading(choice: Choice) -> str:
    """The name of a data set, with its stand-in."""
    if choice.name == choice.asked:
        return choice.asked
    if not choice.name:
        return f"{choice.asked}: not available"
    return f"{choice.asked}*: {choice.name} stands in"


def dataset_notes(choice: Choice) -> tuple[str, ...]:
    """What a reader has to know about a data set."""
    notes = []
    if choice.name != choice.asked:
        notes.append(f"* {choice.reason}" if choice.name else choice.reason)
    if choice.name and choice.name != choice.asked:
        notes.append(
            f"The paper's numbers are for {choice.asked}; differences say nothing about the method."
        )
    if choice.name and STUDIES[choice.name].note:
        notes.append(STUDIES[choice.name].note)
    return tuple(notes)


# Our parameter -> the paper's letter.
LETTERS = {
    "decision": ("decision", ""),
    "sparsity": ("T0", "sparsity"),
    "discrimination": ("lambda", "lambda"),
    "separation": ("mu", "mu"),
    "interpretability": ("tau", "tau"),
}


def show_settings(found: Found) -> Pieces:
    """Sizes, and the settings that cross-validation chose, beside the paper's."""
    header = ["data set", "samples", "kernels", "classes"]
    for ours, (letter, _) in LETTERS.items():
        header += [f"{letter} ({ours})" if letter != ours else ours, "paper"]
    header += ["Acc in cross-validation", "Acc on the test part", "splits"]
    lines, notes = [], []
    (method,) = found.plan.size.methods
    for choice in found.plan.choices:
        rows = found.pick(choice.name, method)
        paper = published_values("table-1", choice.asked)
        notes += [note for note in dataset_notes(choice) if note not in notes]
        line = [dataset_heading(choice)]
        if rows:
            first = rows[0]
            line += [
                str(first["n_train"] + first["n_test"]),
                str(first["n_kernels"]),
                str(len(first["per_class"])),
            ]
        else:
            line += [NOTHING] * 3
        for ours, (_, theirs) in LETTERS.items():
            chosen = ", ".join(f"{row['tuned'][ours]}".removesuffix(".0") for row in rows)
            line += [chosen or NOTHING, f"{paper[theirs]:g}" if theirs in paper else NOTHING]
        for name in ("tuned_accuracy", "accuracy"):
            line.append(_mean(rows, name))
        lines.append(entries(*line, str(len(rows))))
    return (Table("", tuple(header), tuple(lines), tuple(notes)),)


def _mean(rows: Sequence[Row], name: str) -> str:
    if not rows:
        return NOTHING
    summary = summarize([row[name] for row in rows])
    return f"{summary.mean:.2f}" + (f" ± {summary.spread:.2f}" if summary.n_splits > 1 else "")


def show_per_class(found: Found) -> Pieces:
    """The number of prototypes of every class, over the splits."""
    tables = []
    (method,) = found.plan.size.methods
    for choice in found.plan.choices:
        rows = found.pick(choice.name, method)
        paper = published_values("table-4", choice.asked)
        counts: dict[str, list[int]] = {}
        for row in rows:
            for label, count in row["per_class"].items():
                counts.setdefault(label, []).append(count)
            counts.setdefault("all", []).append(row["prototypes"])
        paper |= {"all": sum(paper.values())} if paper else {}
        names = [*(name for name in paper if name != "all"), *counts]
        lines = []
        for name in dict.fromkeys(name for name in names if name != "all"):
            lines.append(_count_line(name, counts, paper))
        lines.append(_count_line("all", counts, paper))
        header = ("class", "first split", "mean ± spread", "least to most", "paper")
        tables.append(Table(dataset_heading(choice), header, tuple(lines), dataset_notes(choice)))
    return tuple(tables)


def _count_line(
    name: str, counts: Mapping[str, list[int]], paper: Mapping[str, int]
) -> tuple[Entry, ...]:
    theirs = str(paper[name]) if name in paper else NOTHING
    if name not in counts:
        return entries(name, NOTHING, NOTHING, NOTHING, theirs)
    values = counts[name]
    summary = summarize(values)
    own = f"{summary.mean:.1f} ± {summary.spread:.1f}"
    return entries(name, str(values[0]), own, f"{min(values)} to {max(values)}", theirs)


def show_growth(found: Found) -> Pieces:
    """Methods against data sets of growing size, with the exponent of the growth."""
    (name,) = found.plan.item.measures
    datasets = [choice.name for choice in found.plan.choices if choice.name]
    lines, sizes = [], dict[str, int]()
    for method in found.plan.size.methods:
        rows = {dataset: found.pick(dataset, method) for dataset in datasets}
        line = [Entry(method)]
        points = []
        for dataset in datasets:
            line.append(_own_entry(name, values_by_split(rows[dataset], name), False))
            for row in rows[dataset]:
                sizes[dataset] = row["n_train"]
                points.append((row["n_train"], row[name]))
        counts, seconds = np.log(np.array(points).reshape(-1, 2)).T
        grows = np.unique(counts).size > 1
        line.append(Entry(f"{np.polyfit(counts, seconds, 1)[0]:.1f}" if grows else NOTHING))
        lines.append(tuple(line))
    header = ("method", *(f"{sizes.get(name, 0)} samples" for name in datasets), "exponent")
    return (Table("", header, tuple(lines)),)


def show_rounds(found: Found) -> Pieces:
    """For every data set, measures and the objective after few and after all rounds."""
    names = found.plan.item.measures
    ((setting, values),) = found.plan.size.grid
    header = ("method", "at most", "rounds", *(MEASURES[n].title for n in names), "objective")
    tables = []
    for choice in found.plan.choices:
        lines = []
        for method in found.plan.size.methods:
            for value in values:
                rows = found.pick(choice.name, method, **{setting: value})
                falls = [row["objective"][-1] / row["objective"][0] for row in rows]
                lengths = [len(row["objective"]) for row in rows]
                line = [Entry(method), Entry(str(value)), _plain_mean(lengths, 1)]
                line += [_own_entry(n, values_by_split(rows, n), False) for n in names]
                lines.append((*line, _plain_mean(falls, 3), Entry(str(len(rows)))))
        heading = dataset_heading(choice)
        tables.append(Table(heading, (*header, "splits"), tuple(lines), dataset_notes(choice)))
    return tuple(tables)


def _plain_mean(values: Sequence[float], digits: int) -> Entry:
    return Entry(f"{np.mean(values):.{digits}f}" if values else NOTHING)


def unit_norm(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of unit length, as the paper's are."""
    size = float(np.sqrt(sum(value**2 for value in weights.values())))
    return {name: value / size for name, value in weights.items()} if size else dict(weights)


View = Callable[[Found], Pieces]
TABLES: dict[str, View] = {
    "measures": show_measures,
    "settings": show_settings,
    "per_class": show_per_class,
    "growth": show_growth,
    "rounds": show_rounds,
}
