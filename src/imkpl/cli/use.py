"""Commands for a fitted model: ``predict``, ``explain``, ``report`` and ``export``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from imkpl._writing import write_file
from imkpl.cli import models
from imkpl.cli.command import (
    Answer,
    DataArgument,
    LabelledFile,
    MeasuredFile,
    ModelArgument,
    NewFile,
    SpreadsheetOption,
    Written,
    option,
)
from imkpl.cli.measure import describe_accuracy, say_accuracy
from imkpl.cli.output import (
    REPORT_ENDINGS,
    check_ending,
    echo,
    echo_table,
    format_csv,
    format_json,
)
from imkpl.kernels import ParquetColumns
from imkpl.readers import InputError
from imkpl.readers.data_file import DataFile
from imkpl.readers.read import open_on_disk

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
imkpl export m.imkpl --to onnx --output m.onnx
"""
# Rows on a screen; files and --json have all of them.
MAX_SHOWN = 20
MAX_EXPLAINED = 5
TABLE = Written((".csv", ".json"))


def predict(
    model: ModelArgument,
    data: DataArgument,
    options: LabelledFile,
    out: Annotated[
        Path | None, option("--out", "Write all rows here (.csv or .json)."), TABLE
    ] = None,
    reject: Annotated[
        bool, option("--reject", "Give no class to rows unlike any in training.")
    ] = False,
    spreadsheet_safe: SpreadsheetOption = False,
) -> Answer:
    """Classify the rows of a file: class, probability of every class, novelty.

    Columns are matched by name: columns that the model does not know are ignored, and columns that
    it does not use may be missing. Novelty is 0 for a row like those in training and 1 for a row
    like none of them. A row without any value that the model reads gets no class. If the file has
    the classes, the accuracy is measured.
    """
    _check_safe(out, is_safe=spreadsheet_safe)
    estimator = models.load_reader(model)
    if models.input_kind(estimator) == "columns" and hasattr(estimator, "feature_names_in_"):
        on_disk = open_on_disk(data, options, estimator.feature_names_in_.tolist())
        if on_disk is not None:
            return _predict_blocks(estimator, on_disk, out, reject, is_safe=spreadsheet_safe)
    rows = models.read_for_model(estimator, data, options, classes=estimator.classes_.tolist())
    answer = _describe_predictions(estimator, rows, reject=reject)
    answer |= {"model": model, "file": data, "out": out}
    _write_table(out, answer, lambda: _tabulate(answer["rows"]), rows, is_safe=spreadsheet_safe)
    return Answer(answer, _echo_predictions)


def _check_safe(out: Path | None, *, is_safe: bool) -> None:
    if is_safe and (out is None or out.suffix.lower() != ".csv"):
        raise InputError(
            "--spreadsheet-safe is about a table, but none is written. Add --out with a name that "
            "ends in .csv, or leave it out."
        )


def _predict_blocks(
    model: Any, file: ParquetColumns, out: Path | None, reject: bool, *, is_safe: bool
) -> Answer:
    """Classify the rows of a large file a block at a time; nothing but the table is written."""
    import pandas as pd

    if out is None or out.suffix.lower() != ".csv":
        raise InputError(
            f"{file.path.name} has {len(file)} rows, which are classified a block at a time, "
            "expected a file to write them to. Add --out classes.csv."
        )

    def write_blocks() -> Iterator[bytes]:
        for start, block in file.row_blocks(np.arange(len(file))):
            ids = np.arange(start + 1, start + len(block) + 1)
            frame = pd.DataFrame(block, index=ids, columns=file.feature_names)
            answer = _describe_predictions(model, DataFile(frame, None, ids), reject=reject)
            text = format_csv(_tabulate(answer["rows"]), out, is_safe=is_safe, style=(",", "."))
            yield (text.partition("\n")[2] if start else text).encode()

    write_file(out, write_blocks())
    answer = {"file": file.path, "out": out, "n_rows": len(file)}
    return Answer(answer, f"{len(file)} rows written to {out}.")


def _write_table(
    out: Path | None,
    answer: dict[str, Any],
    tabulate: Callable[[], Any],
    data: DataFile,
    *,
    is_safe: bool,
) -> None:
    """Write an answer as JSON, or its table as CSV in the style of the input."""
    if out is None:
        return
    if out.suffix.lower() == ".json":
        text = format_json(answer)
    else:
        text = format_csv(tabulate(), out, is_safe=is_safe, style=data.style)
    write_file(out, text.encode())


def _describe_predictions(model: Any, data: DataFile, *, reject: bool) -> dict[str, Any]:
    found = models.explain_rows(model, data)
    names = [str(label) for label in found.classes]
    is_blank, outside = models.find_blank(model, data), models.find_outside(model, data)
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
        "notes": data.notes,
        "classes": list(found.classes),
        "novelty_threshold": float(found.novelty_threshold),
        "measured": _measure_predictions(data, predicted),
        "rows": rows,
    }


def _measure_predictions(data: DataFile, predicted: Any) -> dict[str, Any] | None:
    """Accuracy on the rows that have a class; None if there are none."""
    labels = [] if data.y is None else data.y.tolist()
    rows = [row for row, label in enumerate(labels) if label is not None]
    if not rows:
        return None
    labelled = data.take(rows)
    labelled = replace(labelled, y=labelled.y.astype(str))
    return describe_accuracy(predicted[rows].astype(str) == labelled.y, labelled)


