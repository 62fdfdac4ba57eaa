"""Which kernels the model uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from imkpl._checks import check_lengths
from imkpl._typing import FloatArray
from imkpl.plots._style import COLORS, Display, draw_bars, shorten_all


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
