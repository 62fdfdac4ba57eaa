"""Feature selection by kernel weights, as a step of a pipeline."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from imkpl._typing import BoolArray
from imkpl.estimators._compat import Interval, fit_context
from imkpl.estimators._imkpl import IMKPL


class IMKPLSelector(SelectorMixin, BaseEstimator):
    """Keeps the features that :class:`IMKPL` gives a positive weight.

    Parameters
    ----------
    estimator : IMKPL, default=None
        The model that weighs the features, with one feature per kernel; ``IMKPL()`` by default. It
        is cloned before fitting.
    max_features : int, default=None
        Maximum number of features to keep; overrides the estimator's `max_kernels`.

    Attributes
    ----------
    estimator_ : IMKPL
        The fitted model.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> IMKPLSelector(max_features=4).fit_transform(X, y).shape
    (178, 4)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [IMKPL, None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, estimator: IMKPL | None = None, *, max_features: int | None = None) -> None:
        self.estimator = estimator
        self.max_features = max_features

    # A nested estimator validates its own parameters when it is fitted.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        eligible: ArrayLike | None = None,
        pin: ArrayLike | None = None,
        ban: ArrayLike | None = None,
    ) -> Self:
        """Learn which features to keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        eligible, pin, ban : array-like of bool of shape (n_samples,), optional
            Wishes about samples, as for the estimator.

        Returns
        -------
        self
            The fitted selector.
        """
        model = IMKPL() if self.estimator is None else clone(self.estimator)
        if self.max_features is not None:
            model.set_params(max_kernels=self.max_features)
        model.fit(X, y, sample_weight, eligible=eligible, pin=pin, ban=ban)
        if model._kernel_columns is None:
            raise ValueError(
                f"The kernels of {model!r} read several features each, expected one feature per "
                "kernel to select by. Use kernels='per_feature_gaussian' or 'per_column'."
            )
        # Names of columns; what cannot be read was refused by the model.
        validate_data(self, X, y, skip_check_array=True)
        self.n_features_in_ = model.n_features_in_
        self.estimator_ = model
        return self

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return np.asarray(self.estimator_.feature_importances_ > 0)

    def __sklearn_tags__(self) -> Any:
        """Tags that say that labels are needed, and what the estimator reads."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags = get_tags(self.estimator or IMKPL()).input_tags
        return tags
