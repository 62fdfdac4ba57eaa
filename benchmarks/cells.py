"""Panels of marker genes on 700 blood cells, for docs/guide/single_cells.md.

The cells are ``pbmc68k_reduced``, which ships with scanpy: 765 genes, 10 types as labelled by the
authors, log-normalised counts. Stratified splits of 80 % to choose markers and to train on, and
20 % to test, with the seeds from 0. Panels are the 1, 2, 3 and 5 best markers of each type by the
Wilcoxon test of scanpy and by COSG, ours as many genes as the union of Wilcoxon's, and random
genes. The classifier on every panel is the same: logistic regression on standardised values.

    python benchmarks/cells.py          # needs scanpy and cosg
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL

TYPE, PER_TYPE = "bulk_labels", (1, 2, 3, 5)


def rank_genes(cells: Any) -> dict[str, Any]:
    """The markers of every type, best first, by two methods."""
    import cosg
    import scanpy as sc

    sc.tl.rank_genes_groups(cells, TYPE, method="wilcoxon", use_raw=False)
    found = {"Wilcoxon": pd.DataFrame(cells.uns["rank_genes_groups"]["names"])}
    cosg.cosg(cells, key_added="cosg", groupby=TYPE, use_raw=False, n_genes_user=20)
    found["COSG"] = pd.DataFrame(cells.uns["cosg"]["names"])
    return found


def judge(train: Any, test: Any, genes: Any) -> float:
    """Test accuracy of the classifier on some genes."""
    parts = [one[:, list(genes)].X.toarray() for one in (train, test)]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    return float(model.fit(parts[0], train.obs[TYPE]).score(parts[1], test.obs[TYPE]))


def main() -> None:
    """A line per split, size and panel."""
    import scanpy as sc

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=0, help="Seed of the first split.")
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    whole = sc.datasets.pbmc68k_reduced()
    cells = whole.raw.to_adata()
    cells.obs = whole.obs[[TYPE]].copy()
    for seed in range(asked.first, asked.first + asked.splits):
        parts = train_test_split(
            np.arange(cells.n_obs), test_size=0.2, stratify=cells.obs[TYPE], random_state=seed
        )
        train, test = (cells[part].copy() for part in parts)
        found = [(0, "all genes", cells.n_vars, judge(train, test, cells.var_names))]
        ranked = rank_genes(train.copy())
        for n in PER_TYPE:
            panels = {
                name: pd.unique(table.iloc[:n].to_numpy().ravel()) for name, table in ranked.items()
            }
            size = len(panels["Wilcoxon"])
            model = IMKPL(max_kernels=size).fit(train, TYPE)
            panels["imkpl"] = train.var_names[model.kernel_weights_ > 0]
            rng = np.random.default_rng(seed)
            panels["random"] = rng.choice(train.var_names, size, replace=False)
            found += [
                (n, name, len(genes), judge(train, test, genes)) for name, genes in panels.items()
            ]
            found.append((n, "imkpl itself", size, model.score(test, TYPE)))
        for row in found:
            names = "seed", "per type", "panel", "genes", "accuracy"
            print(json.dumps(dict(zip(names, (seed, *row), strict=True))), flush=True)


if __name__ == "__main__":
    main()
