"""What is learned: prototypes, codes and kernel weights."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from imkpl._typing import FloatArray


@dataclass(frozen=True, eq=False)
class State:
    """One point of the search; replaced by every update, never edited.

    Parameters
    ----------
    prototypes : CSR array of shape (n_prototypes, n_samples)
        U': every prototype as a sparse non-negative mix of samples, of unit norm.
    codes : CSR array of shape (n_samples, n_prototypes)
        Gamma': every sample as a sparse non-negative mix of prototypes.
    weights : array of shape (n_kernels,)
        Non-negative, sum to one; they weigh the kernels of the problem's bank.
    kernel : array of shape (n_samples, n_samples)
        The combined kernel of these weights, scaled to a unit diagonal.
    mixed : tuple of pairs (array of shape (n_kernels,), float)
        How the kernel was made: weights, and the share that their kernel has beside all before it.
        It takes less room than the kernel, and `Problem.mix` makes the same kernel again.
    """

    prototypes: sp.csr_array
    codes: sp.csr_array
    weights: FloatArray
    kernel: FloatArray
    mixed: tuple[tuple[FloatArray, float], ...] = ()
