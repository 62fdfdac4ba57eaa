"""What is left of a fit: support samples, live kernels and the prototypes made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.model.encode import Encoder, squared_residuals
from imkpl.model.readout import Readout

Decision = Literal["calibrated", "joint", "residual", "share"]

# Similarities of so many samples to the support are held at a time.
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Encoding:
    """What a predictor finds out about some samples.

    Parameters
    ----------
    codes : CSR array of shape (n_samples, n_prototypes)
        Non-negative codes; over the prototypes of the winning class, but for
        ``decision="share"``, where they are over all prototypes.
    scores : array of shape (n_samples, n_classes)
        Class scores.
    errors : array of shape (n_samples,)
        Squared distance of each sample to what its code rebuilds.
    """

    codes: sp.csr_array
    scores: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class Predictor:
    """Codes and scores new samples; touches support samples and live kernels only.

    Parameters
    ----------
    bank : BaseKernelBank
        The kernels of positive weight.
    weights : array of shape (n_live,)
        Their weights, which sum to one.
    columns : int array or None
        The input columns that they read; None for everything.
    samples : samples
        The support samples, cut down to these columns.
    rows : int array of shape (n_support,)
        Where they stood in the training data.
    mixes : CSR array of shape (n_prototypes, n_support)
        The prototypes as mixes of support samples.
    encoder : Encoder
        Inner products and classes of the prototypes.
    decision : {"calibrated", "joint", "residual", "share"}
        How classes are scored: by what their prototypes explain in a code over all prototypes
        ("joint"), with a readout on top of that ("calibrated"), by what they explain on their own,
        or by their share in the code (the paper).
    readout : Readout, optional
        For "calibrated", the map to class logits. Without it scores are those of "joint".
    """

    bank: BaseKernelBank
    weights: FloatArray
    columns: IntArray | None
    samples: Any
    rows: IntArray
    mixes: sp.csr_array
    encoder: Encoder
    decision: Decision
    readout: Readout | None = None

    def encode(self, X: Any) -> Encoding:
        """Code samples, a block at a time."""
        blocks = [self.encode_similarities(block) for block in self._blocks(X)]
        return Encoding(
            sp.csr_array(sp.vstack([block.codes for block in blocks], format="csr")),
            np.concatenate([block.scores for block in blocks]),
            np.concatenate([block.errors for block in blocks]),
        )

    def decide(self, X: Any) -> FloatArray:
        """Class scores of samples, a block at a time, without the codes that explain them."""
        return np.concatenate([self.score(block) for block in self._blocks(X)])

    def _blocks(self, X: Any) -> Iterator[FloatArray]:
        for start in range(0, len(X), BLOCK_ROWS):
            yield self.similarities(X[start : start + BLOCK_ROWS])

    def similarities(self, X: Any) -> FloatArray:
        """Inner products of samples and prototypes."""
        return np.ascontiguousarray((self.mixes @ self.kernel(X).T).T)

    def kernel(self, X: Any) -> FloatArray:
        """The combined kernel between samples and the support."""
        cut = X if self.columns is None else X[:, self.columns]
        return self.bank.combine(self.weights, cut, self.samples)

    def encode_similarities(self, similarities: FloatArray) -> Encoding:
        """Code samples whose inner products with the prototypes are known."""
        scores, codes = self._score(similarities)
        if codes is None or self.decision != "share":
            codes = self.encoder.encode_within(similarities, np.argmax(scores, axis=1))
        errors = squared_residuals(codes, similarities, self.encoder.gram)
        return Encoding(codes, scores, errors)

    def score(self, similarities: FloatArray) -> FloatArray:
        """Class scores of samples whose inner products with the prototypes are known."""
        return self._score(similarities)[0]

    def _score(self, similarities: FloatArray) -> tuple[FloatArray, sp.csr_array | None]:
        """Scores, and the codes over all prototypes where they were needed."""
        encoder = self.encoder
        if self.decision == "residual":
            return encoder.score_classes(similarities), None
        codes = encoder.encode(similarities)
        if self.decision == "share":
            return encoder.shares(codes), codes
        explained = encoder.explained(codes, similarities)
        if self.readout is None:
            return explained, codes
        return self.readout.logits(explained, similarities), codes
