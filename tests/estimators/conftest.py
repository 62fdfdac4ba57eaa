"""Small data for the estimators, which nobody can write to."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine


def split(X, y):
    """A third to train on, a third to predict, read-only."""
    part = SimpleNamespace(X=X[::3], y=y[::3], new=X[1::3], new_y=y[1::3])
    for name, array in vars(part).items():
        setattr(part, name, np.ascontiguousarray(array))
        getattr(part, name).flags.writeable = False
    return part


@pytest.fixture(scope="session")
def wine():
    return split(*load_wine(return_X_y=True))


@pytest.fixture(scope="session")
def iris():
    return split(*load_iris(return_X_y=True))


@pytest.fixture(scope="session")
def stacks(wine):
    """The kernels of five features between all samples: samples, samples, kernels."""
    X = np.concatenate([wine.X, wine.new])[:, :5]
    widths = 2 * X.var(axis=0)
    K = np.exp(-((X[:, None] - X) ** 2) / widths)
    K.flags.writeable = False
    return K, np.concatenate([wine.y, wine.new_y])
