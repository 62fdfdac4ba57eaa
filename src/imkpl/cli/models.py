"""What commands know of a model: how well it does, what it reads, and what they say of it."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from imkpl._progress import announce
from imkpl.cli.command import echo, echo_note, echo_table, progress_bar, setting
from imkpl.explanations.explanation import write_chance
from imkpl.explanations.show import show_cell
from imkpl.measures import (
    ALIKE,
    judge,
    measure_chances,
    measure_errors,
    say_chances,
    weigh_answers,
    wilson_interval,
)
from imkpl.readers import InputError, ReadOptions
from imkpl.readers.cells import ENDING, read_cells
from imkpl.readers.check import MIN_CLASS_ROWS, find_baseline
from imkpl.readers.formats import PARSERS, count
from imkpl.readers.logs import read_log
from imkpl.readers.read import DataFile, ExpectedColumns, read_new_file
from imkpl.readers.shifts import describe_distributions

# These settings say how a fit runs, not what it learns.
NOT_LEARNED = ("verbose", "n_jobs")
N_FOLDS, MAX_REPEATS = 5, 5
# In larger tables, the rows that are held out say enough.
MAX_FOLD_ROWS = 2000
# Folds are repeated up to so many rows and cells in all, and not measured in a table of more cells,
# unless the user asks for them: the protocol does not depend on the clock.
FOLD_ROWS, FOLD_CELLS, MAX_FOLD_CELLS = 1500, 250_000, 1_000_000


def find_units(data: DataFile) -> Any:
    """The first row of all that are equal or in one group: these stay on one side of a split."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    keys = [np.unique(data.hash_samples(), return_inverse=True)[1]]
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
    classes, labels, counts = np.unique(data.strata, return_inverse=True, return_counts=True)
    if counts.min() < MIN_CLASS_ROWS:
        rare = int(np.argmin(counts))
        raise InputError(
            f"Class {str(classes[rare])!r} has {count(int(counts[rare]), 'row')}, expected at "
            "least three: two to learn from and one to measure on. Add rows of that class, leave "
            "them out, or use --test-size 0."
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
    build: Callable[[DataFile], Any],
    data: DataFile,
    *,
    seed: int,
    repeats: int | None,
) -> dict[str, Any] | None:
    """Accuracy in folds, repeated where rows are few, and of rows; None if it is not wanted."""
    from imkpl.estimators._evaluation import predict_without
    from imkpl.report.values import fit_line

    if repeats == 0 or (repeats is None and len(data) > MAX_FOLD_ROWS):
        return None
    n_folds = len(split_folds(data, seed))
    if repeats is None:
        n_cells = math.prod(data.samples.shape)
        if n_cells > MAX_FOLD_CELLS:
            raise InputError(f"the table has {n_cells} cells; --repeats 1 does it.")
        most = min(FOLD_ROWS / len(data), FOLD_CELLS / max(n_cells, 1))
        repeats = 1 if data.is_value else int(np.clip(most, 1, MAX_REPEATS))
    right = np.zeros((repeats, len(data)), dtype=float if data.is_value else bool)
    lines = np.zeros(len(data))
    classes = np.unique(data.strata)
    chances, lost = np.zeros((len(data), classes.size)), dict[str, float]()
    with progress_bar("measuring"), warnings.catch_warnings():
        # What a fold warns of, the fit to all training rows warns of as well.
        warnings.simplefilter("ignore")
        for repeat, is_right in enumerate(right):
            for fold, (train, test) in enumerate(split_folds(data, seed + repeat)):
                text, n_done = f"repetition {repeat + 1}, fold {fold + 1}", repeat * n_folds + fold
                announce("folds", text, n_done, repeats * n_folds)
                left_out = data.take(test)
                model = fit_rows(build(left_out), data.take(train))
                if data.is_value:
                    is_right[test] = model.predict(left_out.samples)
                    rest = data.take(train)
                    lines[test] = fit_line(rest.samples, rest.y, left_out.samples)
                    continue
                found = model.predict_proba(left_out.samples)
                is_right[test] = model.predict(left_out.samples) == left_out.y
                for name, labels in predict_without(model, left_out.samples) if not repeat else ():
                    n_lost = np.sum(is_right[test]) - np.sum(labels == left_out.y)
                    lost[name] = lost.get(name, 0.0) + float(n_lost)
                chances[np.ix_(test, np.searchsorted(classes, model.classes_))] += found / repeats
    if data.is_value:
        measured = measure_errors(data.y, right.mean(axis=0), float(data.y.mean()), lines)
    else:
        measured = describe_accuracy(
            right.mean(axis=0), data, chances=chances, model=model, names=classes
        )
        # What it costs if a column is missing, by the first of the repetitions.
        measured["lost"] = {name: n_rows / len(data) for name, n_rows in lost.items()}
    return {"folds": n_folds, "repeats": repeats, **measured, "right": right.mean(axis=0)}


