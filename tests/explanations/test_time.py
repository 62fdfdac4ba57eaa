import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from imkpl import IMKPL
from imkpl.kernels import GlobalAlignment


@pytest.fixture(scope="module")
def series():
    """Two classes that differ by a bump in the middle of channel 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = 0.3 * rng.standard_normal((30, 2, 20))
    X[y == 1, 1, 8:12] += 3
    model = IMKPL("global_alignment", n_prototypes=4).fit(X, y)
    return model, X, y


def test_time_shares_sum_to_one_and_per_channel_to_its_share(series):
    model, X, _ = series
    explanation = model.explain(X)
    for index in (0, 20):
        shares = explanation.time_shares(index)
        assert sum(found.shares.sum() for found in shares.values()) == pytest.approx(1)
        parts = explanation.evidence.similarity_parts(np.array([index]))[0]
        votes = explanation.shares[[index]].toarray().ravel()
        by_channel = np.where(votes >= 0.01, votes, 0) @ parts
        expected = by_channel / by_channel.sum()
        found = [shares[name].shares.sum() for name in explanation.feature_names]
        assert_allclose(found, expected, atol=1e-10)
        assert all(found.times.shape == found.shares.shape for found in shares.values())


def test_aligned_samples_are_those_behind_the_decision(series):
    model, X, _ = series
    explanation = model.explain(X)
    aligned = explanation.align(20)
    votes = explanation.shares[[20]].toarray().ravel()
    mix = np.where(votes >= 0.01, votes, 0) @ explanation.evidence.predictor.mixes
    assert [one.amount for one in aligned] == sorted(mix[mix > 0], reverse=True)
    # Printed, they do not show every number.
    assert len(repr(aligned)) < 400 * len(aligned)
    values = model.predictor_.kernel(model.read_new(X))[20]
    names = explanation.support_ids.tolist()
    for one in aligned:
        similarities = [alignment.similarity for alignment in one.alignments.values()]
        total = explanation.feature_weights @ similarities
        assert total == pytest.approx(values[names.index(one.sample)])


def test_a_window_says_when_and_a_summary_what(series):
    _, X, y = series
    bank = GlobalAlignment(views=("values", "level"), windows=(1, 4))
    model = IMKPL(bank, n_prototypes=4).fit(X, y)
    best = model.kernel_names_[int(np.argmax(model.kernel_weights_))]
    # The bump is in steps 8 to 11 of 20.
    assert best.startswith("channel 1 (")
    assert "37.5-62.5 % of time" in best
    explanation = model.explain(X[20:21])
    for name, found in explanation.time_shares(0).items():
        if "37.5-62.5" in name:
            assert found.times.min() >= 7
            assert found.times.max() <= 12
    level = IMKPL(GlobalAlignment(views=("level",), windows=(4,)), n_prototypes=4).fit(X, y)
    card = level.explain(X[20:21]).card(0)
    assert card.series["summary"] == "level"
    assert (card.series["from"], card.series["to"]) == (7, 12)
    assert "alike in level" in str(card)
    assert "the same part of the time" in card._repr_html_()


def test_kernels_of_vectors_have_no_alignment():
    X, y = load_wine(return_X_y=True)
    explanation = IMKPL(n_prototypes=6, max_kernels=3).fit(X, y).explain(X[:1])
    with pytest.raises(TypeError, match="Only alignment kernels compare series step by step"):
        explanation.align(0)
