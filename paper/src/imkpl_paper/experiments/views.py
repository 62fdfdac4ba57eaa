"""Tables of rows: what was measured, beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imkpl_paper.experiments.codes import LENGTHS
from imkpl_paper.experiments.compare import CORRECTIONS, find_best, summarize
from imkpl_paper.experiments.plan import Plan
from imkpl_paper.experiments.protocol import Row
from imkpl_paper.experiments.published import (
    published_measure,
    published_settings,
    published_values,
    read_published,
)
from imkpl_paper.experiments.studies import STUDIES, Choice

Pieces = tuple["Table | Picture", ...]
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Entry:
    """The text in one place of a table, not escaped."""

    text: str
    is_bold: bool = False
    is_italic: bool = False


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
    return tuple(
        _one_dataset(found, choice)
        for choice in found.plan.choices
        # Data that are not there are told; data of which nothing was measured yet are not.
        if not choice.name or any(found.pick(choice.name, m) for m in found.plan.size.methods)
    )


def _one_dataset(found: Found, choice: Choice) -> Table:
    plan, names = found.plan, found.plan.item.measures
    rows = {m: found.pick(choice.name, m) for m in plan.size.methods} if choice.name else {}
    is_printed = bool(read_published()[plan.item.name]["label"])
    published = {
        m: {n: published_measure(choice.asked, printed_name(m), n) for n in names if is_printed}
        for m in plan.size.methods
    }
    values = {n: {m: values_by_split(r, n) for m, r in rows.items()} for n in names}
    bold, tied = (
        {
            n: find_best(
                values[n], larger_is_better=MEASURES[n].larger_is_better, correction=correction
            )
            for n in names
            if not MEASURES[n].is_control
        }
        for correction in CORRECTIONS
    )
    has_paper = {n: any(theirs.get(n) is not None for theirs in published.values()) for n in names}
    header = ["method"]
    for name in names:
        header += [MEASURES[name].title, *(("paper",) if has_paper[name] else ())]
    lines = []
    for method in plan.size.methods:
        line = [Entry(method)]
        for name in names:
            own = values[name].get(method, {})
            is_bold = method in bold.get(name, ())
            is_tied = method in tied.get(name, ()) and not is_bold
            line.append(_own_entry(name, own, is_bold, is_tied))
            if has_paper[name]:
                theirs = published[method][name]
                line.append(Entry(NOTHING if theirs is None else f"{theirs:g}"))
        n_splits = len(rows.get(method, ()))
        if n_splits or (method == printed_name(method) and any(published[method].values())):
            lines.append((*line, Entry(str(n_splits))))
    return Table(dataset_heading(choice), (*header, "splits"), tuple(lines), dataset_notes(choice))


def printed_name(method: str) -> str:
    """The name that a method has in the paper's tables."""
    return method.partition(",")[0]


def _own_entry(
    name: str, values: Mapping[int, float], is_bold: bool = False, is_tied: bool = False
) -> Entry:
    if not values:
        return Entry(NOTHING)
    measure, summary = MEASURES[name], summarize(list(values.values()))
    has_spread = summary.n_splits > 1 and not measure.is_control
    spread = f" ± {measure.format(summary.spread)}" if has_spread else ""
    return Entry(measure.format(summary.mean) + spread, is_bold, is_tied)


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
    "sparsity": "T0",
    "discrimination": "lambda",
    "separation": "mu",
    "interpretability": "tau",
}
SIZES = ("samples", "kernels", "classes")


