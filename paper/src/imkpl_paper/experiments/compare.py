"""Mean, spread, and which methods are best: a paired t-test over the splits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

Correction = Literal["none", "nadeau-bengio"]
# The paper's test, and the stricter one that is shown beside it.
CORRECTIONS: tuple[Correction, ...] = ("none", "nadeau-bengio")
# Test samples per training sample in an 80/20 split.
TEST_RATIO = 0.25


class Summary(NamedTuple):
    """Mean and spread of a measure over splits."""

    mean: float
    spread: float  # standard deviation of one split, n - 1 in the denominator; 0 for one split
    n_splits: int


def summarize(values: ArrayLike) -> Summary:
    """Mean and spread.

    Examples
    --------
    >>> summarize([90.0, 92.0, 94.0])
    Summary(mean=92.0, spread=2.0, n_splits=3)
    """
    x = np.asarray(values, dtype=np.float64)
    spread = float(x.std(ddof=1)) if x.size > 1 else 0.0
    return Summary(float(x.mean()), spread, int(x.size))


def paired_p_value(
    first: ArrayLike,
    second: ArrayLike,
    *,
    correction: Correction = "none",
    test_ratio: float = TEST_RATIO,
) -> float:
    """Two-sided p-value of a paired t-test.

    The plain test is the paper's. Training parts of random splits overlap, so that it finds
    differences too readily; the correction of Nadeau and Bengio (2003) widens the variance of the
    mean from ``1 / n`` to ``1 / n + test_ratio``.

    Examples
    --------
    >>> round(paired_p_value([1.0, 2.0, 3.0], [1.5, 2.1, 3.6]), 3)
    0.12
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"The methods have {a.size} and {b.size} values, expected one per split of both. Pass "
            "the splits that both were run on."
        )
    difference = a - b
    if a.size < 2 or not difference.any():
        return 1.0
    deviation = float(difference.std(ddof=1))
    if deviation == 0:
        return 0.0
    share = 1 / a.size + (test_ratio if correction == "nadeau-bengio" else 0.0)
    statistic = float(difference.mean()) / (deviation * math.sqrt(share))
    return float(2 * stats.t.sf(abs(statistic), df=a.size - 1))


def find_best(
    values: Mapping[str, Mapping[int, float]],
    *,
    larger_is_better: bool = True,
    level: float = 0.05,
    correction: Correction = "none",
) -> set[str]:
    """The methods that are printed in bold: the best one, and those not significantly worse.

    Examples
    --------
    >>> rows = {"a": {0: 90.0, 1: 92.0, 2: 91.0}, "b": {0: 80.0, 1: 81.0, 2: 80.5}}
    >>> find_best(rows)
    {'a'}
    """
    present = {name: splits for name, splits in values.items() if splits}
    if not present:
        return set()
    sign = 1.0 if larger_is_better else -1.0
    means = {name: sign * float(np.mean(list(v.values()))) for name, v in present.items()}
    best = max(means, key=lambda name: means[name])
    chosen = set()
    for name, splits in present.items():
        common = sorted(set(splits) & set(present[best]))
        pair = [[v[split] for split in common] for v in (splits, present[best])]
        is_tie = means[name] == means[best]
        is_tested = len(common) > 1
        if is_tie or (is_tested and paired_p_value(*pair, correction=correction) >= level):
            chosen.add(name)
    return chosen
