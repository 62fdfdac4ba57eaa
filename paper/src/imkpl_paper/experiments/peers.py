"""Other methods behind `fit` and `predict`, for the comparison only.

Each adapter is thin: it brings the data into the form that the other library reads, and keeps that
library's defaults unless its docstring says otherwise. Libraries are imported in `fit`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from imkpl._typing import FloatArray
from imkpl.kernels import resolve_bank
from imkpl.series import SeriesSet, resample

# Bytes of kernel matrices that EasyMKL, which takes all of them at once, may get.
LARGEST_STACK = 4e9
# Features up to which GMLVQ, whose steps multiply matrices of that size, ends within hours.
MOST_FEATURES = 1000
# Time steps to which series are brought for ROCKET, which reads series of one length.
COMMON_LENGTH = 100


class BasePeer(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """What the adapters share; a subclass learns and classifies.

    `kernels` and `n_per_class` are for methods that read kernels or have prototypes.
    """

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        n_per_class: int = 10,
        random_state: int = 0,
    ) -> None:
        self.kernels = kernels
        self.n_per_class = n_per_class
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from samples."""
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        self._learn(X, labels)
        return self

    def predict(self, X: Any) -> Any:
        """Classify samples."""
        return self.classes_[np.asarray(self._classify(X), dtype=np.intp)]

    @abstractmethod
    def _learn(self, X: Any, labels: Any) -> None:
        """Learn from samples whose classes are counted from 0."""

    @abstractmethod
    def _classify(self, X: Any) -> Any:
        """Classes counted from 0."""


class BaseScaledPeer(BasePeer):
    """A peer that reads standardised features."""

    def _learn(self, X: Any, labels: Any) -> None:
        self.scaler_ = StandardScaler().fit(X)
        self.model_ = self._make(self.scaler_.transform(X), labels)

    def _classify(self, X: Any) -> Any:
        return self.model_.predict(self.scaler_.transform(X))

    @abstractmethod
    def _make(self, X: FloatArray, labels: Any) -> Any:
        """A fitted model."""


class NearestNeighbor(BaseScaledPeer):
    """The nearest neighbour."""

    def _make(self, X: FloatArray, labels: Any) -> Any:
        return KNeighborsClassifier(1).fit(X, labels)


class SparseLogistic(BaseScaledPeer):
    """One-versus-rest logistic regression with an L1 penalty (C = 1)."""

    def _make(self, X: FloatArray, labels: Any) -> Any:
        single = LogisticRegression(
            l1_ratio=1.0, solver="liblinear", max_iter=1000, random_state=self.random_state
        )
        model = OneVsRestClassifier(single).fit(X, labels)
        # A feature counts if the model of any class reads it.
        self.kernel_weights_ = np.sum([np.abs(one.coef_[0]) for one in model.estimators_], axis=0)
        return model


class MatrixLVQ(BaseScaledPeer):
    """Generalised matrix LVQ of the package sklvq.

    Its last version was made for older versions of scikit-learn and NumPy: it learns with the
    help of one method, and its `predict` does not run. The rule is the nearest prototype in the
    learned metric, which is applied here.
    """

    def _make(self, X: FloatArray, labels: Any) -> Any:
        from sklearn.utils.validation import validate_data
        from sklvq import GMLVQ

        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"GMLVQ learns a matrix of {X.shape[1]} x {X.shape[1]} numbers, expected "
                f"{MOST_FEATURES} features at most. Run it on fewer features."
            )

        class Current(GMLVQ):
            def _validate_data(self, X: Any, y: Any, force_all_finite: Any) -> Any:
                return validate_data(self, X, y, ensure_all_finite=force_all_finite)

        learned = Current(random_state=self.random_state).fit(X, labels)
        self.omega_ = np.asarray(learned.omega_)
        owners = np.asarray(learned.prototypes_labels_, dtype=np.intp)
        return KNeighborsClassifier(1).fit(learned.prototypes_ @ self.omega_.T, owners)

    def _classify(self, X: Any) -> Any:
        return self.model_.predict(self.scaler_.transform(X) @ self.omega_.T)


class ProtoDash(BaseScaledPeer):
    """The nearest of the prototypes that ProtoDash (package aix360) finds in every class.

    Its default kernel is linear, which looks at means alone. Here it is Gaussian, as wide as ours:
    2 sigma^2 is the mean squared distance of two samples. The solver is osqp.
    """

    def _make(self, X: FloatArray, labels: Any) -> Any:
        from aix360.algorithms.protodash import ProtodashExplainer

        # The mean squared distance of two samples is twice the variance.
        width = float(np.sqrt(X.var(axis=0).sum()))
        chosen = []
        for label in range(self.classes_.size):
            members = np.flatnonzero(labels == label)
            with _silent():
                _, places, _ = ProtodashExplainer().explain(
                    X[members],
                    X[members],
                    m=min(self.n_per_class, members.size),
                    kernelType="Gaussian",
                    sigma=width,
                    optimizer="osqp",
                )
            chosen.append(members[np.asarray(places, dtype=np.intp)])
        places = np.concatenate(chosen)
        return KNeighborsClassifier(1).fit(X[places], labels[places])


