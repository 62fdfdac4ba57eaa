"""IMKPL: prototypes, codes and kernel weights together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._compat import Interval, StrOptions
from imkpl.estimators._training import TrainingPart, check_varying
from imkpl.kernels import BaseKernelBank, VarianceNormalized
from imkpl.model.initialize import MarginStart, choose_compared, start_average, start_ridge
from imkpl.model.problem import Problem
from imkpl.model.updates import update_codes, update_prototypes, update_weights

Start = Callable[[int | None], tuple[Problem, FloatArray]]


class IMKPL(BasePrototypeClassifier):
    """Interpretable multiple-kernel prototype learning.

    Learns together which kernels matter, prototypes that are sparse mixes of similar training
    samples of one class, and sparse codes that rebuild every sample from a few prototypes. With
    one kernel per feature the kernel weights select features.

    Parameters
    ----------
    kernels : str, kernel, kernel bank or list, default="per_feature_gaussian"
        "per_feature_gaussian", "per_column" for tables with categories or missing cells
        (:class:`imkpl.kernels.PerColumn`), "global_alignment" for time series, "precomputed", the
        name of a scikit-learn pairwise kernel, a kernel, a callable, a list of these, or a bank.
    sparsity : int, default=10
        At most so many samples in a prototype (T0).
    code_sparsity : int, default=20
        At most so many prototypes in a code.
    learning_code_sparsity : int, default=1
        The same while prototypes are learned: short codes give prototypes of their own
        neighbourhood each. Never more than `code_sparsity`.
    n_prototypes : int, default=None
        How many prototypes to start with; ``n_classes * sparsity`` by default, never more than
        distinct samples of more than negligible weight. How many a class gets is found by covering.
    n_neighbors : int, default=4
        Size of the same-class neighbourhoods (k) that the weights pull together. They are pushed
        away from ``2 * n_neighbors + n_classes`` neighbours of other classes. Where all these pairs
        would take more than 1 GB, those of some samples stand for all.
    discrimination : float, default=0.5
        Weight of J_dis (lambda): codes should use same-class neighbours.
    separation : float, default=100.0
        Weight of the separation loss (mu), which stands in the place of J_ls. It chooses the
        kernels to start with even if it is 0.
    interpretability : float, default=1.2
        Weight of J_ip (tau): prototypes should be pure and tight.
    weight_rule : {"margin", "ridge", "lp"}, default="margin"
        The separation loss and its regulariser. "margin" is a squared hinge on pairs of
        neighbours and takes redundancy into account, "ridge" scores kernels one by one, "lp" is
        the linear programme as printed in the paper, which keeps a single kernel.
    max_kernels : int, default=None
        At most so many kernels are kept. By default "margin" keeps as many as reach most of the
        decrease of the loss that all of them reach: 97 % where there are many more kernels than
        samples, up to 99.5 % where there are few. It never keeps more than 2000. "ridge" keeps half
        of those that separate at all, "lp" one.
    decision : {"calibrated", "joint", "residual", "share"}, default="calibrated"
        How a sample is classified. All prototypes compete in a code, and the class wins whose
        prototypes explain most of the sample ("joint") or have the largest share of the
        coefficients ("share", the paper's rule); or each class rebuilds the sample on its own, and
        the one that comes nearest wins ("residual"). "calibrated" is "joint" with a logistic
        regression on the prototypes on top, which corrects it where classes overlap or differ in
        width.
    solver : {"auto", "exact", "landmarks"}, default="auto"
        What is learned from. "exact" compares all samples with each other, which takes memory and
        time in proportion to the square of their number and more. "landmarks" learns from some
        samples of every class, which carry the weight of all. Bandwidths are learned on all
        samples, all of them get codes, and probabilities are calibrated on others than landmarks.
        "auto" is "exact" up to 10 000 distinct samples and "landmarks" above.
    n_landmarks : int, default=None
        At most so many landmarks, two per class or more; 4000 by default, and 20 per class where
        there are more than 200 classes. With as many as there are distinct samples "landmarks" is
        "exact".
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    max_iter : int, default=20
        At most so many rounds of codes, prototypes and weights.
    tol : float, default=1e-3
        The search ends when a round lowers the objective by less than this part of it.
    n_jobs : int, default=None
        Number of threads; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage and round to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the draws of landmarks; nothing else is drawn. None is the same as 0: the
        same data give the same model.
    checkpoint : str or path, default=None
        A folder in which the fit keeps how far it has come, after every round. A fit that was
        killed takes up again where it was when the same is fitted with the same folder, and ends
        with the same model, to the last bit. Fits of other data or settings can share the folder.
        What is kept stays there after the fit, also for a later one with a higher `max_iter`;
        delete the folder when it is no longer of use.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples, of unit norm in the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    class_shares_ : array of shape (n_prototypes, n_classes)
        How much of its coefficients each prototype has in each class.
    codes_ : CSR array of shape (n_samples, n_prototypes)
        Codes of the training samples.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    feature_importances_ : array of shape (n_features,)
        The weights summed per feature, where each kernel reads one feature.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made; all that prediction compares with.
    support_ids_, support_classes_ : array of shape (n_support,)
        What they are called, by the index of the data frame or else by number, and their classes.
    temperature_ : float
        Factor on the class scores in the softmax of `predict_proba`; 1 for "calibrated".
    novelty_threshold_ : float
        The reconstruction error that 99 % of the training samples stay within, each coded without
        its own part in the prototypes; above it ``predict(X, reject=True)`` abstains.
    history_ : dict of arrays of shape (n_iter_,)
        Every term of the objective after every round, and their total.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=3, max_kernels=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), int((model.kernel_weights_ > 0).sum()) <= 5
    (True, True)

    A fit that keeps its rounds can be killed, and goes on from the last of them:

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

    _updates = (update_codes, update_prototypes, update_weights)

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        sparsity: int = 10,
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        n_neighbors: int = 4,
        discrimination: float = 0.5,
        separation: float = 100.0,
        interpretability: float = 1.2,
        weight_rule: str = "margin",
        max_kernels: int | None = None,
        decision: str = "calibrated",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.kernels = kernels
        self.sparsity = sparsity
        self.code_sparsity = code_sparsity
        self.learning_code_sparsity = learning_code_sparsity
        self.n_prototypes = n_prototypes
        self.n_neighbors = n_neighbors
        self.discrimination = discrimination
        self.separation = separation
        self.interpretability = interpretability
        self.weight_rule = weight_rule
        self.max_kernels = max_kernels
        self.decision = decision
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.checkpoint = checkpoint

    def _start(
        self, bank: BaseKernelBank, X: Any, part: TrainingPart
    ) -> tuple[Problem, FloatArray]:
        return self._prepare_start(bank, X, part)(self.max_kernels)

    def _prepare_start(self, bank: BaseKernelBank, X: Any, part: TrainingPart) -> Start:
        """From a number of kernels to the problem and the weights to start from."""
        n_samples, n_classes = part.labels.size, self.classes_.size
        is_literal = self.weight_rule == "lp"
        problem = self._problem(bank, X, part, is_literal=is_literal)
        if self.n_neighbors > n_samples:
            kind, more = "distinct samples", "add samples"
            if part.whole is not None:
                kind, more = "landmarks", "raise n_landmarks"
            raise ValueError(
                f"n_neighbors={self.n_neighbors}, but there are only {n_samples} {kind}, expected "
                f"no more neighbours than that. Use n_neighbors={n_samples - 1} or less, or {more}."
            )
        n_other, compared = self.n_neighbors, None
        if not is_literal:
            # At least one for every class, so that the rare ones are among them.
            n_other = 2 * self.n_neighbors + n_classes
            compared = choose_compared(n_samples, n_other, problem.bank.n_kernels)
        neighborhoods = problem.find_neighborhoods(self.n_neighbors, n_other, compared)
        if is_literal:
            return lambda max_kernels: start_average(problem, neighborhoods)
        if self.weight_rule == "ridge":
            return partial(start_ridge, problem, neighborhoods)
        return MarginStart(problem, neighborhoods)

    def _problem(
        self, bank: BaseKernelBank, X: Any, part: TrainingPart, *, is_literal: bool
    ) -> Problem:
        """The problem with kernels divided by their variance, constant ones left out."""
        varying = np.arange(bank.n_kernels)
        if not is_literal:
            scaled = VarianceNormalized(bank)._measure(X, part.sample_weight)
            varying = np.flatnonzero(scaled._diagonal(X)[0])
            check_varying(varying.size > 0)
            bank = scaled.select(varying)
        problem = replace(self._pose(bank, varying, X, part), separation=self.separation)
        return problem.in_suitable_precision()
