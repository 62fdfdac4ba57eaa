"""The regressor: values with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from imkpl._checks import require
from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeModel
from imkpl.estimators._input import by_partition
from imkpl.explanations import Explanation
from imkpl.explanations.values import ValueExplanation, describe_sides
from imkpl.model.evidence import Evidence

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
    kernels : str, kernel, kernel bank or list, default="auto"
        What compares samples, as in :class:`IMKPL`.
    sparsity : int, default=None
        Maximum number of samples per prototype, by default 10.
    code_sparsity, learning_code_sparsity : int, default=20 and 1
        Maximum number of prototypes per code, and the same while prototypes are learned.
    n_prototypes : int, default=None
        Number of prototypes, at least one per quantile bin. By default folds of the training
        samples choose it: of 5, 10, 20 and so on the smallest within one standard error of the
        best.
    n_neighbors : int, default=4
        Size of the neighbourhoods within a quantile bin that the kernel weights pull together.
    discrimination, separation, interpretability : float, default=0.5, 100.0 and 1.2
        Weights of J_dis, of the separation loss, and of J_ip.
    max_kernels : int, default=None
        Maximum number of kernels to keep, as in :class:`IMKPL`.
    contrast : bool, default=None
        Whether prototypes have contrasts; by default folds decide.
    solver : {"auto", "exact", "landmarks"}, default="auto"
        What to learn from, as in :class:`IMKPL`; landmarks are spread over the quantile bins.
    n_landmarks : int, default=None
        Maximum number of landmarks, 4000 by default.
    max_missing : float, default=0.5
        The part of the weight that a new sample may lack; with more missing it gets no answer.
    require, exclude : list of str or int, default=None
        Features that must have a weight, and features that must have none.
    max_iter : int, default=20
        Maximum number of rounds of codes, prototypes and weights.
    tol : float, default=1e-3
        The search ends when a round lowers the objective by less than this fraction of it.
    n_jobs : int, default=None
        Number of threads; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage and round to standard error.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing folds and landmarks; nothing else is random.

    Attributes
    ----------
    prototypes_, contrasts_ : CSR arrays of shape (n_prototypes, n_samples)
        Every prototype, and what it is unlike, as mixes of training samples.
    prototype_values_ : array of shape (n_prototypes,)
        The value of each prototype, within the range of the target in training.
    residuals_ : array
        How far targets of left-out training samples are above what models of the others predict,
        sorted: intervals are quantiles of these.
    codes_ : CSR array of shape (n_samples, n_prototypes)
        Codes of the training samples.
    kernel_weights_, kernel_evidence_ : arrays of shape (n_kernels,)
        Weights that sum to one, and how sure it is that each kernel is more than chance.
    expected_false_kernels_ : float
        How many of the kernels with a weight chance would give.
    kernel_names_ : list of str
        Names of the kernels.
    feature_importances_ : array of shape (n_features,)
        The weights summed per feature.
    support_ : array of shape (n_support,)
        The training samples that prototypes and contrasts are made of.
    support_ids_, support_targets_ : arrays of shape (n_support,)
        Their names and their targets.
    support_values_ : list of dict
        Their values in the columns that the model reads.
    novelty_threshold_ : float
        The `novelty` that 99 % of the training samples stay within.
    history_ : dict of arrays of shape (n_rounds,)
        Every term of the objective after every round, and their total, which never rises.
    n_iter_ : int
        Number of rounds.
    eligible_ : array of bool of shape (n_samples,) or None
        The samples that prototypes may be made of; None for all.
    n_groups_ : int or None
        The number of groups that were given to `fit`; None without.

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
    Sample 0 is ..., between case ... (...) and case ... (...), 90% interval ... to ...
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
        values = self._decide(X)[:, 0]
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
