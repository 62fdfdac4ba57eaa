"""Small problems for the pieces of the baselines."""

import numpy as np

from imkpl.kernels import PerFeatureGaussian
from imkpl_paper.baselines._kernels import KernelOperator


def make_operator(rng, n_samples=12, n_kernels=5):
    """Gaussian kernels of random features, and the same kernels as a stack."""
    X = rng.standard_normal((n_samples, n_kernels))
    bank = PerFeatureGaussian().adapt(X)
    stack = np.array([bank.evaluate(index, X) for index in range(n_kernels)])
    return KernelOperator.over(bank, X, n_samples), stack


def numerical_gradient(function, x, step=1e-6):
    """Central differences of a function of an array."""
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient
