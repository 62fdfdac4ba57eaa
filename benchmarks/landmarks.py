"""What landmarks cost in accuracy, where few features are informative.

``python benchmarks/landmarks.py`` compares four fits on draws of each data set: to all samples, and
to landmarks drawn in the learned kernel (the default), in the average kernel, and at random.
"""

from __future__ import annotations

import argparse
import time
from unittest.mock import patch

import numpy as np
from sklearn.datasets import make_classification

from imkpl import IMKPL
from imkpl.estimators import _kernels
from shared import as_table

# Informative features, classes, clusters per class.
DATA = {
    "5 of 100, 4 classes": (5, 4, 2),
    "3 of 100, 2 classes": (3, 2, 3),
    "10 of 100, 4 classes": (10, 4, 2),
}
CHOOSE = _kernels.choose_landmarks


def make(name, n_samples, seed):
    """Samples whose other features are noise."""
    n_informative, n_classes, n_clusters = DATA[name]
    return make_classification(
        n_samples,
        100,
        n_informative=n_informative,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=n_clusters,
        flip_y=0.02,
        random_state=seed,
    )


def in_average_kernel(*arguments, kernel_weights=None, **options):
    """Landmarks as they are drawn first."""
    return CHOOSE(*arguments, **options)


def at_random(kernels, labels, sample_weight, n_landmarks, *, seed, **options):
    """As many landmarks of every class, all drawn with the same chance."""
    average, _ = CHOOSE(kernels, labels, sample_weight, n_landmarks, seed=seed, **options)
    rng, chosen = np.random.default_rng(seed), []
    for q in np.unique(labels):
        members = np.flatnonzero(labels == q)
        n_own = np.count_nonzero(labels[average] == q)
        chosen.append(np.sort(rng.choice(members, n_own, replace=False)))
    indices = np.sort(np.concatenate(chosen))
    totals, counts = np.bincount(labels, sample_weight), np.bincount(labels[indices])
    return indices, (totals / counts)[labels[indices]]


WAYS = {"learned": CHOOSE, "average": in_average_kernel, "random": at_random}


def measure(name, way, seed, n_samples, n_landmarks, n_test=20_000):
    """Accuracy in percent, and processor time."""
    X, y = make(name, n_samples + n_test, seed)
    begun = time.process_time()
    if way == "exact":
        model = IMKPL(solver="exact").fit(X[n_test:], y[n_test:])
    else:
        with patch.object(_kernels, "choose_landmarks", WAYS[way]):
            model = IMKPL(solver="landmarks", n_landmarks=n_landmarks, random_state=seed)
            model.fit(X[n_test:], y[n_test:])
    seconds = time.process_time() - begun
    return 100 * float(np.mean(model.predict(X[:n_test]) == y[:n_test])), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--landmarks", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    ways, rows = ["exact", *WAYS], []
    for name in DATA:
        found = {way: [] for way in ways}
        for seed in range(options.draws):
            for way in ways:
                found[way].append(measure(name, way, seed, options.samples, options.landmarks))
                print(name, seed, way, *np.round(found[way][-1], 2), flush=True)
        scores = {way: np.array([score for score, _ in found[way]]) for way in ways}
        losses = [scores["exact"] - scores[way] for way in WAYS]
        said = [f"{loss.mean():.2f} ({loss.min():.2f} to {loss.max():.2f})" for loss in losses]
        seconds = [np.mean([second for _, second in found[way]]) for way in ("exact", "learned")]
        exact = f"{scores['exact'].mean():.1f}"
        rows.append([name, exact, *said, f"{seconds[0]:.0f} s, {seconds[1]:.0f} s"])
    head = ["informative", "exact", *(f"lost, {way}" for way in WAYS), "exact, learned"]
    print(as_table(head, rows))


if __name__ == "__main__":
    main()
