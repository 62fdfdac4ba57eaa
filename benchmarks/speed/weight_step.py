"""The sums of the weight step: a state to evaluate them at, and their direct evaluation."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from imkpl.kernels import PerFeatureGaussian
from imkpl.model.problem import Problem, Settings, State
from imkpl.model.separation import LinearSeparation


def make_state(X, n_prototypes, sparsity, code_sparsity, n_classes=3, seed=0):
    """A problem and a state in the middle of a fit, without the combined kernel."""
    rng = np.random.default_rng(seed)
    n_samples = len(X)
    labels = np.sort(rng.integers(0, n_classes, n_samples))
    kernels = PerFeatureGaussian().on(X)
    problem = Problem(
        kernels=kernels,
        labels=labels,
        sample_weight=np.ones(n_samples),
        multiplicity=np.ones(n_samples),
        settings=Settings(separation=1.0, sparsity=sparsity, code_sparsity=code_sparsity),
        kernel_indices=np.arange(kernels.n_kernels),
        widths=np.ones(kernels.n_kernels),
        separation_loss=LinearSeparation(np.zeros(kernels.n_kernels)),
    )
    prototypes = _random_rows(rng, n_prototypes, n_samples, sparsity) * (1 / sparsity)
    codes = _random_rows(rng, n_samples, n_prototypes, code_sparsity)
    # The sums do not read the combined kernel, which would not fit into memory for large N.
    weights = np.full(kernels.n_kernels, 1 / kernels.n_kernels)
    strengths, contrasts = np.zeros(n_prototypes), sp.csr_array(prototypes.shape)
    return problem, State(prototypes, codes, weights, None, strengths, contrasts, 1.0)


def contract_directly(problem, state, rows=32):
    """Every kernel evaluated for all pairs in NumPy, a block of rows that fits into the cache."""
    kernels, discrimination = problem.kernels, problem.settings.discrimination
    X = kernels.samples
    mixed = sp.csr_array(state.codes @ state.prototypes)
    rest = (sp.eye_array(len(X)) - mixed).tocsr()
    matrix = (rest.T @ rest).toarray()
    same = mixed.toarray()
    same[problem.labels[:, None] != problem.labels] = 0
    matrix -= discrimination * same
    sums = np.full(kernels.n_kernels, discrimination * mixed.sum())
    for kernel, column in enumerate(kernels.kernel_columns):
        values = X[:, column] * kernels.rates[kernel]
        for start in range(0, len(X), rows):
            block = values[start : start + rows, None] - values
            np.multiply(block, block, out=block)
            np.negative(block, out=block)
            np.exp(block, out=block)
            sums[kernel] += np.vdot(block, matrix[start : start + rows])
    return sums


def _random_rows(rng, n_rows, n_columns, n_entries):
    columns = rng.integers(0, n_columns, (n_rows, n_entries)).ravel()
    rows = np.repeat(np.arange(n_rows), n_entries)
    values = rng.uniform(0.2, 1.0, rows.size)
    return sp.csr_array((values, (rows, columns)), shape=(n_rows, n_columns))
