"""What is left of a fit: live kernels, support samples and the mixes made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank

# Similarities of so many samples to the support are held at a time.
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Support:
    """Compares new samples with mixes of training samples; holds nothing else of the training part.

    Parameters
    ----------
    bank : BaseKernelBank
        The kernels of positive weight.
    weights : array of shape (n_live,)
        Their weights.
    columns : int array or None
        The input columns that they read; None for everything.
    samples : samples
        The support samples, cut down to these columns.
    mixes : array of shape (n_mixes, n_support)
        Mixes of support samples.
    """

    bank: BaseKernelBank
    weights: FloatArray
    columns: IntArray | None
    samples: Any
    mixes: FloatArray

    @classmethod
    def build(
        cls, bank: BaseKernelBank, weights: FloatArray, X: Any, rows: IntArray, mixes: FloatArray
    ) -> Support:
        """Cut kernels, samples and columns down to what is needed."""
        used, live = np.flatnonzero(mixes.any(axis=0)), np.flatnonzero(weights)
        live_bank, samples = bank.select(live), bank._take(X, rows[used])
        columns = live_bank._columns
        if columns is not None:
            samples, live_bank = samples[:, columns], live_bank._on_columns(columns)
        return cls(live_bank, weights[live], columns, samples, mixes[:, used])

    def similarities(self, X: Any) -> Iterator[FloatArray]:
        """Inner products of samples and mixes, a block of samples at a time."""
        for start in range(0, len(X), BLOCK_ROWS):
            block = X[start : start + BLOCK_ROWS]
            cut = block if self.columns is None else block[:, self.columns]
            yield self.bank.combine(self.weights, cut, self.samples) @ self.mixes.T
