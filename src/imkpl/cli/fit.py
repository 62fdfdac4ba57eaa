"""``imkpl fit``: from a data file to a model, its accuracy and a page."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl.cli.answering import Command
from imkpl.cli.applying import as_samples, count_prototypes, kept_features, read_like
from imkpl.cli.learning import Fitted, Settings, fit_model, split_rows
from imkpl.cli.options import (
    DataArgument,
    DebugOption,
    ForceOption,
    IdOption,
    JsonOption,
    SeparatorOption,
    TargetOption,
    XKeyOption,
    YKeyOption,
)
from imkpl.cli.outputs import check_ending, check_outputs
from imkpl.cli.show import note, say, say_json, say_table
from imkpl.readers import InputError, ReadOptions, read_training_file

EXAMPLES = """
imkpl fit data.csv --target class --report page.html
imkpl fit data.csv --target class --id patient --model m.imkpl
imkpl fit genes.parquet --target subtype --max-kernels 20 --model m.imkpl
imkpl fit train.ts --test test.ts --model m.imkpl
imkpl fit data.csv --target class --path --json
"""
# A screen shows so many features; the file and --json have all of them.
SHOWN = 20
# The second holds the numbers of the page.
PAGES = (".html", ".json")


def _fit(
    data: DataArgument,
    target: TargetOption = None,
    identifier: IdOption = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Write the model here.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page (.html) here.", show_default=False),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option("--test", help="Measure on this file instead.", show_default=False),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(
            "--test-size", min=0.0, max=0.9, help="Share of rows held out to measure on; 0: none."
        ),
    ] = 0.2,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Draws the held-out rows.")
    ] = 0,
    sparsity: Annotated[
        int | None,
        typer.Option(
            "--sparsity",
            min=1,
            help="Prototypes per class to start with, and most rows in each. Usual: 10.",
            show_default=False,
        ),
    ] = None,
    max_kernels: Annotated[
        int | None,
        typer.Option("--max-kernels", min=1, help="Most features to keep.", show_default=False),
    ] = None,
    path: Annotated[
        bool, typer.Option("--path", help="Choose the size by cross-validation: as small as can.")
    ] = False,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Prepare for missing cells, even if there are none here."
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Keep every round in this folder; the same command goes on from there.",
            show_default=False,
        ),
    ] = None,
    separator: SeparatorOption = None,
    x_key: XKeyOption = None,
    y_key: YKeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Learn from a file: prototypes, features, and how well they tell classes apart.

    A part of the rows is held out and measured on. The model that is written is the one that was
    measured; it is not fitted again to all rows. What is guessed about the file is said. Files that
    are there are not replaced without --force.
    """
    options = ReadOptions(target, identifier, separator, x_key, y_key)
    settings = Settings(test_size, seed, sparsity, max_kernels, path, allow_missing, checkpoint)
    check_outputs([model, report], [data, test], force=force)
    if report is not None:
        check_ending("--report", report, PAGES)
        require_report()
    fitted = fit_file(data, test, options, settings)
    if model is not None:
        from imkpl import save

        save(fitted.model, model)
    if report is not None:
        write_page(fitted, report, title=data.stem)
    answer = describe_fit(fitted)
    answer.update(
        file=str(data),
        model=None if model is None else str(model),
        report=None if report is None else str(report),
    )
    if as_json:
        say_json(answer)
    else:
        say_fit(answer)


def fit_file(data: Path, test: Path | None, options: ReadOptions, settings: Settings) -> Fitted:
    """Read, hold out, fit; says what was guessed on standard error."""
    train = read_training_file(data, options)
    for text in train.notes:
        note(text)
    if test is None:
        if train.split is not None and settings.test_size:
            note("The file says which rows to learn from and which to measure on.")
        train, held_out = split_rows(train, settings)
    else:
        held_out = read_like(train, test, replace(options, target=train.target))
        for text in held_out.notes:
            note(text)
    fitted = fit_model(train, held_out, settings)
    if fitted.test is None:
        note("No rows were held out, so nothing is known about new rows.")
    return fitted