class BoostingMachine(BasePeer):
    """The explainable boosting machine of the package interpret, on one thread."""

    def _learn(self, X: Any, labels: Any) -> None:
        from interpret.glassbox import ExplainableBoostingClassifier

        # Interactions are for two classes only.
        more = {} if self.classes_.size == 2 else {"interactions": 0}
        model = ExplainableBoostingClassifier(n_jobs=1, random_state=self.random_state, **more)
        self.model_ = model.fit(X, labels)

    def _classify(self, X: Any) -> Any:
        return self.model_.predict(X)


class AverageKernelSVM(BasePeer):
    """A support vector machine (C = 100) on the average of the kernels."""

    def _learn(self, X: Any, labels: Any) -> None:
        self.kernels_ = resolve_bank(self.kernels).on(X)
        self.model_ = SVC(kernel="precomputed", C=100).fit(self._average(X), labels)

    def _classify(self, X: Any) -> Any:
        return self.model_.predict(self._average(X))

    def _average(self, X: Any) -> FloatArray:
        n_kernels = self.kernels_.n_kernels
        return self.kernels_.cross(X).combine(np.full(n_kernels, 1 / n_kernels))


class EasyMKL(BasePeer):
    """EasyMKL of the package MKLpy, which weighs all kernels and leaves none out.

    One model per class against the others, with the package's defaults; the largest score wins.
    The package does the same, but keeps a copy of all kernels for every class.
    """

    def _learn(self, X: Any, labels: Any) -> None:
        self.kernels_ = resolve_bank(self.kernels).on(X)
        stack = self._stack()

        from MKLpy.algorithms import KOMD
        from MKLpy.algorithms import EasyMKL as Model

        self.models_ = []
        for label in range(self.classes_.size):
            # Without a learner of its own, all models would share the one in the signature.
            model = Model(learner=KOMD(lam=0.1)).fit(stack, (labels == label).astype(int))
            self.models_.append((np.asarray(model.solution.weights, np.float64), model.learner))

    def _classify(self, X: Any) -> Any:
        cross = self.kernels_.cross(X)
        scores = [
            learner.decision_function(cross.combine(weights)) for weights, learner in self.models_
        ]
        return np.argmax(scores, axis=0)

    def _stack(self) -> KernelList:
        n_kernels, (n_samples, _) = self.kernels_.n_kernels, self.kernels_.shape
        size = np.dtype(np.float32).itemsize * n_kernels * n_samples**2
        if size > LARGEST_STACK:
            raise ValueError(
                f"EasyMKL takes all {n_kernels} kernel matrices at once, {size / 1e9:.1f} GB, "
                f"expected {LARGEST_STACK / 1e9:.0f} GB at most. Run it on fewer kernels."
            )
        stack = np.empty((n_kernels, n_samples, n_samples), dtype=np.float32)
        for k in range(n_kernels):
            stack[k] = self.kernels_.evaluate(k)
        return KernelList(stack)


class KernelList:
    """Kernel matrices in single precision, each converted to what MKLpy computes with."""

    def __init__(self, stack: Any) -> None:
        self.stack = stack

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, place: int) -> Any:
        import torch

        return torch.from_numpy(self.stack[place].astype(np.float64))


class NearestNeighborDTW(BasePeer):
    """The nearest neighbour under dependent DTW with the full window, by the package aeon."""

    def _learn(self, X: SeriesSet, labels: Any) -> None:
        self.X_, self.labels_ = _as_list(X), labels

    def _classify(self, X: SeriesSet) -> Any:
        from aeon.distances import pairwise_distance

        distances = pairwise_distance(_as_list(X), self.X_, method="dtw", window=None)
        # The first of equally near neighbours decides, as in the archives' own figures.
        return self.labels_[np.argmin(distances, axis=1)]


class Rocket(BasePeer):
    """ROCKET of the package aeon, on series of one length, each divided by its own spread."""

    normalizes: ClassVar[bool] = True

    def _learn(self, X: SeriesSet, labels: Any) -> None:
        from aeon.transformations.collection.convolution_based import Rocket as Transformer

        # As aeon's RocketClassifier.
        self.model_ = make_pipeline(
            Transformer(normalise=self.normalizes, random_state=self.random_state, n_jobs=1),
            StandardScaler(with_mean=False),
            RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)),
        ).fit(_as_block(X), labels)

    def _classify(self, X: SeriesSet) -> Any:
        return self.model_.predict(_as_block(X))


class RawRocket(Rocket):
    """ROCKET on series as they are, where levels and sizes count."""

    normalizes = False


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Without what compiled code writes to standard output, such as osqp with verbose=False."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _as_list(series: SeriesSet) -> list[FloatArray]:
    return [np.array(one, dtype=np.float64) for one in series]


def _as_block(series: SeriesSet) -> FloatArray:
    return np.stack(_as_list(resample(series, COMMON_LENGTH)))
