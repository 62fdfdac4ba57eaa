"""The steps of MKLDPL: pairs of synthesis and analysis dictionaries, one per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from imkpl._typing import FloatArray, IntArray

ANALYSIS_STEPS = 15
SYNTHESIS_STEPS = 30
# Directions in which the kernel is flatter than this part of its largest eigenvalue are dropped.
FLAT = 1e-10


@dataclass(frozen=True, eq=False)
class Strengths:
    """Weights of the terms of the objective.

    Parameters
    ----------
    fidelity : float
        Of the agreement of analysis and codes (tau).
    suppression : float
        Of the analysis of other classes (lam).
    rank : float
        Of the nuclear norm of the analysis dictionaries (gam).
    """

    fidelity: float
    suppression: float
    rank: float


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Samples as points of an Euclidean space whose inner products are the kernel.

    Parameters
    ----------
    variances : array of shape (n_axes,)
        Eigenvalues w of the kernel.
    axes : array of shape (n_samples, n_axes)
        Eigenvectors V.
    """

    variances: FloatArray
    axes: FloatArray

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
    """The two dictionaries of one class, and the codes of its samples.

    Parameters
    ----------
    members : int array of shape (n_members,)
        The samples of the class.
    atoms : array of shape (n_members, n_atoms)
        Synthesis dictionary U_q, of norm 1 or less.
    codes : array of shape (n_atoms, n_members)
        G_q.
    analysis : array of shape (n_atoms, n_axes)
        Analysis dictionary P_q.
    """

    members: IntArray
    atoms: FloatArray
    codes: FloatArray
    analysis: FloatArray

    @property
    def residual(self) -> FloatArray:
        """``I - U_q G_q``."""
        return np.eye(self.members.size) - self.atoms @ self.codes


def pair_cost(pair: Pair, kernel: FloatArray, points: FloatArray, strengths: Strengths) -> float:
    """The terms of one class."""
    own, residual = kernel[np.ix_(pair.members, pair.members)], pair.residual
    answers = pair.analysis @ points
    is_own = np.zeros(points.shape[1], dtype=bool)
    is_own[pair.members] = True
    miss = answers[:, is_own] - pair.codes
    return float(
        np.vdot(residual, own @ residual)
        + strengths.fidelity * np.vdot(miss, miss)
        + strengths.suppression * np.vdot(answers[:, ~is_own], answers[:, ~is_own])
        + strengths.rank * np.linalg.svd(pair.analysis, compute_uv=False).sum()
    )


def update_pair_codes(pair: Pair, kernel: FloatArray, points: FloatArray, fidelity: float) -> Pair:
    """Codes between what rebuilds the samples and what the analysis says, exactly."""
    similarities = pair.atoms.T @ kernel[np.ix_(pair.members, pair.members)]
    system = similarities @ pair.atoms + fidelity * np.eye(pair.atoms.shape[1])
    target = similarities + fidelity * pair.analysis @ points[:, pair.members]
    return replace(pair, codes=np.linalg.solve(system, target))


class AnalysisSystem:
    """Solves ``P (2 lam diag(w) + 2 (tau - lam) Z_q Z_q' + r I) = M``.

    The matrix is a diagonal plus one of rank n_members, because ``Z Z'`` is diagonal; it is
    inverted by the formula of Woodbury.

    Parameters
    ----------
    variances : array of shape (n_axes,)
        w.
    own : array of shape (n_axes, n_members)
        Z_q.
    strengths : Strengths
        Weights of the terms.
    penalty : float
        r.
    """

    def __init__(
        self, variances: FloatArray, own: FloatArray, strengths: Strengths, penalty: float
    ) -> None:
        factor = 2 * (strengths.fidelity - strengths.suppression)
        self.diagonal = 2 * strengths.suppression * variances + penalty
        self.own = own
        scaled = own.T / self.diagonal
        inner = np.eye(own.shape[1]) + factor * scaled @ own
        self.correction = factor * np.linalg.solve(inner, scaled)

    def solve(self, M: FloatArray) -> FloatArray:
        """P for one right-hand side."""
        scaled = M / self.diagonal
        return np.asarray(scaled - (scaled @ self.own) @ self.correction)


def update_analysis(pair: Pair, coordinates: Coordinates, strengths: Strengths) -> Pair:
    """The analysis dictionary, by alternating directions of multipliers."""
    penalty = float(np.clip(10 * strengths.rank, 1e-3, 1e-2))
    own = coordinates.points[:, pair.members]
    system = AnalysisSystem(coordinates.variances, own, strengths, penalty)
    target = 2 * strengths.fidelity * pair.codes @ own.T
    low_rank, multiplier = pair.analysis, np.zeros_like(pair.analysis)
    for _ in range(ANALYSIS_STEPS):
        analysis = system.solve(target + penalty * (low_rank - multiplier))
        low_rank = shrink_singular_values(analysis + multiplier, strengths.rank / penalty)
        multiplier = multiplier + analysis - low_rank
    return replace(pair, analysis=low_rank)


def shrink_singular_values(matrix: FloatArray, threshold: float) -> FloatArray:
    """The proximal map of the nuclear norm."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray((left * np.maximum(values - threshold, 0.0)) @ right)


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


def answer_gradient(
    pairs: list[Pair], mixes: list[FloatArray], strengths: Strengths, kernel: FloatArray
) -> FloatArray:
    """The derivative of the two analysis terms with respect to the kernel."""
    matrix = np.zeros_like(kernel)
    for pair, mix in zip(pairs, mixes, strict=True):
        errors = mix @ kernel
        errors[:, pair.members] -= pair.codes
        factors = np.full(kernel.shape[0], strengths.suppression)
        factors[pair.members] = strengths.fidelity
        matrix += 2 * mix.T @ (factors * errors)
    return matrix
