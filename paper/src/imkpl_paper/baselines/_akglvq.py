"""AKGLVQ: sparse kernel learning vector quantisation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from imkpl.estimators._compat import Interval
from imkpl_paper.baselines._base import BaseBaseline, Learned, Task
from imkpl_paper.baselines._glvq import Prototypes, learn_prototypes
from imkpl_paper.baselines._kmeans import cluster_means
from imkpl_paper.baselines._readers import NearestPrototype


class AKGLVQ(BaseBaseline):
    """Kernel generalised learning vector quantisation with sparse prototypes.

    Based on Schleif, Villmann, Hammer and Schneider, *Efficient kernelized prototype based
    classification*, International Journal of Neural Systems 21 (2011), on the average of the
    kernels. The model, the cost and the stochastic update are those of kernel GLVQ. How prototypes
    are made sparse, the sigmoid, the start and the schedule are ours: the published
    approximation technique was not at hand.

    Prototypes are mixes of training samples whose coefficients sum to one and may be negative. Each
    sample attracts the nearest prototype of its class and repels the nearest one of another class.
    New samples get the class of the nearest prototype.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        What compares samples, as for :class:`imkpl.IMKPL`. All kernels weigh the same.
    n_per_class : int, default=1
        At most so many prototypes per class; fewer where there are fewer distinct samples.
    sparsity : int, default=20
        At most so many samples in a prototype; None for all, which is plain kernel GLVQ. Too few
        for the number of prototypes cost accuracy, so tune it.
    learning_rate : float, default=0.25
        The rate of the first epoch. Epoch t has this divided by ``1 + 0.05 t``.
    max_iter : int, default=200
        At most so many epochs. In the first half prototypes are dense; in the second half they are
        cut to the largest coefficients after every epoch, and those of the lowest cost are kept.
    tol : float, default=1e-4
        Either half ends early when the cost changes by less than this part of it over five epochs.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the start and of the order of samples. None is the same as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples; rows sum to one.
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
        The cost after every epoch. Stochastic steps may raise it.
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
            sparsity=self.sparsity,
            max_iter=self.max_iter,
            tol=self.tol,
            random=task.random,
        )
        task.say(f"{len(costs)} epochs, cost {costs[-1]:.6g}")
        counts = np.bincount(labels)
        reader = NearestPrototype(prototypes.norms, prototypes.owners, counts / counts.sum())
        return Learned(
            weights=task.operator.uniform(),
            prototypes=prototypes.mixes,
            owners=prototypes.owners,
            reader=reader,
            kernel=kernel,
            history=costs,
            n_iter=len(costs),
        )
