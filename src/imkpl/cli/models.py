"""A fitted model beside a data file: what it reads, and what commands say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from imkpl.cli.output import echo_note, echo_table
from imkpl.readers import InputError, ReadOptions
from imkpl.readers.data_file import DataFile, list_names
from imkpl.readers.read import ExpectedColumns, read_new_file

# A value is far from all others at this part of their range beyond it.
FAR = 0.25
# The kernels that "auto" takes for each kind of input.
AUTO_NAMES = {
    "columns": "per_feature_gaussian",
    "tables": "per_column",
    "words": "per_word",
    "series": "per_view",
}


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
    """A fitted model that reads tables or time series."""
    model = load_model(path)
    if input_kind(model) != "series" and model._predictor.kernels.input_columns is None:
        raise InputError(
            f"The model in {path.name} has kernels of its own and reads neither tables nor time "
            "series. Use it from Python."
        )
    return model


def input_kind(model: Any) -> str:
    """What a model reads: columns (of numbers), tables, words, series, ..."""
    return str(model._predictor.kernels.input_kind)


def name_kernels(model: Any) -> str:
    """What "auto" took."""
    return AUTO_NAMES.get(input_kind(model), str(model.kernels))


def expected_columns(model: Any) -> ExpectedColumns | None:
    """What a model reads of a table; None for time series."""
    kernels, kind = model._predictor.kernels, input_kind(model)
    if kind == "series":
        return None
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)])
    names = tuple(str(name) for name in names)
    # The length of a document is that of all its words.
    live = names if kind == "words" else tuple(names[i] for i in kernels.input_columns)
    columns = zip(live, getattr(kernels.samples, "columns", ()), strict=False)
    categories = {name: one.categories for name, one in columns if one.categories is not None}
    return ExpectedColumns(names, live, categories, reads_missing=kind == "tables")


def find_blank(model: Any, data: DataFile) -> Any:
    """Which rows have nothing that a model reads."""
    if data.is_series:
        return np.zeros(len(data), dtype=bool)
    cells = data.samples.iloc[:, model._predictor.kernels.input_columns]
    is_blank = cells == 0 if input_kind(model) == "words" else cells.isna()
    return is_blank.all(axis=1).to_numpy()


def find_outside(model: Any, data: DataFile) -> dict[int, list[str]]:
    """Values far from all those in training, by row."""
    ranges = model._predictor.ranges
    found: dict[int, list[str]] = {}
    if data.is_series or ranges is None:
        return found
    for place, (low, high) in zip(model._predictor.kernels.input_columns, ranges, strict=True):
        # Categories have no range.
        if np.isnan(low):
            continue
        name, values = data.samples.columns[place], data.samples.iloc[:, place].to_numpy(float)
        margin = FAR * (high - low)
        for row in np.flatnonzero((values < low - margin) | (values > high + margin)).tolist():
            text = f"{name} = {values[row]:.4g}, in training {low:.4g} to {high:.4g}"
            found.setdefault(row, []).append(text)
    return found


def read_for_model(
    model: Any,
    path: Path,
    options: ReadOptions,
    *,
    needs_target: bool = False,
    classes: Sequence[Any] = (),
) -> DataFile:
    """Samples in the form that a model was fitted to; notes are printed."""
    expected = expected_columns(model)
    if needs_target or options.target is not None:
        classes = model.classes_.tolist()
    data = read_new_file(path, expected, options, needs_target=needs_target, classes=classes)
    data = _with_classes(data, model.classes_, path)
    for text in data.notes:
        echo_note(text)
    return data


def read_like(train: DataFile, path: Path, options: ReadOptions) -> DataFile:
    """Samples and classes from another file, in the form of the training samples."""
    expected = None
    if not train.is_series:
        names, categories = tuple(train.samples.columns), {}
        for name, cells in train.samples.items():
            if cells.dtype.kind not in "iuf":
                categories[name] = tuple(cells.dropna().unique())
        expected = ExpectedColumns(names, names, categories, reads_missing=True)
    classes = np.unique(train.y)
    data = read_new_file(path, expected, options, needs_target=True, classes=classes.tolist())
    return _with_classes(data, classes, path)


def _with_classes(data: DataFile, classes: Any, path: Path) -> DataFile:
    """The same data with labels in an array of one type, if they are; others are noted."""
    if data.y is None:
        return data
    if len({type(label) for label in data.y.tolist()}) == 1:
        data = replace(data, y=np.array(data.y.tolist()))
    found = [label for label in dict.fromkeys(data.y.tolist()) if label is not None]
    new = [label for label in found if label not in set(classes.tolist())]
    if new and len(new) == len(found):
        raise InputError(
            f"{path.name} has none of the model's classes: found {list_names(new)}, expected "
            f"{list_names(classes.tolist())}. Name the column with the classes with --target."
        )
    if new:
        were = "was not a class" if len(new) == 1 else "were not classes"
        text = f"{list_names(new)} {were} in training; such rows count as errors."
        data = replace(data, notes=(*data.notes, text))
    return data


def as_samples(model: Any, data: DataFile) -> Any:
    """What to pass to the methods of a model."""
    if data.is_series or hasattr(model, "feature_names_in_"):
        return data.samples
    return data.samples.to_numpy()


def explain_rows(model: Any, data: DataFile) -> Any:
    """Explanation of rows, under their names in the file."""
    explanation = model.explain(as_samples(model, data))
    return replace(explanation, sample_ids=np.asarray(data.ids))


def count_prototypes(model: Any) -> dict[str, int]:
    """Number of prototypes of each class."""
    owners = model.prototype_classes_
    return {str(label): int((owners == label).sum()) for label in model.classes_}


def describe_constraints(model: Any) -> dict[str, Any]:
    """Features that were required or excluded, and how many rows were eligible, if asked for."""
    given = {name: getattr(model, name, None) for name in ("require", "exclude")}
    found = {name: list(names) for name, names in given.items() if names is not None and len(names)}
    eligible = getattr(model, "eligible_", None)
    return found if eligible is None else {**found, "eligible": int(eligible.sum())}


def list_features(model: Any) -> list[dict[str, Any]]:
    """Names, weights and evidence of the selected kernels, the heaviest first."""
    weights, evidence = model.kernel_weights_, model.kernel_evidence_
    return [
        {
            "name": str(model.kernel_names_[i]),
            "weight": float(weights[i]),
            "evidence": float(evidence[i]),
        }
        for i in np.argsort(-weights, kind="stable")
        if weights[i] > 0
    ]


def echo_features(features: list[dict[str, Any]], kind: str, most: int | None = None) -> None:
    """Print a table of features."""
    cells = [(f"{one['weight']:.1%}", f"{one['evidence']:.0%}", one["name"]) for one in features]
    echo_table(("weight", "evidence", kind), cells, most)
