"""Forgetting: the model that a fit without some records would have given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from imkpl._checks import quote
from imkpl._json import Described
from imkpl._typing import IntArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._input import row_labels
from imkpl.estimators._partitions import refuse_partitions
from imkpl.estimators._stability import _check_estimator, _last_step, _unfitted
from imkpl.kernels.base import take_samples
from imkpl.series import read_series


@dataclass(frozen=True, eq=False)
class Forgotten(Described):
    """A model without some records, and what that changed.

    Returned by :func:`forget`. Print it for a summary.

    Parameters
    ----------
    model : estimator
        The model fitted to the other records.
    ids : list
        The names of the records that were forgotten.
    inside : list
        Those of them that prototypes of the old model were made of.
    n_rest : int
        The number of records that the model is fitted to.
    n_prototypes : tuple (int, int)
        The number of prototypes before and after.
    n_same_prototypes : int
        How many prototypes are made of the same records with the same coefficients as before.
    kernels_added, kernels_dropped : list of str
        Kernels that only the new, or only the old model gives a weight.
    largest_weight_change : float
        The largest change of a kernel weight.
    n_decisions_changed : int
        How many of the other records the new model puts into another class.
    largest_probability_change : float
        The largest change of the probability of a class, over these records.

    Examples
    --------
    >>> import numpy as np
    >>> from imkpl import IMKPL, forget
    >>> X, y = np.r_[0:8.0, 20:28.0][:, None], np.repeat(["low", "high"], 8)
    >>> found = forget(IMKPL(n_prototypes=2).fit(X, y), X, y, [3])
    >>> found.n_rest, len(found.inside), found.n_decisions_changed
    (15, 1, 0)
    """

    _also = ("changed_nothing",)

    model: Any
    ids: list[Any]
    inside: list[Any]
    n_rest: int
    n_prototypes: tuple[int, int]
    n_same_prototypes: int
    kernels_added: list[str]
    kernels_dropped: list[str]
    largest_weight_change: float
    n_decisions_changed: int
    largest_probability_change: float

    @property
    def changed_nothing(self) -> bool:
        """Whether prototypes, kernel weights and probabilities are the same to the last bit."""
        return bool(
            self.n_prototypes == (self.n_same_prototypes,) * 2
            and self.largest_weight_change == 0
            and self.largest_probability_change == 0
        )

    def __str__(self) -> str:
        """A few sentences."""
        before, after = self.n_prototypes
        what = "1 record" if len(self.ids) == 1 else f"{len(self.ids)} records"
        names = ", ".join(quote(str(name)) for name in self.inside)
        lines = [
            f"Forgot {what}; the model is fitted to the other {self.n_rest}.",
            f"Inside the old model: {names or 'none'}.",
        ]
        if self.changed_nothing:
            lines.append(
                "Compared with the old model: the same prototypes, kernel weights and "
                "probabilities of all other records, to the last bit."
            )
            return "\n".join(lines)
        kernels = [f"+ {name}" for name in self.kernels_added]
        kernels += [f"- {name}" for name in self.kernels_dropped]
        lines += [
            f"Prototypes: {before} before, {after} now, {self.n_same_prototypes} of them the same.",
            f"Kernels: {', '.join(kernels) or 'the same'}; weights changed by up to "
            f"{self.largest_weight_change:.2g}.",
            f"Other records in another class: {self.n_decisions_changed} of {self.n_rest}; "
            f"probabilities changed by up to {self.largest_probability_change:.2g}.",
        ]
        return "\n".join(lines)


def forget(model: Any, X: Any, y: ArrayLike, ids: Sequence[Any], **fit_params: Any) -> Forgotten:
    """Fit a model again without some records, and say what that changes.

    The new model is the one that `fit` gives for the other records, equal to the last bit, because
    it is fitted to them with the same parameters. Nothing of the old fit is reused: bandwidths,
    kernel weights and prototypes depend on all records.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL, or a pipeline that ends in one. It stays
        as it is.
    X : array-like of shape (n_samples, n_features)
        The samples that it was fitted to, those to forget among them.
    y : array-like of shape (n_samples,)
        Their classes.
    ids : sequence
        The samples to forget: by the index if X is a data frame, as in `support_ids_`, by their
        numbers from 0 otherwise. All samples of a name are forgotten.
    **fit_params : dict
        What else was given to `fit`, one value per sample, such as `sample_weight`. The wishes
        `eligible`, `pin` and `ban` are in the model and need not be given again.

    Returns
    -------
    Forgotten
        The new model, and what is different about it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL, forget
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=3, max_kernels=4).fit(X, y)
    >>> found = forget(model, X, y, [17])
    >>> 17 in found.model.support_ids_, found.n_rest
    (False, 177)
    """
    _check_estimator(model)
    refuse_partitions(X, "forget()")
    check_is_fitted(model)
    old, labels = _last_step(model), column_or_1d(y)
    names = row_labels(X, labels.size)
    samples = read_series(X) if old._predictor.bank.reads == "series" else X
    _check_training(model, samples, labels.size)
    is_gone = find_named(names, ids)
    rest = np.flatnonzero(~is_gone)
    X_rest, y_rest = safe_split(model, samples, labels, rest)
    prefix = "" if old is model else f"{model.steps[-1][0]}__"
    wishes = {f"{prefix}{name}": wish for name, wish in (old.sample_wishes_ or {}).items()}
    params = {
        name: None if values is None else np.asarray(values)[rest]
        for name, values in {**wishes, **fit_params}.items()
    }
    renewed = _unfitted(model).fit(X_rest, y_rest, **params)
    new = _last_step(renewed)
    X_old = safe_split(model, samples, labels, rest, np.arange(labels.size))[0]
    return Forgotten(
        model=renewed,
        ids=names[is_gone].tolist(),
        inside=[old.support_ids_[i] for i in np.flatnonzero(is_gone[old.support_])],
        n_rest=int(rest.size),
        **_compare(old, new, rest),
        n_decisions_changed=int(np.sum(model.predict(X_old) != renewed.predict(X_rest))),
        largest_probability_change=_largest_change(
            model.predict_proba(X_old), renewed.predict_proba(X_rest)
        ),
    )


def find_named(names: Any, wanted: Sequence[Any]) -> Any:
    """Which of the names are wanted; raises if one is not there."""
    texts = np.array([str(name) for name in names.tolist()], dtype=object)
    known = set(texts)
    for name in wanted:
        if str(name) not in known:
            shown = ", ".join(texts[:3])
            raise ValueError(
                f"There is no record {quote(str(name))}; records are named {shown}, ... Name "
                "records as in support_ids_."
            )
    return np.isin(texts, [str(name) for name in wanted])


def _check_training(model: Any, X: Any, n_samples: int) -> None:
    """Raise unless the records inside a model are those in the same rows of X."""
    old = _last_step(model)
    predictor, n_train = old._predictor, old.prototypes_.shape[1]
    if n_samples != n_train:
        raise ValueError(
            f"X has {n_samples} samples, but {type(old).__name__} was fitted to {n_train}. Pass "
            "what was given to fit, with the records to forget."
        )
    kind = old._samples
    if kind.word in ("similarities", "anything"):
        return
    given = X if old is model else model[:-1].transform(X)
    samples = take_samples(old._read_new(given), predictor.rows)
    if predictor.columns is not None:
        samples = samples[:, predictor.columns]
    if kind.keys(samples) != kind.keys(predictor.samples):
        raise ValueError(
            f"X has other values than the records inside this {type(old).__name__}. Pass what was "
            "given to fit, in the same order."
        )


def _compare(old: Any, new: Any, rest: IntArray) -> dict[str, Any]:
    """Prototypes and kernels of two models; the second was fitted to the rows `rest`."""
    before, after = _list_prototypes(old), _list_prototypes(new, rest)
    weights = [
        {
            name: weight
            for name, weight in zip(one.kernel_names_, one.kernel_weights_.tolist(), strict=True)
            if weight > 0
        }
        for one in (old, new)
    ]
    either = dict.fromkeys([*weights[0], *weights[1]])
    changes = [abs(weights[0].get(name, 0.0) - weights[1].get(name, 0.0)) for name in either]
    return {
        "n_prototypes": (len(before), len(after)),
        "n_same_prototypes": len(set(before) & set(after)),
        "kernels_added": [name for name in weights[1] if name not in weights[0]],
        "kernels_dropped": [name for name in weights[0] if name not in weights[1]],
        "largest_weight_change": max(changes),
    }


def _list_prototypes(model: Any, rows: IntArray | None = None) -> list[tuple[Any, ...]]:
    """Rows and coefficients of every prototype."""
    mixes = model.prototypes_
    places = mixes.indices if rows is None else rows[mixes.indices]
    return [
        (*places[start:end].tolist(), *mixes.data[start:end].tolist())
        for start, end in pairwise(mixes.indptr)
    ]


def _largest_change(before: Any, after: Any) -> float:
    """Of probabilities; 1 if a class is gone."""
    return float(np.max(np.abs(before - after))) if before.shape == after.shape else 1.0
