"""From inner products of samples and prototypes to codes and class scores."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import orthogonal_mp_gram

from imkpl_paper._imkpl import FloatArray, IntArray


def orthogonal_pursuit(gram: FloatArray, similarities: FloatArray, n_nonzero: int) -> FloatArray:
    """Codes over atoms of unit norm by orthogonal matching pursuit, one row per sample."""
    n_samples, n_atoms = similarities.shape
    with warnings.catch_warnings():
        # The pursuit of a sample that is rebuilt exactly ends early, which is no problem.
        warnings.filterwarnings("ignore", "\\s*Orthogonal matching pursuit ended", RuntimeWarning)
        codes = orthogonal_mp_gram(gram, similarities.T, n_nonzero_coefs=min(n_nonzero, n_atoms))
    return np.reshape(codes, (n_atoms, n_samples)).T


def levelwise_pursuit(gram: FloatArray, similarities: FloatArray, levels: IntArray) -> FloatArray:
    """One atom of every level: the one most like what the levels before have left."""
    codes, residual = np.zeros_like(similarities), similarities.copy()
    everyone = np.arange(similarities.shape[0])
    for level in np.unique(levels):
        atoms = np.flatnonzero(levels == level)
        best = atoms[np.argmax(np.abs(residual[:, atoms]), axis=1)]
        values = residual[everyone, best]
        codes[everyone, best] += values
        residual -= values[:, np.newaxis] * gram[best]
    return codes


class Reader(ABC):
    """Scores classes by the inner products of samples and prototypes."""

    @abstractmethod
    def scores(self, similarities: FloatArray) -> FloatArray:
        """The score of every class, the larger the better."""


@dataclass(frozen=True, eq=False)
class NearestPrototype(Reader):
    """Every class scores minus the squared distance of its nearest prototype."""

    norms: FloatArray  # squared norms of the prototypes
    owners: IntArray  # their classes
    class_shares: FloatArray  # of the training samples: the scores if there is no prototype

    def scores(self, similarities: FloatArray) -> FloatArray:
        """Minus squared distances; minus the largest possible one without prototypes."""
        if self.owners.size == 0:
            return np.tile(self.class_shares, (similarities.shape[0], 1))
        distances = 1 + self.norms - 2 * similarities
        # Between vectors of norm 1 and sqrt(norms).
        farthest = float((1 + np.sqrt(self.norms.max())) ** 2)
        scores = np.full((similarities.shape[0], self.class_shares.size), -farthest)
        for owner in np.unique(self.owners):
            scores[:, owner] = -distances[:, self.owners == owner].min(axis=1)
        return scores


@dataclass(frozen=True, eq=False)
class DictionaryReader(Reader):
    """Atoms that belong to one class each.

    By the rule "residual", a class scores how well its atoms alone rebuild a sample; by
    "contribution", how much of the code over all atoms comes from its samples.
    """

    gram: FloatArray  # inner products of the atoms
    owners: IntArray  # their classes
    sums: FloatArray  # sums of their coefficients
    n_classes: int
    rule: str

    def codes(self, similarities: FloatArray) -> FloatArray:
        """Codes over all atoms."""
        return self.codes_within(similarities, np.arange(self.owners.size))

    @abstractmethod
    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over some atoms alone."""

    def scores(self, similarities: FloatArray) -> FloatArray:
        """Scores of the classes by the rule."""
        if self.rule == "contribution":
            parts = self.codes(similarities) * self.sums
            return parts @ np.equal.outer(self.owners, np.arange(self.n_classes))
        scores = np.empty((similarities.shape[0], self.n_classes))
        for owner in range(self.n_classes):
            atoms = np.flatnonzero(self.owners == owner)
            codes = self.codes_within(similarities, atoms)
            gram = self.gram[np.ix_(atoms, atoms)]
            scores[:, owner] = np.einsum(
                "ij,ij->i", codes, 2 * similarities[:, atoms] - codes @ gram
            )
        return scores


@dataclass(frozen=True, eq=False)
class SparseCodes(DictionaryReader):
    """Codes by orthogonal matching pursuit."""

    n_nonzero: int  # maximum number of atoms per code

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over some atoms alone."""
        gram = self.gram[np.ix_(atoms, atoms)]
        return orthogonal_pursuit(gram, similarities[:, atoms], self.n_nonzero)


@dataclass(frozen=True, eq=False)
class LevelCodes(DictionaryReader):
    """Codes by a pursuit that takes one atom of every level."""

    levels: IntArray  # of each atom

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over some atoms alone."""
        gram = self.gram[np.ix_(atoms, atoms)]
        return levelwise_pursuit(gram, similarities[:, atoms], self.levels[atoms])


@dataclass(frozen=True, eq=False)
class AnalysisCodes(DictionaryReader):
    """Codes that need no search: mix j + n_atoms is the analysis atom of atom j."""

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over some atoms alone."""
        return similarities[:, self.owners.size + atoms]
