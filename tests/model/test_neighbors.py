import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.neighbors import find_neighborhoods
from model.problems import laws, pairs, seeds


def similar_points(seed, n_samples, n_classes, n_values=None):
    """A kernel and labels; few distinct values make ties."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal(n_samples)
    if n_values is not None:
        points = rng.integers(0, n_values, n_samples).astype(float)
    labels = np.concatenate((np.arange(n_classes), rng.integers(0, n_classes, n_samples)))
    return np.exp(-((points[:, None] - points) ** 2)), rng.permutation(labels[:n_samples])


def nearest(kernel, i, candidates, n_kept):
    """The most similar candidates, the first of equals."""
    return sorted(candidates, key=lambda s: (-kernel[i, s], s))[:n_kept]


def brute_force(kernel, labels, n_same, n_other):
    same, other = [], []
    for i in range(len(labels)):
        mates = [s for s in range(len(labels)) if labels[s] == labels[i] and s != i]
        rest = [s for s in range(len(labels)) if labels[s] != labels[i]]
        same += [(i, s) for s in nearest(kernel, i, mates or [i], n_same)]
        other += [(i, s) for s in nearest(kernel, i, rest, n_other)]
    return same, other


@laws
@given(
    seeds,
    st.integers(4, 15),
    st.integers(2, 4),
    st.integers(1, 20),
    st.integers(1, 20),
    st.sampled_from([None, 1, 3]),
)
def test_neighborhoods_equal_brute_force(seed, n_samples, n_classes, n_same, n_other, n_values):
    kernel, labels = similar_points(seed, n_samples, n_classes, n_values)
    found = find_neighborhoods(kernel, labels, n_same, n_other)
    same, other = brute_force(kernel, labels, n_same, n_other)
    assert pairs(found.same) == same
    assert pairs(found.other) == other
    for listed in (found.same, found.other):
        assert listed.n_samples == n_samples
        assert_allclose(np.bincount(listed.rows, listed.parts), 1.0)


@laws
@given(seeds, st.integers(4, 30), st.integers(2, 4), st.data())
def test_listed_samples_have_the_neighbours_that_they_have_among_all(seed, n_samples, n, data):
    kernel, labels = similar_points(seed, n_samples, n, 5)
    chosen = data.draw(st.sets(st.integers(0, n_samples - 1), min_size=1).map(sorted))
    everyone = find_neighborhoods(kernel, labels, 2, 3)
    found = find_neighborhoods(kernel, labels, 2, 3, np.array(chosen))
    for all_pairs, some in ((everyone.same, found.same), (everyone.other, found.other)):
        assert pairs(some) == [pair for pair in pairs(all_pairs) if pair[0] in chosen]
        assert some.n_samples == n_samples


def test_a_kernel_counts_together_with_itself_in_another_order(rng):
    kernel, labels = rng.random((20, 20)), rng.integers(0, 3, 20)
    order = rng.permutation(20)
    found = find_neighborhoods(kernel, labels, 3, 4, order=order)
    expected = find_neighborhoods(kernel + kernel[np.ix_(order, order)], labels, 3, 4)
    for name in ("same", "other"):
        assert_array_equal(getattr(found, name).columns, getattr(expected, name).columns)
