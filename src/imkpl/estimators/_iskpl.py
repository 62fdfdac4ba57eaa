"""ISKPL: prototypes and codes on one kernel, or on the average of a bank."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._training import TrainingPart
from imkpl.kernels import BaseKernelBank
from imkpl.model.problem import Problem
from imkpl.model.updates import update_codes, update_prototypes


class ISKPL(BasePrototypeClassifier):
    """Interpretable single-kernel prototype learning.

    The same model as :class:`IMKPL` without the weight step: every kernel of the bank has the same
    weight.

    Parameters
    ----------
    kernels : str, kernel, kernel bank or list, default="per_feature_gaussian"
        "per_feature_gaussian", "per_column" for tables with categories or missing cells,
        "precomputed", the name of a scikit-learn pairwise kernel, a kernel, a callable, a list of
        these, or a bank; several kernels are averaged.
    sparsity : int, default=10
        At most so many samples in a prototype (T0).
    code_sparsity : int, default=20
        At most so many prototypes in a code.
    learning_code_sparsity : int, default=1
        The same while prototypes are learned: short codes give prototypes of their own
        neighbourhood each. Never more than `code_sparsity`.
    n_prototypes : int, default=None
        How many prototypes to start with; ``n_classes * sparsity`` by default, never more than
        distinct samples of more than negligible weight.
    discrimination : float, default=0.5
        Weight of J_dis (lambda): codes should use same-class neighbours.
    interpretability : float, default=1.2
        Weight of J_ip (tau): prototypes should be pure and tight.
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
        At most so many rounds of codes and prototypes.
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
        Equal weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
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
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ISKPL(sparsity=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _updates = (update_codes, update_prototypes)

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        sparsity: int = 10,
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        discrimination: float = 0.5,
        interpretability: float = 1.2,
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
        self.discrimination = discrimination
        self.interpretability = interpretability
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
        n_kernels = bank.n_kernels
        problem = self._pose(bank, np.arange(n_kernels), X, part).in_suitable_precision()
        return problem, np.full(n_kernels, 1 / n_kernels)
