"""A fitted model beside a data file: what it reads, and what commands say of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from imkpl.cli.command import echo, echo_note, echo_table
from imkpl.cli.measure import hash_rows, say_accuracy, say_rows
from imkpl.readers import InputError, ReadOptions
from imkpl.readers.formats import count, list_names
from imkpl.readers.read import DataFile, ExpectedColumns, read_new_file

# These settings say how a fit runs, not what it learns.
NOT_LEARNED = ("verbose", "n_jobs")


def load_model(path: Path) -> Any:
    """A fitted classifier from a file."""
    from imkpl import load

    model = load(path)
    if not hasattr(model, "_predictor"):
        raise InputError(
            f"{path.name} holds a {type(model).__name__} that is not fitted or is not a "
            "classifier, expected a fitted model. Write one with imkpl fit --model."
        )
    return model


def load_reader(path: Path) -> Any:
    """A fitted model that reads tables."""
    model = load_model(path)
    if input_kind(model) == "series" or model._predictor.kernels.input_columns is None:
        raise InputError(
            f"The model in {path.name} reads {input_kind(model)}, expected one that reads a table. "
            "Use it from Python."
        )
    return model


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
    return ExpectedColumns(names, live, categories, reads_missing=kind == "tables")


def find_blank(model: Any, data: DataFile) -> Any:
    """Which rows have nothing that a model reads."""
    cells = data.samples.iloc[:, model._predictor.kernels.input_columns]
    is_blank = cells == 0 if input_kind(model) == "words" else cells.isna()
    return is_blank.all(axis=1).to_numpy()


def find_outside(explanation: Any) -> dict[int, list[str]]:
    """Values far from all those in training, by row."""
    predictor, kernels = explanation.evidence.predictor, explanation.evidence.kernels
    numbers, found = kernels.numbers(), dict[int, list[str]]()
    for row, place in np.argwhere(predictor.find_far(kernels)).tolist():
        name, (low, high) = explanation.column_names[place], predictor.ranges[place]
        text = f"{name} = {numbers[row, place]:.4g}, in training {low:.4g} to {high:.4g}"
        found.setdefault(row, []).append(text)
    return found


def read_for_model(
    model: Any,
    path: Path,
    options: ReadOptions,
    *,
    needs_target: bool = False,
    usual_target: str | None = None,
) -> DataFile:
    """Samples in the form that a model was fitted to; notes are printed."""
    columns, classes = _expected_columns(model), model.classes_.tolist()
    return _read(path, columns, classes, options, needs_target, usual_target)


def read_like(train: DataFile, path: Path, options: ReadOptions) -> DataFile:
    """Samples and classes from another file, in the form of the training samples."""
    names, texts = tuple(train.samples), train.samples.select_dtypes(exclude="number")
    categories = {name: tuple(cells.dropna().unique()) for name, cells in texts.items()}
    columns = ExpectedColumns(names, names, categories, reads_missing=True)
    classes, options = np.unique(train.y).tolist(), replace(options, target=train.target)
    data = _read(path, columns, classes, options, needs_target=True)
    n_known = int(np.isin(hash_rows(data), hash_rows(train)).sum())
    if n_known:
        echo_note(f"{n_known} of {len(data)} rows to measure on are equal to rows to learn from.")
    return data


def _read(
    path: Path,
    columns: ExpectedColumns,
    classes: list[Any],
    options: ReadOptions,
    needs_target: bool,
    usual_target: str | None = None,
) -> DataFile:
    """Rows of which the form and the classes are known; notes are printed."""
    data = read_new_file(
        path,
        columns,
        options,
        classes=classes,
        usual_target=usual_target,
        needs_target=needs_target,
    )
    for text in data.notes:
        echo_note(text)
    if data.y is None:
        return data
    found = [label for label in dict.fromkeys(data.y.tolist()) if label is not None]
    new = [label for label in found if label not in set(classes)]
    if new and len(new) == len(found):
        text = (
            f"{path.name} has none of the model's classes: found {list_names(new)}, expected "
            f"{list_names(classes)}. Name the column with the classes with --target."
        )
        if needs_target or options.target is not None:
            raise InputError(text)
        echo_note(text)
        return replace(data, y=None)
    if new:
        were = "was not a class" if len(new) == 1 else "were not classes"
        echo_note(f"{list_names(new)} {were} in training; such rows count as errors.")
    # Labels of one type are an array of it.
    is_mixed = len({type(label) for label in data.y.tolist()}) > 1
    return data if is_mixed else replace(data, y=np.array(data.y.tolist()))


def as_samples(model: Any, data: DataFile) -> Any:
    """What to pass to the methods of a model."""
    return data.samples if hasattr(model, "feature_names_in_") else data.samples.to_numpy()


def explain_rows(model: Any, data: DataFile) -> Any:
    """Explanation of rows, under their names in the file."""
    explanation = model.explain(as_samples(model, data))
    return replace(explanation, sample_ids=np.asarray(data.ids))


def describe_model(model: Any, *, records: bool = False) -> dict[str, Any]:
    """What a fitted model holds, as plain values; its features begin with the heaviest."""
    n_prototypes, n_train = model.prototypes_.shape
    settings = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    weights, evidence = model.kernel_weights_, model.kernel_evidence_
    asked = {name: list(getattr(model, name, None) or ()) for name in ("require", "exclude")}
    constraints: dict[str, Any] = {name: names for name, names in asked.items() if names}
    if getattr(model, "eligible_", None) is not None:
        constraints["eligible"] = int(model.eligible_.sum())
    answer: dict[str, Any] = {
        "kind": type(model).__name__,
        "reads": input_kind(model),
        "decision": model.decision,
        "provenance": getattr(model, "provenance_", None),
        "classes": [
            {
                "class": label,
                "prototypes": int((model.prototype_classes_ == label).sum()),
                "records": int((model.support_classes_ == label).sum()),
            }
            for label in model.classes_
        ],
        "settings": {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in settings.items()
            if name not in NOT_LEARNED
        },
        "constraints": constraints,
        "n_features": getattr(model, "n_features_in_", None),
        "features": [
            {"name": str(model.kernel_names_[i]), "weight": weights[i], "evidence": evidence[i]}
            for i in np.argsort(-weights, kind="stable")
            if weights[i] > 0
        ],
        "expected_false_features": float(model.expected_false_kernels_),
        "n_prototypes": n_prototypes,
        "records_per_prototype": model.prototypes_.nnz / n_prototypes,
        "n_training_rows": n_train,
        "n_records": int(model.support_.size),
    }
    if records:
        inside = [part[:, model.support_].T for part in (model.prototypes_, model.contrasts_)]
        parts = model.support_ids_, model.support_classes_, model.support_values_, *inside
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


def say_constraints(constraints: dict[str, Any]) -> list[str]:
    """What was asked of features and rows, in a sentence."""
    parts = [
        f"{name}: {count(one, 'row') if isinstance(one, int) else ', '.join(map(str, one))}"
        for name, one in constraints.items()
    ]
    return [f"Constraints: {'; '.join(parts)}."] if parts else []


def echo_model(answer: dict[str, Any], most: int | None = None) -> None:
    """Print how often a model is right, its features, and the prototypes of its classes."""
    from imkpl.explanations.explanation import write_chance

    origin, features = answer["provenance"] or {}, answer["features"]
    folds, held_out = origin.get("folds"), origin.get("held_out")
    head, recalls = ["class", "prototypes", "records inside"], []
    is_balanced = answer["settings"]["class_weight"] is not None
    if folds is not None:
        times = f"{folds['repeats']} x " if folds["repeats"] > 1 else ""
        where = f"In {times}{folds['folds']} folds of {say_rows(folds, 'rows')}: "
        echo(*say_accuracy(folds, where, is_balanced=is_balanced))
        head.append("right in folds")
        recalls.append(folds["recall"])
    if held_out is not None:
        where = f"This model on {say_rows(held_out, 'other rows')}: "
        echo(*say_accuracy(held_out, where, is_balanced=is_balanced))
        head.append("right of other rows")
        recalls.append(held_out["recall"])
    for text in say_constraints(answer["constraints"]):
        echo(text)
    echo(f"Features kept: {len(features)} of {answer['n_features']}.")
    echo(write_chance(len(features), answer["expected_false_features"], "feature"), "")
    cells = [(f"{one['weight']:.1%}", f"{one['evidence']:.0%}", one["name"]) for one in features]
    echo_table(("weight", "evidence", "feature"), cells, most)
    echo()
    classes = [
        [name, one["prototypes"], one["records"]]
        + [f"{recall[name]:.0%}" if name in recall else "-" for recall in recalls]
        for one in answer["classes"]
        for name in [str(one["class"])]
    ]
    echo_table(head, classes)
    echo("", f"A prototype is made of {answer['records_per_prototype']:.1f} rows on average.")
