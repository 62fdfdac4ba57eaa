import numpy as np
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits, load_wine

from imkpl import IMKPL
from imkpl.model.calibration import CalibrationSamples, find_novelty_threshold
from imkpl.model.predictor import Encoder


def test_far_samples_are_refused_and_ordinary_ones_are_not():
    X, y = load_digits(return_X_y=True)
    # Digits of the same writers: every other one.
    model = IMKPL(sparsity=5, n_prototypes=50).fit(X[::2], y[::2])
    ordinary = model.predict(X[1::2], reject=True)
    refused = np.array([label is None for label in ordinary])
    # The threshold leaves out one training sample of a hundred; new ones are a little farther.
    assert 0 < refused.mean() < 0.05
    assert_array_equal(ordinary[~refused], model.predict(X[1::2])[~refused])
    noise = np.random.default_rng(0).uniform(0, 16, (100, 64))
    assert np.mean([label is None for label in model.predict(noise, reject=True)]) > 0.95


def test_the_explanation_refuses_the_same_samples():
    X, y = load_wine(return_X_y=True)
    model = IMKPL(n_prototypes=9, max_kernels=5).fit(X[::2], y[::2])
    samples = np.concatenate([X[1::2], X[1::2] * np.linspace(0.2, 3, 89)[:, np.newaxis]])
    refused = [label is None for label in model.predict(samples, reject=True)]
    explanation = model.explain(samples)
    assert_array_equal(explanation.is_novel, refused)
    assert_array_equal(
        explanation.is_novel, model.reconstruction_error(samples) > model.novelty_threshold_
    )
    assert 0 < sum(refused) < len(refused)


def test_the_threshold_is_the_error_that_99_percent_stay_within():
    rng = np.random.default_rng(0)
    similarities = rng.uniform(0, 1, (300, 1))
    samples = CalibrationSamples(
        similarities, similarities, np.zeros(300, dtype=int), rng.integers(0, 3, 300) * 1.0
    )
    found = find_novelty_threshold(Encoder(np.eye(1), np.ones((1, 1)), 1), samples)
    # One unit-norm prototype leaves 1 - s^2 of a sample of similarity s unexplained.
    errors = np.repeat(1 - similarities.ravel() ** 2, samples.sample_weight.astype(int))
    assert np.mean(errors <= found) >= 0.99
    assert np.mean(errors < found) < 0.99
