"""Commands for a fitted model: ``predict``, ``explain``, ``report``, ``export``, ``compare``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl._archive import write_file
from imkpl.cli.command import (
    DataArgument,
    ForceOption,
    JsonOption,
    LabelledFile,
    MeasuredFile,
    ModelArgument,
    NewFile,
    SpreadsheetOption,
    option,
)
from imkpl.cli.measure import describe_accuracy, find_units, say_accuracy
from imkpl.cli.output import (
    check_ending,
    check_outputs,
    check_report,
    check_spreadsheet,
    echo,
    echo_json,
    echo_note,
    echo_table,
    format_csv,
    format_json,
)
from imkpl.kernels import ParquetColumns
from imkpl.readers import DataFile, ExpectedColumns, InputError, ReadOptions, read_new_file
from imkpl.readers.data_file import list_names
from imkpl.readers.read import open_tall

PREDICT_EXAMPLES = """
imkpl predict m.imkpl new.csv
imkpl predict m.imkpl new.csv --id patient --out classes.csv
imkpl predict m.imkpl new.csv --out classes.csv --spreadsheet-safe
imkpl predict m.imkpl new.csv --reject --json
imkpl predict m.imkpl labelled.csv --target class
"""
EXPLAIN_EXAMPLES = """
imkpl explain m.imkpl new.csv
imkpl explain m.imkpl new.csv --id patient --row p17 --row p4
imkpl explain m.imkpl new.csv --out reasons.csv
imkpl explain m.imkpl new.csv --all --json
"""
REPORT_EXAMPLES = """
imkpl report m.imkpl data.csv --target class --by sex --out page.html
imkpl report m.imkpl data.csv --target class --id patient --out page.html --title "Trial 2"
"""
EXPORT_EXAMPLES = """
imkpl export m.imkpl --to json --output m.json
imkpl export m.imkpl --output m.json --with-predictor
imkpl export m.imkpl --to onnx --output m.onnx
"""
COMPARE_EXAMPLES = """
imkpl compare a.imkpl b.imkpl
imkpl compare a.imkpl b.imkpl --data new.csv --target class
imkpl compare a.imkpl b.imkpl --json
"""
# Rows and features on a screen; files and --json have all of them.
MAX_SHOWN = 20
MAX_EXPLAINED = 5
# A value is far from all others at this part of their range beyond it.
FAR = 0.25
# These settings say how a fit runs, not what it learns.
NOT_COMPARED = ("verbose", "n_jobs")


def predict(
    model: ModelArgument,
    data: DataArgument,
    options: LabelledFile,
    out: Annotated[Path | None, option("--out", "Write all rows here (.csv or .json).")] = None,
    reject: Annotated[
        bool, option("--reject", "Give no class to rows unlike any in training.")
    ] = False,
    spreadsheet_safe: SpreadsheetOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Classify the rows of a file: class, probability of every class, novelty.

    Columns are matched by name: columns that the model does not know are ignored, and columns that
    it does not use may be missing. Novelty is 0 for a row like those in training and 1 for a row
    like none of them. A row without any value that the model reads gets no class. If the file has
    the classes, the accuracy is measured.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--out", out, (".csv", ".json"))
    check_spreadsheet(spreadsheet_safe, out)
    estimator = load_model(model)
    tall = None
    if estimator._predictor.bank.reads == "columns" and hasattr(estimator, "feature_names_in_"):
        tall = open_tall(data, options, estimator.feature_names_in_.tolist())
    if tall is not None:
        _predict_blocks(estimator, tall, out, reject=reject, is_safe=spreadsheet_safe)
        return
    classes = estimator.classes_.tolist()
    rows = read_for_model(estimator, data, options, classes=classes)
    answer = _describe_predictions(estimator, rows, reject=reject)
    answer.update(model=str(model), file=str(data), out=None if out is None else str(out))
    if out is not None:
        if out.suffix.lower() == ".json":
            text = format_json(answer)
        else:
            table = _tabulate_predictions(answer["rows"])
            text = format_csv(table, out, is_safe=spreadsheet_safe, style=rows.style)
        write_file(out, text.encode())
    if as_json:
        echo_json(answer)
    else:
        _echo_predictions(answer)


def _predict_blocks(
    model: Any, tall: ParquetColumns, out: Path | None, *, reject: bool, is_safe: bool
) -> None:
    """Classify the rows of a large file a block at a time; nothing but the table is written."""
    import pandas as pd

    if out is None or out.suffix.lower() != ".csv":
        raise InputError(
            f"{tall.path.name} has {len(tall)} rows, which are classified a block at a time, "
            "expected a file to write them to. Add --out classes.csv."
        )

    def write_blocks() -> Iterator[bytes]:
        for start, block in tall.row_blocks(np.arange(len(tall))):
            ids = np.arange(start + 1, start + len(block) + 1)
            frame = pd.DataFrame(block, index=ids, columns=tall.feature_names)
            answer = _describe_predictions(model, DataFile(frame, None, ids), reject=reject)
            table = _tabulate_predictions(answer["rows"])
            text = format_csv(table, out, is_safe=is_safe, style=(",", "."))
            yield (text.partition("\n")[2] if start else text).encode()

    write_file(out, write_blocks())
    echo(f"{len(tall)} rows written to {out}.")


def _describe_predictions(model: Any, data: DataFile, *, reject: bool) -> dict[str, Any]:
    found = explain_rows(model, data)
    names = [str(label) for label in found.classes]
    is_blank, outside = _find_blank(model, data), _find_outside(model, data)
    predicted = np.array(found.predicted, dtype=object)
    predicted[is_blank | (reject & found.is_novel)] = None
    rows = []
    for row in range(len(data)):
        notes = ["unlike any in training"] * bool(found.is_novel[row]) + outside.get(row, [])
        if is_blank[row]:
            notes = ["no evidence: no value that the model reads"]
        shares = [None] * len(names) if is_blank[row] else found.probabilities[row].tolist()
        rows.append(
            {
                "id": data.ids[row],
                "prediction": predicted[row],
                "probabilities": dict(zip(names, shares, strict=True)),
                "novelty": float(found.novelty[row]),
                "is_novel": bool(found.is_novel[row]),
                "note": "; ".join(notes),
            }
        )
    return {
        "command": "predict",
        "notes": list(data.notes),
        "classes": list(found.classes),
        "novelty_threshold": float(found.novelty_threshold),
        "measured": _measure_predictions(data, predicted),
        "rows": rows,
    }


def _find_blank(model: Any, data: DataFile) -> Any:
    """Which rows have nothing that the model reads."""
    if data.is_series:
        return np.zeros(len(data), dtype=bool)
    cells = data.samples.iloc[:, model._predictor.columns]
    if model._predictor.bank.reads == "words":
        return (cells == 0).all(axis=1).to_numpy()
    return cells.isna().all(axis=1).to_numpy()


def _find_outside(model: Any, data: DataFile) -> dict[int, list[str]]:
    """Values far from all those in training, by row."""
    ranges = model._predictor.ranges
    found: dict[int, list[str]] = {}
    if data.is_series or ranges is None:
        return {}
    for place, (low, high) in zip(model._predictor.columns, ranges, strict=True):
        # Categories have no range.
        if np.isnan(low):
            continue
        name, values = data.samples.columns[place], data.samples.iloc[:, place].to_numpy(float)
        margin = FAR * (high - low)
        for row in np.flatnonzero((values < low - margin) | (values > high + margin)).tolist():
            text = f"{name} = {values[row]:.4g}, in training {low:.4g} to {high:.4g}"
            found.setdefault(row, []).append(text)
    return found


def _measure_predictions(data: DataFile, predicted: Any) -> dict[str, Any] | None:
    """Accuracy on the rows that have a class; None if there are none."""
    if data.y is None:
        return None
    rows = np.flatnonzero([label is not None for label in data.y.tolist()])
    if rows.size == 0:
        return None
    labelled = data.take(rows)
    right = np.array([str(one) for one in predicted[rows]]) == labelled.y.astype(str)
    return describe_accuracy(right, labelled.y.astype(str), find_units(labelled))


def _tabulate_predictions(rows: list[dict[str, Any]]) -> Any:
    import pandas as pd

    table = [
        {
            "id": row["id"],
            "prediction": row["prediction"],
            **{f"probability {name}": share for name, share in row["probabilities"].items()},
            "novelty": row["novelty"],
            "is_novel": row["is_novel"],
            "note": row["note"],
        }
        for row in rows
    ]
    return pd.DataFrame(table)


def _echo_predictions(answer: dict[str, Any]) -> None:
    rows = answer["rows"]
    if answer["out"] is None:
        cells = [
            [
                str(row["id"]),
                "(none)" if row["prediction"] is None else str(row["prediction"]),
                f"{max(shares):.0%}" if None not in shares else "-",
                f"{row['novelty']:.2f}",
                row["note"],
            ]
            for row in rows[:MAX_SHOWN]
            for shares in [row["probabilities"].values()]
        ]
        echo_table(("row", "class", "probability", "novelty", ""), cells)
        if len(rows) > MAX_SHOWN:
            echo(f"... and {len(rows) - MAX_SHOWN} more; --out classes.csv writes all")
    else:
        echo(f"{len(rows)} rows written to {answer['out']}.")
    n_novel = sum(row["is_novel"] for row in rows)
    if n_novel:
        verb = "are" if n_novel > 1 else "is"
        echo(
            f"{n_novel} of {len(rows)} rows {verb} unlike any in training (novelty above "
            f"{answer['novelty_threshold']:.2f})."
        )
    n_far = sum("in training " in row["note"] for row in rows)
    if n_far and (answer["out"] is not None or len(rows) > MAX_SHOWN):
        have = "have" if n_far > 1 else "has"
        echo(f"{n_far} of {len(rows)} rows {have} a value far outside the training range.")
    n_blank = sum(row["note"].startswith("no evidence") for row in rows)
    if n_blank:
        have = "have" if n_blank > 1 else "has"
        echo(f"{n_blank} of {len(rows)} rows {have} no value that the model reads, thus no class.")
    measured = answer["measured"]
    if measured is not None:
        echo(f"Compared with the classes of {measured['rows']} rows: {say_accuracy(measured)}")


def explain(
    model: ModelArgument,
    data: DataArgument,
    options: NewFile,
    row: Annotated[
        list[str] | None, option("--row", "Explain this row, by name or number; may be repeated.")
    ] = None,
    every: Annotated[
        bool, option("--all", f"Explain all rows, not only the first {MAX_EXPLAINED}.")
    ] = False,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "Write all rows, or the ones named: .csv has what every feature adds to the "
            "winning class's score through every prototype, .json everything.",
        ),
    ] = None,
    spreadsheet_safe: SpreadsheetOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain why rows get their classes: prototypes, training rows behind them, and features.

    Rows are chosen by name (--id), or by number from 1 if none has that name.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--out", out, (".csv", ".json"))
    check_spreadsheet(spreadsheet_safe, out)
    estimator = load_model(model)
    rows = read_for_model(estimator, data, options)
    chosen = choose_rows(rows, row or [], every=every or out is not None)
    explanation = explain_rows(estimator, chosen)
    answer = {
        "command": "explain",
        "model": str(model),
        "file": str(data),
        "notes": list(rows.notes),
        **explanation.to_dict(),
    }
    if out is not None:
        if out.suffix.lower() == ".json":
            text = format_json(answer)
        else:
            table = explanation.to_frame("contributions")
            text = format_csv(table, out, is_safe=spreadsheet_safe, style=rows.style)
        write_file(out, text.encode())
    if as_json:
        echo_json(answer)
    elif out is not None:
        echo(f"Reasons for {len(chosen)} rows written to {out}.")
    else:
        echo(str(explanation))
        if len(chosen) < len(rows) and not row:
            echo(f"\n... and {len(rows) - len(chosen)} more rows (--row NAME, --all)")


def choose_rows(data: DataFile, names: list[str], *, every: bool) -> DataFile:
    """Rows by name or number, else all or the first."""
    if not names:
        return data if every else data.take(np.arange(min(MAX_EXPLAINED, len(data))))
    ids = [str(name) for name in data.ids.tolist()]
    places = {str(place + 1): place for place in range(len(ids))}
    places.update((name, place) for place, name in enumerate(ids))
    for name in names:
        if name not in places:
            raise InputError(
                f"There is no row {name!r}; the rows are named {', '.join(ids[:3])}, ... Name "
                f"their column with --id, or number them from 1 to {len(ids)}."
            )
    return data.take(np.array(list(dict.fromkeys(places[name] for name in names))))


def report(
    model: ModelArgument,
    data: DataArgument,
    options: MeasuredFile,
    out: Annotated[Path, option("--out", "Write the page (.html) here.")],
    title: Annotated[str | None, option("--title", "Heading of the page.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a page that shows prototypes, features, and the reason for each decision.

    The page is one file that needs no network. Use rows that the model was not fitted to, or its
    accuracy says little.
    """
    check_outputs([out], [model, data], force=force)
    check_report("--out", out)
    from imkpl.report import write_report

    estimator = load_model(model)
    rows = read_for_model(estimator, data, options, needs_target=True)
    samples = as_samples(estimator, rows)
    write_report(estimator, samples, rows.y, out, by=rows.subgroups, title=title or data.stem)
    accuracy = float(np.mean(estimator.predict(samples) == rows.y))
    if as_json:
        echo_json(
            {
                "command": "report",
                "model": str(model),
                "file": str(data),
                "out": str(out),
                "notes": list(rows.notes),
                "rows": len(rows),
                "accuracy": accuracy,
            }
        )
    else:
        echo(f"Report on {len(rows)} rows (accuracy {accuracy:.1%}) written to {out}.")


