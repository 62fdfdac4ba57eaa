"""What forgetting a record takes, and what releasing a model costs and hides.

    python benchmarks/records.py forget wine
    python benchmarks/records.py release wine

Forget: ten random records of a set, one at a time, each compared with a fresh fit to the others:
equal files, the record's values in any array of the file, and both times. Only values that no other
record has, in any column, are searched for.

Release: random stratified halves. A model is fitted to one, released with several k, and measured
on the other; AUC of the two membership attacks of `imkpl.model.disclosure`. The control tells two
parts of the other half from each other, of which the model knows neither.
"""

import io
import sys
import time
import warnings
import zipfile

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from imkpl import IMKPL, forget, release
from imkpl.estimators._release import find_membership
from imkpl.files.store import model_bytes
from quality import load

SETS = ("wine", "breast_cancer", "TOX_171")
SIZES = (1, 3, 5, 10)
N_RECORDS, N_HALVES = 10, 10


def holds(content, values):
    """Whether a model file has one of these numbers in an array."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [np.load(io.BytesIO(one)) for name, one in members.items() if name.endswith(".npy")]
    texts = b"".join(one for name, one in members.items() if not name.endswith(".npy"))
    return any(np.isin(one, values).any() for one in arrays if one.dtype.kind == "f") or any(
        repr(float(value)).encode() in texts for value in values
    )


def measure_forget(name):
    X, y = load(name)
    rows = np.random.default_rng(0).choice(len(y), N_RECORDS, replace=False)
    model = IMKPL(random_state=0).fit(X, y)
    found = []
    for row in rows:
        rest = np.delete(np.arange(len(y)), row)
        start = time.perf_counter()
        answer = forget(model, X, y, [row])
        middle = time.perf_counter()
        fresh = clone(model).fit(X[rest], y[rest])
        end = time.perf_counter()
        content = model_bytes(answer.model)
        unique = np.setdiff1d(X[row], X[rest])
        found.append(
            {
                "inside": bool(answer.inside),
                "equal": content == model_bytes(fresh),
                "gone": not holds(content, unique),
                "unique": unique.size,
                "same": answer.changed_nothing,
                "decisions": answer.n_decisions_changed,
                "forget": middle - start,
                "fit": end - middle,
            }
        )
    columns = {key: np.array([one[key] for one in found]) for key in found[0]}
    print(
        f"| {name} | {X.shape[0]} x {X.shape[1]} | {columns['inside'].sum()} | "
        f"{columns['equal'].sum()} | {columns['gone'].sum()} ({columns['unique'].sum()} values) | "
        f"{columns['same'].sum()} | {columns['decisions'].mean():.1f} | "
        f"{np.median(columns['forget']):.2f} s | {np.median(columns['fit']):.2f} s |"
    )


def measure_release(name):
    X, y = load(name)
    found = {}
    for seed in range(N_HALVES):
        X_in, X_out, y_in, y_out = train_test_split(
            X, y, train_size=0.5, stratify=y, random_state=seed
        )
        whole = IMKPL(random_state=0).fit(X_in, y_in)
        models = {"records": whole}
        for k in SIZES:
            models[k] = release(whole, X_in, y_in, k=k, cv=None).model
        half = np.arange(len(y_out)) % 2 == 0
        for key, model in models.items():
            attacks = find_membership(model, X_in, y_in, X_out, y_out)["attacks"]
            other = find_membership(model, X_out[half], y_out[half], X_out[~half], y_out[~half])
            found.setdefault(key, []).append(
                [
                    model.support_.size,
                    100 * np.mean(model.predict(X_out) == y_out),
                    attacks["similarity"]["auc"],
                    attacks["confidence"]["auc"],
                    other["attacks"]["similarity"]["auc"],
                ]
            )
    for key, rows in found.items():
        size, accuracy, near, sure, control = np.mean(rows, axis=0)
        errors = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        print(
            f"| {name} | {key} | {size:.1f} | {accuracy:.1f} ± {errors[1]:.1f} | "
            f"{near:.2f} ± {errors[2]:.2f} | {sure:.2f} ± {errors[3]:.2f} | {control:.2f} |"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, names = sys.argv[1], sys.argv[2:] or SETS
    for one in names:
        (measure_forget if what == "forget" else measure_release)(one)
