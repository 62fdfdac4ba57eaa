"""What the baselines share: input, prediction and fitted attributes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from imkpl.kernels import Kernels, resolve_bank
from imkpl_paper._imkpl import (
    INPUT_ATTRIBUTES,
    FitMonitor,
    FloatArray,
    IntArray,
    TrainingData,
    announce,
    check_varying,
    choose_bank,
    fit_context,
    limited_threads,
    map_in_order,
    normalized,
    read_training,
    wants_data_frame,
)
from imkpl_paper.baselines._kernels import combine, uniform
from imkpl_paper.baselines._readers import DictionaryReader, Reader

# Number of samples compared with the support at a time.
BLOCK_ROWS = 4096
# A kernel of unit diagonal whose smallest value exceeds this is constant but for rounding.
CONSTANT = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class Task:
    """What a method learns from."""

    kernels: Kernels  # between the training samples
    average: FloatArray  # the average kernel, (n_samples, n_samples)
    labels: IntArray  # classes counted from 0; every class has two samples or more
    random: RandomState
    log: Callable[[str], None]  # announces progress

    @property
    def members(self) -> list[IntArray]:
        """Samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(self.n_classes)]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True, eq=False)
class Learned:
    """What a method has learned from n samples."""

    weights: FloatArray  # of all kernels, sum to one
    prototypes: FloatArray  # mixes of samples of any sign, (n_prototypes, n_samples)
    owners: IntArray  # their classes
    reader: Reader
    kernel: FloatArray  # the combined kernel
    history: list[float]  # the objective after every iteration
    n_iter: int
    analysis: FloatArray | None = None  # further mixes for the reader, after the prototypes
    spans: FloatArray | None = None  # samples that prototypes stand for, if not their own
    attributes: dict[str, Any] = field(default_factory=dict)  # further fitted attributes

    @property
    def mixes(self) -> FloatArray:
        """All mixes that new samples are compared with."""
        if self.analysis is None:
            return self.prototypes
        return np.concatenate([self.prototypes, self.analysis])


@dataclass(frozen=True, eq=False)
class Support:
    """What remains of a fit: compares new samples with mixes of training samples."""

    kernels: Kernels  # those of positive weight, on the support samples
    weights: FloatArray
    mixes: FloatArray  # (n_mixes, n_support)

    @classmethod
    def build(cls, kernels: Kernels, weights: FloatArray, mixes: FloatArray) -> Support:
        """Keep the kernels, samples and columns that are needed."""
        used, live = np.flatnonzero(mixes.any(axis=0)), np.flatnonzero(weights)
        kept = kernels.local().take(used).select(live).narrowed()
        return cls(kept, weights[live], mixes[:, used])

    def compare(self, samples: Any) -> list[FloatArray]:
        """Inner products of samples and mixes, a block of samples at a time."""
        return map_in_order(samples, self._compare_block, BLOCK_ROWS)

    def _compare_block(self, samples: Any) -> FloatArray:
        return np.asarray(self.kernels.cross(samples).combine(self.weights) @ self.mixes.T)


