"""Prediction: codes of samples, class scores from codes, and the fitted model that yields both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._checks import check_nonnegative, require
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.kernels.blocks import map_in_order
from imkpl.kernels.forms import Form
from imkpl.model.votes import Votes
from imkpl.solvers.nqp import pursue_batch

# Number of samples whose similarities to the support are in memory at a time.
BLOCK_ROWS = 4096
# Far below all similarities of unit-norm samples: forbids the choice of a prototype.
FORBIDDEN = -10.0


@dataclass(frozen=True, eq=False)
class Encoder:
    """Codes and scores samples whose similarities to the prototypes are known."""

    gram: FloatArray  # (n_prototypes, n_prototypes): inner products
    class_shares: FloatArray  # (n_prototypes, n_classes): L U, transposed
    sparsity: int  # maximum number of prototypes per code

    @property
    def classes(self) -> IntArray:
        """The class of every prototype: the one with most of its coefficients."""
        return np.asarray(np.argmax(self.class_shares, axis=1))

    def encode(self, similarities: FloatArray) -> sp.csr_array:
        """Codes in which all prototypes compete (Eq. 7 with lambda = 0)."""
        return pursue_batch(self.gram, -2 * similarities, self.sparsity, scale=2.0).x

    def shares(self, codes: sp.csr_array) -> FloatArray:
        """The paper's class scores: the share of each class in the code (l^q U gamma)."""
        amounts = codes @ self.class_shares
        totals = amounts.sum(axis=1, keepdims=True)
        is_empty = totals == 0
        equal = 1.0 / amounts.shape[1]
        return np.asarray(np.where(is_empty, equal, amounts / np.where(is_empty, 1.0, totals)))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Codes over all prototypes, class scores and reconstruction errors of samples."""

    codes: sp.csr_array  # (n_samples, n_prototypes)
    scores: FloatArray  # (n_samples, n_classes)
    errors: FloatArray  # (n_samples,): squared distances to the reconstructions


@dataclass(frozen=True, eq=False)
class Predictor:
    """Codes new samples, and scores them by votes or, as in the paper, by shares in the code."""

    kernels: Kernels  # those with a weight, on the support samples
    weights: FloatArray  # their weights, sum to one
    rows: IntArray  # the indices of the support samples in the training data
    mixes: sp.csr_array  # (n_prototypes, n_support): coefficients of the prototypes
    encoder: Encoder
    votes: Votes | None  # None for the paper's rule
    # (n_columns, 2): the least and the largest number in training of the columns that are read, NaN
    # for columns without numbers
    ranges: FloatArray | None = None

    def encode(self, X: Any) -> Encoding:
        """Code samples, a block at a time."""
        blocks = [self.encode_similarities(found) for found in self._blocks(X)]
        return Encoding(
            sp.csr_array(sp.vstack([block.codes for block in blocks], format="csr")),
            np.concatenate([block.scores for block in blocks]),
            np.concatenate([block.errors for block in blocks]),
        )

    def decide(self, X: Any) -> FloatArray:
        """Class scores of samples, a block at a time, without codes."""
        return np.concatenate([self.score(found) for found in self._blocks(X)])

    def compare(self, X: Any) -> FloatArray:
        """Inner products of samples and prototypes, a block of samples at a time."""
        return np.concatenate(self._blocks(X))

    def _blocks(self, X: Any) -> list[FloatArray]:
        return map_in_order(X, self.similarities, BLOCK_ROWS)

    def similarities(self, X: Any) -> FloatArray:
        """Inner products of samples and prototypes."""
        return np.ascontiguousarray((self.mixes @ self.kernel(X).T).T)

    def kernel(self, X: Any) -> FloatArray:
        """The combined kernel between samples and the support."""
        return self.kernels.cross(X).combine_few(self.weights)

    def encode_similarities(self, similarities: FloatArray) -> Encoding:
        """Code samples with known similarities to the prototypes."""
        codes = self.encoder.encode(similarities)
        scores = self.encoder.shares(codes) if self.votes is None else self.score(similarities)
        errors = squared_residuals(codes, similarities, self.encoder.gram)
        return Encoding(codes, scores, errors)

    def score(self, similarities: FloatArray) -> FloatArray:
        """Class scores of samples with known similarities to the prototypes."""
        if self.votes is not None:
            return self.votes.scores(similarities)
        return self.encoder.shares(self.encoder.encode(similarities))

    def check(self, form: Form) -> None:
        """Raise a ValueError unless all parts belong together, also if they are from a file."""
        n_prototypes, n_support = self.mixes.shape
        gram, shares = self.encoder.gram, self.encoder.class_shares
        self.kernels.check(form)
        check_nonnegative(self.kernels.check_weights(self.weights), "weights of kernels")
        is_right = self.kernels.shape == (n_support, n_support) == (*self.rows.shape, n_support)
        require(is_right, f"there are not {n_support} support samples with their rows")
        is_right = gram.shape == (n_prototypes, n_prototypes) and shares.ndim == 2
        require(is_right and len(shares) == n_prototypes, f"not all parts have {n_prototypes} rows")
        require(self.encoder.sparsity >= 1, "a code has no prototypes")
        if self.votes is not None:
            self.votes.check(n_prototypes, shares.shape[1])
        if self.ranges is not None:
            columns = self.kernels.input_columns
            is_right = columns is not None and self.ranges.shape == (columns.size, 2)
            require(is_right, "there is not one range per column")


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
    """Codes of samples of known class, as in training (Eq. 7)."""
    similarities = (mixes @ kernel.T).T
    near = np.zeros(similarities.shape)
    for label in np.unique(labels):
        rows, own = np.flatnonzero(labels == label), np.flatnonzero(support_labels == label)
        near[rows] = (mixes[:, own] @ kernel[np.ix_(rows, own)].T).T
    linear = -2 * similarities + discrimination * (mixes.sum(axis=1) - near)
    return pursue_batch(gram, linear, sparsity, scale=2.0).x


def squared_residuals(
    codes: sp.csr_array, similarities: FloatArray, gram: FloatArray
) -> FloatArray:
    """``||phi(x) - Phi U gamma||^2`` of samples of unit norm."""
    explained = 2 * codes.multiply(similarities) - codes.multiply(codes @ gram)
    return np.asarray(np.maximum(0.0, 1.0 - explained.sum(axis=1)))
