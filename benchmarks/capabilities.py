"""What IMKPL and other packages can do, each cell found by running it.

``make compare`` writes the tables to docs/comparison.md. A check gets a package, fits it to made
data and looks at what comes back. "yes" means that the result was right, "no" that there is no such
function or that it failed; ``--errors`` says how.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import inspect
import itertools
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import skops.io
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import imkpl
from compare import PAGE, SERIES_METHODS
from imkpl import IMKPL
from imkpl.kernels import FunctionKernel
from shared import ROOT, add_row, as_table, fingerprint

ROWS = ROOT / "results" / "capabilities.csv"
FIELDS = ["check", "package", "digest", "answer"]
Make = Callable[..., Any]
N = 160


def make_ebm(**settings: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    # Fewer bags, for speed; nothing here depends on their number.
    return ExplainableBoostingClassifier(n_jobs=1, outer_bags=2, random_state=0, **settings)


def make_figs(**settings: Any) -> Any:
    from imodels import FIGSClassifier

    return FIGSClassifier(**settings)


PACKAGES: dict[str, Make] = {
    "IMKPL": partial(IMKPL, n_prototypes=4, random_state=0),
    "EBM": make_ebm,
    "FIGS": make_figs,
    "sparse logistic regression": partial(LogisticRegression, l1_ratio=1.0, solver="saga", C=0.1),
    "tree": partial(DecisionTreeClassifier, max_leaf_nodes=8, random_state=0),
    "nearest neighbours": KNeighborsClassifier,
    "random forest": partial(RandomForestClassifier, random_state=0),
    "gradient boosting": partial(HistGradientBoostingClassifier, random_state=0),
}


@cache
def draw_table(seed: int = 0, n_noise: int = 0) -> tuple[pd.DataFrame, Any]:
    """Three columns that matter, and columns of noise."""
    source = np.random.default_rng(seed)
    X = source.standard_normal((N, 3 + n_noise))
    y = (X[:, :3].sum(axis=1) + 0.3 * source.standard_normal(N) > 0).astype(int)
    return pd.DataFrame(X).add_prefix("x"), y


@cache
def draw_series() -> tuple[Any, Any]:
    """Two channels of 60 steps; the frequency in the first tells two classes apart."""
    source = np.random.default_rng(0)
    y = np.arange(60) % 2
    steps = np.linspace(0, 6, 60)
    waves = np.sin(steps * (1 + y[:, None]) + source.uniform(0, 6, (60, 1)))
    noise = source.standard_normal((60, 2, 60))
    return np.stack([waves + 0.1 * noise[:, 0], noise[:, 1]], axis=1), y


def is_right(model: Any, X: Any, y: Any) -> bool:
    """Whether most answers are right."""
    return float((np.asarray(model.predict(X)) == y).mean()) > 0.85


def read_text(name: str) -> bool:
    X, y = draw_table()
    colour = pd.Series(np.where(y == 1, "red", "green"))
    if name == "gradient boosting":
        # Declared as categories, text is read.
        colour = colour.astype("category")
    X = X.assign(colour=colour)
    return is_right(PACKAGES[name]().fit(X, y), X, y)


def read_gaps(name: str) -> bool:
    X, y = draw_table()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.03)
    return is_right(PACKAGES[name]().fit(X, y), X, y)


def read_sparse(name: str) -> bool:
    X, y = draw_table()
    positive = sp.csr_matrix(X.clip(lower=0).to_numpy())
    return PACKAGES[name]().fit(positive, y).predict(positive).shape == y.shape


def take_three_classes(name: str) -> bool:
    X, _ = draw_table()
    y = np.digitize(X["x0"], [-0.5, 0.5])
    return is_right(PACKAGES[name]().fit(X, y), X, y)


def take_several_labels(name: str) -> bool:
    X, _ = draw_table()
    Y = (X[["x0", "x1"]].to_numpy() > 0).astype(int)
    return np.asarray(PACKAGES[name]().fit(X, Y).predict(X)).shape == Y.shape


def predict_numbers(name: str) -> bool:
    X, _ = draw_table()
    y = X.sum(axis=1).to_numpy()
    if name == "EBM":
        from interpret.glassbox import ExplainableBoostingRegressor as Regressor
    elif name == "FIGS":
        from imodels import FIGSRegressor as Regressor
    else:
        Regressor = {
            "IMKPL": getattr(imkpl, "IMKPLRegressor", None),
            "sparse logistic regression": partial(Lasso, alpha=0.01),
            "tree": DecisionTreeRegressor,
            "nearest neighbours": KNeighborsRegressor,
            "random forest": RandomForestRegressor,
            "gradient boosting": HistGradientBoostingRegressor,
        }[name]
    return np.corrcoef(Regressor().fit(X, y).predict(X), y)[0, 1] > 0.9


def take_similarity(name: str) -> bool:
    """Strings, compared by a function of the user."""
    words = [a + b * k for a, b, k in itertools.product("abc", "xyz", range(1, 6))]
    y = np.array([word[0] == "a" for word in words]).astype(int)
    alike = [[float(a[0] == b[0]) + 0.1 * (a == b) for b in words] for a in words]
    if name == "IMKPL":
        kernel = FunctionKernel(
            lambda one, other: float(one[0] == other[0]), pairwise=True, vector_input=False
        )
        return is_right(IMKPL(kernel, n_prototypes=2).fit(words, y), words, y)
    distances = 1.1 - np.array(alike)
    model = PACKAGES[name]().set_params(metric="precomputed")
    return is_right(model.fit(distances, y), distances, y)


def give_probabilities(name: str) -> bool:
    X, y = draw_table()
    shares = np.asarray(PACKAGES[name]().fit(X, y).predict_proba(X))
    return np.allclose(shares.sum(axis=1), 1) and bool(((shares > 0) & (shares < 1)).any())


def refuse(name: str) -> bool:
    """A sample far from all others gets no answer."""
    X, y = draw_table()
    model = PACKAGES[name]().fit(X, y)
    return model.predict(X.iloc[:1] + 50, reject=True)[0] is None


def add_up(name: str) -> bool:
    """Contributions of features, from the package itself, that add up to the score."""
    X, y = draw_table()
    if name == "sparse logistic regression":
        model = PACKAGES[name]().fit(X, y)
        total = (model.coef_ * X).to_numpy().sum(axis=1) + model.intercept_
    elif name == "EBM":
        model = make_ebm().fit(X, y)
        total = model.eval_terms(X.to_numpy()).sum(axis=1) + model.intercept_
    else:
        model = PACKAGES[name]().fit(X, y)
        sums = model.explain(X).feature_contributions().sum(axis=1)
        total = sums[:, 1] - sums[:, 0]
    return np.allclose(total, model.decision_function(X))


def name_cases(name: str) -> bool:
    """Training cases that a decision follows from."""
    X, y = draw_table()
    model = PACKAGES[name]().fit(X, y)
    if hasattr(model, "kneighbors"):
        return model.kneighbors(X[:1], return_distance=False).max() < N
    return set(model.support_) <= set(range(N))


def print_rules(name: str) -> bool:
    X, y = draw_table()
    model = PACKAGES[name]().fit(X, y)
    text = str(model) if name == "FIGS" else export_text(model)
    return "<=" in text or "≤" in text


def act_alone(name: str) -> bool:
    """What a change of one feature does to the score does not depend on the other features."""
    X, y = draw_table()
    model = make_ebm(interactions=0) if name == "EBM" else PACKAGES[name]()
    model.fit(X, y)

    def score(value: float) -> Any:
        moved = X.assign(x0=value)
        if hasattr(model, "decision_function"):
            return model.decision_function(moved)
        shares = np.clip(model.predict_proba(moved)[:, 1], 1e-9, 1 - 1e-9)
        return np.log(shares / (1 - shares))

    return bool(np.ptp(score(1.0) - score(-1.0)) < 1e-6 < np.abs(score(1.0) - score(-1.0)).max())


def ignore_noise(name: str) -> bool:
    """Of ten columns of noise, at most one changes any probability; on each of five tables."""
    for seed in range(5):
        X, y = draw_table(seed, 10)
        model = PACKAGES[name]().fit(X, y)
        before = model.predict_proba(X)
        source = np.random.default_rng(seed)
        changed = [
            not np.allclose(before, model.predict_proba(X.assign(**{c: source.permutation(X[c])})))
            for c in X.columns[3:]
        ]
        if sum(changed) > 1:
            return False
    return True


def rate_evidence(name: str) -> bool:
    """How certain it is that a feature is more than chance."""
    X, y = draw_table(0, 10)
    evidence = PACKAGES[name]().fit(X, y).kernel_evidence_
    return bool(evidence[:3].min() > 0.9 and np.median(evidence[3:]) < 0.9)


def know_groups(name: str) -> bool:
    """Rows of one person are known to belong together."""
    X, y = draw_table()
    PACKAGES[name]().fit(X, y, groups=np.repeat(np.arange(N // 2), 2))
    return True


def obey_monotony(name: str) -> bool:
    """The probability never falls where one feature grows."""
    X, y = draw_table(0, 3)
    settings = {"EBM": {"monotone_constraints": [0, 0, 0, 1, 0, 0], "interactions": 0}}
    own = settings.get(name, {"monotonic_cst": [0, 0, 0, 1, 0, 0]})
    model = PACKAGES[name]().set_params(**own).fit(X, y)
    grid = [model.predict_proba(X.assign(x3=v))[:, 1] for v in np.linspace(-2, 2, 9)]
    return bool((np.diff(grid, axis=0) >= -1e-9).all())


def ignore_order(name: str) -> bool:
    """Rows in another order give the same probabilities."""
    X, y = draw_table(0, 3)
    order = np.random.default_rng(0).permutation(N)
    models = [PACKAGES[name]().fit(X, y), PACKAGES[name]().fit(X.iloc[order], y[order])]
    first, second = (np.asarray(model.predict_proba(X)) for model in models)
    return np.allclose(first, second, atol=1e-9)


def weigh_samples(name: str) -> bool:
    X, y = draw_table()
    weights = np.where(y == 1, 20.0, 1.0)
    shares = [
        PACKAGES[name]().fit(X, y, **s).predict_proba(X) for s in ({}, {"sample_weight": weights})
    ]
    return bool(shares[1][:, 1].mean() > shares[0][:, 1].mean())


def save_without_code(name: str) -> bool:
    """A file of the package's own or of skops, opened without running code from it."""
    X, y = draw_table()[0].to_numpy(), draw_table()[1]
    model = PACKAGES[name]().fit(X, y)
    stored = skops.io.dumps(model)
    own = skops.io.get_untrusted_types(data=stored)
    if name == "IMKPL":
        with tempfile.TemporaryDirectory() as folder:
            imkpl.save(model, f"{folder}/m.imkpl")
            twin = imkpl.load(f"{folder}/m.imkpl")
    else:
        twin = skops.io.loads(stored, trusted=own)
    return np.allclose(model.predict_proba(X), twin.predict_proba(X))


