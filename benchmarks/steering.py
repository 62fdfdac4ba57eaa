"""What constraints cost: test accuracy with and without them, for docs/steering.md.

Five stratified splits of 80 % to fit and 20 % to test, with the seeds 0 to 4. The three best
features are those of largest weight in the fit without constraints; halves and required features
are drawn with the seed of the split. Settings are the defaults but for the constraints.

    IMKPL_DATA=folder python benchmarks/steering.py breast_cancer TOX_171
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from imkpl import IMKPL
from quality import load

FREE = "no constraints"


def fit_all(X: Any, y: Any, seed: int) -> dict[str, IMKPL]:
    """A model for every constraint."""
    rng, free = np.random.default_rng(seed), IMKPL().fit(X, y)
    weights = free.feature_importances_
    best = np.argsort(-weights, kind="stable")[:3].tolist()
    half = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        half[own[: own.size // 2]] = True
    useless = rng.choice(np.flatnonzero(weights == 0), 3, replace=False).tolist()
    both = IMKPL(exclude=best, require=useless)
    return {
        FREE: free,
        "`exclude` the three best features": IMKPL(exclude=best).fit(X, y),
        "`require` three features that had no weight": IMKPL(require=useless).fit(X, y),
        "`eligible`: a random half of each class": IMKPL().fit(X, y, eligible=half),
        "all of these": both.fit(X, y, eligible=half),
    }


def main(names: list[str]) -> None:
    """A line per data set and constraint."""
    warnings.simplefilter("ignore")
    for name in names:
        X, y = load(name)
        found: dict[str, list[tuple[float, int, int]]] = {}
        for seed in range(5):
            parts = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
            for constraint, model in fit_all(parts[0], parts[2], seed).items():
                sizes = model.prototypes_.shape[0], int(np.count_nonzero(model.kernel_weights_))
                found.setdefault(constraint, []).append((model.score(parts[1], parts[3]), *sizes))
        for constraint, rows in found.items():
            scores, n_prototypes, n_features = np.transpose(rows)
            costs = 100 * (np.transpose(found[FREE])[0] - scores)
            print(
                f"| {name} | {constraint} | {100 * scores.mean():.1f} | {costs.mean():.1f} "
                f"± {costs.std(ddof=1) / np.sqrt(costs.size):.1f} | {n_features.mean():.0f} | "
                f"{n_prototypes.mean():.0f} |"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
