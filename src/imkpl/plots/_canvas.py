"""Where to draw: a new figure, or the axes that the caller gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from imkpl.plots._palette import class_color, class_marker, literal, shorten_all

# So many classes fit beside a picture; the rest is counted.
MOST_IN_LEGEND = 45
LEGEND_ROWS = 15

Place = tuple[Any, Any]


def require_pyplot(who: str) -> Any:
    """The module pyplot, or a sentence about how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{who} draws with matplotlib, which is not installed. Install it with pip install "
            "'imkpl[plots]'; compute() of the display gives the numbers without it."
        ) from error
    return plt


def take_panels(
    ax: Any,
    shape: tuple[int, int],
    size: tuple[float, float],
    who: str,
    *,
    places: Sequence[Place] | None = None,
    **spacing: Any,
) -> tuple[Any, list[Any]]:
    """Axes to draw into, and the figure that they are in."""
    plt = require_pyplot(f"{who}.plot")
    if places is None:
        places = [(row, column) for row in range(shape[0]) for column in range(shape[1])]
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(*shape, **spacing)
        return figure, [figure.add_subplot(grid[place]) for place in places]
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) == len(places):
        return given[0].figure, given
    spec = given[0].get_subplotspec() if len(given) == 1 else None
    if spec is None:
        raise ValueError(
            f"{who} draws {len(places)} panels, but ax holds {len(given)} axes. Pass one axes of "
            f"plt.subplots(), which is divided, a sequence of {len(places)}, or none."
        )
    figure = given[0].figure
    given[0].set_axis_off()
    grid = spec.subgridspec(*shape, **spacing)
    return figure, [figure.add_subplot(grid[place]) for place in places]


def put_class_legend(ax: Any, classes: Any, stars: str | None) -> None:
    """Name the classes to the right of a picture, with their colours and markers."""
    from matplotlib.lines import Line2D

    names = [literal(name) for name in shorten_all(list(classes))][:MOST_IN_LEGEND]
    handles = [
        Line2D([], [], linestyle="none", marker=class_marker(i), color=class_color(i))
        for i in range(len(names))
    ]
    if len(classes) > len(names):
        names.append(f"{len(classes) - len(names)} more classes")
        handles.append(Line2D([], [], linestyle="none"))
    if stars is not None:
        names.append(stars)
        star = Line2D([], [], linestyle="none", marker="*", markersize=12, color="white")
        star.set_markeredgecolor("black")
        handles.append(star)
    ax.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
        ncols=-(-len(names) // LEGEND_ROWS),
        fontsize="small" if len(names) > LEGEND_ROWS else None,
        columnspacing=1.0,
        handletextpad=0.2,
    )


def draw_bars(
    ax: Any,
    names: Sequence[str],
    values: Any,
    texts: Sequence[str],
    colors: Sequence[str],
    *,
    n_slots: int = 3,
) -> Any:
    """Horizontal bars from the top down, named at the axis and with a text at their ends."""
    places = np.arange(len(names))
    bars = ax.barh(places, values, color=colors, height=0.7)
    ax.set_yticks(places, labels=[literal(name) for name in names])
    ax.set_ylim(max(len(names), n_slots) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.bar_label(bars, labels=[literal(text) for text in texts], padding=3, fontsize="small")
    # Room for the texts, on the left only where bars go there.
    ends = np.concatenate([[0.0], np.asarray(values, dtype=np.float64)])
    lowest, highest = float(ends.min()), float(ends.max())
    room = 0.2 * ((highest - lowest) or 1.0)
    ax.set_xlim(lowest - 1.5 * room if lowest < 0 else 0.0, highest + room)
    ax.locator_params(axis="x", nbins=6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return bars
