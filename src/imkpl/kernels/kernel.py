"""What a kernel promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imkpl._typing import FloatArray
from imkpl.kernels.blocks import count_samples, take_samples


class BaseKernel(ABC):
    """A similarity k(x, y) = <phi(x), phi(y)> between two samples, lifted to matrices.

    A kernel is a small immutable object. It holds parameters, never data.
    """

    @property
    def requires_vector_input(self) -> bool:
        """Whether the samples must be rows of a numeric 2-D array."""
        return True

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether k(x, x) = 1 for every x by construction."""
        return False

    @property
    def label(self) -> str:
        """The name shown to people."""
        return type(self).__name__.lower()

    @abstractmethod
    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""

    def diagonal(self, X: Any) -> FloatArray:
        """k(x, x) for every sample of X.

        Parameters
        ----------
        X : samples
            The samples.

        Returns
        -------
        array of shape (n_samples,)
            The squared norms in feature space.
        """
        n_samples = count_samples(X)
        if self.has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples,))
        singles = (take_samples(X, np.array([i])) for i in range(n_samples))
        return np.array([self(x, x)[0, 0] for x in singles], dtype=np.float64)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernel:
        """The kernel whose data-dependent parameters are learned from X; itself without any.

        Parameters
        ----------
        X : samples
            The training part.
        sample_weight : array of shape (n_samples,), optional
            An integer weight counts as so many copies of the sample.

        Returns
        -------
        BaseKernel
            A kernel with all parameters known.
        """
        return self
