"""DR: does each prototype represent its own class alone?"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import as_rows, check_lengths, check_nonnegative
from imkpl._typing import FloatArray


class DiscriminationParts(NamedTuple):
    """DR and what it is made of.

    Parameters
    ----------
    score : float
        DR, between 0 and 100, over the prototypes in use.
    exclusiveness : array of shape (n_prototypes,)
        Share of each prototype's codes that belongs to samples of its own class; NaN for a
        prototype that no code uses.
    used_share : float
        Share of prototypes that at least one code uses.
    """

    score: float
    exclusiveness: FloatArray
    used_share: float


@overload
def discrimination_score(
    codes: Any,
    labels: ArrayLike,
    prototype_classes: ArrayLike,
    *,
    absolute: bool = ...,
    return_parts: Literal[False] = ...,
) -> float: ...
@overload
def discrimination_score(
    codes: Any,
    labels: ArrayLike,
    prototype_classes: ArrayLike,
    *,
    absolute: bool = ...,
    return_parts: Literal[True],
) -> DiscriminationParts: ...
def discrimination_score(
    codes: Any,
    labels: ArrayLike,
    prototype_classes: ArrayLike,
    *,
    absolute: bool = False,
    return_parts: bool = False,
) -> float | DiscriminationParts:
    """DR: the mean over prototypes of the share of codes that go to their own class, in percent.

    ``DR = 100 / c * sum_i sum_{s: y_s = q_i} gamma_is / ||gamma^i||_1``. A prototype that no code
    uses represents nothing, right or wrong: it is left out of the mean and counted in
    ``used_share``.

    Parameters
    ----------
    codes : array or sparse array of shape (n_samples, n_prototypes)
        Codes, of test samples in the paper; non-negative unless `absolute` is set.
    labels : array of shape (n_samples,)
        Class of each sample.
    prototype_classes : array of shape (n_prototypes,)
        Class of each prototype.
    absolute : bool
        For codes of any sign, as those of :mod:`imkpl_paper.baselines`: take their sizes.
    return_parts : bool
        Whether to return the parts beside the score.

    Returns
    -------
    float or DiscriminationParts
        DR between 0 and 100, with its parts on request.

    Examples
    --------
    >>> discrimination_score([[1.0, 0.0], [1.0, 3.0]], ["a", "b"], ["a", "b"])
    75.0
    """
    given = as_rows(codes, "codes")
    mixes = sp.coo_array(abs(given) if absolute else given)
    y, owners = np.asarray(labels), np.asarray(prototype_classes)
    check_lengths(mixes.shape[0], y.size, "rows of codes", "labels")
    check_lengths(mixes.shape[1], owners.size, "columns of codes", "prototype_classes")
    check_nonnegative(mixes.data, "codes")
    rows, columns = mixes.coords
    is_own = y[rows] == owners[columns]
    totals = np.bincount(columns, mixes.data, minlength=owners.size)
    own = np.bincount(columns[is_own], mixes.data[is_own], minlength=owners.size)
    is_used = totals > 0
    exclusiveness = np.full(owners.size, np.nan)
    exclusiveness[is_used] = own[is_used] / totals[is_used]
    score = float(100 * exclusiveness[is_used].mean()) if is_used.any() else 0.0
    used_share = float(is_used.mean()) if owners.size else 0.0
    return DiscriminationParts(score, exclusiveness, used_share) if return_parts else score
