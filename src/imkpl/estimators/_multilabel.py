"""Several labels per sample, by one model with a class per label."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._compat import Interval, StrOptions, fit_context
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._training import read_sample_weight
from imkpl.explanations import Explanation

# The class of samples without any label, or with none that makes a class.
NO_LABEL = "no label"
EXPECTED = (
    "expected zeros and ones with a column per label. Turn sets of labels into such a table with "
    "scikit-learn's MultiLabelBinarizer."
)


class MultiLabelIMKPL(ClassifierMixin, BaseEstimator):
    """Prototypes for samples with several labels each.

    A sample belongs to the class of its rarest label, which is the most specific one where labels
    are nested, such as topics of news. One model of these classes is learned, with prototypes and
    kernel weights for all labels together. What it says of a label is the sum of the probabilities
    of all classes, each times the share of its training samples that have the label.

    With one label per sample it is the model itself. Where every label should have prototypes and
    kernel weights of its own, ``OneVsRestClassifier(IMKPL())`` learns as many models as there are
    labels.

    Parameters
    ----------
    estimator : IMKPL, ISKPL, TimeSeriesIMKPL or IMKPLCV, default=None
        The model; ``IMKPL()`` by default. It is cloned before fitting.
    threshold : "auto" or float, default="auto"
        The probability from which on a sample has a label. "auto" takes the one of largest
        micro-averaged F1 on the training samples; 0.5 makes the fewest mistakes, if labels are
        frequent and probabilities right.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model. Its classes are labels, or "no label" (-1 where labels have no names).
    classes_ : array of shape (n_labels,)
        The labels: names of the columns of a data frame, or their numbers.
    label_shares_ : array of shape (n_classes, n_labels) or None
        The share of the training samples of every class of the model that have each label. None
        for one label per sample.
    prototype_labels_ : array of shape (n_prototypes, n_labels) or None
        How much of each prototype lies in samples with each label, between 0 and 1.
    threshold_ : float or None
        The probability from which on a sample has a label.
    n_features_in_ : int
        Number of features, or of what the model counts.
    feature_names_in_ : array of shape (n_features,)
        Their names, where they had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, y = make_multilabel_classification(200, n_classes=3, n_labels=2, random_state=0)
    >>> model = MultiLabelIMKPL(IMKPL(sparsity=3)).fit(X[:120], y[:120])
    >>> model.predict(X[120:]).shape, bool(np.mean(model.predict(X[120:]) == y[120:]) > 0.7)
    ((80, 3), True)
    >>> print(model.explain(X[120:])[0])  # doctest: +ELLIPSIS
    Sample 0 is ...
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [BasePrototypeClassifier, None],
        "threshold": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(self, estimator: Any = None, *, threshold: Any = "auto") -> None:
        self.estimator = estimator
        self.threshold = threshold

    # A nested estimator validates its own parameters when it is fitted.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eligible: Any = None,
        pin: Any = None,
        ban: Any = None,
    ) -> Self:
        """Learn kernel weights, prototypes, and what classes say about labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, or whatever else the estimator reads.
        y : array-like of shape (n_samples, n_labels) or (n_samples,)
            Zeros and ones, a column per label; or one class label per sample.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts.
        eligible, pin, ban : array-like of bool of shape (n_samples,), optional
            Wishes about samples, as for the estimator: prototypes are those of its classes.

        Returns
        -------
        self
            The fitted estimator.
        """
        model = IMKPL() if self.estimator is None else clone(self.estimator)
        read, wishes = _read_labels(y), {"eligible": eligible, "pin": pin, "ban": ban}
        shares: FloatArray | None = None
        labels_behind: FloatArray | None = None
        threshold: float | None = None
        if read is None:
            model.fit(X, y, sample_weight, **wishes)
            classes = model.classes_
        else:
            table, classes = read
            check_consistent_length(X, table)
            weight = read_sample_weight(sample_weight, X)
            groups = _name_groups(group_by_rarest_label(table, weight), classes)
            _check_groups(groups[weight > 0])
            model.fit(X, groups, sample_weight, **wishes)
            members = weight[:, np.newaxis] * (groups[:, np.newaxis] == model.classes_)
            shares = (members.T @ table) / members.sum(axis=0)[:, np.newaxis]
            mixes = model.prototypes_
            labels_behind = (mixes @ table) / mixes.sum(axis=1)[:, np.newaxis]
            if self.threshold == "auto":
                threshold = find_threshold(model.predict_proba(X) @ shares, table, weight)
            else:
                threshold = float(self.threshold)
        self.estimator_, self.classes_ = model, classes
        self.label_shares_, self.prototype_labels_ = shares, labels_behind
        self.threshold_ = threshold
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def predict(self, X: Any) -> Any:
        """The labels of every sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Zeros and ones; an array of shape (n_samples,) if `fit` got one label per sample.
        """
        check_is_fitted(self)
        if self.threshold_ is None:
            return self.estimator_.predict(X)
        return (self.predict_proba(X) >= self.threshold_).astype(np.int64)

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Between 0 and 1. Rows sum to one only if `fit` got one label per sample.
        """
        check_is_fitted(self)
        probabilities = self.estimator_.predict_proba(X)
        if self.label_shares_ is None:
            return np.asarray(probabilities)
        return np.asarray(np.clip(probabilities @ self.label_shares_, 0.0, 1.0))

    def explain(self, X: Any, *, render: Callable[[Any], Any] | None = None) -> Explanation:
        """Why samples are like those of which class; classes are labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        render : callable, optional
            Shows a sample on the cards of the explanation, as for `IMKPL`.

        Returns
        -------
        Explanation
            That of the model. `label_shares_` leads from its classes to labels.
        """
        check_is_fitted(self)
        explanation: Explanation = self.estimator_.explain(X, render=render)
        return explanation

    def __sklearn_tags__(self) -> Any:
        """Tags that say that several labels are read, and what the estimator reads."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags = get_tags(self.estimator or IMKPL()).input_tags
        return tags


