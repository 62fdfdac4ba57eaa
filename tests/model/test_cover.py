from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from imkpl.model.cover import cover_classes
from model.problems import laws, make_data, seeds


def gaussian(points):
    points = np.asarray(points, dtype=float).reshape(len(points), -1)
    return np.exp(-np.sum((points[:, None] - points) ** 2, axis=-1))


def pose(labels, weight):
    """What is read of a problem."""
    members = [np.flatnonzero(labels == q) for q in range(max(labels) + 1)]
    return SimpleNamespace(members=members, sample_weight=weight, is_eligible=None)


def random_cover(seed, n_samples=9, n_classes=3):
    rng = np.random.default_rng(seed)
    X, labels, weight = make_data(seed, n_samples, n_classes, 2)
    return gaussian(X + rng.standard_normal(X.shape)), labels, weight


def coverage(kernel, labels, weight, chosen):
    """sum_i a_i max_t K(i, t) over chosen t of the class of i; 0 where its class has none."""
    total = 0.0
    for i, a in enumerate(weight):
        total += a * max([kernel[i, t] for t in chosen if labels[t] == labels[i]], default=0.0)
    return total


def greedy_cover(kernel, labels, weight, n_prototypes):
    """One sample per class, then whichever adds most, by trying all of them."""
    chosen = []
    for q in range(max(labels) + 1):
        own = [t for t in range(len(labels)) if labels[t] == q]
        chosen.append(max(own, key=lambda t: coverage(kernel, labels, weight, [*chosen, t])))
    while len(chosen) < min(n_prototypes, len(labels)):
        left = [t for t in range(len(labels)) if t not in chosen]
        chosen.append(max(left, key=lambda t: coverage(kernel, labels, weight, [*chosen, t])))
    return chosen


@laws
@given(seeds, st.integers(1, 12))
def test_cover_equals_exhaustive_greedy(seed, n_prototypes):
    kernel, labels, weight = random_cover(seed)
    found = cover_classes(pose(labels, weight), kernel, n_prototypes)
    assert found.tolist() == greedy_cover(kernel, labels, weight, n_prototypes)
