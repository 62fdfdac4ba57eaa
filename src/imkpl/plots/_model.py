"""What displays ask of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from imkpl._typing import IntArray
from imkpl.estimators import IMKPL, ISKPL
from imkpl.explanations.cells import as_plain_label


def check_model(estimator: Any, who: str) -> None:
    """Raise unless this is a fitted estimator with prototypes."""
    if not isinstance(estimator, IMKPL | ISKPL):
        raise TypeError(
            f"{who} got a {type(estimator).__name__}, expected a fitted IMKPL, IMKPLCV, ISKPL or "
            "TimeSeriesIMKPL. Pass the last step of a pipeline (pipeline[-1]), or estimator_ of a "
            "selector."
        )
    check_is_fitted(
        estimator,
        msg="This %(name)s is not fitted yet, expected a fitted one to draw. Call fit first.",
    )


def class_places(classes: Any, y: Any, n_samples: int) -> IntArray:
    """The place of every label among the classes."""
    labels = column_or_1d(y)
    check_consistent_length(np.empty(n_samples), labels)
    is_known = np.isin(labels, classes)
    if not np.all(is_known):
        unknown = as_plain_label(labels[~is_known][0])
        raise ValueError(
            f"y holds the label {unknown!r}, which is none of the classes that the model was "
            "fitted to. Leave these samples out."
        )
    return np.asarray(np.searchsorted(classes, labels))


def choose_stratified(labels: IntArray, n_chosen: int | None, random_state: Any) -> IntArray:
    """Some samples, of every class about as many as its share and at least one."""
    if n_chosen is None or labels.size <= n_chosen:
        return np.arange(labels.size)
    rng = check_random_state(random_state)
    # A sample's place within its class, as a share of the class. The first of each has 0.
    places = np.empty(labels.size)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        places[members] = np.arange(members.size) / members.size
    return np.sort(np.argsort(places, kind="stable")[:n_chosen])


def sort_prototypes(estimator: Any, n_per_class: int | None) -> tuple[IntArray, IntArray]:
    """The prototypes class by class, within a class those first that codes use most."""
    owners = np.searchsorted(estimator.classes_, estimator.prototype_classes_)
    use = np.asarray(estimator.codes_.sum(axis=0)).ravel()
    order = np.lexsort((-use, owners))
    members = [order[owners[order] == label][:n_per_class] for label in np.unique(owners)]
    chosen = np.concatenate(members)
    return chosen, owners[chosen]
