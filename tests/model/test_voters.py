"""Prototypes that are learned for the decision by votes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.separation import LinearSeparation
from imkpl.model.updates import (
    interpretability_costs,
    kernel_costs,
    rescale,
    update_codes,
    vote_costs,
)
from imkpl.model.voters import STEPS, VoterObjective, keep_largest, learn_voters, update_voters
from model.problems import (
    freeze,
    laws,
    linear_kernels,
    make_case,
    make_random_case,
    pure_rows,
    ridges,
    rules,
    seeds,
    slow_terms,
    total,
)

sharpnesses = st.sampled_from([1.0, 8.0, 60.0])
shapes = st.fixed_dictionaries(
    {
        "n_classes": st.integers(2, 4),
        "n_prototypes": st.integers(2, 7),
        "rule": rules,
        "sharpness": sharpnesses,
        "ridge": ridges,
    }
)


def is_own(problem, state):
    return problem.prototype_classes(state)[:, None] == problem.labels


def candidates_of(problem, state):
    """The samples that prototypes, and contrasts, can be made of."""
    own = is_own(problem, state)
    return own, ~own & (problem.ridge > 0)


def parameters_of(state, own, other):
    return np.concatenate(
        [
            state.prototypes.toarray()[own],
            state.contrasts.toarray()[other],
            state.log_strengths,
            [np.log(state.sharpness)] if other.any() else [],
        ]
    )


def objective_over(problem, state, own, other):
    """The objective of prototypes and contrasts that are made of candidates."""
    objective = VoterObjective(problem, state)
    # A search sets the candidates, and they stay.
    objective.minimize(state, own, other, 1)
    return objective


@laws
@given(seeds, shapes)
def test_the_value_is_the_objective_but_for_what_voters_cannot_change(seed, shape):
    case = make_random_case(seed, n_samples=12, **shape)
    problem, first = case.problem, case.state
    rng = np.random.default_rng(seed)
    own, other = candidates_of(problem, first)
    moved = replace(
        first,
        prototypes=sp.csr_array(first.prototypes + own * rng.random(own.shape)),
        contrasts=sp.csr_array(first.contrasts + 0.1 * other * rng.random(own.shape)),
        log_strengths=rng.random(len(own)),
        sharpness=first.sharpness * (1.3 if other.any() else 1.0),
    )
    objective = objective_over(problem, first, own, other)
    change = objective(parameters_of(moved, own, other))[0]
    change -= objective(parameters_of(first, own, other))[0]
    # Codes stay as they are, while prototypes are scaled to unit norm.
    unit = replace(rescale(moved), codes=first.codes)
    expected = total(problem, unit) - total(problem, first)
    assert change == pytest.approx(expected, rel=1e-8, abs=1e-8)


@laws
@given(seeds, shapes)
def test_the_gradient_is_that_of_the_value(seed, shape):
    case = make_random_case(seed, n_samples=12, **shape)
    problem, state = case.problem, case.state
    rng = np.random.default_rng(seed)
    # Those in use, and about half of the others.
    own, other = (
        (used.toarray() > 0) | (may_be & (rng.random(may_be.shape) < 0.5))
        for used, may_be in zip(
            (state.prototypes, state.contrasts), candidates_of(problem, state), strict=True
        )
    )
    objective = objective_over(problem, state, own, other)
    start = parameters_of(state, own, other)
    start[: own.sum()] += 0.1
    value, gradient = objective(start)
    step = 1e-6
    # Some of all, and of the strengths and the sharpness, which come last.
    places = rng.choice(start.size, min(start.size, 12), replace=False)
    for place in {*places.tolist(), start.size - 1, start.size - 2}:
        move = np.zeros(start.size)
        move[place] = step
        slope = (objective(start + move)[0] - objective(start - move)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-5 * max(1, abs(value)))


@laws
@given(seeds, shapes)
def test_costs_are_the_tangent_of_the_objective_in_the_kernel_weights(seed, shape):
    case = make_random_case(seed, n_samples=9, **shape)
    problem, state = case.problem, case.state
    costs = kernel_costs(problem, state) + interpretability_costs(problem, state)
    costs += vote_costs(problem, state)

    def value(weights):
        moved = rescale(replace(state, weights=weights, kernel=problem.combine(weights)))
        terms = slow_terms(replace(case, rule="none"), moved)
        return sum(terms.values()) - terms["regularization"]

    step = 1e-5
    for direction in np.eye(state.weights.size):
        ahead, behind = (value(state.weights + sign * step * direction) for sign in (1, -1))
        slope = (ahead - behind) / (2 * step)
        assert costs @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_the_largest_entries_of_a_row_are_kept_and_of_equal_ones_the_first():
    rows = sp.csr_array([[0.1, 0.5, 0.5, 0.2], [0.0, 0.3, 0.0, 0.0], [0.4, 0.4, 0.4, 0.4]])
    expected = [[0.0, 0.5, 0.5, 0.0], [0.0, 0.3, 0.0, 0.0], [0.4, 0.4, 0.0, 0.0]]
    assert_array_equal(keep_largest(rows, 2).toarray(), expected)
    assert_array_equal(keep_largest(rows, 4).toarray(), rows.toarray())
    assert rows.nnz == 9


@laws
@given(seeds, shapes, st.integers(1, 4), st.booleans())
def test_voters_are_few_samples_of_one_class_against_few_of_others(seed, shape, sparsity, is_all):
    case = make_case(seed, n_samples=20, sparsity=sparsity, **shape)
    is_eligible = np.random.default_rng(seed).random(20) < 0.7
    # What a prototype starts from is eligible.
    is_eligible[case.state.prototypes.indices] = True
    problem = replace(case.problem, is_eligible=None if is_all else is_eligible)
    before = freeze(update_codes(problem, case.state))
    after = update_voters(problem, before)
    U, V = after.prototypes.toarray(), after.contrasts.toarray()
    assert min(U.min(), V.min()) >= 0
    assert np.count_nonzero(U, axis=1).max() <= sparsity
    assert np.count_nonzero(V, axis=1).max() <= problem.contrast_sparsity
    assert_allclose(np.einsum("is,st,it->i", U, after.kernel, U), 1.0, rtol=1e-10)
    assert_array_equal(problem.prototype_classes(after), problem.prototype_classes(before))
    own, other = candidates_of(problem, before)
    assert not U[~own].any()
    assert not V[~other].any()
    assert is_all or not (U + V)[:, ~is_eligible].any()
    assert after.codes is before.codes
    assert after.weights is before.weights


def test_contrasts_lower_the_objective_that_prototypes_alone_cannot():
    for seed in range(5):
        case = make_case(seed, n_samples=30, n_prototypes=3, sharpness=8.0, ridge=0.03)
        state = update_codes(case.problem, case.state)
        found = learn_voters(case.problem, state, STEPS)
        assert found.contrasts.nnz > 0
        alone = learn_voters(replace(case.problem, ridge=0.0), state, STEPS)
        assert alone.contrasts.nnz == 0
        assert alone.sharpness == state.sharpness
        assert total(case.problem, found) < total(case.problem, alone)


def test_strong_terms_leave_every_class_a_voter():
    # Discrimination and J_ip ask for less of every prototype; some then shrink to nothing.
    case = make_random_case(
        8075,
        rule="lp",
        n_samples=8,
        n_features=2,
        n_prototypes=6,
        n_neighbors=1,
        discrimination=5.0,
        separation=0.0,
        interpretability=5.0,
        sparsity=2,
        code_sparsity=3,
        sharpness=1.0,
    )
    found = update_voters(case.problem, case.state)
    assert np.diff(found.prototypes.indptr).min() >= 1
    assert total(case.problem, found) <= total(case.problem, case.state)


@pytest.mark.parametrize("seed", range(4))
def test_negative_similarities_are_part_of_the_decision(seed):
    case = make_case(seed, rule="lp", n_samples=16, sharpness=4.0, ridge=0.03 * (seed % 2))
    kernels = linear_kernels(case)
    kernel = kernels.combine(np.ones(1))
    assert kernel.min() < -0.5
    problem = replace(case.problem, kernels=kernels, separation_loss=LinearSeparation(np.zeros(1)))
    rows = pure_rows(np.random.default_rng(seed), problem, 5)
    state = replace(
        case.state,
        prototypes=rows,
        contrasts=sp.csr_array(rows.shape),
        weights=np.ones(1),
        kernel=kernel,
        log_strengths=np.zeros(5),
    )
    state = rescale(replace(state, codes=sp.csr_array((16, 5))))
    state = update_codes(problem, state)
    found = update_voters(problem, state)
    assert total(problem, found) < total(problem, state)
    U = found.prototypes.toarray()
    assert_allclose(np.einsum("is,st,it->i", U, kernel, U), 1.0, rtol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.03])
def test_an_indefinite_kernel_is_no_trouble(ridge):
    # Similarities that no vectors have: a sum of samples has a negative square.
    case = make_case(0, rule="lp", n_samples=19, n_prototypes=4, sharpness=40.0, ridge=ridge)
    kernel = np.full((19, 19), -0.9) + 1.9 * np.eye(19)
    state = update_codes(case.problem, replace(case.state, kernel=kernel))
    found = update_voters(case.problem, state)
    U = found.prototypes.toarray()
    assert_allclose(np.einsum("is,st,it->i", U, kernel, U), 1.0, rtol=1e-8)
    assert total(case.problem, found) <= total(case.problem, state)
