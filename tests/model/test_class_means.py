"""Words are weighed by margins between class means; prototypes start as means of documents."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.kernels import PerWord
from imkpl.kernels.table import Documents
from imkpl.model.cover import spread_prototypes
from imkpl.model.margin_choice import choose_by_means, compare_with_means
from imkpl.model.separation import compute_margins, weigh_margins
from model.problems import pose, scale_kernels

N_TELLING = 6


def documents(n_samples=90, n_words=60, n_classes=3, seed=0):
    """Counts in which the first words are more frequent in one of the classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    rates = np.full((n_samples, n_words), 0.15)
    for word in range(N_TELLING):
        rates[labels == word % n_classes, word] = 0.8
    return rng.poisson(rates), labels


def problem_of(counts, labels, weight=None):
    return pose(PerWord().on(Documents.read(counts), weight), labels, weight)


def slow_margins(stack, labels, weight):
    """Mean similarity to the rest of the own class minus that to another class, one by one."""
    margins = []
    for i, label in enumerate(labels):
        own = np.flatnonzero((labels == label) & (np.arange(labels.size) != i))
        near = np.average(stack[i, own], axis=0, weights=weight[own])
        for other in np.delete(np.unique(labels), label):
            far = np.flatnonzero(labels == other)
            margins.append(near - np.average(stack[i, far], axis=0, weights=weight[far]))
    return np.array(margins)


def test_margins_are_those_of_the_definition():
    counts, labels = documents(15, 8)
    weight = np.random.default_rng(1).uniform(0.5, 2, 15)
    problem = problem_of(counts, labels, weight)
    joined, neighborhoods = compare_with_means(problem)
    stack = np.stack([problem.kernels.evaluate(word) for word in range(8)], axis=-1)
    margins = compute_margins(joined.kernels, neighborhoods)
    assert_allclose(margins, slow_margins(stack, labels, weight), atol=1e-12)
    coefficients = np.random.default_rng(2).standard_normal(30)
    weighed = weigh_margins(joined.kernels, neighborhoods, coefficients)
    assert_allclose(weighed, coefficients @ margins, atol=1e-10)


def test_the_words_that_tell_classes_apart_are_chosen():
    problem = scale_kernels(problem_of(*documents()))
    chosen, weights = choose_by_means(problem)(N_TELLING)
    assert_array_equal(chosen.kernel_indices, np.arange(N_TELLING))
    assert chosen.kernels.shape == (90, 90)
    assert weights.min() > 0
    assert np.isclose(weights.sum(), 1)
    assert chosen.combine(weights).shape == (90, 90)


def test_prototypes_around_seeds_are_means_of_the_nearest_documents():
    counts, labels = documents()
    problem = problem_of(counts, labels, np.linspace(1, 2, 90))
    kernel = problem.combine(np.ones(60))
    seeds = np.array([0, 3, 1, 2])
    prototypes = spread_prototypes(problem, kernel, seeds).toarray()
    assert_allclose(np.einsum("pi,ij,pj->p", prototypes, kernel, prototypes), 1.0)
    assert_array_equal(prototypes[:, seeds] > 0, np.eye(4))
    for place, label in ((2, 1), (3, 2)):
        own = np.flatnonzero(labels == label)
        assert_array_equal(np.flatnonzero(prototypes[place]), own)
        parts = prototypes[place, own] / problem.sample_weight[own]
        assert_allclose(parts, parts[0])
    nearer = kernel[:, 0] > kernel[:, 3]
    nearer[[0, 3]] = True, False
    assert_array_equal(prototypes[0] > 0, (labels == 0) & nearer)