TABLE: dict[str, Callable[[str], bool]] = {
    "text columns as they are": read_text,
    "missing cells as they are": read_gaps,
    "sparse matrices": read_sparse,
    "more than two classes": take_three_classes,
    "several labels per sample": take_several_labels,
    "a number as the target (a regressor)": predict_numbers,
    "a similarity of one's own": take_similarity,
    "weights of samples": weigh_samples,
    "rows of one person kept together (`groups`)": know_groups,
    "probabilities": give_probabilities,
    "refuses samples unlike the training data": refuse,
    "contributions of features that add up to the score": add_up,
    "training cases as reasons": name_cases,
    "if-then rules": print_rules,
    "one curve per feature, whatever the others are": act_alone,
    "noise columns have no effect": ignore_noise,
    "evidence that a feature is more than chance": rate_evidence,
    "monotone effects on demand": obey_monotony,
    "the same model whatever the order of rows": ignore_order,
    "model file without code": save_without_code,
}


def read_channels(make: Make) -> bool:
    X, y = draw_series()
    return is_right(make().fit(X, y), X, y)


def read_lengths(make: Make) -> bool:
    X, y = draw_series()
    cut = [one[:, : 40 + i % 20] for i, one in enumerate(X)]
    return is_right(make().fit(cut, y), cut, y)


