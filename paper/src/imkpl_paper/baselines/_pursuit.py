"""Codes of many samples at once, from inner products with the atoms alone."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray, IntArray

# A correlation below this is rounding.
SILENT = 1e-10


def orthogonal_pursuit(gram: FloatArray, similarities: FloatArray, n_nonzero: int) -> FloatArray:
    """Orthogonal matching pursuit: the best atom next, then least squares on those chosen."""
    n_samples, n_atoms = similarities.shape
    codes = np.zeros((n_samples, n_atoms))
    chosen = np.zeros((n_samples, 0), dtype=np.intp)
    active = np.arange(n_samples)
    residual = similarities.copy()
    for _ in range(min(n_nonzero, n_atoms)):
        best = np.argmax(np.abs(residual), axis=1)
        goes_on = np.abs(residual[np.arange(active.size), best]) > SILENT
        active, chosen = active[goes_on], chosen[goes_on]
        if active.size == 0:
            break
        chosen = np.column_stack([chosen, best[goes_on]])
        systems = gram[chosen[:, :, np.newaxis], chosen[:, np.newaxis, :]]
        # The chosen atoms are independent, because a dependent one has no correlation left; the
        # ridge only keeps those that are nearly so from overflowing.
        systems = systems + 1e-12 * np.eye(chosen.shape[1])
        targets = np.take_along_axis(similarities[active], chosen, axis=1)
        values = np.linalg.solve(systems, targets[:, :, np.newaxis])[:, :, 0]
        codes[active] = 0.0
        codes[active[:, np.newaxis], chosen] = values
        residual = similarities[active] - codes[active] @ gram
        np.put_along_axis(residual, chosen, 0.0, axis=1)
    return codes


def levelwise_pursuit(gram: FloatArray, similarities: FloatArray, levels: IntArray) -> FloatArray:
    """One atom of every level: the one most like what the levels before have left."""
    codes, residual = np.zeros_like(similarities), similarities.copy()
    everyone = np.arange(similarities.shape[0])
    for level in np.unique(levels):
        atoms = np.flatnonzero(levels == level)
        best = atoms[np.argmax(np.abs(residual[:, atoms]), axis=1)]
        values = residual[everyone, best]
        codes[everyone, best] += values
        residual -= values[:, np.newaxis] * gram[best]
    return codes