def measure_model(model: Any, train: DataFile, test: DataFile) -> tuple[dict[str, Any], Any]:
    """How well a model does on held-out rows, and which it is right of."""
    from imkpl.report.values import fit_line

    found = model.predict(test.samples)
    if test.is_value:
        line = fit_line(train.samples, train.y, test.samples)
        return measure_errors(test.y, found, float(train.y.mean()), line), None
    chances, usual = model.predict_proba(test.samples), find_baseline(train.y)[0]
    is_right = found == test.y
    measured = describe_accuracy(is_right, test, usual, chances, model)
    if model.ordered is not None:
        order = list(model.ordered)
        places = [np.array([order.index(one) for one in some.tolist()]) for some in (found, test.y)]
        measured["mean_error"] = float(np.mean(np.abs(places[0] - places[1])))
    return measured, is_right


def find_rule(data: DataFile) -> dict[str, Any]:
    """What is to be beaten: the most frequent class, or the mean."""
    if data.is_value:
        mean = float(data.y.mean())
        return {"value": mean, "mean_error": float(np.mean(np.abs(data.y - mean)))}
    label, n_rows = find_baseline(data.y)
    return {"class": label, "rows": n_rows, "accuracy": n_rows / len(data)}


def split_folds(data: DataFile, seed: int) -> list[Any]:
    """Training and test rows of five folds, or fewer, with whole units and shares of classes."""
    from sklearn.model_selection import StratifiedGroupKFold

    units, labels = find_units(data), np.unique(data.strata, return_inverse=True)[1]
    n_units = np.array([np.unique(units[labels == label]).size for label in np.unique(labels)])
    n_folds = min(N_FOLDS, int(n_units.min()))
    if n_folds < 2:
        label = np.unique(data.strata)[int(np.argmin(n_units))]
        raise InputError(f"all rows of class {str(label)!r} are equal or of one group.")
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    return list(folds.split(labels, labels, units))


def fit_rows(model: Any, train: DataFile) -> Any:
    """A model fitted to the rows of a file."""
    # A fold may have the rows of one group only, which tell nothing of others.
    has_groups = train.groups is not None and np.unique(train.groups).size > 1
    given = {"eligible": train.eligible, "groups": train.groups if has_groups else None}
    more = {name: one for name, one in given.items() if one is not None}
    model.fit(train.samples, train.y, **more)
    if hasattr(train.samples, "channel_names"):
        # A set of series has no names of its own.
        model.support_ids_ = np.array(train.ids, dtype=object)[model.support_]
    return model


def describe_accuracy(
    right: Any,
    data: DataFile,
    guess: Any = None,
    chances: Any = None,
    model: Any = None,
    names: Any = None,
) -> dict[str, Any]:
    """Accuracy by how often each row was right, beside a baseline that always says `guess`."""
    costs, class_weight = getattr(model, "costs", None), getattr(model, "class_weight", None)
    names = getattr(model, "classes_", None) if names is None else names
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
        "chances": None if chances is None else _measure_known(chances, names, shown, units),
        "weighed": weigh_answers(np.asarray(right, float), y.tolist(), units, costs, class_weight),
        "balanced_accuracy": balanced,
        # The variance of a mean of shares, each of its own number of draws.
        "balanced_interval": wilson_interval(balanced, classes.size**2 / np.sum(1 / n_units)),
        "balanced_baseline": 1 / classes.size,
        "recall": dict(zip((str(one) for one in classes), recalls, strict=True)),
        "recall_interval": {
            str(label): wilson_interval(recall, n)
            for label, recall, n in zip(classes, recalls, n_units.tolist(), strict=True)
        },
    }


