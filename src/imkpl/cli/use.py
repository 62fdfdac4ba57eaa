"""Commands for a fitted model: predict, explain, report, export, inspect and card."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl._checks import quote
from imkpl._json import to_json
from imkpl._writing import write_file
from imkpl.cli import models, sites
from imkpl.cli.command import (
    REPORT_ENDINGS,
    Answer,
    DataArgument,
    LabelledFile,
    MeasuredFile,
    ModelArgument,
    NewFile,
    Written,
    echo,
    echo_note,
    echo_table,
    format_json,
    option,
    progress_bar,
)
from imkpl.cli.models import describe_accuracy, say_accuracy
from imkpl.cli.review import echo_review
from imkpl.explanations.show import show_cell
from imkpl.measures import judge, measure_errors
from imkpl.readers import InputError, ReadOptions, read_training_file
from imkpl.readers.cells import ENDING
from imkpl.readers.formats import NUMBER, count
from imkpl.readers.read import DataFile

PREDICT_EXAMPLES = """
imkpl predict m.imkpl new.csv --id patient --out classes.csv
imkpl predict m.imkpl labelled.csv --target class
"""
EXPLAIN_EXAMPLES = """
imkpl explain m.imkpl new.csv --id patient --row p17 --row p4
imkpl explain m.imkpl new.csv --out reasons.csv
"""
REPORT_EXAMPLES = "imkpl report m.imkpl data.csv --target class --by sex --out page.html"
EXPORT_EXAMPLES = "imkpl export m.imkpl --output m.onnx"
INSPECT_EXAMPLES = "imkpl inspect m.imkpl --records"
CARD_EXAMPLES = """
imkpl card m.imkpl data.csv --by sex --by site --output card.html
imkpl card m.imkpl new.csv --target class --output card.md
"""
# The ends of the intervals of values.
ENDS = ["90% interval from", "90% interval to"]
# Rows on a screen; files and --json have all of them.
MAX_SHOWN = 20
MAX_EXPLAINED = 5
# Values of a record on a screen; --json has all of them.
MAX_VALUES = 6
# A spreadsheet takes a cell that starts with one of these for a formula, unless it is a number.
FORMULA_STARTS = tuple("=+-@\t\r\n")
TABLE = Written((".csv", ".json"))


def predict(
    model: ModelArgument,
    data: DataArgument,
    options: LabelledFile,
    out: Annotated[
        Path | None,
        option("--out", "Write all rows here (.csv or .json; of cells also .h5ad)."),
        Written((".csv", ".json", ENDING)),
    ] = None,
    *,
    choice: models.Choice,
) -> Answer:
    """Classify the rows of a file: class, probability of every class, novelty.

    Columns are matched by name: columns that the model does not know are ignored, and columns that
    it does not use may be missing. Novelty is 0 for a row like those in training and 1 for a row
    like none of them. Missing cells say nothing; a row that lacks more than half of the weight of
    the features gets no class. If the file has the classes, the accuracy is measured.
    """
    estimator = models.load_at_costs(model, choice)
    target = models.find_origin(estimator).get("target")
    rows = models.read_for_model(estimator, data, options, usual_target=target)
    answer = _describe_predictions(estimator, rows)
    answer |= {"model": model, "file": data, "out": out}
    if out is not None and out.suffix.lower() == ENDING:
        if rows.is_table:
            raise InputError(f"--out {out.name} is for files of cells. Write .csv or .json.")
        from imkpl import annotate

        annotate(estimator, rows.samples).write_h5ad(out)
    else:
        _write_table(out, answer, lambda: _tabulate(answer["rows"]), rows)
    return Answer(answer, _echo_predictions)


def _write_table(
    out: Path | None, answer: dict[str, Any], tabulate: Callable[[], Any], data: DataFile
) -> None:
    """Write an answer as JSON, or its table as CSV in the style of the input."""
    if out is None:
        return
    is_json = out.suffix.lower() == ".json"
    text = format_json(answer) if is_json else _format_csv(tabulate(), out, data.style)
    write_file(out, text.encode())


def _format_csv(frame: Any, path: Path, style: tuple[str, str]) -> str:
    """A table as CSV; cells that a spreadsheet would run get an apostrophe, and a note says so."""
    from pandas.api.types import is_numeric_dtype

    found: list[str] = []

    def defuse(cell: Any) -> Any:
        is_run = isinstance(cell, str) and cell.startswith(FORMULA_STARTS)
        if not is_run or NUMBER.fullmatch(cell):
            return cell
        found.append(cell)
        return f"'{cell}"

    table = frame.apply(lambda cells: cells if is_numeric_dtype(cells) else cells.map(defuse))
    table.columns = [defuse(name) for name in frame.columns]
    if found:
        echo_note(
            f"{count(len(found), 'cell')} of {path.name} that a spreadsheet would run, such as "
            f"{quote(found[0])}, got an apostrophe. Write .json to have them as they are."
        )
    separator = "\t" if style[0] == " " else style[0]
    return str(table.to_csv(index=False, lineterminator="\n", sep=separator, decimal=style[1]))


def _describe_predictions(model: Any, data: DataFile) -> dict[str, Any]:
    found = models.explain_rows(model, data)
    names = [str(label) for label in found.classes]
    chances = found.probabilities
    if models.is_regressor(model):
        names, chances = ENDS, np.add.outer(found.estimates, found.errors)
    refused, outside = models.find_refused(model, data, found), models.find_outside(found)
    predicted = np.array(found.predicted, dtype=object)
    predicted[list(refused)] = None
    rows = []
    for row in range(len(data)):
        notes = ["unlike any in training"] * bool(found.is_novel[row]) + outside.get(row, [])
        notes = [refused[row]] if row in refused else notes
        shares = [None] * len(names) if row in refused else chances[row].tolist()
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
        "classes": names if models.is_regressor(model) else list(found.classes),
        "novelty_threshold": float(found.novelty_threshold),
        "measured": _measure_predictions(data, predicted, chances, model),
        "rows": rows,
    }


def _measure_predictions(
    data: DataFile, predicted: Any, chances: Any, model: Any
) -> dict[str, Any] | None:
    """Accuracy on the rows that have a class; None if there are none."""
    labels = [] if data.y is None else data.y.tolist()
    rows = [row for row, label in enumerate(labels) if label is not None]
    if not rows:
        return None
    labelled = data.take(rows)
    if models.is_regressor(model):
        known, found = labelled.y.astype(float), predicted[rows].astype(float)
        is_answered = ~np.isnan(found)
        known, found = known[is_answered], found[is_answered]
        return measure_errors(known, found, float(known.mean()), None)
    labelled = replace(labelled, y=labelled.y.astype(str))
    is_right = predicted[rows].astype(str) == labelled.y
    return describe_accuracy(is_right, labelled, None, chances[rows], model)


def _tabulate(rows: list[dict[str, Any]]) -> Any:
    """A line per row, with a column for the probability of every class."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    shares = pd.DataFrame(frame["probabilities"].tolist())
    shares = shares if shares.columns.tolist() == ENDS else shares.add_prefix("probability ")
    first, last = frame[["id", "prediction"]], frame[["novelty", "is_novel", "note"]]
    return pd.concat([first, shares, last], axis=1)


