"""Time of global alignment kernels, relative to tslearn.

    python benchmarks/alignment.py [--repetitions 5] [shape ...]

Needs tslearn. Both compute the same numbers, of random walks; ours uses all threads, theirs the
better of one and two jobs. They take turns. A ratio is one of minima over the repetitions, of wall
time and of processor time. Compilation is excluded.
"""

import argparse
import time
from functools import partial

import numpy as np

from imkpl.kernels import GlobalAlignment
from imkpl.series import read_series

# Number of series, range of their lengths, channels, and series to compare them with; 0 for a Gram
# matrix.
SHAPES = {
    "gram": (500, (100, 100), 1, 0),
    "cross": (250, (100, 100), 1, 250),
    "channels": (250, (100, 100), 3, 0),
    "short": (500, (20, 20), 1, 0),
    "long": (16, (1000, 1000), 1, 0),
    "unequal": (250, (80, 120), 1, 0),
}


def make_walks(n_series, lengths, n_channels, seed):
    """Random walks, as arrays (n_channels, length)."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(lengths[0], lengths[1] + 1, n_series)
    return [rng.standard_normal((n_channels, size)).cumsum(axis=1) for size in sizes]


def clock(call):
    """Wall time, processor time and result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - wall, time.process_time() - processor, result


def compare(shape, repetitions):
    """Ratios of wall and processor time, the seconds of both, and the largest difference."""
    from tslearn.metrics import cdist_gak
    from tslearn.utils import to_time_series_dataset

    n_series, lengths, n_channels, n_others = SHAPES[shape]
    X = make_walks(n_series, lengths, n_channels, 0)
    Y = make_walks(n_others, lengths, n_channels, 1) if n_others else None
    kernels = GlobalAlignment(length=None, groups={"all": range(n_channels)}).on(X)
    # Our bandwidth is 2 sigma**2, and the rate 1 / sqrt(bandwidth).
    sigma = float(np.sqrt(0.5) / kernels.each[0].rate)
    if Y is not None:
        kernels = kernels.cross(read_series(Y))
    theirs = [
        None if part is None else to_time_series_dataset([x.T for x in part]) for part in (X, Y)
    ]
    calls = {"ours": partial(kernels.evaluate, 0)}
    for n_jobs in (1, 2):
        calls[n_jobs] = partial(cdist_gak, *theirs, sigma=sigma, n_jobs=n_jobs)
    cdist_gak(theirs[0][:3], sigma=sigma)
    calls["ours"]()
    seconds = {name: [] for name in calls}
    results = {}
    for _ in range(repetitions):
        for name, call in calls.items():
            *times, results[name] = clock(call)
            seconds[name].append(times)
    least = {name: np.min(times, axis=0) for name, times in seconds.items()}
    peer = np.minimum(least[1], least[2])
    error = float(np.abs(results["ours"] - results[1]).max())
    return (*(peer / least["ours"]), least["ours"][0], peer[0], error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    for shape in options.shapes:
        wall, processor, ours, peer, error = compare(shape, options.repetitions)
        print(
            f"{shape}: {wall:.1f}x, processor time {processor:.1f}x; {ours:.3f} s "
            f"against {peer:.2f} s, difference {error:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
