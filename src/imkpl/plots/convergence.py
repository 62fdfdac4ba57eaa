"""How the objective went down, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray
from imkpl.plots._canvas import require_pyplot, take_panels
from imkpl.plots._model import check_model
from imkpl.plots._palette import class_color, class_marker, literal

WHO = "ConvergenceDisplay"
TOTAL = "total"


@dataclass(eq=False)
class ConvergenceDisplay:
    """Every term of the objective and their total, round by round.

    Terms differ by orders of magnitude, so that one panel shows their values on a logarithmic
    scale, and one by how much they have changed since the first round. The changes of the terms
    add up to that of the total.

    Parameters
    ----------
    history : dict of arrays of shape (n_rounds,)
        Values after every round, by the name of the term; "total" is drawn in black.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        Where it was drawn.
    lines_ : dict of pairs of Line2D
        By the name of the term, its lines in both panels.

    Examples
    --------
    >>> from imkpl.plots import ConvergenceDisplay
    >>> history = {"reconstruction": [5.0, 3.0], "separation": [2.0, 2.5], "total": [7.0, 5.5]}
    >>> display = ConvergenceDisplay(history)
    >>> display.changes["separation"]
    array([0. , 0.5])
    >>> len(display.plot().axes_)
    2
    """

    history: dict[str, FloatArray]

    def __post_init__(self) -> None:
        history: Mapping[str, Any] = self.history
        self.history = {name: np.asarray(v, dtype=np.float64) for name, v in history.items()}
        lengths = {values.size for values in self.history.values()}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError(
                f"The terms of the history have {sorted(lengths)} rounds, expected the same number "
                "for all, and one at least. Pass history_ of a fitted model."
            )

    @property
    def changes(self) -> dict[str, FloatArray]:
        """By how much every term has changed since the first round."""
        return {name: values - values[0] for name, values in self.history.items()}

    @classmethod
    def compute(cls, estimator: Any) -> Self:
        """The history of a model, without drawing it.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.

        Returns
        -------
        ConvergenceDisplay
            To be plotted.
        """
        check_model(estimator, WHO)
        return cls(estimator.history_)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the history of a model.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        ax : Axes or two Axes, optional
            Where to draw; one is divided. A new figure by default.

        Returns
        -------
        ConvergenceDisplay
            The display.
        """
        require_pyplot(f"{WHO}.from_estimator")
        return cls.compute(estimator).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the history.

        Parameters
        ----------
        ax : Axes or two Axes, optional
            Where to draw; one is divided. A new figure by default.

        Returns
        -------
        ConvergenceDisplay
            The display.
        """
        self.figure_, panels = take_panels(ax, (1, 2), (9.6, 3.8), WHO)
        self.axes_ = np.array(panels, dtype=object)
        values_ax, changes_ax = panels
        terms = [name for name in self.history if name != TOTAL]
        self.lines_ = {}
        for name, values in self.history.items():
            style = _line_style(terms, name)
            rounds = np.arange(1, values.size + 1)
            # A logarithm has no place for zero, and such a term has nothing to show.
            positive = np.where(values > 0, values, np.nan)
            pair = (
                values_ax.plot(rounds, positive, **style),
                changes_ax.plot(rounds, self.changes[name], **style),
            )
            self.lines_[name] = (pair[0][0], pair[1][0])
        values_ax.set_yscale("log")
        values_ax.set(title="Value of every term", ylabel="Value (logarithmic scale)")
        changes_ax.set(title="Change since the first round", ylabel="Change")
        changes_ax.axhline(0, color="black", linewidth=0.8)
        for panel in panels:
            panel.set_xlabel("Round")
            panel.locator_params(axis="x", integer=True)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        changes_ax.legend(
            [lines[1] for lines in self.lines_.values()],
            [literal(name) for name in self.lines_],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            borderaxespad=0.0,
        )
        return self


def _line_style(terms: list[str], name: str) -> dict[str, Any]:
    if name == TOTAL:
        return {"color": "black", "linewidth": 2.0, "marker": ".", "zorder": 3}
    place = terms.index(name)
    return {
        "color": class_color(place),
        "marker": class_marker(place),
        "linestyle": ("--", "-.", ":")[place % 3],
        "markersize": 4,
        "linewidth": 1.3,
    }
