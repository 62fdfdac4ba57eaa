"""The measures as scorers: ``scorer(estimator, X, y)``, greater is better."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from imkpl.measures import discrimination_score, interpretability_score, n_selected_kernels


def interpretability_scorer(estimator: Any, X: Any = None, y: ArrayLike | None = None) -> float:
    """IP of a fitted estimator; it depends on the prototypes alone.

    A prototype that is a single sample has IP 100: look at the number of samples per prototype and
    of prototypes per class as well. Prototypes of baselines have coefficients of any sign: their
    sizes count, scaled to unit norm.

    Parameters
    ----------
    estimator : IMKPL, ISKPL or a baseline
        Fitted.
    X, y : ignored
        Part of a scorer's signature.

    Returns
    -------
    float
        IP between 0 and 100.
    """
    check_is_fitted(estimator)
    # Columns are classes in the place of samples: purity and sums of coefficients are the same.
    return float(interpretability_score(estimator.class_shares_, estimator.classes_))


def discrimination_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """DR of the codes of X over all prototypes; codes of any sign count by their size.

    Parameters
    ----------
    estimator : IMKPL, ISKPL or a baseline with codes
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples, those of a test set in the paper.
    y : array-like of shape (n_samples,)
        Their classes.

    Returns
    -------
    float
        DR between 0 and 100.
    """
    if not hasattr(estimator, "transform"):
        raise TypeError(
            f"{type(estimator).__name__} has no codes, but DR is about codes. Use it for "
            "estimators with a transform method."
        )
    codes, owners = estimator.transform(X), estimator.prototype_classes_
    return float(discrimination_score(codes, y, owners, absolute=True))


def kernel_count_scorer(estimator: Any, X: Any = None, y: ArrayLike | None = None) -> float:
    """Minus the number of kernels kept, so that fewer is better.

    Parameters
    ----------
    estimator : IMKPL, ISKPL or a baseline
        Fitted.
    X, y : ignored
        Part of a scorer's signature.

    Returns
    -------
    float
        ``-||beta||_0``.
    """
    check_is_fitted(estimator)
    return -float(n_selected_kernels(estimator.kernel_weights_))
