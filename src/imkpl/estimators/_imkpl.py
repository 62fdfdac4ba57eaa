"""IMKPL and its relatives: ISKPL on a single kernel, TimeSeriesIMKPL on channels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._compat import Interval, StrOptions
from imkpl.estimators._constraints import check_required
from imkpl.estimators._docs import fill_doc
from imkpl.estimators._training import TrainingData
from imkpl.kernels import (
    ExpectedAlignment,
    GlobalAlignment,
    expected_alignment,
)
from imkpl.model.alternate import Update
from imkpl.model.class_means import start_from_means
from imkpl.model.initialize import (
    Choose,
    MarginStart,
    Start,
    choose_compared,
    divide_by_variance,
    start_average,
    start_equal,
)
from imkpl.model.neighbors import count_others, find_neighborhoods
from imkpl.model.problem import Problem
from imkpl.model.twins import compare_with_twins
from imkpl.model.updates import update_weights
from imkpl.series import read_series


@fill_doc
class IMKPL(BasePrototypeClassifier):
    """Interpretable multiple-kernel prototype learning.

    Learns together which kernels matter, prototypes that are sparse mixes of similar training
    samples of one class, and sparse codes that reconstruct every sample from a few prototypes.
    With one kernel per feature the kernel weights select features.

    Parameters
    ----------
    %(kernels)s
    %(sparsity)s
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(n_neighbors)s
    %(discrimination)s
    %(separation)s
    %(interpretability)s
    %(weight_rule)s
    %(max_kernels)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(constraints)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    %(feature_importances_)s
    %(support_)s

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=3, max_kernels=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), int((model.kernel_weights_ > 0).sum()) <= 5
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BasePrototypeClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "weight_rule": [StrOptions({"margin", "lp"})],
        "max_kernels": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        sparsity: int | None = None,
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        n_neighbors: int = 4,
        discrimination: float = 0.5,
        separation: float = 100.0,
        interpretability: float = 1.2,
        weight_rule: str = "margin",
        max_kernels: int | None = None,
        decision: str = "votes",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
        require: Any = None,
        exclude: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernels,
            sparsity=sparsity,
            code_sparsity=code_sparsity,
            learning_code_sparsity=learning_code_sparsity,
            n_prototypes=n_prototypes,
            discrimination=discrimination,
            interpretability=interpretability,
            decision=decision,
            solver=solver,
            n_landmarks=n_landmarks,
            class_weight=class_weight,
            require=require,
            exclude=exclude,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_neighbors = n_neighbors
        self.separation = separation
        self.weight_rule = weight_rule
        self.max_kernels = max_kernels

    def _build_problem(self, data: TrainingData) -> Problem:
        problem, n_samples = super()._build_problem(data), data.n_samples
        if self.weight_rule != "lp":
            problem = divide_by_variance(problem)
            check_required(data, problem.kernel_indices)
        if self.n_neighbors > n_samples:
            kind, more = "distinct samples", "add samples"
            if data.has_landmarks:
                kind, more = "landmarks", "raise n_landmarks"
            raise ValueError(
                f"n_neighbors={self.n_neighbors}, but there are only {n_samples} {kind}, expected "
                f"no more neighbours than that. Use n_neighbors={n_samples - 1} or less, or {more}."
            )
        return replace(problem, separation=self.separation).in_suitable_precision()

    def _prepare_start(self, problem: Problem) -> Start:
        n_same, n_other = self.n_neighbors, count_others(self.n_neighbors, len(problem.members))
        average = problem.average()
        found = compare_with_twins(problem, average, n_same)

        def prepare(problem: Problem, average: FloatArray) -> Choose:
            labels = problem.labels
            if self.weight_rule == "lp":
                neighborhoods = find_neighborhoods(average, labels, n_same, n_same)
                return partial(start_average, problem, neighborhoods)
            if problem.bank._default_sparsity is None:
                return start_from_means(problem)
            compared = choose_compared(labels.size, n_other, problem.bank.n_kernels)
            neighborhoods = find_neighborhoods(average, labels, n_same, n_other, compared)
            return MarginStart(problem, neighborhoods)

        return Start(found.add_to(problem), found, average, prepare)

    def _find_updates(self) -> tuple[Update, ...]:
        return *super()._find_updates(), update_weights