def read_holes(make: Make) -> bool:
    X, y = draw_series()
    X = X.copy()
    X[::3, :, 20:23] = np.nan
    return is_right(make().fit(X, y), X, y)


def give_series_probabilities(make: Make) -> bool:
    X, y = draw_series()
    shares = np.asarray(make().fit(X, y).predict_proba(X))
    return bool(((shares > 0) & (shares < 1)).any())


def name_series(make: Make) -> bool:
    """Training series that a decision follows from."""
    X, y = draw_series()
    return set(make().fit(X, y).support_) <= set(range(len(y)))


def rate_channels(make: Make) -> bool:
    """Which channel is more than noise."""
    X, y = draw_series()
    evidence = make().fit(X, y).channel_evidence_
    return bool(evidence[0] > 0.9 > evidence[1])


def refuse_series(make: Make) -> bool:
    X, y = draw_series()
    return make().fit(X, y).predict(X[:1] + 50, reject=True)[0] is None


SERIES_PACKAGES = {name: partial(method.make, 0) for name, method in SERIES_METHODS.items()}
SERIES: dict[str, Callable[[Make], bool]] = {
    "several channels": read_channels,
    "unequal lengths as they are": read_lengths,
    "gaps inside series as they are": read_holes,
    "probabilities between 0 and 1": give_series_probabilities,
    "training series as reasons": name_series,
    "which channels are more than noise": rate_channels,
    "refuses series unlike the training data": refuse_series,
}


