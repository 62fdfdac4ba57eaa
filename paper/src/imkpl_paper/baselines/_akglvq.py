"""AKGLVQ: sparse kernel learning vector quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from scipy.special import expit

from imkpl_paper._imkpl import FloatArray, IntArray, Interval
from imkpl_paper.baselines import _akglvq_loops as loops
from imkpl_paper.baselines._base import BaseBaseline, Learned, Task
from imkpl_paper.baselines._kernels import cluster_means, uniform
from imkpl_paper.baselines._readers import NearestPrototype, orthogonal_pursuit

# No step moves a prototype by more than this part of its distance to the sample.
LARGEST_STEP = 0.5
# Learning has settled when the cost changes by less than `tol` over this many epochs.
PATIENCE = 5


class AKGLVQ(BaseBaseline):
    """Kernel generalised learning vector quantisation with sparse prototypes.

    Based on Schleif, Villmann, Hammer and Schneider, *Efficient kernelized prototype based
    classification*, International Journal of Neural Systems 21 (2011), on the average of the
    kernels. The model, the cost and the stochastic update are those of kernel GLVQ. The sigmoid,
    the start and the schedule are ours. So is how prototypes are made sparse, because the published
    technique was not available: by orthogonal matching pursuit, as in later work of the group.

    Prototypes are mixes of training samples with coefficients of any sign. Each sample attracts the
    nearest prototype of its class and repels the nearest one of another class. In the end every
    prototype is rebuilt from a few samples. New samples get the class of the nearest prototype.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        Kernels, as for :class:`imkpl.IMKPL`. All have the same weight.
    n_per_class : int, default=1
        Maximum number of prototypes per class; fewer where there are fewer distinct samples.
    sparsity : int, default=20
        Maximum number of samples per prototype; None for all, which is plain kernel GLVQ.
    learning_rate : float, default=0.25
        Learning rate of the first epoch; epoch t has this divided by ``1 + 0.05 t``.
    max_iter : int, default=200
        Maximum number of epochs.
    tol : float, default=1e-4
        Stop when the relative change of the cost over five epochs is below this value.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write progress to standard error.
    random_state : int, RandomState instance or None, default=None
        Seeds the start and the order of samples. None is the same as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    class_shares_ : array of shape (n_prototypes, n_classes)
        Sums of the sizes of the coefficients in each class, at unit norm in the combined space.
    kernel_weights_ : array of shape (n_kernels,)
        Equal weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made.
    history_ : array of shape (n_iter_,)
        The cost after every epoch, before prototypes are made sparse. Stochastic steps may raise
        it.
    n_iter_ : int
        Number of epochs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AKGLVQ().fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (3, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseBaseline._parameter_constraints,
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        n_per_class: int = 1,
        sparsity: int | None = 20,
        learning_rate: float = 0.25,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.n_per_class = n_per_class
        self.sparsity = sparsity
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Start from cluster means, then move prototypes a sample at a time."""
        kernel, labels = task.average, task.labels
        mixes, owners = list[Any](), list[int]()
        for owner, members in enumerate(task.members):
            means = cluster_means(kernel[np.ix_(members, members)], self.n_per_class, task.random)
            block = np.zeros((means.shape[0], labels.size))
            block[:, members] = means
            mixes.append(block)
            owners += [owner] * means.shape[0]
        start = Prototypes.from_mixes(np.concatenate(mixes), np.array(owners), kernel)
        prototypes, costs = learn_prototypes(
            start,
            kernel,
            labels,
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            tol=self.tol,
            random=task.random,
        )
        task.log(f"{len(costs)} epochs, cost {costs[-1]:.6g}")
        prototypes = approximate(prototypes, kernel, self.sparsity)
        counts = np.bincount(labels)
        reader = NearestPrototype(prototypes.norms, prototypes.owners, counts / counts.sum())
        return Learned(
            weights=uniform(task.kernels.n_kernels),
            prototypes=prototypes.mixes,
            owners=prototypes.owners,
            reader=reader,
            kernel=kernel,
            history=costs,
            n_iter=len(costs),
        )


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Prototypes in feature space, with what it takes to move them in O(n_samples)."""

    mixes: FloatArray  # the coefficients psi, (n_prototypes, n_samples); rows sum to one
    owners: IntArray  # classes
    products: FloatArray  # K psi
    norms: FloatArray  # psi' K psi

    @classmethod
    def from_mixes(cls, mixes: FloatArray, owners: IntArray, kernel: FloatArray) -> Prototypes:
        """Prototypes with given coefficients."""
        products = mixes @ kernel
        return cls(mixes, owners, products, np.einsum("js,js->j", products, mixes))

    def margins(self, kernel: FloatArray, labels: IntArray) -> FloatArray:
        """The relative differences mu of the distances to the nearest own and other prototype."""
        distances = np.diagonal(kernel) - 2 * self.products + self.norms[:, np.newaxis]
        distances = np.maximum(distances, 0.0)
        is_own = np.equal.outer(self.owners, labels)
        own = np.where(is_own, distances, np.inf).min(axis=0)
        other = np.where(is_own, np.inf, distances).min(axis=0)
        total = own + other
        return np.asarray((own - other) / np.where(total > 0, total, 1.0))


def choose_slope(margins: FloatArray) -> float:
    """A slope of the sigmoid at which the margins of the start are neither flat nor saturated."""
    size = float(np.abs(margins).mean())
    return float(np.clip(2 / max(size, 1e-12), 1.0, 50.0))


def squashed_cost(margins: FloatArray, slope: float) -> float:
    """``sum_i (4 / slope) sigmoid(slope mu_i)``."""
    return float(4 / slope * expit(slope * margins).sum())


def run_epoch(
    prototypes: Prototypes,
    kernel: FloatArray,
    labels: IntArray,
    order: IntArray,
    rate: float,
    slope: float,
) -> Prototypes:
    """Move the two nearest prototypes of every sample, one sample after the other."""
    mixes, products = prototypes.mixes.copy(), prototypes.products.copy()
    norms = prototypes.norms.copy()
    loops._run_epoch_inplace(
        kernel,
        labels,
        prototypes.owners,
        mixes,
        products,
        norms,
        order,
        rate,
        slope,
        LARGEST_STEP,
    )
    return Prototypes(mixes, prototypes.owners, products, norms)


def learn_prototypes(
    prototypes: Prototypes,
    kernel: FloatArray,
    labels: IntArray,
    *,
    learning_rate: float,
    max_iter: int,
    tol: float,
    random: RandomState,
) -> tuple[Prototypes, list[float]]:
    """Epochs in random order at a falling rate, until the cost has settled."""
    slope = choose_slope(prototypes.margins(kernel, labels))
    costs: list[float] = []
    while len(costs) < max_iter and not _is_settled(costs, tol):
        rate = learning_rate / (1 + 0.05 * len(costs))
        order = random.permutation(labels.size)
        prototypes = run_epoch(prototypes, kernel, labels, order, rate, slope)
        costs.append(squashed_cost(prototypes.margins(kernel, labels), slope))
    return prototypes, costs


def approximate(prototypes: Prototypes, kernel: FloatArray, sparsity: int | None) -> Prototypes:
    """The same prototypes rebuilt from few samples, as well as a pursuit can."""
    mixes = prototypes.mixes
    if sparsity is not None and sparsity < mixes.shape[1]:
        mixes = orthogonal_pursuit(kernel, prototypes.products, sparsity)
    # Products and norms are recomputed, so that no rounding of many small steps is left.
    return Prototypes.from_mixes(mixes, prototypes.owners, kernel)


def _is_settled(costs: list[float], tol: float) -> bool:
    if len(costs) <= PATIENCE:
        return False
    recent = costs[-PATIENCE - 1 :]
    return bool(max(recent) - min(recent) <= tol * abs(recent[-1]))
