"""The regressor: values with intervals."""

import re
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from imkpl._checks import require
from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeModel
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._input import by_partition
from imkpl.explanations import Explanation
from imkpl.explanations.values import ValueExplanation, describe_sides
from imkpl.model.evidence import Evidence

# Parameters and attributes that are of classes.
OF_CLASSIFIERS = (
    "weight_rule|decision|ordered|class_weight|costs|prevalence|classes_|prototype_classes_|"
    "class_shares_|support_classes_|class_prior_|temperature_"
)
# The probability of intervals that explanations show.
SHOWN = 0.9


class IMKPLRegressor(RegressorMixin, BasePrototypeModel):
    """Interpretable multiple-kernel prototype learning of values.

    The model of :class:`IMKPL` for a target that is a number. Every prototype carries a value, and
    is a mix of training samples with about that value; likeness to it counts for the value,
    likeness to its contrast, a mix of samples with other values, against. The answer is the mean of
    the values by the votes: "between case 12 (41) and case 80 (57): 49". Five quantile bins of the
    target stand for the classes where kernels are chosen and tested, and where prototypes start.

    Parameters
    ----------
    %s

    Attributes
    ----------
    prototype_values_ : array of shape (n_prototypes,)
        The value of each prototype, within the range of the target in training.
    support_targets_ : array of shape (n_support,)
        The targets of the training samples that prototypes and contrasts are made of.
    residuals_ : array
        How far targets of left-out training samples are above what models of the others predict,
        sorted: intervals are quantiles of these.
    %s

    See Also
    --------
    IMKPL : The model for classes, with or without an order.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = IMKPLRegressor(n_prototypes=5).fit(X[2:], y[2:])
    >>> values, intervals = model.predict(X[:2], return_interval=0.9)
    >>> bool(((intervals[:, 0] < values) & (values < intervals[:, 1])).all())
    True
    >>> print(model.explain(X[:1]))  # doctest: +ELLIPSIS
    Sample 0 is ..., between case ... (...) and case ... (...), 90%% interval ... to ...
    ...
    """

    @by_partition
    def predict(self, X: Any, *, return_interval: float | None = None) -> Any:
        """The value of every sample, and an interval that holds it with a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        return_interval : float, optional
            The probability with which an interval is to hold the value, such as 0.9.

        Returns
        -------
        values : array of shape (n_samples,)
            Means of the values of prototypes, by their votes; NaN for a sample that lacks more than
            `max_missing` of the weight.
        intervals : array of shape (n_samples, 2)
            The least and the largest value; only with `return_interval`. The values plus quantiles
            of `residuals_`, the errors on training samples by models of others.
        """
        values = self._decide(X, self.predictor_)[:, 0]
        if return_interval is None:
            return values
        return values, values[:, np.newaxis] + self._find_errors(return_interval)

    def _find_errors(self, probability: float) -> FloatArray:
        """The least and the largest error on new samples, with a probability."""
        require(
            0 < probability < 1,
            f"return_interval is {probability!r}, expected a probability between 0 and 1, such as "
            "0.9.",
        )
        n = self.residuals_.size
        require(n > 0, "There were too few samples to know errors. Fit to more samples.")
        # Of n errors and the next one, each is as likely to be the largest.
        place = int(np.ceil((n + 1) * (1 + probability) / 2)) - 1
        return np.asarray(self.residuals_[[max(n - 1 - place, 0), min(place, n - 1)]])

    def _find_reasons(self, evidence: Evidence) -> tuple[type[Explanation], dict[str, Any]]:
        """The kind of an explanation, and what it says of values."""
        places = np.searchsorted(self.support_, self._predictor.rows)
        return ValueExplanation, describe_sides(evidence) | {
            "support_classes": self.support_targets_[places],
            "errors": self._find_errors(SHOWN) if self.residuals_.size else None,
        }


def _pick(start: str, end: str, others: str) -> str:
    """What the classifier says of parameters or attributes, but for some."""
    text = (IMKPL.__doc__ or "").partition(start)[2].partition(end)[0].rstrip()
    entries = re.split(r"\n(?=    \w)", text)
    return "\n".join(one for one in entries if not re.match(rf" *({others})\b", one)).strip()


# Most parameters and attributes are those of the classifier, which describes them.
IMKPLRegressor.__doc__ = (IMKPLRegressor.__doc__ or "") % (
    _pick("Parameters\n    ----------\n", "\n    Attributes", OF_CLASSIFIERS),
    _pick("Attributes\n    ----------\n", "\n    Examples", OF_CLASSIFIERS),
)
