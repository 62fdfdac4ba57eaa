"""How accurate models with few and with many features are."""

from __future__ import annotations

from typing import Any

from imkpl.plots._style import COLORS, NEUTRAL, Drawing


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
