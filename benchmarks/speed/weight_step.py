"""The sums of the weight step: a state to evaluate them at, and their direct evaluation."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from imkpl.kernels import PerFeatureGaussian
from imkpl.model.problem import Problem, State
from imkpl.model.separation import LinearSeparation


def make_state(X, n_prototypes, sparsity, code_sparsity, n_classes=3, seed=0):
    """A problem and a state in the middle of a fit, without the combined kernel."""
    rng = np.random.default_rng(seed)
    n_samples = len(X)
    labels = np.sort(rng.integers(0, n_classes, n_samples))
    bank = PerFeatureGaussian().adapt(X)
    problem = Problem(
        X=X,
        labels=labels,
        sample_weight=np.ones(n_samples),
        counts=np.ones(n_samples),
        bank=bank,
        kernel_indices=np.arange(bank.n_kernels),
        separation_loss=LinearSeparation(np.zeros(bank.n_kernels)),
        discrimination=0.5,
        separation=1.0,
        interpretability=1.2,
        sparsity=sparsity,
        code_sparsity=code_sparsity,
    )
    prototypes = _random_rows(rng, n_prototypes, n_samples, sparsity) * (1 / sparsity)
    codes = _random_rows(rng, n_samples, n_prototypes, code_sparsity)
    # The sums do not read the combined kernel, which would not fit into memory for large N.
    weights = np.full(bank.n_kernels, 1 / bank.n_kernels)
    return problem, State(prototypes, codes, weights, None, np.zeros(n_prototypes))


def contract_directly(problem, state, rows=32):
    """Every kernel evaluated for all pairs in NumPy, a block of rows that fits into the cache."""
    X, bank = problem.X, problem.bank
    mixed = sp.csr_array(state.codes @ state.prototypes)
    rest = (sp.eye_array(len(X)) - mixed).tocsr()
    matrix = (rest.T @ rest).toarray()
    same = mixed.toarray()
    same[problem.labels[:, None] != problem.labels] = 0
    matrix -= problem.discrimination * same
    sums = np.full(bank.n_kernels, problem.discrimination * mixed.sum())
    rates = bank.kernels.rates
    for kernel, column in enumerate(bank.kernel_columns):
        values = X[:, column] * rates[kernel]
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
