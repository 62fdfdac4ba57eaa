"""Kernel values of listed pairs of samples, for banks that only evaluate whole matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray
from imkpl.kernels.blocks import take_samples
from imkpl.kernels.checks import check_pair_values, check_pairs, check_sample_indices

if TYPE_CHECKING:
    from imkpl.kernels.base import BaseKernelBank

# Rows evaluated at a time: fixed, so that results are too.
PAIR_ROWS = 256
# Kernel values held at a time where pairs are summed.
PAIR_VALUES = 2**20


def evaluate_pairs(
    bank: BaseKernelBank, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike
) -> FloatArray:
    """``K_l(x_rows[p], x_columns[p])`` out of matrices of the samples that occur in some pairs."""
    rows, columns = check_pairs(rows, columns)
    out = np.empty((rows.size, bank.n_kernels), dtype=dtype)
    order = np.argsort(rows, kind="stable")
    left, row_positions = np.unique(rows[order], return_inverse=True)
    for start in range(0, left.size, PAIR_ROWS):
        chosen = (row_positions >= start) & (row_positions < start + PAIR_ROWS)
        right, column_positions = np.unique(columns[order[chosen]], return_inverse=True)
        block = take_samples(X, left[start : start + PAIR_ROWS])
        others = bank.take(X, right)
        for index in range(bank.n_kernels):
            values = bank.evaluate(index, block, others)
            out[order[chosen], index] = values[row_positions[chosen] - start, column_positions]
    return out


def sum_pairs(
    bank: BaseKernelBank, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
) -> FloatArray:
    """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l, a block of pairs at a time."""
    rows, columns = check_pairs(rows, columns)
    check_sample_indices(rows, columns, bank._shape(X, None)[0])
    factors = check_pair_values(values, rows.size)
    # Neighbouring pairs share their rows, which `pairs` evaluates together.
    order = np.argsort(rows, kind="stable")
    step = max(1, PAIR_VALUES // max(1, bank.n_kernels))
    products = np.zeros(bank.n_kernels)
    for start in range(0, rows.size, step):
        chosen = order[start : start + step]
        products += factors[chosen] @ bank.pairs(X, rows[chosen], columns[chosen])
    return products
