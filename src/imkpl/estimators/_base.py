"""What all prototype models share: `fit`, novelty, codes, and reasons."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from imkpl._checks import list_some
from imkpl._progress import announce
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray
from imkpl.estimators._cells import (
    as_samples,
    find_labels,
    is_annotated,
    name_cells,
    read_annotated,
)
from imkpl.estimators._compat import (
    CallbackSupportMixin,
    FitMonitor,
    Interval,
    StrOptions,
    fit_context,
    wants_data_frame,
    with_callbacks,
)
from imkpl.estimators._fitted import describe_fit
from imkpl.estimators._input import (
    by_partition,
    choose_bank,
    is_auto,
    refuse_partitions,
    row_labels,
)
from imkpl.estimators._kernels import learn_kernels
from imkpl.estimators._training import Constraints, TrainingData, read_training
from imkpl.explanations import Explanation
from imkpl.explanations.explanation import write_chance
from imkpl.kernels import resolve_bank
from imkpl.model.alternate import alternate
from imkpl.model.cover import cover
from imkpl.model.evidence import Evidence, collect_evidence
from imkpl.model.kernel_choice import prepare_choice, widen
from imkpl.model.predictor import Compared, Predictor
from imkpl.model.problem import Settings
from imkpl.model.size import choose_size, find_residuals, prefer_located
from imkpl.model.updates import update_codes, update_prototypes, update_weights
from imkpl.model.voters import update_voters

# Features in a short description.
MOST_NAMED = 5
# Channels whose weights are named.
MOST_WEIGHED = 12


@dataclass(eq=False, repr=False, kw_only=True)
class BasePrototypeModel(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """`fit` and reasons; a subclass says what is predicted."""

    # How kernels are weighed, and what decides; parameters of classifiers.
    weight_rule = "margin"
    decision = "votes"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernels": "no_validation",
        "sparsity": [Interval(Integral, 1, None, closed="left"), None],
        "code_sparsity": [Interval(Integral, 1, None, closed="left")],
        "learning_code_sparsity": [Interval(Integral, 1, None, closed="left")],
        "n_prototypes": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "discrimination": [Interval(Real, 0, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "interpretability": [Interval(Real, 0, None, closed="left")],
        "max_kernels": [Interval(Integral, 1, None, closed="left"), None],
        "contrast": ["boolean", None],
        "solver": [StrOptions({"auto", "exact", "landmarks"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "max_missing": [Interval(Real, 0, 1, closed="both")],
        "require": ["array-like", None],
        "exclude": ["array-like", None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    kernels: Any = field(default="auto", kw_only=False)
    sparsity: int | None = None
    code_sparsity: int = 20
    learning_code_sparsity: int = 1
    n_prototypes: int | None = None
    n_neighbors: int = 4
    discrimination: float = 0.5
    separation: float = 100.0
    interpretability: float = 1.2
    max_kernels: int | None = None
    contrast: bool | None = None
    solver: str = "auto"
    n_landmarks: int | None = None
    max_missing: float = 0.5
    require: Any = None
    exclude: Any = None
    max_iter: int = 20
    tol: float = 1e-3
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None

    @property
    def _settings(self) -> Settings:
        """What was chosen about the objective and the model."""
        return Settings(
            discrimination=self.discrimination,
            separation=self.separation,
            interpretability=self.interpretability,
            sparsity=self.sparsity,
            code_sparsity=min(self.learning_code_sparsity, self.code_sparsity),
            n_neighbors=int(self.n_neighbors),
            weight_rule=self.weight_rule,
            decision=self.decision,
            contrast=self.contrast,
            max_kernels=self.max_kernels,
        )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        eligible: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn kernel weights, prototypes and codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples: numbers, a table with text or missing cells, a sparse matrix, time
            series, or an AnnData, of which `y` may name a column of `obs`. For
            ``kernels="precomputed"`` an array of shape (n_samples, n_samples, n_kernels), and
            whatever the kernels read otherwise.
        y : array-like of shape (n_samples,)
            Class labels; numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; an integer weight equals that many copies.
        eligible : array-like of bool of shape (n_samples,), optional
            Prototypes are made of eligible samples only; all samples are learned from.
        groups : array-like of shape (n_samples,), optional
            The person, or whatever else, that each sample belongs to. Samples of one are not
            independent: the permutation test exchanges whole groups, folds and calibration keep
            them together, and margins compare a sample with samples of other groups.

        Returns
        -------
        self
            The fitted estimator.
        """
        threads = limited_threads(self.n_jobs, pin_blas=True)
        metadata = {"sample_weight": sample_weight, "eligible": eligible, "groups": groups}
        settings = self._settings
        with FitMonitor(self) as monitor, threads:
            data = self._read_training(X, y, **metadata)
            self._check_answers(data)
            monitor.begin(data.given.samples, data.given.y, metadata)
            bound, choice, evidence = learn_kernels(
                data,
                settings,
                Constraints(self.require, self.exclude),
                solver=self.solver,
                n_landmarks=self.n_landmarks,
                random_state=self.random_state,
            )
            choice.evidence.warn("values" if is_regressor(self) else "classes")
            limits = settings.max_kernels, bound.kernels.most_kernels
            choice = prefer_located(choice, bound.kernels.is_located, *limits)
            problem, weights = choice.choose(*limits)
            size = bound.data.count_prototypes(self.n_prototypes, self.sparsity, self.decision)
            announce(monitor.name, "choosing the number of prototypes")
            pool, seed = choice.pool(settings.max_kernels), 0
            if self.random_state is not None:
                seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            ranked = choice.ranked
            del choice  # It holds tables as large as the kernel.
            found = choose_size(pool, weights.size, ranked, size, seed)
            residuals: FloatArray = np.empty(0)
            if is_regressor(self):
                residuals = find_residuals(pool, weights.size, ranked, found, seed)
            del pool
            size, ridge, widths = found
            if widths != (1.0,):
                problem = widen(problem, widths)
                problem, weights = prepare_choice(problem, problem.average())(None)
            announce(monitor.name, f"covering the classes with {size} prototypes")
            problem = replace(problem, ridge=ridge)
            describe = partial(
                describe_fit, bound, problem, evidence, self.code_sparsity, residuals
            )
            monitor.begin_round(1)
            updates = [
                update_codes,
                update_voters if self.decision == "votes" else update_prototypes,
            ]
            if settings.learns_weights:
                updates.append(update_weights)
            state, history = alternate(
                problem,
                cover(problem, weights, size),
                updates,
                max_iter=self.max_iter,
                tol=self.tol,
                report=partial(monitor.report, describe),
            )
            fitted = describe(state, history)
        monitor.finish(history, fitted)
        return self

    @by_partition
    def novelty(self, X: Any) -> FloatArray:
        """How unlike each sample is to all in training: 0 seen before, 1 nothing like it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        array of shape (n_samples,)
            1 minus the similarity to the nearest training sample in the model; 1 if a number that
            the model reads is outside of those in training by three quarters of their range.
        """
        return self._ask("compare", X).novelty  # type: ignore[no-any-return]

    @by_partition
    def transform(self, X: Any) -> Any:
        """The sparse codes: which prototypes rebuild each sample, and how much of each.

        The prototypes of all classes compete, whatever the decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.

        Returns
        -------
        CSR array of shape (n_samples, n_prototypes)
            Non-negative codes; a data frame where `set_output` asked for one.
        """
        codes = self._ask("encode", X).codes
        return codes.toarray() if wants_data_frame(self) else codes

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
        return self._ask("encode", X).errors  # type: ignore[no-any-return]

    def explain(self, X: Any, *, render: Callable[[Any], Any] | None = None) -> Explanation:
        """Why the samples are classified as they are.

        The answer is exact: every class score is the sum of what each feature adds to it through
        each prototype, and every prototype is a mix of training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        render : callable, optional
            Shows a sample on the cards of the explanation: a function of the sample that returns
            text, HTML or SVG, the bytes of an image, or an object that notebooks can show. Rows of
            a table are passed as dicts with the columns that the model reads, and for precomputed
            kernels the name of the sample is passed.

        Returns
        -------
        Explanation
            To be printed, shown in a notebook, or turned into data frames and dicts.
        """
        samples = self.read_new(X)
        with limited_threads(self.n_jobs):
            evidence = collect_evidence(self._decider, samples)
        ids = row_labels(X, len(evidence.similarities))
        return self._explain(evidence, ids, render)

    def _explain_nothing(self) -> Explanation:
        """An explanation of no samples, which says what all of them share."""
        predictor = self._decider
        nothing = np.empty((0, predictor.mixes.shape[0]))
        compared = Compared(nothing, nothing, np.empty(0))
        evidence = Evidence(predictor, [], compared, predictor.encode_compared(compared))
        return self._explain(evidence, np.arange(0))

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        train: tuple[Any, Any] | None = None,
        stability: Any = None,
        by: Mapping[str, Any] | None = None,
        groups: ArrayLike | None = None,
        sites: Any = None,
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
        stability : Stability, optional
            ``imkpl.stability(model, X_train, y_train)``, for a section on what refits choose again.
        by : mapping of str to array-like of shape (n_samples,), optional
            Columns that divide X into subgroups, each of which is measured on its own.
        groups : array-like of shape (n_samples,), optional
            Whom samples belong to: intervals and the verdict count groups.
        sites : array-like of shape (n_train,) or dict, optional
            The site of each sample of `train`: every site is left out in turn, by a fit to the
            others. Or what :func:`imkpl.report.sites.measure_sites` found.
        title : str, optional
            The heading.

        Returns
        -------
        pathlib.Path
            The file; a notebook shows the page.
        """
        from imkpl.report import write_report

        options = {"train": train, "stability": stability, "by": by, "groups": groups}
        return write_report(self, X, y, path, **options, sites=sites, title=title)

    @property
    def feature_importances_(self) -> FloatArray:
        """The kernel weights summed per feature, or the weights of channels; they sum to one.

        Only banks whose kernels read one feature each, or weigh channels, have it.
        """
        check_is_fitted(self)
        weights: FloatArray | None = self._channel_weights
        if weights is not None:
            return weights.copy()
        if self._kernel_columns is None:
            raise AttributeError(
                "feature_importances_ is defined when every kernel reads one feature, as with "
                "kernels='per_feature_gaussian'. Use kernel_weights_ for these kernels."
            )
        totals = np.bincount(self._kernel_columns, self.kernel_weights_, self.n_features_in_)
        return totals.astype(np.float64)

    @property
    def channel_evidence_(self) -> FloatArray:
        """From 0 to 1: how sure it is that each channel of series is more than chance.

        Only models whose kernels weigh channels have it.
        """
        check_is_fitted(self)
        evidence: FloatArray | None = self._channel_evidence
        if evidence is None:
            raise AttributeError(
                "channel_evidence_ is defined when kernels weigh channels, as with "
                "kernels='per_view'. Use kernel_evidence_ for these kernels."
            )
        return evidence.copy()

    @property
    def support_values_(self) -> list[dict[str, Any]]:
        """The values of the support samples in the columns that the model reads, by name.

        One dict per sample, in the order of `support_`; lists of numbers for the channels of
        series, words that occur for documents, and nothing for precomputed kernels.
        """
        check_is_fitted(self)
        predictor, names = self._predictor, self._column_names
        return [predictor.kernels.values(int(place), names) for place in np.argsort(predictor.rows)]

    @property
    def predictor_(self) -> Predictor:
        """What predicts and explains: kernels on the support samples, weights, prototypes."""
        check_is_fitted(self)
        return self._predictor  # type: ignore[no-any-return]

    @property
    def _column_names(self) -> tuple[str, ...]:
        """The names of the columns that the model reads."""
        columns, names = self._predictor.kernels.input_columns, self._form.names
        if columns is None:
            columns = np.arange(self._form.n_features or 0)
        return tuple(f"x{column}" if names is None else str(names[column]) for column in columns)

    @property
    def _n_features_out(self) -> int:
        return int(self.prototypes_.shape[0])

    def _html_repr(self) -> str:
        """The diagram of scikit-learn, and what was learned."""
        diagram = str(super()._html_repr())
        if not self.__sklearn_is_fitted__():
            return diagram
        return f"{diagram}<p>{escape(self._describe())}</p>"

    def _describe(self) -> str:
        """What was learned, in a few sentences."""
        weights, (n_prototypes, n_train) = self.kernel_weights_, self.prototypes_.shape
        live = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
        whose = f"{self.classes_.size} classes" if is_classifier(self) else "values"
        largest = ", ".join(f"{self.kernel_names_[i]} {weights[i]:.0%}" for i in live[:MOST_NAMED])
        return (
            f"Learned {n_prototypes} prototypes of {whose} from {n_train} samples; they are made "
            f"of {self.support_.size} of these. {live.size} of "
            f"{weights.size} features are in use, mostly {largest}. "
            f"{write_chance(live.size, self.expected_false_kernels_)} {self.describe_channels()}"
        ).rstrip()

    def describe_channels(self) -> str:
        """The weights of channels that are compared together, in a sentence; empty for others."""
        if self._channel_weights is None:
            return ""
        weights, evidence = self.feature_importances_, self.channel_evidence_
        names = getattr(self, "feature_names_in_", [f"channel {c}" for c in range(weights.size)])
        order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
        named = [f"{names[c]} {weights[c]:.0%} (evidence {evidence[c]:.0%})" for c in order]
        listed = list_some(named, MOST_WEIGHED)
        return f"The kernels compare channels together, which weigh: {listed}."

    def _explain(
        self,
        evidence: Evidence,
        sample_ids: Any,
        render: Callable[[Any], Any] | None = None,
    ) -> Explanation:
        """The explanation of samples whose evidence is known."""
        places = np.searchsorted(self.support_, self._predictor.rows)
        live = np.flatnonzero(self.kernel_weights_)
        kind, reasons = self._find_reasons(evidence)
        return kind(
            evidence=evidence,
            **reasons,
            sample_ids=sample_ids,
            support_ids=self.support_ids_[places],
            feature_names=tuple(self.kernel_names_[kernel] for kernel in live),
            column_names=self._column_names,
            feature_evidence=self.kernel_evidence_[live],
            novelty_threshold=self.novelty_threshold_,
            max_missing=self.max_missing,
            render=render,
        )

    def _find_reasons(self, evidence: Evidence) -> tuple[type[Explanation], dict[str, Any]]:
        """The kind of an explanation, and what it says of the answers."""
        raise NotImplementedError

    def _check_answers(self, data: TrainingData) -> None:
        """Raise unless parameters fit to the target."""

    @property
    def _decider(self) -> Predictor:
        """What decides."""
        return self._predictor  # type: ignore[no-any-return]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has come to its end."""
        return "_predictor" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Tags that tell scikit-learn about precomputed kernels, categories and missing cells."""
        tags = super().__sklearn_tags__()
        if is_auto(self.kernels):
            inputs = tags.input_tags
            inputs.allow_nan = inputs.string = inputs.sparse = inputs.three_d_array = True
            return tags
        try:
            reads = resolve_bank(self.kernels).kind.input_kind
        # Wrong kernels are refused by `fit`.
        except (TypeError, ValueError):
            return tags
        tags.input_tags.pairwise = reads == "similarities"
        tags.input_tags.two_d_array = reads != "series"
        tags.input_tags.three_d_array = reads in ("similarities", "series")
        # Not `categorical`, which stands for categories only: checks would then round all numbers.
        tags.input_tags.allow_nan = reads in ("tables", "series")
        tags.input_tags.string = reads == "tables"
        tags.input_tags.sparse = reads in ("columns", "words")
        return tags

    def _ask(self, method: str, X: Any) -> Any:
        """What a method of the predictor says of samples."""
        samples = self.read_new(X)
        with limited_threads(self.n_jobs):
            return getattr(self._predictor, method)(samples)

    def _decide(self, X: Any, predictor: Predictor) -> FloatArray:
        """Class scores, or values in a column; NaN for samples that get no answer."""
        samples = self.read_new(X)
        with limited_threads(self.n_jobs):
            return self._blank_refused(samples, predictor.decide(samples))

    def _blank_refused(self, samples: Any, scores: FloatArray) -> FloatArray:
        """Scores, NaN for samples that lack too much of what the model reads; a warning says so."""
        missing = self._predictor.find_missing(samples)
        is_refused = missing > self.max_missing
        if not is_refused.any():
            return scores
        warnings.warn(
            f"{is_refused.sum()} of {missing.size} samples get no answer (None, or NaN): they lack "
            f"more than {self.max_missing:.0%} of the weight of the features, sample "
            f"{is_refused.argmax()} lacks {missing[is_refused.argmax()]:.0%}. Fill their cells, or "
            "use set_params(max_missing=1) to have answers all the same.",
            stacklevel=4,
        )
        return np.where(is_refused[:, np.newaxis], np.nan, scores)

    def read_new(self, X: Any) -> Any:
        """New samples, as the kernels read them."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        refuse_partitions(X, "This method")
        return read_annotated(self._predictor.kernels, X, self._form)

    def _read_training(self, X: Any, y: ArrayLike, **metadata: Any) -> TrainingData:
        """What was given to `fit`, as the model sees it."""
        owner = type(self).__name__
        y, samples = find_labels(X, y), as_samples(X)
        bank = choose_bank(self.kernels, samples, owner)
        answers = {name: getattr(self, name, None) for name in ("class_weight", "ordered")}
        more: Any = {**metadata, **answers, "is_value": is_regressor(self), "owner": owner}
        data = read_training(bank, samples, y, **more)
        return name_cells(data, X) if is_annotated(X) else data
