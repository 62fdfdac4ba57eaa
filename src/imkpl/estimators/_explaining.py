"""The part of an estimator that gives reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from imkpl._threads import limited_threads
from imkpl.estimators._input import row_labels
from imkpl.explanations import Explanation
from imkpl.model.evidence import collect_evidence


class ExplainingMixin:
    """Adds `explain` to an estimator with prototypes."""

    def explain(self: Any, X: Any) -> Explanation:
        """Why the samples are classified as they are.

        The answer is exact: every class score is the sum of what each feature adds to it through
        each prototype, and every prototype is a mix of training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        Explanation
            To be printed, or turned into data frames and dicts.
        """
        samples = self._read_new(X)
        with limited_threads(self.n_jobs):
            evidence = collect_evidence(self._predictor, samples)
        places = np.searchsorted(self.support_, self._predictor.rows)
        live = np.flatnonzero(self.kernel_weights_)
        return Explanation(
            evidence=evidence,
            classes=self.classes_,
            probabilities=np.asarray(softmax(self.temperature_ * evidence.encoding.scores, axis=1)),
            sample_ids=row_labels(X, len(evidence.similarities)),
            support_ids=self.support_ids_[places],
            support_classes=self.support_classes_[places],
            feature_names=tuple(self.kernel_names_[kernel] for kernel in live),
            novelty_threshold=self.novelty_threshold_,
        )
