"""Prediction: codes of samples, class scores from codes, and the fitted model that yields both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.solvers import BatchResult, solve_nqp_batch

Decision = Literal["calibrated", "joint", "residual", "share"]

# Number of samples whose similarities to the support are in memory at a time.
BLOCK_ROWS = 4096
# Far below all similarities of unit-norm samples: forbids the choice of a prototype.
FORBIDDEN = -10.0

# The readout: its ridge is this over the number of samples.
RIDGE_TIMES_SAMPLES = 30.0
# Directions of the span of the prototypes with less than this part of the largest variance are
# left out.
SMALLEST_VARIANCE = 1e-6
MAX_STEPS = 200
# The fit ends when a step lowers the loss by less than this part of it. A hundred times less takes
# half as many steps again, and changes less than one decision in a thousand.
SMALLEST_DECREASE = 1e-6


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
        return solve_nqp_batch(self.gram, -2 * similarities, self.sparsity, scale=2.0).x

    def score_classes(self, similarities: FloatArray) -> FloatArray:
        """How well the prototypes of each class alone reconstruct a sample.

        The score of a class is the squared norm that it explains: 1 minus the squared distance of
        the sample to its reconstruction from the prototypes of that class. At the end of a pursuit
        it equals ``similarities . code``, a sum over prototypes and kernels.
        """
        scores = np.zeros((similarities.shape[0], self.class_shares.shape[1]))
        for label in np.unique(self.classes):
            # f = code' G code - 2 s' code, and code' G code = s' code at a stationary point.
            scores[:, label] = -self._pursue_class(label, similarities).value
        return scores

    def encode_within(self, similarities: FloatArray, labels: IntArray) -> sp.csr_array:
        """Codes from the prototypes of a given class per sample."""
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

        In a code found by pursuit, prototype i explains ``gamma_i <phi(x), u_i>``. The sum over all
        prototypes is 1 minus the squared distance of the sample to its reconstruction.
        """
        owners = np.eye(self.class_shares.shape[1])[self.classes]
        return np.asarray(sp.csr_array(codes.multiply(similarities)) @ owners)

    def shares(self, codes: sp.csr_array) -> FloatArray:
        """The paper's class scores: the share of each class in the code (l^q U gamma)."""
        amounts = codes @ self.class_shares
        totals = amounts.sum(axis=1, keepdims=True)
        is_empty = totals == 0
        equal = 1.0 / amounts.shape[1]
        return np.asarray(np.where(is_empty, equal, amounts / np.where(is_empty, 1.0, totals)))


@dataclass(frozen=True, eq=False)
class Readout:
    """Class logits of a coded sample: what the classes explain, corrected by a discriminant.

    What the prototypes of a class explain says how much a sample looks like that class. It does not
    account for a class that is wider than another, or for a feature that decides between two
    classes only. The readout adds, for every class, a function in the span of the prototypes,
    learned by logistic regression with the norm of the function as regulariser:

    ``logits(x) = explained(x) @ mixing + <phi(x), Phi U> @ coefficients``

    It starts at ``temperature * explained`` and departs from it as the training samples require.
    Every summand belongs to one prototype and, through the sum over kernels, to one kernel. There
    is no intercept, so a sample unlike all prototypes has equal logits.
    """

    mixing: FloatArray  # (n_classes, n_classes): from what a class explains (row) to logits
    coefficients: FloatArray  # (n_prototypes, n_classes): from similarities to logits

    def logits(self, explained: FloatArray, similarities: FloatArray) -> FloatArray:
        """Class logits of coded samples."""
        return np.asarray(explained @ self.mixing + similarities @ self.coefficients)


@dataclass(frozen=True, eq=False)
class Encoding:
    """Codes, class scores and reconstruction errors of samples.

    Codes use the prototypes of the predicted class, or all prototypes for ``decision="share"``.
    """

    codes: sp.csr_array  # (n_samples, n_prototypes)
    scores: FloatArray  # (n_samples, n_classes)
    errors: FloatArray  # (n_samples,): squared distances to the reconstructions