def run(check: Callable[[Any], bool], package: Any, shows_errors: bool) -> str:
    """One cell."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "yes" if check(package) else "no"
    # Whatever a package answers to what it cannot do.
    except Exception:
        if shows_errors:
            print(f"{check.__name__} {package}:\n{traceback.format_exc(limit=-1)}", flush=True)
        return "no"


def identify(check: Callable[[Any], bool], name: str) -> str:
    """A cell is found again when its check changes, or our source."""
    text = inspect.getsource(check) + (fingerprint() if name == "IMKPL" else "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measure(names: list[str], shows_errors: bool) -> None:
    """Run what has not been run."""
    for checks, packages in ((TABLE, {n: n for n in PACKAGES}), (SERIES, SERIES_PACKAGES)):
        for name, package in packages.items():
            for text, check in checks.items():
                cell = (text, name, identify(check, name))
                if cell not in read_cells() and (not names or name in names):
                    row = dict(zip(FIELDS, (*cell, run(check, package, shows_errors)), strict=True))
                    add_row(ROWS, FIELDS, row)
                    print(name, text, row["answer"], flush=True)


def read_cells() -> dict[tuple[str, str, str], str]:
    """Cells found so far."""
    if not ROWS.exists():
        return {}
    with ROWS.open(newline="") as file:
        return {(r["check"], r["package"], r["digest"]): r["answer"] for r in csv.DictReader(file)}


def tabulate() -> str:
    """Both tables as Markdown."""
    cells, parts = read_cells(), []
    for title, checks, names in (("Tables", TABLE, PACKAGES), ("Series", SERIES, SERIES_PACKAGES)):
        lines = [
            [text, *(cells.get((text, n, identify(check, n)), "") for n in names)]
            for text, check in checks.items()
        ]
        parts += [f"### {title}", as_table(["", *names], lines)]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--errors", action="store_true", help="why a cell says no")
    parser.add_argument("--packages", nargs="*", default=[])
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md")
    arguments = parser.parse_args()
    measure(arguments.packages, arguments.errors)
    text = tabulate()
    print(text)
    if arguments.write:
        marker, end = "<!-- capabilities -->", "<!-- tables -->"
        head, _, rest = PAGE.read_text().partition(end)
        PAGE.write_text(f"{head.split(marker)[0]}{marker}\n\n{text}\n\n{end}{rest}")


if __name__ == "__main__":
    main()
