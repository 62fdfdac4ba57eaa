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
    """A model of three classes, with contrasts if it votes, and samples that it has not seen."""
    X, y = wine
    settings = {"decision": request.param, "contrast": request.param == "votes"}
    model = IMKPL(sparsity=3, max_kernels=5, n_prototypes=9, **settings)
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
    cells = [[*row, "low" if row[0] < 0 else None] for row in Z[:, :5].tolist()]
    series, words = Z[:, :12].reshape(-1, 2, 6), sp.csr_array(np.maximum(Z, 0).round())
    model, X, new = [
        (IMKPL(n_prototypes=7, contrast=True), Z[::2], Z[1::2]),
        (IMKPL(n_prototypes=40, contrast=False), Z[::2], Z[1::2]),
        (IMKPL(["linear", "rbf"], n_prototypes=9, contrast=False), Z[::2], Z[1::2]),
        (IMKPL("precomputed", n_prototypes=6, contrast=False), K[::2, ::2], K[1::2, ::2]),
        (IMKPL("per_column", n_prototypes=12, contrast=True), cells[::2], cells[1::2]),
        (IMKPL("global_alignment", n_prototypes=6, contrast=True), series[::2], series[1::2]),
        (IMKPL("per_word", n_prototypes=6, contrast=True), words[::2], words[1::2]),
    ][request.param]
    return model.fit(X, y[::2]), new
