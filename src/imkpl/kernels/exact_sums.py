"""Sums that do not depend on the order of their terms, to the last bit.

The leading bits of all terms are cut off at one place, so that adding them up is exact; then the
next bits of what is left, and so on (Demmel and Nguyen, Fast reproducible floating-point summation,
2013). Samples may then be added up in any order and in any parts, on any number of machines.
"""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray

# Three times 53 bits, less three times the bits of the number of terms: with a million terms what
# is left out is below 2**-96 of their number times their bound.
FOLDS = 3


def fold_sums(terms: FloatArray, bound: float, n_terms: int, axis: int) -> FloatArray:
    """Exact sums of the leading bits of terms, of the next, and of those after them.

    Examples
    --------
    >>> terms = np.array([1.0, 1e-20, -1.0])
    >>> float(terms.sum()), float(join_folds(fold_sums(terms, 1.0, 3, axis=0)))
    (0.0, 1e-20)
    """
    sums, rest = [], terms
    for _ in range(FOLDS):
        exponent = int(np.ceil(np.log2(2.0 * n_terms * bound)))
        # In the middle of a binade neither sign leaves it: what is rounded away is below half of
        # 2**(exponent - 52), and n_terms multiples of that number have a sum of 53 bits.
        unit = 1.5 * 2.0**exponent
        heads = (rest + unit) - unit
        sums.append(heads.sum(axis=axis))
        rest = rest - heads
        bound = 2.0 ** (exponent - 53)
    return np.stack(sums)


def join_folds(folds: FloatArray) -> FloatArray:
    """The sum whose folds are given, the small ones added first."""
    total = folds[-1]
    for fold in folds[-2::-1]:
        total = total + fold
    return np.asarray(total)


def fold_moments(
    values: FloatArray, shares: FloatArray, largest_share: float, n_samples: int, axis: int
) -> FloatArray:
    """Folds of the weighted sums of values and of their squares."""
    weights = np.expand_dims(shares, 1 - axis)
    first = fold_sums(values * weights, 2 * largest_share, n_samples, axis)
    second = fold_sums(values**2 * weights, 4 * largest_share, n_samples, axis)
    return np.stack([first, second])
