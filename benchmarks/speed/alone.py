"""Jobs measured in a process of their own: seconds, and peak memory.

``python benchmarks/speed/alone.py JOB JSON`` writes one line of JSON; `run_alone` reads it.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import data

from shared import timed


def run_alone(job, **options):
    """Run a job in a fresh process and return its measurements."""
    command = [sys.executable, __file__, job, json.dumps(options)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_gigabytes():
    """Peak resident size of this process."""
    # resource.getrusage would start with the peak of the parent process.
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def load_compiled_code():
    """Load the compiled loops, so that no later time includes compilation."""
    from imkpl import IMKPL

    X, y, _, _ = data.make_clusters(400, 20)
    IMKPL(sparsity=3).fit(X, y).predict(X)
    IMKPL(sparsity=3, solver="landmarks", n_landmarks=80).fit(X, y)


def fit(kind, n_samples, n_features, n_test=0, **settings):
    """A whole fit on synthetic data, compilation excluded."""
    from imkpl import IMKPL

    if kind == "clusters":
        X, y, X_test, y_test = data.make_clusters(n_samples, n_features, n_test)
    else:
        X, y = getattr(data, f"make_{kind}")(n_samples, n_features)
    load_compiled_code()
    seconds, model = timed(lambda: IMKPL(**settings).fit(X, y))
    found = {"seconds": seconds, "gigabytes": peak_gigabytes()}
    found["kernels"] = int(np.count_nonzero(model.kernel_weights_))
    found["prototypes"] = model.prototypes_.shape[0]
    if n_test:
        found["accuracy"] = 100 * float(np.mean(model.predict(X_test) == y_test))
    return found


def fit_planted(n_samples, n_features, n_informative=40):
    """A fit to four classes that differ in the first features; the permutation test is timed."""
    from imkpl import IMKPL
    from imkpl.model import kernel_choice

    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 4
    X = rng.standard_normal((n_samples, n_features))
    X[:, :n_informative] += 0.7 * rng.standard_normal((4, n_informative))[y]
    load_compiled_code()
    test, parts = kernel_choice.run_permutation_test, []

    def test_timed(*arguments):
        seconds, found = timed(lambda: test(*arguments))
        parts.append(seconds)
        return found

    kernel_choice.run_permutation_test = test_timed
    seconds, model = timed(lambda: IMKPL().fit(X, y))
    kept = np.flatnonzero(model.kernel_weights_)
    return {
        "seconds": seconds,
        "test": sum(parts),
        "gigabytes": peak_gigabytes(),
        "kernels": kept.size,
        "right": int(np.count_nonzero(kept < n_informative)),
    }


def fit_wide(path, n_samples, n_features, y, informative, **settings):
    """A fit on a table that stays on disk."""
    from imkpl import IMKPL
    from imkpl.kernels import ArrayColumns

    load_compiled_code()
    table = np.memmap(path, np.float32, "r", shape=(n_samples, n_features))
    seconds, model = timed(lambda: IMKPL(**settings).fit(ArrayColumns(table), np.array(y)))
    kept = np.flatnonzero(model.kernel_weights_)
    return {
        "seconds": seconds,
        "gigabytes": peak_gigabytes(),
        "kept": int(kept.size),
        "found": int(np.isin(informative, kept).sum()),
    }


def fit_tall(path, in_memory=False, n_test=20_000, n_predicted=0, **settings):
    """A fit on a Parquet file of many rows, read a block at a time or into an array."""
    from imkpl import IMKPL
    from imkpl.kernels import ParquetColumns

    load_compiled_code()
    X, y = ParquetColumns(path).split("y")
    if in_memory:
        source, X = X, np.empty(X.shape)
        for start, block in source.row_blocks(np.arange(len(source))):
            X[start : start + len(block)] = block
    begun = time.process_time()
    seconds, model = timed(lambda: IMKPL(**settings).fit(X, y))
    found = {"seconds": seconds, "gigabytes": peak_gigabytes()}
    found["processor"] = time.process_time() - begun
    X_test, y_test = data.make_tall(n_test, X.shape[1])
    found["accuracy"] = 100 * float(np.mean(model.predict(X_test) == y_test))
    if n_predicted:
        found["predicting"], _ = timed(lambda: model.predict(X[np.arange(n_predicted)]))
    return found


FIRST_USES = {
    "fit": "from imkpl import IMKPL; from sklearn.datasets import load_wine; "
    "IMKPL().fit(*load_wine(return_X_y=True))",
    "predict": "import imkpl, numpy; imkpl.load({model!r}).predict(numpy.ones((20, 13)))",
    "import": "import imkpl; imkpl.IMKPL",
    "libraries": "import numba, scipy.sparse, sklearn.base",
}


def time_first(use, cache=None, **names):
    """Seconds of a first use in a fresh process, with all imports.

    `cache` is the folder of compiled code, an empty one where nothing has been compiled yet.
    """
    # The clock starts before anything but `time` is imported.
    code = (
        "import time; start = time.perf_counter()\n"
        f"{FIRST_USES[use].format(**names)}\n"
        "print(time.perf_counter() - start)"
    )
    folder = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | folder
    )
    return float(done.stdout)


JOBS = {"fit": fit, "fit_planted": fit_planted, "fit_wide": fit_wide, "fit_tall": fit_tall}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))) + "\n")
