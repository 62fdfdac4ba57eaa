"""The reasons for some decisions, as an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.explanations.alignments import (
    AlignedSample,
    TimeShares,
    align_with_support,
    share_time,
)
from imkpl.explanations.frames import build_frame
from imkpl.explanations.plain import as_plain
from imkpl.explanations.shap import as_shap
from imkpl.explanations.words import say_reasons
from imkpl.model.evidence import Evidence


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why some samples were classified as they were, exactly.

    It is made by `explain` of a fitted estimator. A class score is the sum of a table with a row
    per prototype and a column per kernel (`contributions`), and a prototype is a mix of real
    training samples (`samples_behind`). Take single samples with ``explanation[i]``, print them for
    a sentence or two, or turn them into data frames and dicts.

    Parameters
    ----------
    evidence : Evidence
        The scores and what they are made of.
    classes : array of shape (n_classes,)
        Class labels.
    probabilities : array of shape (n_samples, n_classes)
        Probability of every class.
    sample_ids : array of shape (n_samples,)
        What the samples are called: the index of the data frame, or their numbers.
    support_ids : array of shape (n_support,)
        The same for the training samples of which prototypes are made.
    support_classes : array of shape (n_support,)
        Their class labels.
    feature_names : tuple of str
        Names of the kernels of positive weight.
    novelty_threshold : float
        The novelty that 99 % of the training samples stay within.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=2, max_kernels=4).fit(X[1:], y[1:])
    >>> explanation = model.explain(X[:1])
    >>> table = explanation.contributions(0)
    >>> bool(np.allclose(table.sum(axis=(0, 1)), model.decision_function(X[:1])))
    True
    >>> print(explanation[0])  # doctest: +ELLIPSIS
    Sample 0 is 0 (...
    """

    evidence: Evidence
    classes: Any
    probabilities: FloatArray
    sample_ids: Any
    support_ids: Any
    support_classes: Any
    feature_names: tuple[str, ...]
    novelty_threshold: float

    @property
    def scores(self) -> FloatArray:
        """Class scores, of shape (n_samples, n_classes)."""
        return self.evidence.encoding.scores

    @property
    def winners(self) -> IntArray:
        """Place of the predicted class among `classes`, for every sample."""
        return np.asarray(np.argmax(self.scores, axis=1))

    @property
    def predicted(self) -> Any:
        """The predicted class of every sample."""
        return self.classes[self.winners]

    @property
    def shares(self) -> sp.csr_array:
        """How much of each sample's code each prototype is: rows sum to one, or to zero."""
        codes = self.evidence.encoding.codes
        totals = codes.sum(axis=1)
        factors = 1.0 / np.where(totals > 0, totals, 1.0)
        return sp.csr_array(codes * factors[:, np.newaxis])

    @property
    def prototype_classes(self) -> Any:
        """Class labels of the prototypes."""
        return self.classes[self.evidence.predictor.encoder.classes]

    @property
    def feature_weights(self) -> FloatArray:
        """Kernel weights; they sum to one."""
        return self.evidence.predictor.weights

    @property
    def novelty(self) -> FloatArray:
        """The part of each sample that its prototypes leave unexplained: 1 is like nothing seen."""
        return self.evidence.encoding.errors

    @property
    def is_novel(self) -> BoolArray:
        """Whether the novelty of a sample exceeds the threshold learned in training."""
        return np.asarray(self.novelty > self.novelty_threshold)

    def contributions(self, index: int) -> FloatArray:
        """The table that adds up to the class scores of one sample.

        Parameters
        ----------
        index : int
            Which sample.

        Returns
        -------
        array of shape (n_prototypes, n_features, n_classes)
            What a feature adds to the score of a class through a prototype.
        """
        return self.evidence.table(range(len(self))[index])

    def feature_contributions(self) -> FloatArray:
        """What each feature adds to each class score, through all prototypes.

        Returns
        -------
        array of shape (n_samples, n_features, n_classes)
            Summed over features they are the scores.
        """
        return self.evidence.by_kernel()

    def samples_behind(self, prototype: int) -> list[tuple[int, float]]:
        """The training samples of which a prototype is a mix.

        Parameters
        ----------
        prototype : int
            Which prototype.

        Returns
        -------
        list of (int, float)
            Places in `support_ids` and shares that sum to one, the largest share first.
        """
        row = self.evidence.predictor.mixes[[prototype]].tocoo()
        shares = row.data / row.data.sum()
        order = np.argsort(-shares, kind="stable")
        return [(int(row.coords[1][i]), float(shares[i])) for i in order]

    def align(self, index: int) -> list[AlignedSample]:
        """Where in time a series is like the training series that its code is made of.

        Parameters
        ----------
        index : int
            Which series.

        Returns
        -------
        list of AlignedSample
            The training series with the largest amount first, aligned kernel by kernel.
        """
        return align_with_support(self, range(len(self))[index])

    def time_shares(self, index: int) -> dict[str, TimeShares]:
        """How much of a series' similarity to its prototypes comes from each step of each channel.

        Parameters
        ----------
        index : int
            Which series.

        Returns
        -------
        dict of TimeShares
            By kernel. All shares sum to one.
        """
        return share_time(self, range(len(self))[index])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the full tables, in plain lists, numbers and strings.

        Returns
        -------
        dict
            "classes", "features", "novelty_threshold" and "samples", one dict for each sample: its
            prediction, probabilities, scores, novelty, prototypes with shares and the training
            samples behind them, and features with what they add to every score. Ready for JSON.
        """
        return as_plain(self)

    def to_frame(
        self, part: str = "contributions", *, label: Any = None, backend: str = "pandas"
    ) -> Any:
        """The reasons as a data frame.

        Parameters
        ----------
        part : {"contributions", "features", "prototypes", "samples", "scores"}
            One row per sample, prototype and feature; per sample and feature; per sample and
            prototype of its code; per sample, prototype of its code and training sample behind
            that; or per sample and class.
        label : class label, optional
            The class whose score "contributions" and "features" add up to; the predicted class of
            each sample by default.
        backend : {"pandas", "polars", "pyarrow"}
            What makes the frame.

        Returns
        -------
        data frame
            Of the library that was asked for.
        """
        return build_frame(self, part, label, backend)

    def to_shap(self) -> Any:
        """The contributions of the features as SHAP's object, for SHAP's plots.

        Returns
        -------
        shap.Explanation
            Values of shape (n_samples, n_features, n_classes). They are exact parts of the class
            scores, not Shapley values; base values are those of a sample unlike anything.
        """
        return as_shap(self)

    def __len__(self) -> int:
        return len(self.sample_ids)

    def __getitem__(self, key: Any) -> Explanation:
        rows = np.atleast_1d(np.arange(len(self))[key])
        return replace(
            self,
            evidence=self.evidence.take(rows),
            probabilities=self.probabilities[rows],
            sample_ids=self.sample_ids[rows],
        )

    def __iter__(self) -> Iterator[Explanation]:
        return (self[index] for index in range(len(self)))

    def __str__(self) -> str:
        return "\n\n".join(say_reasons(self, index) for index in range(len(self)))

    def __repr__(self) -> str:
        n_prototypes = self.evidence.predictor.mixes.shape[0]
        return (
            f"Explanation({len(self)} samples, {len(self.classes)} classes, {n_prototypes} "
            f"prototypes, {len(self.feature_names)} features)"
        )
