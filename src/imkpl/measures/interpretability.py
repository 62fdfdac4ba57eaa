"""IP: are prototypes made of close samples of one class?"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import as_rows, check_lengths, check_nonnegative
from imkpl._typing import FloatArray


class InterpretabilityParts(NamedTuple):
    """IP and what it is made of.

    Parameters
    ----------
    score : float
        IP, between 0 and 100.
    purity : array of shape (n_prototypes,)
        Share of each prototype's coefficients that lies in its own class.
    compactness : array of shape (n_prototypes,)
        ``exp(-sum_st u_s u_t ||phi_s - phi_t||^2)``: 1 for a single sample.
    """

    score: float
    purity: FloatArray
    compactness: FloatArray


@overload
def interpretability_score(
    prototypes: Any,
    labels: ArrayLike,
    kernel: ArrayLike | None = ...,
    *,
    absolute: bool = ...,
    return_parts: Literal[False] = ...,
) -> float: ...
@overload
def interpretability_score(
    prototypes: Any,
    labels: ArrayLike,
    kernel: ArrayLike | None = ...,
    *,
    absolute: bool = ...,
    return_parts: Literal[True],
) -> InterpretabilityParts: ...
def interpretability_score(
    prototypes: Any,
    labels: ArrayLike,
    kernel: ArrayLike | None = None,
    *,
    absolute: bool = False,
    return_parts: bool = False,
) -> float | InterpretabilityParts:
    """IP: the mean over prototypes of purity times compactness, in percent.

    ``IP = 100 / c * sum_i (l^q u_i / ||L u_i||_1) * exp(-sum_st u_si u_ti ||phi_s - phi_t||^2)``
    with q the class that holds most of prototype i.

    Parameters
    ----------
    prototypes : array or sparse array of shape (n_prototypes, n_samples)
        Mixes of samples, non-negative unless `absolute` is set.
    labels : array of shape (n_samples,)
        Class of each sample.
    kernel : array of shape (n_samples, n_samples), optional
        The combined kernel. When None, the prototypes have unit norm in a kernel of unit diagonal,
        as those of a fitted estimator do; the sum in the exponent is then
        ``2 (sum_s u_s)^2 - 2``.
    absolute : bool
        For mixes of any sign, as those of :mod:`imkpl_paper.baselines`: take the sizes of the
        coefficients and scale them to unit norm. Needs the kernel.
    return_parts : bool
        Whether to return the parts beside the score.

    Returns
    -------
    float or InterpretabilityParts
        IP between 0 and 100, with its parts on request.

    Examples
    --------
    >>> interpretability_score([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    100.0
    >>> interpretability_score([[0.5, 0.5]], ["a", "b"], [[1.0, 1.0], [1.0, 1.0]])
    50.0
    """
    mixes = as_rows(prototypes, "prototypes")
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    check_lengths(mixes.shape[1], codes.size, "columns of prototypes", "labels")
    if codes.size == 0:
        raise ValueError(
            "prototypes have no columns, expected one per training sample. Take them from a fitted "
            "model as they are."
        )
    if absolute:
        check_nonnegative(np.abs(mixes.data), "sizes of prototypes")
        mixes = _scale_sizes(mixes, kernel)
    check_nonnegative(mixes.data, "prototypes")
    indicator = sp.csr_array(
        (np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, classes.size)
    )
    # Sizes are sums of what the classes hold, so that no class holds more than all, to the bit.
    held = mixes @ indicator
    sizes = held.sum(axis=1)
    is_empty = sizes == 0
    largest = held.max(axis=1).toarray().ravel()
    purity = np.where(is_empty, 0.0, largest / np.where(is_empty, 1.0, sizes))
    if kernel is None:
        spread = 2 * sizes**2 - 2
    else:
        K = np.asarray(kernel, dtype=np.float64)
        check_lengths(K.shape[0], codes.size, "rows of kernel", "labels")
        # sum_st u_s u_t (K_ss + K_tt - 2 K_st) = 2 (sum_s u_s)(sum_s u_s K_ss) - 2 u'Ku.
        norms = np.asarray((mixes.multiply(mixes @ K)).sum(axis=1)).ravel()
        spread = 2 * sizes * (mixes @ np.diagonal(K)) - 2 * norms
    compactness = np.exp(-np.maximum(spread, 0.0))
    score = float(100 * np.mean(purity * compactness)) if sizes.size else 0.0
    return InterpretabilityParts(score, purity, compactness) if return_parts else score


def _scale_sizes(mixes: sp.csr_array, kernel: ArrayLike | None) -> sp.csr_array:
    """``|u|``, of unit norm; empty mixes stay empty."""
    if kernel is None:
        raise ValueError(
            "absolute=True got no kernel, expected the combined kernel of the samples: taking "
            "sizes changes the norm of a prototype. Pass it, or use class_shares_ of a fitted "
            "estimator in the place of its prototypes."
        )
    K = np.asarray(kernel, dtype=np.float64)
    check_lengths(K.shape[0], mixes.shape[1], "rows of kernel", "labels")
    sizes = abs(mixes)
    norms = np.sqrt(sizes.multiply(sizes @ K).sum(axis=1))
    factors = 1 / np.where(norms > 0, norms, 1.0)
    return sp.csr_array(sizes.multiply(factors[:, np.newaxis]))
