"""What ten more features add to a panel of ten, for docs/guide/panels.md.

Stratified splits of 80 % to fit and 20 % to test, with the seeds from 0. The panel at hand are the
ten features of largest F statistic in the training part. Beside ten more of ours: twenty of ours
without the panel, the twenty best of the F-test, and ten more at random. All are fitted with the
defaults.

    IMKPL_DATA=folder python benchmarks/panels.py TOX_171
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split

import quality
from imkpl import IMKPL

HAVE, TOTAL = 10, 20


def measure(X: Any, y: Any, seed: int) -> dict[str, float]:
    """Test accuracies of one split."""
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=seed
    )
    order = np.argsort(-np.nan_to_num(f_classif(train, y_train)[0]), kind="stable")
    have, best = order[:HAVE], order[:TOTAL]
    drawn = np.random.default_rng(seed).choice(order[HAVE:], TOTAL - HAVE, replace=False)
    extended = IMKPL(require=have.tolist(), max_kernels=TOTAL).fit(train, y_train)
    used = np.flatnonzero(extended.kernel_weights_)
    found = {
        "ten given": IMKPL().fit(train[:, have], y_train).score(test[:, have], y_test),
        "ten given, ten of ours": extended.score(test, y_test),
        "twenty of ours": IMKPL(max_kernels=TOTAL).fit(train, y_train).score(test, y_test),
    }
    for name, columns in (
        ("twenty of the F-test", best),
        ("ten given, ten at random", np.append(have, drawn)),
    ):
        model = IMKPL().fit(train[:, columns], y_train)
        found[name] = model.score(test[:, columns], y_test)
    return {**found, "in use": used.size, "given in use": int(np.isin(have, used).sum())}


def main() -> None:
    """A line per split."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--first", type=int, default=0, help="Seed of the first split.")
    parser.add_argument("--splits", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.names:
        X, y = (np.asarray(part) for part in quality.load(name))
        for seed in range(asked.first, asked.first + asked.splits):
            row = {"dataset": name, "seed": seed, **measure(X, y, seed)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
