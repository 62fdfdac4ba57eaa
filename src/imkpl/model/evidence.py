"""Class scores as sums over prototypes and kernels.

The combined kernel is a sum over kernels, and a class score is a sum over prototypes that is linear
in the similarities once the code is known. So every score is exactly the sum of a table with one
row per prototype and one column per kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import take_samples
from imkpl.model.predictor import BLOCK_ROWS, Encoding, Predictor

# Number of entries of the tables in memory at a time.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for each class, sample by sample.

    The voting codes are those from which classes were scored: codes over all prototypes, or, for
    ``decision="residual"``, the codes of all classes side by side.
    """

    predictor: Predictor
    samples: Any  # restricted to the columns that the model reads
    similarities: FloatArray  # (n_samples, n_prototypes)
    voting_codes: sp.csr_array  # (n_samples, n_prototypes)
    encoding: Encoding

    @property
    def base_scores(self) -> FloatArray:
        """Class scores without any prototype, of shape (n_samples, n_classes).

        Zero, except for empty codes with ``decision="share"``, where all classes score the same.
        """
        base = np.zeros_like(self.encoding.scores)
        if self.predictor.decision == "share":
            is_empty = self.voting_codes.sum(axis=1) == 0
            base[is_empty] = self.encoding.scores[is_empty]
        return base

    def take(self, rows: IntArray) -> Evidence:
        """The evidence of some of the samples."""
        encoding = self.encoding
        return Evidence(
            self.predictor,
            take_samples(self.samples, rows),
            self.similarities[rows],
            self.voting_codes[rows],
            Encoding(encoding.codes[rows], encoding.scores[rows], encoding.errors[rows]),
        )

    def factors(self, row: int) -> FloatArray:
        """What a unit of similarity to each prototype adds to each class score."""
        predictor, code = self.predictor, self.voting_codes[[row]].toarray().ravel()
        encoder = predictor.encoder
        if predictor.decision == "share":
            amounts = code[:, np.newaxis] * encoder.class_shares
            total = amounts.sum()
            return np.asarray(amounts / total if total > 0 else amounts)
        owners = np.eye(encoder.class_shares.shape[1])[encoder.classes]
        if predictor.readout is None:
            return np.asarray(code[:, np.newaxis] * owners)
        readout = predictor.readout
        return np.asarray(code[:, np.newaxis] * (owners @ readout.mixing) + readout.coefficients)

    def by_prototype(self, row: int) -> FloatArray:
        """What each prototype adds to each class score."""
        if self.predictor.decision == "share":
            return self.factors(row)
        return self.similarities[row, :, np.newaxis] * self.factors(row)

    def by_kernel(self) -> FloatArray:
        """What each kernel adds to each class score."""
        predictor = self.predictor
        n_classes = self.encoding.scores.shape[1]
        totals = np.empty((len(self.similarities), predictor.weights.size, n_classes))
        for rows, parts in self.split_similarities():
            for place, row in enumerate(rows):
                totals[row] = parts[place].T @ self.factors(row)
        return totals

    def table(self, row: int) -> FloatArray:
        """What each kernel adds to each class score through each prototype."""
        parts = self.similarity_parts(np.array([row]))[0]
        return np.asarray(parts[:, :, np.newaxis] * self.factors(row)[:, np.newaxis, :])

    def split_similarities(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Row numbers and `similarity_parts` of a block of samples at a time."""
        n_samples, n_prototypes = self.similarities.shape
        entries = n_prototypes * self.predictor.weights.size
        step = int(np.clip(BLOCK_ENTRIES // max(1, entries), 1, BLOCK_ROWS))
        for start in range(0, n_samples, step):
            rows = np.arange(start, min(start + step, n_samples))
            yield rows, self.similarity_parts(rows)

    def similarity_parts(self, rows: IntArray) -> FloatArray:
        """Similarities to the prototypes, split by kernels.

        For ``decision="share"`` they are divided by the whole similarity: a prototype then adds its
        share of the code, and its kernels share that as they share the similarity.
        """
        predictor = self.predictor
        chosen = take_samples(self.samples, rows)
        parts = np.empty((rows.size, predictor.mixes.shape[0], predictor.weights.size))
        for kernel, weight in enumerate(predictor.weights):
            values = predictor.bank.evaluate(kernel, chosen, predictor.samples)
            parts[:, :, kernel] = weight * (predictor.mixes @ values.T).T
        if predictor.decision == "share":
            whole = parts.sum(axis=2, keepdims=True)
            # If kernels take negative values, a code may use a prototype unlike the sample.
            is_split = whole > 0
            return np.where(is_split, parts / np.where(is_split, whole, 1.0), predictor.weights)
        return parts


def collect_evidence(predictor: Predictor, X: Any) -> Evidence:
    """Score samples and keep the parts of their scores."""
    samples = X if predictor.columns is None else X[:, predictor.columns]
    similarities = np.concatenate(
        [
            predictor.similarities(X[start : start + BLOCK_ROWS])
            for start in range(0, len(X), BLOCK_ROWS)
        ]
    )
    encoder = predictor.encoder
    if predictor.decision == "residual":
        labels = range(encoder.class_shares.shape[1])
        everyone = np.ones(len(similarities), dtype=np.intp)
        codes = [encoder.encode_within(similarities, label * everyone) for label in labels]
        voting = sp.csr_array(sum(codes[1:], start=codes[0]))
    else:
        voting = encoder.encode(similarities)
    encoding = predictor.encode_similarities(similarities)
    return Evidence(predictor, samples, similarities, voting, encoding)