@dataclass(frozen=True, eq=False)
class Predictor:
    """Codes and scores new samples; reads support samples and selected kernels only.

    Classes are scored by what their prototypes explain in a code over all prototypes ("joint"),
    with a readout on top of that ("calibrated"), by what they explain alone ("residual"), or by
    their share in the code, as in the paper ("share").
    """

    bank: BaseKernelBank  # the kernels with positive weight
    weights: FloatArray  # their weights, sum to one
    columns: IntArray | None  # the input columns that they read; None for all
    samples: Any  # the support samples, restricted to these columns
    rows: IntArray  # the indices of the support samples in the training data
    mixes: sp.csr_array  # (n_prototypes, n_support): coefficients of the prototypes
    encoder: Encoder
    decision: Decision
    readout: Readout | None = None  # without it, "calibrated" scores are those of "joint"

    def encode(self, X: Any) -> Encoding:
        """Code samples, a block at a time."""
        blocks = [self.encode_similarities(block) for block in self._blocks(X)]
        return Encoding(
            sp.csr_array(sp.vstack([block.codes for block in blocks], format="csr")),
            np.concatenate([block.scores for block in blocks]),
            np.concatenate([block.errors for block in blocks]),
        )

    def decide(self, X: Any) -> FloatArray:
        """Class scores of samples, a block at a time, without codes."""
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
        """Code samples with known similarities to the prototypes."""
        scores, codes = self._score(similarities)
        if codes is None or self.decision != "share":
            codes = self.encoder.encode_within(similarities, np.argmax(scores, axis=1))
        errors = squared_residuals(codes, similarities, self.encoder.gram)
        return Encoding(codes, scores, errors)

    def score(self, similarities: FloatArray) -> FloatArray:
        """Class scores of samples with known similarities to the prototypes."""
        return self._score(similarities)[0]

    def _score(self, similarities: FloatArray) -> tuple[FloatArray, sp.csr_array | None]:
        """Scores, and the codes over all prototypes unless classes are scored one by one."""
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
    return solve_nqp_batch(gram, linear, sparsity, scale=2.0).x


def squared_residuals(
    codes: sp.csr_array, similarities: FloatArray, gram: FloatArray
) -> FloatArray:
    """``||phi(x) - Phi U gamma||^2`` of samples of unit norm."""
    explained = 2 * codes.multiply(similarities) - codes.multiply(codes @ gram)
    return np.asarray(np.maximum(0.0, 1.0 - explained.sum(axis=1)))


def fit_readout(
    explained: FloatArray,
    similarities: FloatArray,
    gram: FloatArray,
    labels: IntArray,
    sample_weight: FloatArray,
    temperature: float,
    max_steps: int = MAX_STEPS,
) -> Readout:
    """Fit the readout by logistic regression on top of ``temperature * explained``.

    The regulariser of the discriminant of a class is its squared norm in the combined space. In
    coordinates in which the Gram matrix of the prototypes is the identity, this is a plain ridge.
    """
    n_classes = explained.shape[1]
    if labels.size == 0:
        return Readout(temperature * np.eye(n_classes), np.zeros((gram.shape[0], n_classes)))
    variances, directions = np.linalg.eigh(gram)
    is_kept = variances > SMALLEST_VARIANCE * variances[-1]
    whitening = directions[:, is_kept] / np.sqrt(variances[is_kept])
    features = np.hstack([explained, similarities @ whitening])
    slopes = fit_logistic(
        features,
        temperature * explained,
        labels,
        sample_weight,
        ridge=RIDGE_TIMES_SAMPLES / sample_weight.sum(),
        max_steps=max_steps,
    )
    mixing = temperature * np.eye(n_classes) + slopes[:n_classes]
    return Readout(mixing, whitening @ slopes[n_classes:])


def fit_logistic(
    features: FloatArray,
    offset: FloatArray,
    labels: IntArray,
    sample_weight: FloatArray,
    *,
    ridge: float,
    max_steps: int = MAX_STEPS,
    tol: float = SMALLEST_DECREASE,
) -> FloatArray:
    """Multinomial logistic regression with an offset.

    Minimises ``-sum_i a_i log softmax(offset_i + features_i @ slopes)[labels_i]
    + ridge / 2 ||slopes||^2``.
    """
    n_features, n_classes = features.shape[1], offset.shape[1]
    wanted = np.eye(n_classes)[labels]

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        slopes = parameters.reshape(n_features, n_classes)
        logs = log_softmax(offset + features @ slopes, axis=1)
        excess = sample_weight[:, None] * (np.exp(logs) - wanted)
        value = -sample_weight @ logs[np.arange(labels.size), labels]
        gradient = features.T @ excess + ridge * slopes
        return float(value + 0.5 * ridge * np.sum(slopes**2)), gradient.ravel()

    start = np.zeros(n_features * n_classes)
    options = {"maxiter": max_steps, "ftol": tol}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(n_features, n_classes))
