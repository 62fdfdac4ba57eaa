"""Measures of a prototype model: interpretability (IP), discrimination (DR), stability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import LARGEST, check_nonnegative, require

__all__ = [
    "discrimination_score",
    "interpretability_score",
    "n_selected_kernels",
    "selection_stability",
]

# A normal variable is within this many standard deviations with probability 0.95.
NORMAL_95 = 1.959964


def interpretability_score(
    prototypes: Any, labels: ArrayLike, kernel: ArrayLike | None = None
) -> float:
    """Compute IP: the mean over prototypes of purity times compactness, in percent.

    IP is high if prototypes consist of close samples of one class:
    ``IP = 100 / c * sum_i (l^q u_i / ||L u_i||_1) * exp(-sum_st u_si u_ti ||phi_s - phi_t||^2)``
    where q is the class that holds most of prototype i. A prototype that is a single sample has IP
    100, whichever sample it is: report IP beside the number of samples per prototype and of
    prototypes per class.

    Parameters
    ----------
    prototypes : array or sparse array of shape (n_prototypes, n_samples)
        Coefficients of the samples, not negative.
    labels : array of shape (n_samples,)
        Class of each sample.
    kernel : array of shape (n_samples, n_samples), optional
        The combined kernel. When None, the prototypes have unit norm in a kernel of unit diagonal,
        as those of a fitted estimator do; the sum in the exponent is then
        ``2 (sum_s u_s)^2 - 2``.

    Returns
    -------
    float
        IP between 0 and 100.

    Examples
    --------
    >>> interpretability_score([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    100.0
    >>> interpretability_score([[0.5, 0.5]], ["a", "b"], [[1.0, 1.0], [1.0, 1.0]])
    50.0
    """
    rows = _as_rows(prototypes, "prototypes")
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    _check_lengths(rows.shape[1], codes.size, "columns of prototypes", "labels")
    require(
        codes.size,
        "prototypes have no columns, expected one per training sample. Pass prototypes_ of a "
        "fitted model.",
    )
    indicator = sp.csr_array(
        (np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, classes.size)
    )
    # Sizes are sums over classes, so that no class holds more than the size by round-off.
    held = rows @ indicator
    sizes = held.sum(axis=1)
    is_empty = sizes == 0
    largest = held.max(axis=1).toarray().ravel()
    purity = np.where(is_empty, 0.0, largest / np.where(is_empty, 1.0, sizes))
    if kernel is None:
        spread = 2 * sizes**2 - 2
    else:
        K = np.asarray(kernel, dtype=np.float64)
        _check_lengths(K.shape[0], codes.size, "rows of kernel", "labels")
        # sum_st u_s u_t (K_ss + K_tt - 2 K_st) = 2 (sum_s u_s)(sum_s u_s K_ss) - 2 u'Ku.
        norms = np.asarray((rows.multiply(rows @ K)).sum(axis=1)).ravel()
        spread = 2 * sizes * (rows @ np.diagonal(K)) - 2 * norms
    compactness = np.exp(-np.maximum(spread, 0.0))
    return float(100 * np.mean(purity * compactness)) if sizes.size else 0.0


def discrimination_score(codes: Any, labels: ArrayLike, prototype_classes: ArrayLike) -> float:
    """Compute DR: the mean share of a prototype's codes that goes to its own class, in percent.

    DR is high if each prototype represents its own class alone:
    ``DR = 100 / c * sum_i sum_{s: y_s = q_i} gamma_is / ||gamma^i||_1``. Unused prototypes are left
    out of the mean. With labels at random, the expected share of a prototype is that of its class
    among the samples.

    Parameters
    ----------
    codes : array or sparse array of shape (n_samples, n_prototypes)
        Codes in which the prototypes of all classes compete, of test samples in the paper; not
        negative. Codes limited to the prototypes of a predicted class say only how accurate the
        predictions are.
    labels : array of shape (n_samples,)
        Class of each sample.
    prototype_classes : array of shape (n_prototypes,)
        Class of each prototype.

    Returns
    -------
    float
        DR between 0 and 100.

    Examples
    --------
    >>> discrimination_score([[1.0, 0.0], [1.0, 3.0]], ["a", "b"], ["a", "b"])
    75.0
    """
    amounts = sp.coo_array(_as_rows(codes, "codes"))
    y, owners = np.asarray(labels), np.asarray(prototype_classes)
    _check_lengths(amounts.shape[0], y.size, "rows of codes", "labels")
    _check_lengths(amounts.shape[1], owners.size, "columns of codes", "prototype_classes")
    rows, columns = amounts.coords
    is_own = y[rows] == owners[columns]
    totals = np.bincount(columns, amounts.data, minlength=owners.size)
    own = np.bincount(columns[is_own], amounts.data[is_own], minlength=owners.size)
    is_used = totals > 0
    return float(100 * np.mean(own[is_used] / totals[is_used])) if is_used.any() else 0.0


def n_selected_kernels(weights: ArrayLike) -> int:
    """Count the kernels that have a weight: ``||beta||_0``.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
        Non-negative kernel weights.

    Returns
    -------
    int
        The number of selected kernels.

    Examples
    --------
    >>> n_selected_kernels([0.7, 0.0, 0.3])
    2
    """
    array = np.asarray(weights, dtype=np.float64)
    check_nonnegative(array, "weights")
    return int(np.count_nonzero(array))


def selection_stability(chosen: ArrayLike) -> tuple[float, tuple[float, float]]:
    """Compute how alike several choices of features are, corrected for chance.

    Nogueira's index compares the variance of each feature's choice with that of features drawn at
    random, as many as are chosen on average: ``1 - mean_f s_f^2 / (q (1 - q))`` where ``s_f^2``
    is the unbiased variance of feature f over the choices and q the mean share of features chosen.
    The interval takes the choices as independent; those on overlapping parts of the same data are
    not, so it tells how the index varies with the parts drawn, not with new data.

    Parameters
    ----------
    chosen : array-like of shape (n_choices, n_features)
        Whether each choice takes each feature: zeros and ones, or weights.

    Returns
    -------
    score : float
        Nogueira's index: 1 for equal choices, about 0 for random ones; NaN where every choice takes
        all features, or none.
    interval : tuple (float, float)
        Its 95 % confidence interval, cut off at 1.

    References
    ----------
    S. Nogueira, K. Sechidis and G. Brown, "On the stability of feature selection algorithms",
    Journal of Machine Learning Research 18 (174), 2018.

    Examples
    --------
    >>> selection_stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])[0]
    0.333...
    """
    rows = _as_rows(chosen, "choices")
    n_choices, n_features = rows.shape
    require(
        n_choices >= 2 and n_features,
        f"choices have shape {rows.shape}, expected (n_choices, n_features) with at least 2 "
        "choices to compare. Pass one row of zeros and ones for each choice.",
    )
    taken = (rows.toarray() > 0).astype(np.float64)
    # Means over features: of each choice, and of all.
    shares, frequencies = taken.mean(axis=1), taken.mean(axis=0)
    share = shares.mean()
    by_chance = share * (1 - share)
    if by_chance == 0:
        return np.nan, (np.nan, np.nan)
    variances = frequencies * (1 - frequencies) * n_choices / (n_choices - 1)
    score = 1 - variances.mean() / by_chance
    # The influence of each choice on the index.
    slope = 2 * shares * share - shares - share + 1
    influences = taken @ frequencies / n_features - shares * share + score / 2 * slope
    influences /= by_chance
    margin = NORMAL_95 * 2 * influences.std() / np.sqrt(n_choices)
    return float(score), (float(score - margin), min(1.0, float(score + margin)))


def wilson_interval(share: float, n: float) -> list[float]:
    """Wilson's 95 % interval of a share of `n` draws."""
    squared = NORMAL_95**2 / n
    center, width = share + squared / 2, (squared * (share * (1 - share) + squared / 4)) ** 0.5
    return [float((center + side * width) / (1 + squared)) for side in (-1, 1)]


def _as_rows(values: Any, name: str) -> sp.csr_array:
    """A matrix of finite numbers that are not negative, as a sparse one."""
    if not sp.issparse(values):
        # A tuple of three rows would be taken for the parts of a sparse matrix.
        try:
            values = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} of type {type(values).__name__} cannot be read as numbers, expected an "
                "array or a sparse array of two axes. Convert them first."
            ) from error
    require(
        values.ndim == 2,
        f"{name} have shape {values.shape}, expected two axes. Use reshape(1, -1) for one row.",
    )
    rows = sp.csr_array(values, dtype=np.float64)
    check_nonnegative(rows.data, name)
    require(
        rows.data.max(initial=0.0) <= LARGEST,
        f"{name} have entries beyond {LARGEST:.0e}, expected values that can be squared. Divide "
        "them, or take them from a fitted model as they are.",
    )
    return rows


def _check_lengths(found: int, expected: int, what: str, other: str) -> None:
    """Raise unless two counts agree."""
    require(
        found == expected,
        f"There are {found} {what} but {expected} {other}, expected as many of each. Pass arrays "
        "that belong to the same samples.",
    )
