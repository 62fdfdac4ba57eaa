"""The part of an estimator that gives reasons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from imkpl._threads import limited_threads
from imkpl.estimators._input import row_labels
from imkpl.explanations import Explanation
from imkpl.model.evidence import collect_evidence


class ExplainingMixin:
    """Adds `explain` and `report` to an estimator with prototypes."""

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

    def report(
        self: Any,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        train: tuple[Any, Any] | None = None,
        title: str | None = None,
    ) -> Path:
        """Describe the model and its decisions on one page, a file that works without a network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that the model has not seen, in the form that was given to `fit`.
        y : array-like of shape (n_samples,) or None
            Their classes. Without them the page says nothing about accuracy.
        path : str or path
            Where to write; a name that ends in ``.json`` gives the numbers of the page instead.
        train : tuple (X, y), optional
            What was given to `fit`: for the distributions of features, the map, and equal samples.
        title : str, optional
            The heading.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from imkpl.report import write_report

        return write_report(self, X, y, path, train=train, title=title)
