"""What a fit found: weights of kernels, and a path of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._checks import check_lengths
from imkpl._typing import FloatArray
from imkpl.plots._style import (
    COLORS,
    NEUTRAL,
    Display,
    Drawing,
    check_model,
    draw_bars,
    shorten_all,
)


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

    weights: FloatArray
    names: list[str]

    def __post_init__(self) -> None:
        self.weights = np.asarray(self.weights, dtype=np.float64)
        self.names = [str(name) for name in self.names]
        check_lengths(len(self.names), self.weights.size, "names of kernels", "kernel weights")

    @classmethod
    def compute(cls, estimator: Any) -> Self:
        """Collect the weights of a model, without matplotlib.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.

        Returns
        -------
        KernelWeightsDisplay
            The display, not drawn yet.
        """
        check_model(estimator, cls.__name__)
        return cls(estimator.kernel_weights_, estimator.kernel_names_)

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
