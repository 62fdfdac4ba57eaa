"""How well a model tells classes apart: on rows that it has not seen, beside a baseline."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from imkpl._progress import announce
from imkpl.cli.command import echo_note, progress_bar
from imkpl.measures import wilson_interval
from imkpl.readers import InputError
from imkpl.readers.check import MIN_CLASS_ROWS, find_baseline
from imkpl.readers.read import DataFile

N_FOLDS, MAX_REPEATS = 5, 5
# In larger tables, the rows that are held out say enough.
MAX_FOLD_ROWS = 2000
# Folds are repeated while all of them seem to take fewer seconds, and not measured above the limit,
# unless the user asks for them.
BUDGET, LIMIT = 20.0, 100.0


def hash_rows(data: DataFile) -> Any:
    """A number per row, the same for equal ones."""
    from pandas.util import hash_pandas_object

    return hash_pandas_object(data.samples, index=False).to_numpy()


def find_units(data: DataFile) -> Any:
    """The first row of all that are equal or in one group: these stay on one side of a split."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    keys = [np.unique(hash_rows(data), return_inverse=True)[1]]
    if data.groups is not None:
        keys.append(np.unique(data.groups, return_inverse=True)[1] + len(data))
    # Rows are linked to nodes for their values and for their groups.
    n_rows, rows = len(data), np.tile(np.arange(len(data)), len(keys))
    links = coo_array(
        (np.ones(rows.size), (rows, np.concatenate(keys) + n_rows)), shape=(3 * n_rows, 3 * n_rows)
    )
    units = connected_components(links, directed=False)[1][:n_rows]
    _, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    return first[inverse]


def hold_out(data: DataFile, test_size: float, seed: int) -> Any:
    """Which rows to measure on: of every class the same share, at least one, in whole units."""
    rng = np.random.default_rng(seed)
    classes, labels, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    if counts.min() < MIN_CLASS_ROWS:
        rare = int(np.argmin(counts))
        n_rows = "one row" if counts[rare] == 1 else f"{counts[rare]} rows"
        raise InputError(
            f"Class {str(classes[rare])!r} has {n_rows}, expected at least three: two to learn "
            "from and one to measure on. Add rows of that class, leave them out, or use "
            "--test-size 0."
        )
    members: dict[int, list[int]] = {}
    for row, unit in enumerate(find_units(data).tolist()):
        members.setdefault(unit, []).append(row)
    firsts = np.array(list(members))
    # Every class keeps a row that may be shown.
    is_shown = np.ones(len(data), dtype=bool) if data.eligible is None else data.eligible
    shown = np.bincount(labels[is_shown], minlength=classes.size)
    left, is_test = counts.copy(), np.zeros(len(data), dtype=bool)
    for label, n_rows in enumerate(counts.tolist()):
        n_test = np.clip(round(n_rows * test_size), 1, n_rows - MIN_CLASS_ROWS + 1)
        for unit in rng.permutation(firsts[labels[firsts] == label]).tolist():
            if n_rows - left[label] >= n_test:
                break
            rows = np.array(members[unit])
            taken = np.bincount(labels[rows], minlength=classes.size)
            hidden = np.bincount(labels[rows[is_shown[rows]]], minlength=classes.size)
            if np.all((left - taken >= MIN_CLASS_ROWS - 1) & (shown > hidden) | (taken == 0)):
                left, shown = left - taken, shown - hidden
                is_test[members[unit]] = True
    if not is_test.any():
        raise InputError(
            "No rows can be held out: those of every class are equal or belong to one group. Add "
            "rows, leave out --group, or use --test-size 0."
        )
    return is_test


def measure_folds(
    build: Callable[[DataFile, DataFile], Any],
    data: DataFile,
    *,
    seed: int,
    repeats: int | None,
    seconds: float = 0.0,
) -> dict[str, Any] | None:
    """Accuracy in folds; None if it is not wanted, an error if it cannot be measured.

    `seconds` is the time of a fit. By default, folds are repeated as often as that is quick.
    """
    if repeats == 0 or (repeats is None and len(data) > MAX_FOLD_ROWS):
        return None
    n_folds = len(split_folds(data, seed))
    expected = seconds * n_folds
    if repeats is None:
        if expected > LIMIT:
            raise InputError(f"that would take about {expected:.0f} s; --repeats 1 does it.")
        n_repeats = int(np.clip(BUDGET / max(expected, 1e-3), 1, MAX_REPEATS))
    else:
        n_repeats = repeats
        if expected * repeats > BUDGET:
            echo_note(f"Measuring in folds takes about {expected * repeats:.0f} s.")
    right = np.zeros((n_repeats, len(data)), dtype=bool)
    with progress_bar("measuring"), warnings.catch_warnings():
        # What a fold warns of, the fit to all training rows warns of as well.
        warnings.simplefilter("ignore")
        for repeat, is_right in enumerate(right):
            for fold, (train, test) in enumerate(split_folds(data, seed + repeat)):
                text, n_done = f"repetition {repeat + 1}, fold {fold + 1}", repeat * n_folds + fold
                announce("folds", text, n_done, n_repeats * n_folds)
                try:
                    is_right[test] = _fit_fold(build, data.take(train), data.take(test))
                except ValueError as error:
                    if data.eligible is None:
                        raise
                    # A fold may have no row that may be shown.
                    raise InputError(str(error)) from error
    found = describe_accuracy(right.mean(axis=0), data)
    return {"folds": n_folds, "repeats": n_repeats, **found}


