from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from imkpl.model.objective import (
    discrimination_term,
    evaluate,
    interpretability_term,
    reconstruction_term,
)
from imkpl.model.updates import kernel_costs
from model.problems import laws, make_random_case, ridges, rules, seeds, sharpnesses, slow_terms


def test_terms_of_a_case_worked_out_by_hand():
    # Two samples of one class and one of another; one prototype, in the middle of 0 and 2.
    K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 1.0]])
    prototypes = sp.csr_array([[1.0, 0.0, 1.0]])
    codes = sp.csr_array([[0.5], [0.0], [1.0]])
    weight = np.array([1.0, 3.0, 2.0])
    # ||x0 - (x0 + x2)/2||^2 = 1/2, ||x1||^2 = 1, ||x2 - x0 - x2||^2 = 1.
    assert reconstruction_term(K, prototypes, codes, weight) == 0.5 + 3.0 + 2.0
    # x0 uses itself (free) and x2 (1); x2 uses x0 (1) and itself (free).
    members = [np.array([0, 1]), np.array([2])]
    assert discrimination_term(K, prototypes, codes, members, weight) == 0.5 + 2.0
    assert interpretability_term(prototypes) == 2.0


@laws
@given(seeds, rules, sharpnesses, ridges)
def test_evaluate_carries_every_factor(seed, rule, sharpness, ridge):
    case = make_random_case(
        seed,
        rule=rule,
        n_samples=9,
        discrimination=0.7,
        separation=3.0,
        interpretability=1.3,
        sharpness=sharpness,
        ridge=ridge,
    )
    parts = evaluate(case.problem, case.state)
    expected = slow_terms(case, case.state)
    assert asdict(parts) == pytest.approx(expected, rel=1e-9)
    assert parts.total == pytest.approx(sum(expected.values()), rel=1e-9)


@laws
@given(seeds, rules)
def test_costs_give_the_terms_under_any_weights(seed, rule):
    case = make_random_case(seed, rule=rule, n_samples=9, discrimination=0.7)
    costs = kernel_costs(case.problem, case.state)
    others = np.random.default_rng(seed).dirichlet(np.ones(costs.size), size=2)
    for weights in (case.state.weights, *others):
        terms = slow_terms(case, case.state, weights)
        expected = terms["reconstruction"] + terms["discrimination"]
        assert costs @ weights == pytest.approx(expected, rel=1e-9)
