"""Kernels between samples and prototypes, and maps of them in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import TSNE

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank, Normalized, resolve_bank
from imkpl.kernels.base import take_samples
from imkpl.series import SeriesSet

PERPLEXITY = 30.0
# Trees of points pay off above so many of them.
EXACT_POINTS = 150
# The spread of the points that t-SNE starts from, as in scikit-learn.
START_SPREAD = 1e-4


def is_training(estimator: Any, samples: Any) -> bool:
    """Whether these are the samples that the model was fitted to."""
    predictor = estimator._predictor
    if len(samples) != estimator.prototypes_.shape[1]:
        return False
    if predictor.bank.reads == "similarities":
        return True
    behind = take_samples(samples, predictor.rows)
    if predictor.columns is not None:
        behind = behind[:, predictor.columns]
    if isinstance(behind, SeriesSet):
        # Names may come with one of the two and not with the other.
        known = predictor.samples
        return bool(
            np.array_equal(behind.starts, known.starts)
            and np.array_equal(behind.values, known.values, equal_nan=True)
        )
    if isinstance(behind, np.ndarray):
        return bool(np.array_equal(behind, predictor.samples))
    # Whatever else kernels compare need not have an equality.
    return True


def average_kernel(
    estimator: Any, samples: Any, chosen: IntArray, training: Any
) -> tuple[FloatArray, int]:
    """The average of all kernels, between some samples and the prototypes."""
    predictor = estimator._predictor
    with limited_threads(estimator.n_jobs):
        bank = resolve_bank(estimator.kernels).adapt(samples if training is None else training)
        if not bank._has_unit_diagonal:
            bank = Normalized(bank)
        weights = np.full(bank.n_kernels, 1.0 / bank.n_kernels)
        kernel = bank.combine(weights, bank._subset(samples, chosen))
        if training is None:
            return kernel, bank.n_kernels
        support = bank._take(training, predictor.rows)
        across = bank.combine(weights, take_samples(samples, chosen), support) @ predictor.mixes.T
        between = bank.combine(weights, bank._subset(training, predictor.rows))
    gram = predictor.mixes @ between @ predictor.mixes.T
    return _join(kernel, across, gram), bank.n_kernels


def learned_kernel(estimator: Any, samples: Any, chosen: IntArray) -> FloatArray:
    """The learned kernel between some samples and the prototypes."""
    predictor = estimator._predictor
    bank: BaseKernelBank = predictor.bank
    cut = samples if predictor.columns is None else samples[:, predictor.columns]
    with limited_threads(estimator.n_jobs):
        kernel = bank.combine(predictor.weights, bank._subset(cut, chosen))
        across = predictor.similarities(take_samples(samples, chosen))
    return _join(kernel, across, predictor.encoder.gram)


def _join(kernel: FloatArray, across: FloatArray, gram: FloatArray) -> FloatArray:
    """One matrix of samples and prototypes, prototypes scaled to unit norm."""
    norms = np.sqrt(np.diagonal(gram))
    return np.block([[kernel, across / norms], [(across / norms).T, gram / np.outer(norms, norms)]])


def kernel_distances(kernel: FloatArray) -> FloatArray:
    """Distances in the space of a kernel."""
    norms = np.diagonal(kernel)
    squares = norms[:, np.newaxis] + norms - (kernel + kernel.T)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(np.maximum(squares, 0.0))


def embed_kernel(kernel: FloatArray, perplexity: float | None, random_state: Any) -> FloatArray:
    """A t-SNE map of the distances in the space of a kernel.

    It starts from the two principal components, so that the same data give maps that can be
    compared by eye.
    """
    n_points = len(kernel)
    if n_points < 4:
        raise ValueError(
            f"There are {n_points} samples and prototypes to embed, expected at least 4. Pass more "
            "samples."
        )
    if perplexity is None:
        perplexity = min(PERPLEXITY, (n_points - 1) / 3)
    if not 0 < perplexity < n_points:
        raise ValueError(
            f"perplexity={perplexity}, expected a positive number below the {n_points} samples and "
            "prototypes. Leave it out for one that suits."
        )
    tsne = TSNE(
        perplexity=perplexity,
        metric="precomputed",
        init=_principal_components(kernel),
        method="exact" if n_points <= EXACT_POINTS else "barnes_hut",
        random_state=random_state,
    )
    return np.asarray(tsne.fit_transform(kernel_distances(kernel)), dtype=np.float64)


def _principal_components(kernel: FloatArray) -> FloatArray:
    means = kernel.mean(axis=0)
    centered = kernel - means - means[:, np.newaxis] + means.mean()
    values, vectors = np.linalg.eigh(centered)
    vectors = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    # An eigenvector has no sign of its own; the largest entry shall be positive.
    largest = vectors[np.argmax(np.abs(vectors), axis=0), [0, 1]]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)
    spread = vectors[:, 0].std()
    return np.asarray(vectors / (spread if spread > 0 else 1.0) * START_SPREAD, dtype=np.float32)
