"""Class means, for samples that say little one by one: documents, of which no two are alike.

The nearest neighbours of a document are hardly nearer than others. Its class as a whole is: words
are weighed by margins between class means, and prototypes start as means of many documents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.model.margin_choice import Choose, MarginStart, choose_compared
from imkpl.model.neighbors import Neighborhoods, Pairs
from imkpl.model.problem import Problem


def choose_by_means(problem: Problem) -> Choose:
    """Choose kernels by the margins of samples between the means of their class and of others."""
    joined, neighborhoods = compare_with_means(problem)
    choose = MarginStart(joined, neighborhoods)

    def start(max_kernels: int | None) -> tuple[Problem, FloatArray]:
        chosen, weights = choose(max_kernels)
        places = np.searchsorted(problem.kernel_indices, chosen.kernel_indices)
        return replace(chosen, kernels=problem.kernels.select(places)), weights

    return start


def compare_with_means(problem: Problem) -> tuple[Problem, Neighborhoods]:
    """The problem with class means as further samples, which are the neighbours of all samples.

    The mean of a sample's own class is that of the other samples in it:
    ``(total * mean - weight * sample) / (total - weight)``.
    """
    labels, weight = problem.labels, problem.sample_weight
    n_samples, n_classes = labels.size, len(problem.members)
    totals = np.bincount(labels, weight)
    shares = sp.csr_array((weight / totals[labels], (labels, np.arange(n_samples))))
    joined = replace(problem, kernels=problem.kernels.with_mixes(shares))
    compared = choose_compared(n_samples, n_classes - 1, problem.kernels.n_kernels)
    listed = np.arange(n_samples) if compared is None else compared
    rest = totals[labels[listed]] - weight[listed]
    # The only sample of its class is compared with itself.
    own = np.where(rest > 0, weight[listed] / np.where(rest > 0, rest, 1.0), 0.0)
    same = Pairs(
        rows=np.repeat(listed, 2),
        columns=np.column_stack([n_samples + labels[listed], listed]).ravel(),
        n_samples=n_samples,
        weights=np.column_stack([1 + own, -own]).ravel(),
    )
    others = np.arange(n_classes) != labels[listed, None]
    rows, classes = np.nonzero(others)
    return joined, Neighborhoods(same, Pairs(listed[rows], n_samples + classes, n_samples))


def spread_prototypes(problem: Problem, kernel: FloatArray, seeds: IntArray) -> sp.csr_array:
    """A prototype around each seed: the mean of the samples of its class that are nearest to it."""
    nearest = np.empty(problem.labels.size, dtype=np.intp)
    for samples in problem.members:
        own = np.flatnonzero(np.isin(seeds, samples))
        nearest[samples] = own[np.argmax(kernel[np.ix_(samples, seeds[own])], axis=1)]
    # A seed is nearest to itself, whatever its norm.
    nearest[seeds] = np.arange(seeds.size)
    shape = (seeds.size, problem.labels.size)
    weight = problem.sample_weight
    if problem.is_eligible is not None:
        weight = weight * problem.is_eligible
    mixes = sp.csr_array((weight, (nearest, np.arange(shape[1]))), shape=shape)
    mixes.eliminate_zeros()
    norms = np.sqrt(mixes.multiply(mixes @ kernel).sum(axis=1))
    return sp.csr_array(mixes / norms[:, np.newaxis])