class BaseBaseline(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Input, prediction and fitted attributes; a subclass defines how to learn."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernels": "no_validation",
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _learn(self, task: Task) -> Learned:
        """Learn from the kernels between the training samples, which are sorted by class."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn prototypes, and kernel weights where the method has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; an array of shape (n_samples, n_samples, n_kernels) for
            ``kernels="precomputed"``, time series for ``kernels="global_alignment"``, and
            otherwise what the kernels read.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        name = type(self).__name__
        with FitMonitor(self), limited_threads(self.n_jobs):
            bank = choose_bank(self.kernels, X, name)
            data = sort_samples(read_training(bank, X, y, owner=name))
            announce(name, "learning bandwidths")
            kernels = normalized(bank.on_rows(data.given.samples, data.rows, data.sample_weight))
            n_kernels = kernels.n_kernels
            announce(name, f"learning from {n_kernels} kernels on {data.labels.size} samples")
            table = kernels.tabulated()
            average = combine(table, uniform(n_kernels))
            check_varying(bool(average.min() < CONSTANT))
            random = check_random_state(0 if self.random_state is None else self.random_state)
            task = Task(table, average, data.labels, random, partial(announce, name))
            learned = self._learn(task)
            support = Support.build(kernels, learned.weights, learned.mixes)
        used = np.flatnonzero(learned.mixes.any(axis=0))
        for attribute in INPUT_ATTRIBUTES:
            self.__dict__.pop(attribute, None)
        form = data.given.form
        self.__dict__.update(form.attributes)
        self.classes_ = data.classes
        self.kernel_names_ = kernels.kernel_names(form.names)
        self.kernel_weights_ = learned.weights
        self.prototypes_ = data.expand_prototypes(sp.csr_array(learned.prototypes))
        self.prototype_classes_ = self.classes_[learned.owners]
        self.class_shares_ = class_shares(learned, data.labels)
        self.support_ = np.sort(data.rows[used])
        self.history_ = np.array(learned.history)
        self.n_iter_ = learned.n_iter
        if learned.analysis is not None:
            self.analysis_ = learned.analysis[:, data.group]
        for attribute, value in learned.attributes.items():
            setattr(self, attribute, value)
        self._form, self._support, self._reader = form, support, learned.reader
        return self

    def predict(self, X: Any) -> Any:
        """The class of every sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples,)
            Class labels.
        """
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def decision_function(self, X: Any) -> FloatArray:
        """The score of every class, the larger the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores; for two classes the second's minus the first's.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if self.classes_.size == 2 else scores

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has come to its end."""
        return "_support" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Tags that tell scikit-learn what the kernels read."""
        tags = super().__sklearn_tags__()
        try:
            reads = resolve_bank(self.kernels).kind.input_kind
        # Wrong kernels are refused by `fit`.
        except (TypeError, ValueError):
            return tags
        tags.input_tags.pairwise = tags.input_tags.three_d_array = reads == "similarities"
        tags.input_tags.sparse = reads == "columns"
        return tags

    def _scores(self, X: Any) -> FloatArray:
        blocks = self._similarities(X)
        return np.concatenate([self._reader.scores(block) for block in blocks])

    def _similarities(self, X: Any) -> list[FloatArray]:
        check_is_fitted(self)
        samples, _ = self._support.kernels.read(X, self._form)
        if isinstance(samples, np.ndarray):
            # Kernels read missing cells, which mean nothing to these methods.
            assert_all_finite(samples, input_name="X")
        with limited_threads(self.n_jobs):
            return self._support.compare(samples)


class BaseDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseBaseline):
    """A baseline whose prototypes rebuild samples."""

    _reader: DictionaryReader

    def transform(self, X: Any) -> Any:
        """Codes: how much of each prototype rebuilds each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        CSR array of shape (n_samples, n_prototypes)
            Codes of any sign; a data frame where `set_output` asked for one.
        """
        similarities = np.concatenate(self._similarities(X))
        codes = self._reader.codes(similarities)
        return codes if wants_data_frame(self) else sp.csr_array(codes)

    @property
    def _n_features_out(self) -> int:
        return int(self.prototypes_.shape[0])


def sort_samples(data: TrainingData) -> TrainingData:
    """All samples, none merged, sorted so that a fit does not depend on the order of the rows."""
    labels = data.labels[data.group]
    order = np.lexsort([data.group, labels])
    ones = np.ones(order.size)
    return replace(
        data,
        rows=order,
        group=np.argsort(order),
        labels=labels[order],
        sample_weight=ones,
        multiplicity=ones,
    )


def class_shares(learned: Learned, labels: IntArray) -> FloatArray:
    """How much of each prototype lies in each class, in sizes of coefficients at unit norm.

    With ``|u|`` scaled to unit norm in the combined space, IP follows from these sums alone, as
    it does for IMKPL.
    """
    sizes = np.abs(learned.prototypes if learned.spans is None else learned.spans)
    norms = np.sqrt(np.einsum("is,is->i", sizes @ learned.kernel, sizes))
    indicator = np.equal.outer(labels, np.arange(labels.max() + 1))
    return np.asarray(sizes @ indicator / norms[:, np.newaxis])