@fill_doc
class ISKPL(BasePrototypeClassifier):
    """Interpretable single-kernel prototype learning.

    The same model as :class:`IMKPL` without the weight step: all kernels of the bank have the same
    weight.

    Parameters
    ----------
    %(kernels)s
    %(sparsity)s
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(discrimination)s
    %(interpretability)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(constraints)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    %(support_)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ISKPL(sparsity=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def _prepare_start(self, problem: Problem) -> Start:
        problem = problem.in_suitable_precision()
        average = problem.average()
        found = compare_with_twins(problem, average)
        return Start(found.add_to(problem), found, average, start_equal, has_gate=False)


@fill_doc
class TimeSeriesIMKPL(IMKPL):
    """:class:`IMKPL` for time series, with kernels that align channels or sum them up.

    Series may have unequal lengths and gaps. They are given as an array of shape (n_series,
    n_channels, n_steps), in which NaN at the end is padding, as a list of arrays of shape
    (n_channels, length), as a `SeriesSet`, or in any other form that
    :func:`imkpl.series.read_series` reads.

    Parameters
    ----------
    kernels : str or kernel bank, default="per_view"
        What compares series. "per_view" has 13 kernels: values and differences of successive
        steps, each aligned at three widths, and level, trend, spread, spectrum, distribution,
        autocorrelation and patterns. Each compares all channels together, which are weighed first,
        as features of a table are; those that are not more than chance are left out.
        "global_alignment" has one kernel for each channel, of its values. Others are a
        :class:`imkpl.kernels.GlobalAlignment` with settings of its own, such as windows of time, or
        anything that :class:`IMKPL` takes and that reads series. Many kernels of many series are
        screened on some of the series first; at most 20 are kept, unless `max_kernels` says
        otherwise.
    %(sparsity)s
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(n_neighbors)s
    %(discrimination)s
    %(separation)s
    %(interpretability)s
    %(weight_rule)s
    %(max_kernels)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(constraints)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    n_channels_in_ : int
        Number of channels.
    feature_names_in_ : array of shape (n_channels,)
        Their names, where the series had names.
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    feature_importances_ : array of shape (n_channels,)
        The weights of the channels; summed per channel, where each kernel reads one channel.
    channel_evidence_ : array of shape (n_channels,)
        From 0 to 1: how sure it is that each channel is more than chance, where channels are
        weighed.
    %(support_)s

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 10)
    >>> X = rng.standard_normal((20, 2, 15))
    >>> X[:, 1] += np.sin(np.arange(15) / (2 + y[:, None])) * 4
    >>> model = TimeSeriesIMKPL(sparsity=3).fit(X, y)
    >>> int(np.argmax(model.feature_importances_)), bool(model.score(X, y) > 0.9)
    (1, True)
    """

    def __init__(
        self,
        kernels: Any = "per_view",
        *,
        sparsity: int | None = None,
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        n_neighbors: int = 4,
        discrimination: float = 0.5,
        separation: float = 100.0,
        interpretability: float = 1.2,
        weight_rule: str = "margin",
        max_kernels: int | None = None,
        decision: str = "votes",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
        require: Any = None,
        exclude: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernels,
            sparsity=sparsity,
            code_sparsity=code_sparsity,
            learning_code_sparsity=learning_code_sparsity,
            n_prototypes=n_prototypes,
            n_neighbors=n_neighbors,
            discrimination=discrimination,
            separation=separation,
            interpretability=interpretability,
            weight_rule=weight_rule,
            max_kernels=max_kernels,
            decision=decision,
            solver=solver,
            n_landmarks=n_landmarks,
            class_weight=class_weight,
            require=require,
            exclude=exclude,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )

    def align(self, x: Any, y: Any) -> dict[str, ExpectedAlignment]:
        """Where in time two series are alike, channel by channel.

        Compare a new series with those that a prototype is made of to see what the model saw.

        Parameters
        ----------
        x, y : array of shape (n_channels, length)
            Two series.

        Returns
        -------
        dict of ExpectedAlignment
            By the name of every kernel with a weight, in the order of `kernel_names_`.
        """
        check_is_fitted(self)
        predictor = self._predictor
        if not isinstance(predictor.bank, GlobalAlignment):
            raise TypeError(
                f"align() explains alignment kernels, but the kernels of this model are "
                f"{type(predictor.bank).__name__}. Fit with kernels='global_alignment'."
            )
        pair = read_series([x, y])
        if pair.n_channels != self.n_channels_in_:
            raise ValueError(
                f"x and y have {pair.n_channels} channels, but the model was fitted to "
                f"{self.n_channels_in_}. Pass series of shape (n_channels, length)."
            )
        cut = pair.channels(predictor.columns)
        live = np.flatnonzero(self.kernel_weights_)
        return {
            self.kernel_names_[index]: expected_alignment(predictor.bank, place, cut[0], cut[1])
            for place, index in enumerate(live)
        }

    def __sklearn_tags__(self) -> Any:
        """Tags that tell scikit-learn about the third axis and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags
