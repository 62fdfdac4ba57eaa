"""What all displays share: colours, names, panels, and checks of the model that is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imkpl._typing import IntArray
from imkpl.estimators import IMKPL, ISKPL

# The colours of Okabe and Ito, distinct for every kind of colour vision. Yellow, pale on white,
# comes last.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# Eleven and eight are coprime, so 88 classes differ in colour or marker, the first eight in both.
# The star is reserved for prototypes.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Bars and lines that belong to no class.
NEUTRAL, REST = "#595959", "#BFBFBF"
# Longest name in characters.
LONGEST_NAME = 28

Place = tuple[Any, Any]


class Drawing(ABC):
    """What is drawn by `plot`."""

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into, divided if several are needed; a new figure by default.
        **options
            ``max_kernels=20`` bars of KernelWeightsDisplay, and ``max_features=10`` of
            DecisionDisplay.

        Returns
        -------
        Display
            The display.
        """
        self._draw(ax, **options)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw into these axes, or into a new figure."""

    def _take_panels(
        self,
        ax: Any,
        size: tuple[float, float],
        shape: tuple[int, int] = (1, 1),
        places: Sequence[Place] | None = None,
        **spacing: Any,
    ) -> list[Any]:
        """The axes to draw into: new ones, those given, or one given and divided."""
        who = type(self).__name__
        plt = require_pyplot(f"{who}.plot")
        places = list(np.ndindex(shape)) if places is None else places
        panels = [] if ax is None else list(np.ravel(np.asarray(ax, dtype=object)))
        if ax is not None and len(panels) != len(places):
            spec = panels[0].get_subplotspec() if len(panels) == 1 else None
            if spec is None:
                raise ValueError(
                    f"{who} draws {len(places)} panels, but ax holds {len(panels)} axes. Pass one "
                    f"axes of plt.subplots(), which is divided, a sequence of {len(places)}, or "
                    "None."
                )
            panels[0].set_axis_off()
            grid = spec.subgridspec(*shape, **spacing)
            panels = [panels[0].figure.add_subplot(grid[place]) for place in places]
        elif ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            grid = figure.add_gridspec(*shape, **spacing)
            panels = [figure.add_subplot(grid[place]) for place in places]
        self.figure_, self.axes_ = panels[0].figure, np.array(panels, dtype=object)
        return panels


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
        ax : Axes, optional
            Axes to draw into, divided if several are needed; a new figure by default.
        **options
            Options of `compute` and `plot`.

        Returns
        -------
        Display
            The display.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        drawn = {key: options.pop(key) for key in signature(cls._draw).parameters if key in options}
        return cls.compute(estimator, *data, **options).plot(ax=ax, **drawn)


def class_color(place: int) -> str:
    """The colour of a class."""
    return COLORS[place % len(COLORS)]


def class_marker(place: int) -> str:
    """The marker of a class."""
    return MARKERS[place % len(MARKERS)]


def shorten(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name on one line, with its middle cut out if it is long.

    Examples
    --------
    >>> shorten("mean corpuscular haemoglobin concentration", 20)
    'mean corpusc…tration'
    """
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    n_last = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"


def shorten_all(names: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Shortened names; names that differ stay different.

    Examples
    --------
    >>> shorten_all(["sensor of the left hand", "sensor of the lost hand", "foot"], 11)
    ['sensor…hand (1)', 'sensor…hand (2)', 'foot']
    """
    short = [shorten(name, longest) for name in names]
    whole: dict[str, dict[str, int]] = {}
    for text, name in zip(short, names, strict=True):
        known = whole.setdefault(text, {})
        known.setdefault(str(name), len(known) + 1)
    return [
        text if len(whole[text]) == 1 else f"{text} ({whole[text][str(name)]})"
        for text, name in zip(short, names, strict=True)
    ]


def literal(text: str) -> str:
    """A text that matplotlib draws as it is: no formula, and no label hidden from legends."""
    escaped = text.replace("$", r"\$")
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


def draw_bars(
    ax: Any,
    names: Sequence[str],
    values: Sequence[float],
    colors: Sequence[str],
    style: str,
    *,
    rest: tuple[int, float] = (0, 0.0),
    n_slots: int = 3,
) -> Any:
    """Horizontal bars with names at the axis and values at their ends; the rest is one more bar."""
    if rest[0]:
        names, values, colors = [*names, f"{rest[0]} more"], [*values, rest[1]], [*colors, REST]
    places = np.arange(len(names))
    bars = ax.barh(places, values, color=colors, height=0.7)
    ax.set_yticks(places, labels=[literal(name) for name in names])
    ax.set_ylim(max(len(names), n_slots) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.bar_label(bars, labels=[f"{value:{style}}" for value in values], padding=3, fontsize="small")
    # Leave room for the values, on the left only where there are negative bars.
    lowest, highest = min([0.0, *values]), max([0.0, *values])
    room = 0.2 * ((highest - lowest) or 1.0)
    ax.set_xlim(lowest - 1.5 * room if lowest < 0 else 0.0, highest + room)
    ax.locator_params(axis="x", nbins=6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return bars


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
