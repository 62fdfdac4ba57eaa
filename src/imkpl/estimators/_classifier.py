"""Classifiers: what their answers are, and how costs, prevalence and an order change them."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeModel
from imkpl.estimators._cells import find_labels
from imkpl.estimators._compat import StrOptions
from imkpl.estimators._input import by_partition
from imkpl.estimators._training import TrainingData, read_costs, read_prevalence
from imkpl.explanations import Explanation
from imkpl.explanations.exports import as_whole
from imkpl.explanations.values import ValueExplanation, describe_sides
from imkpl.model.evidence import Evidence
from imkpl.model.predictor import Predictor
from imkpl.model.votes import ValueVotes


@dataclass(eq=False, repr=False, kw_only=True)
class BasePrototypeClassifier(ClassifierMixin, BasePrototypeModel):
    """A model that answers with classes; a subclass says whether kernels are weighed."""

    _parameter_constraints: ClassVar[dict[str, Any]] = BasePrototypeModel._parameter_constraints | {
        "weight_rule": [StrOptions({"margin", "lp", "large_margin"})],
        "decision": [StrOptions({"votes", "share"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "costs": [dict, None],
        "prevalence": [dict, None],
        "ordered": ["array-like", None],
    }

    weight_rule: str = "margin"
    decision: str = "votes"
    ordered: Any = None
    class_weight: Any = None
    costs: Any = None
    prevalence: Any = None

    @classmethod
    def as_published(
        cls,
        kernels: Any = "auto",
        *,
        sparsity: int = 10,
        discrimination: float = 0.3,
        separation: float | None = None,
        interpretability: float = 0.3,
        weight_rule: str = "lp",
        **parameters: Any,
    ) -> Self:
        """The method as the paper prints it.

        All kernels take part, with unit diagonals and equal weights at the start. The objective is
        J_rec + lambda J_dis + mu J_ls + tau J_ip. Codes and prototypes are found by pursuit and
        weights by the linear programme; prototypes and codes have at most T0 entries, there are T0
        prototypes per class and neighbourhoods of T0 samples, and the class with the largest share
        of a code wins. An ordinary estimator with these parameters is returned.

        Parameters
        ----------
        kernels : str, kernel, kernel bank or list, default="auto"
            What compares samples; for series "global_alignment" is the paper's, and for numbers
            "auto" is.
        sparsity : int, default=10
            T0; 5 to 20 in the paper.
        discrimination, interpretability : float, default=0.3
            lambda and tau; 0.2 to 0.4 is the paper's advice.
        separation : float, default=None
            mu, 0.3 by default; C with ``weight_rule="large_margin"``, 10 by default.
        weight_rule : {"lp", "large_margin"}, default="lp"
            "lp" is the text. "large_margin" is our reading of what gave the published weights, not
            the text: a linear programme with slacks that keeps several kernels.
        **parameters
            Further parameters of the estimator, or others in the place of the paper's.

        Returns
        -------
        estimator
            It is not fitted yet.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from imkpl import IMKPL
        >>> X, y = load_iris(return_X_y=True)
        >>> model = IMKPL.as_published(sparsity=5).fit(X, y)
        >>> model.prototypes_.shape[0] <= 15, model.kernel_weights_.tolist()
        (True, [0.0, 0.0, 0.0, 1.0])
        """
        if separation is None:
            separation = 10.0 if weight_rule == "large_margin" else 0.3
        published: dict[str, Any] = {
            "sparsity": sparsity,
            "code_sparsity": sparsity,
            "learning_code_sparsity": sparsity,
            "n_neighbors": sparsity,
            "discrimination": discrimination,
            "separation": separation,
            "interpretability": interpretability,
            "weight_rule": weight_rule,
            "decision": "share",
        }
        return cls(kernels, **(published | parameters))

    def _check_answers(self, data: TrainingData) -> None:
        """Raise unless costs and prevalence are of these classes."""
        decision = "an order of the classes" if data.places is not None else self.decision
        read_costs(self.costs, data.classes, decision)
        read_prevalence(self.prevalence, data.class_prior, data.classes, decision)

    @by_partition
    def predict(self, X: Any, *, reject: bool = False) -> Any:
        """The class of every sample.

        Of a data frame or of dicts, the features in use are enough, in any order. Missing cells say
        nothing, and a sample that lacks more than `max_missing` of the weight gets None.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        reject : bool, default=False
            Whether to abstain from samples unlike anything seen in training, those whose
            `novelty` exceeds `novelty_threshold_`.

        Returns
        -------
        array of shape (n_samples,)
            Class labels; an array of objects, with None for abstentions, if there are any or with
            ``reject=True``.
        """
        scores = self._decide(X, self._decider)
        labels, is_refused = self.classes_[np.argmax(scores, axis=1)], np.isnan(scores[:, 0])
        if reject:
            is_refused |= self.novelty(X) > self.novelty_threshold_
        if reject or is_refused.any():
            labels = labels.astype(object)
            labels[is_refused] = None
        return labels

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy; a sample that gets no answer counts as wrong.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            How much each counts.

        Returns
        -------
        float
            Between 0 and 1.
        """
        predicted, y = np.asarray(self.predict(X)), find_labels(X, y)
        if any(label is None for label in predicted.tolist()):
            weights = None if sample_weight is None else np.asarray(sample_weight)
            return float(np.average(predicted == np.asarray(y), weights=weights))
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    @by_partition
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class: a softmax of the class scores.

        Its temperature is found in `fit`, from the scores of the training samples with their own
        part in the prototypes taken out. The probabilities are those of the population that the
        model was trained on, also with `class_weight`, or of one with another `prevalence`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one, columns are ordered as `classes_`; NaN for samples that get no answer.
        """
        return self._find_chances(self._decide(X, self.predictor_))

    @by_partition
    def decision_function(self, X: Any) -> FloatArray:
        """The score of every class.

        For ``decision="votes"`` how far the class is ahead of the runner-up, in units of
        similarity; for ``"share"`` the share of the code that comes from the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores; for two classes the second's minus the first's.
        """
        scores = self._decide(X, self._decider)
        return np.asarray(scores[:, 1] - scores[:, 0]) if self.classes_.size == 2 else scores

    def _find_reasons(self, evidence: Evidence) -> tuple[type[Explanation], dict[str, Any]]:
        """The kind of an explanation, and what it says of classes."""
        places = np.searchsorted(self.support_, self._predictor.rows)
        labels = {"support_classes": as_whole(self.support_classes_[places])}
        votes = self._predictor.votes
        if isinstance(votes, ValueVotes) and votes.places is not None:
            order = np.argsort(votes.places)
            ordered = as_whole(self.classes_[order]).tolist()
            return ValueExplanation, describe_sides(evidence) | labels | {"ordered": ordered}
        head_starts = self._head_starts
        return Explanation, labels | {
            "classes": as_whole(self.classes_),
            # Costs decide; they do not change how probable a class is.
            "probabilities": self._find_chances(evidence.encoding.scores - head_starts),
            "temperature": self.temperature_,
            "head_starts": head_starts,
            "prior_starts": self._prior_logs / self.temperature_,
            "head_start_word": "costs of mistakes"
            if self.prevalence is None
            else "prevalence and costs"
            if self.costs is not None
            else "prevalence",
        }

    def _find_chances(self, scores: FloatArray) -> FloatArray:
        """Probabilities, from scores without head starts."""
        return np.asarray(softmax(self.temperature_ * scores + self._prior_logs, axis=1))

    @property
    def _prior_logs(self) -> FloatArray:
        """By how much classes are more probable than they were while learning, as logarithms."""
        frequent = read_prevalence(self.prevalence, self.class_prior_, self.classes_, self.decision)
        learned = self.class_prior_ * self.class_weight_
        return np.asarray(np.log(frequent / frequent.sum()) - np.log(learned / learned.sum()))

    @property
    def _head_starts(self) -> FloatArray:
        """How far ahead classes start at their costs, or else weights, in units of the score."""
        if self.costs is None and self.prevalence is None:
            return np.zeros(self.classes_.size)
        costs = read_costs(self.costs, self.classes_, self.decision)
        logs = self._prior_logs + (np.log(self.class_weight_) if self.costs is None else costs)
        return np.asarray((logs - logs.min()) / self.temperature_)

    @property
    def _decider(self) -> Predictor:
        """The predictor, whose classes start ahead as costs say."""
        predictor: Predictor = self.predictor_
        if predictor.votes is None or (self.costs is None and self.prevalence is None):
            return predictor
        return replace(predictor, votes=predictor.votes.ahead(self._head_starts))
