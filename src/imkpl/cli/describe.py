"""What a model file holds, for people: ``imkpl inspect`` and ``imkpl card``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl._json import to_json
from imkpl._writing import write_file
from imkpl.cli import models
from imkpl.cli.command import Answer, MeasuredFile, ModelArgument, Written, option
from imkpl.cli.measure import drop_rare, say_accuracy, say_rows
from imkpl.cli.output import echo, echo_table, progress_bar
from imkpl.readers import InputError, ReadOptions, read_training_file
from imkpl.readers.data_file import DataFile, count

INSPECT_EXAMPLES = """
imkpl inspect m.imkpl
imkpl inspect m.imkpl --records
imkpl inspect m.imkpl --records --json
"""
CARD_EXAMPLES = """
imkpl card m.imkpl
imkpl card m.imkpl data.csv --by sex --by site --output card.html
imkpl card m.imkpl new.csv --target class --output card.md
"""
# Values of a record on a screen; --json has all of them.
MAX_VALUES = 6
# These settings say how a fit runs, not what it learns.
NOT_LEARNED = ("verbose", "n_jobs")


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
    found = describe_model(models.load_model(model), records=records)
    return Answer({"file": model, **found}, _echo_model)


def describe_model(model: Any, *, records: bool) -> dict[str, Any]:
    """What a model file holds, as plain values."""
    n_prototypes, n_train = model.prototypes_.shape
    prototypes = models.count_prototypes(model)
    settings = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    answer: dict[str, Any] = {
        "kind": type(model).__name__,
        "reads": models.input_kind(model),
        "decision": model.decision,
        "provenance": getattr(model, "provenance_", None),
        "classes": [
            {
                "class": label,
                "prototypes": prototypes[str(label)],
                "records": int((model.support_classes_ == label).sum()),
            }
            for label in model.classes_
        ],
        "settings": {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in settings.items()
            if name not in NOT_LEARNED
        },
        "constraints": models.describe_constraints(model),
        "n_features": getattr(model, "n_features_in_", None),
        "features": models.list_features(model),
        "n_prototypes": n_prototypes,
        "n_training_rows": n_train,
        "n_records": int(model.support_.size),
    }
    if records:
        inside = model.prototypes_[:, model.support_].tocsc()
        parts = model.support_ids_, model.support_classes_, model.support_values_
        answer["records"] = [
            {
                "id": name,
                "class": label,
                "prototypes": inside.indices[inside.indptr[i] : inside.indptr[i + 1]],
                "values": values,
            }
            for i, (name, label, values) in enumerate(zip(*parts, strict=True))
        ]
    found: dict[str, Any] = to_json(answer)
    return found


def _echo_model(answer: dict[str, Any]) -> None:
    echo(f"{answer['file']} holds a fitted {answer['kind']} that reads {answer['reads']}.")
    origin, n_train = answer["provenance"], answer["n_training_rows"]
    if origin is None:
        echo("Its date, data and accuracy were not stored: it was not written by imkpl fit.")
    else:
        versions = ", ".join(f"{name} {one}" for name, one in origin["versions"].items())
        echo(f"Written {origin['date']} with {versions}.")
        echo(
            f"Fitted to {n_train} of {origin['rows']} rows of {origin['file']} (fingerprint "
            f"{origin['fingerprint']}), target {origin['target']!r}."
        )
        where = origin["measured_on"] or "held-out rows"
        for measured, place in ((origin["folds"], "In folds"), (origin["held_out"], f"On {where}")):
            if measured is not None:
                echo(*say_accuracy(measured, f"{place}, {say_rows(measured, 'rows')}: "))
        if origin["held_out"] is None and origin["folds"] is None:
            echo("Its accuracy was not measured.")
    for text in say_constraints(answer["constraints"]):
        echo(text)
    echo()
    settings = [(name, str(value)) for name, value in answer["settings"].items()]
    echo_table(("setting", "value"), settings)
    echo()
    models.echo_features(answer["features"], "feature")
    echo()
    cells = [(str(one["class"]), one["prototypes"], one["records"]) for one in answer["classes"]]
    echo_table(("class", "prototypes", "records inside"), cells)
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
        (str(one["id"]), str(one["class"]), ", ".join(map(str, one["prototypes"])), values)
        for one in answer["records"]
        for values in [_show_values(one["values"])]
    ]
    echo_table(("record", "class", "in prototypes", "values"), rows)


def say_constraints(constraints: dict[str, Any]) -> list[str]:
    """What was asked of features and rows, in a sentence."""
    parts = [
        f"{name}: {count(one, 'row') if isinstance(one, int) else ', '.join(map(str, one))}"
        for name, one in constraints.items()
    ]
    return [f"Constraints: {'; '.join(parts)}."] if parts else []


def _show_values(values: dict[str, Any]) -> str:
    shown = [
        f"{name}: {f'{len(value)} steps' if isinstance(value, list) else value}"
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
    from imkpl.report.model_card import build_card

    page, estimator = None, models.load_model(model) if data is None else models.load_reader(model)
    contents = {"file": model.name, **describe_model(estimator, records=False)}
    if data is None and options != ReadOptions():
        raise InputError("--by and --target name columns of a file, but there is none. Add a file.")
    if data is not None:
        rows, train, title = _read_rows(estimator, data, options)
        samples, by = models.as_samples(estimator, rows), rows.subgroups
        pair = None if train is None else (models.as_samples(estimator, train), train.y)
        with progress_bar("measuring"):
            page = summarize(estimator, samples, rows.y, train=pair, by=by, title=title)
    parts = contents, say_constraints(contents["constraints"]), page
    text = build_card(*parts)
    if out is not None:
        is_page = out.suffix.lower() == ".html"
        write_file(out, (build_card(*parts, html=True) if is_page else text).encode())
    said = [f"Card written to {out}. Fill in its blanks."]
    said = text.rstrip().split("\n") if out is None else said
    return Answer({"model": model, "out": out, "text": text}, lambda _: echo(*said))


def _read_rows(
    model: Any, path: Path, options: ReadOptions
) -> tuple[DataFile, DataFile | None, str]:
    """Rows to measure on, the training rows if they are in the file, and what the first are."""
    origin = getattr(model, "provenance_", None) or {}
    whole = _read_again(path, origin, options.by)
    if whole is None:
        options = replace(options, target=options.target or origin.get("target"))
        rows = models.read_for_model(model, path, options, needs_target=True)
        return rows, None, f"the {len(rows)} rows of {path.name}"
    is_test = np.isin(np.arange(len(whole)), origin["held_out_rows"])
    train, rows = whole.take(~is_test), whole.take(is_test)
    if not is_test.any():
        return train, train, f"the rows of {path.name}, from which it has learned"
    return rows, train, f"the {len(rows)} held-out rows of {path.name}"


def _read_again(path: Path, origin: dict[str, Any], by: tuple[str, ...]) -> DataFile | None:
    """The rows that a model was fitted to and measured on; None if this is another file."""
    if "reading" not in origin:
        return None
    given: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in origin["reading"].items()}
    try:
        whole = read_training_file(path, replace(ReadOptions(**given), by=by))
        if origin["drops_rare"]:
            whole, _ = drop_rare(whole)
    except InputError:
        return None
    return whole if whole.fingerprint() == origin["fingerprint"] else None
