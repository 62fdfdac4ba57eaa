"""MKLDPL: pairs of dictionaries per class, learned with kernel weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from imkpl_paper._imkpl import FloatArray, IntArray, Interval, StrOptions
from imkpl_paper.baselines._base import BaseDictionary, Learned, Task
from imkpl_paper.baselines._kernels import Weighting, default_ridge, learn_weights
from imkpl_paper.baselines._readers import AnalysisCodes

# Rounds of codes, analysis and synthesis between two weight steps.
SWEEPS = 8
# An atom of a smaller norm rebuilds nothing.
DEAD = 1e-10
ANALYSIS_STEPS = 15
SYNTHESIS_STEPS = 30
# Directions in which the kernel is flatter than this part of its largest eigenvalue are dropped.
FLAT = 1e-10


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
        Kernels, as for :class:`imkpl.IMKPL`.
    n_per_class : int, default=10
        Number of prototypes per class, at most that of its samples. With half as many as samples,
        any kernels rebuild them, and the kernel weights mean little.
    fidelity : float, default=0.05
        Weight of the agreement of analysis and codes (tau).
    suppression : float, default=0.003
        Weight of the response of an analysis dictionary to other classes (lambda).
    rank_penalty : float, default=1e-4
        Weight of the nuclear norm of the analysis dictionaries (gamma).
    ridge : float, default=None
        Weight of a ridge on the kernel weights, relative to the spread of the errors of single
        kernels; it sets how many kernels are kept. 0.3 for up to 1000 kernels and 0.03 for more by
        default.
    max_kernels : int, default=None
        Maximum number of kernels. After the first weight step with more, only those with the
        largest weights are kept, for good, and the step is repeated for them.
    rule : {"residual", "contribution"}, default="residual"
        How a sample is classified: by the class whose prototypes rebuild it best from its codes,
        or by the class whose samples have the largest signed sum of coefficients in them.
    max_iter : int, default=4
        Maximum number of rounds of dictionaries and weights.
    tol : float, default=1e-3
        Stop when the sum of the absolute changes of the weights is below this value.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write progress to standard error.
    random_state : int, RandomState instance or None, default=None
        Seeds the samples to start from. None is the same as 0.

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
        ridge = default_ridge(self.ridge, task.kernels.n_kernels)
        weighting = Weighting.equal(task.kernels, ridge)
        kernel, coordinates = task.average, Coordinates.of(task.average)
        pairs = self._start(task, coordinates)
        history: list[float] = []
        for _ in range(self.max_iter):
            pairs = [_sweep(pair, kernel, coordinates, strengths) for pair in pairs]
            mixes = [coordinates.to_mixes(pair.analysis) for pair in pairs]
            errors = pair_errors(pairs, task.labels.size)
            before = weighting.all_weights
            gradient = partial(response_gradient, pairs, mixes, strengths)
            weighting = learn_weights(weighting, errors, gradient, self.max_kernels)
            weights = weighting.all_weights
            kernel = weighting.combine()
            coordinates = Coordinates.of(kernel)
            pairs = [
                _carry_over(pair, mix, kernel, coordinates)
                for pair, mix in zip(pairs, mixes, strict=True)
            ]
            points = coordinates.points
            cost = sum(pair_cost(pair, kernel, points, strengths) for pair in pairs)
            history.append(cost + weighting.cost)
            task.log(f"objective {history[-1]:.6g}, {np.count_nonzero(weights)} kernels")
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
    own = coordinates.points[:, pair.members]
    system = AnalysisSystem(coordinates.variances, own, strengths)
    for _ in range(SWEEPS):
        pair = update_pair_codes(pair, kernel, own, strengths.fidelity)
        pair = update_analysis(pair, system, strengths)
        pair = update_synthesis(pair, kernel)
    return pair


def _carry_over(pair: Pair, mix: FloatArray, kernel: FloatArray, coordinates: Coordinates) -> Pair:
    """The dictionaries of a class in the space of a new kernel."""
    own = kernel[np.ix_(pair.members, pair.members)]
    return replace(pair, atoms=bound_atoms(pair.atoms, own), analysis=coordinates.from_mixes(mix))


@dataclass(frozen=True, eq=False)
class Strengths:
    """Weights of the terms of the objective."""

    fidelity: float  # of the agreement of analysis and codes (tau)
    suppression: float  # of the analysis of other classes (lambda)
    rank: float  # of the nuclear norm of the analysis dictionaries (gamma)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Samples as points of a Euclidean space whose inner products are the kernel."""

    variances: FloatArray  # eigenvalues w of the kernel
    axes: FloatArray  # eigenvectors V, (n_samples, n_axes)

    @classmethod
    def of(cls, kernel: FloatArray) -> Coordinates:
        """Coordinates for a kernel."""
        variances, axes = np.linalg.eigh(kernel)
        kept = variances > FLAT * variances[-1]
        return cls(variances[kept], axes[:, kept])

    @cached_property
    def points(self) -> FloatArray:
        """``Z = diag(w)^1/2 V'``, one sample per column."""
        return np.asarray(np.sqrt(self.variances)[:, np.newaxis] * self.axes.T)

    def to_mixes(self, analysis: FloatArray) -> FloatArray:
        """Linear forms on the points as mixes of samples."""
        return np.asarray((analysis / np.sqrt(self.variances)) @ self.axes.T)

    def from_mixes(self, mixes: FloatArray) -> FloatArray:
        """Mixes of samples as linear forms on the points."""
        return np.asarray((mixes @ self.axes) * np.sqrt(self.variances))


