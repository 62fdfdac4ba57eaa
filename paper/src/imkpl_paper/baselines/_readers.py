"""From similarities between samples and prototypes to class scores and codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl_paper.baselines._pursuit import levelwise_pursuit, orthogonal_pursuit


class Reader(ABC):
    """Scores classes by the inner products of samples and prototypes."""

    @abstractmethod
    def scores(self, similarities: FloatArray) -> FloatArray:
        """The score of every class, the larger the better."""


@dataclass(frozen=True, eq=False)
class NearestPrototype(Reader):
    """Every class scores minus the squared distance of its nearest prototype.

    Parameters
    ----------
    norms : array of shape (n_prototypes,)
        Squared norms of the prototypes.
    owners : int array of shape (n_prototypes,)
        Their classes.
    class_shares : array of shape (n_classes,)
        How many of the training samples are in each class: the scores if there is no prototype.
    """

    norms: FloatArray
    owners: IntArray
    class_shares: FloatArray

    def scores(self, similarities: FloatArray) -> FloatArray:
        """Minus the squared distances; for a class without prototypes, minus the largest possible."""
        if self.owners.size == 0:
            return np.tile(self.class_shares, (similarities.shape[0], 1))
        distances = 1 + self.norms - 2 * similarities
        # Between vectors of norm 1 and sqrt(norms).
        scores = np.full(
            (similarities.shape[0], self.class_shares.size),
            -float((1 + np.sqrt(self.norms.max())) ** 2),
        )
        for owner in np.unique(self.owners):
            scores[:, owner] = -distances[:, self.owners == owner].min(axis=1)
        return scores


@dataclass(frozen=True, eq=False)
class DictionaryReader(Reader):
    """What the readers of all dictionaries share: atoms that belong to a class each.

    Parameters
    ----------
    gram : array of shape (n_atoms, n_atoms)
        Inner products of the atoms.
    owners : int array of shape (n_atoms,)
        Their classes.
    sums : array of shape (n_atoms,)
        The sum of the coefficients of each.
    n_classes : int
        The number of classes.
    rule : {"residual", "contribution"}
        What counts: how well the atoms of a class rebuild a sample on their own, or how much of the
        code over all atoms comes from samples of the class.
    """

    gram: FloatArray
    owners: IntArray
    sums: FloatArray
    n_classes: int
    rule: str

    @abstractmethod
    def codes(self, similarities: FloatArray) -> FloatArray:
        """Codes over all atoms."""

    @abstractmethod
    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over the atoms of one class alone."""

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
    """Codes by orthogonal matching pursuit.

    Parameters
    ----------
    n_nonzero : int
        At most so many atoms in a code.
    """

    n_nonzero: int

    def codes(self, similarities: FloatArray) -> FloatArray:
        """Codes over all atoms."""
        return orthogonal_pursuit(self.gram, similarities, self.n_nonzero)

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over the atoms of one class alone."""
        gram = self.gram[np.ix_(atoms, atoms)]
        return orthogonal_pursuit(gram, similarities[:, atoms], self.n_nonzero)


@dataclass(frozen=True, eq=False)
class LevelCodes(DictionaryReader):
    """Codes by a pursuit that takes one atom of every level.

    Parameters
    ----------
    levels : int array of shape (n_atoms,)
        The level of each atom.
    """

    levels: IntArray

    def codes(self, similarities: FloatArray) -> FloatArray:
        """Codes over all atoms."""
        return levelwise_pursuit(self.gram, similarities, self.levels)

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over the atoms of one class alone."""
        gram = self.gram[np.ix_(atoms, atoms)]
        return levelwise_pursuit(gram, similarities[:, atoms], self.levels[atoms])


@dataclass(frozen=True, eq=False)
class AnalysisCodes(DictionaryReader):
    """Codes that are read off: mix j + n_atoms is the analysis atom of atom j."""

    def codes(self, similarities: FloatArray) -> FloatArray:
        """Codes over all atoms."""
        return similarities[:, self.gram.shape[0] :]

    def codes_within(self, similarities: FloatArray, atoms: IntArray) -> FloatArray:
        """Codes over the atoms of one class alone: the same."""
        return similarities[:, self.gram.shape[0] + atoms]
