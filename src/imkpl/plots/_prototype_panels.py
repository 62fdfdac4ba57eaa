"""Drawing prototypes, one function per kind of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl.plots._canvas import take_panels
from imkpl.plots._palette import DIVERGING, class_color, literal, shorten, shorten_all

if TYPE_CHECKING:
    from imkpl.plots.prototypes import PrototypesDisplay

# Cells carry their values up to so many of them; rows their own names up to so many rows.
MOST_WRITTEN_CELLS = 300
MOST_NAMED_ROWS = 60
# Colours of a heat map end here, at so many standard deviations.
LARGEST_DEVIATION = 2.5


def draw_heat_map(display: PrototypesDisplay, ax: Any, who: str) -> tuple[Any, list[Any]]:
    """Prototypes of vectors, a row each, against the features."""
    values, colors = np.asarray(display.values), np.asarray(display.standardized)
    n_rows, n_columns = values.shape
    size = (
        float(np.clip(3.4 + 0.62 * n_columns, 6.4, 15.0)),
        float(np.clip(2.4 + 0.27 * n_rows, 3.6, 14.0)),
    )
    figure, (ax,) = take_panels(ax, (1, 1), size, who)
    limit = LARGEST_DEVIATION
    image = ax.imshow(colors, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    ax.set_xticks(
        np.arange(n_columns),
        labels=[literal(name) for name in shorten_all(display.names)],
        rotation=45,
        ha="right",
        rotation_mode="anchor",
    )
    _name_rows(ax, display)
    borders = np.flatnonzero(np.diff(display.owners))
    for border in borders:
        ax.axhline(border + 0.5, color="black", linewidth=1.2)
    if values.size <= MOST_WRITTEN_CELLS:
        for row, column in np.ndindex(values.shape):
            is_dark = abs(colors[row, column]) > 0.6 * limit
            ax.text(
                column,
                row,
                _say_number(float(values[row, column])),
                ha="center",
                va="center",
                fontsize="x-small",
                color="white" if is_dark else "black",
            )
    ax.tick_params(length=0)
    ax.set_title(f"Prototypes: weighted means of their samples{_say_left_out(display)}")
    bar = figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, extend="both")
    bar.set_label("Standard deviations above the mean")
    return figure, [ax]


def draw_images(display: PrototypesDisplay, ax: Any, who: str) -> tuple[Any, list[Any]]:
    """Prototypes of images, a row for every class."""
    images, owners = np.asarray(display.values), np.asarray(display.owners)
    present, rows = np.unique(owners, return_inverse=True)
    columns = np.concatenate([np.arange(count) for count in np.bincount(rows)])
    shape = (present.size, int(columns.max()) + 1)
    places = [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
    size = (min(1.6 + 0.85 * max(shape[1], 4), 16.0), min(0.7 + 0.95 * shape[0], 18.0))
    figure, panels = take_panels(ax, shape, size, who, places=places)
    names = shorten_all([display.classes[label] for label in present], 14)
    lowest, highest = float(images.min()), float(images.max())
    is_color = images.ndim == 4
    for panel, image, prototype, (row, column) in zip(
        panels, images, display.prototypes, places, strict=True
    ):
        # Colours are read as shares of full brightness.
        shown = (image - lowest) / max(highest - lowest, 1e-300) if is_color else image
        panel.imshow(shown, cmap="gray", vmin=lowest, vmax=highest)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_title(f"{prototype}", fontsize="x-small", pad=2)
        if column == 0:
            shown_of = int(np.count_nonzero(rows == row))
            whole = int(display.n_of_class[present[row]])
            count = "" if shown_of == whole else f"\n{shown_of} of {whole}"
            panel.set_ylabel(
                literal(names[row]) + count, rotation=0, ha="right", va="center", fontsize="small"
            )
    if ax is None:
        figure.suptitle("Prototypes by class and number: weighted means of their samples")
    return figure, panels


def draw_series(display: PrototypesDisplay, ax: Any, who: str) -> tuple[Any, list[Any]]:
    """Prototypes of series, a row each, with a column for every drawn channel."""
    shape = (len(display.prototypes), len(display.names))
    size = (min(1.8 + 2.7 * shape[1], 15.0), min(1.0 + 1.15 * shape[0], 20.0))
    figure, panels = take_panels(ax, shape, size, who)
    names = shorten_all([display.classes[label] for label in display.owners], 18)
    for row in range(shape[0]):
        samples, owner = display.samples[row], int(display.owners[row])
        largest = max(sample.share for sample in samples)
        for column in range(shape[1]):
            panel = panels[row * shape[1] + column]
            # The largest share is drawn last, on top.
            for sample in reversed(samples):
                values = np.asarray(sample.values)[column]
                part = sample.share / largest
                panel.plot(
                    values,
                    color=class_color(owner),
                    linewidth=0.5 + 1.5 * part,
                    alpha=0.25 + 0.75 * part,
                )
            if row == 0:
                panel.set_title(literal(shorten(display.names[column])), fontsize="medium")
            if row == shape[0] - 1:
                panel.set_xlabel("Time step")
            else:
                panel.tick_params(labelbottom=False)
            panel.tick_params(labelsize="small")
            panel.locator_params(axis="x", integer=True)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        count = f"{len(samples)} series" if len(samples) > 1 else "1 series"
        panels[row * shape[1]].set_ylabel(
            f"class {literal(names[row])}\nprototype {display.prototypes[row]}\n{count}",
            rotation=0,
            ha="right",
            va="center",
            fontsize="small",
        )
    _share_limits(panels, shape[1])
    if ax is None:
        figure.suptitle(f"Prototypes: the series that they are made of{_say_left_out(display)}")
    return figure, panels


def _say_number(value: float) -> str:
    """Three digits, and no exponent where a number is short without it."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def _share_limits(panels: list[Any], n_channels: int) -> None:
    """The same time in all panels, and the same values in all panels of a channel."""
    last = max(panel.get_xlim()[1] for panel in panels)
    first = min(panel.get_xlim()[0] for panel in panels)
    for channel in range(n_channels):
        column = panels[channel::n_channels]
        limits = np.array([panel.get_ylim() for panel in column])
        for panel in column:
            panel.set(xlim=(first, last), ylim=(limits[:, 0].min(), limits[:, 1].max()))


def _name_rows(ax: Any, display: PrototypesDisplay) -> None:
    """A name for every row, or for every class where there are too many rows."""
    owners = np.asarray(display.owners)
    names = shorten_all([display.classes[label] for label in owners], 18)
    if owners.size <= MOST_NAMED_ROWS:
        labels = [
            f"class {literal(name)}, #{prototype} ({len(samples)} sample{'s' * (len(samples) > 1)})"
            for name, prototype, samples in zip(
                names, display.prototypes, display.samples, strict=True
            )
        ]
        ax.set_yticks(np.arange(owners.size), labels=labels)
        return
    present, first = np.unique(owners, return_index=True)
    centers = [float(np.flatnonzero(owners == label).mean()) for label in present]
    ax.set_yticks(centers, labels=[literal(names[place]) for place in first])


def _say_left_out(display: PrototypesDisplay) -> str:
    whole, shown = int(np.sum(display.n_of_class)), len(display.prototypes)
    return "" if shown == whole else f"\n{shown} of {whole} prototypes, those that codes use most"
