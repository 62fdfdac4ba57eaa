"""Memory stays flat from fit to fit."""

import gc
import json
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest

from soak import jobs

# Warm-up: every kind of model was fitted, reported and drawn once, and what is kept once is kept.
WARM_UP = 100
# What the fits after that may add, in MiB of resident memory and in Python objects. 300 fits lie
# between the two quarters that are compared, and a model is made of far more than 17 objects.
MOST_MEBIBYTES = 20
MOST_BLOCKS = 5000


def growth(measured, what):
    """The difference of medians between the last and the first quarter."""
    values = np.array([one[what] for one in measured])
    quarter = len(values) // 4
    return np.median(values[-quarter:]) - np.median(values[:quarter])


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="Memory is read from /proc.")
def test_five_hundred_fits_leave_memory_flat():
    script = pathlib.Path(jobs.__file__)
    done = subprocess.run(
        [sys.executable, script, "500"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    measured = [one for one in json.loads(done.stdout) if one["fits"] > WARM_UP]
    assert len(measured) == 16
    assert growth(measured, "resident") < MOST_MEBIBYTES
    assert growth(measured, "blocks") < MOST_BLOCKS


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_nothing_refers_to_a_model_that_is_gone(kind):
    make_model, make_data = jobs.KINDS[kind]
    X, y = make_data(0)
    model = make_model().fit(X, y)
    model.predict(X) if hasattr(model, "predict") else model.transform(X)
    held = [weakref.ref(model), *(weakref.ref(one) for one in (X, y) if hasattr(one, "base"))]
    del model, X, y
    gc.collect()
    assert [one() for one in held] == [None] * len(held)
