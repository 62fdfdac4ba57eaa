"""A large-margin linear programme in which few of many variables take part."""

import numpy as np
from scipy.optimize import linprog

from imkpl._typing import FloatArray

# So many variables join at most before the programme is solved again.
BATCH = 128
# A gain above one by no more than this is rounding, as is a variable below this part of the sum.
TOLERANCE, NEGLIGIBLE = 1e-6, 1e-9


def minimize_large_margin(margins: FloatArray, prices: FloatArray) -> FloatArray:
    """The minimiser b >= 0 of ``sum(b) + prices . max(0, 1 - margins @ b)``, a vertex.

    Columns are generated: the programme of some variables is solved, and those join that would
    lower it, until there are none. Its dual, ``max sum(a)`` with ``margins' a <= 1`` and
    ``0 <= a <= prices``, has one row per variable and is solved in a fraction of the time.
    """
    found, duals = np.zeros(margins.shape[1]), np.asarray(prices, dtype=np.float64)
    chosen: list[int] = []
    while True:
        gains = np.asarray(duals.astype(margins.dtype) @ margins, dtype=np.float64)
        gains[chosen] = 0.0
        order = np.argsort(-gains, kind="stable")[:BATCH]
        new = order[gains[order] > 1 + TOLERANCE].tolist()
        if not new:
            return np.where(found > NEGLIGIBLE * found.sum(), found, 0.0)
        chosen += new
        some = np.ascontiguousarray(margins[:, chosen].T, dtype=np.float64)
        limits = np.column_stack([np.zeros(prices.size), prices])
        solved = linprog(-np.ones(prices.size), some, np.ones(len(chosen)), bounds=limits)
        if solved.status != 0:
            raise RuntimeError(
                f"The linear programme of the kernel weights was not solved: {solved.message} "
                "Lower separation, or use another weight_rule."
            )
        duals, found[chosen] = solved.x, np.maximum(0.0, -solved.ineqlin.marginals)
