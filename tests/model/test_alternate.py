import numpy as np
import pytest

from imkpl.model import alternate as module
from imkpl.model.alternate import alternate
from imkpl.model.objective import ObjectiveParts, evaluate
from imkpl.model.updates import update_codes, update_prototypes, update_weights
from model.problems import make_case


def parts(value):
    return ObjectiveParts(value, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def script(monkeypatch):
    """Makes the objective take the given values, whatever the updates do."""

    def play(values):
        values = iter(values)
        monkeypatch.setattr(module, "evaluate", lambda problem, state: parts(next(values)))

    return play


def count_rounds(problem, state):
    return state + 1


@pytest.mark.parametrize(
    ("tol", "n_rounds"), [(0.0, 5), (0.01, 4), (0.05, 3), (0.6, 2), (0.499, 3)]
)
def test_the_search_ends_when_the_objective_falls_by_less_than_tol(script, tol, n_rounds):
    script([10.0, 5.0, 4.9, 4.89, 4.89, 4.0])
    state, history = alternate("problem", 0, (count_rounds,), max_iter=20, tol=tol)
    assert state == n_rounds
    assert [p.total for p in history] == [10.0, 5.0, 4.9, 4.89, 4.89][:n_rounds]


def test_the_search_ends_after_max_iter(script):
    script([4.0, 3.0, 2.0, 1.0])
    state, history = alternate("problem", 0, (count_rounds,), max_iter=3, tol=0.0)
    assert state == len(history) == 3


def test_the_search_ends_when_report_says_so(script):
    script([4.0, 3.0, 2.0, 1.0])
    calls = []

    def report(state, history):
        calls.append((state, len(history), history[-1].total))
        return len(history) == 2

    _, history = alternate("problem", 0, (count_rounds,), max_iter=9, tol=0.0, report=report)
    assert len(history) == 2
    assert calls == [(1, 1, 4.0), (2, 2, 3.0)]


def test_history_falls_and_ends_at_the_returned_state():
    case = make_case(3, n_samples=20)
    updates = (update_codes, update_prototypes, update_weights)
    state, history = alternate(case.problem, case.state, updates, max_iter=6, tol=0.0)
    totals = np.array([p.total for p in history])
    assert np.all(np.diff(totals) <= 1e-9 * totals[0])
    assert history[-1] == evaluate(case.problem, state)
