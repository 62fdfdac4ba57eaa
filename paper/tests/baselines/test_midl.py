from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from baselines.problems import make_kernels, numerical_gradient
from imkpl_paper.baselines._midl import (
    ClassDictionary,
    class_cost,
    cross_gradient,
    error_matrix,
    scale_atoms,
    update_atoms,
    update_codes,
)


@pytest.fixture
def problem(rng):
    kernels, stack = make_kernels(rng, n_samples=14)
    kernel = stack.mean(axis=0)
    members = np.arange(8)
    part = ClassDictionary(
        members, np.arange(8, 14), rng.standard_normal((8, 3)), rng.standard_normal((3, 8))
    )
    return kernels, stack, kernel, part


def test_the_cost_is_error_plus_mean_similarity_to_others(problem):
    _, _, kernel, part = problem
    # Explicit feature vectors of the kernel.
    values, vectors = np.linalg.eigh(kernel)
    features = (vectors * np.sqrt(np.maximum(values, 0))).T
    own, others = features[:, :8], features[:, 8:]
    atoms = own @ part.atoms
    error = ((own - atoms @ part.codes) ** 2).sum()
    similarity = 8 * ((atoms.T @ others) ** 2).mean()
    assert_allclose(class_cost(part, kernel, 0.3), error + 0.3 * similarity)


def test_atoms_are_stationary(problem):
    _, _, kernel, part = problem
    updated = update_atoms(part, kernel, 0.5)
    gradient = numerical_gradient(
        lambda atoms: class_cost(replace(updated, atoms=atoms), kernel, 0.5), updated.atoms
    )
    scale = numerical_gradient(
        lambda atoms: class_cost(replace(part, atoms=atoms), kernel, 0.5), part.atoms
    )
    assert np.abs(gradient).max() < 1e-4 * np.abs(scale).max()
    assert class_cost(updated, kernel, 0.5) < class_cost(part, kernel, 0.5)


def test_scaling_leaves_reconstructions_alone(problem):
    _, _, kernel, part = problem
    scaled = scale_atoms(part, kernel)
    assert_allclose(np.einsum("ij,ij->j", scaled.atoms, scaled.own(kernel) @ scaled.atoms), 1.0)
    assert_allclose(scaled.atoms @ scaled.codes, part.atoms @ part.codes)


def test_atoms_without_length_become_the_samples_that_are_rebuilt_worst(problem):
    _, _, kernel, part = problem
    atoms = part.atoms.copy()
    atoms[:, 1] = 0
    dead = replace(part, atoms=atoms)
    residual = dead.residual
    worst = np.argmax(np.diag(residual.T @ dead.own(kernel) @ residual))
    revived = scale_atoms(dead, kernel)
    assert_allclose(revived.atoms[:, 1], np.eye(8)[worst])
    assert_allclose(revived.atoms @ revived.codes, atoms @ part.codes)


def test_codes_of_full_length_do_not_raise_the_cost(problem):
    _, _, kernel, part = problem
    scaled = scale_atoms(part, kernel)
    coded = update_codes(scaled, kernel, 3)
    assert class_cost(coded, kernel, 0.5) <= class_cost(scaled, kernel, 0.5)
    assert np.count_nonzero(update_codes(scaled, kernel, 1).codes, axis=0).max() == 1


def test_the_error_matrix_gives_the_errors_of_every_kernel(problem):
    kernels, stack, _, part = problem
    expected = [class_cost(part, K, 0.0) for K in stack]
    assert_allclose(kernels.contract(error_matrix([part], 14)), expected)


def test_the_gradient_in_the_kernel_is_that_of_the_cross_term(problem):
    kernels, _, _, part = problem
    other = replace(part, members=part.others, others=part.members, atoms=part.atoms[:6])
    weights = np.full(5, 0.2)

    def cross_term(b):
        kernel = kernels.combine(b)
        return sum(
            0.7 * p.balance * ((p.atoms.T @ p.cross(kernel)) ** 2).sum() for p in (part, other)
        )

    matrix = cross_gradient([part, other], 0.7, kernels.combine(weights))
    expected = numerical_gradient(cross_term, weights)
    assert_allclose(kernels.contract(matrix), expected, rtol=1e-6)
