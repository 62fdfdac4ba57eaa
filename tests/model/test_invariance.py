from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.model.objective import evaluate
from imkpl.model.updates import update_codes, update_prototypes, update_weights
from imkpl.model.voters import update_voters
from model.problems import (
    first_state,
    laws,
    make_data,
    make_problem,
    make_random_case,
    ridges,
    rules,
    seeds,
    total,
)
from reference import objective as slow


def one_round(problem, state):
    learn = update_voters if problem.settings.has_votes else update_prototypes
    for update in (update_codes, learn, update_weights):
        state = update(problem, state)
    return state


@laws
@given(seeds, rules)
def test_the_order_of_samples_permutes_the_result(seed, rule):
    X, labels, weight = make_data(seed)
    order = np.random.default_rng(seed).permutation(labels.size)
    results = []
    for index in (np.arange(labels.size), order):
        problem, _, weights = make_problem(X[index], labels[index], weight[index], rule)
        state = one_round(problem, first_state(problem, weights, 5))
        results.append((problem, state))
    (problem, plain), (permuted_problem, permuted) = results
    assert total(permuted_problem, permuted) == pytest.approx(total(problem, plain), rel=1e-7)
    assert_array_equal(permuted_problem.kernel_indices, problem.kernel_indices)
    assert_allclose(permuted.weights, plain.weights, atol=1e-6)
    assert_allclose(permuted.prototypes.toarray(), plain.prototypes.toarray()[:, order], atol=1e-6)
    assert_allclose(permuted.codes.toarray(), plain.codes.toarray()[order], atol=1e-6)


@laws
@given(seeds, rules)
def test_names_of_classes_permute_the_result(seed, rule):
    # With one prototype per code the order in which prototypes are updated cannot matter.
    X, labels, weight = make_data(seed)
    names = np.array([2, 0, 1])
    results = []
    for renamed in (labels, names[labels]):
        problem, _, weights = make_problem(X, renamed, weight, rule, code_sparsity=1)
        start = first_state(problem, weights, 5)
        results.append((problem, start, one_round(problem, start)))
    (problem, start, plain), (new_problem, new_start, renamed) = results
    assert total(new_problem, renamed) == pytest.approx(total(problem, plain), rel=1e-7)
    order = np.argsort(names[labels[start.prototypes.indices]], kind="stable")
    assert_array_equal(new_start.prototypes.indices, start.prototypes.indices[order])
    assert_allclose(renamed.weights, plain.weights, atol=1e-6)
    assert_allclose(renamed.prototypes.toarray(), plain.prototypes.toarray()[order], atol=1e-6)
    assert_allclose(renamed.codes.toarray(), plain.codes.toarray()[:, order], atol=1e-6)


@laws
@given(seeds, rules, ridges)
def test_a_round_of_votes_permutes_with_samples_and_classes(seed, rule, ridge):
    # L-BFGS adds up in the order of samples: equal up to where its rounding errors lead, with
    # contrasts to others among samples that matter little.
    X, labels, weight = make_data(seed, n_samples=20)
    order, names = np.random.default_rng(seed).permutation(20), np.array([2, 0, 1])
    settings = {"decision": "votes", "code_sparsity": 1, "ridge": ridge}
    problem, _, weights = make_problem(X, labels, weight, rule, **settings)
    start = first_state(problem, weights, 6)
    plain = one_round(problem, start)
    other_problem, _, weights = make_problem(
        X[order], names[labels[order]], weight[order], rule, **settings
    )
    other_start = first_state(other_problem, weights, 6)
    other = one_round(other_problem, other_start)
    assert total(other_problem, other_start) == pytest.approx(total(problem, start), rel=1e-6)
    limit = 1e-2 if ridge else 1e-6
    assert total(other_problem, other) == pytest.approx(total(problem, plain), rel=limit)
    owners, new_owners = problem.prototype_classes(plain), other_problem.prototype_classes(other)
    assert_array_equal(np.sort(names[owners]), new_owners)


@laws
@given(seeds, rules)
def test_the_votes_of_an_integer_weight_are_those_of_so_many_copies(seed, rule):
    case = make_random_case(seed, rule=rule, n_samples=8, sharpness=5.0)
    problem, state = case.problem, case.state
    counts = np.random.default_rng(seed).integers(1, 4, 8)
    resemblances = (state.mixes @ state.kernel).T
    owners = problem.prototype_classes(state)
    weighted = replace(problem, sample_weight=counts.astype(float))
    loss, slopes = weighted.vote_term(state.mixes, resemblances, state, owners)
    twice = np.repeat(np.arange(8), counts)
    copied = replace(problem, labels=problem.labels[twice], sample_weight=np.ones(twice.size))
    expected, parts = copied.vote_term(state.mixes, resemblances[twice], state, owners)
    assert loss == pytest.approx(expected, rel=1e-12)
    summed = np.zeros(slopes.shape)
    np.add.at(summed, twice, parts)
    assert_allclose(slopes, summed, atol=1e-12)


@laws
@given(seeds, rules)
def test_an_integer_weight_is_so_many_copies(seed, rule):
    # Codes and prototypes of a sample given twice: the same sums, whoever is summed.
    case = make_random_case(seed, rule=rule, n_samples=8)
    counts = np.random.default_rng(seed).integers(1, 4, 8)
    problem = replace(case.problem, sample_weight=counts.astype(float))
    K, U, G = case.state.kernel, case.state.prototypes.toarray(), case.state.codes.toarray()
    twice = np.repeat(np.arange(8), counts)
    first = np.searchsorted(twice, np.arange(8))
    wide = np.zeros((len(U), twice.size))
    wide[:, first] = U
    ones, labels = np.ones(twice.size), problem.labels[twice].tolist()
    copies = K[np.ix_(twice, twice)]
    expected = slow.reconstruction(copies, wide, G[twice], ones)
    expected += problem.settings.discrimination * slow.discrimination(
        copies, wide, G[twice], labels, ones
    )
    parts = evaluate(problem, case.state)
    scale = problem.scale(case.state.weights)
    assert parts.reconstruction + parts.discrimination == pytest.approx(scale * expected)
