"""The Gaussian kernel on whole vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from imkpl._typing import FloatArray
from imkpl.kernels.bandwidth import root_mean_squared_difference
from imkpl.kernels.checks import check_vectors
from imkpl.kernels.kernel import BaseKernel

# Largest error of a squared distance, in bandwidths, that the expanded square may make.
_TOLERANCE = 1e-11
# Squares of larger numbers may overflow when many features add up.
MOST = 1e150


@dataclass(frozen=True)
class Gaussian(BaseKernel):
    """``k(x, y) = exp(-||x - y||**2 / bandwidth)``.

    Parameters
    ----------
    bandwidth : float, optional
        The squared width. When None, `adapt` sets it to the mean squared distance over all
        ordered pairs of training samples; samples without any spread get the constant kernel 1
        (an infinite bandwidth).
    learns_bandwidth : bool
        Set by `adapt`: the bandwidth was learned, and another `adapt` learns it again.

    Examples
    --------
    >>> kernel = Gaussian().adapt(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> round(kernel.bandwidth, 9)
    12.5
    >>> bool(np.isclose(kernel([[0.0, 0.0]], [[3.0, 4.0]])[0, 0], np.exp(-2.0)))
    True
    """

    bandwidth: float | None = None
    learns_bandwidth: bool = False

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise ValueError(
                f"Gaussian(bandwidth={self.bandwidth}) must be positive. Leave it out to learn it "
                "from the training part."
            )

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: a Gaussian kernel is 1 at distance 0."""
        return True

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Gaussian:
        """The kernel with the mean squared distance of X as bandwidth, unless one was given."""
        if self.bandwidth is not None and not self.learns_bandwidth:
            return self
        roots = root_mean_squared_difference(X, sample_weight)
        with np.errstate(over="ignore"):
            spread = float(np.sum(roots**2))
        if spread == np.inf:
            raise ValueError(
                f"The features spread by up to {roots.max():.3g}, expected less than {MOST:.0e}: "
                "squared distances overflow. Divide the features by their standard deviations."
            )
        return replace(self, bandwidth=spread if spread > 0 else np.inf, learns_bandwidth=True)

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""
        if self.bandwidth is None:
            raise ValueError(
                "The bandwidth of this Gaussian is not known yet. Call adapt(X) with the training "
                "part and use the kernel that it returns, or give a bandwidth."
            )
        left = np.asarray(check_vectors(X), dtype=np.float64)
        right = left if Y is None else np.asarray(check_vectors(Y, "Y"), dtype=np.float64)
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"X has {left.shape[1]} columns and Y has {right.shape[1]}, expected the same "
                "number. Pass samples with the columns of the training part."
            )
        if self.bandwidth == np.inf:
            return np.ones((left.shape[0], right.shape[0]))
        for array, name in ((left, "X"), (right, "Y")):
            if np.abs(array).max(initial=0.0) > MOST:
                raise ValueError(
                    f"{name} holds numbers of up to {np.abs(array).max():.3g}, expected less than "
                    f"{MOST:.0e}: squared distances overflow. Divide the features by their "
                    "standard deviations."
                )
        distances = _squared_distances(left, right, self.bandwidth)
        if Y is None:
            np.fill_diagonal(distances, 0.0)
        # An infinite quotient is a kernel value of 0.
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-distances / self.bandwidth))


def _squared_distances(left: FloatArray, right: FloatArray, bandwidth: float) -> FloatArray:
    # Distances do not change with the origin, and the expanded square is exact near it.
    center = right.mean(axis=0)
    left, right = left - center, right - center
    left_norms = np.einsum("ij,ij->i", left, left)
    right_norms = np.einsum("ij,ij->i", right, right)
    largest = max(left_norms.max(initial=0.0), right_norms.max(initial=0.0))
    if largest * np.finfo(np.float64).eps > _TOLERANCE * bandwidth:
        return np.asarray(cdist(left, right, "sqeuclidean"))
    distances = left @ (-2.0 * right.T)
    distances += left_norms[:, np.newaxis]
    distances += right_norms
    return np.maximum(distances, 0.0, out=distances)