def _show_shares(row: dict[str, Any], shares: Any) -> str:
    """The probability of the answer, or the interval of a value."""
    if None in shares:
        return "-"
    if isinstance(row["prediction"], float):
        return " to ".join(map(show_cell, shares))
    return f"{max(shares):.0%}"


def _echo_predictions(answer: dict[str, Any]) -> None:
    rows = answer["rows"]
    if answer["out"] is not None:
        echo(f"{len(rows)} rows written to {answer['out']}.")
    else:
        cells = [
            [
                str(row["id"]),
                "(none)" if row["prediction"] is None else show_cell(row["prediction"]),
                _show_shares(row, shares),
                f"{row['novelty']:.2f}",
                row["note"],
            ]
            for row in rows
            for shares in [row["probabilities"].values()]
        ]
        more = "; --out classes.csv writes all"
        head = ["row", "class", "probability", "novelty", ""]
        if answer["classes"] == ENDS:
            head[1:3] = "value", "90% interval"
        echo_table(head, cells, MAX_SHOWN, more)
    threshold = answer["novelty_threshold"]
    for start, text in (
        ("unlike any", f"unlike any in training (novelty above {threshold:.2f})"),
        ("in training ", "with a value far outside the training range"),
        ("no evidence", "without a value that the model reads, thus without a class"),
        ("no answer", "without a class, because they lack too much (see --max-missing)"),
    ):
        n = sum(start in row["note"] for row in rows)
        if n:
            echo(f"{n} of {len(rows)} rows {text}.")
    measured = answer["measured"]
    if measured is not None:
        start = f"Compared with the target of {measured['rows']} rows: "
        echo(*say_accuracy(measured, start).split("\n"))
        echo(judge(measured)["text"])


