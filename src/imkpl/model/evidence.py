"""Class scores as sums over prototypes and kernels.

The combined kernel is a sum over kernels, and a class score is a mean over its prototypes. So every
score is exactly the sum of a table with one row per prototype and one column per kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import Kernels
from imkpl.kernels.base import take_samples
from imkpl.model.predictor import BLOCK_ROWS, Encoding, Predictor

# Number of entries of the tables in memory at a time, 32 MB.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for each class, sample by sample."""

    predictor: Predictor
    samples: Any  # as the kernels read them
    similarities: FloatArray  # (n_samples, n_prototypes)
    encoding: Encoding

    @cached_property
    def kernels(self) -> Kernels:
        """The kernels between all samples and the support, whose cells can be shown."""
        return self.predictor.kernels.cross(self.samples)

    def compare(self, rows: IntArray) -> Kernels:
        """The kernels between some samples and the support."""
        return self.predictor.kernels.cross(take_samples(self.samples, rows))

    @property
    def base_scores(self) -> FloatArray:
        """Class scores without any prototype: zero, or equal for empty codes with shares."""
        base = np.zeros_like(self.encoding.scores)
        if self.predictor.votes is None:
            is_empty = self.encoding.codes.sum(axis=1) == 0
            base[is_empty] = self.encoding.scores[is_empty]
        return base

    def take(self, rows: IntArray) -> Evidence:
        """The evidence of some of the samples."""
        encoding = self.encoding
        return Evidence(
            self.predictor,
            take_samples(self.samples, rows),
            self.similarities[rows],
            Encoding(encoding.codes[rows], encoding.scores[rows], encoding.errors[rows]),
        )

    def factors(self, row: int) -> FloatArray:
        """The part of each prototype in each class score: its share of the votes or of the code."""
        votes, code = self.predictor.votes, self.encoding.codes[[row]].toarray().ravel()
        if votes is not None:
            owners = np.eye(self.encoding.scores.shape[1])[votes.classes]
            return np.asarray(owners * votes.parts(self.similarities[[row]])[0][:, np.newaxis])
        amounts = code[:, np.newaxis] * self.predictor.encoder.class_shares
        total = amounts.sum()
        return np.asarray(amounts / total if total > 0 else amounts)

    def by_prototype(self, row: int) -> FloatArray:
        """What each prototype adds to each class score."""
        factors = self.factors(row)
        return factors if self.predictor.votes is None else factors * self.encoding.scores[row]

    def by_kernel(self) -> FloatArray:
        """What each kernel adds to each class score."""
        n_samples, n_classes = self.encoding.scores.shape
        totals = np.empty((n_samples, self.predictor.weights.size, n_classes))
        for rows, parts in self.split_similarities():
            for place, row in enumerate(rows):
                totals[row] = self.split_words(row, parts[place]).T @ self.factors(row)
        return totals

    def table(self, row: int) -> FloatArray:
        """What each kernel adds to each class score through each prototype."""
        words = self.split_words(row, self.similarity_parts(np.array([row]))[0])
        return np.asarray(words[:, :, np.newaxis] * self.factors(row)[:, np.newaxis, :])

    def split_similarities(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Row numbers and `similarity_parts` of a block of samples at a time."""
        n_samples, n_prototypes = self.similarities.shape
        entries = n_prototypes * self.predictor.weights.size
        step = int(np.clip(BLOCK_ENTRIES // max(1, entries), 1, BLOCK_ROWS))
        for start in range(0, n_samples, step):
            rows = np.arange(start, min(start + step, n_samples))
            yield rows, self.similarity_parts(rows)

    def similarity_parts(self, rows: IntArray) -> FloatArray:
        """Similarities to the prototypes, split by kernels."""
        predictor = self.predictor
        return predictor.weights * self.compare(rows).compare_mixes(predictor.mixes)

    def split_words(self, row: int, parts: FloatArray) -> FloatArray:
        """The class score of each prototype, or 1 with shares, split by kernels as its similarity.

        With votes a class score is a mean of ``s_j + b_j - log(r_j) / t`` over its prototypes minus
        that of the runner-up, r_j being the share of prototype j in the votes for the class. The
        terms are equal. The kernels have their parts of the similarity s_j, and of the rest as much
        as they weigh.
        """
        predictor, whole = self.predictor, parts.sum(axis=1, keepdims=True)
        if predictor.votes is not None:
            scores = self.encoding.scores[row][predictor.votes.classes, np.newaxis]
            return np.asarray(parts + (scores - whole) * predictor.weights)
        # If kernels take negative values, a code may use a prototype unlike the sample.
        is_split = whole > 0
        return np.where(is_split, parts / np.where(is_split, whole, 1.0), predictor.weights)


def collect_evidence(predictor: Predictor, X: Any) -> Evidence:
    """Score samples and keep the parts of their scores."""
    similarities = predictor.compare(X)
    return Evidence(predictor, X, similarities, predictor.encode_similarities(similarities))
