"""Accuracy on time series, beside the paper's figures and the nearest neighbour under DTW.

``make series`` measures what is missing, prints the table and writes docs/series.md. Rows are
appended to results/series.csv, so that an interrupted run continues; our rows are measured again
when the source changes. Data sets are read by `imkpl_paper.datasets.load` from the folder
IMKPL_DATA and skipped with a note if missing.

The split of the archive is used where there is one; other data sets are split at random ten times,
80/20, stratified, with the split's number as seed. Everything is learned on the training part; if a
study lists several banks, one is chosen by stratified cross-validation there. DTW is dependent,
with squared differences and the full window, on the series as they are; aeon computes it.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from imkpl import IMKPL, TimeSeriesIMKPL
from imkpl.kernels import Averaged, BaseKernelBank, GlobalAlignment
from imkpl.series import SeriesSet, read_series
from imkpl_paper import datasets
from imkpl_paper.datasets import Dataset
from imkpl_paper.experiments.peers import NearestNeighborDTW
from imkpl_paper.experiments.studies import JOINTS, split_samples
from imkpl_paper.skeletons import SkeletonNormalizer
from shared import PEER, ROOT, add_row, as_table, fingerprint, read_rows, write_page

ROWS = ROOT / "results" / "series.csv"
PAGE = ROOT / "docs" / "series.md"
FIELDS = [
    "dataset", "method", "split", "fingerprint", "accuracy", "kernels", "per_class", "seconds"
]  # fmt: skip
OURS, DTW = "TimeSeriesIMKPL", "1-NN DTW"
N_SPLITS = 10
N_FOLDS = 5


@dataclass(frozen=True)
class Study:
    """How a data set is prepared, and the settings it is learned with."""

    # Of several banks, the best in cross-validation on the training part is used.
    banks: tuple[BaseKernelBank, ...] = (
        GlobalAlignment(),
        GlobalAlignment(views=("values", "differences")),
    )
    sparsity: int = 10  # the paper's, if it has the data set
    max_kernels: int | None = None
    prepare: Callable[[SeriesSet], SeriesSet] = read_series
    paper: str = ""  # accuracy and number of kernels


STUDIES = {
    "UTKinect": Study(
        (Averaged(GlobalAlignment(views=("values", "differences"), length=30), JOINTS),),
        max_kernels=14,
        prepare=SkeletonNormalizer().fit_transform,
        paper="98.82 (14)",
    ),
    "AUSLAN": Study(
        (GlobalAlignment(views=("values", "differences"), length=20, dtype="float32"),),
        max_kernels=21,
        paper="95.81 (21)",
    ),
    "ArticularyWordRecognition": Study(),
    "BasicMotions": Study(),
    "JapaneseVowels": Study(),
    "Libras": Study(),
    "Cricket": Study((GlobalAlignment(views=("values", "differences"), length=100),)),
    "DodgerLoopDay": Study(),
}


def load(name: str) -> Dataset | None:
    """A data set, or None if its file is missing."""
    try:
        return datasets.load(name, download=False)
    except FileNotFoundError:
        return None


def find_split(data: Dataset, split: int) -> tuple[Any, Any]:
    """Rows to train and to test on: those of the archive, or random ones."""
    return (data.train, data.test) if data.train is not None else split_samples(data.y, split)


def choose_bank(study: Study, model: TimeSeriesIMKPL, series: SeriesSet, y: Any) -> GlobalAlignment:
    """The bank that does best in folds of the training part, the first of equally good ones."""
    if len(study.banks) == 1:
        return study.banks[0]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(model, {"kernels": list(study.banks)}, cv=folds, refit=False)
    found = search.fit(series, y)
    for bank, score in zip(study.banks, found.cv_results_["mean_test_score"], strict=True):
        print(f"  differences={bank.differences}: {100 * score:.2f} % in {N_FOLDS} folds")
    return found.best_params_["kernels"]


def measure(name: str, method: str, split: int) -> dict[str, Any]:
    """One row: fit on the training part, test on the rest."""
    data, study = load(name), STUDIES[name]
    assert data is not None
    train, test = find_split(data, split)
    series, y = study.prepare(data.X), data.y
    row = {"dataset": name, "method": method, "split": split}
    start = time.perf_counter()
    if method == DTW:
        peer = NearestNeighborDTW().fit(series[train], y[train])
        is_right = peer.predict(series[test]) == y[test]
        row |= {"fingerprint": PEER, "kernels": series.n_channels}
    else:
        model = TimeSeriesIMKPL(sparsity=study.sparsity, max_kernels=study.max_kernels)
        model.set_params(kernels=choose_bank(study, model, series[train], y[train]))
        # Seconds are those of one fit and its predictions.
        start = time.perf_counter()
        model.fit(series[train], y[train])
        is_right = model.predict(series[test]) == y[test]
        row |= {
            "fingerprint": fingerprint(),
            "kernels": int(np.count_nonzero(model.kernel_weights_)),
            "per_class": model.prototypes_.shape[0] / len(model.classes_),
        }
    return row | {"accuracy": 100 * is_right.mean(), "seconds": time.perf_counter() - start}


def score_published_distances(n_splits: int) -> str | None:
    """Cricket through the DTW distances per channel that the paper's author published."""
    data = load("Cricket")
    if data is None:
        return None
    squares = np.moveaxis(data.extras["dtw_distances_per_channel"].astype(np.float64), 0, -1) ** 2
    accuracies, kept = [], []
    for split in range(n_splits):
        train, test = find_split(data, split)
        # exp(-d^2 / mean) is no kernel in general; negative eigenvalues are clipped.
        means = squares[np.ix_(train, train)].mean(axis=(0, 1))
        similar = np.exp(-squares / means)
        stack = np.stack([_clip(similar[:, :, j], train) for j in range(similar.shape[2])], axis=-1)
        model = IMKPL("precomputed").fit(stack[train], data.y[train])
        accuracies.append(100 * model.score(stack[test], data.y[test]))
        kept.append(np.count_nonzero(model.kernel_weights_))
    return f"{np.mean(accuracies):.2f} ± {np.std(accuracies):.2f} ({np.mean(kept):.0f})"