@dataclass(frozen=True, eq=False)
class Pair:
    """The two dictionaries of one class, and the codes of its samples."""

    members: IntArray  # samples of the class
    atoms: FloatArray  # synthesis dictionary U_q of norm 1 or less, (n_members, n_atoms)
    codes: FloatArray  # G_q, (n_atoms, n_members)
    analysis: FloatArray  # analysis dictionary P_q, (n_atoms, n_axes)

    @property
    def residual(self) -> FloatArray:
        """``I - U_q G_q``."""
        return np.eye(self.members.size) - self.atoms @ self.codes


def pair_cost(pair: Pair, kernel: FloatArray, points: FloatArray, strengths: Strengths) -> float:
    """The terms of one class."""
    own, residual = kernel[np.ix_(pair.members, pair.members)], pair.residual
    responses = pair.analysis @ points
    is_own = np.zeros(points.shape[1], dtype=bool)
    is_own[pair.members] = True
    miss = responses[:, is_own] - pair.codes
    return float(
        np.vdot(residual, own @ residual)
        + strengths.fidelity * np.vdot(miss, miss)
        + strengths.suppression * np.vdot(responses[:, ~is_own], responses[:, ~is_own])
        + strengths.rank * np.linalg.svd(pair.analysis, compute_uv=False).sum()
    )


def update_pair_codes(pair: Pair, kernel: FloatArray, own: FloatArray, fidelity: float) -> Pair:
    """The exact minimiser in the codes, between reconstruction and analysis."""
    similarities = pair.atoms.T @ kernel[np.ix_(pair.members, pair.members)]
    system = similarities @ pair.atoms + fidelity * np.eye(pair.atoms.shape[1])
    target = similarities + fidelity * pair.analysis @ own
    return replace(pair, codes=np.linalg.solve(system, target))


