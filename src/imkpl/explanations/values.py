"""The exact reasons for values, and for classes with an order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.explanations.explanation import Explanation
from imkpl.model.evidence import Evidence
from imkpl.model.votes import ValueVotes

# Leads that are smaller are 0: the estimate is then halfway between the two sides.
NO_LEAD = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ValueExplanation(Explanation):
    """Why the values of some samples are what they are, exactly.

    Prototypes above an estimate draw it up, the others down: they are two sides, `classes`, whose
    shares of the votes are `probabilities`. The estimate is the mean of the values of the sides,
    and `contributions`, in units of the target, add up to how far it is above their middle,
    `base_values`.

    Parameters
    ----------
    errors : array of shape (2,), optional
        The least and the largest error, of nine new samples in ten.
    ordered : list, optional
        The classes from the lowest to the highest, if the answer is the nearest of these.
    """

    errors: FloatArray | None = None
    ordered: list[Any] | None = None

    is_value = True

    @property
    def _votes(self) -> ValueVotes:
        votes = self.evidence.predictor.votes
        assert isinstance(votes, ValueVotes)
        return votes

    @property
    def estimates(self) -> FloatArray:
        """The value of every sample; ordered classes have the values 0, 1, 2 and so on."""
        return self._votes.estimate(self.evidence.compared.resemblances)

    @property
    def predicted(self) -> Any:
        """The value, or the nearest class, of every sample."""
        if self.ordered is None:
            return self.estimates
        distances = np.abs(self.estimates[:, np.newaxis] - np.arange(len(self.ordered)))
        return np.array(self.ordered)[np.argmin(distances, axis=1)]

    @property
    def ends(self) -> FloatArray:
        """The mean values of the prototypes below and above every estimate, by their votes."""
        return self._votes.ends(self.evidence.compared.resemblances)

    @property
    def prototype_classes(self) -> Any:
        """The values of the prototypes."""
        return self._votes.levels

    @property
    def base_values(self) -> FloatArray:
        """The middle between the two sides, of shape (n_samples, 1)."""
        return np.asarray(self.ends.mean(axis=1, keepdims=True))

    @property
    def code_shares(self) -> FloatArray:
        """The share of each side in the code of each sample."""
        amounts = self.evidence.encoding.codes.toarray()
        sums = [np.sum(amounts * (self.sides == side), axis=1) for side in (0, 1)]
        totals = np.maximum(np.sum(sums, axis=0), np.finfo(float).tiny)
        return np.asarray(np.column_stack(sums) / totals[:, np.newaxis])

    @property
    def code_disagrees(self) -> BoolArray:
        """Never: the sides of an estimate are no classes that a code could rebuild."""
        return np.zeros(len(self), dtype=bool)

    @property
    def answers(self) -> IntArray:
        """The only place in `contributions`."""
        return np.zeros(len(self), dtype=np.intp)

    def _unit_leads(self) -> FloatArray:
        """How far a lead of 1 of the upper side moves every estimate from the middle."""
        leads, ends = self.scores[:, 1] - self.scores[:, 0], self.ends
        is_none = np.abs(leads) <= NO_LEAD
        slopes = np.tanh(0.5 * self._votes.sharpness * leads) / np.where(is_none, 1.0, leads)
        slopes = np.where(is_none, 0.5 * self._votes.sharpness, slopes)
        return np.asarray(0.5 * np.diff(ends, axis=1)[:, 0] * slopes)

    def contributions(self, index: int) -> FloatArray:
        """The table, of shape (n_prototypes, n_features + 2, 1), that adds up to one estimate."""
        table = super().contributions(index)
        return np.asarray(self._unit_leads()[index] * (table[..., 1:] - table[..., :1]))

    def feature_contributions(self) -> FloatArray:
        """What each feature, bonuses and the rest add, of shape (n_samples, n_features + 2, 1)."""
        parts = super().feature_contributions()
        return np.asarray(self._unit_leads()[:, None, None] * (parts[..., 1:] - parts[..., :1]))

    def prototype_contributions(self, index: int) -> FloatArray:
        """What each prototype adds to the estimate of one sample: sums of `contributions`."""
        return np.asarray(self.contributions(index).sum(axis=1))

    def compared(self, index: int) -> tuple[int, int]:
        """The sides that a card compares: the upper and the lower."""
        return 1, 0

    def describe_value(self, index: int) -> tuple[dict[str, Any], float]:
        """What a card says of a value; and how far a lead of 1 moves it."""
        estimate, (low, high) = float(self.estimates[index]), self.ends[index].tolist()
        interval = None if self.errors is None else (estimate + self.errors).tolist()
        described = {"estimate": estimate, "interval": interval, "low": low, "high": high}
        described |= {"middle": (low + high) / 2, "order": self.ordered}
        return described, float(self._unit_leads()[index])


def describe_sides(evidence: Evidence) -> dict[str, Any]:
    """What an explanation says of the two sides of every estimate, as of two classes."""
    votes = evidence.predictor.votes
    assert votes is not None
    return {
        "classes": np.array(["a lower value", "a higher value"]),
        "probabilities": softmax(votes.sharpness * evidence.encoding.scores, axis=1),
        "temperature": votes.sharpness,
        "head_starts": np.zeros(2),
        "prior_starts": np.zeros(2),
        "head_start_word": "costs of mistakes",
    }
