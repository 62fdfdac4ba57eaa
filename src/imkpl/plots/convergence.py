"""How the objective decreased, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from imkpl._typing import FloatArray
from imkpl.plots._style import Display, class_color, class_marker, literal

TOTAL = "total"


@dataclass(eq=False)
class ConvergenceDisplay(Display):
    """The terms of the objective and their total after every round.

    The terms differ by orders of magnitude, so one panel shows their values on a logarithmic scale
    and the other their change since the first round. The changes add up to that of the total.

    Parameters
    ----------
    history : dict of arrays of shape (n_rounds,)
        Values after every round, by term; "total" is drawn in black.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        The two axes, and their figure.
    lines_ : dict of pairs of Line2D
        The lines in both panels, by term.

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

    attributes: ClassVar[tuple[str, ...]] = ("history_",)
    history: dict[str, FloatArray]

    def __post_init__(self) -> None:
        history: Mapping[str, Any] = self.history
        self.history = {name: np.asarray(v, dtype=np.float64) for name, v in history.items()}
        lengths = {values.size for values in self.history.values()}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError(
                f"The terms of the history have {sorted(lengths)} rounds, expected the same number "
                "for all, at least one. Pass history_ of a fitted model."
            )

    @property
    def changes(self) -> dict[str, FloatArray]:
        """Change of every term since the first round."""
        return {name: values - values[0] for name, values in self.history.items()}

    def _draw(self, ax: Any) -> None:
        values_ax, changes_ax = panels = self._take_panels(ax, (9.6, 3.8), (1, 2))
        self.lines_, place = {}, 0
        for name, values in self.history.items():
            style: dict[str, Any] = {"color": "black", "linewidth": 2.0, "marker": ".", "zorder": 3}
            if name != TOTAL:
                style = {"color": class_color(place), "marker": class_marker(place)}
                style |= {"linestyle": ("--", "-.", ":")[place % 3], "markersize": 4}
                style["linewidth"], place = 1.3, place + 1
            rounds = np.arange(1, values.size + 1)
            # Zero has no logarithm.
            positive = np.where(values > 0, values, np.nan)
            (left,) = values_ax.plot(rounds, positive, **style)
            (right,) = changes_ax.plot(rounds, self.changes[name], **style)
            self.lines_[name] = (left, right)
        values_ax.set_yscale("log")
        values_ax.set(title="Value of every term", ylabel="Value (logarithmic scale)")
        changes_ax.set(title="Change since the first round", ylabel="Change")
        changes_ax.axhline(0, color="black", linewidth=0.8)
        for panel in panels:
            panel.set_xlabel("Round")
            panel.locator_params(axis="x", integer=True)
            panel.spines[["top", "right"]].set_visible(False)
        changes_ax.legend(
            [lines[1] for lines in self.lines_.values()],
            [literal(name) for name in self.lines_],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            borderaxespad=0.0,
        )
