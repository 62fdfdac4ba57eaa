import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose

from imkpl_paper.baselines._lines import cluster_lines, multilevel_dictionary


def test_samples_on_two_lines_are_told_apart(rng):
    directions = np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    owners = np.repeat([0, 1], 8)
    X = directions[owners] * rng.uniform(-3, 3, (16, 1))
    lines, found, _ = cluster_lines(X @ X.T, 2, RandomState(0))
    assert len({*zip(owners.tolist(), found.tolist(), strict=True)}) == 2
    assert_allclose(np.abs(lines.T @ X @ directions.T).max(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_lines_have_unit_norm_and_explain_more_in_every_round(seed):
    X = np.random.default_rng(seed).standard_normal((30, 4))
    lines, owners, history = cluster_lines(X @ X.T, 3, RandomState(seed))
    assert_allclose(np.linalg.norm(lines.T @ X, axis=1), 1.0)
    assert np.all(np.diff(history) >= -1e-9)
    explained = (np.abs(X @ X.T @ lines)[np.arange(30), owners] ** 2).sum()
    assert_allclose(explained, history[-1])


def test_one_line_is_the_first_principal_direction(rng):
    X = rng.standard_normal((10, 3))
    lines, _, _ = cluster_lines(X @ X.T, 1, RandomState(0))
    direction = np.linalg.svd(X)[2][0]
    assert_allclose(np.abs(lines[:, 0] @ X @ direction), 1.0)


def test_samples_without_length_do_not_disturb(rng):
    X = rng.standard_normal((8, 3))
    X[[2, 5]] = 0
    lines, owners, _ = cluster_lines(X @ X.T, 3, RandomState(0))
    assert np.isfinite(lines).all()
    assert np.all(lines[[2, 5]] == 0)
    assert owners.max() < 3


def test_an_empty_cluster_is_filled():
    # Three lines, but after the first round all samples are nearest to fewer of them.
    X = np.array([[1.0, 0.0], [1.0, 1e-3], [1.0, -1e-3], [0.0, 1.0]])
    for seed in range(5):
        lines, owners, _ = cluster_lines(X @ X.T, 3, RandomState(seed))
        assert np.unique(owners).size == lines.shape[1]


def test_levels_explain_what_is_left(rng):
    X = rng.standard_normal((12, 6))
    kernel = X @ X.T
    atoms, levels = multilevel_dictionary(kernel, 1, 4, RandomState(0))
    assert_allclose(np.einsum("ij,ij->j", atoms, kernel @ atoms), 1.0)
    left, sizes = X.copy(), []
    for level in range(4):
        atom = (atoms.T @ X)[levels == level][0]
        left = left - np.outer(left @ atom, atom)
        sizes.append((left**2).sum())
    # One line per level is a principal component at a time.
    values = np.linalg.svd(X, compute_uv=False) ** 2
    assert_allclose(sizes, values.sum() - np.cumsum(values)[:4])


def test_levels_end_when_nothing_is_left(rng):
    X = rng.standard_normal((9, 2))
    atoms, levels = multilevel_dictionary(X @ X.T, 1, 8, RandomState(0))
    assert list(levels) == [0, 1]
    assert atoms.shape == (9, 2)
