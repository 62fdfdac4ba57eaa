"""What a model gives away about the records that it was fitted to: a membership test."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from imkpl._typing import FloatArray
from imkpl.model.predictor import Predictor

# Quantile of the normal distribution for intervals of 95 %.
QUANTILE = 1.959964


def find_auc(inside: FloatArray, outside: FloatArray) -> tuple[float, float, float]:
    """How often a score is larger for one of `inside` than for one of `outside`, with an interval.

    Ties count half; the interval is DeLong's, at 95 %.

    Examples
    --------
    >>> find_auc(np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0]))
    (1.0, 1.0, 1.0)
    >>> find_auc(np.ones(4), np.ones(4))
    (0.5, 0.5, 0.5)
    """
    m, n = inside.size, outside.size
    ranks = rankdata(np.concatenate([inside, outside]))
    # The share of the others that each one exceeds, or is exceeded by.
    above = (ranks[:m] - rankdata(inside)) / n
    below = 1 - (ranks[m:] - rankdata(outside)) / m
    auc = float(above.mean())
    parts = [one.var(ddof=1) / one.size if one.size > 1 else 0.25 for one in (above, below)]
    width = QUANTILE * float(np.sqrt(sum(parts)))
    return auc, max(0.0, auc - width), min(1.0, auc + width)


def measure_membership(
    predictor: Predictor, train: Any, new: Any, own_train: FloatArray, own_new: FloatArray
) -> dict[str, Any]:
    """Whether training records can be told from others by what a model says about them.

    Two attacks that need no other models: a record is taken for a training record if it is similar
    to a sample in the model, or if the model is sure of its class. `own_train` and `own_new` are
    the probabilities of the true classes. Similarities to the nearest sample are summed up, too.
    """
    near_train, near_new = (predictor.kernel(one).max(axis=1) for one in (train, new))
    attacks = {"similarity": (near_train, near_new), "confidence": (own_train, own_new)}
    tests = {name: find_auc(*scores) for name, scores in attacks.items()}
    return {
        "n_training": near_train.size,
        "n_new": near_new.size,
        "nearest": {
            "training": np.quantile(near_train, (0.05, 0.5, 0.95)),
            "new": np.quantile(near_new, (0.05, 0.5, 0.95)),
        },
        "attacks": {
            name: {"auc": auc, "interval": (low, high)} for name, (auc, low, high) in tests.items()
        },
    }
