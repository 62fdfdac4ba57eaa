"""Prototypes that are learned for the decision by votes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.separation import LinearSeparation
from imkpl.model.updates import rescale, update_codes, vote_costs
from imkpl.model.voters import VoterObjective, keep_largest, update_voters
from imkpl.model.votes import VOTE_WEIGHT
from model.problems import (
    freeze,
    laws,
    linear_kernels,
    make_case,
    make_random_case,
    pure_rows,
    rules,
    seeds,
    slow_vote_term,
    total,
)

sharpnesses = st.sampled_from([1.0, 8.0, 60.0])
shapes = st.fixed_dictionaries(
    {"n_classes": st.integers(2, 4), "n_prototypes": st.integers(2, 7), "rule": rules}
)


def is_own(problem, state):
    return problem.prototype_classes(state)[:, None] == problem.labels


def some_candidates(rng, problem, state):
    """Samples of the class of each prototype: those in it, and about half of the others."""
    is_in = state.prototypes.toarray() > 0
    return is_in | (is_own(problem, state) & (rng.random(is_in.shape) < 0.5))


def parameters_of(state, candidates):
    return np.concatenate([state.prototypes.toarray()[candidates], state.log_strengths])


def objective_over(problem, state, candidates):
    """The objective of prototypes that are made of candidates."""
    objective = VoterObjective(problem, state)
    # A search sets the candidates, and they stay.
    objective.minimize(state, candidates, 1)
    return objective


@laws
@given(seeds, shapes, sharpnesses)
def test_the_value_is_the_objective_but_for_what_prototypes_cannot_change(seed, shape, sharpness):
    case = make_random_case(seed, n_samples=12, sharpness=sharpness, **shape)
    problem, first = case.problem, case.state
    rng = np.random.default_rng(seed)
    owners = problem.prototype_classes(first)
    mixed = first.prototypes.toarray()
    for row, owner in zip(mixed, owners, strict=True):
        row[problem.members[owner]] += rng.random(problem.members[owner].size)
    moved = replace(first, prototypes=sp.csr_array(mixed), log_strengths=rng.random(owners.size))
    candidates = is_own(problem, first)
    objective = objective_over(problem, first, candidates)
    change = objective(parameters_of(moved, candidates))[0]
    change -= objective(parameters_of(first, candidates))[0]
    # Codes stay as they are, while prototypes are scaled to unit norm.
    unit = replace(rescale(moved), codes=first.codes)
    expected = total(problem, unit) - total(problem, first)
    assert change == pytest.approx(expected, rel=1e-8, abs=1e-8)


@laws
@given(seeds, shapes, sharpnesses)
def test_the_gradient_is_that_of_the_value(seed, shape, sharpness):
    case = make_random_case(seed, n_samples=12, sharpness=sharpness, **shape)
    problem, state = case.problem, case.state
    rng = np.random.default_rng(seed)
    candidates = some_candidates(rng, problem, state)
    objective = objective_over(problem, state, candidates)
    start = parameters_of(state, candidates)
    start[: -state.log_strengths.size] += 0.1
    value, gradient = objective(start)
    step = 1e-6
    for place in rng.choice(start.size, min(start.size, 12), replace=False):
        move = np.zeros(start.size)
        move[place] = step
        slope = (objective(start + move)[0] - objective(start - move)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-5 * max(1, abs(value)))


@laws
@given(seeds, rules, sharpnesses)
def test_vote_costs_are_the_tangent_in_the_kernel_weights(seed, rule, sharpness):
    case = make_random_case(seed, rule=rule, sharpness=sharpness, n_samples=9)
    problem, state = case.problem, case.state
    costs = vote_costs(problem, state)

    def value(weights):
        return VOTE_WEIGHT * slow_vote_term(problem, state, problem.combine(weights))

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
@given(seeds, st.integers(1, 4), sharpnesses)
def test_voters_are_few_samples_of_one_class_and_of_unit_norm(seed, sparsity, sharpness):
    case = make_case(seed, n_samples=20, n_prototypes=6, sparsity=sparsity, sharpness=sharpness)
    problem = case.problem
    before = freeze(update_codes(problem, case.state))
    after = update_voters(problem, before)
    U = after.prototypes.toarray()
    assert U.min() >= 0
    assert np.count_nonzero(U, axis=1).max() <= sparsity
    assert_allclose(np.einsum("is,st,it->i", U, after.kernel, U), 1.0, rtol=1e-10)
    assert_array_equal(problem.prototype_classes(after), problem.prototype_classes(before))
    assert not U[~is_own(problem, before)].any()
    assert after.codes is before.codes
    assert after.weights is before.weights


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
    case = make_case(seed, rule="lp", n_samples=16, sharpness=4.0)
    kernels = linear_kernels(case)
    kernel = kernels.combine(np.ones(1))
    assert kernel.min() < -0.5
    problem = replace(case.problem, kernels=kernels, separation_loss=LinearSeparation(np.zeros(1)))
    rows = pure_rows(np.random.default_rng(seed), problem, 5)
    state = replace(
        case.state, prototypes=rows, weights=np.ones(1), kernel=kernel, log_strengths=np.zeros(5)
    )
    state = rescale(replace(state, codes=sp.csr_array((16, 5))))
    state = update_codes(problem, state)
    found = update_voters(problem, state)
    assert total(problem, found) < total(problem, state)
    U = found.prototypes.toarray()
    assert_allclose(np.einsum("is,st,it->i", U, kernel, U), 1.0, rtol=1e-8)


def test_an_indefinite_kernel_is_no_trouble():
    # Similarities that no vectors have: a sum of samples has a negative square.
    case = make_case(0, rule="lp", n_samples=19, n_prototypes=4, sharpness=40.0)
    kernel = np.full((19, 19), -0.9) + 1.9 * np.eye(19)
    state = update_codes(case.problem, replace(case.state, kernel=kernel))
    found = update_voters(case.problem, state)
    U = found.prototypes.toarray()
    assert_allclose(np.einsum("is,st,it->i", U, kernel, U), 1.0, rtol=1e-8)
    assert total(case.problem, found) <= total(case.problem, state)