def _measure_known(chances: Any, names: Any, y: Any, units: Any) -> dict[str, Any] | None:
    """What probabilities are worth, on the rows of classes that they are of."""
    labels = [str(name) for name in np.asarray(names).tolist()]
    places = np.array([labels.index(one) if one in labels else -1 for one in map(str, y.tolist())])
    is_known = places >= 0
    return measure_chances(chances[is_known], places[is_known], units[is_known], labels)


def say_accuracy(measured: dict[str, Any], start: str = "") -> str:
    """Accuracy, interval and baseline in a line, what probabilities are worth in another."""
    if "r2" in measured:
        return f"{start}R² {measured['r2']:.2f}, off by {measured['mean_error']:.4g} on average."
    is_balanced = (measured.get("weighed") or {}).get("how") == ALIKE
    kind = "balanced_" if is_balanced else ""
    accuracy, (low, high) = measured[f"{kind}accuracy"], measured[f"{kind}interval"]
    base, who = measured["balanced_baseline"], "any class"
    if not is_balanced:
        base, who = measured["baseline"]["accuracy"], repr(str(measured["baseline"]["class"]))
    said = (
        f"{kind.replace('_', ' ')}accuracy {accuracy:.1%} (95% interval {low:.0%} to {high:.0%}); "
        f"always saying {who} has {base:.1%}."
    )
    if "mean_error" in measured:
        said += f"\n  Off by {measured['mean_error']:.2f} classes of the order on average."
    if measured.get("chances") is not None:
        said += f"\n  {say_chances(measured['chances'])}"
    return f"{start}{said}" if start else f"{said[0].upper()}{said[1:]}"


@dataclass(frozen=True)
class Choice:
    """What answers depend on beside the model; every field is an option."""

    costs: tuple[str, ...] = setting(
        (), "How many times as bad it is to miss a class, such as sick=10; may be repeated."
    )
    threshold: tuple[str, ...] = setting(
        (), "The probability from which one of two classes is the answer, such as sick=0.1."
    )
    prevalence: tuple[str, ...] = setting(
        (), "How frequent a class is where the model is used, such as sick=0.01; may be repeated."
    )

    max_missing: float | None = setting(
        None,
        "The largest part of the weight that a row may lack to get an answer. Usual: 0.5.",
        min=0.0,
        max=1.0,
    )

    def read(self, classes: Any) -> dict[str, Any]:
        """Parameters of the estimator; None for what is not said."""
        labels = {str(label): label for label in np.asarray(classes).tolist()}
        if self.threshold and len(labels) != 2:
            raise InputError(
                f"--threshold is for two classes, and there are {len(labels)}. Use --costs."
            )
        costs = _read_numbers("--costs", self.costs, labels)
        for label, share in _read_numbers("--threshold", self.threshold, labels, 1.0).items():
            costs[label] = (1 - share) / share
        prevalence = _read_numbers("--prevalence", self.prevalence, labels, 1.0)
        more = {} if self.max_missing is None else {"max_missing": self.max_missing}
        return {"costs": costs or None, "prevalence": prevalence or None, **more}


def _read_numbers(
    name: str, texts: Sequence[str], labels: dict[str, Any], end: float = np.inf
) -> dict[Any, float]:
    """Numbers between 0 and `end` of classes, from options such as sick=10."""
    found = {}
    for text in texts:
        label, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if label not in labels or not 0 < value < end:
            what, usual = (
                ("a number between 0 and 1", 0.1) if end == 1 else ("a positive number", 10)
            )
            raise InputError(
                f"{name} {text}: expected a class and {what}, such as {name} "
                f"{next(iter(labels))}={usual}. The classes are {', '.join(list(labels)[:10])}."
            )
        found[labels[label]] = value
    return found


