"""A model that has learned nothing: what IP, DR and accuracy are worth is seen beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from imkpl.kernels import PerFeatureGaussian
from imkpl.solvers import solve_nqp_batch


class RandomPrototypes(ClassifierMixin, BaseEstimator):
    """The nearest of random samples, on random features of equal weight.

    `like` is a fitted model: there are as many prototypes of each class, each a single sample, as
    many features, and codes of as many prototypes.
    """

    def __init__(self, like: Any, random_state: int = 0) -> None:
        self.like = like
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RandomPrototypes:
        """Draw samples and features."""
        rng = np.random.default_rng(self.random_state)
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_features = min(np.count_nonzero(self.like.kernel_weights_), X.shape[1])
        self.columns_ = rng.choice(X.shape[1], n_features, replace=False)
        owners, counts = np.unique(self.like.prototype_classes_, return_counts=True)
        drawn = [
            rng.choice(np.flatnonzero(y == owner), min(count, (y == owner).sum()), replace=False)
            for owner, count in zip(owners, counts, strict=True)
        ]
        support = np.concatenate(drawn)
        self.prototype_classes_ = np.asarray(y)[support]
        self.class_shares_ = np.eye(self.classes_.size)[labels[support]]
        self.kernels_ = PerFeatureGaussian().on(X[:, self.columns_]).take(support)
        self.weights_ = np.full(n_features, 1 / n_features)
        return self

    def transform(self, X: Any) -> Any:
        """Codes over all prototypes."""
        gram, sparsity = self.kernels_.combine(self.weights_), self.like.code_sparsity
        return solve_nqp_batch(gram, -2 * self._compare(X), sparsity, scale=2.0).x

    def predict(self, X: Any) -> Any:
        """The class of the nearest prototype."""
        return self.prototype_classes_[np.argmax(self._compare(X), axis=1)]

    def _compare(self, X: Any) -> Any:
        """The combined kernel between samples and prototypes."""
        return self.kernels_.cross(X[:, self.columns_]).combine(self.weights_)
