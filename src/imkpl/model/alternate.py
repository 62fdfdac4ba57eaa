"""Algorithm 1: codes, prototypes and weights in turn, until the objective stops falling."""

from collections.abc import Callable, Sequence

from imkpl.model.objective import ObjectiveParts, evaluate
from imkpl.model.problem import Problem, State

Update = Callable[[Problem, State], State]


def alternate(
    problem: Problem,
    state: State,
    updates: Sequence[Update],
    *,
    max_iter: int,
    tol: float,
    report: Callable[[State, list[ObjectiveParts]], bool] | None = None,
) -> tuple[State, list[ObjectiveParts]]:
    """Run the updates in turn until the objective settles or `report` of a round returns True."""
    history: list[ObjectiveParts] = []
    for _ in range(max_iter):
        for update in updates:
            state = update(problem, state)
        history.append(evaluate(problem, state))
        if (report is not None and report(state, history)) or is_settled(history, tol):
            break
    return state, history


def is_settled(history: Sequence[ObjectiveParts], tol: float) -> bool:
    """Whether the last round lowered the objective by at most `tol` of itself."""
    if len(history) < 2:
        return False
    before, after = history[-2].total, history[-1].total
    return before - after <= tol * abs(before)
