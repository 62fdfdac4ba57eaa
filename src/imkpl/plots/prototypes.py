"""What the prototypes look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from imkpl._typing import FloatArray, IntArray
from imkpl.explanations.show import show_cell
from imkpl.plots._style import (
    Display,
    check_model,
    class_color,
    literal,
    shorten,
    shorten_all,
    sort_prototypes,
)
from imkpl.tables import Column, Table

# Default numbers of prototypes per class, and of features or channels.
MOST_PROTOTYPES = {"vectors": 10, "images": 10, "series": 2}
MOST_FEATURES = {"vectors": 20, "series": 3}
# Maximum number of cells with values, of rows with names, and of class names along an axis.
MOST_WRITTEN_CELLS, MOST_NAMED_ROWS, MOST_NAMES = 300, 60, 40
# Number of standard deviations at which the colour scale of a heat map ends.
LARGEST_DEVIATION = 2.5
# Longest text in a cell.
LONGEST_CELL = 12
# A name left of a panel.
SIDEWAYS: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "fontsize": "small"}


@dataclass(frozen=True, eq=False)
class MixedSample:
    """One training sample in a prototype."""

    sample: Any  # its name
    share: float  # shares of a prototype sum to one
    values: FloatArray | None = None  # (n_channels, length), the drawn channels of a series


@dataclass(eq=False)
class PrototypesDisplay(Display):
    """The prototypes by class: vectors as a heat map, series as series, images as images.

    A prototype is a mix of training samples. Vectors and images are shown as the weighted mean.
    So are tables, with the most frequent category and its share in columns of categories.
    Series are drawn one by one, with a width that grows with their share, because the mean of
    series that are out of step resembles none of them.

    Parameters
    ----------
    kind : {"vectors", "series", "images"}
        Kind of samples.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_shown,)
        Indices of the prototypes shown.
    owners : int array of shape (n_shown,)
        Indices of their classes, in ascending order.
    samples : list of lists of MixedSample
        The training samples in each, with the values of the drawn channels for "series".
    n_of_class : int array of shape (n_classes,)
        Number of prototypes of each class in the model.
    names : list of str
        Names of the drawn features or channels.
    values : array of shape (n_shown, n_features) or (n_shown, height, width), optional
        Weighted means, for "vectors" and "images".
    standardized : array of shape (n_shown, n_features), optional
        Weighted means in standard deviations above the mean of the data, for "vectors"; NaN in
        columns of categories.
    texts : list of lists of str, optional
        What is written into the cells of a heat map, for "vectors".

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        The axes, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import PrototypesDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> display = PrototypesDisplay.from_estimator(model, X)
    >>> display.kind, display.values.shape == (len(display.prototypes), len(display.names))
    ('vectors', True)
    """

    kind: str
    classes: Any
    prototypes: IntArray
    owners: IntArray
    samples: list[list[MixedSample]]
    n_of_class: IntArray
    names: list[str]
    values: FloatArray | None = None
    standardized: FloatArray | None = None
    texts: list[list[str]] | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        image_shape: tuple[int, ...] | None = None,
        max_prototypes: int | None = None,
        max_features: int | None = None,
    ) -> Self:
        """Compute the prototypes of a model without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features), optional
            For images, the training samples with all pixels. For vectors, the samples that values
            are standardized by; by default those in prototypes. Not needed for series.
        image_shape : tuple of int, optional
            (height, width) of images, or (height, width, 3) for colours.
        max_prototypes : int, optional
            Maximum number per class, most used by the codes of training samples first; by default
            10, or 2 for series.
        max_features : int, optional
            Maximum number of features or channels, largest weights first; by default 20, or 3 for
            series.

        Returns
        -------
        PrototypesDisplay
            The display, not drawn yet.
        """
        check_model(estimator, cls.__name__)
        kind = _find_kind(estimator, image_shape)
        most = MOST_PROTOTYPES[kind] if max_prototypes is None else max_prototypes
        chosen, owners = sort_prototypes(estimator, most)
        counts = np.sum(estimator.prototype_classes_ == estimator.classes_[:, np.newaxis], axis=1)
        shares = estimator.predictor_.mixes[chosen].toarray()
        shares /= shares.sum(axis=1, keepdims=True)
        about = (kind, estimator.classes_, chosen, owners)
        if image_shape is not None:
            images = _mix_images(estimator, shares, X, image_shape)
            return cls(*about, _list_samples(estimator, shares), counts, [], images)
        most = MOST_FEATURES[kind] if max_features is None else max_features
        columns, names = _sort_columns(estimator, kind, most)
        if kind == "series":
            return cls(*about, _list_samples(estimator, shares, columns), counts, names)
        mixed = _mix_vectors(estimator, shares, columns, X)
        return cls(*about, _list_samples(estimator, shares), counts, names, *mixed)

    def _draw(self, ax: Any) -> None:
        draw = {"series": self._draw_series, "images": self._draw_images}
        draw.get(self.kind, self._draw_heat_map)(ax)

    def _draw_heat_map(self, ax: Any) -> None:
        colors, texts = np.asarray(self.standardized), self.texts or []
        n_rows, n_columns = colors.shape
        width, height = 3.4 + 0.62 * n_columns, 2.4 + 0.27 * n_rows
        size = min(max(width, 6.4), 15.0), min(max(height, 3.6), 14.0)
        (ax,) = self._take_panels(ax, size)
        limit = LARGEST_DEVIATION
        image = ax.imshow(colors, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_xticks(
            np.arange(n_columns),
            labels=[literal(name) for name in shorten_all(self.names)],
            **{"rotation": 45, "ha": "right", "rotation_mode": "anchor"},
        )
        self._name_rows(ax)
        for border in np.flatnonzero(np.diff(self.owners)):
            ax.axhline(border + 0.5, color="black", linewidth=1.2)
        if colors.size <= MOST_WRITTEN_CELLS:
            for (row, column), color in np.ndenumerate(colors):
                text = literal(shorten(texts[row][column], LONGEST_CELL))
                style = {"ha": "center", "va": "center", "fontsize": "x-small"}
                ink = "white" if abs(color) > 0.6 * limit else "black"
                ax.text(column, row, text, color=ink, **style)
        ax.tick_params(length=0)
        ax.set_title(f"Prototypes: weighted means of their samples{self._count_shown()}")
        bar = self.figure_.colorbar(image, ax=ax, fraction=0.04, pad=0.02, extend="both")
        bar.set_label("Standard deviations\nabove the mean")

    def _name_rows(self, ax: Any) -> None:
        """Name every row, or every class if there are too many rows."""
        owners = np.asarray(self.owners)
        if owners.size > MOST_NAMED_ROWS:
            # Class names at the centres of their groups, not all of them if there are many.
            present = np.unique(owners)
            step = -(-present.size // MOST_NAMES)
            centers = [float(np.flatnonzero(owners == label).mean()) for label in present]
            names = shorten_all([self.classes[label] for label in present], 16)[::step]
            ax.set_yticks(centers[::step], labels=[literal(name) for name in names])
            if present.size > 15:
                ax.tick_params(axis="y", labelsize="small")
            return
        names = shorten_all([self.classes[label] for label in owners], 18)
        labels = [
            f"class {literal(name)}, #{prototype} ({len(samples)} sample{'s' * (len(samples) > 1)})"
            for name, prototype, samples in zip(names, self.prototypes, self.samples, strict=True)
        ]
        ax.set_yticks(np.arange(owners.size), labels=labels)

    def _count_shown(self) -> str:
        whole, shown = int(np.sum(self.n_of_class)), len(self.prototypes)
        return "" if shown == whole else f"\n{shown} of {whole} prototypes, most used first"

    def _draw_images(self, ax: Any) -> None:
        """Draw one row per class."""
        images, owners = np.asarray(self.values), np.asarray(self.owners)
        present, rows = np.unique(owners, return_inverse=True)
        columns = np.concatenate([np.arange(count) for count in np.bincount(rows)])
        shape = (present.size, int(columns.max()) + 1)
        places = [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
        size = (min(1.6 + 0.85 * max(shape[1], 4), 16.0), min(0.7 + 0.95 * shape[0], 18.0))
        panels = self._take_panels(ax, size, shape, places)
        names = shorten_all([self.classes[label] for label in present], 14)
        lowest, highest = float(images.min()), float(images.max())
        is_color = images.ndim == 4
        for panel, image, prototype, (row, column) in zip(
            panels, images, self.prototypes, places, strict=True
        ):
            # matplotlib expects colours between 0 and 1.
            shown = (image - lowest) / max(highest - lowest, 1e-300) if is_color else image
            panel.imshow(shown, cmap="gray", vmin=lowest, vmax=highest)
            panel.set(xticks=[], yticks=[])
            panel.set_title(f"{prototype}", fontsize="x-small", pad=2)
            if column == 0:
                n_shown = int(np.count_nonzero(rows == row))
                whole = int(self.n_of_class[present[row]])
                count = "" if n_shown == whole else f"\n{n_shown} of {whole}"
                panel.set_ylabel(literal(names[row]) + count, **SIDEWAYS)
        if ax is None:
            self.figure_.suptitle("Prototypes by class and number: weighted means of their samples")

    def _draw_series(self, ax: Any) -> None:
        """Draw one row per prototype and one column per channel."""
        shape = (len(self.prototypes), len(self.names))
        size = (min(1.8 + 2.7 * shape[1], 15.0), min(1.0 + 1.15 * shape[0], 20.0))
        panels = self._take_panels(ax, size, shape)
        grid = self.axes_.reshape(shape)
        names = shorten_all([self.classes[label] for label in self.owners], 18)
        for row, samples in enumerate(self.samples):
            color = class_color(int(self.owners[row]))
            largest = max(sample.share for sample in samples)
            for column, panel in enumerate(grid[row]):
                # The largest share is drawn last, on top.
                for sample in reversed(samples):
                    part = sample.share / largest
                    style = {"linewidth": 0.5 + 1.5 * part, "alpha": 0.25 + 0.75 * part}
                    panel.plot(np.asarray(sample.values)[column], color=color, **style)
                panel.tick_params(labelsize="small", labelbottom=row == shape[0] - 1)
                panel.locator_params(axis="x", integer=True)
                panel.spines[["top", "right"]].set_visible(False)
            whose = f"class {literal(names[row])}\nprototype {self.prototypes[row]}"
            grid[row, 0].set_ylabel(f"{whose}\n{len(samples)} series", **SIDEWAYS)
        limits = np.array([panel.get_xlim() for panel in panels])
        for column, name in enumerate(self.names):
            grid[0, column].set_title(literal(shorten(name)), fontsize="medium")
            grid[-1, column].set_xlabel("Time step")
            heights = np.array([panel.get_ylim() for panel in grid[:, column]])
            for panel in grid[:, column]:
                panel.set_xlim(limits[:, 0].min(), limits[:, 1].max())
                panel.set_ylim(heights[:, 0].min(), heights[:, 1].max())
        if ax is None:
            self.figure_.suptitle(
                f"Prototypes: the series that they are made of{self._count_shown()}"
            )


def _find_kind(estimator: Any, image_shape: Any) -> str:
    if image_shape is not None:
        return "images"
    word = estimator.predictor_.kernels.input_kind
    if word in ("vectors", "columns", "tables", "series"):
        return "series" if word == "series" else "vectors"
    raise TypeError(
        f"The kernels of this model read {word}, neither tables nor series, expected one of these "
        "to draw prototypes. Pass image_shape and the training images if samples are images; the "
        "samples behind each prototype are in prototypes_."
    )


def _sort_columns(estimator: Any, kind: str, most: int) -> tuple[IntArray, list[str]]:
    """The columns or channels that the model keeps and their names, largest weight first."""
    predictor = estimator.predictor_
    columns = predictor.kernels.input_columns
    if columns is None:
        columns = np.arange(predictor.kernels.samples.shape[1])
    weights = np.zeros(columns.size)
    if hasattr(estimator, "feature_importances_"):
        weights = estimator.feature_importances_[columns]
    order = np.argsort(-weights, kind="stable")[:most]
    known = getattr(estimator, "feature_names_in_", None)
    prefix = "channel " if kind == "series" else "x"
    return order, [f"{prefix}{c}" if known is None else str(known[c]) for c in columns[order]]


def _list_samples(
    estimator: Any, shares: FloatArray, channels: IntArray | None = None
) -> list[list[MixedSample]]:
    """The training samples in every prototype, largest share first."""
    predictor = estimator.predictor_
    names = estimator.support_ids_[np.searchsorted(estimator.support_, predictor.rows)]
    return [
        [
            MixedSample(
                names[i],
                float(own[i]),
                None if channels is None else predictor.kernels.sample(int(i))[channels],
            )
            for i in np.argsort(-own, kind="stable")
            if own[i] > 0
        ]
        for own in shares
    ]


def _mix_vectors(
    estimator: Any, shares: FloatArray, columns: IntArray, X: Any
) -> tuple[FloatArray, FloatArray, list[list[str]]]:
    """Weighted means of vectors or tables, as they are, standardized, and as text."""
    predictor = estimator.predictor_
    cells = reference = predictor.kernels.samples[:, columns]
    if X is not None:
        inputs = predictor.kernels.input_columns
        reference = estimator.read_new(X)[:, columns if inputs is None else inputs[columns]]
    is_table = isinstance(cells, Table)
    kinds = cells.columns if is_table else (Column(""),) * columns.size
    values, known = (
        np.asarray(one.values if is_table else one, dtype=np.float64) for one in (cells, reference)
    )
    is_category = np.array([kind.categories is not None for kind in kinds])
    # Missing cells have no part in a mean.
    seen = ~np.isnan(values)
    totals = shares @ seen
    means = shares @ np.where(seen, values, 0.0) / np.where(totals > 0, totals, 1.0)
    means = np.where(is_category | (totals == 0), np.nan, means)
    known = np.where(is_category, 0.0, known)
    center, spread = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    standardized = (means - center) / np.where(spread > 0, spread, 1.0)
    texts = [
        [
            _write_category(kind, values[:, column], row)
            if is_category[column]
            else _write_number(means[place, column])
            for column, kind in enumerate(kinds)
        ]
        for place, row in enumerate(shares)
    ]
    return means, standardized, texts


def _write_number(value: float) -> str:
    if np.isnan(value):
        return "missing"
    # No exponent where a number is short without it.
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def _write_category(column: Column, codes: FloatArray, shares: FloatArray) -> str:
    """The most frequent category in a mix, with its share unless that is all of it."""
    found, group = np.unique(codes, return_inverse=True)
    parts = np.bincount(group.ravel(), shares)
    best = int(np.argmax(parts))
    text = show_cell(column.show(found[best]))
    return text if parts[best] > 0.995 else f"{text} {parts[best]:.0%}"


def _mix_images(
    estimator: Any, shares: FloatArray, X: Any, image_shape: tuple[int, ...]
) -> FloatArray:
    """Weighted means of images."""
    n_train, predictor = estimator.prototypes_.shape[1], estimator.predictor_
    if len(image_shape) not in (2, 3) or (len(image_shape) == 3 and image_shape[2] not in (3, 4)):
        raise ValueError(
            f"image_shape={image_shape}, expected (height, width), or (height, width, 3) for "
            "colours. Pass the shape of one image."
        )
    if X is None:
        raise ValueError(
            "image_shape needs whole images, but the model keeps only the pixels that it reads. "
            "Pass the training samples: from_estimator(model, X_train, image_shape=...)."
        )
    pixels = check_array(X, dtype=np.float64)
    n_pixels = int(np.prod(image_shape))
    if pixels.shape != (n_train, n_pixels):
        raise ValueError(
            f"X has shape {pixels.shape}, expected ({n_train}, {n_pixels}): the {n_train} training "
            f"samples with the {n_pixels} pixels of image_shape={tuple(image_shape)}. Pass the "
            "training samples, and the shape of one image."
        )
    return np.asarray(shares @ pixels[predictor.rows]).reshape(-1, *image_shape)
