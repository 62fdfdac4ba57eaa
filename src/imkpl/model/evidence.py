"""Class scores as sums over prototypes and kernels.

The combined kernel is a sum over kernels, and a class score is a mean over its prototypes. So every
score is exactly the sum of a table with one row per prototype, one column per kernel, one for the
bonuses of prototypes, and one for the rest, which is about their number. Of values, the classes are
two sides: the prototypes whose values are above the estimate, and the others.
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
from imkpl.model.predictor import BLOCK_ROWS, Compared, Encoding, Predictor

# Number of entries of the tables in memory at a time, 32 MB.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for each class, sample by sample."""

    predictor: Predictor
    samples: Any  # as the kernels read them
    compared: Compared
    encoding: Encoding

    @property
    def similarities(self) -> FloatArray:
        """Inner products of samples and prototypes."""
        return self.compared.similarities

    @cached_property
    def kernels(self) -> Kernels:
        """The kernels between all samples and the support, whose cells can be shown."""
        return self.predictor.cross(self.samples)

    def compare(self, rows: IntArray) -> Kernels:
        """The kernels between some samples and the support."""
        return self.predictor.cross(take_samples(self.samples, rows))

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
            Compared(*(part[rows] for part in self.compared)),
            Encoding(encoding.codes[rows], encoding.scores[rows], encoding.errors[rows]),
        )

    def factors(self, row: int) -> FloatArray:
        """The part of each prototype in each class score: its share of the votes or of the code."""
        votes, code = self.predictor.votes, self.encoding.codes[[row]].toarray().ravel()
        if votes is not None:
            resemblances = self.compared.resemblances[[row]]
            owners = np.eye(self.encoding.scores.shape[1])[votes.sides(resemblances)[0]]
            return np.asarray(owners * votes.parts(resemblances)[0][:, np.newaxis])
        amounts = code[:, np.newaxis] * self.predictor.encoder.class_shares
        total = amounts.sum()
        return np.asarray(amounts / total if total > 0 else amounts)

    def by_prototype(self, row: int) -> FloatArray:
        """What each prototype adds to each class score."""
        factors = self.factors(row)
        return factors if self.predictor.votes is None else factors * self.encoding.scores[row]

    def by_kernel(self) -> FloatArray:
        """What each kernel, the bonuses and the rest add to each class score."""
        n_samples, n_classes = self.encoding.scores.shape
        totals = np.empty((n_samples, self.predictor.weights.size + 2, n_classes))
        for rows, parts in self.split_similarities():
            for place, row in enumerate(rows):
                totals[row] = self.split_words(row, parts[place]).T @ self.factors(row)
        return totals

    def table(self, row: int) -> FloatArray:
        """What each kernel, the bonus and the rest add to each class score by each prototype."""
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
        """Resemblances to the prototypes, split by kernels: likeness minus that to contrasts."""
        predictor = self.predictor
        return predictor.weights * self.compare(rows).compare_mixes(predictor.voting)

    def split_words(self, row: int, parts: FloatArray) -> FloatArray:
        """The class score of each prototype, or 1 with shares: by kernels, bonus, and the rest.

        With votes a class score is ``z_j + b_j - log(r_j) / t``, which is the same for all
        prototypes j of the class, minus the mean of this over the runner-up's; r_j is the share of
        a prototype in the votes for its class. Kernels have their parts of the resemblances z_j.
        The rest is that of the logarithms: the more prototypes share the votes, the larger.
        """
        votes, scores = self.predictor.votes, self.encoding.scores[row]
        if votes is None:
            # If kernels take negative values, a code may use a prototype unlike the sample.
            whole = parts.sum(axis=1, keepdims=True)
            words = np.where(
                whole > 0, parts / np.where(whole > 0, whole, 1.0), self.predictor.weights
            )
            return np.pad(words, ((0, 0), (0, 2)))
        words = np.column_stack([parts, votes.bonuses])
        runner_up = np.argsort(-scores, kind="stable")[1]
        words -= self.factors(row)[:, runner_up] @ words
        sides = votes.sides(self.compared.resemblances[[row]])[0]
        return np.column_stack([words, scores[sides] - words.sum(axis=1)])


def collect_evidence(predictor: Predictor, X: Any) -> Evidence:
    """Score samples and keep the parts of their scores."""
    compared = predictor.compare(X)
    return Evidence(predictor, X, compared, predictor.encode_compared(compared))
