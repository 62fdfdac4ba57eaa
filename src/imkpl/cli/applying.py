"""Models from files, and data for them."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import numpy as np

from imkpl.readers import DataFile, ExpectedColumns, InputError, ReadOptions, read_new_file
from imkpl.readers.data_file import list_names


def load_model(path: pathlib.Path) -> Any:
    """A fitted model from a file."""
    from imkpl import load

    model = load(path)
    if not hasattr(model, "_predictor"):
        raise InputError(
            f"{path.name} holds a {type(model).__name__} that was not fitted or does not classify, "
            "expected a fitted model. Write one with imkpl fit --model."
        )
    bank = model._predictor.bank
    if bank.reads != "series" and (bank.reads == "similarities" or bank._columns is None):
        raise InputError(
            f"The model in {path.name} has kernels of its own and reads neither tables nor time "
            "series. Use it from Python."
        )
    return model


def expected_columns(model: Any) -> ExpectedColumns | None:
    """What a model reads; None for time series."""
    predictor = model._predictor
    if predictor.bank.reads == "series":
        return None
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(model.n_features_in_)]
    live = [str(names[place]) for place in predictor.columns]
    columns = getattr(predictor.samples, "columns", ())
    categories = {
        name: column.categories
        for name, column in zip(live, columns, strict=False)
        if column.categories is not None
    }
    return ExpectedColumns(
        names=tuple(str(name) for name in names),
        live=tuple(live),
        categories=categories,
        reads_missing=predictor.bank.reads == "tables",
    )


def read_for_model(
    model: Any, path: pathlib.Path, options: ReadOptions, *, needs_target: bool = False
) -> DataFile:
    """Samples in the form that a model was fitted to."""
    data = read_new_file(path, expected_columns(model), options, needs_target=needs_target)
    return _with_classes(data, model.classes_, path)


def read_like(train: DataFile, path: pathlib.Path, options: ReadOptions) -> DataFile:
    """Samples and classes from another file, in the form of those to learn from."""
    expected = None
    if not train.is_series:
        frame = train.samples
        names = tuple(str(name) for name in frame.columns)
        texts = {name: frame[name] for name in names if frame[name].dtype.kind not in "iuf"}
        categories = {name: tuple(cells.dropna().unique()) for name, cells in texts.items()}
        expected = ExpectedColumns(names, names, categories, reads_missing=True)
    data = read_new_file(path, expected, options, needs_target=True)
    return _with_classes(data, np.unique(train.y), path)


def _with_classes(data: DataFile, classes: Any, path: pathlib.Path) -> DataFile:
    """The same data with labels of the type of known classes."""
    if data.y is None:
        return data
    if classes.dtype.kind in "USO" and data.y.dtype.kind not in "USO":
        data = replace(data, y=data.y.astype(str))
    known = set(classes.tolist())
    labels = list(dict.fromkeys(data.y.tolist()))
    new = [label for label in labels if label not in known]
    if len(new) == len(labels):
        raise InputError(
            f"No class of {path.name} is one of the model's: {list_names(new)} are not among "
            f"{list_names(classes.tolist())}. Name the column with the classes with --target."
        )
    if new:
        were = "was" if len(new) == 1 else "were"
        text = f"{list_names(new)} {were} not among the classes in training; such rows count as "
        data = replace(data, notes=(*data.notes, f"{text}wrong."))
    return data


def as_samples(model: Any, data: DataFile) -> Any:
    """What to pass to a model's methods."""
    if data.is_series or hasattr(model, "feature_names_in_"):
        return data.samples
    return data.samples.to_numpy()


def explain_rows(model: Any, data: DataFile) -> Any:
    """Reasons for rows, which keep their names."""
    explanation = model.explain(as_samples(model, data))
    return replace(explanation, sample_ids=np.asarray(data.ids))


def count_prototypes(model: Any) -> dict[str, int]:
    """How many prototypes each class has."""
    owners = model.prototype_classes_
    return {str(label): int((owners == label).sum()) for label in model.classes_}


def kept_features(model: Any) -> list[tuple[str, float]]:
    """Kernels with a weight, the heaviest first."""
    weights = model.kernel_weights_
    order = np.argsort(-weights, kind="stable")
    return [(str(model.kernel_names_[i]), float(weights[i])) for i in order if weights[i] > 0]