class AnalysisSystem:
    """Solves ``P (2 lam diag(w) + 2 (tau - lam) Z_q Z_q' + r I) = M``.

    The matrix is a diagonal plus one of rank n_members, because ``Z Z'`` is diagonal; it is
    inverted by the Woodbury formula. Here w are `variances`, Z_q is `own` and r the `penalty`.
    """

    def __init__(self, variances: FloatArray, own: FloatArray, strengths: Strengths) -> None:
        factor = 2 * (strengths.fidelity - strengths.suppression)
        self.penalty = float(np.clip(10 * strengths.rank, 1e-3, 1e-2))
        self.diagonal = 2 * strengths.suppression * variances + self.penalty
        self.own = own
        scaled = own.T / self.diagonal
        inner = np.eye(own.shape[1]) + factor * scaled @ own
        self.correction = factor * np.linalg.solve(inner, scaled)

    def solve(self, M: FloatArray) -> FloatArray:
        """P for one right-hand side."""
        scaled = M / self.diagonal
        return np.asarray(scaled - (scaled @ self.own) @ self.correction)


def update_analysis(pair: Pair, system: AnalysisSystem, strengths: Strengths) -> Pair:
    """The analysis dictionary, by alternating directions of multipliers."""
    penalty = system.penalty
    target = 2 * strengths.fidelity * pair.codes @ system.own.T
    low_rank, multiplier = pair.analysis, np.zeros_like(pair.analysis)
    for _ in range(ANALYSIS_STEPS):
        analysis = system.solve(target + penalty * (low_rank - multiplier))
        low_rank = shrink_singular_values(analysis + multiplier, strengths.rank / penalty)
        multiplier = multiplier + analysis - low_rank
    return replace(pair, analysis=low_rank)


def shrink_singular_values(matrix: FloatArray, threshold: float) -> FloatArray:
    """The proximal map of the nuclear norm, for a matrix of few rows."""
    squares, left = np.linalg.eigh(matrix @ matrix.T)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = np.maximum(values - threshold, 0.0) / np.where(values > 0, values, 1.0)
    return np.asarray((left * kept) @ (left.T @ matrix))


def update_synthesis(pair: Pair, kernel: FloatArray) -> Pair:
    """The synthesis dictionary with atoms of norm 1 or less, by alternating directions."""
    own = kernel[np.ix_(pair.members, pair.members)]
    inner = pair.codes @ pair.codes.T
    bounded, multiplier, penalty = pair.atoms, np.zeros_like(pair.atoms), 1.0
    for _ in range(SYNTHESIS_STEPS):
        factor = cho_factor(inner + penalty * np.eye(inner.shape[0]))
        target = pair.codes.T + penalty * (bounded - multiplier)
        atoms = cho_solve(factor, target.T).T
        new = bound_atoms(atoms + multiplier, own)
        multiplier = multiplier + atoms - new
        penalty *= 1.2
        is_done = np.abs(new - bounded).max() <= 1e-8 and np.abs(atoms - new).max() <= 1e-8
        bounded = new
        if is_done:
            break
    return replace(pair, atoms=bounded)


def bound_atoms(atoms: FloatArray, own: FloatArray) -> FloatArray:
    """Atoms scaled down to norm 1 where they are longer."""
    norms = np.sqrt(np.maximum(np.einsum("ij,ij->j", atoms, own @ atoms), 0.0))
    return np.asarray(atoms / np.maximum(norms, 1.0))


def pair_errors(pairs: list[Pair], n_samples: int) -> FloatArray:
    """The matrix whose inner product with a kernel is the reconstruction error of all classes."""
    matrix = np.zeros((n_samples, n_samples))
    for pair in pairs:
        residual = pair.residual
        matrix[np.ix_(pair.members, pair.members)] = residual @ residual.T
    return matrix


def response_gradient(
    pairs: list[Pair], mixes: list[FloatArray], strengths: Strengths, kernel: FloatArray
) -> FloatArray:
    """The derivative of the two analysis terms with respect to the kernel."""
    mix = np.concatenate(mixes)
    errors, start = mix @ kernel, 0
    for pair in pairs:
        block = errors[start : start + len(pair.codes)]
        own = strengths.fidelity * (block[:, pair.members] - pair.codes)
        block *= strengths.suppression
        block[:, pair.members] = own
        start += len(pair.codes)
    return np.asarray(2 * mix.T @ errors)
