"""What all tests share: one seeded generator, and small arrays that nobody can write to."""

import os

import numpy as np
import pytest

from imkpl._threads import limited_threads
from imkpl.model import size

# Pictures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """The number of prototypes is chosen between two by two folds, but for tests of that choice.

    Most of the time of a fit to so few samples would go into the choice.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not item.get_closest_marker("folds"):
            patch.setattr(size, "PER_CLASS", size.PER_CLASS[:2])
            patch.setattr(size, "MORE_FOLDS", 2)
            patch.setattr(size, "FEWER_FOLDS", 2)
        return (yield)


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
