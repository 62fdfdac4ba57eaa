"""DKMLD: multilevel dictionaries with kernel weights by graph embedding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._compat import Interval, StrOptions
from imkpl_paper.baselines._base import BaseDictionary, Learned, Task
from imkpl_paper.baselines._embedding import embedding_directions, lower_ratio, neighbor_laplacians
from imkpl_paper.baselines._lines import multilevel_dictionary
from imkpl_paper.baselines._operator import keep_largest
from imkpl_paper.baselines._readers import LevelCodes


class DKMLD(BaseDictionary):
    """Multilevel dictionaries per class, with kernel weights from a graph embedding.

    Based on Thiagarajan, Ramamurthy and Spanias, *Multiple kernel sparse representations for
    supervised and unsupervised learning*, IEEE Transactions on Image Processing 23 (2014). Levels
    of one-dimensional subspaces, the pursuit through the levels and weights by graph embedding
    are those of the paper as far as its description goes. The details of the graphs, the
    schedule and the classification by class-wise residuals are ours; and the weights are a local
    optimum of the embedding problem, where the paper solves a semi-definite relaxation that is
    out of reach for thousands of kernels.

    Learning alternates between embedding directions and weights, and builds the dictionaries
    before and after. It keeps an array of n_kernels x n_samples x (n_classes - 1) numbers.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        What compares samples, as for :class:`imkpl.IMKPL`.
    n_levels : int, default=10
        At most so many levels of a dictionary; fewer where nothing is left to explain.
    n_lines : int, default=1
        At most so many prototypes per level and class.
    n_neighbors : int, default=5
        Every sample is linked to so many of its class, and to so many of other classes.
    reg : float, default=0.1
        Regularisation of the embedding. The larger it is, the fewer kernels are kept. With little
        of it the directions separate few samples by any kernels, and the weights say little.
    max_kernels : int, default=None
        At most so many kernels are kept: those with the largest weights at the end of the first
        round in which there are more. The others are left out from then on.
    rule : {"residual", "contribution"}, default="residual"
        How a sample is classified: by the class whose prototypes rebuild it best on their own, or
        by the class whose samples have the largest signed sum of coefficients in a code over all
        prototypes. The second is poor here, because a code has one prototype per level.
    max_iter : int, default=3
        At most so many rounds of directions and weights.
    tol : float, default=1e-3
        Rounds end when the weights change by less than this in sum.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the lines to start from, where there are several per level. None is the same
        as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples of its class, of any sign and of unit norm in
        the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    prototype_levels_ : int array of shape (n_prototypes,)
        The level of each, counted from 0.
    class_shares_ : array of shape (n_prototypes, n_classes)
        Sums of the sizes of the coefficients in each class, at unit norm in the combined space.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made.
    history_ : array of shape (n_iter_,)
        The ratio of the scatters within and between classes after every round. The weights lower
        it, new directions may raise it.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DKMLD(n_levels=5).fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (15, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDictionary._parameter_constraints,
        "n_levels": [Interval(Integral, 1, None, closed="left")],
        "n_lines": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "max_kernels": [Interval(Integral, 1, None, closed="left"), None],
        "rule": [StrOptions({"residual", "contribution"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        n_levels: int = 10,
        n_lines: int = 1,
        n_neighbors: int = 5,
        reg: float = 0.1,
        max_kernels: int | None = None,
        rule: str = "residual",
        max_iter: int = 3,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.n_levels = n_levels
        self.n_lines = n_lines
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.max_kernels = max_kernels
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Dictionary and graphs, then weights, then the dictionary again."""
        prototypes, _, reader = self._build(task, task.average)
        codes = reader.codes(task.average @ prototypes.T)
        # Once: graphs of codes that change with the weights make the weights oscillate.
        within, between = neighbor_laplacians(codes, task.labels, self.n_neighbors)
        operator, kernel = task.operator, task.average
        weights, history = operator.uniform(), list[float]()
        for _ in range(self.max_iter):
            directions = embedding_directions(kernel, within, between, task.n_classes - 1, self.reg)
            new, ratio = lower_ratio(operator, weights, directions, within, between)
            change = float(np.abs(new - weights).sum())
            operator, weights = keep_largest(operator, new, self.max_kernels)
            kernel = operator.combine(weights)
            history.append(ratio)
            task.say(f"ratio {ratio:.6g}, {np.count_nonzero(weights)} kernels")
            if change < self.tol:
                break
        prototypes, owners, reader = self._build(task, kernel)
        return Learned(
            weights=operator.spread(weights),
            prototypes=prototypes,
            owners=owners,
            reader=reader,
            kernel=kernel,
            history=history,
            n_iter=len(history),
            attributes={"prototype_levels_": reader.levels},
        )

    def _build(self, task: Task, kernel: FloatArray) -> tuple[FloatArray, Any, LevelCodes]:
        """The dictionaries of all classes for one kernel, and what codes samples with them."""
        mixes, owners, levels = list[FloatArray](), list[int](), list[Any]()
        for owner, members in enumerate(task.members):
            atoms, found = multilevel_dictionary(
                kernel[np.ix_(members, members)], self.n_lines, self.n_levels, task.random
            )
            block = np.zeros((found.size, task.labels.size))
            block[:, members] = atoms.T
            mixes.append(block)
            levels.append(found)
            owners += [owner] * found.size
        prototypes = np.concatenate(mixes)
        reader = LevelCodes(
            gram=prototypes @ kernel @ prototypes.T,
            owners=np.array(owners),
            sums=prototypes.sum(axis=1),
            n_classes=task.n_classes,
            rule=self.rule,
            levels=np.concatenate(levels),
        )
        return prototypes, reader.owners, reader
