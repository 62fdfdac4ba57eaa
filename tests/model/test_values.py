"""Targets that are values: the objective, its gradient, and votes for two sides."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from imkpl.model.objective import discrimination_term, evaluate
from imkpl.model.problem import agree
from imkpl.model.updates import (
    interpretability_costs,
    kernel_costs,
    rescale,
    update_codes,
    update_weights,
    vote_costs,
)
from imkpl.model.voters import VoterObjective, update_voters
from imkpl.model.votes import ValueVotes
from model.problems import freeze, laws, make_random_case, ridges, seeds, total

shapes = st.fixed_dictionaries(
    {"n_classes": st.integers(2, 4), "n_prototypes": st.integers(2, 6), "ridge": ridges}
)


def make_values(seed, sharpness=8.0, **shape):
    """A case whose classes are bins of values, with levels of the prototypes."""
    case = make_random_case(seed, n_samples=12, sharpness=sharpness, **shape)
    rng = np.random.default_rng(seed)
    values = case.problem.labels + rng.uniform(0, 0.9, 12)
    values = (values - values.mean()) / values.std()
    problem = replace(case.problem, values=values)
    levels = problem.first_levels(problem.prototype_classes(case.state))
    levels = levels + 0.1 * rng.standard_normal(levels.size)
    return problem, freeze(replace(case.state, levels=levels))


def test_discrimination_is_the_term_of_the_paper_with_squared_differences_of_values():
    problem, state = make_values(3, n_classes=3, n_prototypes=4, ridge=0.0)
    K, U, G = state.kernel, state.prototypes.toarray(), state.codes.toarray()
    z, expected = problem.values, 0.0
    for i, weight in enumerate(problem.sample_weight):
        for s, amount in enumerate(G[i] @ U):
            apart = min(2.0, (z[i] - z[s]) ** 2)
            near = 1 - apart / 2
            expected += 0.5 * weight * amount * (near * (2 - 2 * K[i, s]) + apart)
    found = discrimination_term(
        K, state.prototypes, state.codes, problem.agreement, problem.sample_weight
    )
    assert found == pytest.approx(expected)
    # Of classes the same formula is the paper's.
    labels = problem.labels
    assert_allclose(agree(labels[:, None], labels), labels[:, None] == labels)


@laws
@given(seeds, shapes)
def test_the_gradient_is_that_of_the_value(seed, shape):
    problem, state = make_values(seed, **shape)
    own = problem.prototype_classes(state)[:, None] == problem.labels
    other = ~own & (problem.ridge > 0)
    objective = VoterObjective(problem, state)
    objective.minimize(state, own, other, 1)
    parts = [state.prototypes.toarray()[own] + 0.1, state.contrasts.toarray()[other]]
    parts += [state.log_strengths, [np.log(state.sharpness)] * bool(other.any()), state.levels]
    start = np.concatenate(parts)
    value, gradient = objective(start)
    rng, step = np.random.default_rng(seed), 1e-6
    places = rng.choice(start.size, 8).tolist()
    for place in {*places, *range(start.size - state.levels.size - 2, start.size)}:
        move = step * (np.arange(start.size) == place)
        slope = (objective(start + move)[0] - objective(start - move)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-5 * max(1, abs(value)))


@laws
@given(seeds, shapes)
def test_costs_are_the_tangent_of_the_objective_in_the_kernel_weights(seed, shape):
    problem, state = make_values(seed, **shape)
    costs = kernel_costs(problem, state) + interpretability_costs(problem, state)
    costs += vote_costs(problem, state)

    def value(weights):
        moved = rescale(replace(state, weights=weights, kernel=problem.combine(weights)))
        terms = evaluate(problem, moved)
        return terms.total - terms.regularization - terms.separation

    step = 1e-5
    for direction in np.eye(state.weights.size):
        ahead, behind = (value(state.weights + sign * step * direction) for sign in (1, -1))
        slope = (ahead - behind) / (2 * step)
        assert costs @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)


@laws
@given(seeds, shapes)
def test_no_update_raises_the_objective(seed, shape):
    problem, state = make_values(seed, **shape)
    for update in (update_codes, update_voters, update_weights) * 2:
        after = update(problem, state)
        assert total(problem, after) <= total(problem, state) * (1 + 1e-9)
        state = after
    assert state.levels.min() >= problem.values.min()
    assert state.levels.max() <= problem.values.max()
    assert sp.issparse(state.prototypes)


@laws
@given(seeds, st.integers(2, 6), st.sampled_from([0.5, 8.0, 300.0]))
def test_an_estimate_lies_between_its_sides_as_the_lead_says(seed, n_prototypes, sharpness):
    rng = np.random.default_rng(seed)
    levels, bonuses = rng.normal(size=n_prototypes), rng.random(n_prototypes)
    votes = ValueVotes(np.zeros(n_prototypes, int), bonuses, sharpness, levels)
    similarities = rng.random((9, n_prototypes))
    weights = np.exp(sharpness * (similarities + bonuses - 2))
    expected = weights @ levels / weights.sum(axis=1)
    found, (low, high) = votes.estimate(similarities), votes.ends(similarities).T
    assert_allclose(found, expected)
    sides, scores = votes.sides(similarities), votes.scores(similarities)
    # Both sides have a prototype, also where one has nearly all votes.
    assert np.all(sides.any(axis=1) & ~sides.all(axis=1))
    assert np.all((low <= found + 1e-9) & (found <= high + 1e-9))
    share = 1 / (1 + np.exp(-sharpness * (scores[:, 1] - scores[:, 0])))
    assert_allclose(low + share * (high - low), found, atol=1e-9)
    assert_allclose(votes.parts(similarities).sum(axis=1), 2.0)
