"""The synthetic series are what their description says."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from imkpl import IMKPL
from imkpl.kernels import GlobalAlignment
from imkpl.series import read_series
from imkpl_paper.datasets import make_paper_series

N, STEPS = 30, 60


@pytest.fixture(scope="module")
def data():
    return make_paper_series(N, STEPS, random_state=3, return_X_y=False)


def spread(X, y, channel):
    """Distance between the nearest two class means over the noise of a mean."""
    means = np.array([X[y == label, channel].mean(axis=0) for label in range(4)])
    within = np.mean([X[y == label, channel].std(axis=0) for label in range(4)])
    apart = [np.abs(a - b).mean() for i, a in enumerate(means) for b in means[:i]]
    return min(apart) / (within / np.sqrt(N))


def test_classes_are_complete_and_in_order(data):
    assert data.data.shape == (4 * N, 9, STEPS)
    assert data.target.tolist() == [label for label in range(4) for _ in range(N)]
    assert data.channel_names == [f"f{i}" for i in range(1, 10)]


@pytest.mark.parametrize("channel", range(9))
def test_classes_differ_in_the_first_seven_channels_only(data, channel):
    ratio = spread(data.data, data.target, channel)
    assert (ratio > 4) == (channel in data.informative)
    if channel >= 7:
        assert ratio < 2


@pytest.mark.parametrize("channel", range(9))
def test_only_the_first_seven_channels_tell_the_classes_apart(data, channel):
    accuracy = cross_val_score(KNeighborsClassifier(), data.data[:, channel], data.target).mean()
    if channel in data.informative:
        assert accuracy > 0.9
    else:
        assert accuracy < 0.45


def test_the_seventh_channel_is_the_sixth_with_slight_variations(data):
    sixth, seventh = data.data[:, 5], data.data[:, 6]
    together = [np.corrcoef(a, b)[0, 1] for a, b in zip(sixth, seventh, strict=True)]
    assert min(together) > 0.95
    assert max(together) < 1
    assert data.replicas == [(5, 6)]
    others = [
        np.corrcoef(data.data[:, 5].ravel(), data.data[:, c].ravel())[0, 1] for c in (0, 1, 2, 3, 4)
    ]
    assert np.max(np.abs(others)) < 0.8


def test_the_last_two_channels_are_the_same_for_all():
    quiet, _ = make_paper_series(5, noise=0.0, random_state=0)
    for channel in (7, 8):
        np.testing.assert_array_equal(quiet[:, channel], quiet[:1, channel].repeat(20, axis=0))
        assert np.ptp(quiet[0, channel]) == pytest.approx(2, abs=0.01)
    noisy, _ = make_paper_series(50, noise=0.05, random_state=0)
    residual = noisy[:, 7:] - noisy[:, 7:].mean(axis=0)
    assert residual.std() == pytest.approx(0.05, rel=0.05)


def test_series_of_a_class_vary_without_noise():
    quiet, y = make_paper_series(5, noise=0.0, random_state=0)
    for channel in range(7):
        for label in range(4):
            assert quiet[y == label, channel].std(axis=0).max() > 0.01


def test_curves_keep_within_their_height():
    quiet, _ = make_paper_series(50, noise=0.0, random_state=0)
    assert np.abs(quiet).max() < 1.2


def test_teeth_are_complete_in_every_sample():
    quiet, _ = make_paper_series(50, noise=0.0, random_state=0)
    assert quiet[:, 5, 0].max() < -0.8
    assert quiet[:, 5, -1].min() > 0.8


def test_a_seed_makes_the_same_series():
    first, second = (make_paper_series(4, random_state=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(make_paper_series(4, random_state=generator)[0], first)
    assert not np.array_equal(make_paper_series(4, random_state=generator)[0], first)


@pytest.mark.parametrize("rule", ["large_margin", "margin"])
def test_channels_without_classes_are_left_out_without_a_limit(rule):
    X, y = make_paper_series(20, 40, random_state=0)
    train = np.arange(len(y)) % 4 != 0
    models = {
        "margin": IMKPL(GlobalAlignment(), random_state=0),
        "large_margin": IMKPL.as_published(GlobalAlignment(), sparsity=3, weight_rule=rule),
    }
    series = read_series(X)
    model = models[rule].fit(series[train], y[train])
    assert model.score(series[~train], y[~train]) == 1
    assert not model.kernel_weights_[7:].any()


@pytest.mark.parametrize(
    "options", [{"n_per_class": 0}, {"n_steps": 1}, {"noise": -1.0}, {"noise": np.nan}]
)
def test_what_cannot_be_made_is_refused(options):
    with pytest.raises(ValueError, match=rf"{next(iter(options))} is .*, expected"):
        make_paper_series(**options)
