"""Areas under the curve, against all pairs and against the formula of DeLong."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from imkpl.model.disclosure import QUANTILE, find_auc


@pytest.mark.parametrize("digits", [1, 12])
def test_the_area_is_the_share_of_pairs_in_order(rng, digits):
    inside, outside = rng.normal(0.5, 1, 40).round(digits), rng.normal(0, 1, 30).round(digits)
    auc, low, high = find_auc(inside, outside)
    scores = np.concatenate([inside, outside])
    assert auc == pytest.approx(roc_auc_score(np.repeat([1, 0], [40, 30]), scores))
    wins = (inside[:, None] > outside) + 0.5 * (inside[:, None] == outside)
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 30
    assert high - auc == pytest.approx(QUANTILE * variance**0.5)
    assert auc - low == pytest.approx(high - auc)


def test_the_interval_covers_the_true_area(rng):
    """For two equal distributions the true area is one half."""
    found = [find_auc(rng.random(60), rng.random(60)) for _ in range(300)]
    assert 0.9 < np.mean([low <= 0.5 <= high for _, low, high in found]) < 0.99
