from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.updates import (
    drop_unused,
    rescale,
    reseed_unused,
    update_codes,
    update_prototypes,
    update_weights,
)
from imkpl.model.voters import update_voters
from model.problems import (
    all_settings,
    freeze,
    laws,
    make_case,
    make_random_case,
    rules,
    seeds,
    slow_terms,
    strengths,
    total,
)
from reference import objective as slow


def updates_of(problem):
    """The steps of a round: by votes, or by the paper's rule."""
    return (
        update_codes,
        update_voters if problem.settings.has_votes else update_prototypes,
        update_weights,
    )


def walk(case, n_rounds=3):
    """Every state after every single update, with the state before it."""
    state = case.state
    for _ in range(n_rounds):
        for update in updates_of(case.problem):
            new = freeze(update(case.problem, state))
            yield update, state, new
            state = new


def products(state):
    return (state.codes @ state.prototypes).toarray()


@laws
@given(all_settings)
def test_objective_never_rises(chosen):
    case = make_case(**chosen)
    for update, old, new in walk(case):
        before, after = total(case.problem, old), total(case.problem, new)
        assert after <= before + 1e-8 * max(1.0, abs(before)), update.__name__


@laws
@given(all_settings)
def test_every_update_is_feasible(chosen):
    case = make_case(**chosen)
    problem = case.problem
    for _, _, state in walk(case, 2):
        U, G = state.prototypes, state.codes
        assert U.data.min() > 0
        assert np.diff(U.indptr).max() <= problem.sparsity
        assert_allclose(np.einsum("is,st,it->i", *_dense(U, state.kernel)), 1.0, rtol=1e-8)
        assert G.data.min(initial=1.0) > 0
        assert np.diff(G.indptr).max() <= problem.settings.code_sparsity
        assert state.weights.min() >= 0
        assert state.weights.sum() == pytest.approx(1.0, rel=1e-10)
        assert_allclose(state.kernel.diagonal(), 1.0, rtol=1e-12)
        assert_array_equal(state.kernel, problem.combine(state.weights))
        for matrix in (U, G):
            assert matrix.has_canonical_format
            assert matrix.dtype == np.float64
        if problem.settings.has_votes:
            owners = problem.prototype_classes(state)
            assert_array_equal(problem.labels[U.indices], np.repeat(owners, np.diff(U.indptr)))
            assert_array_equal(np.unique(owners), np.arange(len(problem.members)))
            assert np.all(np.isfinite(state.log_strengths))
            assert state.log_strengths.shape == owners.shape
            assert state.sharpness > 0
        V = state.contrasts
        assert V.shape == U.shape
        assert np.diff(V.indptr).max() <= problem.contrast_sparsity * (problem.ridge > 0)
        if V.nnz:
            assert V.data.min() > 0
            assert np.all(problem.labels[V.indices] != np.repeat(owners, np.diff(V.indptr)))


def _dense(U, K):
    return U.toarray(), K, U.toarray()


@laws
@given(all_settings)
def test_a_random_point_is_improved_or_kept(chosen):
    case = make_random_case(**chosen)
    before = total(case.problem, case.state)
    for update in updates_of(case.problem):
        after = total(case.problem, freeze(update(case.problem, case.state)))
        assert after <= before + 1e-8 * max(1.0, abs(before)), update.__name__


@laws
@given(seeds, rules)
def test_codes_are_the_best_single_prototype(seed, rule):
    case = make_case(
        seed, rule=rule, n_samples=8, n_prototypes=4, code_sparsity=1, discrimination=0.7
    )
    problem, start = case.problem, case.state
    K, U = start.kernel, start.prototypes.toarray()
    a, labels = problem.sample_weight, problem.labels.tolist()
    found = update_codes(problem, start).codes.toarray()

    def loss(i, t, amount):
        G = np.zeros((len(K), len(U)))
        G[i, t] = amount
        return slow.reconstruction(K, U, G, a) + 0.7 * slow.discrimination(K, U, G, labels, a)

    for i in (0, 5):
        t = int(np.argmax(found[i]))
        value = loss(i, t, found[i, t])
        # A parabola in the amount: three values give its minimum.
        best = np.inf
        for other in range(len(U)):
            zero, one, two = (loss(i, other, amount) for amount in (0.0, 1.0, 2.0))
            bend, slope = (zero - 2 * one + two) / 2, 2 * one - 1.5 * zero - two / 2
            best = min(best, loss(i, other, max(0.0, -slope / (2 * bend))))
        assert value == pytest.approx(best, rel=1e-9)