def _clip(similarities: Any, train: Any) -> Any:
    """Kernel of all samples with the training part, positive semi-definite on that part."""
    values, vectors = np.linalg.eigh(similarities[np.ix_(train, train)])
    values, vectors = values[values > 0], vectors[:, values > 0]
    clipped = (similarities[:, train] @ vectors) @ vectors.T
    norms = np.sqrt(vectors**2 @ values)
    scale = np.ones(len(similarities))
    scale[train] = norms
    clipped /= scale[:, None] * norms
    # Symmetric, with ones on the diagonal, beyond rounding.
    own = clipped[train]
    clipped[train] = (own + own.T) / 2
    clipped[train, np.arange(train.size)] = 1.0
    return clipped


def run(names: list[str], methods: list[str], n_splits: int) -> None:
    """Measure what is missing, one line per row."""
    done = {(row["dataset"], row["method"], int(row["split"])) for row in read_rows(ROWS)}
    for name in names:
        data = load(name)
        if data is None:
            print(f"Skipped {name}, which is not in the folder IMKPL_DATA")
            continue
        for split in range(n_splits if data.train is None else 1):
            for method in methods:
                if (name, method, split) in done:
                    continue
                row = measure(name, method, split)
                add_row(ROWS, FIELDS, row)
                print(
                    f"{name} {method} split {split}: {row['accuracy']:.2f} %, {row['kernels']} "
                    f"kernels, {row['seconds']:.1f} s",
                    flush=True,
                )


def table() -> str:
    """The table as Markdown, from the rows on disk."""
    rows = read_rows(ROWS)
    lines = []
    for name, study in STUDIES.items():
        own = [row for row in rows if row["dataset"] == name]
        found = {m: [row for row in own if row["method"] == m] for m in (OURS, DTW)}
        if not found[OURS]:
            continue

        def mean(method: str, field: str, found: Any = found) -> Any:
            return np.mean([float(row[field]) for row in found[method]])

        spread = np.std([float(row["accuracy"]) for row in found[OURS]])
        accuracy = f"{mean(OURS, 'accuracy'):.2f}" + (f" ± {spread:.2f}" if spread else "")
        peer = f"{mean(DTW, 'accuracy'):.2f}" if found[DTW] else ""
        cells = [
            name,
            accuracy,
            f"{mean(OURS, 'kernels'):.0f}",
            f"{mean(OURS, 'per_class'):.1f}",
            f"{mean(OURS, 'seconds'):.0f}",
            str(len(found[OURS])),
            study.paper,
            peer,
        ]
        lines.append(cells)
    header = [
        "data set", OURS, "kernels", "prototypes a class", "seconds", "splits", "paper", DTW
    ]  # fmt: skip
    return as_table(header, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--methods", nargs="*", default=[OURS, DTW], choices=[OURS, DTW])
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--write", action="store_true", help="write docs/series.md")
    arguments = parser.parse_args()
    methods = arguments.methods
    if DTW in methods and not importlib.util.find_spec("aeon"):
        print("DTW needs aeon, which is not installed: pip install aeon.")
        methods = [OURS]
    run(arguments.datasets, methods, arguments.splits)
    page = table()
    if "Cricket" in arguments.datasets:
        published = score_published_distances(arguments.splits)
        page += f"\n\nCricket, precomputed kernels from the published DTW distances: {published}."
    print(f"\n{page}")
    if arguments.write:
        write_page(PAGE, "Time series", "<!-- table -->", page)


if __name__ == "__main__":
    main()