def explain(
    model: ModelArgument,
    data: DataArgument,
    options: NewFile,
    row: Annotated[
        list[str] | None, option("--row", "Explain this row, by name or number; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "Write all rows, or the ones named: .csv has what every feature adds to the "
            "winning class's score through every prototype, .json everything.",
        ),
        TABLE,
    ] = None,
    *,
    choice: models.Choice,
) -> Answer:
    """Explain why rows get their classes: prototypes, training rows behind them, and features.

    Rows are chosen by name (--id), or by number from 1 if none has that name.
    """
    estimator = models.load_at_costs(model, choice)
    rows = models.read_for_model(estimator, data, options)
    chosen = _choose_rows(rows, row or [], every=out is not None)
    found = models.explain_rows(estimator, chosen)
    about = {"command": "explain", "model": model, "file": data, "notes": rows.notes}
    answer = {**about, **found.to_dict()}
    _write_table(out, answer, lambda: found.to_frame("contributions"), rows)
    if out is not None:
        return Answer(answer, f"Reasons for {len(chosen)} rows written to {out}.")
    lines = str(found).split("\n")
    if len(chosen) < len(rows) and not row:
        lines += ["", f"... and {len(rows) - len(chosen)} more rows (--row NAME, --out FILE)"]
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
    *,
    choice: models.Choice,
) -> Answer:
    """Write a page that shows prototypes, features, and the reason for each decision.

    The page is one file that needs no network. Use rows that the model was not fitted to, or its
    accuracy says little.
    """
    from imkpl.report import write_report

    estimator = models.load_at_costs(model, choice)
    rows = _read_measured(estimator, data, options)
    samples = models.as_samples(estimator, rows)
    write_report(
        estimator,
        samples,
        rows.y,
        out,
        by=rows.subgroups,
        groups=models.find_units(rows),
        title=title or data.stem,
    )
    found = estimator.predict(samples)
    answer: dict[str, Any] = {"accuracy": float(np.mean(found == rows.y))}
    said = f"accuracy {answer['accuracy']:.1%}"
    if models.is_regressor(estimator):
        answer = {"mean_error": float(np.mean(np.abs(found - rows.y.astype(float))))}
        said = f"off by {answer['mean_error']:.4g} on average"
    answer |= {"model": model, "file": data, "out": out, "notes": rows.notes, "rows": len(rows)}
    return Answer(answer, f"Report on {len(rows)} rows ({said}) written to {out}.")


def export(
    model: ModelArgument,
    out: Annotated[
        Path, option("--output --out", "Write the model here."), Written((".json", ".onnx"))
    ],
) -> Answer:
    """Write a model for programs without imkpl: numbers in a documented form, no code.

    ONNX takes columns of numbers only. Models of words, of series, and those with kernels of their
    own cannot be exported.
    """
    from imkpl.files import export as write

    write(models.load_model(model, is_for_rows=False), out)
    text = f"Model written to {out}. It holds the training rows behind the prototypes."
    return Answer({"model": model, "out": out}, text)


def inspect(
    model: ModelArgument,
    records: Annotated[
        bool, option("--records", "List every training record inside, with its values.")
    ] = False,
) -> Answer:
    """Say what a model file holds: its origin, settings, features, and whose records.

    Prototypes are made of training records, and the file holds these records in the features that
    the model reads. What imkpl.save wrote from Python has no date, target or accuracy.
    """
    found = models.describe_model(models.load_model(model, is_for_rows=False), records=records)
    return Answer({"file": model, **found}, _echo_model)


def _echo_model(answer: dict[str, Any]) -> None:
    echo(f"{answer['file']} holds a fitted {answer['kind']} that reads {answer['reads']}.")
    origin, n_train = answer["provenance"], answer["n_training_rows"]
    if origin is None:
        echo("Its date, data and accuracy were not stored: it was not written by imkpl fit.")
    else:
        versions = ", ".join(f"{name} {one}" for name, one in origin["versions"].items())
        echo(
            f"Written {origin['date']} with {versions}.",
            f"Fitted to {n_train} of {origin['rows']} rows of {origin['file']} (fingerprint "
            f"{origin['fingerprint']}), target {origin['target']!r}.",
        )
    models.echo_model(answer)
    sites.echo_sites((origin or {}).get("sites"))
    echo_review((origin or {}).get("review"))
    settings = [(name, str(value)) for name, value in answer["settings"].items()]
    echo()
    echo_table(("setting", "value"), settings)
    echo(
        "",
        f"{answer['n_records']} of {n_train} training rows are inside, with their values in the "
        "features above. Of all rows, the file holds which prototypes they resemble (codes), and "
        "the range of every feature.",
    )
    if "records" not in answer:
        echo("List them with --records.")
        return
    echo()
    rows = [
        (
            str(one["id"]),
            str(one["class"]),
            *(", ".join(map(str, one[part])) for part in ("prototypes", "contrasts")),
            _show_values(one["values"]),
        )
        for one in answer["records"]
    ]
    echo_table(("record", "class", "in prototypes", "in contrasts", "values"), rows)


