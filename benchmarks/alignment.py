"""Gram matrix of global alignment kernels against tslearn's, as a ratio in the same run.

    python benchmarks/alignment.py [--series 500] [--length 100]

Needs tslearn. Both compute the same numbers; ours may use all threads, theirs the better of one
and two jobs. Compilation is left out.
"""

import argparse
import time
from functools import partial

import numpy as np

from imkpl.kernels import GlobalAlignment


def timed(function, repetitions):
    best, result = np.inf, None
    for _ in range(repetitions):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def main():
    from tslearn.metrics import cdist_gak

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("--length", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.series, options.length)).cumsum(axis=1)
    banks = {
        dtype: GlobalAlignment(dtype=dtype).adapt(X[:, np.newaxis])
        for dtype in ("float64", "float32")
    }
    # Our bandwidth is 2 sigma**2.
    sigma = float(np.sqrt(banks["float64"].widths[0] / 2))
    cdist_gak(X[:5], sigma=sigma)
    theirs = np.inf
    for n_jobs in (None, 2):
        seconds, expected = timed(partial(cdist_gak, X, sigma=sigma, n_jobs=n_jobs), 1)
        theirs = min(theirs, seconds)
        print(f"tslearn, n_jobs={n_jobs} {seconds:8.2f} s")
    for dtype, bank in banks.items():
        bank.evaluate(0, X[:20, np.newaxis])
        ours, found = timed(partial(bank.evaluate, 0, X[:, np.newaxis]), 3)
        error = np.abs(found - expected).max()
        print(
            f"imkpl {dtype}    {ours:8.2f} s   ratio {theirs / ours:5.1f}   difference {error:.1e}"
        )


if __name__ == "__main__":
    main()
