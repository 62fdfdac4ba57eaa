"""MIDL: class-wise dictionaries that are unlike other classes, learned with kernel weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from imkpl_paper._imkpl import FloatArray, IntArray, Interval, StrOptions
from imkpl_paper.baselines._base import BaseDictionary, Learned, Task
from imkpl_paper.baselines._kernels import Weighting, cluster_means, default_ridge, learn_weights
from imkpl_paper.baselines._readers import SparseCodes, orthogonal_pursuit

# Added to the diagonal of the two factors of the atom step.
JITTER = 1e-6
# An atom whose squared norm is below this is unused.
DEAD = 1e-12


class MIDL(BaseDictionary):
    """Dictionaries per class that are unlike the other classes, learned with kernel weights.

    A reconstruction from the published description. The method that the IMKPL paper compares with
    is, to the best of our knowledge, Shrivastava, Pillai and Patel, *Multiple kernel-based
    dictionary learning for weakly supervised classification*, Pattern Recognition 48 (2015), with
    one instance per bag. Its formulas were not available: the objective is rebuilt from the
    statement that it learns kernel weights and class-isolated dictionaries together, each
    class orthogonal to the dictionaries of the others. Take figures as those of such a method, not
    of the published program.

    The objective is the reconstruction error of every class by its own atoms, plus `incoherence`
    times the mean squared similarity between atoms and samples of other classes, plus a ridge
    on the kernel weights, without which one kernel would take all the weight.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        Kernels, as for :class:`imkpl.IMKPL`.
    n_per_class : int, default=10
        Maximum number of prototypes per class; fewer where there are fewer distinct samples. With
        half as many as samples, any kernels rebuild them, and the kernel weights mean little.
    code_sparsity : int, default=10
        Maximum number of prototypes per code.
    incoherence : float, default=0.1
        Weight of the similarity to other classes (eta). Above 10 it hurts the reconstruction.
    ridge : float, default=None
        Weight of the ridge, relative to the spread of the errors of single kernels; it sets how
        many kernels are kept. 0.3 for up to 1000 kernels and 0.03 for more by default.
    max_kernels : int, default=None
        Maximum number of kernels. After the first weight step with more, only those with the
        largest weights are kept, for good, and the step is repeated for them.
    rule : {"residual", "contribution"}, default="residual"
        How a sample is classified: by the class whose prototypes rebuild it best on their own, or
        by the class whose samples have the largest signed sum of coefficients in a code over all
        prototypes.
    max_iter : int, default=10
        Maximum number of rounds of codes, prototypes and weights.
    tol : float, default=1e-4
        Stop when the relative change of the objective is below this value.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write progress to standard error.
    random_state : int, RandomState instance or None, default=None
        Seeds the clusters to start from. None is the same as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples of its class, of any sign and of unit norm in
        the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    class_shares_ : array of shape (n_prototypes, n_classes)
        Sums of the sizes of the coefficients in each class, at unit norm in the combined space.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made.
    history_ : array of shape (n_iter_,)
        The objective after every round. Pursuit, and atoms that are rescaled when the weights
        have changed, may raise it.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MIDL(n_per_class=5).fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (15, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDictionary._parameter_constraints,
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "code_sparsity": [Interval(Integral, 1, None, closed="left")],
        "incoherence": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left"), None],
        "max_kernels": [Interval(Integral, 1, None, closed="left"), None],
        "rule": [StrOptions({"residual", "contribution"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        n_per_class: int = 10,
        code_sparsity: int = 10,
        incoherence: float = 0.1,
        ridge: float | None = None,
        max_kernels: int | None = None,
        rule: str = "residual",
        max_iter: int = 10,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.n_per_class = n_per_class
        self.code_sparsity = code_sparsity
        self.incoherence = incoherence
        self.ridge = ridge
        self.max_kernels = max_kernels
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Alternate codes, atoms and weights."""
        ridge = default_ridge(self.ridge, task.kernels.n_kernels)
        weighting = Weighting.equal(task.kernels, ridge)
        kernel, parts = task.average, self._start(task)
        history: list[float] = []
        for _ in range(self.max_iter):
            parts = [self._update(part, kernel) for part in parts]
            errors = error_matrix(parts, task.labels.size)
            gradient = partial(cross_gradient, parts, self.incoherence)
            weighting = learn_weights(weighting, errors, gradient, self.max_kernels)
            kernel = weighting.combine()
            cost = sum(class_cost(part, kernel, self.incoherence) for part in parts)
            history.append(cost + weighting.cost)
            n_kernels = np.count_nonzero(weighting.weights)
            task.log(f"objective {history[-1]:.6g}, {n_kernels} kernels")
            parts = [scale_atoms(part, kernel) for part in parts]
            if len(history) > 1 and abs(history[-2] - history[-1]) <= self.tol * abs(history[-1]):
                break
        return self._finish(task, weighting.all_weights, kernel, parts, history)

    def _start(self, task: Task) -> list[ClassDictionary]:
        """The means of clusters of every class as atoms."""
        parts = []
        for members in task.members:
            own = task.average[np.ix_(members, members)]
            means = cluster_means(own, self.n_per_class, task.random)
            others = np.setdiff1d(np.arange(task.labels.size), members)
            codes = np.zeros((means.shape[0], members.size))
            part = ClassDictionary(members, others, means.T, codes)
            parts.append(scale_atoms(part, task.average))
        return parts

    def _update(self, part: ClassDictionary, kernel: FloatArray) -> ClassDictionary:
        """Codes, then atoms, of one class."""
        part = update_codes(part, kernel, self.code_sparsity)
        return scale_atoms(update_atoms(part, kernel, self.incoherence), kernel)

    def _finish(
        self,
        task: Task,
        weights: FloatArray,
        kernel: FloatArray,
        parts: list[ClassDictionary],
        history: list[float],
    ) -> Learned:
        """The atoms of all classes as prototypes."""
        sizes = [part.atoms.shape[1] for part in parts]
        owners = np.repeat(np.arange(len(parts)), sizes)
        prototypes = np.zeros((owners.size, task.labels.size))
        for owner, part in enumerate(parts):
            prototypes[np.ix_(owners == owner, part.members)] = part.atoms.T
        reader = SparseCodes(
            gram=prototypes @ kernel @ prototypes.T,
            owners=owners,
            sums=prototypes.sum(axis=1),
            n_classes=len(parts),
            rule=self.rule,
            n_nonzero=self.code_sparsity,
        )
        return Learned(weights, prototypes, owners, reader, kernel, history, len(history))


@dataclass(frozen=True, eq=False)
class ClassDictionary:
    """Atoms made of the samples of one class, and the codes of these samples."""

    members: IntArray  # samples of the class
    others: IntArray  # all other samples
    atoms: FloatArray  # U_q, (n_members, n_atoms)
    codes: FloatArray  # Gamma_q, (n_atoms, n_members)

    @property
    def balance(self) -> float:
        """w_q, which makes the cross term n_q times the mean squared similarity."""
        return float(self.members.size / (self.others.size * self.atoms.shape[1]))

    @property
    def residual(self) -> FloatArray:
        """``I - U_q Gamma_q``."""
        return np.eye(self.members.size) - self.atoms @ self.codes

    def own(self, kernel: FloatArray) -> FloatArray:
        """The kernel between the samples of the class."""
        return np.asarray(kernel[np.ix_(self.members, self.members)])

    def cross(self, kernel: FloatArray) -> FloatArray:
        """The kernel between the samples of the class and all others."""
        return np.asarray(kernel[np.ix_(self.members, self.others)])


def class_cost(part: ClassDictionary, kernel: FloatArray, incoherence: float) -> float:
    """Reconstruction error of a class, plus the similarity of its atoms to other classes."""
    residual = part.residual
    error = np.vdot(residual, part.own(kernel) @ residual)
    similarity = part.atoms.T @ part.cross(kernel)
    return float(error + incoherence * part.balance * np.vdot(similarity, similarity))


def scale_atoms(part: ClassDictionary, kernel: FloatArray) -> ClassDictionary:
    """Atoms of unit norm; their norms move into the codes, and dead atoms are replaced."""
    part = _revive_atoms(part, kernel)
    norms = np.sqrt(_squared_norms(part, kernel))
    return replace(part, atoms=part.atoms / norms, codes=part.codes * norms[:, np.newaxis])


def update_codes(part: ClassDictionary, kernel: FloatArray, n_nonzero: int) -> ClassDictionary:
    """Codes of the samples of a class by orthogonal matching pursuit."""
    similarities = part.own(kernel) @ part.atoms
    codes = orthogonal_pursuit(part.atoms.T @ similarities, similarities, n_nonzero)
    return replace(part, codes=codes.T)


def update_atoms(part: ClassDictionary, kernel: FloatArray, incoherence: float) -> ClassDictionary:
    """All atoms of a class at once, exactly, for fixed codes.

    Stationarity is ``K U (G G') + eta w N U = K G'`` with ``N = K[q, -q] K[-q, q]``, a Sylvester
    equation in ``K^-1 N`` and ``G G'``. Both have real eigenvalues, in which it is diagonal.
    """
    cross = part.cross(kernel)
    own = part.own(kernel) + JITTER * np.eye(part.members.size)
    # V' own V = I and V' (cross cross') V = diag(slopes).
    slopes, V = eigh(cross @ cross.T, own)
    slopes = incoherence * part.balance * np.maximum(slopes, 0.0)
    sizes, Q = np.linalg.eigh(part.codes @ part.codes.T + JITTER * np.eye(part.codes.shape[0]))
    rotated = V.T @ own @ part.codes.T @ Q
    return replace(part, atoms=V @ (rotated / np.add.outer(slopes, sizes)) @ Q.T)


def error_matrix(parts: list[ClassDictionary], n_samples: int) -> FloatArray:
    """The matrix whose inner product with a kernel is the reconstruction error of all classes."""
    matrix = np.zeros((n_samples, n_samples))
    for part in parts:
        residual = part.residual
        matrix[np.ix_(part.members, part.members)] = residual @ residual.T
    return matrix


def cross_gradient(
    parts: list[ClassDictionary], incoherence: float, kernel: FloatArray
) -> FloatArray:
    """The derivative of the similarity to other classes with respect to the kernel."""
    matrix = np.zeros_like(kernel)
    for part in parts:
        block = part.atoms @ (part.atoms.T @ part.cross(kernel))
        matrix[np.ix_(part.members, part.others)] = 2 * incoherence * part.balance * block
    return matrix


def _squared_norms(part: ClassDictionary, kernel: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", part.atoms, part.own(kernel) @ part.atoms))


def _revive_atoms(part: ClassDictionary, kernel: FloatArray) -> ClassDictionary:
    """Replace atoms without length by the samples that are rebuilt worst."""
    dead = np.flatnonzero(_squared_norms(part, kernel) < DEAD)
    if dead.size == 0:
        return part
    residual = part.residual
    errors = np.einsum("ij,ij->j", residual, part.own(kernel) @ residual)
    atoms, codes = part.atoms.copy(), part.codes.copy()
    worst = np.argsort(-errors, kind="stable")[: dead.size]
    atoms[:, dead] = np.eye(part.members.size)[:, worst]
    codes[dead] = 0.0
    return replace(part, atoms=atoms, codes=codes)
