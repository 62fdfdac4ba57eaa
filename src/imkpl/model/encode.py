"""Codes and class scores of samples, from their similarities to the prototypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.solvers import BatchResult, solve_nqp_batch

# Far below any similarity of unit-norm samples: what has it is never chosen.
FORBIDDEN = -10.0


@dataclass(frozen=True, eq=False)
class Encoder:
    """All that is needed to code a sample whose similarities to the prototypes are known.

    Parameters
    ----------
    gram : array of shape (n_prototypes, n_prototypes)
        Inner products of the prototypes.
    class_shares : array of shape (n_prototypes, n_classes)
        How much of each prototype's coefficients lies in each class (L U, transposed).
    sparsity : int
        At most so many prototypes in a code.
    """

    gram: FloatArray
    class_shares: FloatArray
    sparsity: int

    @property
    def classes(self) -> IntArray:
        """The class of every prototype: where most of its coefficients lie."""
        return np.asarray(np.argmax(self.class_shares, axis=1))

    def encode(self, similarities: FloatArray) -> sp.csr_array:
        """Codes in which all prototypes compete (Eq. 7 with lambda = 0)."""
        return solve_nqp_batch(self.gram, -2 * similarities, self.sparsity, scale=2.0).x

    def score_classes(self, similarities: FloatArray) -> FloatArray:
        """How well the prototypes of each class rebuild a sample on their own.

        The score of a class is the squared norm that it explains, 1 minus the squared distance
        of the sample to its best sparse mix of that class's prototypes. At the end of a pursuit
        it equals ``similarities . code``, a sum over prototypes and kernels.
        """
        scores = np.zeros((similarities.shape[0], self.class_shares.shape[1]))
        for label in np.unique(self.classes):
            # f = code' G code - 2 s' code, and code' G code = s' code at a stationary point.
            scores[:, label] = -self._pursue_class(label, similarities).value
        return scores

    def encode_within(self, similarities: FloatArray, labels: IntArray) -> sp.csr_array:
        """Codes from the prototypes of one given class per sample."""
        codes = sp.csr_array(similarities.shape)
        for label in np.intersect1d(labels, self.classes):
            rows, own = np.flatnonzero(labels == label), np.flatnonzero(self.classes == label)
            found = self._pursue_class(label, similarities[rows]).x.tocoo()
            places = (rows[found.coords[0]], own[found.coords[1]])
            codes += sp.csr_array((found.data, places), shape=similarities.shape)
        return codes

    def _pursue_class(self, label: int, similarities: FloatArray) -> BatchResult:
        own = np.flatnonzero(self.classes == label)
        gram = np.ascontiguousarray(self.gram[np.ix_(own, own)])
        linear = np.ascontiguousarray(-2 * similarities[:, own])
        return solve_nqp_batch(gram, linear, self.sparsity, scale=2.0)

    def explained(self, codes: sp.csr_array, similarities: FloatArray) -> FloatArray:
        """How much of each sample's squared norm the prototypes of each class explain.

        In a code found by pursuit prototype i explains ``gamma_i <phi(x), u_i>``. The sum over
        all prototypes is 1 minus the squared distance of the sample to what its code rebuilds.
        """
        owners = np.eye(self.class_shares.shape[1])[self.classes]
        return np.asarray(sp.csr_array(codes.multiply(similarities)) @ owners)

    def shares(self, codes: sp.csr_array) -> FloatArray:
        """The paper's class scores: how much of each code comes from each class (l^q U gamma)."""
        amounts = codes @ self.class_shares
        totals = amounts.sum(axis=1, keepdims=True)
        is_empty = totals == 0
        equal = 1.0 / amounts.shape[1]
        return np.asarray(np.where(is_empty, equal, amounts / np.where(is_empty, 1.0, totals)))


def encode_labelled(
    kernel: FloatArray,
    labels: IntArray,
    mixes: sp.csr_array,
    support_labels: IntArray,
    gram: FloatArray,
    *,
    discrimination: float,
    sparsity: int,
) -> sp.csr_array:
    """Codes of samples of known class, as they are found while prototypes are learned (Eq. 7)."""
    similarities = (mixes @ kernel.T).T
    near = np.zeros(similarities.shape)
    for label in np.unique(labels):
        rows, own = np.flatnonzero(labels == label), np.flatnonzero(support_labels == label)
        near[rows] = (mixes[:, own] @ kernel[np.ix_(rows, own)].T).T
    linear = -2 * similarities + discrimination * (mixes.sum(axis=1) - near)
    return solve_nqp_batch(gram, linear, sparsity, scale=2.0).x


def squared_residuals(
    codes: sp.csr_array, similarities: FloatArray, gram: FloatArray
) -> FloatArray:
    """``||phi(x) - Phi U gamma||^2`` of samples of unit norm."""
    explained = 2 * codes.multiply(similarities) - codes.multiply(codes @ gram)
    return np.asarray(np.maximum(0.0, 1.0 - explained.sum(axis=1)))
