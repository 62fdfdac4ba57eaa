"""Accuracy on time series, beside 1-NN DTW, ROCKET and an alignment-kernel SVM in the same run.

``make series`` measures what is missing, prints the table and writes docs/series.md. Rows are
appended to results/series.csv, so that an interrupted run continues; our rows are measured again
when the source changes. Data sets are read by `imkpl_paper.datasets.load` from the folder
IMKPL_DATA and skipped with a note if missing.

The split of the archive is used where there is one (split "archive"), and ten random stratified
splits of the same size, 80/20 for other data sets, with the split's number as seed. Everything is
learned on the training part. DTW is dependent, with the full window, on the series as they are.
ROCKET has its 10,000 kernels and a ridge classifier; it divides every series by its own spread, so
a second one does not. Both read series of one length, 100 steps. The support vector machine has the
average of one alignment kernel per channel. aeon computes DTW and ROCKET.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from imkpl import IMKPL
from imkpl.kernels import BaseKernelBank, GlobalAlignment
from imkpl.series import SeriesSet, read_series
from imkpl_paper import datasets
from imkpl_paper.datasets import Dataset
from imkpl_paper.experiments.peers import AverageKernelSVM, NearestNeighborDTW, RawRocket, Rocket
from imkpl_paper.experiments.studies import JOINTS, split_samples
from imkpl_paper.skeletons import SkeletonNormalizer
from shared import PEER, ROOT, add_row, as_table, fingerprint, read_rows, write_page

ROWS = ROOT / "results" / "series.csv"
PAGE = ROOT / "docs" / "series.md"
FIELDS = [
    "dataset", "method", "split", "fingerprint", "accuracy", "kernels", "per_class", "seconds"
]  # fmt: skip
OURS, ARCHIVE = "IMKPL", "archive"
PEERS: dict[str, Callable[[], Any]] = {
    "1-NN DTW": NearestNeighborDTW,
    "ROCKET": Rocket,
    "ROCKET, not normalised": RawRocket,
    "alignment SVM": lambda: AverageKernelSVM("global_alignment"),
}
N_SPLITS = 10


@dataclass(frozen=True)
class Study:
    """How a data set is prepared, and the settings it is learned with; defaults where none."""

    kernels: BaseKernelBank | str = "per_view"
    prepare: Callable[[SeriesSet], SeriesSet] = read_series
    paper: str = ""  # accuracy and number of kernels


STUDIES = {
    "ArticularyWordRecognition": Study(),
    "BasicMotions": Study(),
    "JapaneseVowels": Study(),
    "Libras": Study(),
    "DodgerLoopDay": Study(),
    "Cricket": Study(),
    "UTKinect": Study(
        GlobalAlignment(
            views=("values", "differences", "distribution", "patterns"), groups=JOINTS, length=30
        ),
        prepare=SkeletonNormalizer().fit_transform,
        paper="98.82 (14)",
    ),
    "AUSLAN": Study(paper="95.81 (21)"),
}


def load(name: str) -> Dataset | None:
    """A data set, or None if its file is missing."""
    try:
        return datasets.load(name, download=False)
    except FileNotFoundError:
        return None


def find_split(data: Dataset, split: int | str) -> tuple[Any, Any]:
    """Rows to train and to test on: those of the archive, or as many random ones."""
    if split == ARCHIVE:
        return data.train, data.test
    if data.train is None:
        return split_samples(data.y, int(split))
    rows = np.arange(len(data.y))
    parts = train_test_split(
        rows, train_size=len(data.train), stratify=data.y, random_state=int(split)
    )
    return np.asarray(parts[0]), np.asarray(parts[1])


def measure(name: str, method: str, split: int | str) -> dict[str, Any]:
    """One row: fit on the training part, test on the rest."""
    data, study = load(name), STUDIES[name]
    assert data is not None
    train, test = find_split(data, split)
    series, y = study.prepare(data.X), data.y
    row = {"dataset": name, "method": method, "split": split}
    start = time.perf_counter()
    if method != OURS:
        peer = PEERS[method]().fit(series[train], y[train])
        is_right = peer.predict(series[test]) == y[test]
        row |= {"fingerprint": PEER, "kernels": series.n_channels}
    else:
        model = IMKPL(study.kernels)
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
    done = {(row["dataset"], row["method"], row["split"]) for row in read_rows(ROWS)}
    for name in names:
        data = load(name)
        if data is None:
            print(f"Skipped {name}, which is not in the folder IMKPL_DATA")
            continue
        splits = [*range(n_splits)] if data.train is None else [ARCHIVE, *range(n_splits)]
        for split in splits:
            for method in methods:
                if (name, method, str(split)) in done:
                    continue
                row = measure(name, method, split)
                add_row(ROWS, FIELDS, row)
                print(
                    f"{name} {method} split {split}: {row['accuracy']:.2f} %, {row['kernels']} "
                    f"kernels, {row['seconds']:.1f} s",
                    flush=True,
                )


def table() -> str:
    """Two tables as Markdown, from the rows on disk: the archive's splits, and random ones."""
    rows = read_rows(ROWS)
    pages = []
    for is_archive, heading in ((True, "Splits of the archive"), (False, "Random splits")):
        some = [row for row in rows if (row["split"] == ARCHIVE) == is_archive]
        pages.append(f"**{heading}**\n\n{_one_table(some, is_archive)}")
    return "\n\n".join(pages)


def _one_table(rows: list[dict[str, str]], is_archive: bool) -> str:
    lines, means = [], []
    for name, study in STUDIES.items():
        found = {
            method: [r for r in rows if r["dataset"] == name and r["method"] == method]
            for method in (OURS, *PEERS)
        }
        own = found[OURS]
        if not own:
            continue
        scores = {m: [float(r["accuracy"]) for r in some] for m, some in found.items()}
        cells = [name]
        for values in scores.values():
            spread = f" ± {np.std(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{np.mean(values):.1f}{spread}" if values else "")
        for field, digits in (("kernels", 0), ("per_class", 1), ("seconds", 0)):
            cells.append(f"{np.mean([float(row[field]) for row in own]):.{digits}f}")
        lines.append([*cells, *([] if is_archive else [str(len(own)), study.paper])])
        if all(scores.values()):
            means.append([np.mean(values) for values in scores.values()])
    header = ["data set", OURS, *PEERS, "kernels", "prototypes a class", "seconds"]
    header += [] if is_archive else ["splits", "paper"]
    if len(means) > 1:
        cells = [f"{value:.1f}" for value in np.mean(means, axis=0)]
        rest = [""] * (len(header) - 1 - len(cells))
        lines.append([f"mean of the {len(means)} with all methods", *cells, *rest])
    return as_table(header, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    methods = [OURS, *PEERS]
    parser.add_argument("--datasets", nargs="*", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--methods", nargs="*", default=methods, choices=methods)
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--write", action="store_true", help="write docs/series.md")
    arguments = parser.parse_args()
    methods = arguments.methods
    if methods != [OURS] and not importlib.util.find_spec("aeon"):
        print("DTW and ROCKET need aeon, which is not installed: pip install aeon.")
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