def _show_values(values: dict[str, Any]) -> str:
    shown = [
        f"{name}: {f'{len(value)} steps' if np.ndim(value) else value}"
        for name, value in list(values.items())[:MAX_VALUES]
    ]
    more = len(values) - len(shown)
    return "; ".join([*shown, *([f"{more} more (see --json)"] if more else [])])


def card(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Rows with classes to measure on: the file of the fit, of which only held-out "
            "rows are taken, or new ones.",
            show_default=False,
        ),
    ] = None,
    *,
    options: MeasuredFile,
    out: Annotated[
        Path | None,
        option(
            "--output --out",
            "Write it here: .html to print, or .md to edit. Without it, it is printed.",
        ),
        Written((".md", ".html")),
    ] = None,
) -> Answer:
    """Write a model card: purpose, data, figures by class and subgroup, records inside, limits.

    All figures are those of imkpl inspect and of the page; what only people know is left to fill
    in. Without data, the card has what the model file says.
    """
    from imkpl.report import summarize
    from imkpl.report.page import build_model_card

    page, estimator = None, models.load_model(model, is_for_rows=data is not None)
    contents = to_json({"file": model.name, **models.describe_model(estimator)})
    if data is None and options != ReadOptions():
        raise InputError("--by and --target name columns of a file, but there is none. Add a file.")
    if data is not None:
        rows, train, title = _read_rows(estimator, data, options)
        samples, by = models.as_samples(estimator, rows), rows.subgroups
        pair = None if train is None else (models.as_samples(estimator, train), train.y)
        with progress_bar("measuring"):
            page = summarize(
                estimator,
                samples,
                rows.y,
                train=pair,
                folds=models.find_origin(estimator).get("folds") if train is not None else None,
                by=by,
                groups=models.find_units(rows),
                later=models.say_later(estimator) if train is not None else None,
                title=title,
            )
    if page is not None and page["kind"] == "values":
        contents, page = contents | {"measured": page["measured"]}, None
    parts = contents, models.say_constraints(contents["constraints"]), page
    text = build_model_card(*parts)
    said = text.rstrip().split("\n")
    if out is not None:
        is_page = out.suffix.lower() == ".html"
        write_file(out, (build_model_card(*parts, html=True) if is_page else text).encode())
        said = [f"Card written to {out}. Fill in its blanks."]
    return Answer({"model": model, "out": out, "text": text}, lambda _: echo(*said))


def _read_measured(model: Any, path: Path, options: ReadOptions) -> DataFile:
    """Rows with classes: in the column that is named, or in that of the training."""
    target = models.find_origin(model).get("target")
    return models.read_for_model(model, path, options, needs_target=True, usual_target=target)


def _read_rows(
    model: Any, path: Path, options: ReadOptions
) -> tuple[DataFile, DataFile | None, str]:
    """Rows to measure on, the training rows if they are in the file, and what the first are."""
    origin, whole = models.find_origin(model), None
    stored = origin.get("reading", {}).items()
    given: Any = {name: tuple(one) if isinstance(one, list) else one for name, one in stored}
    with contextlib.suppress(InputError):
        whole = read_training_file(path, replace(ReadOptions(**given), by=options.by))
    if whole is None or whole.fingerprint() != origin.get("fingerprint"):
        rows = _read_measured(model, path, options)
        return rows, None, f"the {len(rows)} rows of {path.name}"
    is_test = np.isin(np.arange(len(whole)), origin["held_out_rows"])
    train, rows = whole.take(~is_test), whole.take(is_test)
    if not is_test.any():
        return train, train, f"the rows of {path.name}, from which it has learned"
    later = models.say_later(model)
    kind = "held-out rows" if later is None else f"later rows ({later})"
    return rows, train, f"the {len(rows)} {kind} of {path.name}"
