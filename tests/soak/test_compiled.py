"""Loops give the same bits in the process that compiles them and in those that find them cached."""

import os
import subprocess
import sys

import pytest

FIT = """
import hashlib
from sklearn.datasets import load_digits
from imkpl import IMKPL

X, y = load_digits(return_X_y=True)
model = IMKPL(sparsity=5, max_iter=3).fit(X[:300], y[:300])
learned = model.predict_proba(X).tobytes() + model.kernel_weights_.tobytes()
print(hashlib.sha256(learned).hexdigest())
"""


@pytest.mark.soak
def test_a_fit_that_compiles_its_loops_equals_one_that_finds_them(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", FIT]
    cold, warm = (
        subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=600
        ).stdout
        for _ in range(2)
    )
    assert cold == warm