class ExportFormat(StrEnum):
    """Formats of exported models."""

    JSON = "json"
    ONNX = "onnx"


def export(
    model: ModelArgument,
    out: Annotated[Path, option("--output --out", "Write the model here.")],
    to: Annotated[ExportFormat, option("--to", "Format.")] = ExportFormat.JSON,
    with_predictor: Annotated[
        bool, option("--with-predictor", "Write imkpl_predict.py into the same folder.")
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a model for programs without imkpl: numbers in a documented form, no code.

    imkpl_predict.py, one file that needs NumPy only, predicts and explains from it as imkpl does:
    python imkpl_predict.py m.json new.csv. ONNX takes columns of numbers only. Models of words, of
    series, and those with kernels of their own cannot be exported.
    """
    from imkpl.files.portable import PREDICTOR
    from imkpl.files.portable import export as write

    script = out.with_name(PREDICTOR.name)
    is_there = script.is_file() and script.read_bytes() == PREDICTOR.read_bytes()
    check_outputs([out, script if with_predictor and not is_there else None], [model], force=force)
    check_ending("--output", out, (f".{to.value}",))
    write(load_model(model), out, with_predictor=with_predictor)
    if as_json:
        answer = {"command": "export", "model": str(model), "to": to.value, "out": str(out)}
        echo_json({**answer, "predictor": str(script) if with_predictor else None})
        return
    echo(f"Model written to {out}. It holds the training rows behind the prototypes.")
    if to is ExportFormat.JSON:
        more = "" if with_predictor else " (--with-predictor writes that file)"
        echo(f"Predict with: python {script.name} {out.name} new.csv{more}")


def compare(
    first: Annotated[Path, typer.Argument(help="A model.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another model.", show_default=False)],
    options: LabelledFile,
    data: Annotated[Path | None, option("--data", "Measure both on this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two models: settings, features, prototypes, and accuracy on the same rows.

    Use rows that neither model was fitted to, or their accuracy says little.
    """
    if data is None and options.target is not None:
        raise InputError("--target names a column of a file, but there is none. Add --data FILE.")
    models = load_model(first), load_model(second)
    answer = _compare_models(*models)
    answer.update(a=str(first), b=str(second), file=None if data is None else str(data))
    if data is not None:
        answer["on_data"] = _measure(models, data, options)
    if as_json:
        echo_json(answer)
    else:
        _echo_comparison(answer)


def _compare_models(a: Any, b: Any) -> dict[str, Any]:
    settings = [read_settings(model) for model in (a, b)]
    features = [{one["name"]: one["weight"] for one in list_features(model)} for model in (a, b)]
    shared = sorted(set(features[0]) & set(features[1]))
    either = set(features[0]) | set(features[1])
    return {
        "command": "compare",
        "settings": {
            name: {"a": settings[0].get(name), "b": settings[1].get(name)}
            for name in sorted(set(settings[0]) | set(settings[1]))
        },
        "features": {
            "a": features[0],
            "b": features[1],
            "shared": shared,
            "share_in_common": len(shared) / len(either),
            "weight_in_common": sum(min(features[0][name], features[1][name]) for name in shared),
        },
        "prototypes": {"a": count_prototypes(a), "b": count_prototypes(b)},
        "novelty_threshold": {"a": float(a.novelty_threshold_), "b": float(b.novelty_threshold_)},
    }


def read_settings(model: Any) -> dict[str, Any]:
    """The parameters of a model, as plain values."""
    values = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    # What cross-validation chose counts, not what it chose from.
    for name in ("sparsity", "max_kernels"):
        if name in values:
            values[name] = getattr(model, f"{name}_", values[name])
    return {
        name: value if isinstance(value, bool | int | float | str | None) else repr(value)
        for name, value in values.items()
        if name not in NOT_COMPARED
    }


def _measure(models: tuple[Any, Any], path: Path, options: ReadOptions) -> dict[str, Any]:
    accuracy, predicted = {}, []
    for name, model in zip("ab", models, strict=True):
        rows = read_for_model(model, path, options, needs_target=True, prefix=f"{name}: ")
        predicted.append(model.predict(as_samples(model, rows)).astype(str))
        accuracy[name] = float(np.mean(predicted[-1] == rows.y.astype(str)))
    agreement = float(np.mean(predicted[0] == predicted[1]))
    return {"rows": len(predicted[0]), "accuracy": accuracy, "agreement": agreement}


def _echo_comparison(answer: dict[str, Any]) -> None:
    echo(f"A is {answer['a']}, B is {answer['b']}.\n")
    different = [
        (name, str(pair["a"]), str(pair["b"]))
        for name, pair in answer["settings"].items()
        if pair["a"] != pair["b"]
    ]
    if different:
        echo_table(("setting", "A", "B"), different)
    else:
        echo("Both have the same settings.")
    echo()
    prototypes = [answer["prototypes"][key] for key in "ab"]
    classes = dict.fromkeys([*prototypes[0], *prototypes[1]])
    rows = [(name, *(counts.get(name, "-") for counts in prototypes)) for name in classes]
    echo_table(("prototypes of class", "A", "B"), rows)
    echo()
    features = [answer["features"][key] for key in "ab"]
    names = sorted(
        set(features[0]) | set(features[1]),
        key=lambda name: -max(weights.get(name, 0) for weights in features),
    )
    cells = [
        (name, *(f"{weights[name]:.1%}" if name in weights else "-" for weights in features))
        for name in names
    ]
    echo_table(("feature", "A", "B"), cells[:MAX_SHOWN])
    if len(cells) > MAX_SHOWN:
        echo(f"... and {len(cells) - MAX_SHOWN} more (see --json)")
    echo(
        f"\n{len(answer['features']['shared'])} of {len(names)} features are in both; "
        f"{answer['features']['weight_in_common']:.0%} of the weight is in common."
    )
    measured = answer.get("on_data")
    if measured is not None:
        accuracy = measured["accuracy"]
        echo(
            f"Accuracy on {measured['rows']} rows of {answer['file']}: A {accuracy['a']:.1%}, "
            f"B {accuracy['b']:.1%}; they agree on {measured['agreement']:.1%}."
        )


def load_model(path: Path) -> Any:
    """A fitted model from a file."""
    from imkpl import load

    model = load(path)
    if not hasattr(model, "_predictor"):
        raise InputError(
            f"{path.name} holds a {type(model).__name__} that is not fitted or is not a "
            "classifier, expected a fitted model. Write one with imkpl fit --model."
        )
    bank = model._predictor.bank
    if bank.reads != "series" and (bank.reads == "similarities" or bank._columns is None):
        raise InputError(
            f"The model in {path.name} has kernels of its own and reads neither tables nor time "
            "series. Use it from Python."
        )
    return model


def read_for_model(
    model: Any,
    path: Path,
    options: ReadOptions,
    *,
    needs_target: bool = False,
    classes: Sequence[Any] = (),
    prefix: str = "",
) -> DataFile:
    """Samples in the form that a model was fitted to; notes are printed."""
    expected = _expected_columns(model)
    data = read_new_file(path, expected, options, needs_target=needs_target, classes=classes)
    data = _with_classes(data, model.classes_, path)
    for text in data.notes:
        echo_note(f"{prefix}{text}")
    return data


def read_like(train: DataFile, path: Path, options: ReadOptions) -> DataFile:
    """Samples and classes from another file, in the form of the training samples."""
    expected = None
    if not train.is_series:
        frame = train.samples
        names = tuple(str(name) for name in frame.columns)
        texts = {name: frame[name] for name in names if frame[name].dtype.kind not in "iuf"}
        categories = {name: tuple(cells.dropna().unique()) for name, cells in texts.items()}
        expected = ExpectedColumns(names, names, categories, reads_missing=True)
    data = read_new_file(path, expected, options, needs_target=True)
    return _with_classes(data, np.unique(train.y), path)


def _expected_columns(model: Any) -> ExpectedColumns | None:
    """What a model reads; None for time series."""
    predictor = model._predictor
    if predictor.bank.reads == "series":
        return None
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(model.n_features_in_)]
    live = [str(names[place]) for place in predictor.columns]
    if predictor.bank.reads == "words":
        # The length of a document is that of all its words.
        live = [str(name) for name in names]
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


def _with_classes(data: DataFile, classes: Any, path: Path) -> DataFile:
    """The same data with labels of the type of known classes."""
    if data.y is None:
        return data
    if classes.dtype.kind in "USO" and data.y.dtype.kind not in "USO":
        data = replace(data, y=data.y.astype(str))
    elif data.y.dtype == object:
        # Some rows have no class.
        named = {str(label): label for label in classes.tolist()}
        y = [None if one is None else named.get(str(one), str(one)) for one in data.y.tolist()]
        data = replace(data, y=np.array(y, dtype=object))
    known = set(classes.tolist())
    labels = [label for label in dict.fromkeys(data.y.tolist()) if label is not None]
    new = [label for label in labels if label not in known]
    if new and len(new) == len(labels):
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


def describe_wishes(model: Any) -> dict[str, Any]:
    """What was wished of features, and of how many rows; empty if nothing was."""
    from imkpl.estimators._wishes import FEATURE_WISHES

    given = {name: getattr(model, name, None) for name in FEATURE_WISHES}
    found = {name: list(wish) for name, wish in given.items() if wish is not None and len(wish)}
    rows = getattr(model, "sample_wishes_", None) or {}
    counts = {name: int(flags.sum()) for name, flags in rows.items()}
    if counts.get("eligible") == model.prototypes_.shape[1]:
        del counts["eligible"]
    return {**found, **{name: count for name, count in counts.items() if count}}


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
