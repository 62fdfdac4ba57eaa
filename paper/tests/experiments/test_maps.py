from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel

from imkpl import IMKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.report.map import learned_kernel
from imkpl_paper.experiments.maps import EmbeddingDisplay, average_kernel


@pytest.fixture(scope="module")
def wine():
    """A model of three classes and its data."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[y]
    return IMKPL(sparsity=3, max_kernels=5, n_prototypes=9).fit(X, labels), X, labels


def stars_in(ax):
    """Places of the coloured stars; the markers within them have the edge of a star too."""
    found = [c.get_offsets() for c in ax.collections if c.get_sizes()[0] > 100]
    return [places for places in found if len(places)]


def test_kernels_are_averaged_or_weighed_as_in_the_model_and_prototypes_mixed(wine):
    model, X, _ = wine
    samples, chosen = X.to_numpy(), np.arange(0, len(X), 9)
    kernels = PerFeatureGaussian().on(samples)
    mixes = np.vstack([np.eye(len(X))[chosen], model.prototypes_.toarray()])
    kernel, n_kernels = average_kernel(model, samples, chosen)
    plain = mixes @ kernels.combine(np.full(13, 1 / 13)) @ mixes.T
    norms = np.sqrt(np.diagonal(plain))
    assert n_kernels == 13
    assert_allclose(kernel, plain / np.outer(norms, norms), atol=1e-9)
    inner, weights, _ = model.predictor_.kernels.flattened(model.predictor_.weights)
    whole = replace(kernels, columns=inner.kernel_columns, rates=inner.rates)
    expected = mixes @ whole.combine(weights) @ mixes.T
    assert_allclose(learned_kernel(model, (samples, chosen)), expected, atol=1e-9)
    in_two = learned_kernel(model, (samples, chosen[:3]), (samples, chosen[3:]))
    assert_allclose(in_two, expected, atol=1e-9)


def test_both_maps_have_a_star_per_prototype(wine):
    model, X, y = wine
    display = EmbeddingDisplay.from_estimator(model, X, y, max_samples=30)
    for ax, places in zip(
        display.axes_, (display.average_prototypes, display.learned_prototypes), strict=True
    ):
        stars = stars_in(ax)
        assert len(np.concatenate(stars)) == model.prototypes_.shape[0]
        for found, place in zip(stars, np.unique(display.prototype_classes), strict=True):
            assert_allclose(found, places[display.prototype_classes == place])
    assert display.average.shape == display.learned.shape == (30, 2)
    assert display.axes_[0].get_title() == "Average kernel (13 kernels)"
    assert display.axes_[1].get_title() == "Learned kernel (5 kernels)"


def test_other_samples_than_those_of_training_are_refused(wine):
    model, X, y = wine
    with pytest.raises(ValueError, match="X has 40 samples that differ from the 178 training"):
        EmbeddingDisplay.compute(model, X[:40], y[:40])
    with pytest.raises(ValueError, match="X has 178 samples that differ"):
        EmbeddingDisplay.compute(model, X[::-1], y)


def test_labels_that_the_model_does_not_know_are_refused(wine):
    model, X, y = wine
    with pytest.raises(ValueError, match="y contains the label 'Rioja', expected only classes"):
        EmbeddingDisplay.compute(model, X, np.where(np.arange(len(y)) == 0, "Rioja", y))


def test_precomputed_training_similarities_can_be_drawn(wine):
    _, X, y = wine
    K = rbf_kernel(X / X.std())
    model = IMKPL(kernels="precomputed", sparsity=2, n_prototypes=6).fit(K, y)
    display = EmbeddingDisplay.compute(model, K, y, max_samples=20)
    assert len(display.average_prototypes) == model.prototypes_.shape[0]
    # One kernel is its own average, but for the length of the prototypes.
    assert_allclose(display.average, display.learned, atol=1e-2)
