"""Calibration on left-out training samples: probabilities, and a threshold of novelty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from imkpl._typing import FloatArray, IntArray
from imkpl.model.predictor import FORBIDDEN, Encoder, Predictor, squared_residuals


@dataclass(frozen=True, eq=False)
class CalibrationSamples:
    """Training samples by which scores are turned into probabilities."""

    similarities: FloatArray  # (n_samples, n_prototypes) inner products with the prototypes
    left_out: FloatArray  # the same, each sample's own part in the prototypes taken out
    labels: IntArray
    sample_weight: FloatArray

    def usable(self, prototype_classes: IntArray) -> CalibrationSamples:
        """The samples whose class has a prototype left without them."""
        is_own = prototype_classes == self.labels[:, np.newaxis]
        keep = np.any(is_own & (self.left_out > FORBIDDEN), axis=1)
        return CalibrationSamples(
            self.similarities[keep],
            self.left_out[keep],
            self.labels[keep],
            self.sample_weight[keep],
        )


def leave_one_out_similarities(
    similarities: FloatArray,
    prototypes: sp.csr_array,
    squares: FloatArray,
    multiplicity: FloatArray,
) -> FloatArray:
    """Similarity of each training sample to the prototypes, its own part in them taken out.

    Without sample i, of squared norm k_i, a unit-norm prototype u has the squared norm
    ``1 - 2 u_i s_i + u_i^2 k_i`` and the similarity ``s_i - u_i k_i`` to it, where ``s_i`` is the
    full one. A prototype that consists of the sample alone may not be used. Where a sample stands
    for two or more, leaving one out leaves the others in the prototypes, and nothing changes.
    """
    left = similarities.copy()
    entries = prototypes.tocoo()
    is_last = multiplicity[entries.coords[1]] < 2
    owners, samples = (places[is_last] for places in entries.coords)
    part, full, square = entries.data[is_last], similarities[samples, owners], squares[samples]
    norms = 1 - 2 * part * full + part**2 * square
    is_alone = np.diff(prototypes.indptr)[owners] == 1
    rest = (full - part * square) / np.sqrt(np.where(is_alone | (norms <= 0), 1.0, norms))
    left[samples, owners] = np.where(is_alone | (norms <= 0), FORBIDDEN, rest)
    return left


# Scores lie between 0 and 1; outside this range of exponents a softmax is flat or one-hot.
LOG_RANGE = (-1.0, 8.0)


def calibrate(predictor: Predictor, samples: CalibrationSamples) -> float:
    """The temperature: the factor t for which ``softmax(t * scores)`` has the smallest log loss."""
    labels = samples.labels
    if labels.size == 0:
        return 1.0
    scores = predictor.score(samples.left_out)
    weight = samples.sample_weight / samples.sample_weight.sum()
    # One pseudo-sample, so that scores without any error do not give probabilities of one.
    smooth = 1.0 / (labels.size + 2.0)

    def loss(log_factor: float) -> float:
        logs = log_softmax(np.exp(log_factor) * scores, axis=1)
        right = logs[np.arange(labels.size), labels]
        return -float(weight @ ((1 - smooth) * right + smooth * logs.mean(axis=1)))

    found = minimize_scalar(loss, bounds=LOG_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


# The share of the training weight whose reconstruction error counts as usual.
USUAL = 0.99


def find_novelty_threshold(encoder: Encoder, samples: CalibrationSamples) -> float:
    """The error that the `USUAL` share stays within, coded without their own part in prototypes."""
    if samples.labels.size == 0:
        return 1.0
    codes = encoder.encode(samples.left_out)
    errors = squared_residuals(codes, samples.left_out, encoder.gram)
    weight = samples.sample_weight
    return float(np.quantile(errors, USUAL, weights=weight, method="inverted_cdf"))
