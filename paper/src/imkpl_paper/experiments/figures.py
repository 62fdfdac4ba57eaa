"""Figures of rows."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from imkpl_paper.datasets import make_paper_series
from imkpl_paper.experiments.compare import summarize
from imkpl_paper.experiments.maps import EmbeddingDisplay
from imkpl_paper.experiments.protocol import Row
from imkpl_paper.experiments.published import published_values
from imkpl_paper.experiments.studies import STUDIES
from imkpl_paper.experiments.views import (
    LETTERS,
    NOTHING,
    TABLES,
    Found,
    Picture,
    Pieces,
    Table,
    View,
    dataset_heading,
    dataset_notes,
    entries,
    unit_norm,
    values_by_split,
)

# Distinct without colour as well: every line has a marker of its own.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
MARKERS = "osD^vP*X"


def as_svg(figure: Figure, name: str) -> bytes:
    """The drawing as SVG, the same bytes every time."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def as_png(figure: Figure) -> bytes:
    """The drawing as a small PNG, for hundreds of lines; the same bytes every time."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=55, metadata={"Software": None})
    return buffer.getvalue()


def show_synthetic(found: Found) -> Pieces:
    """The four classes, the weights of the nine channels by method, and the paper's weights."""
    (dataset,) = found.plan.size.datasets
    paper = published_values("figure-synthetic", "synthetic")
    columns = [(method, found.pick(dataset, method)) for method in found.plan.size.methods]
    lines = []
    for k, channel in enumerate(f"f{number}" for number in range(1, 10)):
        line = [channel]
        for _, rows in columns:
            line.append(_format_weight(rows, f"channel {k}"))
        weight = paper["weights"].get(channel, 0)
        lines.append(entries(*line, f"{weight:g}"))
    accuracy = [_format_accuracy(rows) for _, rows in columns]
    lines.append(entries("Acc (%)", *accuracy, f"{paper['accuracy']:g}"))
    header = ("channel", *(title for title, _ in columns), "paper")
    notes = (
        "Weights of unit length, as the paper's; in brackets the share of draws in which the "
        "channel was kept.",
        STUDIES["synthetic"].note,
    )
    table = Table("Weights", header, tuple(lines), notes)
    return (_draw_curves(), table)


def _format_weight(rows: list[Row], name: str) -> str:
    if not rows:
        return NOTHING
    weights = [unit_norm(row["weights"]).get(name, 0.0) for row in rows]
    return f"{np.mean(weights):.2f} ({np.count_nonzero(weights)}/{len(weights)})"


def _format_accuracy(rows: list[Row]) -> str:
    return f"{np.mean([row['accuracy'] for row in rows]):.1f}" if rows else NOTHING


@cache
def _draw_curves() -> Picture:
    X, y = make_paper_series(5, random_state=0)
    figure = Figure(figsize=(9, 9), layout="constrained")
    panels = figure.subplots(X.shape[1], 4, sharex=True, sharey=True)
    for k in range(X.shape[1]):
        for label in range(4):
            for one in X[y == label]:
                panels[k, label].plot(one[k], color=COLORS[label], linewidth=0.8, alpha=0.7)
            panels[k, label].set_yticks([])
        panels[k, 0].set_ylabel(f"f{k + 1}")
    for label in range(4):
        panels[0, label].set_title(f"class {label + 1}")
    caption = "Five samples of each class, by channel."
    return Picture("synthetic", caption, as_png(figure), "png")


def show_embedding(found: Found) -> Pieces:
    """Maps before and after the kernels are weighted."""
    pictures = []
    (method,) = found.plan.size.methods
    for choice in found.plan.choices:
        rows = found.pick(choice.name, method)
        if not rows:
            continue
        svg = _draw_maps(rows[0]["maps"], choice.name)
        notes = " ".join((f"{dataset_heading(choice)}.", *dataset_notes(choice)))
        pictures.append(Picture(f"embedding-{choice.name}", notes, svg))
    return tuple(pictures)


def _draw_maps(maps: Row, name: str) -> bytes:
    arrays: dict[str, Any] = {
        key: None if value is None else np.asarray(value)
        for key, value in maps.items()
        if key != "n_kernels"
    }
    counts = maps["n_kernels"]
    display = EmbeddingDisplay(**arrays, n_kernels=tuple(counts) if counts else None)
    figure = Figure(figsize=(12, 5), layout="constrained")
    display.plot(ax=figure.subplots(1, 2))
    return as_svg(figure, f"embedding-{name}")