def split_folds(data: DataFile, seed: int) -> list[Any]:
    """Training and test rows of five folds, or fewer, with whole units and shares of classes."""
    from sklearn.model_selection import StratifiedGroupKFold

    units, labels = find_units(data), np.unique(data.y, return_inverse=True)[1]
    n_units = np.array([np.unique(units[labels == label]).size for label in np.unique(labels)])
    n_folds = min(N_FOLDS, int(n_units.min()))
    if n_folds < 2:
        label = np.unique(data.y)[int(np.argmin(n_units))]
        raise InputError(f"all rows of class {str(label)!r} are equal or of one group.")
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    return list(folds.split(labels, labels, units))


def _fit_fold(build: Callable[[DataFile, DataFile], Any], train: DataFile, test: DataFile) -> Any:
    """Which test rows a model of the training rows is right on."""
    # A class of which a single row is left cannot be learned, and counts as wrong.
    sizes = Counter(train.y.tolist())
    train = train.take(np.array([sizes[label] > 1 for label in train.y.tolist()]))
    if len(set(train.y.tolist())) < 2:
        return test.y == find_baseline(train.y)[0]
    return fit_rows(build(train, test), train).predict(test.samples) == test.y


def fit_rows(model: Any, train: DataFile) -> Any:
    """A model fitted to the rows of a file."""
    more = {} if train.eligible is None else {"eligible": train.eligible}
    return model.fit(train.samples, train.y, **more)


def describe_accuracy(right: Any, data: DataFile, guess: Any = None) -> dict[str, Any]:
    """Accuracy by how often each row was right, and of a baseline that always says `guess`."""
    y, units = data.y, find_units(data)
    guess = find_baseline(y)[0] if guess is None else guess
    # Classes that are not those of the model may be of another type.
    shown = y.astype(str) if y.dtype == object else y
    classes, labels = np.unique(shown, return_inverse=True)
    own = [labels == label for label in range(classes.size)]
    recalls = [float(np.mean(right[rows])) for rows in own]
    n_units = np.array([np.unique(units[rows]).size for rows in own])
    accuracy, balanced = float(np.mean(right)), float(np.mean(recalls))
    # Repeated folds and equal rows are not independent: there are as many draws as units.
    return {
        "rows": len(y),
        "distinct_rows": int(np.unique(units).size),
        "accuracy": accuracy,
        "interval": wilson_interval(accuracy, np.unique(units).size),
        "baseline": {"class": guess, "accuracy": float(np.mean(y == guess))},
        "balanced_accuracy": balanced,
        # The variance of a mean of shares, each of its own number of draws.
        "balanced_interval": wilson_interval(balanced, classes.size**2 / np.sum(1 / n_units)),
        "balanced_baseline": 1 / classes.size,
        "recall": dict(zip((str(one) for one in classes), recalls, strict=True)),
    }


def say_rows(measured: dict[str, Any], noun: str) -> str:
    """How many rows were measured on, and how many of these differ."""
    n_rows, n_distinct = measured["rows"], measured["distinct_rows"]
    return f"{n_rows} {noun}" + (f" ({n_distinct} independent)" if n_distinct < n_rows else "")


def beats_baseline(measured: dict[str, Any], *, is_balanced: bool = False) -> bool:
    """Whether the whole interval lies above the baseline."""
    if is_balanced:
        return bool(measured["balanced_interval"][0] > measured["balanced_baseline"])
    return bool(measured["interval"][0] > measured["baseline"]["accuracy"])


def say_accuracy(
    measured: dict[str, Any], start: str = "", *, is_balanced: bool = False
) -> list[str]:
    """Accuracy, interval and baseline in a line, and a warning if it is no better than that."""
    kind = "balanced_" if is_balanced else ""
    accuracy, (low, high) = measured[f"{kind}accuracy"], measured[f"{kind}interval"]
    base, who = measured["balanced_baseline"], "any class"
    if not is_balanced:
        base, who = measured["baseline"]["accuracy"], repr(str(measured["baseline"]["class"]))
    said = (
        f"{kind.replace('_', ' ')}accuracy {accuracy:.1%} (95% interval {low:.0%} to {high:.0%}); "
        f"always saying {who} has {base:.1%}."
    )
    line = f"{start}{said}" if start else f"{said[0].upper()}{said[1:]}"
    if beats_baseline(measured, is_balanced=is_balanced):
        return [line]
    return [line, f"Warning: this is not clearly better than always saying {who}."]
