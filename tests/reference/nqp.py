"""Non-negative sparse quadratic minimum by trying every support."""

from itertools import combinations

import numpy as np


def objective(H, c, x):
    return 0.5 * x @ H @ x + c @ x


def solve_by_enumeration(H, c, sparsity):
    """The best feasible point: the minimum of a convex function over x >= 0 on a support is the
    unconstrained minimum of a smaller support, so each support is solved without the sign and
    kept if the signs come out right.
    """
    n = len(c)
    best, best_value = np.zeros(n), 0.0
    for size in range(1, min(sparsity, n) + 1):
        for support in combinations(range(n), size):
            index = list(support)
            x = np.zeros(n)
            x[index] = np.linalg.lstsq(H[np.ix_(index, index)], -c[index], rcond=None)[0]
            value = objective(H, c, x)
            if (x >= 0).all() and value < best_value:
                best, best_value = x, value
    return best, best_value
