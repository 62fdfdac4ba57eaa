"""What both estimators share: input, prediction and the fitted attributes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._checkpoint import NO_CHECKPOINT, Keeper, open_checkpoint
from imkpl.estimators._compat import (
    CallbackSupportMixin,
    FitProgress,
    Interval,
    StrOptions,
    fit_context,
    wants_data_frame,
    with_callbacks,
)
from imkpl.estimators._explaining import ExplainingMixin
from imkpl.estimators._fitted import fitted_attributes
from imkpl.estimators._input import read_new, read_training, row_labels
from imkpl.estimators._landmarks import adapt_and_reduce
from imkpl.estimators._partitions import by_partition
from imkpl.estimators._search import begin_search, run_rounds
from imkpl.estimators._stages import FitStages, warn_unless_settled
from imkpl.estimators._training import (
    TrainingPart,
    find_distinct,
    tabulate_kernels,
)
from imkpl.estimators._weights import (
    count_relevant,
    find_class_weight,
    find_classes,
    read_sample_weight,
)
from imkpl.kernels import BaseKernelBank, resolve_bank
from imkpl.model.alternate import Update
from imkpl.model.objective import ObjectiveParts
from imkpl.model.predictor import Encoding
from imkpl.model.problem import Problem, State
from imkpl.model.separation import LinearSeparation


class BasePrototypeClassifier(
    ExplainingMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Input, the loop, prediction and fitted attributes; a subclass says how weights are found."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernels": "no_validation",
        "sparsity": [Interval(Integral, 1, None, closed="left")],
        "code_sparsity": [Interval(Integral, 1, None, closed="left")],
        "learning_code_sparsity": [Interval(Integral, 1, None, closed="left")],
        "n_prototypes": [Interval(Integral, 1, None, closed="left"), None],
        "discrimination": [Interval(Real, 0, None, closed="left")],
        "interpretability": [Interval(Real, 0, None, closed="left")],
        "decision": [StrOptions({"calibrated", "joint", "residual", "share"})],
        "solver": [StrOptions({"auto", "exact", "landmarks"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "checkpoint": [str, PathLike, None],
    }
    _updates: ClassVar[tuple[Update, ...]]

    @abstractmethod
    def _start(
        self, bank: BaseKernelBank, X: Any, part: TrainingPart
    ) -> tuple[Problem, FloatArray]:
        """The problem, and the weights to start from."""

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn kernel weights, prototypes and codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; any table for ``kernels="per_column"``, an array of shape (n_samples,
            n_samples, n_kernels) for ``kernels="precomputed"``, time series for
            ``kernels="global_alignment"``, and whatever the kernels read otherwise.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts; an integer weight equals so many copies.

        Returns
        -------
        self
            The fitted estimator.
        """
        with FitStages(self) as stages, limited_threads(self.n_jobs):
            bank = resolve_bank(self.kernels)
            given = X
            X, y = read_training(self, bank, given, y)
            ids = row_labels(given, len(X))
            part = self._find_training_part(bank, X, y, sample_weight)
            checkpoint = open_checkpoint(self, X, y, sample_weight)
            stages.say(checkpoint.describe())
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            progress = FitProgress(self, self.max_iter, {"X": X, "y": y, "metadata": metadata})
            stages.enter("learning bandwidths")
            bank, samples, part = self._adapt(bank, X, part, checkpoint)
            stages.enter(f"weighing {bank.n_kernels} kernels on {part.labels.size} samples")
            table, samples = tabulate_kernels(self, bank, samples)
            search = begin_search(self, table, samples, part, stages, checkpoint)
            finish = partial(self._attributes, bank, X, ids, part, search[0])
            state, history = run_rounds(self, search, stages, progress, checkpoint, finish)
            stages.enter("calibrating")
            attributes = finish(state, history)
        warn_unless_settled(self, history)
        for name, value in attributes.items():
            setattr(self, name, value)
        progress.end(lambda: attributes)
        return self

    @by_partition
    def predict(self, X: Any, *, reject: bool = False) -> Any:
        """The class of every sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        reject : bool, default=False
            Whether to abstain from samples unlike anything seen in training, those whose
            reconstruction error exceeds `novelty_threshold_`.

        Returns
        -------
        array of shape (n_samples,)
            Class labels; with ``reject=True`` an array of objects with None for abstentions.
        """
        if not reject:
            best = np.argmax(self._decide(X), axis=1)
            return self.classes_[best]
        encoding = self._encode(X)
        labels = self.classes_[np.argmax(encoding.scores, axis=1)].astype(object)
        labels[encoding.errors > self.novelty_threshold_] = None
        return labels

    @by_partition
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class: a softmax of the class scores.

        Logits and temperature are found in `fit`, from codes of the training samples with their
        own part in the prototypes taken out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one, columns are ordered as `classes_`.
        """
        scores = self._decide(X)
        return np.asarray(softmax(self.temperature_ * scores, axis=1))

    @by_partition
    def decision_function(self, X: Any) -> FloatArray:
        """The score of every class.

        For ``decision="joint"`` the part of the sample's squared norm that the prototypes of a
        class explain in a code over all prototypes; for ``"calibrated"`` logits that are learned
        on top of these parts; for ``"residual"`` what the prototypes of a class explain on their
        own; for ``"share"`` the share of the code that comes from a class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores; for two classes the second's minus the first's.
        """
        scores = self._decide(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if self.classes_.size == 2 else scores

    @by_partition
    def transform(self, X: Any) -> Any:
        """The sparse codes: which prototypes rebuild each sample, and how much of each.

        A code uses the prototypes of the predicted class; for ``decision="share"`` those of all
        classes, as in the paper.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        CSR array of shape (n_samples, n_prototypes)
            Non-negative codes; a data frame where `set_output` asked for one.
        """
        codes = self._encode(X).codes
        return codes.toarray() if wants_data_frame(self) else codes

    def fit_transform(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, then code the training samples as if they were new.

        The codes of the training samples that were learned with the prototypes are in `codes_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts.

        Returns
        -------
        CSR array of shape (n_samples, n_prototypes)
            ``fit(X, y).transform(X)``.
        """
        return self.fit(X, y, sample_weight).transform(X)

    @by_partition
    def reconstruction_error(self, X: Any) -> FloatArray:
        """How much of each sample its code leaves unexplained: 0 seen before, 1 nothing like it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples,)
            ``||phi(x) - Phi U gamma||^2``, between 0 and 1.
        """
        return self._encode(X).errors

    @property
    def feature_importances_(self) -> FloatArray:
        """The kernel weights summed per feature; they sum to one.

        Only banks whose kernels read one feature each have it.
        """
        check_is_fitted(self)
        if self._kernel_columns is None:
            raise AttributeError(
                "feature_importances_ is defined when every kernel reads one feature, as with "
                "kernels='per_feature_gaussian'. Use kernel_weights_ for these kernels."
            )
        totals = np.bincount(self._kernel_columns, self.kernel_weights_, self.n_features_in_)
        return totals.astype(np.float64)

    @property
    def _n_features_out(self) -> int:
        return int(self.prototypes_.shape[0])

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has come to its end."""
        return "_predictor" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Tags that tell scikit-learn about precomputed kernels, categories and missing cells."""
        tags = super().__sklearn_tags__()
        is_precomputed = isinstance(self.kernels, str) and self.kernels == "precomputed"
        tags.input_tags.pairwise = is_precomputed
        tags.input_tags.three_d_array = is_precomputed
        is_named = isinstance(self.kernels, str) and self.kernels == "per_column"
        is_table = is_named or bool(getattr(self.kernels, "reads_tables", False))
        # Not `categorical`, which stands for categories only: checks would then round all numbers.
        tags.input_tags.allow_nan = is_table
        tags.input_tags.string = is_table
        return tags

    def _encode(self, X: Any) -> Encoding:
        """Codes, class scores and errors of samples."""
        X = self._read_new(X)
        with limited_threads(self.n_jobs):
            encoding: Encoding = self._predictor.encode(X)
        return encoding

    def _decide(self, X: Any) -> FloatArray:
        """Class scores of samples."""
        X = self._read_new(X)
        with limited_threads(self.n_jobs):
            return np.asarray(self._predictor.decide(X))

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_new(self, self._predictor.bank, X)

    def _find_training_part(
        self, bank: BaseKernelBank, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> TrainingPart:
        """The distinct samples with their weights; sets `classes_`."""
        weight = read_sample_weight(sample_weight, X)
        self.classes_, labels = find_classes(y, weight)
        factors = find_class_weight(self.class_weight, self.classes_, labels, weight)
        return find_distinct(X, labels, weight, factors, merge=bank.requires_vector_input)

    def _adapt(
        self, bank: BaseKernelBank, X: Any, part: TrainingPart, checkpoint: Keeper = NO_CHECKPOINT
    ) -> tuple[BaseKernelBank, Any, TrainingPart]:
        """Kernels adapted to all distinct samples, and what is learned from: these or landmarks."""
        return adapt_and_reduce(self, bank, X, part, checkpoint)

    def _pose(
        self, bank: BaseKernelBank, kernel_indices: IntArray, X: Any, part: TrainingPart
    ) -> Problem:
        """The problem before a separation loss is chosen."""
        return Problem(
            X=X,
            labels=part.labels,
            sample_weight=part.sample_weight,
            bank=bank,
            kernel_indices=kernel_indices,
            separation_loss=LinearSeparation(np.zeros(bank.n_kernels)),
            discrimination=self.discrimination,
            separation=0.0,
            interpretability=self.interpretability,
            sparsity=self.sparsity,
            code_sparsity=min(self.learning_code_sparsity, self.code_sparsity),
        )

    def _attributes(
        self,
        bank: BaseKernelBank,
        X: Any,
        ids: Any,
        part: TrainingPart,
        problem: Problem,
        state: State,
        history: list[ObjectiveParts],
    ) -> dict[str, Any]:
        """The attributes of a fit, with labels and names put to classes and kernels."""
        values = fitted_attributes(
            bank,
            X,
            part,
            problem,
            state,
            history,
            code_sparsity=self.code_sparsity,
            decision=self.decision,
        )
        owners = np.argmax(values["class_shares_"], axis=1)
        return {
            **values,
            "classes_": self.classes_,
            "prototype_classes_": self.classes_[owners],
            "support_ids_": ids[values["support_"]],
            "support_classes_": self.classes_[values["support_classes_"]],
            "kernel_names_": bank.kernel_names(getattr(self, "feature_names_in_", None)),
        }

    def _count_prototypes(self, part: TrainingPart, sparsity: int) -> int:
        n_classes, n_samples = self.classes_.size, part.labels.size
        if self.n_prototypes is None:
            n_relevant = max(n_classes, count_relevant(part.sample_weight))
            return int(min(n_classes * sparsity, n_relevant))
        if self.n_prototypes < n_classes:
            raise ValueError(
                f"n_prototypes={self.n_prototypes}, expected at least one for each of the "
                f"{n_classes} classes. Raise it, or leave it out for n_classes * sparsity."
            )
        return int(min(self.n_prototypes, n_samples))
