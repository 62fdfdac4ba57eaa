"""Time of a Gram matrix of global alignment kernels, relative to tslearn.

    python benchmarks/alignment.py [--series 500] [--length 100] [--repetitions 5]

Needs tslearn. Both compute the same numbers; ours uses all threads, theirs the better of one and
two jobs. Every repetition times both in turns and has its own ratio. Ours is short, so it is timed
three times after each of theirs, and the median counts. Compilation is excluded.
"""

import argparse
from functools import partial

import numpy as np

from imkpl.kernels import GlobalAlignment
from shared import timed

DTYPES = ("float64", "float32")


def main():
    from tslearn.metrics import cdist_gak

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.series, options.length)).cumsum(axis=1)
    banks = {dtype: GlobalAlignment(dtype=dtype).adapt(X[:, np.newaxis]) for dtype in DTYPES}
    # Our bandwidth is 2 sigma**2.
    sigma = float(np.sqrt(banks["float64"].kernels.widths[0] / 2))
    cdist_gak(X[:5], sigma=sigma)
    for bank in banks.values():
        bank.evaluate(0, X[:20, np.newaxis])
    ratios, errors = {dtype: [] for dtype in DTYPES}, {}
    for _ in range(options.repetitions):
        theirs, ours = [], {dtype: [] for dtype in DTYPES}
        for n_jobs in (None, 2):
            seconds, expected = timed(partial(cdist_gak, X, sigma=sigma, n_jobs=n_jobs))
            theirs.append(seconds)
            for dtype, bank in banks.items():
                for _ in range(3):
                    seconds, found = timed(partial(bank.evaluate, 0, X[:, np.newaxis]))
                    ours[dtype].append(seconds)
                errors[dtype] = np.abs(found - expected).max()
        line = f"tslearn {theirs[0]:.2f} s, two jobs {theirs[1]:.2f} s"
        for dtype in DTYPES:
            ratios[dtype].append(min(theirs) / np.median(ours[dtype]))
            line += f"; {dtype} {np.median(ours[dtype]):.2f} s, {ratios[dtype][-1]:.1f}x"
        print(line, flush=True)
    for dtype, found in ratios.items():
        spread = f"{np.median(found):.1f}x, from {min(found):.1f}x to {max(found):.1f}x"
        print(f"{dtype}: {spread}, difference {errors[dtype]:.1e}")


if __name__ == "__main__":
    main()
