"""Fitted models to draw, and no figure left open."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_wine

from imkpl import IMKPL


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def wine():
    """A model of three classes and its data."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[y]
    return IMKPL(sparsity=3, max_kernels=5, n_prototypes=9).fit(X, labels), X, labels


@pytest.fixture(scope="session")
def hostile():
    """The same with names that a careless drawing would take for something else."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = ["$x_1$", "<script>alert(1)</script>", "_hidden", "a\nb", "much too " * 20 + "long"]
    X.columns = [*names, *(f"{i} %s {{}}" for i in range(X.shape[1] - len(names)))]
    labels = np.array(["$\\frac$", "_private", "<b>"])[y]
    return IMKPL(sparsity=2, n_prototypes=6).fit(X, labels), X, labels


@pytest.fixture(scope="session")
def series():
    """A model of two classes that differ by a bump in the middle of channel 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = 0.3 * rng.standard_normal((30, 2, 20))
    X[y == 1, 1, 8:12] += 3
    return IMKPL("global_alignment", sparsity=3, n_prototypes=4).fit(X, y), X, y


@pytest.fixture(params=["prototypes", "evidence", "effects", "reliability"])
def draw(request):
    """Every display as a function of model, samples and labels."""
    from imkpl import plots

    return {
        "prototypes": lambda m, X, y, **kw: plots.PrototypesDisplay.from_estimator(m, X, **kw),
        "evidence": lambda m, X, y, **kw: plots.EvidenceDisplay.from_estimator(m, **kw),
        "effects": lambda m, X, y, **kw: plots.EffectsDisplay.from_estimator(m, X[::9], **kw),
        "reliability": lambda m, X, y, **kw: plots.ReliabilityDisplay.from_estimator(
            m, X[::4], y[::4], **kw
        ),
    }[request.param]
