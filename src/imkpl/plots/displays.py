"""Displays of what a fit found, and what all displays share: colours, names, panels, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators import IMKPL, ISKPL
from imkpl.explanations.explanation import list_parts
from imkpl.explanations.show import show_cell
from imkpl.tables import Column, Table

# The colours of Okabe and Ito, distinct for every kind of colour vision. Yellow, pale on white,
# comes last.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# Eleven and eight are coprime, so 88 classes differ in colour or marker, the first eight in both.
# The star is reserved for prototypes.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Longest names, names of classes and texts in a cell, in characters.
LONGEST_NAME, LONGEST_CLASS, LONGEST_CELL = 28, 18, 12
# Default numbers of prototypes per class, and of features or channels.
MOST_PROTOTYPES = {"vectors": 10, "series": 2}
MOST_FEATURES = {"vectors": 20, "series": 3}
# Maximum number of cells with values.
MOST_WRITTEN_CELLS = 300
# Number of standard deviations at which the colour scale of a heat map ends.
LARGEST_DEVIATION = 2.5
# A name left of a panel.
SIDEWAYS: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "fontsize": "small"}


class Drawing(ABC):
    """What is drawn by `plot`."""

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional
            As many axes as there are panels; a new figure by default.

        Returns
        -------
        Display
            The display.
        """
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw into these axes, or into a new figure."""

    def _take_panels(
        self, ax: Any, size: tuple[float, float], n_rows: int = 1, n_columns: int = 1
    ) -> Any:
        """The axes to draw into, of shape (n_rows, n_columns): new ones or those given."""
        who = type(self).__name__
        plt = require_pyplot(f"{who}.plot")
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            ax = figure.subplots(n_rows, n_columns)
        panels = np.ravel(np.asarray(ax, dtype=object))
        if panels.size != n_rows * n_columns:
            raise ValueError(
                f"{who} draws {n_rows * n_columns} panels, but ax holds {panels.size} axes. Pass "
                f"{n_rows * n_columns}, or None for a new figure."
            )
        self.figure_, self.axes_ = panels[0].figure, panels
        return panels.reshape(n_rows, n_columns)


class Display(Drawing):
    """What all displays of a model offer: `compute` finds arrays, and `plot` draws them."""

    @classmethod
    @abstractmethod
    def compute(cls, estimator: Any, /, *data: Any, **options: Any) -> Self:
        """Collect what is drawn, without matplotlib."""

    @classmethod
    def from_estimator(cls, estimator: Any, *data: Any, ax: Any = None, **options: Any) -> Self:
        """Compute the display of a fitted model and draw it.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        *data
            Samples and what belongs to them, in the order of `compute`.
        ax : Axes or sequence of Axes, optional
            As many axes as there are panels; a new figure by default.
        **options
            Options of `compute`.

        Returns
        -------
        Display
            The display.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        return cls.compute(estimator, *data, **options).plot(ax=ax)


def class_style(place: int) -> dict[str, Any]:
    """The colour and the marker of a class."""
    return {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}


