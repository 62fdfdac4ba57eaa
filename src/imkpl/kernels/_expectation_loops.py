"""Compiled recursions over all alignments of one pair of series, in log space.

Slower than the tiles of `_alignment_loops`, but every cell is kept: which cells the alignments pass
is what explains a similarity.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def _log_sum(a, b, c):  # type: ignore[no-untyped-def]
    largest = max(a, b, c)
    if largest == -np.inf:
        return largest
    return largest + np.log(np.exp(a - largest) + np.exp(b - largest) + np.exp(c - largest))


@njit(cache=True)
def _log_alignments(local):  # type: ignore[no-untyped-def]
    # log A_ij with a row and a column before the first; `local` holds logs of local kernels.
    n, m = local.shape
    total = np.full((n + 1, m + 1), -np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = local[i, j] + _log_sum(
                total[i, j], total[i, j + 1], total[i + 1, j]
            )
    return total


@njit(cache=True)
def _visits(local, total):  # type: ignore[no-untyped-def]
    # How likely an alignment passes each cell. An alignment that passes a cell came from one of
    # three, with the shares that these have in the sum.
    n, m = local.shape
    visits = np.zeros((n, m))
    if total[n, m] == -np.inf:
        return visits
    visits[n - 1, m - 1] = 1.0
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            if visits[i, j] == 0.0:
                continue
            before = total[i + 1, j + 1] - local[i, j]
            for di, dj in ((1, 1), (1, 0), (0, 1)):
                if i >= di and j >= dj:
                    share = np.exp(total[i + 1 - di, j + 1 - dj] - before)
                    visits[i - di, j - dj] += visits[i, j] * share
    return visits
