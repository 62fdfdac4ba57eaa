"""IMKPL, and ISKPL on a single kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._compat import Interval, StrOptions
from imkpl.estimators._docs import fill_doc
from imkpl.estimators._training import TrainingData
from imkpl.estimators._wishes import check_required
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
    start_ridge,
)
from imkpl.model.neighbors import Neighborhoods, count_others, find_neighborhoods
from imkpl.model.problem import Problem
from imkpl.model.twins import compare_with_twins
from imkpl.model.updates import update_weights

# How kernels are chosen by each weight rule, given the neighbourhoods.
STARTS: Mapping[str, Callable[[Problem, Neighborhoods], Choose]] = {
    "margin": MarginStart,
    "ridge": partial(partial, start_ridge),
    "lp": partial(partial, start_average),
}


@fill_doc
class IMKPL(BasePrototypeClassifier):
    """Interpretable multiple-kernel prototype learning.

    Learns together which kernels matter, prototypes that are sparse mixes of similar training
    samples of one class, and sparse codes that reconstruct every sample from a few prototypes.
    With one kernel per feature the kernel weights select features.

    Series may have unequal lengths and gaps. They are given as an array of shape (n_series,
    n_channels, n_steps), in which NaN at the end is padding, as a list of arrays of shape
    (n_channels, length), or, with ``kernels="per_view"``, in any other form that
    :func:`imkpl.series.read_series` reads. Their channels are weighed as features are.

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
    %(wishes)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s
    %(checkpoint)s

    Attributes
    ----------
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    %(feature_importances_)s
    %(channels)s
    %(support_)s

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=3, max_kernels=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), int((model.kernel_weights_ > 0).sum()) <= 5
    (True, True)

    Series, of which the second channel tells the classes apart:

    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 10)
    >>> series = np.random.default_rng(0).standard_normal((20, 2, 15))
    >>> series[:, 1] += np.sin(np.arange(15) / (2 + labels[:, None])) * 4
    >>> IMKPL(n_prototypes=4).fit(series, labels).feature_importances_.argmax()
    np.int64(1)

    A fit with a checkpoint can be killed, and resumes after its last round:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     start = IMKPL(sparsity=3, max_kernels=5, max_iter=1, checkpoint=folder).fit(X, y)
    ...     whole = start.set_params(max_iter=20).fit(X, y)
    >>> bool((whole.kernel_weights_ == model.kernel_weights_).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BasePrototypeClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "weight_rule": [StrOptions({"margin", "ridge", "lp"})],
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
        groups: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        checkpoint: str | PathLike[str] | None = None,
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
            groups=groups,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
            checkpoint=checkpoint,
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
            if self.weight_rule == "margin" and problem.bank._default_sparsity is None:
                return start_from_means(problem)
            labels = problem.labels
            if self.weight_rule == "lp":
                neighborhoods = find_neighborhoods(average, labels, n_same, n_same)
            else:
                compared = choose_compared(labels.size, n_other, problem.bank.n_kernels)
                neighborhoods = find_neighborhoods(average, labels, n_same, n_other, compared)
            return STARTS[self.weight_rule](problem, neighborhoods)

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
    %(wishes)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s
    %(checkpoint)s

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
