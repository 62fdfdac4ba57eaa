"""What the baselines share: input, prediction and the fitted attributes."""

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
from sklearn.utils.validation import check_is_fitted

from imkpl._progress import announce
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import fit_context, wants_data_frame
from imkpl.estimators._input import INPUT_ATTRIBUTES, kind_of
from imkpl.estimators._monitor import FitMonitor
from imkpl.estimators._training import (
    TrainingData,
    adapt_kernels,
    check_varying,
    read_training,
)
from imkpl_paper.baselines._operator import KernelOperator
from imkpl_paper.baselines._readers import DictionaryReader, Reader
from imkpl_paper.baselines._support import Support

# A kernel of unit diagonal whose smallest value exceeds this is constant but for rounding.
CONSTANT = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class Task:
    """What a method learns from.

    Parameters
    ----------
    operator : KernelOperator
        The kernels between the training samples.
    average : array of shape (n_samples, n_samples)
        Their average, which tells samples apart.
    labels : int array of shape (n_samples,)
        Classes, counted from 0; every class has two samples or more.
    random : RandomState
        Source of draws.
    say : function (str) -> None
        Writes a line where `verbose` asks for it.
    """

    operator: KernelOperator
    average: FloatArray
    labels: IntArray
    random: RandomState
    say: Callable[[str], None]

    @property
    def members(self) -> list[IntArray]:
        """The samples of every class."""
        return [np.flatnonzero(self.labels == q) for q in range(self.n_classes)]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True, eq=False)
class Learned:
    """What a method has learned from n samples.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
        Weights of all kernels, which sum to one.
    prototypes : array of shape (n_prototypes, n_samples)
        Mixes of samples, of any sign.
    owners : int array of shape (n_prototypes,)
        Their classes.
    reader : Reader
        Scores new samples.
    kernel : array of shape (n_samples, n_samples)
        The combined kernel.
    history : list of float
        The objective after every iteration.
    n_iter : int
        The number of iterations.
    analysis : array of shape (n_analysis, n_samples), optional
        Further mixes that the reader compares with, after the prototypes.
    spans : array of shape (n_prototypes, n_samples), optional
        The samples that each prototype stands for, where these are not those it is made of.
    attributes : dict
        Further attributes of the estimator.
    """

    weights: FloatArray
    prototypes: FloatArray
    owners: IntArray
    reader: Reader
    kernel: FloatArray
    history: list[float]
    n_iter: int
    analysis: FloatArray | None = None
    spans: FloatArray | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def mixes(self) -> FloatArray:
        """All that new samples are compared with."""
        if self.analysis is None:
            return self.prototypes
        return np.concatenate([self.prototypes, self.analysis])


class BaseBaseline(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Input, prediction and fitted attributes; a subclass says how to learn."""

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
            whatever the kernels read otherwise.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        name = type(self).__name__
        with FitMonitor(self), limited_threads(self.n_jobs):
            data = sort_samples(read_training(self, X, y))
            announce(name, "learning bandwidths")
            data = adapt_kernels(data)
            table, samples = data.bank._tabulate(data.samples)
            announce(name, f"learning from {table.n_kernels} kernels on {data.n_samples} samples")
            operator = KernelOperator.over(table, samples, data.n_samples)
            average = operator.combine(operator.uniform())
            check_varying(bool(average.min() < CONSTANT))
            random = check_random_state(0 if self.random_state is None else self.random_state)
            task = Task(operator, average, data.labels, random, partial(announce, name))
            learned = self._learn(task)
            support = Support.build(data.bank, learned.weights, data.X, data.kept, learned.mixes)
        for attribute in INPUT_ATTRIBUTES:
            vars(self).pop(attribute, None)
        used = np.flatnonzero(learned.mixes.any(axis=0))
        vars(self).update(data.input)
        self.classes_ = data.classes
        self.kernel_names_ = data.bank.kernel_names(data.input.get("feature_names_in_"))
        self.kernel_weights_ = learned.weights
        self.prototypes_ = data.expand_prototypes(sp.csr_array(learned.prototypes))
        self.prototype_classes_ = self.classes_[learned.owners]
        self.class_shares_ = class_shares(learned, data.labels)
        self.support_ = np.sort(data.kept[used])
        self.history_ = np.array(learned.history)
        self.n_iter_ = learned.n_iter
        if learned.analysis is not None:
            self.analysis_ = learned.analysis[:, data.inverse]
        for attribute, value in learned.attributes.items():
            setattr(self, attribute, value)
        self._support, self._reader = support, learned.reader
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
        """Tags that tell scikit-learn about precomputed kernels."""
        tags = super().__sklearn_tags__()
        is_precomputed = isinstance(self.kernels, str) and self.kernels == "precomputed"
        tags.input_tags.pairwise = is_precomputed
        tags.input_tags.three_d_array = is_precomputed
        return tags

    def _scores(self, X: Any) -> FloatArray:
        blocks = self._similarities(X)
        return np.concatenate([self._reader.scores(block) for block in blocks])

    def _similarities(self, X: Any) -> list[FloatArray]:
        check_is_fitted(self)
        X = kind_of(self._support.bank).read_new(self, X)
        with limited_threads(self.n_jobs):
            return list(self._support.similarities(X))


class BaseDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseBaseline):
    """A baseline whose prototypes rebuild samples."""

    _reader: DictionaryReader

    def transform(self, X: Any) -> Any:
        """The codes: how much of each prototype rebuilds each sample, in a code over all of them.

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


def is_level(history: list[float], tol: float) -> bool:
    """Whether the last iteration changed the objective by little."""
    return len(history) > 1 and abs(history[-2] - history[-1]) <= tol * abs(history[-1])


def sort_samples(data: TrainingData) -> TrainingData:
    """All samples, none merged, sorted so that a fit does not depend on the order of the rows."""
    labels = data.labels[data.inverse]
    order = np.lexsort([data.inverse, labels])
    ones = np.ones(order.size)
    return replace(
        data,
        kept=order,
        inverse=np.argsort(order),
        labels=labels[order],
        sample_weight=ones,
        counts=ones,
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