def show_sensitivity(found: Found) -> Pieces:
    """Acc and IP against every parameter, the others fixed."""
    pieces: list[Table | Picture] = []
    (method,) = found.plan.size.methods
    for choice in found.plan.choices:
        lines, n_splits = [], 0
        curves: dict[str, list[tuple[float, float, float]]] = {}
        for name, values in found.plan.size.grid:
            texts = []
            for value in values:
                rows = found.pick(choice.name, method, **{name: value})
                if not rows:
                    continue
                n_splits = len(rows)
                accuracy, ip = (
                    summarize(list(values_by_split(rows, measure).values())).mean
                    for measure in ("accuracy", "ip")
                )
                texts.append(f"{value:g}: {accuracy:.1f} / {ip:.1f}")
                curves.setdefault(name, []).append((float(value or 0), accuracy, ip))
            lines.append(entries(LETTERS[name], name, ", ".join(texts) or NOTHING, str(n_splits)))
        if curves:
            svg = _draw_sensitivity(curves, choice.name)
            name = f"{found.plan.item.name.removeprefix('figure-')}-{choice.name}"
            pieces.append(Picture(name, dataset_heading(choice), svg))
        header = ("paper's letter", "parameter", "value: Acc / IP (%)", "splits")
        pieces.append(Table(dataset_heading(choice), header, tuple(lines), dataset_notes(choice)))
    return tuple(pieces)


def _draw_sensitivity(curves: dict[str, list[tuple[float, float, float]]], name: str) -> bytes:
    figure = Figure(figsize=(3.2 * len(curves), 3.2), layout="constrained")
    panels = figure.subplots(1, len(curves), squeeze=False, sharey=True)[0]
    for panel, (parameter, points) in zip(panels, curves.items(), strict=True):
        x, accuracy, ip = np.array(points).T
        panel.plot(x, accuracy, marker="o", color=COLORS[0], label="Acc")
        panel.plot(x, ip, marker="s", color=COLORS[1], linestyle="--", label="IP")
        # Values that differ by factors, zero among them.
        panel.set_xscale("symlog", linthresh=max(float(x[x > 0].min()), 1e-9))
        panel.set_xlabel(f"{LETTERS[parameter]} ({parameter})")
    panels[0].set_ylabel("%")
    panels[0].legend()
    return as_svg(figure, f"sensitivity-{name}")


def show_convergence(found: Found) -> Pieces:
    """By how much the objective fell in every round, for every data set and method."""
    limit = published_values("figure-convergence", "all")["rounds_at_most"]
    curves, lines, notes = {}, [], []
    for choice in found.plan.choices:
        notes += [note for note in dataset_notes(choice) if note not in notes]
        for method in found.plan.size.methods:
            rows = found.pick(choice.name, method, tol=0.0)
            if not rows:
                continue
            objectives = [np.array(row["objective"]) for row in rows]
            first = objectives[0]
            curves[f"{choice.name}, {method}"] = np.abs(np.diff(first)) / abs(first[0])
            rounds = f"{np.mean([one.size for one in objectives]):.1f}"
            needed = f"{np.mean([rounds_to_settle(one) for one in objectives]):.1f}"
            falls = f"{first[0]:.4g} to {first[-1]:.4g}"
            heading = dataset_heading(choice)
            lines.append(entries(heading, method, needed, rounds, f"< {limit}", falls))
    header = (
        "data set", "method", "rounds to a change below 0.001", "to the end", "paper", "objective"
    )  # fmt: skip
    table = Table("Rounds", header, tuple(lines), tuple(notes))
    if not curves:
        return (table,)
    caption = "Change of the objective in a round, relative to its first value; first split."
    return (Picture("convergence", caption, _draw_convergence(curves)), table)


def rounds_to_settle(objective: Any, tol: float = 1e-3) -> int:
    """The first round that lowers the objective by less than a part of it.

    Examples
    --------
    >>> rounds_to_settle([10.0, 8.0, 7.999, 7.9])
    3
    """
    values = np.asarray(objective, dtype=np.float64)
    falls = values[:-1] - values[1:]
    settled = np.flatnonzero(falls < tol * np.abs(values[:-1]))
    return int(settled[0]) + 2 if settled.size else int(values.size)


def _draw_convergence(curves: dict[str, Any]) -> bytes:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    panel = figure.subplots()
    for k, (name, changes) in enumerate(curves.items()):
        x = np.arange(2, changes.size + 2)
        # A round that changes nothing has no place on a logarithmic scale.
        is_shown = changes > 0
        # Dollar signs in a name do not start a formula.
        label = name.replace("$", r"\$")
        color, marker = COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]
        panel.plot(x[is_shown], changes[is_shown], color=color, marker=marker, label=label)
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("round")
    panel.set_ylabel("relative change of the objective")
    panel.legend()
    return as_svg(figure, "convergence")


VIEWS: dict[str, View] = {
    **TABLES,
    "synthetic": show_synthetic,
    "embedding": show_embedding,
    "sensitivity": show_sensitivity,
    "convergence": show_convergence,
}
