import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from imkpl_paper.baselines._readers import levelwise_pursuit, orthogonal_pursuit


def make_atoms(rng, n_atoms=7, n_dimensions=10, n_samples=6):
    atoms = rng.standard_normal((n_atoms, n_dimensions))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    samples = rng.standard_normal((n_samples, n_dimensions))
    return atoms, samples


def test_all_atoms_give_least_squares(rng):
    atoms, samples = make_atoms(rng)
    codes = orthogonal_pursuit(atoms @ atoms.T, samples @ atoms.T, 20)
    assert_allclose(codes, np.linalg.lstsq(atoms.T, samples.T)[0].T, atol=1e-9)


def test_equal_atoms_are_not_both_chosen(rng):
    atoms, samples = make_atoms(rng, n_atoms=3)
    atoms = np.concatenate([atoms, atoms])
    codes = orthogonal_pursuit(atoms @ atoms.T, samples @ atoms.T, 6)
    assert np.count_nonzero(codes, axis=1).max() <= 3
    assert np.abs(codes).max() < 100


def test_a_sample_that_is_an_atom_or_nothing_has_a_code_of_one_or_none(rng):
    atoms, _ = make_atoms(rng)
    samples = np.stack([atoms[2], np.zeros(10)])
    codes = orthogonal_pursuit(atoms @ atoms.T, samples @ atoms.T, 5)
    assert_allclose(codes[0], np.eye(7)[2], atol=1e-9)
    assert_array_equal(codes[1], 0.0)


def test_the_levelwise_pursuit_subtracts_one_atom_of_every_level(rng):
    atoms, samples = make_atoms(rng)
    levels = np.array([0, 1, 0, 2, 1, 0, 2])
    codes = levelwise_pursuit(atoms @ atoms.T, samples @ atoms.T, levels)
    for sample, code in zip(samples, codes, strict=True):
        left, expected = sample.copy(), np.zeros(7)
        for level in range(3):
            candidates = np.flatnonzero(levels == level)
            best = candidates[np.argmax(np.abs(atoms[candidates] @ left))]
            expected[best] = atoms[best] @ left
            left -= expected[best] * atoms[best]
        assert_allclose(code, expected, atol=1e-12)
        assert np.linalg.norm(left) <= np.linalg.norm(sample)
