"""Class logits from a coded sample: what the classes explain, corrected by a discriminant.

What the prototypes of a class explain says how much a sample looks like that class. It does not
know that one class is wider than another, or that a feature decides only between two of them. The
readout adds, for every class, a function of the span of the prototypes, learned by logistic
regression with the norm of the function as its regulariser:

``logits(x) = explained(x) @ mixing + <phi(x), Phi U> @ coefficients``

It starts at ``temperature * explained`` and departs from it where the training samples ask for it.
Every summand belongs to one prototype, and through the sum over kernels to one kernel. There is no
intercept, so that a sample unlike anything has equal logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from imkpl._typing import FloatArray, IntArray

# Ridge on the discriminant, beside the sum of log losses, is this over the number of samples.
RIDGE_TIMES_SAMPLES = 30.0
# Directions of the prototypes' span with less than this part of the largest variance are left out.
SMALLEST_VARIANCE = 1e-6
MAX_STEPS = 200
# The fit ends when a step lowers the loss by less than this part of it. A hundred times finer takes
# half as many steps again and changes no decision in a thousand.
SMALLEST_DECREASE = 1e-6


@dataclass(frozen=True, eq=False)
class Readout:
    """The fitted map from explained norms and similarities to class logits.

    Parameters
    ----------
    mixing : array of shape (n_classes, n_classes)
        What a unit explained by one class (row) adds to the logit of another (column).
    coefficients : array of shape (n_prototypes, n_classes)
        What a unit of similarity to a prototype adds to the logit of a class.
    """

    mixing: FloatArray
    coefficients: FloatArray

    def logits(self, explained: FloatArray, similarities: FloatArray) -> FloatArray:
        """Class logits of coded samples."""
        return np.asarray(explained @ self.mixing + similarities @ self.coefficients)


def fit_readout(
    explained: FloatArray,
    similarities: FloatArray,
    gram: FloatArray,
    labels: IntArray,
    sample_weight: FloatArray,
    temperature: float,
    max_steps: int = MAX_STEPS,
) -> Readout:
    """Logistic regression on top of ``temperature * explained``.

    The regulariser of the discriminant of a class is its squared norm in the combined space, which
    is a plain ridge in coordinates in which the prototypes' Gram matrix is the identity.
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