def require_report() -> None:
    """Raise before a long fit if no page could be written."""
    for package in ("imkpl.report", "jinja2"):
        if find_spec(package) is None:
            raise InputError(
                f"A report needs {package}, which is not installed. Install it with "
                "pip install 'imkpl[report]'."
            )


def write_page(fitted: Fitted, path: Path, title: str) -> None:
    """Write the page about a fit: held-out rows, or the training rows where none were held out."""
    from imkpl.report import write_report

    model = fitted.model
    shown = fitted.train if fitted.test is None else fitted.test
    train = (as_samples(model, fitted.train), fitted.train.y)
    write_report(model, as_samples(model, shown), shown.y, path, train=train, title=title)


def describe_fit(fitted: Fitted) -> dict[str, Any]:
    """What there is to know about a fit, for people and for JSON."""
    model, train, test = fitted.model, fitted.train, fitted.test
    predicted = None if test is None else model.predict(as_samples(model, test))
    prototypes = count_prototypes(model)
    classes = []
    for label in model.classes_:
        one: dict[str, Any] = {
            "class": label,
            "training_rows": int((train.y == label).sum()),
            "prototypes": prototypes[str(label)],
        }
        if test is not None and predicted is not None:
            own = test.y == label
            one["held_out_rows"] = int(own.sum())
            one["right"] = int((predicted[own] == label).sum())
        classes.append(one)
    return {
        "command": "fit",
        "target": train.target,
        "kind": "time series" if train.is_series else "table",
        "notes": list(train.notes),
        "dropped": dict(train.dropped),
        "training_rows": len(train),
        "held_out_rows": 0 if test is None else len(test),
        "accuracy": None if test is None else float(np.mean(predicted == test.y)),
        "classes": classes,
        "n_features": int(model.n_features_in_),
        "n_features_kept": int((model.feature_importances_ > 0).sum()),
        "features": [{"name": name, "weight": w} for name, w in kept_features(model)],
        "n_prototypes": int(model.prototypes_.shape[0]),
        "settings": _read_settings(model),
        "n_iter": int(model.n_iter_),
        "seconds": fitted.seconds,
    }


def say_fit(answer: dict[str, Any]) -> None:
    """Print what `describe_fit` found."""
    n_train, n_test = answer["training_rows"], answer["held_out_rows"]
    what, row = ("Channels", "series") if answer["kind"] == "time series" else ("Features", "rows")
    say(f"Learned from {n_train} {row} in {answer['seconds']:.1f} s.")
    if n_test:
        n_right = sum(one["right"] for one in answer["classes"])
        say(f"Accuracy on {n_test} other {row}: {answer['accuracy']:.1%} ({n_right} of {n_test}).")
    say(f"{what} kept: {answer['n_features_kept']} of {answer['n_features']}.\n")
    rows = [(f"{one['weight']:.1%}", one["name"]) for one in answer["features"]]
    say_table(("weight", what.lower()[:-1]), rows[:SHOWN])
    if len(rows) > SHOWN:
        say(f"... and {len(rows) - SHOWN} more (see --json)")
    say()
    head = ["class", f"{row} learned from", "prototypes"]
    keys = ["class", "training_rows", "prototypes"]
    if n_test:
        head, keys = [*head, f"other {row}", "right"], [*keys, "held_out_rows", "right"]
    say_table(
        head, [[str(one["class"]), *(one[key] for key in keys[1:])] for one in answer["classes"]]
    )
    for key, name in (("model", "Model"), ("report", "Report")):
        if answer.get(key):
            say(f"\n{name} written to {answer[key]}.")


def _read_settings(model: Any) -> dict[str, Any]:
    kernels = model.kernels if isinstance(model.kernels, str) else type(model.kernels).__name__
    return {
        "estimator": type(model).__name__,
        "kernels": kernels,
        "sparsity": getattr(model, "sparsity_", model.sparsity),
        "max_kernels": getattr(model, "max_kernels_", model.max_kernels),
        "seed": model.random_state,
    }


fit = Command("fit", _fit, EXAMPLES)
