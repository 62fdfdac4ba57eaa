"""Accuracy, kernels, IP and DR of the methods that the paper compares with, on three data sets.

``python paper/benchmarks/baselines.py`` prints a row per data set and method, mean and standard
deviation over stratified 70/30 splits with the split's number as seed; ``--data tox500 --methods
MIDL`` runs some of them. TOX_171 is read from the folder that IMKPL_DATA names; "tox500" are its
500 features of largest variance. Sizes are those of the paper's T0: 10 for iris and wine, 18 for
TOX_171.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection
from imkpl_paper.datasets import load

METHODS: dict[str, Callable[[int], Any]] = {
    "PS greedy": lambda size: PrototypeSelection(),
    "PS lp": lambda size: PrototypeSelection(method="lp"),
    "AKGLVQ dense": lambda size: AKGLVQ(sparsity=None),
    "AKGLVQ 20": lambda size: AKGLVQ(),
    "DKMLD reg=0.1": lambda size: DKMLD(n_levels=size),
    "DKMLD reg=1": lambda size: DKMLD(n_levels=size, reg=1.0),
    "MIDL ridge=0.3": lambda size: MIDL(n_per_class=size, code_sparsity=size, ridge=0.3),
    "MIDL ridge=0.03": lambda size: MIDL(n_per_class=size, code_sparsity=size, ridge=0.03),
    "MKLDPL ridge=0.3": lambda size: MKLDPL(n_per_class=size, ridge=0.3),
    "MKLDPL ridge=0.03": lambda size: MKLDPL(n_per_class=size, ridge=0.03),
}


def load_tox() -> tuple[Any, Any]:
    data = load("TOX_171", download=False)
    return data.X, data.y


def load_widest_tox() -> tuple[Any, Any]:
    X, y = load_tox()
    return X[:, np.argsort(-X.var(axis=0))[:500]], y


DATA: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "iris": (lambda: load_iris(return_X_y=True), 10),
    "wine": (lambda: load_wine(return_X_y=True), 10),
    "tox500": (load_widest_tox, 18),
    "tox": (load_tox, 18),
}


def measure(model: Any, X: Any, y: Any, seed: int) -> list[float]:
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    start = time.perf_counter()
    model.fit(train, y_train)
    seconds = time.perf_counter() - start
    has_codes = hasattr(model, "transform")
    return [
        100 * model.score(test, y_test),
        np.count_nonzero(model.kernel_weights_ > 1e-6),
        model.prototypes_.shape[0],
        interpretability_scorer(model),
        discrimination_scorer(model, test, y_test) if has_codes else np.nan,
        seconds,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--methods", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    print("| data | method | accuracy | kernels | prototypes | IP | DR | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.data:
        read, size = DATA[name]
        X, y = read()
        for method, create in METHODS.items():
            if not method.startswith(tuple(options.methods)):
                continue
            rows = np.array([measure(create(size), X, y, seed) for seed in range(options.splits)])
            mean = rows.mean(axis=0)
            codes = "-" if np.isnan(mean[4]) else f"{mean[4]:.0f}"
            print(
                f"| {name} | {method} | {mean[0]:.1f} ± {rows[:, 0].std():.1f} | {mean[1]:.0f} | "
                f"{mean[2]:.0f} | {mean[3]:.0f} | {codes} | {mean[5]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
