"""Probabilities: similarities without the sample itself, and one temperature."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from imkpl.model.calibration import (
    LOG_RANGE,
    CalibrationSamples,
    find_temperature,
    leave_out,
    leave_out_contrasts,
)
from imkpl.model.predictor import FORBIDDEN


@pytest.fixture(params=["unit", "other"])
def kernel(rng, request):
    X = rng.standard_normal((8, 3))
    norms = np.ones(8) if request.param == "unit" else rng.uniform(0.5, 2.0, 8)
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 6) * norms * norms[:, None]


@pytest.fixture
def prototypes(kernel):
    mixes = np.zeros((3, 8))
    mixes[0, :3], mixes[1, 3:5], mixes[2, 6] = [0.5, 0.3, 0.2], [0.6, 0.7], 1.0
    return mixes / np.sqrt(np.einsum("is,st,it->i", mixes, kernel, mixes))[:, None]


def test_left_out_similarity_is_that_to_the_prototype_without_the_sample(kernel, prototypes):
    found = leave_out(sp.csr_array(prototypes), kernel)
    for sample in range(8):
        for owner in range(3):
            rest = prototypes[owner].copy()
            rest[sample] = 0.0
            if not rest.any():
                assert found[sample, owner] == FORBIDDEN
                continue
            expected = kernel[sample] @ rest / np.sqrt(rest @ kernel @ rest)
            assert found[sample, owner] == pytest.approx(expected, rel=1e-10)


def test_a_contrast_without_the_sample_keeps_its_other_coefficients(kernel, prototypes):
    contrasts = 0.3 * prototypes[:2]
    found = leave_out_contrasts(sp.csr_array(contrasts), kernel)
    for sample in range(8):
        rest = contrasts * (np.arange(8) != sample)
        assert_allclose(found[sample], rest @ kernel[sample], atol=1e-12)


def test_samples_are_usable_if_their_class_has_a_prototype_without_them(kernel, prototypes):
    left_out = leave_out(sp.csr_array(prototypes), kernel)
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    samples = CalibrationSamples(left_out, left_out - 1, labels, np.arange(8.0))
    kept = samples.usable(np.array([0, 1, 2]))
    # Sample 6 is the only prototype of its class.
    assert_array_equal(kept.sample_weight, [0, 1, 2, 3, 4, 5, 7])
    assert_array_equal(kept.resemblances, kept.similarities - 1)


def test_temperature_has_the_smallest_smoothed_log_loss_on_a_grid(rng):
    labels = rng.integers(0, 3, 60)
    scores = 0.1 * np.eye(3)[labels] + 0.1 * rng.random((60, 3))
    weight = rng.uniform(0.5, 2.0, 60)
    smooth = 1 / 62
    targets = (1 - smooth) * np.eye(3)[labels] + smooth / 3

    def loss(factor):
        return -weight @ (targets * np.log(softmax(factor * scores, axis=1))).sum(axis=1)

    found = find_temperature(scores, labels, weight)
    grid = np.exp(np.linspace(*LOG_RANGE, 2000))
    best = grid[np.argmin([loss(factor) for factor in grid])]
    assert_allclose(found, best, rtol=0.01)
    assert grid[0] < best < grid[-1]


def test_temperature_without_samples_is_one():
    assert find_temperature(np.empty((0, 2)), np.empty(0, dtype=int), np.empty(0)) == 1.0
