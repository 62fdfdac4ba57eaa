"""Long and loaded runs (``make soak``), and short ones of each in the default run."""

import gc
import json
import os
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from imkpl import IMKPL
from soak import jobs

FOLDER = pathlib.Path(__file__).parent
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Memory is read from /proc.")
# A run that hangs is a failure, on a slow machine too.
PATIENCE = 7200


def run(script, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, FOLDER / script, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip("Numba does not have this threading layer here.")
    # A crash of the interpreter is a negative number.
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def open_copies(n_copies):
    """What came of so many altered model files; no promise is broken by any.

    No other exception, no code, no file written, no memory beyond the limit.
    """
    found = json.loads(run("altered_files.py", str(n_copies), NUMBA_NUM_THREADS="1"))
    assert found["broken"] == []
    outcomes = found["outcomes"]
    assert sum(outcomes.values()) == n_copies
    # Without forgeries that load, the reader would not have been tested.
    for name in ("damage: refused", "forge_array: refused", "forge_document: refused"):
        assert outcomes[name] > 0
    assert any(name.startswith("forge") and name.endswith(" model") for name in outcomes)


@ON_LINUX
def test_altered_files_give_a_model_or_a_sentence():
    open_copies(120)


@ON_LINUX
@pytest.mark.soak
def test_ten_thousand_altered_files_give_a_model_or_a_sentence():
    open_copies(10_000)


def check_sharing(*ways, n_models, n_rounds):
    shown = run("shared_model.py", str(n_models), str(n_rounds), *ways, NUMBA_NUM_THREADS="2")
    assert shown == "same"


def test_threads_and_processes_get_the_same_bits():
    # The threads of the parent that share its loops are not in a forked process.
    ways = ["threads", "fork"] if hasattr(os, "fork") else ["threads"]
    check_sharing(*ways, n_models=1, n_rounds=1)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["threads", "fork", "spawn", "forkserver", "loky"])
def test_threads_and_processes_get_the_same_bits_for_long(how):
    check_sharing(how, n_models=2, n_rounds=25)


@ON_LINUX
@pytest.mark.soak
def test_five_hundred_fits_leave_memory_flat():
    measured = [one for one in json.loads(run("jobs.py", "500")) if one["fits"] > 100]
    assert len(measured) == 16
    # Between the last and the first quarter lie 300 fits, and a model has far more than 17 objects.
    for what, most in (("resident", 20), ("blocks", 5000)):
        values = np.array([one[what] for one in measured])
        assert np.median(values[-4:]) - np.median(values[:4]) < most


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


FIT = """
import hashlib
from sklearn.datasets import load_digits
from imkpl import IMKPL

X, y = load_digits(return_X_y=True)
model = IMKPL(sparsity=5, n_prototypes=15, max_iter=3).fit(X[:300], y[:300])
learned = model.predict_proba(X).tobytes() + model.kernel_weights_.tobytes()
print(hashlib.sha256(learned).hexdigest())
"""


@pytest.mark.soak
def test_a_fit_that_compiles_its_loops_equals_one_that_finds_them_cached(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", FIT]
    cold, warm = (
        subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert cold == warm


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="There is one core.")
def test_a_fit_has_the_same_bits_for_any_number_of_blas_threads():
    # Enough samples for products that are shared among threads.
    X, y = load_digits(return_X_y=True)
    found = set()
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            model = IMKPL(n_prototypes=100, max_iter=3, tol=1.0).fit(X[:600], y[:600])
        found.add(model.codes_.data.tobytes() + model.kernel_weights_.tobytes())
    assert len(found) == 1
