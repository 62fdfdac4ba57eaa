"""The exact reasons for the decisions of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.explanations.case_card import CaseCard, Comparison, build_card
from imkpl.explanations.exports import build_dict, build_frame, build_shap
from imkpl.model.evidence import Evidence

# Logarithms of costs that differ by less are equal.
SAME = 1e-9
# Cards in a notebook.
MOST_CARDS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why some samples were classified as they were, exactly.

    Returned by `explain` of a fitted estimator. A class score is the sum of a table with a row per
    prototype and a column per kernel, bonus and rest (`contributions`). A prototype is a mix of
    training samples (`samples_behind`), and may have a contrast, a mix of samples of other classes
    (`samples_unlike`). With ``decision="votes"`` scores are in units of similarity: each prototype
    votes for its own class. Index an explanation to select samples, print it to read the reasons,
    or convert it to data frames and dicts.

    Parameters
    ----------
    evidence : Evidence
        The scores and their parts.
    classes : array of shape (n_classes,)
        Class labels.
    probabilities : array of shape (n_samples, n_classes)
        Probability of every class.
    temperature : float
        The factor of scores before they become probabilities.
    head_starts : array of shape (n_classes,)
        How far ahead costs and prevalence let every class start; zeros without them.
    prior_starts : array of shape (n_classes,)
        What is added to the other scores before they become probabilities; zeros if classes are as
        frequent as they were while learning.
    head_start_word : str
        What head starts are from, on cards.
    sample_ids : array of shape (n_samples,)
        Names of the samples: the index of the data frame, or row numbers.
    support_ids : array of shape (n_support,)
        Names of the training samples that prototypes are made of.
    support_classes : array of shape (n_support,)
        Their class labels.
    feature_names : tuple of str
        Names of the kernels of positive weight.
    column_names : tuple of str
        Names of the columns that these read; empty where they read whole samples.
    feature_evidence : array of shape (n_features,)
        How sure it is that each of them tells the classes apart better than chance, from 0 to 1.
    novelty_threshold : float
        99 % of the training samples have at most this novelty.
    max_missing : float
        Samples that lack a larger part of the weight get no answer.
    render : callable, optional
        Shows a sample on cards, as text, HTML, or the bytes of an image.
    shown : list of lists, optional
        What to show as the values of each sample, instead of what the model reads.
    units : OriginalUnits, optional
        Shows values of training samples as they were before a pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X[1:], y[1:])
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
    temperature: float
    head_starts: FloatArray
    prior_starts: FloatArray
    head_start_word: str
    sample_ids: Any
    support_ids: Any
    support_classes: Any
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    feature_evidence: FloatArray
    novelty_threshold: float
    max_missing: float = 1.0
    render: Callable[[Any], Any] | None = None
    shown: list[list[Any]] | None = None
    units: Any = None

    @property
    def scores(self) -> FloatArray:
        """Class scores, of shape (n_samples, n_classes)."""
        return self.evidence.encoding.scores

    @property
    def winners(self) -> IntArray:
        """Index of the predicted class in `classes`, for every sample."""
        return np.asarray(np.argmax(self.scores, axis=1))

    @property
    def runners_up(self) -> IntArray:
        """Index of the next class, for every sample: the most probable other one without costs."""
        others = self.scores.copy()
        others[np.arange(len(self)), self.winners] = -np.inf
        return np.asarray(np.argmax(others, axis=1))

    @property
    def stakes(self) -> FloatArray:
        """What it costs to miss every class, relative to the cheapest, as mistakes count here."""
        logs = self.temperature * (self.head_starts - self.prior_starts)
        found = np.exp(logs - logs.min())
        # Without costs they are equal up to rounding.
        return np.ones(logs.size) if np.ptp(logs) <= SAME else np.asarray(found)

    @property
    def predicted(self) -> Any:
        """The predicted class of every sample."""
        return self.classes[self.winners]

    @property
    def sides(self) -> IntArray:
        """The class that each prototype speaks for, of shape (n_samples, n_prototypes)."""
        predictor, resemblances = self.evidence.predictor, self.evidence.compared.resemblances
        if predictor.votes is not None:
            return predictor.votes.sides(resemblances)
        return np.broadcast_to(predictor.encoder.classes, resemblances.shape)

    @property
    def decision(self) -> str:
        """The rule that decided: "votes" or "share"."""
        return "share" if self.evidence.predictor.votes is None else "votes"

    @property
    def shares(self) -> sp.csr_array:
        """Share of each prototype in the decision on each sample; rows sum to one, or to zero.

        With ``decision="votes"`` the share in all votes, those of a class being its probability;
        with ``"share"`` the share in the code.
        """
        votes, codes = self.evidence.predictor.votes, self.evidence.encoding.codes
        if votes is not None:
            parts = votes.parts(self.evidence.compared.resemblances)
            return sp.csr_array(parts * np.take_along_axis(self.probabilities, self.sides, 1))
        totals = codes.sum(axis=1)
        return sp.csr_array(codes / np.where(totals > 0, totals, 1.0)[:, np.newaxis])

    @property
    def main_prototypes(self) -> IntArray:
        """The prototype with most of the votes, or of the code, for the predicted class.

        It adds more than any other to the lead of the predicted class. -1 for an empty code.
        """
        own = self.sides == self.winners[:, np.newaxis]
        shares = np.where(own, self.shares.toarray(), 0.0)
        return np.where(shares.any(axis=1), np.argmax(shares, axis=1), -1)

    @property
    def code_shares(self) -> FloatArray:
        """The share of each class in the code of each sample (see `transform`)."""
        return self.evidence.predictor.encoder.shares(self.evidence.encoding.codes)

    @property
    def code_disagrees(self) -> BoolArray:
        """Whether another class than the predicted one has most of the code of each sample.

        The code rebuilds the sample from the prototypes of all classes; the votes decide.
        """
        shares = self.code_shares
        return np.asarray(shares[np.arange(len(self)), self.winners] < shares.max(axis=1))

    @property
    def prototype_classes(self) -> Any:
        """Class labels of the prototypes."""
        return self.classes[self.evidence.predictor.encoder.classes]

    @property
    def feature_weights(self) -> FloatArray:
        """Kernel weights; they sum to one."""
        return self.evidence.predictor.weights

    @property
    def term_names(self) -> tuple[str, ...]:
        """What class scores are sums of: features, the bonus, and votes of several prototypes."""
        return (*self.feature_names, "bonus", "several prototypes")

    @property
    def expected_false_features(self) -> float:
        """How many of the features chance would give."""
        return float(np.sum(1 - self.comparison.evidence))

    @property
    def chance(self) -> str:
        """The same in a sentence."""
        return write_chance(len(self.comparison.names), self.expected_false_features)

    @property
    def novelty(self) -> FloatArray:
        """How unlike each sample is to all in training, from 0 to 1; see `IMKPL.novelty`."""
        return self.evidence.compared.novelty

    @property
    def is_novel(self) -> BoolArray:
        """Whether the novelty of each sample exceeds `novelty_threshold`."""
        return np.asarray(self.novelty > self.novelty_threshold)

    @property
    def missing(self) -> FloatArray:
        """The part of the weight that each sample has no cells for."""
        return self.evidence.predictor.find_missing(self.evidence.samples)

    def contributions(self, index: int) -> FloatArray:
        """The table that adds up to the class scores of one sample.

        Parameters
        ----------
        index : int
            Index of the sample.

        Returns
        -------
        array of shape (n_prototypes, n_features + 2, n_classes)
            What a feature adds to the score of a class through a prototype, in units of similarity
            with ``decision="votes"``; then what the bonus adds, and what several prototypes of one
            class add together (`term_names`). The prototypes of a class share its score as they
            share its votes. Features and bonuses count relative to those of the runner-up.
        """
        return self.evidence.table(self.find_place(index))

    def feature_contributions(self) -> FloatArray:
        """What each feature, bonuses and the rest add to each class score, over all prototypes.

        Returns
        -------
        array of shape (n_samples, n_features + 2, n_classes)
            They sum to the scores over the second axis, which `term_names` names.
        """
        return self.evidence.by_kernel()

    def prototype_contributions(self, index: int) -> FloatArray:
        """What each prototype adds to each class score of one sample: sums of `contributions`."""
        return self.evidence.by_prototype(index)

    # Whether answers are values, or classes with an order.
    is_value = False

    def compared(self, index: int) -> tuple[int, int]:
        """The classes that a card compares: the answer and the runner-up."""
        return int(self.winners[index]), int(self.runners_up[index])

    def describe_value(self, index: int) -> tuple[dict[str, Any] | None, float]:
        """What a card says of a value; and the unit of leads."""
        return None, 1.0

    @property
    def answers(self) -> IntArray:
        """Where `contributions` have what is added to the answer: the predicted class."""
        return self.winners

    @property
    def base_values(self) -> FloatArray:
        """What is left without any prototype."""
        return self.evidence.base_scores

    def samples_behind(self, prototype: int) -> list[tuple[int, float]]:
        """The training samples in a prototype.

        Parameters
        ----------
        prototype : int
            Index of the prototype.

        Returns
        -------
        list of (int, float)
            Indices into `support_ids` and shares that sum to one, largest share first.
        """
        return list_parts(self.evidence.predictor.mixes[[prototype]])

    def samples_unlike(self, prototype: int) -> list[tuple[int, float]]:
        """The training samples in the contrast of a prototype.

        Parameters
        ----------
        prototype : int
            Index of the prototype.

        Returns
        -------
        list of (int, float)
            As `samples_behind`; empty without a contrast.
        """
        return list_parts(self.evidence.predictor.contrasts[[prototype]])

    def to_dict(self) -> dict[str, Any]:
        """Convert to dicts, lists, numbers and strings, without the full tables.

        Returns
        -------
        dict
            "decision", "classes", "features" with weights and evidence, "expected_false_features",
            "novelty_threshold" and "samples", one dict for each sample: its prediction,
            probabilities, scores, shares of the classes in its code, novelty, prototypes with at
            least 0.1 % of the votes, or of the code, and the first of the runner-up,
            with the training samples behind them and those that they are unlike, and what features,
            bonuses and the rest add to every score. Ready for JSON.
        """
        return build_dict(self)

    def to_frame(self, part: str = "contributions", *, backend: str = "pandas") -> Any:
        """Convert what is added to the score of the predicted class to a data frame.

        Parameters
        ----------
        part : {"contributions", "features"}
            One row per sample, prototype and feature, or per sample and feature.
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.

        Returns
        -------
        data frame
            A frame of that library.
        """
        return build_frame(self, part, backend)

    def to_shap(self) -> Any:
        """Convert to a `shap.Explanation`, for SHAP's plots.

        Returns
        -------
        shap.Explanation
            Values of shape (n_samples, n_features, n_classes): exact parts of the class scores, not
            Shapley values. Base values are what bonuses and the rest add with votes, and the
            scores of a sample with an empty code for ``decision="share"``.
        """
        return build_shap(self)

    def card(self, index: int = 0) -> CaseCard:
        """One case beside the training cases for and against its class.

        Parameters
        ----------
        index : int
            Index of the sample.

        Returns
        -------
        CaseCard
            To be printed, shown in a notebook, or converted to a dict.
        """
        return build_card(self[self.find_place(index)], self.comparison)

    @cached_property
    def comparison(self) -> Comparison:
        """What the cards of the samples share."""
        return Comparison(self)

    def cells(self, row: int) -> list[Any] | None:
        """The value that each kernel reads in a sample; None unless each reads a single one."""
        if self.shown is not None:
            return self.shown[row]
        return self.evidence.kernels.cells(row)

    def find_place(self, index: int) -> int:
        """The place of a sample; negative ones count from the end."""
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"There is no sample {index} in this explanation of {len(self)}: they are numbered "
                f"from 0 to {len(self) - 1}, whatever they are called. Pass one of these numbers."
            )
        return index % len(self)

    def __len__(self) -> int:
        return len(self.sample_ids)

    def __getitem__(self, key: Any) -> Explanation:
        rows = np.atleast_1d(np.arange(len(self))[key])
        return replace(
            self,
            evidence=self.evidence.take(rows),
            probabilities=self.probabilities[rows],
            sample_ids=self.sample_ids[rows],
            shown=None if self.shown is None else [self.shown[row] for row in rows],
        )

    def __str__(self) -> str:
        cards = "\n\n".join(str(self.card(index)) for index in range(len(self)))
        return f"{cards}\n{self.chance}" if len(self) == 1 else f"{cards}\n\n{self.chance}"

    def _repr_html_(self) -> str:
        cards = [self.card(index)._repr_html_() for index in range(min(len(self), MOST_CARDS))]
        more = f"{len(self) - MOST_CARDS} more: see card(index). " if len(self) > MOST_CARDS else ""
        return "".join([*cards, f"<p>{more}{self.chance}</p>"])

    def __repr__(self) -> str:
        n_prototypes = self.evidence.predictor.mixes.shape[0]
        return (
            f"Explanation({len(self)} samples, {len(self.classes)} classes, {n_prototypes} "
            f"prototypes, {len(self.feature_names)} features)"
        )


def list_parts(mix: sp.csr_array) -> list[tuple[int, float]]:
    """The support samples of a mix with their shares, largest first."""
    shares = mix.data / mix.data.sum()
    order = np.argsort(-shares, kind="stable")
    return list(zip(mix.indices[order].tolist(), shares[order].tolist(), strict=True))


def write_chance(n_kept: int, n_expected: float, word: str = "feature") -> str:
    """A sentence about how many features chance would give."""
    number = f"about {n_expected:.1f}" if n_expected >= 0.05 else "less than 0.1"
    what = f"{n_kept} {word}s" if n_kept > 1 else word
    return f"Of the {what} in use, {number} would be in use by chance."
