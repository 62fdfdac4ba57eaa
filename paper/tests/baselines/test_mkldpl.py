from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from baselines.problems import make_kernels, numerical_gradient
from imkpl_paper.baselines._mkldpl import (
    AnalysisSystem,
    Coordinates,
    Pair,
    Strengths,
    bound_atoms,
    pair_cost,
    pair_errors,
    response_gradient,
    shrink_singular_values,
    update_analysis,
    update_pair_codes,
    update_synthesis,
)

STRENGTHS = Strengths(fidelity=0.05, suppression=0.003, rank=1e-4)


@pytest.fixture
def problem(rng):
    kernels, stack = make_kernels(rng, n_samples=14)
    kernel = stack.mean(axis=0)
    coordinates = Coordinates.of(kernel)
    members = np.arange(8)
    atoms = bound_atoms(rng.standard_normal((8, 3)), kernel[:8, :8])
    analysis = coordinates.points[:, :3].T
    pair = Pair(members, atoms, rng.standard_normal((3, 8)), analysis)
    return kernels, kernel, coordinates, pair


def test_coordinates_give_the_kernel_and_translate_both_ways(problem, rng):
    _, kernel, coordinates, _ = problem
    Z = coordinates.points
    assert_allclose(Z.T @ Z, kernel, atol=1e-10)
    assert_allclose(Z @ Z.T, np.diag(coordinates.variances), atol=1e-10)
    analysis = rng.standard_normal((3, Z.shape[0]))
    mixes = coordinates.to_mixes(analysis)
    assert_allclose(mixes @ kernel, analysis @ Z, atol=1e-10)
    assert_allclose(coordinates.from_mixes(mixes), analysis, atol=1e-9)


def test_the_nuclear_norm_is_that_of_the_operator_in_feature_space(problem, rng):
    _, kernel, coordinates, _ = problem
    mixes = rng.standard_normal((3, 14))
    # The singular values of B Phi' are the roots of the eigenvalues of B K B'.
    expected = np.sqrt(np.linalg.eigvalsh(mixes @ kernel @ mixes.T))
    found = np.linalg.svd(coordinates.from_mixes(mixes), compute_uv=False)
    assert_allclose(np.sort(found), np.sort(expected))


def test_codes_are_stationary(problem):
    _, kernel, coordinates, pair = problem
    points = coordinates.points
    own = points[:, pair.members]
    updated = update_pair_codes(pair, kernel, own, STRENGTHS.fidelity)
    gradient = numerical_gradient(
        lambda codes: pair_cost(replace(updated, codes=codes), kernel, points, STRENGTHS),
        updated.codes,
    )
    assert np.abs(gradient).max() < 1e-7
    assert pair_cost(updated, kernel, points, STRENGTHS) < pair_cost(
        pair, kernel, points, STRENGTHS
    )


@pytest.mark.parametrize("fidelity", [0.05, 0.003, 0.001])
def test_the_short_inverse_is_the_direct_one(problem, rng, fidelity):
    _, _, coordinates, pair = problem
    w, own = coordinates.variances, coordinates.points[:, pair.members]
    strengths = Strengths(fidelity, 0.003, 1e-4)
    M = rng.standard_normal((3, w.size))
    matrix = 2 * 0.003 * np.diag(w) + 2 * (fidelity - 0.003) * own @ own.T + 1e-3 * np.eye(w.size)
    found = AnalysisSystem(w, own, strengths).solve(M)
    assert_allclose(found, M @ np.linalg.inv(matrix), rtol=1e-7, atol=1e-7)


def test_singular_values_are_shrunk_to_the_nearest_matrix_of_small_nuclear_norm(rng):
    matrix = rng.standard_normal((3, 6))
    shrunk = shrink_singular_values(matrix, 0.5)
    values = np.linalg.svd(matrix, compute_uv=False)
    expected = np.maximum(values - 0.5, 0)
    assert_allclose(np.linalg.svd(shrunk, compute_uv=False), expected, atol=1e-12)

    def cost(x):
        return 0.5 * ((x - matrix) ** 2).sum() + 0.5 * np.linalg.svd(x, compute_uv=False).sum()

    for _ in range(20):
        assert cost(shrunk) <= cost(shrunk + 0.05 * rng.standard_normal((3, 6)))


@pytest.mark.parametrize("rank", [0.0, 1e-4, 1e-2])
def test_the_analysis_step_lowers_the_cost(problem, rank):
    _, kernel, coordinates, pair = problem
    strengths = replace(STRENGTHS, rank=rank)
    points = coordinates.points
    system = AnalysisSystem(coordinates.variances, points[:, pair.members], strengths)
    pair = update_pair_codes(pair, kernel, system.own, 0.05)
    updated = update_analysis(pair, system, strengths)
    assert pair_cost(updated, kernel, points, strengths) < pair_cost(
        pair, kernel, points, strengths
    )


def test_without_a_rank_penalty_the_analysis_becomes_stationary(problem):
    _, kernel, coordinates, pair = problem
    strengths = replace(STRENGTHS, rank=0.0)
    own = coordinates.points[:, pair.members]
    system = AnalysisSystem(coordinates.variances, own, strengths)
    for _ in range(30):
        pair = update_analysis(pair, system, strengths)
    gradient = numerical_gradient(
        lambda analysis: pair_cost(
            replace(pair, analysis=analysis), kernel, coordinates.points, strengths
        ),
        pair.analysis,
    )
    assert np.abs(gradient).max() < 1e-6


def test_synthesis_atoms_are_the_best_of_norm_one_or_less(problem):
    _, kernel, coordinates, pair = problem
    pair = update_pair_codes(pair, kernel, coordinates.points[:, pair.members], 0.05)
    own = kernel[:8, :8]

    def cost(atoms):
        residual = np.eye(8) - atoms.reshape(8, 3) @ pair.codes
        return np.vdot(residual, own @ residual)

    updated = update_synthesis(pair, kernel)
    norms = np.einsum("ij,ij->j", updated.atoms, own @ updated.atoms)
    assert np.all(norms <= 1 + 1e-9)
    reference = minimize(
        cost,
        pair.atoms.ravel(),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda a: 1 - np.einsum("ij,ij->j", a.reshape(8, 3), own @ a.reshape(8, 3)),
        },
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert cost(updated.atoms) <= 1.001 * reference.fun
    assert cost(updated.atoms) <= cost(pair.atoms)


def test_the_gradient_in_the_kernel_is_that_of_the_analysis_terms(problem):
    kernels, kernel, coordinates, pair = problem
    other = Pair(np.arange(8, 14), np.eye(6)[:, :2], np.ones((2, 6)), coordinates.points[:, :2].T)
    pairs = [pair, other]
    mixes = [coordinates.to_mixes(p.analysis) for p in pairs]
    weights = np.full(5, 0.2)

    def terms(b):
        total = 0.0
        for p, mix in zip(pairs, mixes, strict=True):
            responses = mix @ kernels.combine(b)
            responses[:, p.members] -= p.codes
            factors = np.where(np.isin(np.arange(14), p.members), 0.05, 0.003)
            total += (factors * responses**2).sum()
        return total

    matrix = response_gradient(pairs, mixes, STRENGTHS, kernel)
    assert_allclose(kernels.contract(matrix), numerical_gradient(terms, weights), rtol=1e-6)


def test_the_error_matrix_gives_the_reconstruction_errors(problem):
    kernels, kernel, _, pair = problem
    residual = pair.residual
    found = kernels.contract(pair_errors([pair], 14)).mean()
    assert_allclose(found, np.trace(residual.T @ kernel[:8, :8] @ residual))
