"""Prediction: codes of samples, class scores from codes, and the fitted model that yields both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imkpl._checks import check_nonnegative, require
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.kernels.forms import Form
from imkpl.kernels.sources import map_in_order
from imkpl.model.votes import Votes
from imkpl.solvers.nqp import pursue_batch

# Number of samples whose similarities to the support are in memory at a time.
BLOCK_ROWS = 4096
# Far below all similarities of unit-norm samples: forbids the choice of a prototype.
FORBIDDEN = -10.0
# A number is far from those in training at this part of their range beyond it.
FAR = 0.75
# Of a sample that has less than this part of the weight, nothing is known.
SMALLEST_REST = 1e-9


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


class Compared(NamedTuple):
    """Inner products of samples, (n_samples, n_prototypes), and how new the samples are."""

    similarities: FloatArray  # with the prototypes, from which codes are made
    resemblances: FloatArray  # with prototypes minus contrasts, which vote
    novelty: FloatArray  # (n_samples,): 0 for a support sample, 1 for one unlike all


@dataclass(frozen=True, eq=False)
class Predictor:
    """Codes new samples, and scores them by votes or, as in the paper, by shares in the code."""

    kernels: Kernels  # those with a weight, on the support samples
    weights: FloatArray  # their weights, sum to one
    rows: IntArray  # the indices of the support samples in the training data
    mixes: sp.csr_array  # (n_prototypes, n_support): coefficients of the prototypes
    contrasts: sp.csr_array  # the same of what each is unlike; empty without contrasts
    encoder: Encoder
    votes: Votes | None  # None for the paper's rule
    # (n_columns, 2): the least and the largest number in training of the columns that are read, NaN
    # for columns without numbers
    ranges: FloatArray | None = None
    # (n_support, n_kernels): mean similarity to the training part, of the kernels that these are
    # made of; None where a missing cell cannot be left out
    expected: FloatArray | None = None

    @cached_property
    def voting(self) -> sp.csr_array:
        """Prototypes minus contrasts: what votes compare a sample with."""
        return sp.csr_array(self.mixes - self.contrasts)

    def encode(self, X: Any) -> Encoding:
        """Code samples, a block at a time."""
        blocks = [self.encode_compared(found) for found in self._blocks(X)]
        return Encoding(
            sp.csr_array(sp.vstack([block.codes for block in blocks], format="csr")),
            np.concatenate([block.scores for block in blocks]),
            np.concatenate([block.errors for block in blocks]),
        )

    def decide(self, X: Any) -> FloatArray:
        """Class scores of samples, or values, a block at a time, without codes."""
        return np.concatenate([self.grade(found.resemblances) for found in self._blocks(X)])

    def compare(self, X: Any) -> Compared:
        """Inner products of samples and prototypes, a block of samples at a time."""
        return Compared(*(np.concatenate(parts) for parts in zip(*self._blocks(X), strict=True)))

    def _blocks(self, X: Any) -> list[Compared]:
        return map_in_order(X, self.compare_block, BLOCK_ROWS)

    def compare_block(self, X: Any) -> Compared:
        """Inner products of samples and prototypes, and the novelty of samples."""
        kernels = self.cross(X)
        kernel = kernels.combine_few(self.weights)
        nearness = self.find_nearness(kernels, kernel)
        novelty = np.where(self.find_far(kernels).any(axis=1), 1.0, find_novelty(nearness))
        similarities = np.ascontiguousarray((self.mixes @ kernel.T).T)
        if self.contrasts.nnz == 0:
            return Compared(similarities, similarities, novelty)
        return Compared(similarities, np.ascontiguousarray((self.voting @ kernel.T).T), novelty)

    def cross(self, X: Any) -> Kernels:
        """The kernels between samples and the support; missing cells are as alike as expected."""
        kernels = self.kernels.cross(X)
        if self.expected is not None:
            return kernels.expecting(self.expected)
        if kernels.gaps is not None:
            raise ValueError(
                f"Sample {int(np.argmax(kernels.gaps.any(axis=1)))} has a missing value, expected "
                "all that the model reads: it is from a file that an earlier version wrote. Fit "
                "it again, or fill the cell."
            )
        return kernels

    def find_missing(self, X: Any) -> FloatArray:
        """The part of the weight that each sample has no cells for."""
        # Samples that come in blocks are complete, or refused when they are read.
        in_blocks = hasattr(X, "distribute")
        missing = None if in_blocks else self._weigh_gaps(self.kernels.cross(X))
        return np.zeros(len(X)) if missing is None else np.asarray(missing.sum(axis=1))

    def _weigh_gaps(self, kernels: Kernels) -> FloatArray | None:
        """The weight of every cell that is missing; None if all are there."""
        if kernels.gaps is None:
            return None
        return np.asarray(kernels.gaps * kernels.flattened(self.weights)[1])

    def find_nearness(self, kernels: Kernels, kernel: FloatArray) -> FloatArray:
        """The combined kernel by the cells that samples have, as if these were all."""
        missing = self._weigh_gaps(kernels)
        if missing is None or self.expected is None:
            return kernel
        rest = np.maximum(1.0 - missing.sum(axis=1, keepdims=True), SMALLEST_REST)
        return np.asarray((kernel - missing @ self.expected.T) / rest)

    def find_far(self, kernels: Kernels) -> BoolArray:
        """Which numbers, (n_samples, n_columns), are far outside of those in training."""
        numbers = kernels.numbers()
        if self.ranges is None or numbers is None:
            return np.zeros((kernels.shape[0], 0), dtype=bool)
        low, high = self.ranges.T
        return np.asarray(np.abs(numbers - (low + high) / 2) > (0.5 + FAR) * (high - low))

    def kernel(self, X: Any) -> FloatArray:
        """The combined kernel between samples and the support."""
        return self.cross(X).combine_few(self.weights)

    def encode_compared(self, compared: Compared) -> Encoding:
        """Code samples that were compared with the prototypes."""
        codes = self.encoder.encode(compared.similarities)
        if self.votes is None:
            scores = self.encoder.shares(codes)
        else:
            scores = self.score(compared.resemblances)
        # ||phi(x) - Phi U gamma||^2 of samples of unit norm.
        explained = 2 * codes.multiply(compared.similarities)
        explained -= codes.multiply(codes @ self.encoder.gram)
        errors = np.asarray(np.maximum(0.0, 1.0 - explained.sum(axis=1)))
        return Encoding(codes, scores, errors)

    def score(self, resemblances: FloatArray) -> FloatArray:
        """Class scores of samples from their inner products with what votes."""
        if self.votes is not None:
            return self.votes.scores(resemblances)
        return self.encoder.shares(self.encoder.encode(resemblances))

    def grade(self, resemblances: FloatArray) -> FloatArray:
        """What answers are read from: class scores, or values in a column."""
        return self.score(resemblances) if self.votes is None else self.votes.grade(resemblances)

    def check(self, form: Form) -> None:
        """Raise a ValueError unless all parts belong together, also if they are from a file."""
        n_prototypes, n_support = self.mixes.shape
        gram, shares = self.encoder.gram, self.encoder.class_shares
        self.kernels.check(form)
        check_nonnegative(self.kernels.check_weights(self.weights), "weights of kernels")
        is_right = self.kernels.shape == (n_support, n_support) == (*self.rows.shape, n_support)
        require(is_right, f"there are not {n_support} support samples with their rows")
        is_right = self.contrasts.shape == self.mixes.shape and not (
            self.votes is None and self.contrasts.nnz
        )
        require(is_right, "contrasts do not belong to the prototypes")
        check_nonnegative(self.contrasts.data, "contrasts")
        is_right = gram.shape == (n_prototypes, n_prototypes) and shares.ndim == 2
        require(is_right and len(shares) == n_prototypes, f"not all parts have {n_prototypes} rows")
        require(self.encoder.sparsity >= 1, "a code has no prototypes")
        if self.votes is not None:
            self.votes.check(n_prototypes, shares.shape[1])
        if self.ranges is not None:
            columns = self.kernels.input_columns
            is_right = columns is not None and self.ranges.shape == (columns.size, 2)
            require(is_right, "there is not one range per column")
        if self.expected is not None:
            n_kernels = self.kernels.flattened(self.weights)[0].n_kernels
            is_right = self.expected.shape == (n_support, n_kernels)
            require(is_right, "there is not one expected value per support sample and kernel")


def find_novelty(kernel: FloatArray) -> FloatArray:
    """How unlike samples are to the support sample that each is nearest to, from 0 to 1."""
    return np.asarray(np.clip(1.0 - kernel.max(axis=1), 0.0, 1.0))


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
