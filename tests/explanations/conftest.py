"""Fitted models to explain, one per decision rule."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics.pairwise import rbf_kernel

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


@pytest.fixture(scope="session", params=range(7))
def voters(request):
    """A model of one size and kind with votes, and new samples of its kind."""
    X, y = load_wine(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.stack([rbf_kernel(Z[:, cols], gamma=0.3) for cols in ([0, 1], [6], [9, 12])], axis=-1)
    train, new = np.arange(0, 178, 2), np.arange(1, 178, 2)
    cells = [[*row, "low" if row[0] < 0 else None] for row in Z[:, :5].tolist()]
    series = Z[:, :12].reshape(-1, 2, 6)
    estimator, data = [
        (IMKPL(n_prototypes=7), Z),
        (IMKPL(n_prototypes=40), Z),
        (IMKPL(["linear", "rbf"], n_prototypes=9), Z),
        (IMKPL("precomputed", n_prototypes=6), K),
        (IMKPL("per_column", n_prototypes=12), cells),
        (IMKPL("global_alignment", n_prototypes=6), series),
        (IMKPL("per_word", n_prototypes=6), sp.csr_array(np.maximum(Z, 0).round())),
    ][request.param]
    if data is K:
        return estimator.fit(K[np.ix_(train, train)], y[train]), K[np.ix_(new, train)]
    if data is cells:
        return estimator.fit([cells[i] for i in train], y[train]), [cells[i] for i in new]
    return estimator.fit(data[train], y[train]), data[new]
