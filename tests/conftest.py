"""What all tests share: one seeded generator, and small arrays that nobody can write to."""

import os

import numpy as np
import pytest

from imkpl._threads import limited_threads

# Pictures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def _one_thread(request):
    """One thread, but for tests of threads.

    Their problems are so small that waking a second thread takes longer than solving them, and
    pytest-xdist uses the other processors.
    """
    if request.node.get_closest_marker("threads"):
        yield
        return
    with limited_threads(1, pin_blas=True):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def two_blobs():
    """Forty samples of two classes that features 0 and 1 separate and features 2 and 3 do not."""
    generator = np.random.default_rng(7)
    y = np.repeat([0, 1], 20)
    X = generator.standard_normal((40, 4))
    X[:, :2] += 4 * y[:, None]
    X.flags.writeable = y.flags.writeable = False
    return X, y
