"""Settings by cross-validation inside the training part, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

N_FOLDS = 5
# Tried in this order, each with the best values of those before it. T0 first: it sets the number of
# prototypes. Our terms count relative to the variance, so that values are not the paper's.
GRID: dict[str, tuple[float | int, ...]] = {
    "sparsity": (3, 5, 10, 20),
    "separation": (10.0, 100.0, 1000.0),
    "discrimination": (0.1, 0.5, 1.0),
    "interpretability": (0.3, 1.2, 3.0),
}


class Tuned(NamedTuple):
    """What cross-validation has found.

    Parameters
    ----------
    settings : dict
        The chosen settings.
    accuracy : float
        Their mean accuracy on the left-out parts, in per cent.
    n_fits : int
        The budget that was used.
    """

    settings: dict[str, Any]
    accuracy: float
    n_fits: int


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[Any]] = GRID,
    *,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> Tuned:
    """Settings that classify best on left-out parts of the training part.

    One setting at a time is varied over its values, the others being the best so far; the start is
    what the estimator comes with. That takes a sum of candidates in the place of a product, one
    and those values that are not in force. Of equally good values the one in force stays.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    y = np.asarray(y)
    smallest = int(np.unique(y, return_counts=True)[1].min())
    parts = StratifiedKFold(max(2, min(n_folds, smallest)), shuffle=True, random_state=seed)
    folds = list(parts.split(np.zeros(y.size), y))

    def score(settings: Mapping[str, Any]) -> float:
        accuracies = []
        for train, test in folds:
            model = clone(estimator).set_params(**settings).fit(X[train], y[train])
            accuracies.append(np.mean(model.predict(X[test]) == y[test]))
        return 100 * float(np.mean(accuracies))

    best = {name: estimator.get_params()[name] for name in grid}
    accuracy, n_candidates = score(best), 1
    for name, values in grid.items():
        others = [value for value in values if value != best[name]]
        for candidate in [{**best, name: value} for value in others]:
            found = score(candidate)
            n_candidates += 1
            if found > accuracy:
                best, accuracy = candidate, found
    return Tuned(best, accuracy, n_candidates * len(folds))