def show_settings(found: Found) -> Pieces:
    """Sizes beside the paper's, its settings, and the C that folds chose."""
    header = ["data set", *(name for size in SIZES for name in (size, "paper"))]
    header += [*LETTERS.values(), "C", "Acc in cross-validation", "Acc on the test part", "splits"]
    lines, notes = [], []
    (method,) = found.plan.size.methods
    for choice in found.plan.choices:
        rows = found.pick(choice.name, method)
        paper = published_values("table-1", choice.asked)
        notes += [note for note in dataset_notes(choice) if note not in notes]
        line = [dataset_heading(choice)]
        ours: list[Any] = [NOTHING] * 3
        if rows:
            first = rows[0]
            ours = [first["n_train"] + first["n_test"], first["n_kernels"], len(first["per_class"])]
        for own, theirs in zip(ours, ("samples", "features", "classes"), strict=True):
            line += [str(own), str(paper.get(theirs, NOTHING))]
        chosen = published_settings(choice.asked)
        line += [f"{chosen[name]:g}" if name in chosen else NOTHING for name in LETTERS]
        line.append(", ".join(f"{row['tuned']['separation']:g}" for row in rows) or NOTHING)
        line += [_mean(rows, name) for name in ("tuned_accuracy", "accuracy")]
        lines.append(entries(*line, str(len(rows))))
    return (Table("", tuple(header), tuple(lines), tuple(notes)),)


def _mean(rows: Sequence[Row], name: str) -> str:
    if not rows:
        return NOTHING
    summary = summarize([row[name] for row in rows])
    return f"{summary.mean:.2f}" + (f" ± {summary.spread:.2f}" if summary.n_splits > 1 else "")


def show_per_class(found: Found) -> Pieces:
    """The number of prototypes of every class by method, over the splits."""
    tables = []
    methods = found.plan.size.methods
    for choice in found.plan.choices:
        paper = published_values("table-4", choice.asked)
        paper |= {"all": sum(paper.values())} if paper else {}
        counts = {method: _count_prototypes(found.pick(choice.name, method)) for method in methods}
        names = [*paper, *(name for found_ in counts.values() for name in found_)]
        names = [*(name for name in dict.fromkeys(names) if name != "all"), "all"]
        lines = []
        for name in names:
            line = [name, str(paper.get(name, NOTHING))]
            for method in methods:
                values = counts[method].get(name)
                shown = summarize(values) if values else None
                line.append(f"{shown.mean:.1f} ± {shown.spread:.1f}" if shown else NOTHING)
            lines.append(entries(*line))
        header = ("class", "paper", *methods)
        tables.append(Table(dataset_heading(choice), header, tuple(lines), dataset_notes(choice)))
    return tuple(tables)


def _count_prototypes(rows: Sequence[Row]) -> dict[str, list[int]]:
    """By class, and of all."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        for label, count in (*row["per_class"].items(), ("all", row["prototypes"])):
            counts.setdefault(label, []).append(count)
    return counts


def show_overview(found: Found) -> Pieces:
    """What the paper has beside our methods, a line for every data set and measure."""
    methods = found.plan.size.methods
    lines = []
    for choice in found.plan.choices:
        rows = {m: found.pick(choice.name, m) if choice.name else [] for m in methods}
        if not any(rows.values()):
            continue
        n_splits = ", ".join(dict.fromkeys(str(len(found_)) for found_ in rows.values()))
        for i, name in enumerate(found.plan.item.measures):
            theirs = published_measure(choice.asked, "IMKPL", name)
            line = [
                Entry("" if i else dataset_heading(choice), is_bold=True),
                Entry(MEASURES[name].title),
                Entry(NOTHING if theirs is None else f"{theirs:g}"),
            ]
            line += [_own_entry(name, values_by_split(rows[m], name)) for m in methods]
            lines.append((*line, Entry("" if i else n_splits)))
    header = ("data set", "", "paper", *(m.removeprefix("IMKPL, ") for m in methods), "splits")
    return (Table("", header, tuple(lines)),)


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
            line.append(_own_entry(name, values_by_split(rows[dataset], name)))
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
                beside = dict(found.plan.size.find_beside(choice.name, method))
                rows = found.pick(choice.name, method, **{setting: value}, **beside)
                falls = [row["objective"][-1] / row["objective"][0] for row in rows]
                lengths = [len(row["objective"]) for row in rows]
                line = [Entry(method), Entry(str(value)), _plain_mean(lengths, 1)]
                line += [_own_entry(n, values_by_split(rows, n)) for n in names]
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
    "overview": show_overview,
    "measures": show_measures,
    "settings": show_settings,
    "per_class": show_per_class,
    "growth": show_growth,
    "rounds": show_rounds,
}
