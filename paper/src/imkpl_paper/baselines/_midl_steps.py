"""The steps of MIDL: codes, atoms and the terms of its objective."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from imkpl._typing import FloatArray, IntArray
from imkpl_paper.baselines._pursuit import orthogonal_pursuit

# Added to the diagonal of the two factors of the atom step.
JITTER = 1e-6
# An atom whose squared norm is below this is unused.
DEAD = 1e-12


@dataclass(frozen=True, eq=False)
class ClassDictionary:
    """Atoms made of the samples of one class, and the codes of these samples.

    Parameters
    ----------
    members : int array of shape (n_members,)
        The samples of the class.
    others : int array of shape (n_samples - n_members,)
        The samples of the other classes.
    atoms : array of shape (n_members, n_atoms)
        U_q.
    codes : array of shape (n_atoms, n_members)
        Gamma_q.
    """

    members: IntArray
    others: IntArray
    atoms: FloatArray
    codes: FloatArray

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
    """The samples that are rebuilt worst in the place of atoms without length."""
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