@laws
@given(seeds, rules, strengths, strengths)
def test_prototypes_equal_the_step_written_out(seed, rule, discrimination, interpretability):
    case = make_random_case(
        seed,
        rule=rule,
        n_samples=8,
        n_prototypes=3,
        discrimination=discrimination,
        interpretability=interpretability,
    )
    problem, state = case.problem, case.state
    U, G = slow.update_prototypes(
        state.kernel,
        state.prototypes.toarray(),
        state.codes.toarray(),
        problem.labels.tolist(),
        problem.sample_weight,
        discrimination,
        interpretability,
        problem.sparsity,
    )
    found = update_prototypes(problem, state)
    is_used = G.any(axis=0)
    assert_allclose(found.prototypes.toarray()[is_used], U[is_used], atol=1e-8)
    assert_allclose(found.codes.toarray(), G, atol=1e-8)


def test_the_weight_step_shortens_a_step_that_is_too_long():
    # J_ip lies above its tangent: with much of it, the vertex of the linear programme overshoots.
    n_short = 0
    for seed in range(60):
        case = make_random_case(seed, rule="lp", separation=0.0, interpretability=200.0, sparsity=5)
        one_kernel = np.eye(4)[seed % 4]
        kernel = case.problem.combine(one_kernel)
        state = freeze(rescale(replace(case.state, weights=one_kernel, kernel=kernel)))
        new = update_weights(case.problem, state)
        assert total(case.problem, new) <= total(case.problem, state) * (1 + 1e-12)
        assert_array_equal(new.kernel, case.problem.combine(new.weights))
        n_short += np.count_nonzero(new.weights) > 1
    assert n_short > 3, "every step reached its vertex: nothing was tested"


@laws
@given(seeds)
def test_the_linear_programme_takes_one_kernel(seed):
    case = make_random_case(seed, rule="lp", interpretability=0.0, separation=2.0)
    new = update_weights(case.problem, case.state)
    assert np.count_nonzero(new.weights) == 1
    # No vertex of the simplex, and so no point of it, is better.
    values = [
        sum(slow_terms(case, case.state, w).values())
        for w in np.eye(case.problem.kernels.n_kernels)
    ]
    assert total(case.problem, new) == pytest.approx(min(values), rel=1e-9)


@laws
@given(seeds, rules)
def test_rescaling_keeps_products_and_makes_norms_one(seed, rule):
    case = make_random_case(seed, rule=rule)
    rng = np.random.default_rng(seed)
    K = case.problem.combine(rng.dirichlet(np.ones(case.state.weights.size)))
    new = rescale(replace(case.state, kernel=K))
    assert_allclose(np.einsum("is,st,it->i", *_dense(new.prototypes, K)), 1.0, rtol=1e-10)
    assert_allclose(products(new), products(case.state), atol=1e-12)


def make_unused(case, unused):
    codes = case.state.codes.toarray()
    codes[:, unused] = 0.0
    return freeze(replace(case.state, codes=sp.csr_array(codes)))


@laws
@given(seeds, rules)
def test_unused_prototypes_move_to_the_samples_rebuilt_worst(seed, rule):
    case = make_random_case(seed, rule=rule, n_samples=9, n_prototypes=5)
    problem, state = case.problem, make_unused(case, [1, 3])
    unused = np.flatnonzero(~state.codes.toarray().any(axis=0))
    U, K = state.prototypes.toarray(), state.kernel
    rest = np.eye(9) - products(state)
    errors = problem.sample_weight * np.einsum("is,st,it->i", rest, K, rest)
    new = reseed_unused(problem, state)
    expected = U.copy()
    expected[unused] = np.eye(9)[np.argsort(-errors)[: unused.size]]
    assert_allclose(new.prototypes.toarray(), expected)
    assert new.codes is state.codes
    assert total(problem, new) <= total(problem, state) + 1e-10
    assert new.prototypes[unused].sum() <= state.prototypes[unused].sum() + 1e-10


def test_unused_prototypes_move_to_eligible_samples():
    case = make_random_case(5, n_samples=9, n_prototypes=5)
    state = make_unused(case, [3])
    problem = replace(case.problem, is_eligible=np.arange(9) == 7)
    moved = reseed_unused(problem, state).prototypes.toarray()
    assert_array_equal(moved[3], np.arange(9) == 7)
    kept = drop_unused(state)
    assert_array_equal(kept.prototypes.toarray(), state.prototypes.toarray()[[0, 1, 2, 4]])


def test_the_prototype_step_mixes_eligible_samples_alone():
    case = make_random_case(4, n_samples=12, n_prototypes=5)
    is_eligible = np.arange(12) % 2 == 0
    state = case.state
    new = update_prototypes(replace(case.problem, is_eligible=is_eligible), state)
    is_changed = np.any(new.prototypes.toarray() != state.prototypes.toarray(), axis=1)
    assert is_changed.any()
    assert not new.prototypes.toarray()[is_changed][:, ~is_eligible].any()
