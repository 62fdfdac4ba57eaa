"""A map of samples: t-SNE of the distances in the feature space of the learned kernel."""

from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.manifold import TSNE

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import take_samples

# Effective number of neighbours of a point, of many points.
PERPLEXITY = 30.0
# Number of points above which the Barnes-Hut approximation of t-SNE pays off.
EXACT_POINTS = 150
# Standard deviation of the initial map, as in scikit-learn.
START_SPREAD = 1e-4


def learned_kernel(estimator: Any, *parts: tuple[Any, IntArray]) -> FloatArray:
    """The learned kernel among chosen samples, part by part, and prototypes."""
    predictor = estimator.predictor_
    weights = predictor.weights
    cut = [predictor.kernels.moved_to(samples).take(chosen) for samples, chosen in parts]
    with limited_threads(estimator.n_jobs):
        rows: list[list[FloatArray]] = []
        for place, part in enumerate(parts):
            known = [row[place].T for row in rows]
            others = cut[place + 1 :]
            unknown = [other.cross(take_samples(*part)).combine(weights) for other in others]
            rows.append([*known, cut[place].combine(weights), *unknown])
        across = [predictor.compare_block(take_samples(*part)).similarities for part in parts]
    return join_prototypes(np.block(rows), np.concatenate(across), predictor.encoder.gram)


def join_prototypes(kernel: FloatArray, across: FloatArray, gram: FloatArray) -> FloatArray:
    """One matrix of samples and prototypes, with prototypes of unit norm."""
    norms = np.sqrt(np.diagonal(gram))
    return np.block([[kernel, across / norms], [(across / norms).T, gram / np.outer(norms, norms)]])


def embed_kernel(kernel: FloatArray, random_state: Any) -> FloatArray:
    """A t-SNE map of the distances in the feature space of a kernel."""
    n_points = len(kernel)
    # Start from principal components, so that maps of the same data are comparable.
    pca = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    start = pca.fit_transform(kernel)
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (n_points - 1) / 3),
        metric="precomputed",
        init=np.float32(start / (start[:, 0].std() or 1.0) * START_SPREAD),
        method="exact" if n_points <= EXACT_POINTS else "barnes_hut",
        random_state=random_state,
    )
    norms = np.diagonal(kernel)
    squares = norms[:, np.newaxis] + norms - (kernel + kernel.T)
    np.fill_diagonal(squares, 0.0)
    return np.asarray(tsne.fit_transform(np.sqrt(np.maximum(squares, 0.0))), dtype=np.float64)
