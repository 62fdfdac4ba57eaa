"""PrototypeSelection: training samples that cover their class and no other.

Which samples to take is a prize-collecting set cover problem, solved greedily or by rounding its
linear relaxation.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from scipy.optimize import linprog
from sklearn.model_selection import StratifiedKFold

from imkpl_paper._imkpl import BoolArray, FloatArray, IntArray, Interval, StrOptions
from imkpl_paper.baselines._base import BaseBaseline, Learned, Task
from imkpl_paper.baselines._kernels import uniform
from imkpl_paper.baselines._readers import NearestPrototype

# Percentiles of the distances between training samples that are tried as radii. At the first all
# samples are prototypes, which is the nearest neighbour.
PERCENTILES = (0, 0.01, 0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30)
# Maximum number of times that the linear programme is rounded.
MAX_DRAWS = 50


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
        Kernels, as for :class:`imkpl.IMKPL`. All have the same weight.
    method : {"greedy", "lp"}, default="greedy"
        How the objective is lowered: a prototype at a time, or by rounding linear programmes, one
        per class, radius and part of the cross-validation.
    eps : float, default=None
        Radius of the balls. By default the radius out of thirteen small quantiles of the distances
        between training samples that classifies best in cross-validation, the larger one of ties.
        Small radii give many prototypes: look at their number as well.
    price : float, default=None
        Cost of a prototype (lambda); one over the number of training samples by default.
    cv : int, default=5
        Number of folds of the cross-validation; fewer where a class has fewer samples.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write progress to standard error.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds of the cross-validation and the rounding. None is the same as 0.

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
    (12, True)
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
        task.log(f"choosing prototypes with eps={eps:.4g}")
        covers = distances < eps
        chosen, gains = self._choose(covers, labels, task.n_classes, task.random)
        objective = cover_cost(covers, labels, chosen, self._price(labels.size))
        samples, owners = np.nonzero(chosen)
        counts = np.bincount(labels)
        # The greedy gains add up to what lies between no prototype at all and the objective.
        history = list(labels.size - np.cumsum(gains)) if self.method == "greedy" else [objective]
        return Learned(
            weights=uniform(task.kernels.n_kernels),
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
        # Of equal ones the largest, which takes the fewest prototypes.
        return float(grid[::-1][np.argmin(errors[::-1])])


def cover_cost(covers: BoolArray, labels: IntArray, chosen: BoolArray, price: float) -> float:
    """The objective: samples left uncovered, wrong coverings, and the price of every prototype."""
    counts = covers.astype(np.float64) @ chosen
    own = counts[np.arange(labels.size), labels]
    return float(np.sum(own == 0) + counts.sum() - own.sum() + price * chosen.sum())


def cover_greedily(
    covers: BoolArray, labels: IntArray, n_classes: int, price: float
) -> tuple[BoolArray, list[float]]:
    """Add the prototype that lowers the objective most, until none does."""
    near = covers.astype(np.float64)
    is_member = np.equal.outer(labels, np.arange(n_classes))
    # Own samples newly covered minus samples of other classes covered; the second never changes.
    scores = near.T @ (2.0 * is_member - 1.0)
    chosen = np.zeros_like(scores, dtype=bool)
    is_covered = np.zeros(labels.size, dtype=bool)
    gains: list[float] = []
    while True:
        candidate, owner = np.unravel_index(np.argmax(scores), scores.shape)
        gain = float(scores[candidate, owner]) - price
        if gain <= 0:
            return chosen, gains
        chosen[candidate, owner] = True
        gains.append(gain)
        new = covers[:, candidate] & is_member[:, owner] & ~is_covered
        is_covered |= new
        scores[:, owner] -= near[new].sum(axis=0)


def cover_by_rounding(
    covers: BoolArray, labels: IntArray, n_classes: int, price: float, random: RandomState
) -> BoolArray:
    """Solve the linear relaxation class by class and round it at random."""
    chosen = np.zeros((covers.shape[1], n_classes), dtype=bool)
    for owner in range(n_classes):
        is_member = labels == owner
        costs = price + covers[~is_member].sum(axis=0)
        chosen[:, owner] = _cover_class(covers[is_member], costs, random)
    return chosen


def relax_class(covers: BoolArray, costs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The linear relaxation for one class."""
    n_members = covers.shape[0]
    shares = np.zeros(costs.size)
    # A candidate that costs as much as it covers is no better than leaving members uncovered.
    useful = np.flatnonzero(covers.sum(axis=0) > costs)
    if useful.size == 0:
        return shares, np.ones(n_members), float(n_members)
    # sum_j covers_ij a_j + xi_i >= 1
    own = sp.csr_array(covers[:, useful].astype(np.float64))
    result = linprog(
        np.concatenate([costs[useful], np.ones(n_members)]),
        A_ub=-sp.csr_array(sp.hstack([own, sp.eye_array(n_members)])),
        b_ub=-np.ones(n_members),
        bounds=(0, 1),
        method="highs",
    )
    solution = np.clip(result.x, 0, 1)
    shares[useful] = solution[: useful.size]
    return shares, solution[useful.size :], float(result.fun)


def _cover_class(covers: BoolArray, costs: FloatArray, random: RandomState) -> BoolArray:
    """One class: the first rounding within 2 log n of the relaxation, or the best of many."""
    shares, missed, bound = relax_class(covers, costs)
    factor = max(1.0, 2 * np.log(covers.shape[0]))
    best, best_cost = np.zeros(costs.size, dtype=bool), float(covers.shape[0])
    for draw in range(MAX_DRAWS):
        rounded = _round(covers, shares, missed, int(np.ceil(factor)), random)
        cost = float(costs[rounded].sum() + np.sum(~covers[:, rounded].any(axis=1)))
        if draw == 0 or cost < best_cost:
            best, best_cost = rounded, cost
        if best_cost <= factor * bound:
            break
    return best


def _round(
    covers: BoolArray, shares: FloatArray, missed: FloatArray, n_draws: int, random: RandomState
) -> BoolArray:
    """Draw until every member is covered or given up, a limited number of times."""
    rounded = np.zeros(shares.size, dtype=bool)
    is_given_up = np.zeros(missed.size, dtype=bool)
    for _ in range(n_draws):
        rounded |= random.random_sample(shares.size) < shares
        is_given_up |= random.random_sample(missed.size) < missed
        if np.all(is_given_up | covers[:, rounded].any(axis=1)):
            break
    return rounded
