"""What a fit found: weights of kernels, the way of the objective, and a path of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from imkpl._checks import check_lengths
from imkpl._typing import FloatArray
from imkpl.plots._style import (
    COLORS,
    NEUTRAL,
    Display,
    Drawing,
    class_color,
    class_marker,
    draw_bars,
    literal,
    put_legend,
    shorten_all,
)

TOTAL = "total"


@dataclass(eq=False)
class KernelWeightsDisplay(Display):
    """Kernel weights as bars, largest first.

    With one kernel per feature or channel they show which features the model uses.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
        Nonnegative weights.
    names : sequence of str
        Names of the kernels.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        The axes, and their figure.
    bars_ : BarContainer
        The bars.

    Examples
    --------
    >>> from imkpl.plots import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay([0.1, 0.0, 0.9], ["colour", "weight", "size"])
    >>> display.largest(5)
    [('size', 0.9), ('colour', 0.1)]
    >>> display.plot().ax_.get_title()
    'Kernel weights: 2 of 3 kernels'
    """

    attributes: ClassVar[tuple[str, ...]] = ("kernel_weights_", "kernel_names_")
    weights: FloatArray
    names: list[str]

    def __post_init__(self) -> None:
        self.weights = np.asarray(self.weights, dtype=np.float64)
        self.names = [str(name) for name in self.names]
        check_lengths(len(self.names), self.weights.size, "names of kernels", "kernel weights")

    def largest(self, max_kernels: int) -> list[tuple[str, float]]:
        """Names and weights of the kernels with the largest weights.

        Parameters
        ----------
        max_kernels : int
            Maximum number of kernels.

        Returns
        -------
        list of (str, float)
            Largest first, without kernels of weight zero.
        """
        order = np.argsort(-self.weights, kind="stable")[:max_kernels]
        return [(self.names[i], float(self.weights[i])) for i in order if self.weights[i] > 0]

    def _draw(self, ax: Any, *, max_kernels: int = 20) -> None:
        shown = self.largest(max_kernels)
        names = shorten_all([name for name, _ in shown])
        values = [weight for _, weight in shown]
        n_live = int(np.count_nonzero(self.weights))
        size = (6.4, 1.2 + 0.27 * max(len(names), 3))
        (self.ax_,) = self._take_panels(ax, size)
        self.bars_ = draw_bars(self.ax_, names, values, [COLORS[0]] * len(shown), ".1%")
        rest = ""
        if n_live > len(shown):
            # A bar for their sum would dwarf the others.
            left_out = float(self.weights.sum()) - sum(values)
            rest = f"\n{n_live - len(shown)} more have {left_out:.1%} together"
        self.ax_.set_xlabel(f"Weight in the combined kernel{rest}")
        self.ax_.set_title(f"Kernel weights: {n_live} of {len(self.names)} kernels")


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
        handles = [lines[1] for lines in self.lines_.values()]
        put_legend(changes_ax, handles, [literal(name) for name in self.lines_])


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

    def __init__(self, found: Any) -> None:
        self.found = found

    def _draw(self, ax: Any) -> None:
        (self.ax_,) = self._take_panels(ax, (6.4, 3.8))
        found, sizes = self.found, self.found.sizes.tolist()
        best, chosen = sizes.index(found.best), sizes.index(found.chosen)
        self.ax_.errorbar(
            sizes, found.accuracy, found.standard_error, marker="o", capsize=3, color=COLORS[0]
        )
        bar = found.accuracy[best] - found.standard_error[best]
        self.ax_.axhline(bar, color=NEUTRAL, linestyle="--", linewidth=1)
        point = sizes[chosen], found.accuracy[chosen]
        self.ax_.plot(*point, "o", markersize=16, markerfacecolor="none", color="black")
        self.ax_.annotate("chosen", point, (0, -18), textcoords="offset points", ha="center")
        self.ax_.set_xscale("log", base=2)
        self.ax_.set_xticks(sizes, [str(size) for size in sizes])
        self.ax_.set(xlabel="Features", ylabel="Accuracy on left-out samples")
        self.ax_.spines[["top", "right"]].set_visible(False)
