"""MKLDPL: pairs of dictionaries per class, learned with kernel weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from imkpl._typing import FloatArray
from imkpl.estimators._compat import Interval, StrOptions
from imkpl_paper.baselines._base import BaseDictionary, Learned, Task
from imkpl_paper.baselines._pair_steps import (
    Coordinates,
    Pair,
    Strengths,
    answer_gradient,
    bound_atoms,
    pair_cost,
    pair_errors,
    update_analysis,
    update_pair_codes,
    update_synthesis,
)
from imkpl_paper.baselines._readers import AnalysisCodes
from imkpl_paper.baselines._simplex_qp import Weighting, default_ridge, learn_weights

# Rounds of codes, analysis and synthesis between two weight steps.
SWEEPS = 8
# An atom of a smaller norm rebuilds nothing.
DEAD = 1e-10


class MKLDPL(BaseDictionary):
    """Pairs of dictionaries per class, one to code and one to rebuild, with kernel weights.

    A reconstruction from the published description of Zhu, Jing, Wu et al., *Multi-kernel low-rank
    dictionary pair learning for multiple features based image classification*, AAAI 2017. The
    first three terms of the objective are those of projective dictionary pair learning (Gu et al.
    2014). That the low rank is asked of the analysis dictionary, by its nuclear norm in feature
    space, follows the abstract; the model of the kernel weights and the schedule are ours.

    A sample is coded by the analysis dictionary, one inner product per prototype, without any
    search; it gets the class whose synthesis dictionary rebuilds it best from these codes.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        What compares samples, as for :class:`imkpl.IMKPL`.
    n_per_class : int, default=10
        So many prototypes per class; never more than samples. Half as many as samples rebuild
        them by any kernels, and the kernel weights then say little.
    fidelity : float, default=0.05
        Weight of the agreement of analysis and codes (tau).
    suppression : float, default=0.003
        Weight of the answers of an analysis dictionary to other classes (lambda).
    rank_penalty : float, default=1e-4
        Weight of the nuclear norm of the analysis dictionaries (gamma).
    ridge : float, default=None
        Weight of a ridge on the kernel weights, relative to the spread of the errors of single
        kernels; it sets how many kernels are kept. 0.3 for up to 1000 kernels and 0.03 for more by
        default.
    max_kernels : int, default=None
        At most so many kernels are kept: those with the largest weights after the first weight
        step in which there are more. The step is repeated for them, and the others stay out.
    rule : {"residual", "contribution"}, default="residual"
        How a sample is classified: by the class whose prototypes rebuild it best from its codes,
        or by the class whose samples have the largest signed sum of coefficients in them.
    max_iter : int, default=4
        At most so many rounds of dictionaries and weights.
    tol : float, default=1e-3
        Rounds end when the weights change by less than this in sum.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the samples to start from. None is the same as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype, an atom of a synthesis dictionary, as a mix of training samples of its
        class, of any sign and of unit norm in the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    class_shares_ : array of shape (n_prototypes, n_classes)
        Sums of the sizes of the coefficients in each class, at unit norm in the combined space.
    analysis_ : array of shape (n_prototypes, n_samples)
        What codes samples, as mixes of training samples of all classes.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples of which both dictionaries are made: all of them as a rule.
    history_ : array of shape (n_iter_,)
        The objective after every round. The norm of an analysis dictionary depends on the weights,
        so that it may rise.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLDPL().fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (30, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDictionary._parameter_constraints,
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "fidelity": [Interval(Real, 0, None, closed="neither")],
        "suppression": [Interval(Real, 0, None, closed="left")],
        "rank_penalty": [Interval(Real, 0, None, closed="left")],
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
        fidelity: float = 0.05,
        suppression: float = 0.003,
        rank_penalty: float = 1e-4,
        ridge: float | None = None,
        max_kernels: int | None = None,
        rule: str = "residual",
        max_iter: int = 4,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.n_per_class = n_per_class
        self.fidelity = fidelity
        self.suppression = suppression
        self.rank_penalty = rank_penalty
        self.ridge = ridge
        self.max_kernels = max_kernels
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Alternate dictionaries and weights."""
        strengths = Strengths(self.fidelity, self.suppression, self.rank_penalty)
        ridge = default_ridge(self.ridge, task.operator.n_kernels)
        weighting = Weighting(task.operator, task.operator.uniform(), ridge)
        kernel, coordinates = task.average, Coordinates.of(task.average)
        pairs = self._start(task, coordinates)
        history: list[float] = []
        for _ in range(self.max_iter):
            pairs = [_sweep(pair, kernel, coordinates, strengths) for pair in pairs]
            mixes = [coordinates.to_mixes(pair.analysis) for pair in pairs]
            errors = pair_errors(pairs, task.labels.size)
            before = weighting.operator.spread(weighting.weights)
            gradient = partial(answer_gradient, pairs, mixes, strengths)
            weighting = learn_weights(weighting, errors, gradient, self.max_kernels)
            weights = weighting.operator.spread(weighting.weights)
            kernel = weighting.operator.combine(weighting.weights)
            coordinates = Coordinates.of(kernel)
            pairs = [
                _carry_over(pair, mix, kernel, coordinates)
                for pair, mix in zip(pairs, mixes, strict=True)
            ]
            points = coordinates.points
            cost = sum(pair_cost(pair, kernel, points, strengths) for pair in pairs)
            history.append(cost + weighting.cost)
            task.say(f"objective {history[-1]:.6g}, {np.count_nonzero(weights)} kernels")
            if np.abs(weights - before).sum() < self.tol:
                break
        return self._finish(task, weights, kernel, coordinates, pairs, history)

    def _start(self, task: Task, coordinates: Coordinates) -> list[Pair]:
        """Random samples of every class as both dictionaries."""
        pairs = []
        for members in task.members:
            n_atoms = min(self.n_per_class, members.size)
            chosen = task.random.permutation(members.size)[:n_atoms]
            atoms = np.eye(members.size)[:, chosen]
            analysis = coordinates.points[:, members[chosen]].T
            pairs.append(Pair(members, atoms, np.zeros((n_atoms, members.size)), analysis))
        return pairs

    def _finish(
        self,
        task: Task,
        weights: FloatArray,
        kernel: FloatArray,
        coordinates: Coordinates,
        pairs: list[Pair],
        history: list[float],
    ) -> Learned:
        """Synthesis atoms of unit norm as prototypes; their norms move into the analysis."""
        prototypes, analysis, owners = list[FloatArray](), list[FloatArray](), list[int]()
        for owner, pair in enumerate(pairs):
            own = kernel[np.ix_(pair.members, pair.members)]
            norms = np.sqrt(np.einsum("ij,ij->j", pair.atoms, own @ pair.atoms))
            live = np.flatnonzero(norms > DEAD)
            block = np.zeros((live.size, task.labels.size))
            block[:, pair.members] = (pair.atoms[:, live] / norms[live]).T
            prototypes.append(block)
            mixes = coordinates.to_mixes(pair.analysis)[live]
            analysis.append(mixes * norms[live, np.newaxis])
            owners += [owner] * live.size
        synthesis = np.concatenate(prototypes)
        reader = AnalysisCodes(
            gram=synthesis @ kernel @ synthesis.T,
            owners=np.array(owners),
            sums=synthesis.sum(axis=1),
            n_classes=len(pairs),
            rule=self.rule,
        )
        return Learned(
            weights=weights,
            prototypes=synthesis,
            owners=reader.owners,
            reader=reader,
            kernel=kernel,
            history=history,
            n_iter=len(history),
            analysis=np.concatenate(analysis),
        )


def _sweep(pair: Pair, kernel: FloatArray, coordinates: Coordinates, strengths: Strengths) -> Pair:
    """Rounds of codes, analysis and synthesis of one class."""
    points = coordinates.points
    for _ in range(SWEEPS):
        pair = update_pair_codes(pair, kernel, points, strengths.fidelity)
        pair = update_analysis(pair, coordinates, strengths)
        pair = update_synthesis(pair, kernel)
    return pair


def _carry_over(pair: Pair, mix: FloatArray, kernel: FloatArray, coordinates: Coordinates) -> Pair:
    """The dictionaries of a class in the space of a new kernel."""
    own = kernel[np.ix_(pair.members, pair.members)]
    return replace(pair, atoms=bound_atoms(pair.atoms, own), analysis=coordinates.from_mixes(mix))
