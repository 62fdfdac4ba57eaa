import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from imkpl import IMKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.plots import EmbeddingDisplay
from imkpl.plots.embedding import average_kernel, learned_kernel


def stars_in(ax):
    """Places of the coloured stars; the markers within them have the edge of a star too."""
    areas = [c.get_sizes()[0] for c in ax.collections]
    return [c.get_offsets() for c, area in zip(ax.collections, areas, strict=True) if area > 100]


def test_the_average_kernel_weighs_all_kernels_alike_and_mixes_prototypes(wine):
    model, X, _ = wine
    samples, chosen = X.to_numpy(), np.arange(0, len(X), 9)
    kernel, n_kernels = average_kernel(model, samples, chosen, samples)
    kernels = PerFeatureGaussian().on(samples)
    mean = kernels.combine(np.full(kernels.n_kernels, 1 / kernels.n_kernels))
    mixes = np.vstack([np.eye(len(X))[chosen], model.prototypes_.toarray()])
    plain = mixes @ mean @ mixes.T
    norms = np.sqrt(np.diagonal(plain))
    assert n_kernels == 13
    assert_allclose(kernel, plain / np.outer(norms, norms), atol=1e-9)


def test_the_learned_kernel_weighs_kernels_as_the_model_does(wine):
    model, X, _ = wine
    samples, chosen = X.to_numpy(), np.arange(0, len(X), 9)
    combined = PerFeatureGaussian().on(samples).combine(model.kernel_weights_)
    mixes = np.vstack([np.eye(len(X))[chosen], model.prototypes_.toarray()])
    expected = mixes @ combined @ mixes.T
    assert_allclose(learned_kernel(model, (samples, chosen)), expected, atol=1e-9)
    in_two = learned_kernel(model, (samples, chosen[:3]), (samples, chosen[3:]))
    assert_allclose(in_two, expected, atol=1e-9)


def test_training_samples_have_a_star_per_prototype_in_both_maps(wine):
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


def test_new_samples_have_stars_in_the_average_map_only_with_the_training_samples(wine):
    model, X, y = wine
    few = slice(None, None, 9)
    without = EmbeddingDisplay.from_estimator(model, X[few], y[few])
    assert not stars_in(without.axes_[0])
    assert len(np.concatenate(stars_in(without.axes_[1]))) == model.prototypes_.shape[0]
    handed = EmbeddingDisplay.from_estimator(model, X[few], y[few], train=X)
    assert len(np.concatenate(stars_in(handed.axes_[0]))) == model.prototypes_.shape[0]
    assert handed.axes_[0].get_title() == "Average kernel (13 kernels)"
    assert handed.axes_[1].get_title() == "Learned kernel (5 kernels)"


def test_other_samples_are_refused_as_training_samples(wine):
    model, X, y = wine
    with pytest.raises(ValueError, match="train has 40 samples that differ from the"):
        EmbeddingDisplay.compute(model, X[:30], y[:30], train=X[:40])


def test_labels_that_the_model_does_not_know_are_refused(wine):
    model, X, y = wine
    with pytest.raises(ValueError, match="y contains the label 'Rioja', expected only classes"):
        EmbeddingDisplay.compute(model, X, np.where(np.arange(len(y)) == 0, "Rioja", y))


def test_precomputed_training_similarities_can_be_drawn_and_new_ones_not(wine):
    _, X, y = wine
    K = rbf_kernel(X / X.std())
    model = IMKPL(kernels="precomputed", sparsity=2, n_prototypes=6).fit(K, y)
    display = EmbeddingDisplay.compute(model, K, y, max_samples=20)
    assert len(display.average_prototypes) == model.prototypes_.shape[0]
    # One kernel is its own average, but for the length of the prototypes.
    assert_allclose(display.average, display.learned, atol=1e-2)
    with pytest.raises(ValueError, match="The kernels are precomputed, and the similarities among"):
        EmbeddingDisplay.compute(model, K[:30], y[:30])
