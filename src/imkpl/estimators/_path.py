"""The path over numbers of features: what each number is worth on left-out samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from imkpl._json import Described
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._partitions import refuse_partitions
from imkpl.estimators._pipeline import find_model, last_step
from imkpl.estimators._training import TrainingData
from imkpl.explanations.exports import Columns, choose_frame, list_some
from imkpl.series import read_series

# As many features as the model keeps by itself, half of them, a quarter, and so on.
N_SIZES = 5
# A class needs one sample to test on, and two to learn from.
FEWEST_SAMPLES = 3
# Names in a row of a summary.
MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class FeaturePath(Described):
    """What models with few and with many features are worth on left-out samples.

    Returned by :func:`path`. Print it, convert it to a data frame, or draw it with
    :class:`imkpl.plots.PathDisplay`. Kernels count as features, as by default each reads one.

    Parameters
    ----------
    sizes : int array of shape (n_sizes,)
        The largest number of features of each model, ascending.
    split_scores : array of shape (n_sizes, n_splits)
        The accuracy of each on the left-out samples of every split.
    features : tuple of tuples of str
        The features of each when it is fitted to all samples.
    model : estimator
        The one of the chosen size, fitted to all samples.

    Examples
    --------
    >>> from imkpl.estimators import FeaturePath
    >>> scores = [[0.7, 0.8], [0.9, 1.0], [0.95, 0.97]]
    >>> found = FeaturePath([1, 2, 4], scores, (("a",), ("a", "b"), ("b", "c", "d", "e")), None)
    >>> found.best, found.chosen
    (4, 2)
    >>> found.entered
    [['a'], ['b'], ['c', 'd', 'e']]
    """

    sizes: IntArray
    split_scores: FloatArray
    features: tuple[tuple[str, ...], ...]
    model: Any

    _also: ClassVar = ("accuracy", "standard_error", "best", "chosen", "entered")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", np.asarray(self.sizes))
        object.__setattr__(self, "split_scores", np.asarray(self.split_scores, dtype=np.float64))

    @property
    def accuracy(self) -> FloatArray:
        """The mean accuracy of every size over the splits."""
        return np.asarray(self.split_scores.mean(axis=1))

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of every mean; 0 for a single split, which has no spread."""
        n_splits = self.split_scores.shape[1]
        if n_splits == 1:
            return np.zeros(self.sizes.size)
        return np.asarray(self.split_scores.std(axis=1, ddof=1) / np.sqrt(n_splits))

    @property
    def best(self) -> int:
        """The size of largest accuracy, the smallest of these."""
        return int(self.sizes[np.argmax(self.accuracy)])

    @property
    def chosen(self) -> int:
        """The smallest size whose accuracy is within one standard error of the best."""
        top = np.argmax(self.accuracy)
        least = self.accuracy[top] - self.standard_error[top]
        return int(self.sizes[np.argmax(self.accuracy >= least)])

    @property
    def entered(self) -> list[list[str]]:
        """The features of every model that the next smaller one does not have."""
        before = ((), *self.features)
        return [
            [name for name in names if name not in smaller]
            for names, smaller in zip(self.features, before, strict=False)
        ]

    def to_frame(self, *, backend: str = "pandas") -> Any:
        """Convert to a data frame with one row per size.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.

        Returns
        -------
        data frame
            Columns "size", "accuracy", "standard_error" and "entered".
        """
        columns: Columns = {
            "size": self.sizes.tolist(),
            "accuracy": self.accuracy.tolist(),
            "standard_error": self.standard_error.tolist(),
            "entered": [", ".join(names) for names in self.entered],
        }
        return choose_frame({"sizes": lambda: columns}, "sizes", backend)

    def __str__(self) -> str:
        lines = ["features  accuracy  what came in"]
        rows = zip(self.sizes, self.accuracy, self.standard_error, self.entered, strict=True)
        for size, accuracy, error, names in rows:
            mark = "  <- chosen" if size == self.chosen else ""
            entered = list_some(names, MOST_NAMED)
            lines.append(f"{size:8d}  {accuracy:.3f} ± {error:.3f}  {entered}{mark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"FeaturePath({self.sizes.size} sizes, best={self.best}, chosen={self.chosen})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def path(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sizes: ArrayLike | None = None,
    cv: Any = 5,
    *,
    sample_weight: ArrayLike | None = None,
    eligible: ArrayLike | None = None,
) -> FeaturePath:
    """Measure how accurate models with few and with many features are on left-out samples.

    A model of each size is fitted to all samples, to see what comes in, and to the training part of
    every split. All have as many prototypes as the estimator finds for all samples, which is most
    of the cost of a fit: the whole path costs about as much as ten fits.

    Parameters
    ----------
    estimator : IMKPL or Pipeline
        The model, fitted or not, or a pipeline that ends in one. It is cloned and stays as it is.
    X : array-like of shape (n_samples, n_features)
        Training samples, in the form that `fit` reads.
    y : array-like of shape (n_samples,)
        Class labels.
    sizes : sequence of int, default=None
        Numbers of features to try, as `max_kernels`. By default as many as the estimator keeps by
        itself, half of them, a quarter, an eighth and a sixteenth.
    cv : int, splitter or iterable, default=5
        How samples are split. A number of folds, never more than the smallest class has distinct
        samples, shuffles the samples, keeps the classes' shares, and keeps equal samples together.
        A splitter or an iterable of pairs of index arrays is taken as it is.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts, also in the accuracy.
    eligible : array-like of bool of shape (n_samples,), optional
        The samples that prototypes may be made of, as for `fit`.

    Returns
    -------
    FeaturePath
        A row per size; `chosen` is the smallest within one standard error of the best, and `model`
        the one of that size, fitted to all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import imkpl
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = imkpl.path(imkpl.IMKPL(n_prototypes=3), X, y, sizes=[1, 4, 8], cv=3)
    >>> found.chosen in (4, 8), found.entered[0]
    (True, ['proline'])
    """
    last = last_step(estimator)
    if not isinstance(last, IMKPL):
        raise TypeError(
            f"path() got {type(last).__name__}, whose kernels all have the same weight, expected "
            "an IMKPL, or a pipeline that ends with one. Pass IMKPL(), for example."
        )
    refuse_partitions(X, "path()")
    numbers = None if sizes is None else _read_sizes(sizes)
    # Settings and weights of the last step of a pipeline have its name before theirs.
    prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
    given = {"sample_weight": sample_weight, "eligible": eligible}
    params = {f"{prefix}{name}": values for name, values in given.items() if values is not None}

    def fit(X: Any, y: Any, rows: Any, limits: dict[str, Any]) -> Any:
        copy = clone(estimator)
        last_step(copy).set_params(**limits)
        # A single weight is that of all samples.
        taken = {k: np.asarray(v)[rows] if np.ndim(v) else v for k, v in params.items()}
        return copy.fit(X, y, **taken)

    announce("path", "fitting to all samples")
    everything = slice(None)
    whole = fit(X, y, everything, {})
    model = last_step(whole)
    inner = whole[:-1].transform(X) if prefix else X
    data = last._read_training(inner, y, sample_weight=sample_weight)
    labels = data.given.y
    splits = _find_splits(data, cv, last.random_state)
    # Frames of series have several rows for each.
    samples = read_series(X) if model._predictor.kernels.input_kind == "series" else X
    if numbers is None:
        n_kept = int(np.count_nonzero(model.kernel_weights_))
        fewest = min(n_kept, len(last.require or ()))
        halves = np.ceil(n_kept / 2.0 ** np.arange(N_SIZES)).astype(int)
        numbers = np.unique(np.maximum(halves, fewest))
    models, scores = [], np.zeros((numbers.size, len(splits)))
    for place, size in enumerate(numbers.tolist()):
        announce("path", f"{size} features", place, numbers.size)
        limits = {"max_kernels": size, "n_prototypes": model.prototypes_.shape[0]}
        models.append(fit(samples, labels, everything, limits))
        for number, (train, test) in enumerate(splits):
            X_train, y_train = safe_split(estimator, samples, labels, train)
            X_test, y_test = safe_split(estimator, samples, labels, test, train)
            is_right = fit(X_train, y_train, train, limits).predict(X_test) == y_test
            scores[place, number] = np.average(is_right, weights=data.given.weight[test])
    found = FeaturePath(numbers, scores, tuple(_name_features(one) for one in models), None)
    return replace(found, model=models[int(np.searchsorted(numbers, found.chosen))])


def _name_features(model: Any) -> tuple[str, ...]:
    """The names of kernels with a weight, the largest first."""
    named = find_model(model)
    order = np.argsort(-named.kernel_weights_, kind="stable")
    return tuple(named.kernel_names_[i] for i in order if named.kernel_weights_[i] > 0)


def _read_sizes(sizes: Any) -> IntArray:
    """Ascending positive numbers without repetition."""
    numbers = np.asarray(sizes)
    is_list = numbers.ndim == 1 and numbers.size > 0 and np.issubdtype(numbers.dtype, np.integer)
    if not is_list or numbers.min() < 1:
        raise ValueError(
            f"sizes={sizes!r}, expected a sequence of positive whole numbers of features, such as "
            "(5, 10, 20). Leave it out to try what the model keeps, half of it, and so on."
        )
    return np.unique(numbers)


def _find_splits(data: TrainingData, cv: Any, seed: Any) -> list[tuple[IntArray, IntArray]]:
    """Rows to learn from and rows to test on, with equal samples on the same side."""
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, data.given.y, classifier=True)
        # An iterable is kept there as it was given.
        listed = getattr(splitter, "cv", [(None, None)])
        if not listed or not all(isinstance(one, tuple | list) and len(one) == 2 for one in listed):
            raise ValueError(
                "cv gives no splits, or other things than pairs, expected at least one pair of "
                "index arrays. Leave it out for 5 folds."
            )
        return list(splitter.split(data.given.samples, data.given.y))
    counts = np.bincount(data.labels)
    smallest = int(counts.min())
    if smallest < FEWEST_SAMPLES or cv < 2:
        raise ValueError(
            f"cv={cv} and class {data.classes.tolist()[int(counts.argmin())]!r} has {smallest} "
            f"distinct samples, expected at least 2 folds and {FEWEST_SAMPLES} distinct samples in "
            "every class. Raise cv, or add samples of that class."
        )
    folds = StratifiedKFold(
        min(int(cv), smallest), shuffle=True, random_state=0 if seed is None else seed
    )
    tests = [np.isin(data.group, test) for _, test in folds.split(data.labels, data.labels)]
    return [(np.flatnonzero(~is_test), np.flatnonzero(is_test)) for is_test in tests]
