"""PrototypeSelection: training samples that cover their class and no other."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.model_selection import StratifiedKFold

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import Interval, StrOptions
from imkpl_paper.baselines._base import BaseBaseline, Learned, Task
from imkpl_paper.baselines._cover import cover_by_rounding, cover_cost, cover_greedily
from imkpl_paper.baselines._readers import NearestPrototype

# Per cent of the distances between training samples that the radii in the search exceed.
PERCENTILES = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30)


class PrototypeSelection(BaseBaseline):
    """Prototype selection: training samples whose balls cover their class and no other.

    An implementation of Bien and Tibshirani, *Prototype selection for interpretable
    classification*, Annals of Applied Statistics 5 (2011), on the average of the kernels: the
    distance of two samples is ``sqrt(2 - 2 K)``. The greedy algorithm is the published one. The
    randomised rounding follows the published scheme, with one change: samples that end up covered
    are not paid for. The grid of radii is ours.

    A prototype covers the samples nearer than `eps`. The objective counts the samples that no
    prototype of their class covers, the coverings of samples of other classes, and `price` times
    the number of prototypes. New samples get the class of the nearest prototype.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        What compares samples, as for :class:`imkpl.IMKPL`. All kernels weigh the same.
    method : {"greedy", "lp"}, default="greedy"
        How the objective is lowered: a prototype at a time, or by rounding linear programmes, one
        per class, radius and part of the cross-validation.
    eps : float, default=None
        Radius of the balls. By default the radius out of eleven small quantiles of the distances
        between training samples that classifies best in cross-validation, the smaller one of ties.
        Small radii give many prototypes: look at their number as well.
    price : float, default=None
        What a prototype costs (lambda); one over the number of training samples by default.
    cv : int, default=5
        The number of parts in the cross-validation; fewer where a class has fewer samples.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the parts of the cross-validation and of the rounding. None is the same as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype is one sample.
    prototype_classes_ : array of shape (n_prototypes,)
        The class that each stands for, which need not be its own.
    class_shares_ : array of shape (n_prototypes, n_classes)
        How many samples of each class lie in the ball of each prototype, divided by the norm of
        their sum.
    eps_ : float
        The radius.
    objective_ : float
        The objective of the prototypes.
    kernel_weights_ : array of shape (n_kernels,)
        Equal weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples that are prototypes.
    history_ : array of shape (n_iter_,)
        The objective after every greedy step; its final value alone for "lp".
    n_iter_ : int
        The number of greedy steps; 1 for "lp".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PrototypeSelection(eps=0.5).fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (14, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseBaseline._parameter_constraints,
        "method": [StrOptions({"greedy", "lp"})],
        "eps": [Interval(Real, 0, None, closed="neither"), None],
        "price": [Interval(Real, 0, None, closed="left"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        method: str = "greedy",
        eps: float | None = None,
        price: float | None = None,
        cv: int = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.method = method
        self.eps = eps
        self.price = price
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Find a radius, then the prototypes."""
        labels, kernel = task.labels, task.average
        distances = np.sqrt(np.maximum(2 - 2 * kernel, 0.0))
        eps = self.eps or self._find_radius(distances, labels, task.random)
        task.say(f"choosing prototypes with eps={eps:.4g}")
        covers = distances < eps
        chosen, gains = self._choose(covers, labels, task.n_classes, task.random)
        objective = cover_cost(covers, labels, chosen, self._price(labels.size))
        samples, owners = np.nonzero(chosen)
        counts = np.bincount(labels)
        # The greedy gains add up to what lies between no prototype at all and the objective.
        history = list(labels.size - np.cumsum(gains)) if self.method == "greedy" else [objective]
        return Learned(
            weights=task.operator.uniform(),
            prototypes=np.eye(labels.size)[samples],
            owners=owners,
            reader=NearestPrototype(np.ones(samples.size), owners, counts / counts.sum()),
            kernel=kernel,
            history=history,
            n_iter=max(1, len(history)),
            spans=covers.T[samples].astype(np.float64),
            attributes={"eps_": float(eps), "objective_": objective},
        )

    def _price(self, n_samples: int) -> float:
        return 1 / n_samples if self.price is None else self.price

    def _choose(
        self, covers: BoolArray, labels: IntArray, n_classes: int, random: RandomState
    ) -> tuple[BoolArray, list[float]]:
        """Which samples are prototypes of which class, and the gains of the greedy steps."""
        price = self._price(labels.size)
        if self.method == "greedy":
            return cover_greedily(covers, labels, n_classes, price)
        return cover_by_rounding(covers, labels, n_classes, price, random), []

    def _find_radius(self, distances: FloatArray, labels: IntArray, random: RandomState) -> float:
        """The radius on the grid with the fewest errors in cross-validation."""
        apart = distances[np.tril_indices(labels.size, -1)]
        # Equal samples are at distance zero, and no ball of that radius holds even its centre.
        apart = apart[apart > 1e-6]
        grid = np.unique(np.percentile(apart, PERCENTILES))
        counts = np.bincount(labels)
        folds = StratifiedKFold(min(self.cv, counts.min()), shuffle=True, random_state=random)
        errors = np.zeros(grid.size)
        for train, test in folds.split(distances, labels):
            for place, eps in enumerate(grid):
                covers = distances[np.ix_(train, train)] < eps
                chosen, _ = self._choose(covers, labels[train], counts.size, random)
                samples, owners = np.nonzero(chosen)
                if samples.size:
                    to_prototypes = distances[np.ix_(test, train[samples])]
                    predicted = owners[np.argmin(to_prototypes, axis=1)]
                else:
                    predicted = np.full(test.size, np.argmax(np.bincount(labels[train])))
                errors[place] += np.sum(predicted != labels[test])
        return float(grid[np.argmin(errors)])
