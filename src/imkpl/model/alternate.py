"""Algorithm 1: codes, prototypes and weights in turn, until the objective stops falling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from imkpl.model.objective import ObjectiveParts, evaluate
from imkpl.model.problem import Problem
from imkpl.model.state import State

Update = Callable[[Problem, State], State]


def alternate(
    problem: Problem,
    state: State,
    updates: Sequence[Update],
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, State, ObjectiveParts], bool] | None = None,
    before: Sequence[ObjectiveParts] = (),
) -> tuple[State, list[ObjectiveParts]]:
    """Run the updates in turn until one round lowers the objective by less than `tol` of itself.

    Parameters
    ----------
    problem : Problem
        What is fixed.
    state : State
        Where to start.
    updates : sequence of functions (problem, state) -> state
        One round. Each must not raise the objective.
    max_iter : int
        At most so many rounds.
    tol : float
        Relative decrease below which the search ends.
    report : function (iteration, state, parts) -> bool, optional
        Called after every round; true ends the search.
    before : sequence of ObjectiveParts, optional
        The terms after the rounds that led to the state, where a search is taken up again.

    Returns
    -------
    state : State
        Where the search ended.
    history : list of ObjectiveParts
        The terms after every round.
    """
    history = list(before)
    if is_settled(history, tol):
        return state, history
    for iteration in range(len(history), max_iter):
        for update in updates:
            state = update(problem, state)
        history.append(evaluate(problem, state))
        if report is not None and report(iteration, state, history[-1]):
            break
        if is_settled(history, tol):
            break
    return state, history


def is_settled(history: Sequence[ObjectiveParts], tol: float) -> bool:
    """Whether the last round lowered the objective by at most `tol` of itself.

    Parameters
    ----------
    history : sequence of ObjectiveParts
        The terms after every round.
    tol : float
        The relative decrease.

    Returns
    -------
    bool
        True at the end of the search; false before there are two rounds to compare.
    """
    if len(history) < 2:
        return False
    before, after = history[-2].total, history[-1].total
    return before - after <= tol * abs(before)
