"""Which kernels the model uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._checks import check_lengths
from imkpl._typing import FloatArray
from imkpl.plots._style import (
    COLORS,
    Display,
    check_model,
    draw_bars,
    shorten_all,
    take_panels,
)

WHO = "KernelWeightsDisplay"


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
        """Take the weights of a model without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.

        Returns
        -------
        KernelWeightsDisplay
            The display, not drawn yet.
        """
        check_model(estimator, WHO)
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

    def plot(self, *, max_kernels: int = 20, ax: Any = None) -> Self:
        """Draw the weights.

        Parameters
        ----------
        max_kernels : int, default=20
            Maximum number of bars.
        ax : Axes, optional
            Axes to draw into; a new figure by default.

        Returns
        -------
        KernelWeightsDisplay
            The display.
        """
        shown = self.largest(max_kernels)
        names = shorten_all([name for name, _ in shown])
        values = [weight for _, weight in shown]
        n_live = int(np.count_nonzero(self.weights))
        size = (6.4, 1.2 + 0.27 * max(len(names), 3))
        self.figure_, (self.ax_,) = take_panels(ax, (1, 1), size, WHO)
        self.bars_ = draw_bars(self.ax_, names, values, [COLORS[0]] * len(shown), ".1%")
        rest = ""
        if n_live > len(shown):
            # A bar for their sum would dwarf the others.
            left_out = float(self.weights.sum()) - sum(values)
            rest = f"\n{n_live - len(shown)} more have {left_out:.1%} together"
        self.ax_.set_xlabel(f"Weight in the combined kernel{rest}")
        self.ax_.set_title(f"Kernel weights: {n_live} of {len(self.names)} kernels")
        return self
