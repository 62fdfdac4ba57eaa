"""DR of codes of few prototypes, beside that of prototypes drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl.kernels import resolve_bank
from imkpl.measures import discrimination_score
from imkpl.solvers import solve_nqp_batch
from imkpl_paper._imkpl import FloatArray

# Codes of at most so many prototypes are measured beside those of the model. The paper ends a code
# at an error that it does not give, and short codes are one reading of that.
LENGTHS = (1, 2, 3)


def discrimination_by_length(
    gram: FloatArray, similarities: FloatArray, y: Any, prototype_classes: Any, longest: int
) -> dict[str, float]:
    """DR by the largest number of prototypes per code: `dr_1` and so on, and `dr` for `longest`."""
    found = {}
    for name, length in [*((f"dr_{n}", n) for n in LENGTHS), ("dr", longest)]:
        codes = solve_nqp_batch(gram, -2 * similarities, length, scale=2.0).x
        found[name] = discrimination_score(codes, y, prototype_classes)
    return found


def measure_short_codes(model: Any, X: Any, y: Any) -> dict[str, float]:
    """DR of a fitted model of ours by the length of codes."""
    gram, similarities = model._predictor.encoder.gram, model._ask("compare", X).similarities
    return discrimination_by_length(
        gram, similarities, y, model.prototype_classes_, model.code_sparsity
    )


def measure_control(
    model: Any, kernels: Any, train: Any, y_train: Any, X: Any, y: Any, seed: int
) -> dict[str, float]:
    """The same of random samples as prototypes, as many of each class as the model has.

    They are compared by as many kernels as the model keeps, drawn at random, with equal weights.
    """
    rng = np.random.default_rng(seed)
    bound = resolve_bank(kernels).on(train)
    n_kernels = np.count_nonzero(model.kernel_weights_)
    chosen = np.sort(rng.choice(bound.n_kernels, n_kernels, replace=False))
    owners, counts = np.unique(model.prototype_classes_, return_counts=True)
    drawn = [
        rng.choice(np.flatnonzero(y_train == owner), min(count, (y_train == owner).sum()), False)
        for owner, count in zip(owners, counts, strict=True)
    ]
    support, weights = np.concatenate(drawn), np.full(n_kernels, 1 / n_kernels)
    some = bound.select(chosen).take(support)
    similarities = some.cross(X).combine(weights)
    found = discrimination_by_length(
        some.combine(weights), similarities, y, y_train[support], model.code_sparsity
    )
    return {f"control_{name}": value for name, value in found.items()}