def shorten(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name on one line, with its middle cut out if it is long."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    n_last = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"


def name_in_plot(name: Any, longest: int = LONGEST_NAME) -> str:
    """A short name that matplotlib draws as it is: no formula, and not hidden from legends."""
    escaped = shorten(name, longest).replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def require_pyplot(who: str) -> Any:
    """The module pyplot, or a sentence about how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{who} draws with matplotlib, which is not installed. Install it with pip install "
            "'imkpl[plots]'; compute() of the display gives the numbers without it."
        ) from error
    return plt


def check_model(estimator: Any, who: str) -> None:
    """Raise unless this is a fitted estimator with prototypes."""
    if not isinstance(estimator, IMKPL | ISKPL):
        raise TypeError(
            f"{who} got a {type(estimator).__name__}, expected a fitted IMKPL or ISKPL. Pass the "
            "last step of a pipeline (pipeline[-1])."
        )
    check_is_fitted(
        estimator,
        msg="This %(name)s is not fitted yet, expected a fitted model to draw. Call fit first.",
    )


def sort_prototypes(estimator: Any, n_per_class: int | None = None) -> tuple[IntArray, IntArray]:
    """Prototypes and their classes, sorted by class and then by use in the codes."""
    owners = np.searchsorted(estimator.classes_, estimator.prototype_classes_)
    use = np.asarray(estimator.codes_.sum(axis=0)).ravel()
    order = np.lexsort((-use, owners))
    members = [order[owners[order] == label][:n_per_class] for label in np.unique(owners)]
    chosen = np.concatenate(members)
    return chosen, owners[chosen]


@dataclass(eq=False)
class PathDisplay(Drawing):
    """Accuracy on left-out samples against the number of features.

    Bars are one standard error. The dashed line is one standard error below the best; the smallest
    model above it is marked.

    Parameters
    ----------
    found : FeaturePath
        What :func:`imkpl.path` returns.

    Attributes
    ----------
    ax_, figure_ : Axes, and Figure
        The axes, and their figure.

    Examples
    --------
    >>> from imkpl.estimators import FeaturePath
    >>> from imkpl.plots import PathDisplay
    >>> found = FeaturePath([1, 2], [[0.7, 0.8], [0.9, 1.0]], (("a",), ("a", "b")), None)
    >>> PathDisplay(found).plot().ax_.get_xlabel()
    'Features'
    """

    found: Any

    def _draw(self, ax: Any) -> None:
        ((self.ax_,),) = self._take_panels(ax, (6.4, 3.8))
        found, sizes = self.found, self.found.sizes.tolist()
        best, chosen = sizes.index(found.best), sizes.index(found.chosen)
        self.ax_.errorbar(
            sizes, found.accuracy, found.standard_error, marker="o", capsize=3, color=COLORS[0]
        )
        bar = found.accuracy[best] - found.standard_error[best]
        self.ax_.axhline(bar, color="#595959", linestyle="--", linewidth=1)
        point = sizes[chosen], found.accuracy[chosen]
        self.ax_.plot(*point, "o", markersize=16, markerfacecolor="none", color="black")
        self.ax_.annotate("chosen", point, (0, -18), textcoords="offset points", ha="center")
        self.ax_.set_xscale("log", base=2)
        self.ax_.set_xticks(sizes, [str(size) for size in sizes])
        self.ax_.set(xlabel="Features", ylabel="Accuracy on left-out samples")
        self.ax_.spines[["top", "right"]].set_visible(False)


@dataclass(eq=False)
class PrototypesDisplay(Display):
    """The prototypes by class: vectors as a heat map, series as series.

    A prototype is a mix of training samples. Vectors are shown as the weighted mean. So are
    tables, with the most frequent category and its share in columns of categories.
    Series are drawn one by one, with a width that grows with their share, because the mean of
    series that are out of step resembles none of them.

    Parameters
    ----------
    kind : {"vectors", "series"}
        Kind of samples.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_shown,)
        Indices of the prototypes shown.
    owners : int array of shape (n_shown,)
        Indices of their classes, in ascending order.
    samples, unlike : list of lists of (name, share)
        The training samples in each prototype and in its contrast, largest share first.
    n_prototypes : int
        Number of prototypes of the model.
    names : list of str
        Names of the drawn features or channels.
    curves : list of lists of arrays of shape (n_channels, length), optional
        The drawn channels of the samples in each prototype, for "series".
    values : array of shape (n_shown, n_features), optional
        Weighted means, for "vectors".
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
    samples: list[list[tuple[Any, float]]]
    unlike: list[list[tuple[Any, float]]]
    n_prototypes: int
    names: list[str]
    curves: list[list[FloatArray]] | None = None
    values: FloatArray | None = None
    standardized: FloatArray | None = None
    texts: list[list[str]] | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        max_prototypes: int | None = None,
        max_features: int | None = None,
    ) -> Self:
        """Compute the prototypes of a model without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features), optional
            The samples that vectors are standardized by; by default those in prototypes.
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
        predictor = estimator.predictor_
        kernels, read = predictor.kernels, predictor.kernels.input_kind
        if read not in ("vectors", "columns", "tables", "series"):
            raise TypeError(
                f"The kernels of this model read {read}, neither tables nor series, expected one "
                "of these to draw prototypes. The samples behind each are in prototypes_."
            )
        kind = "series" if read == "series" else "vectors"
        chosen, owners = sort_prototypes(estimator, max_prototypes or MOST_PROTOTYPES[kind])
        columns, names = _sort_columns(estimator, kind, max_features or MOST_FEATURES[kind])
        ids = estimator.support_ids_[np.searchsorted(estimator.support_, predictor.rows)]
        like, unlike = (
            [list_parts(rows[[prototype]]) for prototype in chosen]
            for rows in (predictor.mixes, predictor.contrasts)
        )
        display = cls(
            kind=kind,
            classes=estimator.classes_,
            prototypes=chosen,
            owners=owners,
            samples=[[(ids[place], share) for place, share in parts] for parts in like],
            unlike=[[(ids[place], share) for place, share in parts] for parts in unlike],
            n_prototypes=predictor.mixes.shape[0],
            names=names,
        )
        if kind == "series":
            curves = [[kernels.sample(place)[columns] for place, _ in parts] for parts in like]
            return replace(display, curves=curves)
        means, standardized, texts = _mix_vectors(estimator, chosen, columns, X)
        return replace(display, values=means, standardized=standardized, texts=texts)

    def _draw(self, ax: Any) -> None:
        if self.kind == "series":
            self._draw_series(ax)
        else:
            self._draw_heat_map(ax)

    def _draw_heat_map(self, ax: Any) -> None:
        colors, texts = np.asarray(self.standardized), self.texts or []
        n_rows, n_columns = colors.shape
        width, height = 3.4 + 0.62 * n_columns, 2.4 + 0.27 * n_rows
        size = min(max(width, 6.4), 15.0), min(max(height, 3.6), 14.0)
        ((ax,),) = self._take_panels(ax, size)
        limit = LARGEST_DEVIATION
        image = ax.imshow(colors, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_xticks(
            np.arange(n_columns),
            labels=[name_in_plot(name) for name in self.names],
            **{"rotation": 45, "ha": "right", "rotation_mode": "anchor"},
        )
        rows = [self._name_prototype(row, ", #", "sample") for row in range(n_rows)]
        ax.set_yticks(np.arange(n_rows), labels=rows)
        for border in np.flatnonzero(np.diff(self.owners)):
            ax.axhline(border + 0.5, color="black", linewidth=1.2)
        if colors.size <= MOST_WRITTEN_CELLS:
            for (row, column), color in np.ndenumerate(colors):
                text = name_in_plot(texts[row][column], LONGEST_CELL)
                style = {"ha": "center", "va": "center", "fontsize": "x-small"}
                ink = "white" if abs(color) > 0.6 * limit else "black"
                ax.text(column, row, text, color=ink, **style)
        ax.tick_params(length=0)
        ax.set_title(f"Prototypes: weighted means of their samples{self._count_shown()}")
        bar = self.figure_.colorbar(image, ax=ax, fraction=0.04, pad=0.02, extend="both")
        bar.set_label("Standard deviations\nabove the mean")

    def _name_prototype(self, row: int, number: str, word: str) -> str:
        """The class and number of a prototype, and how many samples it is like and unlike."""
        label = name_in_plot(self.classes[self.owners[row]], LONGEST_CLASS)
        n_like, n_unlike = len(self.samples[row]), len(self.unlike[row])
        like = f"{n_like} {word}{'s' * (n_like > 1 and word != 'series')}"
        against = f", unlike {n_unlike}" if n_unlike else ""
        return f"class {label}{number}{self.prototypes[row]} ({like}{against})"

    def _count_shown(self) -> str:
        shown, whole = len(self.prototypes), self.n_prototypes
        return "" if shown == whole else f"\n{shown} of {whole} prototypes, most used first"

    def _draw_series(self, ax: Any) -> None:
        """Draw one row per prototype and one column per channel."""
        shape = (len(self.prototypes), len(self.names))
        size = (min(1.8 + 2.7 * shape[1], 15.0), min(1.0 + 1.15 * shape[0], 20.0))
        grid = self._take_panels(ax, size, *shape)
        for row, curves in enumerate(self.curves or []):
            color, shares = (
                class_style(int(self.owners[row]))["color"],
                [s for _, s in self.samples[row]],
            )
            for column, panel in enumerate(grid[row]):
                # The largest share is drawn last, on top.
                for curve, share in reversed([*zip(curves, shares, strict=True)]):
                    part = share / shares[0]
                    style = {"linewidth": 0.5 + 1.5 * part, "alpha": 0.25 + 0.75 * part}
                    panel.plot(curve[column], color=color, **style)
                panel.tick_params(labelsize="small", labelbottom=row == shape[0] - 1)
                panel.locator_params(axis="x", integer=True)
                panel.spines[["top", "right"]].set_visible(False)
            grid[row, 0].set_ylabel(self._name_prototype(row, "\nprototype ", "series"), **SIDEWAYS)
        limits = np.array([panel.get_xlim() for panel in grid.flat])
        for column, name in enumerate(self.names):
            grid[0, column].set_title(name_in_plot(name), fontsize="medium")
            grid[-1, column].set_xlabel("Time step")
            heights = np.array([panel.get_ylim() for panel in grid[:, column]])
            for panel in grid[:, column]:
                panel.set_xlim(limits[:, 0].min(), limits[:, 1].max())
                panel.set_ylim(heights[:, 0].min(), heights[:, 1].max())
        if ax is None:
            self.figure_.suptitle(
                f"Prototypes: the series that they are made of{self._count_shown()}"
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


def _mix_vectors(
    estimator: Any, chosen: IntArray, columns: IntArray, X: Any
) -> tuple[FloatArray, FloatArray, list[list[str]]]:
    """Weighted means of vectors or tables, as they are, standardized, and as text."""
    predictor = estimator.predictor_
    shares = predictor.mixes[chosen].toarray()
    shares /= shares.sum(axis=1, keepdims=True)
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
            else show_cell(None if np.isnan(means[place, column]) else float(means[place, column]))
            for column, kind in enumerate(kinds)
        ]
        for place, row in enumerate(shares)
    ]
    return means, standardized, texts


def _write_category(column: Column, codes: FloatArray, shares: FloatArray) -> str:
    """The most frequent category in a mix, with its share unless that is all of it."""
    found, group = np.unique(codes, return_inverse=True)
    parts = np.bincount(group.ravel(), shares)
    best = int(np.argmax(parts))
    text = show_cell(column.show(found[best]))
    return text if parts[best] > 0.995 else f"{text} {parts[best]:.0%}"