def load_at_costs(path: Path, choice: Choice) -> Any:
    """A model from a file; costs and prevalence that are given take the place of its own."""
    model = load_model(path)
    for name, value in choice.read(getattr(model, "classes_", ())).items():
        if value is not None:
            model.set_params(**{name: value})
    return model


def find_verdict(model: Any) -> dict[str, str] | None:
    """What the page says of the model, from what was measured at the fit; None if nothing was."""
    origin = find_origin(model)
    # Later rows say more of the future than folds of earlier ones.
    keys = ("held_out", "folds") if origin.get("after") else ("folds", "held_out")
    measured = origin.get(keys[0]) or origin.get(keys[1])
    return None if measured is None else judge(measured)


def say_later(model: Any) -> str | None:
    """From when on rows were held out, if time was the reason."""
    after = find_origin(model).get("after")
    return None if after is None else f"{after['column']} from {after['value']} on"


def load_model(path: Path, *, is_for_rows: bool = True) -> Any:
    """A fitted classifier from a file; for the rows of a table, it must read one."""
    from imkpl import load
    from imkpl.files import ModelFileError

    try:
        model = load(path)
    except ModelFileError as error:
        if path.suffix.lower() not in PARSERS:
            raise
        raise InputError(
            f"{path.name} is not a model, expected a file that imkpl fit --model wrote. Pass the "
            "model first, and then the data."
        ) from error
    if not hasattr(model, "_predictor"):
        raise InputError(
            f"{path.name} holds a {type(model).__name__} that is not fitted or is not a "
            "classifier, expected a fitted model. Write one with imkpl fit --model."
        )
    is_log = bool(find_origin(model).get("reading", {}).get("series"))
    reads_table = is_log or (
        input_kind(model) != "series" and model._predictor.kernels.input_columns is not None
    )
    if is_for_rows and not reads_table:
        raise InputError(
            f"The model in {path.name} reads {input_kind(model)}, expected one that reads a table. "
            "Use it from Python."
        )
    return model


def is_regressor(model: Any) -> bool:
    """Whether a model predicts values."""
    return hasattr(model, "prototype_values_")


def input_kind(model: Any) -> str:
    """What a model reads: columns (of numbers), tables, words, series, ..."""
    return str(model._predictor.kernels.input_kind)


def find_origin(model: Any) -> dict[str, Any]:
    """What imkpl fit stored about the data; nothing in a model that was saved from Python."""
    return getattr(model, "provenance_", None) or {}


def _expected_columns(model: Any) -> ExpectedColumns:
    """What a model reads of a table."""
    kernels, kind = model._predictor.kernels, input_kind(model)
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)])
    names = tuple(str(name) for name in names)
    # The length of a document is that of all its words.
    live = names if kind == "words" else tuple(names[i] for i in kernels.input_columns)
    columns = zip(live, getattr(kernels.samples, "columns", ()), strict=False)
    categories = {name: one.categories for name, one in columns if one.categories is not None}
    takes_missing = kind == "tables" or model._predictor.expected is not None
    return ExpectedColumns(names, live, categories, reads_missing=takes_missing)


def find_blank(model: Any, data: DataFile) -> Any:
    """Which rows have nothing that a model reads."""
    if not data.is_table:
        return np.zeros(len(data), dtype=bool)
    cells = data.samples.iloc[:, model._predictor.kernels.input_columns]
    is_blank = cells == 0 if input_kind(model) == "words" else cells.isna()
    return is_blank.all(axis=1).to_numpy()


def list_live(model: Any) -> list[str]:
    """The columns that a model reads, of those that have names."""
    return list(_expected_columns(model).live)


