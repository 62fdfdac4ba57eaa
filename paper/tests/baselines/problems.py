"""Small problems for the pieces of the baselines."""

import numpy as np

from imkpl.kernels import PerFeatureGaussian


def make_kernels(rng, n_samples=12, n_kernels=5):
    """Gaussian kernels of random features, and the same kernels as a stack."""
    X = rng.standard_normal((n_samples, n_kernels))
    kernels = PerFeatureGaussian().on(X)
    return kernels, np.array([kernels.evaluate(index) for index in range(n_kernels)])


def numerical_gradient(function, x, step=1e-6):
    """Central differences of a function of an array."""
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient
