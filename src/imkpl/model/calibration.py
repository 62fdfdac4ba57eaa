"""Calibration on left-out training samples: probabilities, and a threshold of novelty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from imkpl._checks import take_fields
from imkpl._typing import FloatArray, IntArray
from imkpl.model.predictor import FORBIDDEN, Predictor, find_novelty


@dataclass(frozen=True, eq=False)
class CalibrationSamples:
    """Training samples by which scores become probabilities, each left out of the model."""

    similarities: FloatArray  # (n_samples, n_prototypes) inner products with the prototypes
    resemblances: FloatArray  # the same with prototypes minus contrasts
    labels: IntArray
    sample_weight: FloatArray
    novelty: FloatArray | None = None  # (n_samples,), if it is known

    def usable(self, prototype_classes: IntArray) -> CalibrationSamples:
        """The samples whose class has a prototype left without them."""
        is_own = prototype_classes == self.labels[:, np.newaxis]
        keep = np.any(is_own & (self.similarities > FORBIDDEN), axis=1)
        return CalibrationSamples(**take_fields(self, self.__dataclass_fields__, keep))


def leave_out(
    prototypes: sp.csr_array, kernel: FloatArray, persons: IntArray | None = None
) -> FloatArray:
    """Similarity of each training sample to the prototypes, its own part in them taken out.

    With `persons`, the part of all samples of the same person.

    Without sample i, of squared norm k_i, a unit-norm prototype u has the squared norm
    ``1 - 2 u_i s_i + u_i^2 k_i`` and the similarity ``s_i - u_i k_i`` to it, where ``s_i`` is the
    full one. A prototype that consists of the sample alone may not be used.
    """
    left = np.ascontiguousarray((prototypes @ kernel).T)
    if persons is not None:
        for samples, part, own in iterate_persons(prototypes, kernel, persons):
            full = left[samples]
            norms = 1 - 2 * np.einsum("js,sj->j", part, full) + np.einsum("js,js->j", part, own)
            # What is left of a prototype without the person, if anything is.
            is_alone = prototypes.sum(axis=1) - part.sum(axis=1) <= TINY
            rest = (full - own.T) / np.sqrt(np.where(is_alone, 1.0, np.maximum(norms, TINY)))
            left[samples] = np.where(is_alone, FORBIDDEN, rest)
        return left
    entries = prototypes.tocoo()
    owners, samples = entries.coords
    part, full, square = entries.data, left[samples, owners], np.diagonal(kernel)[samples]
    norms = 1 - 2 * part * full + part**2 * square
    is_alone = (np.diff(prototypes.indptr)[owners] == 1) | (norms <= 0)
    rest = (full - part * square) / np.sqrt(np.where(is_alone, 1.0, norms))
    left[samples, owners] = np.where(is_alone, FORBIDDEN, rest)
    return left


# A sum of coefficients, or a squared norm, that is nothing but rounding.
TINY = 1e-12


def iterate_persons(
    mixes: sp.csr_array, kernel: FloatArray, persons: IntArray
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """For every person in the mixes their samples, part in every mix, and its inner products."""
    for person in np.unique(persons[mixes.indices]):
        samples = np.flatnonzero(persons == person)
        part = mixes[:, samples].toarray()
        yield samples, part, part @ kernel[np.ix_(samples, samples)]


def leave_out_novelty(
    kernel: FloatArray, support: IntArray, persons: IntArray | None = None
) -> FloatArray:
    """The novelty of training samples for a model whose support they are not in."""
    owners = np.arange(kernel.shape[0]) if persons is None else persons
    return find_novelty(np.where(owners[:, None] == owners[support], FORBIDDEN, kernel[:, support]))


def leave_out_contrasts(
    contrasts: sp.csr_array, kernel: FloatArray, persons: IntArray | None = None
) -> FloatArray:
    """Inner products of training samples with the contrasts, their own part in them taken out."""
    left = np.ascontiguousarray((contrasts @ kernel).T)
    if persons is not None:
        for samples, _, own in iterate_persons(contrasts, kernel, persons):
            left[samples] -= own.T
        return left
    entries = contrasts.tocoo()
    owners, samples = entries.coords
    left[samples, owners] -= entries.data * np.diagonal(kernel)[samples]
    return left


# Scores lie between 0 and 1; outside this range of exponents a softmax is flat or one-hot.
LOG_RANGE = (-1.0, 8.0)


def calibrate(predictor: Predictor, samples: CalibrationSamples) -> float:
    """The temperature for samples that had no part in the model."""
    scores = predictor.grade(samples.resemblances)
    return find_temperature(scores, samples.labels, samples.sample_weight)


def find_temperature(scores: FloatArray, labels: IntArray, sample_weight: FloatArray) -> float:
    """The factor t for which ``softmax(t * scores)`` has the smallest log loss."""
    if labels.size == 0:
        return 1.0
    weight = sample_weight / sample_weight.sum()
    # One pseudo-sample, so that scores without any error do not give probabilities of one.
    smooth = 1.0 / (labels.size + 2.0)

    def loss(log_factor: float) -> float:
        logs = log_softmax(np.exp(log_factor) * scores, axis=1)
        right = logs[np.arange(labels.size), labels]
        return -float(weight @ ((1 - smooth) * right + smooth * logs.mean(axis=1)))

    found = minimize_scalar(loss, bounds=LOG_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


# The share of the training weight whose novelty counts as usual, and the largest usual novelty:
# less than 1, which is that of values far outside of training.
USUAL, MOST_NOVEL = 0.99, 1 - 1e-9


def find_novelty_threshold(samples: CalibrationSamples) -> float:
    """The novelty that the `USUAL` share stays within."""
    novelty, weights = samples.novelty, samples.sample_weight
    if novelty is None or novelty.size == 0:
        return MOST_NOVEL
    usual = np.quantile(novelty, USUAL, weights=weights, method="inverted_cdf")
    return min(float(usual), MOST_NOVEL)
