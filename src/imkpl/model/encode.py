"""Codes and class scores of samples, from their similarities to the prototypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.solvers import solve_nqp_batch

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
        """Codes in which all prototypes compete (Eq. 7 with lambda = 0).

        Parameters
        ----------
        similarities : array of shape (n_samples, n_prototypes)
            Inner products of samples and prototypes.

        Returns
        -------
        CSR array of shape (n_samples, n_prototypes)
            The codes.
        """
        return solve_nqp_batch(self.gram, -2 * similarities, self.sparsity, scale=2.0).x

    def encode_by_class(self, similarities: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Codes from the prototypes of one class at a time, and how well each class does.

        The score of a class is the squared norm that it explains, 1 minus the squared distance
        of the sample to its best sparse mix of that class's prototypes. At the end of a pursuit
        it equals ``similarities . code``, a sum over prototypes and kernels.

        Parameters
        ----------
        similarities : array of shape (n_samples, n_prototypes)
            Inner products of samples and prototypes.

        Returns
        -------
        codes : CSR array of shape (n_samples, n_prototypes)
            The code of every class beside each other: a column belongs to one class.
        scores : array of shape (n_samples, n_classes)
            The explained norm; 0 for a class without prototypes.
        """
        scores = np.zeros((similarities.shape[0], self.class_shares.shape[1]))
        order, blocks = [], []
        for label in np.unique(self.classes):
            own = np.flatnonzero(self.classes == label)
            linear = np.ascontiguousarray(-2 * similarities[:, own])
            gram = np.ascontiguousarray(self.gram[np.ix_(own, own)])
            found = solve_nqp_batch(gram, linear, self.sparsity, scale=2.0)
            # f = code' G code - 2 s' code, and code' G code = s' code at a stationary point.
            scores[:, label] = -found.value
            order.append(own)
            blocks.append(found.x)
        columns = np.argsort(np.concatenate(order), kind="stable")
        codes = sp.csr_array(sp.hstack(blocks, format="csc")[:, columns])
        codes.sort_indices()
        return codes, scores

    def shares(self, codes: sp.csr_array) -> FloatArray:
        """The paper's class scores: how much of each code comes from each class (l^q U gamma).

        Parameters
        ----------
        codes : CSR array of shape (n_samples, n_prototypes)
            Codes in which all prototypes compete.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; equal shares for an empty code.
        """
        amounts = codes @ self.class_shares
        totals = amounts.sum(axis=1, keepdims=True)
        is_empty = totals == 0
        equal = 1.0 / amounts.shape[1]
        return np.asarray(np.where(is_empty, equal, amounts / np.where(is_empty, 1.0, totals)))


def restrict_to_class(codes: sp.csr_array, classes: IntArray, labels: IntArray) -> sp.csr_array:
    """Each code with only its entries for prototypes of one class.

    Parameters
    ----------
    codes : CSR array of shape (n_samples, n_prototypes)
        Codes.
    classes : int array of shape (n_prototypes,)
        The class of every prototype.
    labels : int array of shape (n_samples,)
        The class to keep in every row.

    Returns
    -------
    CSR array of shape (n_samples, n_prototypes)
        The codes that are left.
    """
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    kept = classes[codes.indices] == labels[rows]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[kept], minlength=codes.shape[0]))))
    return sp.csr_array((codes.data[kept], codes.indices[kept], indptr), shape=codes.shape)


def squared_residuals(
    codes: sp.csr_array, similarities: FloatArray, gram: FloatArray
) -> FloatArray:
    """``||phi(x) - Phi U gamma||^2`` of samples of unit norm.

    Parameters
    ----------
    codes : CSR array of shape (n_samples, n_prototypes)
        The codes gamma.
    similarities : array of shape (n_samples, n_prototypes)
        Inner products of samples and prototypes.
    gram : array of shape (n_prototypes, n_prototypes)
        Inner products of the prototypes.

    Returns
    -------
    array of shape (n_samples,)
        Squared distances, between 0 and 1 for codes found by pursuit.
    """
    explained = 2 * codes.multiply(similarities) - codes.multiply(codes @ gram)
    return np.asarray(np.maximum(0.0, 1.0 - explained.sum(axis=1)))
