"""What all displays share: colours, names, panels, and checks of the model that is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
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
# Longest name in characters.
LONGEST_NAME = 28


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


def class_color(place: int) -> str:
    """The colour of a class."""
    return COLORS[place % len(COLORS)]


def class_marker(place: int) -> str:
    """The marker of a class."""
    return MARKERS[place % len(MARKERS)]


def shorten(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name on one line, with its middle cut out if it is long."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    n_last = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"


def shorten_all(names: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Shortened names; names that differ stay different."""
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
