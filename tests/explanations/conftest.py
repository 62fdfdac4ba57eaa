"""Fitted models to explain, one per decision rule."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from imkpl import IMKPL

DECISIONS = ("votes", "share")


@pytest.fixture(scope="session")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    return X, np.array(["Barolo", "Grignolino", "Barbera"])[y]


@pytest.fixture(scope="session", params=DECISIONS)
def fitted(request, wine):
    """A model of three classes, and samples that it has not seen."""
    X, y = wine
    model = IMKPL(sparsity=3, max_kernels=5, n_prototypes=9, decision=request.param)
    model.fit(X[::2], y[::2])
    return model, X[1::2]


@pytest.fixture(scope="session", params=DECISIONS)
def fitted_two(request):
    """The same for two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    model = IMKPL(sparsity=3, max_kernels=5, n_prototypes=9, decision=request.param)
    model.fit(X[:150], y[:150])
    return model, X[150:170]
