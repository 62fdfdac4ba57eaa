"""A problem combines and selects kernels, in single precision if there are many."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

from imkpl import IMKPL, ISKPL
from imkpl.model import kernel_choice as module
from imkpl.model.problem import Settings
from model.problems import make_case, make_random_case


def test_scale_is_the_diagonal_of_the_combined_kernel():
    case = make_random_case(3, rule="margin")
    problem, weights = case.problem, case.state.weights
    assert_allclose(problem.kernels.combine(weights).diagonal(), problem.scale(weights))
    assert problem.scale(weights) > 1
    assert_allclose(problem.combine(weights).diagonal(), 1.0)
    plain = make_random_case(3, rule="lp")
    assert plain.problem.scale(plain.state.weights) == pytest.approx(1.0)


def test_problem_select_cuts_kernels_names_and_loss_alike():
    case = make_case(0, rule="lp", n_features=5)
    problem = case.problem
    chosen = np.array([2, 0])
    small = problem.select(chosen)
    w = np.array([0.3, 0.7])
    wide = np.zeros(problem.kernels.n_kernels)
    wide[chosen] = w
    assert small.kernel_indices.tolist() == problem.kernel_indices[chosen].tolist()
    assert_allclose(small.combine(w), problem.combine(wide), atol=1e-14)
    assert small.separation_loss.value(w) == pytest.approx(problem.separation_loss.value(wide))
    assert_allclose(small.diagonals, problem.diagonals[chosen])


def test_large_problems_are_combined_in_single_precision(monkeypatch):
    problem = make_case(rule="lp").problem
    assert module.compare_kernels(problem).problem.dtype == np.float64
    monkeypatch.setattr(module, "MANY_VALUES", problem.labels.size**2 * problem.kernels.n_kernels)
    single = module.compare_kernels(replace(problem, settings=Settings(weight_rule="lp")))
    assert single.problem.dtype == np.float32
    assert single.average.dtype == np.float64
    assert_allclose(single.average, problem.average(), atol=1e-6)
    assert np.any(single.average != problem.average())
    assert single.problem.select(np.array([0])).dtype == np.float32


def test_the_model_is_the_same(monkeypatch):
    X, y = make_blobs(300, 6, centers=6, cluster_std=3.0, random_state=0)
    X, y, new = X[::2], y[::2] % 3, X[1::2]
    for kind in (IMKPL, ISKPL):
        double = kind(sparsity=4, n_prototypes=6, contrast=False).fit(X, y)
        monkeypatch.setattr(module, "MANY_VALUES", 1)
        single = kind(sparsity=4, n_prototypes=6, contrast=False).fit(X, y)
        monkeypatch.undo()
        assert_allclose(single.kernel_weights_, double.kernel_weights_, atol=5e-4)
        assert_allclose(single.predict_proba(new), double.predict_proba(new), atol=0.02)