def _tabulate(rows: list[dict[str, Any]]) -> Any:
    """A line per row, with a column for the probability of every class."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    shares = pd.DataFrame(frame["probabilities"].tolist()).add_prefix("probability ")
    first, last = frame[["id", "prediction"]], frame[["novelty", "is_novel", "note"]]
    return pd.concat([first, shares, last], axis=1)


def _echo_predictions(answer: dict[str, Any]) -> None:
    rows = answer["rows"]
    # Values outside the training range stand in a table that shows all rows.
    n_far = sum("in training " in row["note"] for row in rows)
    if answer["out"] is not None:
        echo(f"{len(rows)} rows written to {answer['out']}.")
    else:
        n_far = n_far if len(rows) > MAX_SHOWN else 0
        cells = [
            [
                str(row["id"]),
                "(none)" if row["prediction"] is None else str(row["prediction"]),
                f"{max(shares):.0%}" if None not in shares else "-",
                f"{row['novelty']:.2f}",
                row["note"],
            ]
            for row in rows
            for shares in [row["probabilities"].values()]
        ]
        more = "; --out classes.csv writes all"
        echo_table(("row", "class", "probability", "novelty", ""), cells, MAX_SHOWN, more)
    n_novel = sum(row["is_novel"] for row in rows)
    n_blank = sum(row["note"].startswith("no evidence") for row in rows)
    threshold = answer["novelty_threshold"]
    for n, one, many, text in (
        (n_novel, "is", "are", f"unlike any in training (novelty above {threshold:.2f})"),
        (n_far, "has", "have", "a value far outside the training range"),
        (n_blank, "has", "have", "no value that the model reads, thus no class"),
    ):
        if n:
            echo(f"{n} of {len(rows)} rows {many if n > 1 else one} {text}.")
    measured = answer["measured"]
    if measured is not None:
        echo(*say_accuracy(measured, f"Compared with the classes of {measured['rows']} rows: "))


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
        TABLE,
    ] = None,
    spreadsheet_safe: SpreadsheetOption = False,
) -> Answer:
    """Explain why rows get their classes: prototypes, training rows behind them, and features.

    Rows are chosen by name (--id), or by number from 1 if none has that name.
    """
    _check_safe(out, is_safe=spreadsheet_safe)
    estimator = models.load_reader(model)
    rows = models.read_for_model(estimator, data, options)
    chosen = _choose_rows(rows, row or [], every=every or out is not None)
    found = models.explain_rows(estimator, chosen)
    about = {"command": "explain", "model": model, "file": data, "notes": rows.notes}
    answer = {**about, **found.to_dict()}
    _write_table(
        out, answer, lambda: found.to_frame("contributions"), rows, is_safe=spreadsheet_safe
    )
    if out is not None:
        return Answer(answer, f"Reasons for {len(chosen)} rows written to {out}.")
    lines = str(found).split("\n")
    if len(chosen) < len(rows) and not row:
        lines += ["", f"... and {len(rows) - len(chosen)} more rows (--row NAME, --all)"]
    return Answer(answer, lambda _: echo(*lines))


def _choose_rows(data: DataFile, names: list[str], *, every: bool) -> DataFile:
    """Rows by name or number, else all or the first."""
    if not names:
        return data if every else data.take(slice(MAX_EXPLAINED))
    ids = [str(name) for name in data.ids.tolist()]
    places = {str(place + 1): place for place in range(len(ids))}
    places.update((name, place) for place, name in enumerate(ids))
    for name in names:
        if name not in places:
            raise InputError(
                f"There is no row {name!r}; the rows are named {', '.join(ids[:3])}, ... Name "
                f"their column with --id, or number them from 1 to {len(ids)}."
            )
    return data.take(list(dict.fromkeys(places[name] for name in names)))


def report(
    model: ModelArgument,
    data: DataArgument,
    options: MeasuredFile,
    out: Annotated[Path, option("--out", "Write the page (.html) here."), Written(REPORT_ENDINGS)],
    title: Annotated[str | None, option("--title", "Heading of the page.")] = None,
) -> Answer:
    """Write a page that shows prototypes, features, and the reason for each decision.

    The page is one file that needs no network. Use rows that the model was not fitted to, or its
    accuracy says little.
    """
    from imkpl.report import write_report

    estimator = models.load_reader(model)
    rows = models.read_for_model(estimator, data, options, needs_target=True)
    samples = models.as_samples(estimator, rows)
    write_report(estimator, samples, rows.y, out, by=rows.subgroups, title=title or data.stem)
    accuracy = float(np.mean(estimator.predict(samples) == rows.y))
    answer = {"model": model, "file": data, "out": out, "notes": rows.notes}
    text = f"Report on {len(rows)} rows (accuracy {accuracy:.1%}) written to {out}."
    return Answer({**answer, "rows": len(rows), "accuracy": accuracy}, text)


class ExportFormat(StrEnum):
    """Formats of exported models."""

    JSON = "json"
    ONNX = "onnx"


def export(
    model: ModelArgument,
    out: Annotated[Path, option("--output --out", "Write the model here."), Written()],
    to: Annotated[ExportFormat, option("--to", "Format.")] = ExportFormat.JSON,
) -> Answer:
    """Write a model for programs without imkpl: numbers in a documented form, no code.

    ONNX takes columns of numbers only. Models of words, of series, and those with kernels of their
    own cannot be exported.
    """
    check_ending("--output", out, (f".{to.value}",))
    from imkpl.files.portable import export as write

    write(models.load_reader(model), out)
    text = f"Model written to {out}. It holds the training rows behind the prototypes."
    return Answer({"model": model, "to": to.value, "out": out}, text)