def weigh_columns(model: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """The weight of every column that a model reads, and its distribution in training."""
    from pandas import DataFrame

    known = find_origin(model).get("distributions")
    if known is None:
        known = describe_distributions(DataFrame(model.support_values_))
    shares = model.feature_importances_[model._predictor.kernels.input_columns]
    return dict(zip(list_live(model), shares.tolist(), strict=True)), known


def find_refused(model: Any, data: DataFile, explanation: Any) -> dict[int, str]:
    """Why rows get no answer."""
    is_blank, missing = find_blank(model, data), explanation.missing
    refused = np.flatnonzero(missing > explanation.max_missing).tolist()
    found = {row: f"no answer: {missing[row]:.0%} of the weight is missing" for row in refused}
    blank = np.flatnonzero(is_blank).tolist()
    return found | dict.fromkeys(blank, "no evidence: no value that the model reads")


def find_outside(explanation: Any) -> dict[int, list[str]]:
    """Values far from all those in training, by row."""
    predictor, kernels = explanation.evidence.predictor, explanation.evidence.kernels
    numbers, found = kernels.numbers(), dict[int, list[str]]()
    for row, place in np.argwhere(predictor.find_far(kernels)).tolist():
        name, (low, high) = explanation.column_names[place], predictor.ranges[place]
        text = f"{name} = {numbers[row, place]:.4g}, in training {low:.4g} to {high:.4g}"
        found.setdefault(row, []).append(text)
    return found


def read_for_model(model: Any, path: Path, options: ReadOptions, **more: Any) -> DataFile:
    """Samples in the form that a model was fitted to; notes are printed."""
    reading = find_origin(model).get("reading", {})
    if path.suffix.lower() == ENDING:
        data = read_cells(path, options, more.get("usual_target"), is_new=True)
    elif input_kind(model) == "series":
        roles = {name: reading.get(name) for name in ("series", "time", "target")}
        given = {name: one for name in roles if (one := getattr(options, name))}
        data = read_log(path, replace(options, **(roles | given)), tuple(model.feature_names_in_))
    else:
        known = {name: reading.get(name) for name in ("merge_spellings", "months")}
        known["months"] = tuple(known["months"] or ())
        options = replace(options, **{name: one for name, one in known.items() if one})
        classes = None if is_regressor(model) else model.classes_.tolist()
        data = read_new_file(path, _expected_columns(model), options, classes=classes, **more)
    echo_note(*data.notes)
    return data


def as_samples(model: Any, data: DataFile) -> Any:
    """What to pass to the methods of a model."""
    has_names = hasattr(model, "feature_names_in_") or not data.is_table
    return data.samples if has_names else data.samples.to_numpy()


def explain_rows(model: Any, data: DataFile) -> Any:
    """Explanation of rows, under their names in the file."""
    explanation = model.explain(as_samples(model, data))
    return replace(explanation, sample_ids=np.asarray(data.ids))


def describe_model(model: Any, *, records: bool = False) -> dict[str, Any]:
    """What a fitted model holds, as plain values; its features begin with the heaviest."""
    n_prototypes, n_train = model.prototypes_.shape
    settings = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    shared = model._explain_nothing().comparison
    asked = {name: list(getattr(model, name, None) or ()) for name in ("require", "exclude")}
    constraints: dict[str, Any] = {name: names for name, names in asked.items() if names}
    if getattr(model, "eligible_", None) is not None:
        constraints["eligible"] = int(model.eligible_.sum())
    answer: dict[str, Any] = {
        "kind": type(model).__name__,
        "reads": input_kind(model),
        "decision": model.decision,
        "provenance": getattr(model, "provenance_", None),
        "verdict": find_verdict(model),
        "classes": list_classes(model),
        "settings": {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in settings.items()
            if name not in NOT_LEARNED
        },
        "constraints": constraints,
        "n_features": getattr(model, "n_features_in_", None),
        "features": [
            {"name": shared.names[i], "weight": shared.weights[i], "evidence": shared.evidence[i]}
            for i in np.argsort(-shared.weights, kind="stable")
        ],
        "expected_false_features": float(np.sum(1 - shared.evidence)),
        "n_prototypes": n_prototypes,
        "records_per_prototype": model.prototypes_.nnz / n_prototypes,
        "n_training_rows": n_train,
        "n_records": int(model.support_.size),
    }
    if records:
        inside = [part[:, model.support_].T for part in (model.prototypes_, model.contrasts_)]
        targets = "support_targets_" if is_regressor(model) else "support_classes_"
        parts = model.support_ids_, getattr(model, targets), model.support_values_, *inside
        answer["records"] = [
            {
                "id": name,
                "class": label,
                "prototypes": like.nonzero()[-1],
                "contrasts": unlike.nonzero()[-1],
                "values": values,
            }
            for name, label, values, like, unlike in zip(*parts, strict=True)
        ]
    return answer


def list_classes(model: Any) -> list[dict[str, Any]]:
    """The classes with their numbers of prototypes and records; of values the prototypes."""
    if is_regressor(model):
        sizes = zip(
            model.prototype_values_.tolist(), np.diff(model.prototypes_.indptr), strict=True
        )
        return [{"class": show_cell(one), "prototypes": 1, "records": int(n)} for one, n in sizes]
    return [
        {
            "class": label,
            "prototypes": int((model.prototype_classes_ == label).sum()),
            "records": int((model.support_classes_ == label).sum()),
        }
        for label in model.classes_
    ]


def say_constraints(constraints: dict[str, Any]) -> list[str]:
    """What was asked of features and rows, in a sentence."""
    parts = [
        f"{name}: {count(one, 'row') if isinstance(one, int) else ', '.join(map(str, one))}"
        for name, one in constraints.items()
    ]
    return [f"Constraints: {'; '.join(parts)}."] if parts else []


def echo_model(answer: dict[str, Any], most: int | None = None) -> None:
    """Print how often a model is right, its features, and the prototypes of its classes."""
    origin, features = answer["provenance"] or {}, answer["features"]
    folds, held_out = origin.get("folds"), origin.get("held_out")
    is_value = answer["kind"] == "IMKPLRegressor"
    head, recalls = ["value" if is_value else "class", "prototypes", "records inside"], []
    times = f"{folds['repeats']} x " if folds and folds["repeats"] > 1 else ""
    where = f"In {times}{folds['folds']} folds of" if folds else ""
    after = origin.get("after")
    earlier, other = ("earlier rows", "later rows") if after else ("rows", "other rows")
    since = f"{other} ({after['column']} from {after['value']} on)" if after else other
    for measured, start, noun, title in (
        (folds, where, earlier, "right in folds"),
        (held_out, "This model on", since, f"right of {other}"),
    ):
        if measured is not None:
            n_rows, n_distinct = measured["rows"], measured["distinct_rows"]
            more = f" ({n_distinct} independent)" if n_distinct < n_rows else ""
            start = f"{start} {n_rows} {noun}{more}: "
            echo(*say_accuracy(measured, start).split("\n"))
            if is_value:
                continue
            head.append(title)
            recalls.append(
                {
                    name: f"{recall:.0%} ({' to '.join(f'{end:.0%}' for end in ends)})"
                    for (name, recall), ends in zip(
                        measured["recall"].items(),
                        measured["recall_interval"].values(),
                        strict=True,
                    )
                }
            )
    if answer["verdict"] is not None:
        echo(answer["verdict"]["text"])
    for text in say_constraints(answer["constraints"]):
        echo(text)
    n_features, is_series = answer["n_features"], answer["reads"] == "series"
    echo(
        f"Views of {n_features} channels kept: {len(features)}."
        if is_series
        else f"Features kept: {len(features)} of {n_features}."
    )
    echo(write_chance(len(features), answer["expected_false_features"], "feature"), "")
    cells = [(f"{one['weight']:.1%}", f"{one['evidence']:.0%}", one["name"]) for one in features]
    echo_table(("weight", "evidence", "feature"), cells, most)
    echo()
    classes = [
        [name, one["prototypes"], one["records"]] + [recall.get(name, "-") for recall in recalls]
        for one in answer["classes"]
        for name in [str(one["class"])]
    ]
    echo_table(head, classes)
    echo("", f"A prototype is made of {answer['records_per_prototype']:.1f} rows on average.")