def group_by_rarest_label(table: BoolArray, sample_weight: FloatArray) -> IntArray:
    """One class per sample: that of its labels which the fewest samples have.

    Prototypes are made of two samples or more. Where a label would be the class of a single sample,
    that sample gets the next rarest of its labels, or none; a single sample with none gets the
    largest class.

    Examples
    --------
    >>> table = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]], dtype=bool)
    >>> group_by_rarest_label(table, np.ones(5)).tolist()
    [1, 1, 1, 0, 0]
    """
    sizes = sample_weight @ table
    is_allowed = np.ones(table.shape[1], dtype=bool)
    while True:
        usable = table & is_allowed
        rarest = np.argmin(np.where(usable, sizes, np.inf), axis=1)
        groups = np.where(usable.any(axis=1), rarest, -1)
        alone = _find_alone(groups, sample_weight)
        if not np.any(alone >= 0):
            break
        is_allowed[alone[alone >= 0]] = False
    if alone.size:
        counts = np.bincount(groups[groups >= 0], minlength=1)
        groups[groups < 0] = np.argmax(counts)
    return groups


def find_threshold(probabilities: FloatArray, table: BoolArray, sample_weight: FloatArray) -> float:
    """The threshold on probabilities of largest micro-averaged F1.

    Examples
    --------
    >>> find_threshold(np.array([[0.9, 0.2], [0.6, 0.1]]), np.array([[1, 0], [1, 0]]), np.ones(2))
    0.4
    """
    order = np.argsort(-probabilities, axis=None, kind="stable")
    values = probabilities.ravel()[order]
    weight = np.broadcast_to(sample_weight[:, np.newaxis], table.shape).ravel()[order]
    hits = np.cumsum(weight * table.ravel()[order])
    scores = 2 * hits / (np.cumsum(weight) + hits[-1])
    below = np.append(values[1:], 0.0)
    # Equal probabilities cannot be told apart; after the last one everything is taken.
    is_cut = np.append(values[1:] < values[:-1], True)
    best = int(np.argmax(np.where(is_cut, scores, -1.0)))
    return float((values[best] + below[best]) / 2)


def _find_alone(groups: IntArray, sample_weight: FloatArray) -> IntArray:
    """Groups that have a single sample of weight 1 or less."""
    is_used = sample_weight > 0
    found, places = np.unique(groups[is_used], return_inverse=True)
    counts = np.bincount(places, minlength=found.size)
    totals = np.bincount(places, sample_weight[is_used], minlength=found.size)
    return np.asarray(found[(counts == 1) & (totals <= 1)])


def _name_groups(groups: IntArray, labels: Any) -> Any:
    # What -1 stands for is at the end, where it is found.
    nothing = -1 if labels.dtype.kind == "i" else NO_LABEL
    return np.append(labels, nothing)[groups]


def _check_groups(groups: Any) -> None:
    if np.unique(groups).size == 1:
        raise ValueError(
            "All samples belong to one class by their rarest labels, expected two or more. Give "
            "labels that some samples have and others have not."
        )


def _read_labels(y: Any) -> tuple[BoolArray, Any] | None:
    """Which sample has which label, and the labels; None for one label per sample."""
    try:
        cells = y.toarray() if sp.issparse(y) else np.asarray(y)
    except ValueError as error:
        raise ValueError(f"y has rows of unequal length, {EXPECTED}") from error
    if cells.ndim != 2 or cells.shape[1] < 2:
        return None
    if type_of_target(cells) != "multilabel-indicator" or not np.isin(cells, (0, 1)).all():
        raise ValueError(f"y has shape {cells.shape} and other values than 0 and 1, {EXPECTED}")
    columns = getattr(y, "columns", None)
    if columns is None:
        return cells.astype(bool), np.arange(cells.shape[1])
    return cells.astype(bool), np.array([str(name) for name in columns])
