"""What all tests share: one seeded generator and one thread."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from imkpl_paper._imkpl import limited_threads

# Pictures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """The problems are so small that waking a second thread takes longer than solving them."""
    with threadpool_limits(1), limited_threads(1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)
