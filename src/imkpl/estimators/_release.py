"""Releasing a model: prototypes as rounded means of several records, instead of records."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted, column_or_1d

from imkpl._checks import quote
from imkpl._json import Described
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._compat import safe_split
from imkpl.estimators._forget import _check_training
from imkpl.estimators._stability import _unfitted
from imkpl.model.calibration import USUAL, fit_temperature
from imkpl.model.disclosure import measure_membership
from imkpl.model.predictor import Predictor

# Digits of the temperature and of the threshold of novelty, which rest on single records.
DIGITS = 2


@dataclass(frozen=True, eq=False)
class Released(Described):
    """A model of means, and what it costs and hides.

    Returned by :func:`release`. Print it for a summary.

    Parameters
    ----------
    model : estimator
        It predicts and explains like the old one, with means in the place of records.
    k : int
        The least number of records in a mean.
    n_prototypes : tuple (int, int)
        The number of prototypes before and after.
    n_records : int
        The number of records that are in one of the means.
    accuracy : tuple (float, float) or None
        The accuracy of such models in folds, before and after.
    membership : tuple (dict, dict) or None
        Before and after, for each attack ("similarity" and "confidence") the mean area under the
        curve by which training records are told from those of the other fold: 0.5 by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from imkpl import IMKPL, release
    >>> X, y = np.r_[0:8.0, 20:28.0][:, None], np.repeat(["low", "high"], 8)
    >>> found = release(IMKPL(n_prototypes=2).fit(X, y), X, y, k=3, cv=None)
    >>> found.k, found.n_prototypes, found.n_records
    (3, (2, 2), 6)
    """

    model: Any
    k: int
    n_prototypes: tuple[int, int]
    n_records: int
    accuracy: tuple[float, float] | None
    membership: tuple[dict[str, float], dict[str, float]] | None

    def __str__(self) -> str:
        """A few sentences."""
        before, after = self.n_prototypes
        lines = [
            f"{after} prototypes ({before} before), each the rounded mean of {self.k} or more "
            f"records of its class, {self.n_records} records in all."
        ]
        if self.accuracy is not None and self.membership is not None:
            lines.append(
                f"Accuracy in folds: {self.accuracy[0]:.1%} before, {self.accuracy[1]:.1%} now."
            )
            lines += [
                f"Training records told from others by {name} (AUC, 0.5 is chance): "
                f"{self.membership[0][name]:.2f} before, {self.membership[1][name]:.2f} now."
                for name in self.membership[0]
            ]
        lines.append("This is no differential privacy: see docs/privacy.md for what it is not.")
        return "\n".join(lines)


def release(model: Any, X: Any, y: ArrayLike, *, k: int = 5, cv: int | None = 5) -> Released:
    """Replace the records in a model by means of several, and measure what that costs and hides.

    Each prototype becomes the mean of the k records of its class that are most similar to it, in
    the features that the model reads, rounded to a tenth of their spread or less. No record is in
    two means, so that means cannot be subtracted from each other; equal records count once, and
    those that are not `eligible` not at all. A class
    of too few records for its prototypes keeps fewer. Kernel weights, bandwidths and bonuses
    stay; what rests on single records is left out (codes, names, ranges)
    or rounded (temperature, threshold of novelty). It is not differentially private.

    Parameters
    ----------
    model : IMKPL, IMKPLCV or ISKPL
        Fitted to a table of numbers. It stays as it is.
    X : array-like of shape (n_samples, n_features)
        The samples that it was fitted to.
    y : array-like of shape (n_samples,)
        Their classes.
    k : int, default=5
        The number of records in a mean; every class needs as many different ones.
    cv : int, default=5
        Folds in which accuracy and membership are measured, with a fit each. None measures nothing.

    Returns
    -------
    Released
        The new model, and the measurements.

    See Also
    --------
    forget : Fit without some records.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL, release
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> found = release(model, X, y, k=5, cv=None)
    >>> found.model.support_values_[0]["proline"] in set(X["proline"])
    False
    >>> bool(found.model.score(X, y) > 0.9)
    True
    """
    _check(model, k)
    labels = column_or_1d(y)
    _check_training(model, X, labels.size)
    released, n_records = _release(model, X, labels, int(k))
    accuracy = membership = None
    if cv is not None:
        accuracy, membership = _measure(model, X, labels, int(k), int(cv))
    return Released(
        model=released,
        k=int(k),
        n_prototypes=(model.prototypes_.shape[0], released.prototypes_.shape[0]),
        n_records=n_records,
        accuracy=accuracy,
        membership=membership,
    )


def _check(model: Any, k: Any) -> None:
    if not isinstance(model, BasePrototypeClassifier):
        raise TypeError(
            f"model is a {type(model).__name__}, expected a fitted IMKPL, IMKPLCV or ISKPL. Pass "
            "the last step of a pipeline, with samples as it reads them."
        )
    check_is_fitted(model)
    if model._samples.word not in ("columns", "vectors"):
        raise ValueError(
            f"release() makes means of numbers, but this {type(model).__name__} reads "
            f"{model._samples.word}. Only models of tables of numbers without missing cells can be "
            "released."
        )
    if not isinstance(k, Integral) or k < 1:
        raise ValueError(
            f"k={k!r}, expected a whole number of at least 1, the number of records in a mean. Use "
            "5, for example."
        )


def _release(model: Any, X: Any, y: Any, k: int) -> tuple[Any, int]:
    """The model of means, and the number of records in them."""
    samples, old = model._read_new(X), model._predictor
    values = np.asarray(samples if old.columns is None else samples[:, old.columns])
    similarities, means, kept, sizes = old.similarities(samples), [], [], []
    digits, wishes = _find_digits(values), model.sample_wishes_
    is_shown = np.ones(y.size, dtype=bool) if wishes is None else wishes["eligible"]
    for label in model.classes_:
        rows = np.flatnonzero((y == label) & is_shown)
        # A person who is there twice counts once.
        rows = rows[np.unique(values[rows], axis=0, return_index=True)[1]]
        if rows.size < k:
            raise ValueError(
                f"Class {quote(label)} has {rows.size} different records that may be shown, "
                f"expected at least k={k}. Lower k, or leave the class out."
            )
        own = np.flatnonzero(model.prototype_classes_ == label)
        for place, group in _group(similarities[np.ix_(rows, own)], k):
            mean = values[rows[group]].mean(axis=0).tolist()
            means.append([round(one, n) for one, n in zip(mean, digits, strict=True)])
            kept.append(own[place])
            sizes.append(group.size)
    predictor = _place(old, np.array(means), np.array(kept))
    return _describe(model, predictor, np.array(kept), samples, y, k), sum(sizes)


def _find_digits(values: FloatArray) -> list[int]:
    """Decimals by which values of every column are rounded, to less than a tenth of the spread."""
    spread = values.std(axis=0)
    logs = np.log10(np.where(spread > 0, spread, 1.0))
    return [1 - int(one) for one in np.floor(logs)]


def _group(similarities: FloatArray, k: int) -> list[tuple[int, IntArray]]:
    """Disjoint groups of k records (rows) for as many prototypes (columns) as there can be.

    The most similar pair of record and prototype comes first.
    """
    n_records, n_prototypes = similarities.shape
    n_kept = min(n_prototypes, n_records // k)
    # The prototypes that records are most similar to.
    kept = np.sort(np.argsort(-similarities.mean(axis=0), kind="stable")[:n_kept])
    groups: list[list[int]] = [[] for _ in kept]
    is_free = np.ones(n_records, dtype=bool)
    for flat in np.argsort(-similarities[:, kept], axis=None, kind="stable").tolist():
        row, place = divmod(flat, n_kept)
        if is_free[row] and len(groups[place]) < k:
            groups[place].append(row)
            is_free[row] = False
    return [(int(i), np.array(group)) for i, group in zip(kept, groups, strict=True)]


def _place(old: Predictor, means: FloatArray, kept: IntArray) -> Predictor:
    """A predictor whose prototypes are single samples, the means."""
    rows = np.arange(kept.size)
    kernel = old.bank.combine(old.weights, means, means)
    mixes = sp.csr_array(sp.diags_array(1 / np.sqrt(np.diagonal(kernel))))
    shares = mixes @ np.eye(old.encoder.class_shares.shape[1])[old.encoder.classes[kept]]
    encoder = replace(old.encoder, gram=mixes @ kernel @ mixes.T, class_shares=shares)
    votes = old.votes
    if votes is not None:
        votes = replace(votes, classes=votes.classes[kept], bonuses=votes.bonuses[kept])
    return replace(
        old, samples=means, rows=rows, mixes=mixes, encoder=encoder, votes=votes, ranges=None
    )


def _describe(
    model: Any, predictor: Predictor, kept: IntArray, samples: Any, y: Any, k: int
) -> Any:
    """The estimator with the attributes of a model of means."""
    released = copy.copy(model)
    encoding = predictor.encode(samples)
    labels, n_means = np.searchsorted(model.classes_, y), kept.size
    classes = model.prototype_classes_[kept]
    names = [f"mean {i + 1} of {k} records" for i in range(n_means)]
    learned = {
        "prototypes_": predictor.mixes,
        "prototype_classes_": classes,
        "class_shares_": predictor.encoder.class_shares,
        "codes_": predictor.encode_similarities(
            predictor.encoder.gram / np.sqrt(np.diagonal(predictor.encoder.gram))
        ).codes,
        "support_": np.arange(n_means),
        "support_ids_": np.array(names, dtype=object),
        "support_classes_": classes,
        "temperature_": _round(fit_temperature(encoding.scores, labels, np.ones(labels.size))),
        "novelty_threshold_": _round(float(np.quantile(encoding.errors, USUAL))),
        # Nothing of where the records come from.
        "provenance_": {"released": k},
        "sample_wishes_": None,
        "_predictor": predictor,
    }
    for name, value in learned.items():
        setattr(released, name, value)
    return released


def _round(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _measure(
    model: Any, X: Any, y: Any, k: int, cv: int
) -> tuple[tuple[float, float], tuple[dict[str, float], dict[str, float]]]:
    """Accuracy and membership in folds, before and after."""
    found: list[list[tuple[float, dict[str, float]]]] = [[], []]
    folds = StratifiedKFold(cv, shuffle=True, random_state=0)
    for train, test in folds.split(np.zeros(y.size), y):
        X_train, y_train = safe_split(model, X, y, train)
        X_test, y_test = safe_split(model, X, y, test)
        wishes = {name: wish[train] for name, wish in (model.sample_wishes_ or {}).items()}
        whole = _unfitted(model).fit(X_train, y_train, **wishes)
        for place, one in enumerate((whole, _release(whole, X_train, y_train, k)[0])):
            accuracy = float(np.mean(one.predict(X_test) == y_test))
            attacks = find_membership(one, X_train, y_train, X_test, y_test)["attacks"]
            found[place].append((accuracy, {name: a["auc"] for name, a in attacks.items()}))
    before, after = (
        (
            float(np.mean([accuracy for accuracy, _ in one])),
            {name: float(np.mean([aucs[name] for _, aucs in one])) for name in one[0][1]},
        )
        for one in found
    )
    return (before[0], after[0]), (before[1], after[1])


def find_membership(model: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> dict[str, Any]:
    """Whether the samples of a fit can be told from new ones; see `measure_membership`."""
    own = []
    for samples, labels in ((X, y), (X_new, y_new)):
        chances = model.predict_proba(samples)
        is_own = np.asarray(labels)[:, np.newaxis] == model.classes_
        own.append(np.sum(chances * is_own, axis=1))
    return measure_membership(model._predictor, model._read_new(X), model._read_new(X_new), *own)
